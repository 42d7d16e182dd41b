package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/engine"
)

func count(t *testing.T, s *Store, table string) int64 {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := number(s.w.c, "SELECT count(*) FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func empty(t *testing.T, s *Store, tables ...string) {
	t.Helper()
	for _, table := range tables {
		if n := count(t, s, table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

// TestSweep drops a subscription with many messages, rules, sessions and MessageIds: a sweep, by
// the same process or the next, deletes all of its rows and none of another entity.
func TestSweep(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("reopened ", again), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			s := openAt(t, path, Options{})
			b := batchOf(100, 3*sweptMessages+5)
			b.Entities = append(b.Entities, engine.Entity{ID: 8, DeadLetterID: 9, Kind: engine.Subscription, Path: "t/Subscriptions/s"})
			for i := range 2*sweptRules + 3 {
				b.Rules = append(b.Rules, engine.Rule{Subscription: 8, Name: fmt.Sprint("r", i)})
			}
			b.Sessions = nil
			for i := range 2*sweptSessions + 3 {
				b.Sessions = append(b.Sessions, engine.SessionRecord{Subqueue: 8, ID: fmt.Sprint("s", i)}, engine.SessionRecord{Subqueue: 7, ID: fmt.Sprint("s", i)})
			}
			b.Seen = append(rowsOf(8, 1, 3*sweptSeen+3), rowsOf(7, 1, 3)...)
			for i := range b.Messages {
				b.Messages[i].Subqueue = engine.SubqueueID(7 + i%3)
			}
			mustCommit(t, s, b)
			if again { // the sweep waits while this is locked
				s.sweeping.Lock()
			}
			mustCommit(t, s, &engine.Batch{Hard: true, Now: 5, DropSeen: []engine.SeenIDsThrough{{Subqueue: 8, N: 2 * sweptSeen}}})
			mustCommit(t, s, &engine.Batch{Hard: true, Now: 5, DropSubqueues: []engine.SubqueueID{8, 9}})
			if again {
				s.stop()
				s.sweeping.Unlock()
				s.Close()
				s = openAt(t, path, Options{})
			}
			if err := s.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			empty(t, s, "dropped", "outdated", "rule", "session WHERE holder <> 7", "seen WHERE holder <> 7", "message WHERE holder <> 7")
			if sessions, rows := count(t, s, "session"), count(t, s, "seen"); sessions != 2*sweptSessions+3 || rows != 3 {
				t.Errorf("%d sessions and %d rows of MessageIds are left", sessions, rows)
			}
			if n, kept := count(t, s, "message"), int64(len(b.Messages)+2)/3; n != kept {
				t.Errorf("%d messages are left; want %d", n, kept)
			}
		})
	}
}

// TestStagedAndForgotten stages bodies to which no content refers later. They are swept once no
// content can refer to them any more, and bodies in use are not.
func TestStagedAndForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	kept := bytes.Repeat([]byte("kept"), 200_000)
	for k, body := range map[engine.Key][]byte{1: kept, 2: make([]byte, 10), 3: make([]byte, 5_000_000), 4: kept[:100]} {
		if err := s.Stage(t.Context(), k, bytes.NewReader(body)); err != nil {
			t.Fatal(err)
		}
	}
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 1, Contents: []engine.StoredContent{{Key: 1}, {Key: 4}}})
	if err := s.sweep(t.Context()); err != nil { // it must not delete bodies that a content may still refer to
		t.Fatal(err)
	}
	// A sweep may get to bodies that were loose when it found them but are not any more.
	for _, k := range []engine.Key{1, 4} {
		if err := s.sweepBody(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Body(t.Context(), k); err != nil {
			t.Errorf("a body in use was swept: %v", err)
		} else {
			r.Close()
		}
	}
	if n := count(t, s, "loose"); n != 2 {
		t.Errorf("%d bodies are loose; want 2", n)
	}
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 2, Contents: []engine.StoredContent{{Key: 3}}})
	// A body that had a content is swept as soon as the content is dropped.
	if err := s.Stage(t.Context(), 5, bytes.NewReader(kept)); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 2, Contents: []engine.StoredContent{{Key: 5}}})
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 2, DropContents: []engine.DroppedContent{{Key: 5, HasBody: true}}})
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	empty(t, s, "chunk WHERE body = 5", "loose WHERE key = 5")
	s.Close()
	s = openAt(t, path, Options{})
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	empty(t, s, "loose", "body WHERE key NOT IN (1, 4)", "chunk WHERE body NOT IN (1, 3)", "large WHERE key NOT IN (1, 3)")
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 3, DropContents: []engine.DroppedContent{
		{Key: 1, HasBody: true}, {Key: 3, HasBody: true}, {Key: 4, HasBody: true}}})
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	empty(t, s, "loose", "body", "chunk", "large", "content")
}

// TestStagedAndRefused checks that bodies, small and large, that are dropped without ever having
// had a content leave nothing in the store. Their messages were refused, or sent to a topic without
// subscriptions.
func TestStagedAndRefused(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	drop := &engine.Batch{Hard: true, Now: 1}
	for k, n := range map[engine.Key]int{1: 100_000, 2: 1_000_000} {
		if err := s.Stage(t.Context(), k, bytes.NewReader(make([]byte, n))); err != nil {
			t.Fatal(err)
		}
		drop.DropContents = append(drop.DropContents, engine.DroppedContent{Key: k, HasBody: true})
	}
	mustCommit(t, s, drop)
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	empty(t, s, "loose", "body", "chunk", "large")
	if len(s.unreferenced.staged) != 0 {
		t.Errorf("%v may still get a content", s.unreferenced.staged)
	}
}

// TestCompaction checks that a store from which most records were dropped is smaller after it is
// closed and opened again.
func TestCompaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	b := batchOf(1, 300)
	drop := &engine.Batch{Hard: true, Now: 2}
	for i := range b.Bodies {
		b.Bodies[i].Bytes = make([]byte, 100_000)
		if i > 0 {
			drop.DropMessages = append(drop.DropMessages, b.Messages[i].Key)
			drop.DropContents = append(drop.DropContents, engine.DroppedContent{Key: b.Contents[i].Key, HasBody: true})
		}
	}
	mustCommit(t, s, b)
	s.Close()
	full := size(t, path)
	s = openAt(t, path, Options{})
	mustCommit(t, s, drop)
	s.Close()
	s = openAt(t, path, Options{})
	if n := size(t, path); n > full/10 {
		t.Errorf("the file has %d bytes after most records were dropped, and had %d before", n, full)
	}
	if n, _ := held(t, s); n != 1 {
		t.Errorf("%d messages", n)
	}
	if r, err := s.Body(t.Context(), 1); err != nil {
		t.Error(err)
	} else {
		r.Close()
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	f, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return f.Size()
}

// TestLogRestarts writes several times the maximum size of the log, partly in hard batches: the
// log does not grow beyond twice that maximum.
func TestLogRestarts(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	body := strings.Repeat("x", 100_000)
	page := int64(16 << 10)
	for k := engine.Key(1); k*100_000 < engine.Key(3*blockingCheckpointPages*page); k++ {
		b := batchOf(k, 1)
		b.Hard, b.Bodies[0].Bytes = k%16 == 0, []byte(body)
		if k > 10 {
			b.DropMessages = []engine.Key{k - 10}
			b.DropContents = []engine.DroppedContent{{Key: k - 10, HasBody: true}}
		}
		mustCommit(t, s, b)
	}
	if n := size(t, s.path+"-wal"); n > 2*blockingCheckpointPages*page {
		t.Errorf("the log has grown to %d pages", n/page)
	}
}
