package mongo

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// When an owner dies, the next owner also keeps the data that a reader has begun to read, from the
// moment it owns the namespace until the reader closes.
func TestTheNextOwnerKeepsWhatIsBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		// The lease is so long that a window is applied before the first beat.
		o := timed(Options{Lease: 20 * applyEvery, Process: "one"})
		first, err := openOn(t.Context(), db, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			b := &engine.Batch{Hard: true, Now: 1, Meters: []engine.Meter{{Subqueue: 1, NextSeq: engine.Seq(i + 1)}}}
			if i == 0 {
				b.Entities = []engine.Entity{{ID: 1, Path: "q"}}
				b.Contents = []engine.StoredContent{{Key: 7, Content: "c"}}
				b.Bodies = []engine.Body{{Key: 7, Bytes: []byte("body")}}
				b.Messages = []engine.Message{{Key: 7, Content: 7, Subqueue: 1}}
			}
			if err := first.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * applyEvery)
			synctest.Wait()
		}
		look, err := openSnapshotOn(t.Context(), db, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range look.Load(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		before := db.ids(journal)

		if err := first.Commit(t.Context(), &engine.Batch{Hard: true, Now: 2, DropMessages: []engine.Key{7}, DropContents: []engine.DroppedContent{{Key: 7, HasBody: true}}}); err != nil {
			t.Fatal(err)
		}
		first.endOwnership(engine.ErrFenced) // before the window is applied
		_ = first.Close()

		next, err := openOn(t.Context(), db, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range next.Load(t.Context()) { // finds documents to sweep
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * o.Lease)
		synctest.Wait()
		if n := len(db.ids(messages)); n != 1 || next.appliedVersion.epoch() != next.epoch {
			t.Fatalf("nothing was applied: there are %d messages", n)
		}
		body, err := look.Body(t.Context(), 7)
		if err != nil {
			t.Fatalf("the body in the snapshot: %v", err)
		}
		if b, err := io.ReadAll(body); err != nil || string(b) != "body" {
			t.Errorf("the body in the snapshot is %q, %v", b, err)
		}
		for _, id := range before {
			if !slices.Contains(db.ids(journal), id) {
				t.Errorf("%s was removed from the journal", id)
			}
		}

		if err := look.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * o.Lease)
		if err := next.Commit(t.Context(), &engine.Batch{Hard: true, Now: 3, Meters: []engine.Meter{{Subqueue: 1, NextSeq: 9}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * o.Lease)
		if left := slices.Concat(db.ids(contents), db.ids(bodies)); len(left) > 0 {
			t.Errorf("the reader has closed, but these documents remain: %v", left)
		}
		if got := db.ids(journal); slices.Contains(got, before[0]) {
			t.Errorf("the reader has closed, but the journal was not trimmed: %v", got)
		}
		if err := next.Close(); err != nil {
			t.Error(err)
		}
	})
}
