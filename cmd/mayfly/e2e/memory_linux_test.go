package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/longtest"
	"mayfly/engine/value"
	"mayfly/storage"
)

// TestStartInLittleMemory fills a store until its memory limit is reached, and starts the
// program on it with twice that memory, the default ratio in a container: it starts, serves, and
// never uses more. With half the limit it works as well, but refuses to send.
//
// The process is limited in the memory it may map, which is more than it uses: Go keeps address
// space that it has returned. A container counts the memory in use.
func TestStartInLittleMemory(t *testing.T) {
	longtest.Require(t, "a store that fills the memory")
	const (
		limit     = 100 << 20
		container = 2 * limit
		mapped    = container + 256<<20
	)
	store := "sqlite:" + filepath.Join(t.TempDir(), "full.db")
	sent := fillStore(t, store, limit)
	program := filepath.Join(t.TempDir(), "mayfly") // without the race detector, which maps far more
	if out, err := exec.Command("go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, c := range map[string]struct {
		memory int64 // --limit memory
		full   bool
	}{
		"that fits":      {limit * 11 / 10, false},
		"that does not":  {limit / 2, true},
		"without limits": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(program, "serve", "--store", store, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--amqp", "none", "--ready-json",
				"--limit", fmt.Sprintf("memory=%d", c.memory))
			cmd.Env = []string{fmt.Sprint("GOMEMLIMIT=", container*9/10)} // as the program sets it in a container
			p := spawnedBy(t, cmd)
			if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: mapped, Max: mapped}, nil); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(tail(p.said.String()))
				}
			})
			began := time.Now()
			r, ok := <-p.news
			if !ok {
				<-p.done
				t.Fatalf("the server did not start: %v\n%s", p.err, p.said.String())
			}
			t.Logf("%d messages of which memory keeps %d MiB: started in %v, at most %d MiB of a limit of %d", sent, limit>>20, time.Since(began), peak(t, p.cmd.Process.Pid)>>20, container>>20)
			if text := Get(t, r.Dashboard+"/readyz"); strings.Contains(text, "memory is full") {
				t.Errorf("before the first send: %s", text)
			}
			if text := Get(t, r.Dashboard+"/metrics"); !strings.Contains(text, "mayfly_memory_bytes") {
				t.Error(text)
			}
			if code := codeOf(t, "POST", r.Admin+"/q/messages"); (code == 503) != c.full {
				t.Errorf("a send: %d", code)
			}
			for range 100 {
				if code := codeOf(t, "DELETE", r.Admin+"/q/messages/head"); code != 200 {
					t.Fatalf("a receive: %d", code)
				}
			}
			if most := peak(t, p.cmd.Process.Pid); most > container {
				t.Errorf("the process used %d bytes of %d", most, container)
			}
			p.signal(os.Interrupt)
			<-p.done
		})
	}
}

// fillStore sends messages of several kinds to a store until its memory limit is reached.
func fillStore(t *testing.T, store string, limit int64) int64 {
	t.Helper()
	m := engine.NewMemory(limit)
	l := engine.DefaultLimits()
	b, err := broker.Open(t.Context(), func(ctx context.Context) (engine.Store, error) {
		return storage.Open(ctx, store, storage.Options{})
	}, broker.Options{Memory: m, Limits: &l, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, c := range map[engine.Path]engine.Config{"q": {}, "sessions": {RequiresSession: true}} {
		if _, err := b.Create(t.Context(), engine.Queue, name, c, ""); err != nil {
			t.Fatal(err)
		}
	}
	kinds := []func(i int) engine.Content{
		func(int) engine.Content { return engine.Content{} },
		func(i int) engine.Content {
			return engine.Content{MessageID: fmt.Sprint("message ", i), TTL: time.Duration(i+1) * time.Hour}
		},
		func(i int) engine.Content {
			return engine.Content{SessionID: fmt.Sprint("session ", i/2), Properties: value.Properties{{Name: "property", Value: value.OfString(strings.Repeat("x", i%100))}}}
		},
	}
	var messages atomic.Int64
	var senders errgroup.Group
	for range 8 { // their sends share commits
		senders.Go(func() error {
			for {
				const size = 200
				from := int(messages.Add(size)) - size
				kind := from / size % len(kinds)
				batch := make([]broker.Outgoing, size)
				for i := range batch {
					batch[i] = broker.Outgoing{Content: kinds[kind](from + i), Body: []byte("body")[:i%5]}
				}
				to := engine.Path("q")
				if kind == 2 {
					to = "sessions"
				}
				if _, err := b.Send(t.Context(), to, batch, ""); err != nil {
					messages.Add(-size)
					return err
				}
			}
		})
	}
	if err := senders.Wait(); !errors.Is(err, engine.ErrBusy) {
		t.Fatal(err)
	}
	return messages.Load()
}

// peak returns the most memory that a process has used so far, in bytes.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// codeOf returns the status of a response.
func codeOf(t *testing.T, method, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	return w.StatusCode
}

// tail returns the end of a process's output, or the beginning of a fatal error.
func tail(said string) string {
	if i := strings.Index(said, "fatal error"); i >= 0 {
		said = said[i:]
		return said[:min(len(said), 2000)]
	}
	return said[max(0, len(said)-2000):]
}
