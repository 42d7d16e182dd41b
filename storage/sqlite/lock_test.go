package sqlite_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/storage/sqlite"
)

const holdVar = "MAYFLY_TEST_HOLD"

// TestOneProcess checks that a store that another process has open cannot be opened, and that it
// can be when that process was killed.
func TestOneProcess(t *testing.T) {
	if path := os.Getenv(holdVar); path != "" {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("open", s.Epoch())
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until the process is killed or its parent ends
			t.Error(err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "some where%3F?#", "store")
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneProcess$")
	c.Env = append(os.Environ(), holdVar+"="+path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open 1\n" {
		t.Fatalf("the other process printed %q, %v", line, err)
	}
	_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	if want := fmt.Sprintf("the store %s is in use by process %d", path, c.Process.Pid); err == nil || err.Error() != want {
		t.Errorf("Open: %v\nwant  %s", err, want)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("the killed process ended without an error")
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Epoch() != 2 {
		t.Errorf("epoch %d", s.Epoch())
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Logf("no symbolic links here: %v", err)
		link = path
	}
	if _, err := sqlite.Open(t.Context(), link, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "in use by this process") {
		t.Errorf("a second Open: %v", err)
	}
	if err := s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 1}); err != nil {
		t.Errorf("after a second Open was refused: %v", err)
	}
}
