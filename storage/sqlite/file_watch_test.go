package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplacedBeforeClose replaces a store by another one, with its log, and closes the first
// before the watcher checks. Close does not change the log of the other store.
func TestReplacedBeforeClose(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "other")
	s := openAt(t, path, Options{})
	mustCommit(t, s, batchOf(1, 5))
	mustCommit(t, openAt(t, other, Options{}), batchOf(100, 7))
	for _, which := range []string{"", "-wal"} {
		if err := os.Rename(path+which, path+".old"+which); err != nil {
			t.Skipf("not on this system: %v", err)
		}
		b, err := os.ReadFile(other + which)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+which, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n, _ := held(t, openAt(t, path, Options{})); n != 7 {
		t.Errorf("%d messages; want the 7 of the other store", n)
	}
	if n, _ := held(t, openAt(t, path+".old", Options{})); n != 5 {
		t.Errorf("%d messages; want the 5 of the store that was moved", n)
	}
}

// TestLogDeletedBeforeClose deletes the log of a store and closes the store before the watcher
// checks: everything acknowledged is in the store.
func TestLogDeletedBeforeClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	mustCommit(t, s, batchOf(1, 5))
	if err := os.Remove(path + "-wal"); err != nil {
		t.Skipf("not on this system: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n, _ := held(t, openAt(t, path, Options{})); n != 5 {
		t.Errorf("%d messages; want 5", n)
	}
}

// TestKilledWhileMaking checks that the empty file of a server that was killed while it created a
// store is opened as a new store, and that a store that has lost its content is not.
func TestKilledWhileMaking(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	for name, content := range map[string]string{path: "", path + ".lock": making + "4711\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openAt(t, path, Options{})
	if b, err := os.ReadFile(path + ".lock"); err == nil && wasBeingCreated(path) { // some systems do not allow reading it
		t.Errorf("the lock says %q", b)
	}
	s.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), path, Options{}); err == nil {
		t.Error("a store that has lost its content is opened as a new one")
		s.Close()
	}
}

// TestCutBeforeClose truncates a store and closes it before the watcher checks. Close does not
// move the log into the truncated file, which would then look like a store.
func TestCutBeforeClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	mustCommit(t, s, batchOf(1, 5))
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Skipf("not on this system: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s, err := Open(t.Context(), path, Options{}); err == nil {
		t.Error("the truncated store is opened as a new one")
		s.Close()
	}
	if err := os.WriteFile(path, sound, 0o600); err != nil { // restored, with its log
		t.Fatal(err)
	}
	if n, _ := held(t, openAt(t, path, Options{})); n != 5 {
		t.Errorf("%d messages; want 5", n)
	}
}
