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

// runHistory tests the optional engine.History.
func runHistory(t *testing.T, openNew func(t *testing.T) Open, x workShare) {
	s := open(t, openNew(t))
	if _, ok := s.(engine.History); !ok {
		t.Log("this store has no history")
		return
	}
	for _, tc := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"picked as asked", func(t *testing.T, o Open) { testHistory(t, o, x.of(400, 60)) }},
		{"page by page", func(t *testing.T, o Open) { testHistoryPages(t, o, x.of(400, 60)) }},
		{"with its batch or not at all", testAuditWithBatch},
		{"given twice", testRememberTwice},
		{"forgotten by age", testForgetEarly},
		{"forgotten for room", testForgetOldest},
		{"looked at from many sides", testHistoryHeld},
		{"at the same time as commits", func(t *testing.T, o Open) { testHistoryConcurrent(t, o, x.of(60, 20)) }},
		{"ended", testHistoryEnded},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, openNew(t)) })
	}
}

// historyOf returns s as an engine.History.
func historyOf(t *testing.T, s engine.Store) engine.History {
	t.Helper()
	h, ok := s.(engine.History)
	if !ok {
		t.Fatalf("%T is not an engine.History now", s)
	}
	return h
}

func appendEvents(t *testing.T, s engine.Store, events ...engine.Event) {
	t.Helper()
	if err := historyOf(t, s).AppendEvents(t.Context(), events); err != nil {
		t.Fatalf("AppendEvents: %v", err)
	}
}

func trimEvents(t *testing.T, s engine.Store, before engine.Instant, most int64) {
	t.Helper()
	if err := historyOf(t, s).TrimEvents(t.Context(), before, most); err != nil {
		t.Fatalf("TrimEvents(%d, %d): %v", before, most, err)
	}
}

func queryEvents(t *testing.T, s engine.Store, q engine.HistoryQuery) []engine.HistoryEvent {
	t.Helper()
	all, err := collect(historyOf(t, s).QueryEvents(t.Context(), q))
	if err != nil {
		t.Fatalf("QueryEvents(%+v): %v", q, err)
	}
	return all
}

func collect(events iter.Seq2[engine.HistoryEvent, error]) (all []engine.HistoryEvent, err error) {
	for e, err := range events {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// An expectedHistory contains everything that was added to a history.
type expectedHistory struct {
	d      enginetest.Generator
	at     engine.Instant
	epoch  uint64
	n      uint64
	events []engine.HistoryEvent
}

// draw draws n events of the current epoch, some with the same instant. Fields that queries
// select by have few values, and names differ in case and length only.
func (c *expectedHistory) draw(n int) []engine.Event {
	paths := []engine.Path{"", "orders", "Orders/$DeadLetterQueue", "orders2", "prices", "PRICES/Subscriptions/eu", "Äpfel", "äpfel/$DeadLetterQueue"}
	events := make([]engine.Event, n)
	for i := range events {
		e := &events[i]
		c.d.Fill(e)
		c.at += engine.Instant(c.d.IntN(3))
		c.n++
		e.At, e.N, e.Audit = c.at, c.n, c.d.OneIn(5)
		e.Message.Key = engine.Key(c.d.IntN(8))
		e.Path, e.To = paths[c.d.IntN(len(paths))], paths[max(0, c.d.IntN(2*len(paths))-len(paths))]
		if !c.d.OneIn(20) { // otherwise it is an unknown kind, as of a later version
			e.Kind = engine.EventSent + engine.EventKind(c.d.IntN(int(engine.EventRuleReplaced)))
		}
		c.events = append(c.events, engine.HistoryEvent{Epoch: c.epoch, Event: *e})
	}
	return events
}

// matching returns the events that QueryEvents must return for q.
func (c *expectedHistory) matching(q engine.HistoryQuery) (picked []engine.HistoryEvent) {
	for _, e := range c.events {
		if q.Matches(e) {
			picked = append(picked, e)
		}
	}
	slices.SortFunc(picked, func(a, b engine.HistoryEvent) int {
		return -cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.N, b.N))
	})
	if q.Limit > 0 && len(picked) > q.Limit {
		picked = picked[:q.Limit]
	}
	return picked
}

// fill adds n events in each of three epochs: audit events in batches, all others with
// AppendEvents.
func (c *expectedHistory) fill(t *testing.T, o Open, n int) engine.Store {
	t.Helper()
	s := open(t, o)
	for range 3 {
		c.epoch, c.n = s.Epoch(), 0
		for left := n; left > 0; {
			some := c.draw(min(left, 1+c.d.IntN(40)))
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
			appendEvents(t, s, others...)
		}
		s = reopen(t, o, s)
	}
	return s
}

func (c *expectedHistory) compare(t *testing.T, s engine.Store, q engine.HistoryQuery) {
	t.Helper()
	if d := gocmp.Diff(c.matching(q), queryEvents(t, s, q), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("QueryEvents(%+v) (-want +got):\n%s", q, d)
	}
}

func newChronicle(t *testing.T) *expectedHistory {
	return &expectedHistory{d: enginetest.NewGenerator(seed(t)), at: 1_784_000_000_000}
}

func testHistory(t *testing.T, o Open, n int) {
	c := newChronicle(t)
	s := c.fill(t, o, n)
	c.compare(t, s, engine.HistoryQuery{})
	some := func() engine.HistoryEvent { return c.events[c.d.IntN(len(c.events))] }
	parts := []func(q *engine.HistoryQuery){
		func(q *engine.HistoryQuery) { q.Key = some().Message.Key },
		func(q *engine.HistoryQuery) { q.Path = some().Path },
		func(q *engine.HistoryQuery) { q.Path = engine.Path(some().Path.Fold()) },
		func(q *engine.HistoryQuery) { q.Kinds = []engine.EventKind{some().Kind} },
		func(q *engine.HistoryQuery) {
			q.Kinds = []engine.EventKind{some().Kind, engine.EventGap, some().Kind, some().Kind}
		},
		func(q *engine.HistoryQuery) {
			q.Kinds = []engine.EventKind{engine.EventStarted, engine.EventGap, engine.EventEntityAutoDeleted}
		},
		func(q *engine.HistoryQuery) { q.Audit = true },
		func(q *engine.HistoryQuery) { q.From = some().At },
		func(q *engine.HistoryQuery) { q.Until = some().At },
		func(q *engine.HistoryQuery) { q.Before = some().Cursor() },
		func(q *engine.HistoryQuery) { q.Limit = 1 + c.d.IntN(30) },
	}
	for _, p := range parts {
		var q engine.HistoryQuery
		p(&q)
		c.compare(t, s, q)
	}
	for range 40 {
		var q engine.HistoryQuery
		for range 2 + c.d.IntN(3) {
			parts[c.d.IntN(len(parts))](&q)
		}
		c.compare(t, s, q)
	}
	for _, q := range []engine.HistoryQuery{{Key: 99}, {Path: "order"}, {From: c.at + 1}, {Until: 1}, {Before: engine.HistoryCursor{At: 1}}} {
		if got := queryEvents(t, s, q); len(got) > 0 {
			t.Errorf("QueryEvents(%+v) yields %d events", q, len(got))
		}
	}
}

// testHistoryPages checks that pages, each read from the end of the previous one, contain every
// matching event once.
func testHistoryPages(t *testing.T, o Open, n int) {
	c := newChronicle(t)
	s := c.fill(t, o, n)
	for _, q := range []engine.HistoryQuery{{Limit: 7}, {Limit: 3, Audit: true}, {Limit: 5, Path: "orders"}, {Limit: 2, Key: 3}} {
		whole := q
		whole.Limit = 0
		want := c.matching(whole)
		var got []engine.HistoryEvent
		for {
			page := queryEvents(t, s, q)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			q.Before = page[len(page)-1].Cursor()
		}
		if d := gocmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("pages of %+v (-want +got):\n%s", whole, d)
		}
	}
}

// testAuditWithBatch checks that audit events are in the history if their batch was committed, and
// are not if its commit failed.
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
	want := []engine.HistoryEvent{{Epoch: 1, Event: audit(2)[0]}}
	for range 2 {
		if d := gocmp.Diff(want, queryEvents(t, s, engine.HistoryQuery{})); d != "" {
			t.Errorf("history (-want +got):\n%s", d)
		}
		s = reopen(t, o, s)
	}
	closeStore(t, s)
	if err := s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 7, Audit: audit(3)}); err == nil {
		t.Error("a closed store commits")
	}
	if got := queryEvents(t, open(t, o), engine.HistoryQuery{}); len(got) != 1 {
		t.Errorf("%d events are remembered", len(got))
	}
}

// testRememberTwice adds events twice, as after an error with an unknown outcome. The history must
// contain each once.
func testRememberTwice(t *testing.T, o Open) {
	c := newChronicle(t)
	s := open(t, o)
	c.epoch = s.Epoch()
	all := c.draw(90)
	for i := range all {
		all[i].Audit, c.events[i].Audit = false, false
	}
	appendEvents(t, s, all[:50]...)
	appendEvents(t, s, all...)
	appendEvents(t, s, all[20:30]...)
	appendEvents(t, s)
	c.compare(t, s, engine.HistoryQuery{})
	c.compare(t, reopen(t, o, s), engine.HistoryQuery{})
}

func testForgetEarly(t *testing.T, o Open) {
	c := newChronicle(t)
	s := c.fill(t, o, 150)
	all := c.events
	for _, i := range []int{0, 1, 200, 201, 400, 449} {
		before := all[i].At
		trimEvents(t, s, before, 0)
		c.events = slices.DeleteFunc(slices.Clone(all), func(e engine.HistoryEvent) bool { return e.At < before })
		c.compare(t, s, engine.HistoryQuery{})
	}
	s = reopen(t, o, s)
	trimEvents(t, s, 0, 0)
	if got := queryEvents(t, s, engine.HistoryQuery{}); len(got) == 0 || got[0].At != c.at {
		t.Errorf("after trimming without bounds, %d events are left", len(got))
	}
	trimEvents(t, s, c.at+1, 0)
	if got := queryEvents(t, s, engine.HistoryQuery{}); len(got) > 0 {
		t.Errorf("%d events are left", len(got))
	}
}

// testForgetOldest checks that TrimEvents deletes the oldest events, and audit events after all
// others, until the history fits into the bound. Events have a little more than a thousand bytes
// each. A range of results is allowed, because stores may count sizes differently.
func testForgetOldest(t *testing.T, o Open) {
	s, d := open(t, o), enginetest.NewGenerator(seed(t))
	n := uint64(0)
	give := func(count int, audit bool) {
		for range count {
			n++
			e := engine.Event{N: n, At: engine.Instant(n), Content: engine.Packed(d.Bytes(1000)), Audit: audit}
			if audit {
				commit(t, s, &engine.Batch{Hard: true, Now: e.At, Audit: []engine.Event{e}})
			} else {
				appendEvents(t, s, e)
			}
		}
	}
	left := func(audit bool) (numbers []uint64) {
		for _, e := range queryEvents(t, s, engine.HistoryQuery{}) {
			if e.Audit == audit {
				numbers = append(numbers, e.N)
			}
		}
		return numbers
	}
	give(5, true)
	give(150, false)
	give(5, true)
	trimEvents(t, s, 0, math.MaxInt64)
	trimEvents(t, s, 0, 10_000_000)
	if got := len(left(false)); got != 150 {
		t.Errorf("%d of 150 events are left, although the bound is larger than all", got)
	}
	for i, most := range []int64{100_000, 50_000, 50_000, 20_000} {
		if i == 2 { // the size must survive a reopening
			s = reopen(t, o, s)
			give(30, false)
		}
		trimEvents(t, s, 0, most)
		got := left(false)
		if len(got) > int(most)/1000-10 || len(got) < int(most)/2000-10 {
			t.Errorf("%d events of more than 1000 bytes, and 10 audit events, are left with a bound of %d bytes", len(got), most)
		}
		for j := range got[:max(0, len(got)-1)] {
			if got[j] != got[j+1]+1 && got[j] != 161 { // events before 161 are audit events
				t.Errorf("event %d is deleted before %d", got[j]-1, got[j+1])
			}
		}
		if a := left(true); len(a) != 10 {
			t.Errorf("%d of 10 audit events are left with a bound of %d bytes", len(a), most)
		}
	}
	trimEvents(t, s, 0, 1)
	if got := left(false); len(got) > 0 {
		t.Errorf("%d events are left with a bound of one byte", len(got))
	}
}

// testHistoryHeld advances many iterations in turns while batches are committed, and stops them
// before their end. Each iteration must yield the events that existed when it began.
func testHistoryHeld(t *testing.T, o Open) {
	c := newChronicle(t)
	s := c.fill(t, o, 120)
	c.epoch, c.n = s.Epoch(), 0
	want := c.matching(engine.HistoryQuery{})
	var nexts []func() (engine.HistoryEvent, error, bool)
	for range 12 {
		next, stop := iter.Pull2(historyOf(t, s).QueryEvents(t.Context(), engine.HistoryQuery{}))
		t.Cleanup(stop)
		nexts = append(nexts, next)
	}
	for i := range 20 {
		for _, next := range nexts {
			if e, err, ok := next(); err != nil || !ok || e.Cursor() != want[i].Cursor() {
				t.Fatalf("event %d: %+v, %v, %v; want %+v", i, e.Cursor(), err, ok, want[i].Cursor())
			}
		}
		commit(t, s, &engine.Batch{Hard: true, Now: c.at})
	}
	for range 20 {
		for _, err := range historyOf(t, s).QueryEvents(t.Context(), engine.HistoryQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	c.compare(t, s, engine.HistoryQuery{})
}

// testHistoryConcurrent uses the history from several goroutines, for the race detector. Audit
// events have late instants, so that they are not trimmed.
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
		return h.AppendEvents(ctx, events)
	})
	again("forget", func(i int) error { return h.TrimEvents(ctx, engine.Instant(i%late), 100_000_000) })
	for _, q := range []engine.HistoryQuery{{}, {Path: "q", Limit: 100}, {Audit: true}} {
		again("look", func(int) error {
			last := engine.HistoryCursor{}
			for e, err := range h.QueryEvents(ctx, q) {
				if err != nil {
					return err
				}
				if last != (engine.HistoryCursor{}) && !e.Cursor().Before(last) {
					return fmt.Errorf("%+v comes after %+v", e.Cursor(), last)
				}
				last = e.Cursor()
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
	appendEvents(t, s, one...)
	why := errors.New("the caller went home")
	ctx := ended(t, why)
	_, looked := collect(h.QueryEvents(ctx, engine.HistoryQuery{}))
	for name, err := range map[string]error{
		"AppendEvents": h.AppendEvents(ctx, []engine.Event{{N: 2, At: 2}}), "TrimEvents": h.TrimEvents(ctx, 9, 1), "QueryEvents": looked,
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s with an ended context: %v; want its cause", name, err)
		}
	}
	if got := queryEvents(t, s, engine.HistoryQuery{}); len(got) != 1 {
		t.Errorf("%d events after calls with an ended context; want 1", len(got))
	}
	closeStore(t, s)
	_, looked = collect(h.QueryEvents(t.Context(), engine.HistoryQuery{}))
	for name, err := range map[string]error{"AppendEvents": h.AppendEvents(t.Context(), one), "TrimEvents": h.TrimEvents(t.Context(), 9, 1), "QueryEvents": looked} {
		if err == nil || errors.Is(err, engine.ErrUnwritable) {
			t.Errorf("%s after Close: %v; want an error that is not ErrUnwritable", name, err)
		}
	}
}
