//go:build unix

package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"mayfly/storage/sqlite"
)

// A new file and the files beside it can be read only by their owner. Files beside an existing
// one get its permissions.
func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mayfly.db")
	look := func(want os.FileMode, also ...string) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range append(also, "", "-wal", "-shm") {
			if info, err := os.Stat(path + end); err != nil || info.Mode().Perm() != want {
				t.Errorf("%q: %v, %v, want %v", end, info, err, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	look(0o600, ".lock")
	look(0o600, ".lock")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	look(0o640)
}
