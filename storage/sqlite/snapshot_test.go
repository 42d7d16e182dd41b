package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/value"
)

func lookAt(t *testing.T, path string) *Snapshot {
	t.Helper()
	l, err := OpenSnapshot(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func collected[T any](t *testing.T, all func(func(T, error) bool)) (got []T) {
	t.Helper()
	for v, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	return got
}

// waiting returns the number of messages in a store.
func waiting(t *testing.T, s *Store) (n int) {
	t.Helper()
	for _, r := range collected(t, s.Load(t.Context())) {
		if _, ok := r.(engine.Message); ok {
			n++
		}
	}
	return n
}

// lying returns the contents of the files in a folder, by name.
func lying(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// filled creates a store with one record of every kind, bodies of all lengths, and history.
func filled(t *testing.T, path string) *Store {
	t.Helper()
	s := openAt(t, path, Options{})
	if err := s.Stage(t.Context(), 1<<40|7, bytes.NewReader(fixtureLargeBody)); err != nil {
		t.Fatal(err)
	}
	b := batchFrom(fixtureRecords())
	b.Bodies = []engine.Body{{Key: 1<<40 | 6, Bytes: []byte("hello")}}
	b.Audit = []engine.Event{fixtureHistory()[2].Event}
	mustCommit(t, s, b)
	if err := s.AppendEvents(t.Context(), []engine.Event{fixtureHistory()[1].Event, fixtureHistory()[0].Event}); err != nil {
		t.Fatal(err)
	}
	return s
}

func sameAs(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b value.Value) bool { return a == b })); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// sees checks that l contains what filled stored.
func sees(t *testing.T, l *Snapshot) {
	t.Helper()
	bodies := map[engine.Key][]byte{1<<40 | 6: []byte("hello"), 1<<40 | 7: fixtureLargeBody}
	var records []engine.Record
	for r, err := range l.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
		if c, ok := r.(engine.StoredContent); ok { // between records, as a backup does
			body, err := l.Body(t.Context(), c.Key)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, bodies[c.Key]) {
				t.Errorf("body %d has %d bytes, %v", c.Key, len(got), err)
			}
			end := make([]byte, 7)
			if _, err := body.Seek(-2, io.SeekEnd); err != nil {
				t.Error(err)
			}
			if n, err := io.ReadFull(body, end); !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasSuffix(bodies[c.Key], end[:n]) || n != 2 {
				t.Errorf("body %d ends in %q, %v", c.Key, end[:n], err)
			}
		}
	}
	sameAs(t, "records", fixtureRecords(), records)
	sameAs(t, "history", fixtureHistory(), collected(t, l.QueryEvents(t.Context(), engine.HistoryQuery{})))
	sameAs(t, "two of the history", fixtureHistory()[:2], collected(t, l.QueryEvents(t.Context(), engine.HistoryQuery{Limit: 2})))
	if _, err := l.Body(t.Context(), 99); !errors.Is(err, engine.ErrMessageNotFound) {
		t.Errorf("a missing body: %v", err)
	}
	if wrong, err := l.Integrity(t.Context()); err != nil || len(wrong) > 0 {
		t.Errorf("the file is wrong: %q, %v", wrong, err)
	}
	if l.Epoch() != 1 {
		t.Errorf("epoch %d", l.Epoch())
	}
}

func TestSnapshotOfAnOwnedStore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "some where%3F?#")
	s := filled(t, path)
	l := lookAt(t, path)
	sees(t, l)
	// The snapshot does not show later changes, not even that a body is dropped.
	drop := &engine.Batch{Hard: true, Now: 1784000009999, DropSubqueues: []engine.SubqueueID{1<<40 | 1, 1<<40 | 2, 1<<40 | 21}, DropMessages: []engine.Key{1<<40 | 6, 1<<40 | 7, 1<<40 | 8},
		DropContents: []engine.DroppedContent{{Key: 1<<40 | 6, HasBody: true}, {Key: 1<<40 | 7, HasBody: true}}}
	mustCommit(t, s, drop)
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.TrimEvents(t.Context(), 1<<60, 0); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		mustCommit(t, s, &engine.Batch{Hard: true, Now: 1784000010000, Bodies: []engine.Body{{Key: 1, Bytes: make([]byte, 200_000)}}})
	}
	sees(t, l)
	later := lookAt(t, path)
	if got := collected(t, later.Load(t.Context())); len(got) != 7 { // the clock, an access rule, two settings, a topic, its subscription and its rule
		t.Errorf("afterwards there are %v", got)
	}
	// Closing snapshots, before or after the owner closes the store, does not affect the store.
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 1784000010001})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := collected(t, later.Load(t.Context())); len(got) != 7 {
		t.Errorf("after the owner closed the store, there are %v", got)
	}
	if err := later.Close(); err != nil {
		t.Fatal(err)
	}
	if s := openAt(t, path, Options{}); s.Epoch() != 2 {
		t.Errorf("epoch %d", s.Epoch())
	}
}

func TestSnapshotWithoutAnOwner(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	if err := filled(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	before := lying(t, dir)
	l := lookAt(t, path)
	sees(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	sameAs(t, "files", before, lying(t, dir))
	// A server that opens the store meanwhile is not blocked, and keeps its log.
	l = lookAt(t, path)
	s := openAt(t, path, Options{})
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 1784000009999, DropMessages: []engine.Key{1<<40 | 6}})
	sees(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 1784000009999, DropMessages: []engine.Key{1<<40 | 7, 1<<40 | 8}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := waiting(t, openAt(t, path, Options{})); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// TestSnapshotAfterACrash checks that snapshots see everything that a killed process has stored,
// most of it still in the log, and do not change the files.
func TestSnapshotAfterACrash(t *testing.T) {
	dir, crashed := t.TempDir(), t.TempDir()
	filled(t, filepath.Join(dir, "store"))
	for _, name := range []string{"store", "store-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(crashed, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := lying(t, crashed)
	for range 2 {
		l := lookAt(t, filepath.Join(crashed, "store"))
		sees(t, l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	after := lying(t, crashed)
	delete(after, "store-shm") // the index of the log, which was rebuilt
	sameAs(t, "files", before, after)
}

func TestSnapshotIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("notes", strings.Repeat("this is no database ", 1000))
	write("short", "no")
	write("empty", "")
	raw(t, file("foreign"), "CREATE TABLE t (x)")
	for name, format := range map[string]int64{"newer": current().version + 1, "older": current().version - 1, "too old": current().oldest() - 1} {
		openAt(t, file(name), Options{}).Close()
		raw(t, file(name), fmt.Sprintf("PRAGMA user_version=%d", format))
	}
	openAt(t, file("torn"), Options{}).Close()
	b, err := os.ReadFile(file("torn"))
	if err != nil {
		t.Fatal(err)
	}
	write("torn", string(b[:20_000]))
	before := lying(t, dir)
	for name, want := range map[string]string{
		"absent":     "the store " + file("absent") + " does not exist",
		"absent/too": "absent/too does not exist",
		".":          "is not a Mayfly store: it is not a file",
		"notes":      "is not a Mayfly store: it is not an SQLite file",
		"short":      "is not a Mayfly store: it is not an SQLite file",
		"empty":      "is not a Mayfly store: it is empty",
		"foreign":    "is not a Mayfly store: it is the SQLite file of another program",
		"newer":      "was written by a newer Mayfly: it has format",
		"older":      "was written by an older Mayfly: it has format 6, and this version upgrades it to format 7",
		"too old":    "was written by an older Mayfly: it has format 5, and this version supports formats 6 to 7",
		"torn":       "cannot be read: ",
	} {
		l, err := OpenSnapshot(t.Context(), file(name), Options{})
		if err == nil {
			t.Errorf("%s: a snapshot was opened", name)
			l.Close()
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q; want %q", name, err, want)
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(lying(t, dir)))); d != "" {
		t.Errorf("files (-before +after):\n%s", d)
	}
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("the caller went home")
	end(why)
	if _, err := OpenSnapshot(ctx, file("older"), Options{}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestSnapshotIsInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	filled(t, path)
	l := lookAt(t, path)
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("the caller went home")
	end(why)
	var loading, remembering error
	for _, err := range l.Load(ctx) {
		loading = err
	}
	for _, err := range l.QueryEvents(ctx, engine.HistoryQuery{}) {
		remembering = err
	}
	_, reading := l.Body(ctx, 1<<40|6)
	_, checking := l.Integrity(ctx)
	for name, err := range map[string]error{"Load": loading, "Past": remembering, "Body": reading, "Integrity": checking} {
		if !errors.Is(err, why) {
			t.Errorf("%s with an ended context: %v", name, err)
		}
	}
	sees(t, l)
}

// TestIntegrity overwrites a page of messages with zeros: Integrity reports the damage.
func TestIntegrity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	if err := filled(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	page, err := number(c, "SELECT rootpage FROM sqlite_schema WHERE name = 'message'")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 16384), (page-1)*16384); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wrong, err := lookAt(t, path).Integrity(t.Context())
	if err != nil || len(wrong) == 0 || !strings.HasPrefix(wrong[0], "SQLite reports: ") {
		t.Errorf("%q, %v", wrong, err)
	}
	t.Logf("%q", wrong)
}
