package broker_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

func (w *world) seen(p engine.Path, id string) (seen bool) {
	w.Helper()
	err := w.Read(w.Context(), func(r broker.Reader) (err error) {
		seen, err = r.IsDuplicate(p, id)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return seen
}

// DUP-2, DUP-4, DUP-12: a duplicate is accepted and reported, the window follows the broker's
// clock, and both survive a reopening of the store.
func TestDuplicateIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{RequiresDuplicateDetection: true})
		send := func(ids ...string) []engine.Seq {
			t.Helper()
			var out []broker.Outgoing
			for _, id := range ids {
				out = append(out, broker.Outgoing{Content: engine.Content{MessageID: id}, Body: []byte(id)})
			}
			seqs, err := w.Send(t.Context(), "q", out, "sender")
			if err != nil {
				t.Fatal(err)
			}
			return seqs
		}
		if seqs := send("a", "a", "b"); !slices.Equal(seqs, []engine.Seq{1, 0, 2}) {
			t.Fatalf("got %v", seqs)
		}
		send("a")
		if got := w.bodies("q"); !slices.Equal(got, []string{"a", "b"}) {
			t.Fatalf("got %q", got)
		}
		kinds := map[engine.EventKind]int{}
		for _, e := range w.Events().Recent(100) {
			kinds[e.Kind]++
		}
		if kinds[engine.EventDuplicate] != 2 || kinds[engine.EventSent] != 2 {
			t.Errorf("the events are %v", kinds)
		}
		w.store.breaks(errors.New("the line is cut"), false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{Content: engine.Content{MessageID: "c"}}}, ""); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.store.breaks(nil, false)
		time.Sleep(9 * time.Minute)
		if !w.seen("q", "a") || w.seen("q", "c") || w.seen("q", "A") {
			t.Error("after a reopening, the id a should be remembered, and c and A not")
		}
		time.Sleep(time.Minute)
		if w.seen("q", "a") {
			t.Error("the id a is still remembered after its window")
		}
		if seqs := send("a", "c"); !slices.Equal(seqs, []engine.Seq{3, 4}) {
			t.Errorf("got %v", seqs)
		}
	})
}

// A duplicate does not wait for the disk: only its count has to be stored, which may wait. The
// message that it repeats is already durable.
func TestDuplicateWaitsForNoCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{RequiresDuplicateDetection: true})
		m := []broker.Outgoing{{Content: engine.Content{MessageID: "m"}}}
		if _, err := w.Send(t.Context(), "q", m, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		before := len(w.store.batches())
		for range 10 {
			if _, err := w.Send(t.Context(), "q", m, ""); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.store.batches()) - before; n != 0 {
			t.Errorf("%d commits", n)
		}
		time.Sleep(time.Second)
		all := w.store.batches()[before:]
		if len(all) != 1 || all[0].Hard || len(all[0].Meters) != 1 || all[0].Meters[0].Duplicates != 10 || len(all[0].Messages)+len(all[0].Contents)+len(all[0].Bodies)+len(all[0].Seen) != 0 {
			t.Errorf("later there is %+v", all)
		}
	})
}
