package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/engine"
)

// wasteful creates a store with size bytes of dropped records, most of them not swept yet.
func wasteful(t *testing.T, path string, size int) {
	t.Helper()
	s := filled(t, path)
	drop := &engine.Batch{Hard: true, Now: 1784000000123}
	for k := range engine.Key(size / 300_000) {
		mustCommit(t, s, &engine.Batch{Hard: true, Now: 1784000000123, Bodies: []engine.Body{{Key: 1000 + k, Bytes: make([]byte, 300_000)}},
			Contents: []engine.StoredContent{{Key: 1000 + k}}})
		drop.DropContents = append(drop.DropContents, engine.DroppedContent{Key: 1000 + k, HasBody: true})
	}
	mustCommit(t, s, drop)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	wasteful(t, path, 10<<20)
	before, after, err := Compact(t.Context(), path, Options{})
	if err != nil || before < 10<<20 || after > 2<<20 {
		t.Fatalf("from %d to %d, %v", before, after, err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != after {
		t.Errorf("%v, %v", info, err)
	}
	l := lookAt(t, path)
	if l.epoch != 2 {
		t.Errorf("epoch %d", l.epoch)
	}
	l.epoch = 1
	sees(t, l)
	if _, _, err := Compact(t.Context(), path, Options{}); err != nil { // while a snapshot needs the log
		t.Error(err)
	}
	sees(t, l)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, again, err := Compact(t.Context(), path, Options{}); err != nil || again > after {
		t.Errorf("the file had %d bytes, and has %d now, %v", after, again, err)
	}
}

func TestCompactRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	if _, _, err := Compact(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("%v", err)
	}
	if left := lying(t, dir); len(left) > 0 {
		t.Errorf("it made %v", left)
	}
	s := filled(t, path)
	if _, _, err := Compact(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "in use by this process") {
		t.Errorf("%v", err)
	}
	s.Close()
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("the caller went home")
	end(why)
	if _, _, err := Compact(ctx, path, Options{}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	sees(t, lookAt(t, path))
}

// TestLargeVacuum compacts a store that is so large that it is copied through a file, and cancels
// another vacuum: no message is lost.
func TestLargeVacuum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := filled(t, path)
	for k := range engine.Key(70) {
		mustCommit(t, s, &engine.Batch{Hard: true, Now: 1784000000123, Bodies: []engine.Body{{Key: 1000 + k, Bytes: make([]byte, 1<<20)}}})
	}
	s.Close()
	if _, _, err := Compact(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, Options{})
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("the caller went home")
	end(why)
	if err := s.vacuum(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if n := waiting(t, s); n != 3 {
		t.Errorf("%d messages", n)
	}
}
