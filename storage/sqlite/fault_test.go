package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mayfly/engine"
)

func openAt(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustCommit(t *testing.T, s *Store, b *engine.Batch) {
	t.Helper()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// held returns the number of messages that Load yields, and the clock. It requires that
// everything else is from the same batches: the last one of batchOf, if there is one, has set
// the session's state, the MessageIds of all messages are remembered, and the history contains
// no event of a batch that was not applied.
func held(t *testing.T, s *Store) (n int, now engine.Instant) {
	t.Helper()
	there, seen, last, first := map[engine.Key]bool{}, map[engine.Digest]bool{}, "", ""
	for r, err := range s.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch r := r.(type) {
		case engine.Message:
			n++
			there[r.Key] = true
		case engine.Clock:
			now = r.Now
		case engine.SessionRecord:
			first = r.State
		case engine.SeenIDs:
			if last = fmt.Sprint(r.N); engine.Instant(r.N) != r.At {
				t.Errorf("MessageIds with number %d have time %d", r.N, r.At)
			}
			for _, d := range r.Digests {
				seen[d] = true
			}
		}
	}
	for k := range there {
		if !seen[digestOf(k)] {
			t.Errorf("the MessageId of message %d is not remembered", k)
		}
	}
	if first != last {
		t.Errorf("the session is from batch %q, the MessageIds are from batch %q", first, last)
	}
	for _, e := range queryAll(t, s, engine.HistoryQuery{Audit: true}) {
		if k := e.Message.Key; k != 0 && !there[k] {
			t.Errorf("the history has an event of message %d, which does not exist", k)
		}
	}
	return n, now
}

// afterCrash returns what another process would load if this one crashed now.
func afterCrash(t *testing.T, s *Store) (n int, now engine.Instant) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	for _, ext := range []string{"", "-wal"} {
		b, err := os.ReadFile(s.path + ext)
		if err == nil {
			err = os.WriteFile(to+ext, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return held(t, openAt(t, to, Options{}))
}

func TestFullDisk(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	mustCommit(t, s, batchOf(1, 10))
	if err := s.w.c.Exec("PRAGMA max_page_count=1"); err != nil { // the number of pages that it has
		t.Fatal(err)
	}
	large := batchOf(100, 2000)
	for range 3 {
		err := s.Commit(t.Context(), large)
		if !errors.Is(err, engine.ErrUnwritable) || !strings.Contains(err.Error(), "full") {
			t.Fatalf("Commit on a full disk: %v; want ErrUnwritable and the reason", err)
		}
	}
	if n, now := held(t, s); n != 10 || now != 1 {
		t.Errorf("%d messages at %d after a commit that failed; want 10 at 1", n, now)
	}
	err := s.Stage(t.Context(), 5000, strings.NewReader(strings.Repeat("x", 5_000_000)))
	if !errors.Is(err, engine.ErrUnwritable) {
		t.Errorf("Stage on a full disk: %v; want ErrUnwritable", err)
	}
	if err := s.w.c.Exec("PRAGMA max_page_count=1000000"); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, large)
	if n, now := held(t, s); n != 2010 || now != 100 {
		t.Errorf("%d messages at %d once there was room; want 2010 at 100", n, now)
	}
}

// TestRefusedWrites fails every write of a commit, one after another, as a full or read-only
// disk does. Nothing of the batch may be stored, now or after a crash, and the same batch must
// succeed afterwards.
func TestRefusedWrites(t *testing.T) {
	fs := newFaultyFS(t)
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{disk: fs.name})
	mustCommit(t, s, batchOf(1, 10))
	want, writes := 10, 0
	for i, reason := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES} {
		b := batchOf(engine.Key(1000*(i+1)), 60)
		b.Audit = []engine.Event{{N: uint64(i + 1), At: b.Now, Audit: true, Message: b.Messages[0]}}
		for nth := 1; ; nth++ {
			n := 0
			fs.on(func(op operation) error {
				if op.flush {
					return nil
				}
				if n++; n >= nth {
					return &os.PathError{Op: "write", Path: "store", Err: reason}
				}
				return nil
			})
			err := s.Commit(t.Context(), b)
			fs.on(nil)
			if err == nil {
				writes += nth - 1
				break
			}
			if !errors.Is(err, engine.ErrUnwritable) {
				t.Fatalf("write %d fails with %v: %v; want ErrUnwritable", nth, reason, err)
			}
			if n, _ := held(t, s); n != want {
				t.Fatalf("write %d fails with %v: %d messages; want %d", nth, reason, n, want)
			}
			if n := count(t, s, "seen"); n != int64(i+1) {
				t.Fatalf("write %d fails with %v: %d rows of MessageIds; want %d", nth, reason, n, i+1)
			}
			if i > 0 {
				continue // the state after a crash does not depend on the reason
			}
			if n, _ := afterCrash(t, s); n != want {
				t.Fatalf("write %d fails with %v, then a crash: %d messages; want %d", nth, reason, n, want)
			}
		}
		want += 60
		if n, now := held(t, s); n != want || now != b.Now {
			t.Fatalf("after the disk had room: %d messages at %d; want %d at %d", n, now, want, b.Now)
		}
		if n := len(queryAll(t, s, engine.HistoryQuery{Audit: true})); n != i+1 {
			t.Fatalf("after the disk had room: %d events in history; want %d", n, i+1)
		}
	}
	if writes < 20 {
		t.Errorf("only %d writes were refused", writes)
	}
}

// TestRollback lets a transaction fail with an error after which SQLite does not roll it back by
// itself: nothing of it is applied, and the same batch can be committed afterwards.
func TestRollback(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	mustCommit(t, s, batchOf(1, 10))
	torn := errors.New("torn")
	how, err := s.w.transact(true, s.epoch, func() error { return errors.Join(s.w.apply(batchOf(5, 10), nil), torn) })
	if how != notApplied || !errors.Is(err, torn) {
		t.Errorf("transact: %v, %v", how, err)
	}
	if n, now := held(t, s); n != 10 || now != 1 {
		t.Errorf("%d messages at %d; want 10 at 1", n, now)
	}
	mustCommit(t, s, batchOf(5, 10))
	if n, now := held(t, s); n != 14 || now != 5 {
		t.Errorf("%d messages at %d; want 14 at 5", n, now)
	}
}

// TestUncertain lets operations fail after which the outcome is unknown. The error must not
// claim that nothing was applied, and the store must refuse further commits.
func TestUncertain(t *testing.T) {
	for name, fails := range map[string]func(op operation) bool{
		"the flush of a commit": func(op operation) bool { return op.flush && op.log },
		"a write of a commit":   func(op operation) bool { return !op.flush && op.log && op.size > 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			fs := newFaultyFS(t)
			path := filepath.Join(t.TempDir(), "store")
			s := openAt(t, path, Options{disk: fs.name})
			mustCommit(t, s, batchOf(1, 10))
			fs.on(func(op operation) error {
				if fails(op) {
					return syscall.EIO
				}
				return nil
			})
			err := s.Commit(t.Context(), batchOf(100, 10))
			fs.on(nil)
			if err == nil || errors.Is(err, engine.ErrUnwritable) || errors.Is(err, engine.ErrFenced) {
				t.Fatalf("Commit: %v; want an error that promises nothing", err)
			}
			if again := s.Commit(t.Context(), batchOf(200, 10)); again == nil || errors.Is(again, engine.ErrUnwritable) {
				t.Errorf("the next Commit: %v; want an error", again)
			}
			s.Close()
			s = openAt(t, path, Options{})
			if n, _ := held(t, s); n != 10 && n != 20 {
				t.Errorf("%d messages after opening again; want 10 or 20", n)
			}
			mustCommit(t, s, batchOf(300, 10))
		})
	}
}

// TestFlushes counts flushes: one for a hard batch, none for a soft one.
func TestFlushes(t *testing.T) {
	fs := newFaultyFS(t)
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{disk: fs.name})
	mustCommit(t, s, batchOf(1, 1)) // the first batch in a log also flushes the log's head
	flushes := 0
	fs.on(func(op operation) error {
		if op.flush {
			flushes++
		}
		return nil
	})
	defer fs.on(nil)
	for i, want := range []int{1, 0, 0, 1, 1, 0, 1} {
		b := batchOf(engine.Key(10*(i+1)), 3)
		b.Hard = want == 1
		flushes = 0
		mustCommit(t, s, b)
		if flushes != want {
			t.Errorf("a batch with Hard %v makes %d flushes", b.Hard, flushes)
		}
	}
}

func TestFilesThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tc := range map[string]struct{ path, want string }{
		"a text":                     {write("text", strings.Repeat("To whom it may concern. ", 100)), "is not a Mayfly store: it is not an SQLite file"},
		"a directory":                {dir, "cannot be opened"},
		"a directory that is a file": {filepath.Join(write("file", "x"), "store"), "cannot be opened"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), tc.path, Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Open: %v; want one sentence with %q", err, tc.want)
			}
		})
	}
	t.Run("a directory without room", func(t *testing.T) {
		fs := newFaultyFS(t)
		fs.on(func(operation) error { return syscall.ENOSPC })
		path := filepath.Join(dir, "new")
		if _, err := Open(t.Context(), path, Options{disk: fs.name}); err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("Open: %v; want an error with the reason", err)
		}
		s := openAt(t, path, Options{}) // the lock was released
		if s.Epoch() != 1 {
			t.Error(fmt.Sprint("epoch ", s.Epoch()))
		}
	})
}
