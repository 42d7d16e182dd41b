package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"mayfly/engine"
)

// Files describes how a driver keeps a store in local files, for RunFileFaults.
type Files struct {
	// Open opens the store at path, creating it if it does not exist. A nil log disables
	// logging.
	Open func(ctx context.Context, path string, log *slog.Logger) (engine.Store, error)
	// OnDisk returns a function that opens stores on a disk. Before a file, other than the
	// index, becomes n bytes longer, the store calls grow, and fails to write with grow's
	// error.
	OnDisk func(t *testing.T, grow func(n int64) error) func(ctx context.Context, path string) (engine.Store, error)
	// Companions are the suffixes of files that exist while the store is open, and that contain
	// a part of the durable content.
	Companions []string
	// Lock is the suffix of a file that may be deleted or replaced while the store is
	// open; empty if there is none.
	Lock string
	// Index is the suffix of a file that can be rebuilt from the others; empty if there is
	// none.
	Index string
	// Verify reads a closed store completely and returns its damage, one sentence each. It is
	// required.
	Verify func(ctx context.Context, path string) (wrong []string, err error)
	// OpenAgain opens the store at path a second time, in spite of its lock, as a server could
	// on a system where locks do not work, and closes it.
	OpenAgain func(path string) error
	// ReadSnapshot reads the store while a server has it open; a nil error means that it can be read.
	ReadSnapshot func(ctx context.Context, path string) error
}

// RunFileFaults tests a driver against faults of its files: two servers on one store, files that
// are deleted, moved, replaced or truncated, flipped bits, and a full disk.
func RunFileFaults(t *testing.T, f Files) {
	t.Run("two servers", func(t *testing.T) { testTwoServers(t, f) })
	t.Run("a server that came past the lock", func(t *testing.T) { testOvertaken(t, f) })
	t.Run("files that go", func(t *testing.T) { testVanish(t, f) })
	t.Run("damage", func(t *testing.T) { testDamage(t, f) })
	t.Run("damaged records", func(t *testing.T) { testDamagedRecords(t, f) })
	t.Run("a disk that fills up", func(t *testing.T) { testDiskFillsUp(t, f) })
	t.Run("a start on a full disk", func(t *testing.T) { testStartOnFullDisk(t, f) })
	t.Run("an index that is cut", func(t *testing.T) { testIndexCut(t, f) })
	t.Run("an empty file that was a store", func(t *testing.T) { testEmptied(t, f) })
}

// numbered returns a batch with one message.
func numbered(k engine.Key) *engine.Batch {
	return &engine.Batch{
		Hard: true, Now: engine.Instant(k),
		Entities: []engine.Entity{{ID: 1, Kind: engine.Queue, Path: "q"}},
		Messages: []engine.Message{{Key: k, Content: k, Subqueue: 1, Seq: engine.Seq(k)}},
		Contents: []engine.StoredContent{{Key: k, Content: engine.Content{MessageID: fmt.Sprint(k), BodySize: 5}.Pack()}},
		Bodies:   []engine.Body{{Key: k, Bytes: []byte("hello")}},
	}
}

func openPath(t *testing.T, f Files, path string) engine.Store {
	t.Helper()
	return open(t, func(ctx context.Context) (engine.Store, error) { return f.Open(ctx, path, nil) })
}

// messages returns the number of messages in a store.
func messages(t *testing.T, s engine.Store) (n int) {
	t.Helper()
	for r, err := range s.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.(engine.Message); ok {
			n++
		}
	}
	return n
}

// testTwoServers checks that an open store cannot be opened again, by whatever name or link.
func testTwoServers(t *testing.T, f Files) {
	replace := func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) }
	for name, another := range map[string]func(path string) (string, error){
		"the same name": func(path string) (string, error) { return path, nil },
		"another spelling": func(path string) (string, error) {
			dir, file := filepath.Split(path)
			return filepath.Join(dir, "..") + string(filepath.Separator) + filepath.Base(dir) + string(filepath.Separator) + file, nil
		},
		"a symbolic link": func(path string) (string, error) { return path + ".link", os.Symlink(path, path+".link") },
		"a hard link":     func(path string) (string, error) { return path + ".hard", os.Link(path, path+".hard") },
		"a hard link in another folder": func(path string) (string, error) {
			other := filepath.Join(t.TempDir(), "store")
			return other, os.Link(path, other)
		},
		"without its lock file":  func(path string) (string, error) { return path, os.Remove(path + f.Lock) },
		"with another lock file": func(path string) (string, error) { return path, replace(path + f.Lock) },
		"a hard link and no lock": func(path string) (string, error) {
			return path + ".hard", errors.Join(os.Remove(path+f.Lock), os.Link(path, path+".hard"))
		},
		"moved": func(path string) (string, error) { return path + ".moved", os.Rename(path, path+".moved") },
		"moved, and its lock file": func(path string) (string, error) {
			return path + ".moved", errors.Join(os.Rename(path, path+".moved"), os.Rename(path+f.Lock, path+".moved"+f.Lock))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "store")
			s := openPath(t, f, path)
			commit(t, s, numbered(1))
			other, err := another(path)
			if err != nil {
				t.Skipf("not on this system: %v", err)
			}
			if target, err := filepath.EvalSymlinks(other); f.ReadSnapshot != nil && err == nil && target == path { // the log is found under this name too
				if err := f.ReadSnapshot(t.Context(), other); err != nil {
					t.Errorf("a snapshot could not be read: %v", err)
				}
			}
			if s, err := f.Open(t.Context(), other, nil); err == nil {
				t.Error("a second server could open the store")
				closeStore(t, s)
			}
			switch err := s.Commit(t.Context(), numbered(2)); {
			case other != path+".moved" && err != nil:
				t.Errorf("after a second server could not open the store: %v", err)
			case other == path+".moved" && !errors.Is(err, engine.ErrUnwritable):
				t.Errorf("Commit to a file that was moved: %v", err)
			}
		})
	}
}

// testOvertaken opens a store a second time, in spite of the lock. The first server must not
// commit any more.
func testOvertaken(t *testing.T, f Files) {
	path := filepath.Join(t.TempDir(), "store")
	s := openPath(t, f, path)
	commit(t, s, numbered(1))
	if err := f.OpenAgain(path); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it stays fenced
		if err := s.Commit(t.Context(), numbered(2)); err == nil || errors.Is(err, engine.ErrUnwritable) {
			t.Errorf("Commit: %v; want ErrFenced", err)
		}
	}
	if err := s.Stage(t.Context(), 3, io.LimitReader(zeros{}, 1<<20)); err == nil {
		t.Error("Stage: no error")
	}
	select {
	case <-s.Lost():
	default:
		t.Error("Lost is not closed")
	}
	if s.Owned() {
		t.Error("Owned is true after another server opened the store")
	}
	closeStore(t, s)
	if n := messages(t, openPath(t, f, path)); n != 1 {
		t.Errorf("%d messages; want only the first", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// testVanish removes each file of an open store. The store must report that by itself, and must
// not acknowledge anything that is only in a removed file.
func testVanish(t *testing.T, f Files) {
	for name, remove := range map[string]func(path string) error{
		"deleted": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("another"), 0o600))
		},
		"cut": func(path string) error { return os.Truncate(path, 0) },
	} {
		for _, which := range append([]string{""}, f.Companions...) {
			t.Run("store"+which+" is "+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "store")
				s := openPath(t, f, path)
				for k := range engine.Key(20) {
					commit(t, s, numbered(k+1))
				}
				if err := remove(path + which); err != nil {
					t.Skipf("not on this system: %v", err)
				}
				if err := s.Commit(t.Context(), numbered(21)); !errors.Is(err, engine.ErrUnwritable) {
					t.Errorf("Commit: %v; want ErrUnwritable", err)
				}
				if err := s.Commit(t.Context(), numbered(22)); !errors.Is(err, engine.ErrUnwritable) {
					t.Errorf("a second Commit: %v; want ErrUnwritable", err)
				}
				if err := <-writeFailure(t, s); !errors.Is(err, engine.ErrUnwritable) {
					t.Errorf("WriteFailure: %v; want ErrUnwritable", err)
				}
			})
			t.Run("store"+which+" is "+name+" while nothing is written", func(t *testing.T) {
				t.Parallel() // it waits for the time that a store needs to notice
				path := filepath.Join(t.TempDir(), "store")
				s := openPath(t, f, path)
				commit(t, s, numbered(1))
				if err := remove(path + which); err != nil {
					t.Skipf("not on this system: %v", err)
				}
				if err := <-writeFailure(t, s); !errors.Is(err, engine.ErrUnwritable) {
					t.Errorf("WriteFailure: %v; want ErrUnwritable", err)
				}
			})
		}
	}
	for _, which := range f.Companions {
		t.Run("store"+which+" is deleted, and all that was acknowledged is found again", func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			s := openPath(t, f, path)
			acked := 0
			for k := range engine.Key(20) {
				commit(t, s, numbered(k+1))
				acked++
			}
			if err := os.Remove(path + which); err != nil {
				t.Skipf("not on this system: %v", err)
			}
			if s.Commit(t.Context(), numbered(21)) == nil {
				acked++
			}
			closeStore(t, s)
			if n := messages(t, openPath(t, f, path)); n < acked {
				t.Errorf("%d messages of %d that were acknowledged", n, acked)
			}
		})
	}
}

// testEmptied checks that an empty or missing file beside which a server has left other files of
// the store is not opened as a new store.
func testEmptied(t *testing.T, f Files) {
	for name, spoil := range map[string]func(t *testing.T, path string) error{
		"beside a lock": func(_ *testing.T, path string) error {
			if f.Lock == "" {
				return errors.New("it has no lock file")
			}
			return os.Truncate(path, 0)
		},
		"beside the rest": func(_ *testing.T, path string) error {
			for _, which := range f.Companions {
				if err := os.WriteFile(path+which, []byte("what was written last"), 0o600); err != nil {
					return err
				}
			}
			return errors.Join(os.Remove(path+f.Lock), os.Truncate(path, 0))
		},
		"gone, beside the rest": func(_ *testing.T, path string) error {
			for _, which := range f.Companions {
				if err := os.WriteFile(path+which, []byte("what was written last"), 0o600); err != nil {
					return err
				}
			}
			return os.Remove(path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			s := openPath(t, f, path)
			commit(t, s, numbered(1))
			closeStore(t, s)
			if err := spoil(t, path); err != nil {
				t.Skip(err)
			}
			for range 2 { // the first open must not create anything that makes the second succeed
				if s, err := f.Open(t.Context(), path, nil); err == nil {
					t.Errorf("the store is opened as a new one")
					closeStore(t, s)
				}
			}
		})
	}
}

// testIndexCut truncates the index, which can be rebuilt. The process must go on, and all
// acknowledged messages must exist when the store is opened again.
func testIndexCut(t *testing.T, f Files) {
	if f.Index == "" {
		t.Skip("it has no index")
	}
	for name, use := range map[string]func(s engine.Store) error{
		"then a commit": func(s engine.Store) error { return s.Commit(t.Context(), numbered(21)) },
		"then a load": func(s engine.Store) (err error) {
			for _, err = range s.Load(t.Context()) {
			}
			return err
		},
		"then a body": func(s engine.Store) error {
			r, err := s.Body(t.Context(), 1)
			if err == nil {
				err = r.Close()
			}
			return err
		},
		"then Close": func(engine.Store) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			s, err := f.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for k := range engine.Key(20) {
				commit(t, s, numbered(k+1))
			}
			if err := os.Truncate(path+f.Index, 0); err != nil {
				t.Skipf("not on this system: %v", err)
			}
			t.Logf("it says %v, and %v", use(s), s.Close())
			if n := messages(t, openPath(t, f, path)); n < 20 {
				t.Errorf("%d messages of 20 that were acknowledged", n)
			}
		})
	}
}

// writeFailure returns the channel on which a store reports that it accepts no more writes.
func writeFailure(t *testing.T, s engine.Store) <-chan error {
	t.Helper()
	tells, ok := s.(engine.WriteFailureNotifier)
	if !ok {
		t.Fatal("the store is no engine.WriteFailureNotifier")
	}
	return tells.WriteFailure()
}
