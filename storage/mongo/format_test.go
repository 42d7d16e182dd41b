package mongo

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/codec"
	"mayfly/storage/memory"
	"mayfly/storage/storetest"
)

// stagedKey is the key of the body of 300,000 bytes in storetest.OlderBatch.
const stagedKey = engine.Key(1<<40 | 10)

// fixture returns the batches and events in testdata/format-4.gz.
func fixture() (first, second *engine.Batch, events []engine.Event) {
	first = storetest.OlderBatch()
	first.Bodies = first.Bodies[:1] // the other body is staged
	second = &engine.Batch{
		Hard: true, Now: 1784000000200, Entities: []engine.Entity{{ID: 1<<40 | 20, DeadLetterID: 1<<40 | 21, TransferID: 1<<40 | 22, Kind: engine.Queue, Path: "late"}},
		DropMessages: []engine.Key{1<<40 | 11}, DropSettings: []string{"view/ä"},
		DropSeen: []engine.SeenIDsThrough{{Subqueue: 1<<40 | 1, N: 1<<40 | 12}},
	}
	return first, second, []engine.Event{{N: 3, Kind: engine.EventSent, At: 1784000000300, Subqueue: 1<<40 | 1, Path: "orders"}}
}

// TestOlderDocuments checks that a namespace that was written by a version whose SQLite stores had
// format 6 is read completely.
func TestOlderDocuments(t *testing.T) {
	first, second, events := fixture()
	wanted := new(memory.Store)
	for _, b := range []*engine.Batch{first, second} {
		if err := wanted.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := wanted.AppendEvents(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	db := readFixture(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := openOn(t.Context(), db, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.Epoch() != 2 {
			t.Errorf("epoch %d; want 2", s.Epoch())
		}
		want(t, loadedFrom(t, wanted), loadedFrom(t, s))
		want(t, historyOf(t, wanted), historyOf(t, s))
		for k, length := range map[engine.Key]int{1<<40 | 9: 5, stagedKey: 300_000} {
			r, err := s.Body(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(r); err != nil || len(b) != length {
				t.Errorf("body %d has %d bytes, %v; want %d", k, len(b), err, length)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// readFixture returns a server with the documents in testdata/format-4.gz. Each line has a
// collection, and a document as extended JSON.
func readFixture(t *testing.T) *toy {
	t.Helper()
	file, err := os.Open("testdata/format-4.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	db := new(toy)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		in, doc, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		var raw bson.Raw
		if err := bson.UnmarshalExtJSON(doc, true, &raw); err != nil {
			t.Fatal(err)
		}
		if err := db.Insert(t.Context(), collection(in), raw); err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return db
}

// loadedFrom returns the encoded records of a store, sorted.
func loadedFrom(t *testing.T, s engine.Store) (all []string) {
	t.Helper()
	for r, err := range s.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%T %q", r, codec.Append(nil, r)))
	}
	slices.Sort(all)
	return all
}

func historyOf(t *testing.T, s engine.History) (all []engine.HistoryEvent) {
	t.Helper()
	for e, err := range s.QueryEvents(t.Context(), engine.HistoryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b engine.HistoryEvent) int { return cmp.Compare(a.N, b.N) })
	return all
}

// TestFormatIsRaised opens a namespace of each format that can be read. Then it has the current
// format.
func TestFormatIsRaised(t *testing.T) {
	for old := oldestFormat; old <= format; old++ {
		synctest.Test(t, func(t *testing.T) {
			db := withFormat(t, old)
			l, err := openSnapshotOn(t.Context(), db, nil, timed(Options{}))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			for range 2 {
				s, err := openOn(t.Context(), db, nil, timed(Options{}))
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				want(t, formatDoc{ID: formatID, V: format, Format: format}, formatIn(t, db))
			}
		})
	}
}

const formatID = "default/format"

// withFormat returns a server with an empty namespace of a format.
func withFormat(t *testing.T, version int) *toy {
	t.Helper()
	db := new(toy)
	if err := db.Insert(t.Context(), settings, marshal(formatDoc{ID: formatID, V: int64(version), Format: version})); err != nil {
		t.Fatal(err)
	}
	return db
}

func formatIn(t *testing.T, db *toy) (d formatDoc) {
	t.Helper()
	raw, err := db.Get(t.Context(), settings, formatID)
	if err == nil {
		err = bson.Unmarshal(raw, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestFormatOfAnOlderVersion checks that a namespace of a format that is no longer supported is
// refused and not changed.
func TestFormatOfAnOlderVersion(t *testing.T) {
	for old := range oldestFormat {
		synctest.Test(t, func(t *testing.T) {
			db := withFormat(t, old)
			wanted := fmt.Sprintf("the namespace was written by an older Mayfly: it has format %d, and this version supports only format 4; "+
				"upgrade it first with a version that supports formats %d and 4", old, old)
			if _, err := openOn(t.Context(), db, nil, timed(Options{})); err == nil || !strings.HasSuffix(err.Error(), wanted) {
				t.Errorf("open: %v; want %q", err, wanted)
			}
			if _, err := openSnapshotOn(t.Context(), db, nil, timed(Options{})); err == nil || !strings.HasSuffix(err.Error(), wanted) {
				t.Errorf("look: %v; want %q", err, wanted)
			}
			want(t, formatDoc{ID: formatID, V: int64(old), Format: old}, formatIn(t, db))
			for in, docs := range db.shelves {
				if in != settings || len(docs) != 1 {
					t.Errorf("%d documents in %s", len(docs), in)
				}
			}
		})
	}
}

// A namespace of a newer version is not changed, even by a standby server that waited while it
// was upgraded.
func TestFormatOfANewerVersion(t *testing.T) {
	const explained = "the namespace was written by a newer Mayfly: it has format 5, and this version supports only format 4"
	newer := marshal(formatDoc{ID: "default/format", V: format + 1, Format: format + 1})
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		if err := db.Insert(t.Context(), settings, newer); err != nil {
			t.Fatal(err)
		}
		if _, err := openOn(t.Context(), db, nil, timed(Options{})); err == nil || !strings.Contains(err.Error(), explained) {
			t.Errorf("open: %v", err)
		}
		if _, err := openSnapshotOn(t.Context(), db, nil, timed(Options{})); err == nil || !strings.Contains(err.Error(), explained) {
			t.Errorf("look: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		owner, err := openOn(t.Context(), db, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		waits, opened := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := openOn(t.Context(), db, nil, timed(Options{Standby: func(engine.Owner) { close(waits) }}))
			opened <- err
		}()
		<-waits
		if err := db.Apply(t.Context(), settings, []change{{id: "default/format", version: format + 1, doc: newer}}); err != nil {
			t.Fatal(err)
		}
		if err := owner.Close(); err != nil {
			t.Error(err)
		}
		if err := <-opened; err == nil || !strings.Contains(err.Error(), explained) {
			t.Errorf("the standby server: %v", err)
		}
	})
}
