package sqlite

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"mayfly/engine"
)

// TestSnapshotWhoseIndexIsCut truncates the index of a log while a snapshot reads it, and
// before one does. The process does not crash, rows are read as they were written, and the
// store can be read again.
func TestSnapshotWhoseIndexIsCut(t *testing.T) {
	load := func(l *Snapshot) (n int, err error) {
		for r, err := range l.Load(t.Context()) {
			if err != nil {
				return n, err
			}
			if _, ok := r.(engine.Message); ok {
				n++
			}
		}
		return n, nil
	}
	for name, use := range map[string]func(l *Snapshot) error{
		"then Load": func(l *Snapshot) error {
			_, err := load(l)
			return err
		},
		"then Body": func(l *Snapshot) error {
			r, err := l.Body(t.Context(), 1)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			return err
		},
		"then a large body": func(l *Snapshot) error {
			r, err := l.Body(t.Context(), 5000)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			return err
		},
		"then history": func(l *Snapshot) error {
			for _, err := range l.QueryEvents(t.Context(), engine.HistoryQuery{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"then Integrity": func(l *Snapshot) error {
			_, err := l.Integrity(t.Context())
			return err
		},
		"then Aside": func(l *Snapshot) error {
			_, err := l.Aside(t.Context())
			return err
		},
		"then the index of a server that mends it": func(l *Snapshot) error {
			extendIndex(l.path)
			_, err := load(l)
			return err
		},
		"then Close": func(*Snapshot) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			s := openAt(t, path, Options{})
			mustCommit(t, s, batchOf(1, 200))
			large := batchOf(5000, 1)
			large.Sessions, large.Seen = nil, nil
			large.Bodies[0].Bytes = make([]byte, 3*chunkSize)
			mustCommit(t, s, large)
			l, err := OpenSnapshot(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path+"-shm", 0); err != nil {
				t.Skipf("not on this system: %v", err)
			}
			err = use(l)
			if name != "then Close" && !errors.Is(err, errIndexTruncated) {
				t.Errorf("reading a truncated index: %v; want errIndexTruncated", err)
			}
			if n, again := load(l); again == nil {
				t.Errorf("afterwards the snapshot has %d messages", n)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			for range 2 {
				if l, err = OpenSnapshot(t.Context(), path, Options{}); err != nil {
					t.Fatal(err)
				}
				if n, err := load(l); err != nil || n != 201 {
					t.Errorf("%d messages, %v; want 201", n, err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				if err := os.Truncate(path+"-shm", 0); err != nil { // before the next OpenSnapshot
					t.Fatal(err)
				}
			}
		})
	}
}
