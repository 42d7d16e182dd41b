package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
	"mayfly/engine/enginetest"
)

// runHistory tests what a store may do and need not.
func runHistory(t *testing.T, place func(t *testing.T) Open, x extent) {
	s := open(t, place(t))
	if _, ok := s.(engine.History); !ok {
		t.Log("this store has no history")
		return
	}
	for _, tc := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"picked as asked", func(t *testing.T, o Open) { testPast(t, o, x.of(400, 60)) }},
		{"page by page", func(t *testing.T, o Open) { testPastPages(t, o, x.of(400, 60)) }},
		{"with its batch or not at all", testAuditWithBatch},
		{"given twice", testRememberTwice},
		{"forgotten by age", testForgetEarly},
		{"forgotten for room", testForgetOldest},
		{"looked at from many sides", testPastHeld},
		{"at the same time as commits", func(t *testing.T, o Open) { testHistoryConcurrent(t, o, x.of(60, 20)) }},
		{"ended", testHistoryEnded},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, place(t)) })
	}
}

// historyOf is s as a History.
func historyOf(t *testing.T, s engine.Store) engine.History {
	t.Helper()
	h, ok := s.(engine.History)
	if !ok {
		t.Fatalf("%T has no history this time", s)
	}
	return h
}

func remember(t *testing.T, s engine.Store, events ...engine.Event) {
	t.Helper()
	if err := historyOf(t, s).Remember(t.Context(), events); err != nil {
		t.Fatalf("Remember: %v", err)
	}
}

func forget(t *testing.T, s engine.Store, before engine.Instant, most int64) {
	t.Helper()
	if err := historyOf(t, s).Forget(t.Context(), before, most); err != nil {
		t.Fatalf("Forget(%d, %d): %v", before, most, err)
	}
}

func past(t *testing.T, s engine.Store, q engine.PastQuery) []engine.PastEvent {
	t.Helper()
	all, err := collect(historyOf(t, s).Past(t.Context(), q))
	if err != nil {
		t.Fatalf("Past(%+v): %v", q, err)
	}
	return all
}

func collect(events iter.Seq2[engine.PastEvent, error]) (all []engine.PastEvent, err error) {
	for e, err := range events {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// A chronicle is all that a history was given.
type chronicle struct {
	d      enginetest.Drawer
	at     engine.Instant
	epoch  uint64
	n      uint64
	events []engine.PastEvent
}

// next draws n events of the present epoch, some of one instant. What matters
// for picking them is of few kinds, and names differ in case and length only.
func (c *chronicle) next(n int) []engine.Event {
	paths := []engine.Path{"", "orders", "Orders/$DeadLetterQueue", "orders2", "prices", "PRICES/Subscriptions/eu", "Äpfel", "äpfel/$DeadLetterQueue"}
	events := make([]engine.Event, n)
	for i := range events {
		e := &events[i]
		c.d.Fill(e)
		c.at += engine.Instant(c.d.IntN(3))
		c.n++
		e.At, e.N, e.Audit = c.at, c.n, c.d.One(5)
		e.Message.Key = engine.Key(c.d.IntN(8))
		e.Path, e.To = paths[c.d.IntN(len(paths))], paths[max(0, c.d.IntN(2*len(paths))-len(paths))]
		if !c.d.One(20) { // else a kind to come
			e.Kind = engine.EventSent + engine.EventKind(c.d.IntN(int(engine.EventRuleReplaced)))
		}
		c.events = append(c.events, engine.PastEvent{Epoch: c.epoch, Event: *e})
	}
	return events
}

// pick is the contract of Past.
func (c *chronicle) pick(q engine.PastQuery) (picked []engine.PastEvent) {
	for _, e := range c.events {
		if q.Match(e) {
			picked = append(picked, e)
		}
	}
	slices.SortFunc(picked, func(a, b engine.PastEvent) int {
		return -cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.N, b.N))
	})
	if q.Limit > 0 && len(picked) > q.Limit {
		picked = picked[:q.Limit]
	}
	return picked
}

// fill has s remember n events in each of three epochs: of what operators did in
// batches, of everything else by itself.
func (c *chronicle) fill(t *testing.T, o Open, n int) engine.Store {
	t.Helper()
	s := open(t, o)
	for range 3 {
		c.epoch, c.n = s.Epoch(), 0
		for left := n; left > 0; {
			some := c.next(min(left, 1+c.d.IntN(40)))
			left -= len(some)
			b := &engine.Batch{Hard: true, Now: c.at}
			var others []engine.Event
			for _, e := range some {
				if e.Audit {
					b.Audit = append(b.Audit, e)
				} else {
					others = append(others, e)
				}
			}
			if len(b.Audit) > 0 {
				commit(t, s, b)
			}
			remember(t, s, others...)
		}
		s = reopen(t, o, s)
	}
	return s
}

func (c *chronicle) compare(t *testing.T, s engine.Store, q engine.PastQuery) {
	t.Helper()
	if d := gocmp.Diff(c.pick(q), past(t, s, q), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("Past(%+v) (-want +got):\n%s", q, d)
	}
}

func newChronicle(t *testing.T) *chronicle {
	return &chronicle{d: enginetest.Draw(seed(t)), at: 1_784_000_000_000}
}

func testPast(t *testing.T, o Open, n int) {
	c := newChronicle(t)
	s := c.fill(t, o, n)
	c.compare(t, s, engine.PastQuery{})
	some := func() engine.PastEvent { return c.events[c.d.IntN(len(c.events))] }
	parts := []func(q *engine.PastQuery){
		func(q *engine.PastQuery) { q.Key = some().Message.Key },
		func(q *engine.PastQuery) { q.Path = some().Path },
		func(q *engine.PastQuery) { q.Path = engine.Path(some().Path.Fold()) },
		func(q *engine.PastQuery) { q.Kinds = []engine.EventKind{some().Kind} },
		func(q *engine.PastQuery) {
			q.Kinds = []engine.EventKind{some().Kind, engine.EventGap, some().Kind, some().Kind}
		},
		func(q *engine.PastQuery) {
			q.Kinds = []engine.EventKind{engine.EventStarted, engine.EventGap, engine.EventEntityAutoDeleted}
		},
		func(q *engine.PastQuery) { q.Audit = true },
		func(q *engine.PastQuery) { q.From = some().At },
		func(q *engine.PastQuery) { q.Until = some().At },
		func(q *engine.PastQuery) { q.Before = some().Place() },
		func(q *engine.PastQuery) { q.Limit = 1 + c.d.IntN(30) },
	}
	for _, p := range parts {
		var q engine.PastQuery
		p(&q)
		c.compare(t, s, q)
	}
	for range 40 {
		var q engine.PastQuery
		for range 2 + c.d.IntN(3) {
			parts[c.d.IntN(len(parts))](&q)
		}
		c.compare(t, s, q)
	}
	for _, q := range []engine.PastQuery{{Key: 99}, {Path: "order"}, {From: c.at + 1}, {Until: 1}, {Before: engine.PastPlace{At: 1}}} {
		if got := past(t, s, q); len(got) > 0 {
			t.Errorf("Past(%+v) yields %d events", q, len(got))
		}
	}
}

// testPastPages reads on from where the page before ended, as addresses do.
func testPastPages(t *testing.T, o Open, n int) {
	c := newChronicle(t)
	s := c.fill(t, o, n)
	for _, q := range []engine.PastQuery{{Limit: 7}, {Limit: 3, Audit: true}, {Limit: 5, Path: "orders"}, {Limit: 2, Key: 3}} {
		whole := q
		whole.Limit = 0
		want := c.pick(whole)
		var got []engine.PastEvent
		for {
			page := past(t, s, q)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			q.Before = page[len(page)-1].Place()
		}
		if d := gocmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("pages of %+v (-want +got):\n%s", whole, d)
		}
	}
}

// testAuditWithBatch commits what may and what may not be remembered.
func testAuditWithBatch(t *testing.T, o Open) {
	s := open(t, o)
	audit := func(n uint64) []engine.Event {
		return []engine.Event{{N: n, At: 5, Kind: engine.EventEntityDeleted, Audit: true, Path: "q"}}
	}
	why := errors.New("the caller went home")
	if err := s.Commit(ended(t, why), &engine.Batch{Hard: true, Now: 5, Audit: audit(1)}); !errors.Is(err, why) {
		t.Fatalf("Commit with an ended context: %v", err)
	}
	commit(t, s, &engine.Batch{Hard: true, Now: 6, Audit: audit(2)})
	want := []engine.PastEvent{{Epoch: 1, Event: audit(2)[0]}}
	for range 2 {
		if d := gocmp.Diff(want, past(t, s, engine.PastQuery{})); d != "" {
			t.Errorf("history (-want +got):\n%s", d)
		}
		s = reopen(t, o, s)
	}
	closeStore(t, s)
	if err := s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 7, Audit: audit(3)}); err == nil {
		t.Error("a closed store commits")
	}
	if got := past(t, open(t, o), engine.PastQuery{}); len(got) != 1 {
		t.Errorf("%d events are remembered", len(got))
	}
}

// testRememberTwice gives events again, as after an error.
func testRememberTwice(t *testing.T, o Open) {
	c := newChronicle(t)
	s := open(t, o)
	c.epoch = s.Epoch()
	all := c.next(90)
	for i := range all {
		all[i].Audit, c.events[i].Audit = false, false
	}
	remember(t, s, all[:50]...)
	remember(t, s, all...)
	remember(t, s, all[20:30]...)
	remember(t, s)
	c.compare(t, s, engine.PastQuery{})
	c.compare(t, reopen(t, o, s), engine.PastQuery{})
}

func testForgetEarly(t *testing.T, o Open) {
	c := newChronicle(t)
	s := c.fill(t, o, 150)
	all := c.events
	for _, i := range []int{0, 1, 200, 201, 400, 449} {
		before := all[i].At
		forget(t, s, before, 0)
		c.events = slices.DeleteFunc(slices.Clone(all), func(e engine.PastEvent) bool { return e.At < before })
		c.compare(t, s, engine.PastQuery{})
	}
	s = reopen(t, o, s)
	forget(t, s, 0, 0)
	if got := past(t, s, engine.PastQuery{}); len(got) == 0 || got[0].At != c.at {
		t.Errorf("without a bound, %d events are left", len(got))
	}
	forget(t, s, c.at+1, 0)
	if got := past(t, s, engine.PastQuery{}); len(got) > 0 {
		t.Errorf("%d events are left", len(got))
	}
}

// testForgetOldest has events that take a thousand bytes and some more, for a
// store may count what they take in its own way.
func testForgetOldest(t *testing.T, o Open) {
	s, d := open(t, o), enginetest.Draw(seed(t))
	n := uint64(0)
	give := func(count int, audit bool) {
		for range count {
			n++
			e := engine.Event{N: n, At: engine.Instant(n), Content: engine.Packed(d.Bytes(1000)), Audit: audit}
			if audit {
				commit(t, s, &engine.Batch{Hard: true, Now: e.At, Audit: []engine.Event{e}})
			} else {
				remember(t, s, e)
			}
		}
	}
	left := func(audit bool) (numbers []uint64) {
		for _, e := range past(t, s, engine.PastQuery{}) {
			if e.Audit == audit {
				numbers = append(numbers, e.N)
			}
		}
		return numbers
	}
	give(5, true)
	give(150, false)
	give(5, true)
	forget(t, s, 0, math.MaxInt64)
	forget(t, s, 0, 10_000_000)
	if got := len(left(false)); got != 150 {
		t.Errorf("%d of 150 events are left though there is room for them", got)
	}
	for i, most := range []int64{100_000, 50_000, 50_000, 20_000} {
		if i == 2 { // the count goes on after an open
			s = reopen(t, o, s)
			give(30, false)
		}
		forget(t, s, 0, most)
		got := left(false)
		if len(got) > int(most)/1000-10 || len(got) < int(most)/2000-10 {
			t.Errorf("%d events of more than 1000 bytes, and 10 of operators, are left of %d bytes", len(got), most)
		}
		for j := range got[:max(0, len(got)-1)] {
			if got[j] != got[j+1]+1 && got[j] != 161 { // operators did what is before 161
				t.Errorf("event %d is forgotten before %d", got[j]-1, got[j+1])
			}
		}
		if a := left(true); len(a) != 10 {
			t.Errorf("%d of 10 events of operators are left of %d bytes", len(a), most)
		}
	}
	forget(t, s, 0, 1)
	if got := left(false); len(got) > 0 {
		t.Errorf("%d events are left of a byte", len(got))
	}
}

// testPastHeld begins many times and goes on in turns, and stops before the end.
func testPastHeld(t *testing.T, o Open) {
	c := newChronicle(t)
	s := c.fill(t, o, 120)
	c.epoch, c.n = s.Epoch(), 0
	want := c.pick(engine.PastQuery{})
	var nexts []func() (engine.PastEvent, error, bool)
	for range 12 {
		next, stop := iter.Pull2(historyOf(t, s).Past(t.Context(), engine.PastQuery{}))
		t.Cleanup(stop)
		nexts = append(nexts, next)
	}
	for i := range 20 {
		for _, next := range nexts {
			if e, err, ok := next(); err != nil || !ok || e.Place() != want[i].Place() {
				t.Fatalf("event %d: %+v, %v, %v; want %+v", i, e.Place(), err, ok, want[i].Place())
			}
		}
		commit(t, s, &engine.Batch{Hard: true, Now: c.at})
	}
	for range 20 {
		for _, err := range historyOf(t, s).Past(t.Context(), engine.PastQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	c.compare(t, s, engine.PastQuery{})
}

// testHistoryConcurrent uses history from many sides; the race detector judges.
// What operators do comes late, so that it is not forgotten.
func testHistoryConcurrent(t *testing.T, o Open, batches int) {
	s, w := open(t, o), newWalk(seed(t))
	h := historyOf(t, s)
	ctx := t.Context()
	const late = 1000
	var others sync.WaitGroup
	done := make(chan struct{})
	again := func(what string, do func(i int) error) {
		others.Go(func() {
			for i := 1; ; i++ {
				if err := do(i); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	again("remember", func(i int) error {
		events := make([]engine.Event, 50)
		for j := range events {
			events[j] = engine.Event{N: uint64(i*50 + j), At: engine.Instant(1 + i%(late-1)), Kind: engine.EventSent, Path: "q"}
		}
		return h.Remember(ctx, events)
	})
	again("forget", func(i int) error { return h.Forget(ctx, engine.Instant(i%late), 100_000_000) })
	for _, q := range []engine.PastQuery{{}, {Path: "q", Limit: 100}, {Audit: true}} {
		again("look", func(int) error {
			last := engine.PastPlace{}
			for e, err := range h.Past(ctx, q) {
				if err != nil {
					return err
				}
				if last != (engine.PastPlace{}) && !e.Place().Before(last) {
					return fmt.Errorf("%+v comes after %+v", e.Place(), last)
				}
				last = e.Place()
			}
			return nil
		})
	}
	for range batches {
		do := w.next()
		for _, b := range do.staged {
			stage(t, s, b.Key, b.Bytes)
		}
		commit(t, s, do.batch)
	}
	close(done)
	others.Wait()
	check(t, s, w.state)
	check(t, reopen(t, o, s), w.state)
}

func testHistoryEnded(t *testing.T, o Open) {
	s := open(t, o)
	h := historyOf(t, s)
	one := []engine.Event{{N: 1, At: 1, Kind: engine.EventSent}}
	remember(t, s, one...)
	why := errors.New("the caller went home")
	ctx := ended(t, why)
	_, looked := collect(h.Past(ctx, engine.PastQuery{}))
	for name, err := range map[string]error{
		"Remember": h.Remember(ctx, []engine.Event{{N: 2, At: 2}}), "Forget": h.Forget(ctx, 9, 1), "Past": looked,
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s with an ended context: %v; want its cause", name, err)
		}
	}
	if got := past(t, s, engine.PastQuery{}); len(got) != 1 {
		t.Errorf("%d events after calls with an ended context; want 1", len(got))
	}
	closeStore(t, s)
	_, looked = collect(h.Past(t.Context(), engine.PastQuery{}))
	for name, err := range map[string]error{"Remember": h.Remember(t.Context(), one), "Forget": h.Forget(t.Context(), 9, 1), "Past": looked} {
		if err == nil || errors.Is(err, engine.ErrUnwritable) {
			t.Errorf("%s after Close: %v; want an error that nothing can mend", name, err)
		}
	}
}
