package mongo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// A remembering is a namespace that remembers and drops MessageIds.
type remembering struct {
	*testing.T
	db *toy
	s  *Store
}

func (r *remembering) open() {
	r.Helper()
	s, err := openOn(r.Context(), r.db, nil, timed(Options{}))
	if err != nil {
		r.Fatal(err)
	}
	r.s = s
}

func (r *remembering) close() {
	r.Helper()
	if err := r.s.Close(); err != nil {
		r.Error(err)
	}
}

// commit commits, and returns when everything is applied and swept.
func (r *remembering) commit(b *engine.Batch) {
	r.Helper()
	b.Hard, b.Now = true, engine.At(time.Now())
	if err := r.s.Commit(r.Context(), b); err != nil {
		r.Fatal(err)
	}
	time.Sleep(3 * applyEvery)
	synctest.Wait()
}

func (r *remembering) sees(numbers ...uint64) {
	r.Helper()
	b := &engine.Batch{}
	for _, n := range numbers {
		b.Seen = append(b.Seen, engine.SeenIDs{Subqueue: 1, N: n, At: engine.At(time.Now())})
	}
	r.commit(b)
}

func (r *remembering) forgets(through uint64) {
	r.Helper()
	r.commit(&engine.Batch{DropSeen: []engine.SeenIDsThrough{{Subqueue: 1, N: through}}})
}

// remembers requires this number of documents, and these numbers from a load, which sweeps
// dropped documents.
func (r *remembering) remembers(documents int, numbers ...uint64) {
	r.Helper()
	if n := len(r.db.ids(seen)); n != documents {
		r.Errorf("there are %d documents, want %d", n, documents)
	}
	var got []uint64
	for rec, err := range r.s.Load(r.Context()) {
		if err != nil {
			r.Fatal(err)
		}
		if v, ok := rec.(engine.SeenIDs); ok {
			got = append(got, v.N)
		}
	}
	if !slices.Equal(got, numbers) {
		r.Errorf("numbers are %v, want %v", got, numbers)
	}
}

// late writes former documents again, as does an owner that has not noticed the loss of the
// namespace, or a request that is sent twice.
func (r *remembering) late(docs []toyDocument) {
	r.Helper()
	for _, d := range docs {
		if err := r.db.Apply(r.Context(), seen, []change{{id: d.id, insert: true, doc: d.doc}}); err != nil {
			r.Fatal(err)
		}
	}
}

// Dropped MessageIds do not come back, however late they are written again, and even if their
// number is in use again. The next load sweeps them.
func TestForgottenStaysForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remembering{T: t, db: new(toy)}
		r.open()
		r.commit(&engine.Batch{Entities: []engine.Entity{{ID: 1, Path: "q"}}})
		r.sees(1, 2, 3)
		r.sees(4, 5)
		r.remembers(5, 1, 2, 3, 4, 5)
		before := r.db.some(seen, within("default"), 0)
		r.forgets(3)
		r.remembers(2, 4, 5)
		r.late(before)
		r.remembers(5, 4, 5)
		time.Sleep(3 * applyEvery)
		synctest.Wait()
		r.remembers(2, 4, 5)
		r.forgets(5)
		r.remembers(0)
		for range 2 { // numbers start again, in the same epoch and in the next
			r.sees(1, 2)
			r.late(before)
			r.remembers(7, 1, 2)
			time.Sleep(3 * applyEvery)
			synctest.Wait()
			r.remembers(2, 1, 2)
			r.forgets(1) // lower than the numbers that were dropped before
			r.late(before)
			r.remembers(6, 2)
			time.Sleep(3 * applyEvery)
			synctest.Wait()
			r.remembers(1, 2)
			r.forgets(2)
			r.close()
			r.open()
			r.remembers(0)
		}
		r.sees(1, 2, 3, 4, 5, 6)
		r.forgets(6)
		r.late(before)
		r.remembers(5)
		if d := r.db.some(seenDropsColl, within("default"), 0); len(d) != 1 || d[0].doc.Lookup("through").AsInt64() != 6 {
			t.Errorf("%v", d)
		} else if drops, err := d[0].doc.Lookup("drops").Array().Values(); err != nil || len(drops) != 1 { // the last drop covers the earlier ones
			t.Errorf("%v, %v", drops, err)
		}
		r.close()
	})
}

// The document of drops is deleted with its entity, together with the entity's other documents.
func TestForsakenMemoryIsSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remembering{T: t, db: new(toy)}
		r.open()
		r.commit(&engine.Batch{Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Path: "q"}, {ID: 4, Path: "r"}},
			Sessions: []engine.SessionRecord{{Subqueue: 1, ID: "a"}, {Subqueue: 1, ID: "b"}, {Subqueue: 4, ID: "a"}}, Seen: []engine.SeenIDs{{Subqueue: 4, N: 1}}})
		r.sees(1, 2, 3)
		r.forgets(1)
		rows, states, words := r.db.some(seen, within("default"), 0), r.db.some(sessions, within("default"), 0), r.db.some(seenDropsColl, within("default"), 0)
		counts := func(seenRows, sessionDocs, word int) {
			t.Helper()
			want(t, []int{seenRows, sessionDocs, word}, []int{len(r.db.ids(seen)), len(r.db.ids(sessions)), len(r.db.ids(seenDropsColl))})
		}
		counts(3, 3, 1)
		r.commit(&engine.Batch{DropSubqueues: []engine.SubqueueID{1, 2, 3}})
		time.Sleep(2 * readerSilence) // long enough for a reader to be forgotten
		counts(1, 1, 0)
		r.late(rows)
		for in, docs := range map[collection][]toyDocument{sessions: states, seenDropsColl: words} {
			for _, d := range docs {
				if err := r.db.Apply(t.Context(), in, []change{{id: d.id, insert: true, doc: d.doc}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		counts(3, 3, 1)
		r.close()
		r.open()
		r.remembers(3, 1) // the MessageId of the other entity
		time.Sleep(2 * readerSilence)
		counts(1, 1, 0)
		r.close()
	})
}

// A load during commits yields MessageIds in the order of their numbers even if numbers start
// again meanwhile.
func TestLoadDuringCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remembering{T: t, db: new(toy)}
		r.open()
		r.commit(&engine.Batch{Entities: []engine.Entity{{ID: 1, Path: "q"}}})
		if err := r.s.Commit(t.Context(), &engine.Batch{Hard: true, Now: engine.At(time.Now()), Seen: []engine.SeenIDs{{Subqueue: 1, N: 5}}}); err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for rec, err := range r.s.Load(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			switch rec := rec.(type) {
			case engine.Clock:
				r.forgets(5)
				r.sees(1)
			case engine.SeenIDs:
				got = append(got, rec.N)
			}
		}
		want(t, []uint64{5}, got)
		r.remembers(1, 1)
		r.close()
	})
}

// A counting server counts the documents that are written.
type counting struct {
	server

	mu  sync.Mutex
	put map[collection]int // guarded by mu
}

func (c *counting) Apply(ctx context.Context, in collection, changes []change) error {
	c.mu.Lock()
	c.put[in] += len(changes)
	c.mu.Unlock()
	return c.server.Apply(ctx, in, changes)
}

func (c *counting) puts(of ...collection) (n []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, in := range of {
		n = append(n, c.put[in])
	}
	return n
}

// Records that are dropped before they are applied, alone or with their entity, are never
// written to the collections.
func TestMemoryThatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remembering{T: t, db: new(toy)}
		c := &counting{server: r.db, put: map[collection]int{}}
		s, err := openOn(t.Context(), c, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		r.s = s
		if err := r.s.Commit(t.Context(), &engine.Batch{Hard: true, Now: engine.At(time.Now()), Entities: []engine.Entity{{ID: 1, Path: "q"}, {ID: 5, Path: "passing"}},
			Sessions: []engine.SessionRecord{{Subqueue: 5, ID: "a"}, {Subqueue: 1, ID: "a"}},
			Seen:     []engine.SeenIDs{{Subqueue: 5, N: 1}, {Subqueue: 5, N: 2}, {Subqueue: 1, N: 1}, {Subqueue: 1, N: 2}, {Subqueue: 1, N: 3}}}); err != nil {
			t.Fatal(err)
		}
		r.commit(&engine.Batch{DropSubqueues: []engine.SubqueueID{5}, DropSeen: []engine.SeenIDsThrough{{Subqueue: 1, N: 2}}})
		want(t, []int{1, 1, 1}, c.puts(sessions, seen, seenDropsColl))
		r.remembers(1, 3)
		r.close()
	})
}

// If more than sweptOnce documents are dropped at once, all of them are deleted.
func TestForgottenInSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remembering{T: t, db: new(toy)}
		r.open()
		r.commit(&engine.Batch{Entities: []engine.Entity{{ID: 1, Path: "q"}}})
		var all []uint64
		for n := range uint64(2*sweptOnce + 3) {
			all = append(all, n+1)
		}
		r.sees(all...)
		r.forgets(2*sweptOnce + 1)
		r.remembers(2, 2*sweptOnce+2, 2*sweptOnce+3)
		r.close()
	})
}

// A sweep that fails is retried later, but not at once.
func TestForgottenSweepFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remembering{T: t, db: new(toy)}
		s, err := openOn(t.Context(), dawdling{r.db, seen, time.Hour}, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		r.s = s
		r.commit(&engine.Batch{Entities: []engine.Entity{{ID: 1, Path: "q"}}})
		r.sees(1, 2, 3)
		r.forgets(2) // the delete takes an hour, and fails
		r.remembers(3, 3)
		r.commit(&engine.Batch{})
		s.mu.Lock()
		left := s.droppedSeen[1]
		s.mu.Unlock()
		if len(s.toSweep) > 0 || !left {
			t.Error("the sweep is retried at once, or never")
		}
		time.Sleep(2 * time.Hour)
		r.remembers(1, 3)
		r.close()
	})
}

func TestForgettings(t *testing.T) {
	var f seenDrops
	for _, step := range []struct {
		at   version
		n    uint64
		want string
	}{
		{10, 5, "[{10 5}]"},
		{10, 5, "[{10 5}]"},        // repeated
		{20, 7, "[{20 7}]"},        // replaces it
		{30, 2, "[{20 7} {30 2}]"}, // numbers started again
		{40, 3, "[{20 7} {40 3}]"}, //
		{50, 7, "[{50 7}]"},        // covers both
		{45, 3, "[{50 7} {45 3}]"}, // from an earlier commit, redundant
		{60, ^uint64(0), "[{60 18446744073709551615}]"},
	} {
		if f = f.with(seenDrop{step.at, step.n}); fmt.Sprint(f) != step.want {
			t.Errorf("after %d, %d: %v, want %s", step.at, step.n, f, step.want)
		}
	}
	f = seenDrops{{20, 7}, {40, 3}}
	for _, tc := range []struct {
		at   version
		n    uint64
		want bool
	}{{19, 7, true}, {20, 7, false}, {19, 8, false}, {39, 3, true}, {39, 4, false}, {40, 3, false}, {1, 1, true}} {
		if got := f.covers(tc.at, tc.n); got != tc.want {
			t.Errorf("number %d of commit %d is covered by a drop: %v", tc.n, tc.at, got)
		}
	}
}
