package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
)

const (
	gatherFor      = time.Second // how long events wait for others before they are handed over
	gatherMost     = 1000        // events handed over at once
	lookMost       = 4096        // events looked at in one go, while the log waits
	forgetEvery    = time.Minute
	triesMost      = 30              // attempts to hand over the same while the store takes other writes
	finishPatience = 5 * time.Second // for the last hand-over, when the broker is closed
)

// A follower hands what happened to the store's history, about once a second,
// behind everybody's back: the owner waits for it at the end only.
//
// What the history was not given is told by engine.EventGap, made here and not
// published: its number and its instant are those of the last event it stands
// for. There are gaps when more than Options.HistoryRate events happen in a
// second: then what every message does is left out before what only some do,
// dying for instance. And there are gaps when the history cannot be written for
// so long that the log lets events go.
//
// INVARIANT: an event has one number in the log, in a batch's audit and in the
// history. The log's numbers go on when the store is opened again, so that
// within the life of a broker a number stands for one event. The history adds
// the epoch of the store that was given the event: for an audited one at its
// commit, for others when they were handed over. An epoch is one broker's, so
// both together are unique. (A batch whose outcome nobody knew may have left its
// audit under a number that the log gives again, but then in a later epoch.)
type follower struct {
	b    *Broker
	stop context.CancelFunc // ends handing over
	rest context.CancelFunc // ends forgetting
	wg   sync.WaitGroup

	mu      sync.Mutex
	batch   []engine.Event // taken from the log and not handed over yet, in order
	gap     gap            // what is missing and not told yet
	tried   *opened        // the store that failed to take batch, which is left as it is then; nil: none
	tries   int            // how often
	second  time.Time      // when the present one began
	routine int            // routine events of this second
	others  int            // the rest of this second
}

// history is the store's, nil if it has none.
func (o *opened) history() engine.History {
	h, _ := o.Store.(engine.History)
	return h
}

// follow begins with the next event; finish ends it.
func follow(ctx context.Context, b *Broker) *follower {
	f := &follower{b: b}
	var run, forget context.Context
	run, f.stop = context.WithCancel(ctx)
	forget, f.rest = context.WithCancel(run)
	b.events.follow()
	f.wg.Go(func() { f.run(run) })
	f.wg.Go(func() { f.forget(forget) })
	return f
}

// finish waits until the rest is handed over, for a while; after stop, only
// until nothing is any more. The log has ended before.
func (f *follower) finish() {
	f.rest()
	late := time.AfterFunc(finishPatience, f.stop)
	defer late.Stop()
	f.wg.Wait()
	f.stop()
}

func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		if f.empty() {
			select {
			case <-f.b.events.await(1):
			case <-ctx.Done():
				return
			}
		}
		more, closed := f.gather(ctx)
		if err := f.handOver(ctx); closed && (err != nil || !more) {
			return
		}
	}
}

// empty tells whether there is nothing to hand over but what the log has.
func (f *follower) empty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.batch) == 0 && f.gap.count == 0
}

// gather collects events until they are many or a second has passed. It tells
// whether the log has more of them, and whether it is closed.
func (f *follower) gather(ctx context.Context) (more, closed bool) {
	late := time.NewTimer(gatherFor)
	defer late.Stop()
	for {
		next := uint64(gatherMost)
		if f.full() {
			next = math.MaxUint64 / 2 // only the end of the log cuts the pause short
		}
		select {
		case <-f.b.events.await(next):
			if more, closed = f.take(); closed || f.full() {
				return more, closed
			}
		case <-late.C:
			return f.take()
		case <-ctx.Done():
			return false, true
		}
	}
}

// full tells whether the batch is complete, or has failed and waits to be tried
// again.
func (f *follower) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.batch) >= gatherMost || f.tried != nil
}

// take adds to the batch what the log has, and tells as gather does.
func (f *follower) take() (more, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := lookMost
	if f.tried != nil || len(f.batch) >= gatherMost {
		most = 0
	}
	if now := time.Now(); now.Sub(f.second) >= time.Second {
		f.second, f.routine, f.others = now, 0, 0
	}
	missed, more, closed := f.b.events.take(most, f.admit)
	f.gap.add(missed)
	return more, closed
}

// admit puts what is wanted and not too much into the batch. Called with mu
// held.
func (f *follower) admit(e *engine.Event) (enough bool) {
	if !wanted(e) {
		return false
	}
	spent := &f.others
	if routine(e.Kind) {
		spent = &f.routine
	}
	if *spent >= cmp.Or(f.b.o.HistoryRate, 1000) {
		f.gap.add(gap{e.N, e.At, 1})
		return false
	}
	*spent++
	f.batch = append(f.batch, remembered(*e))
	return len(f.batch) >= gatherMost
}

var errUnready = errors.New("the store is read-only or being opened again")

// handOver gives the history what was gathered. What failed is tried again as
// it was, so that a history that has got it can tell.
func (f *follower) handOver(ctx context.Context) error {
	if h := f.b.Health(); h.Reopening != "" || h.ReadOnly != "" {
		return errUnready
	}
	if err := ctx.Err(); err != nil {
		return err //nolint:wrapcheck // the end, and nobody's failure
	}
	store := f.b.store.Load()
	batch, tried := f.sealed()
	if len(batch) == 0 {
		return nil
	}
	err := f.remember(ctx, store, tried, &batch)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.batch, f.tried, f.tries = nil, nil, 0
		return nil
	}
	if tried == nil {
		f.b.log.Warn("the history was not written; trying again every second", "err", err)
	}
	f.batch, f.tried = batch, store
	if f.tries++; f.tries >= triesMost {
		f.b.log.Error("events are left out of the history", "events", len(batch), "err", err)
		f.skip()
	}
	return err
}

// skip leaves a gap where the batch was. Called with mu held.
func (f *follower) skip() {
	var g gap
	for _, e := range f.batch {
		missing := int64(1)
		if e.Kind == engine.EventGap {
			missing = e.Count
		}
		g.add(gap{e.N, e.At, missing})
	}
	g.add(f.gap)
	f.gap, f.batch, f.tried, f.tries = g, nil, nil, 0
}

// sealed is what is to be handed over now, with the gap in its place.
func (f *follower) sealed() (batch []engine.Event, tried *opened) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g := f.gap; f.tried == nil && g.count > 0 {
		at, _ := slices.BinarySearchFunc(f.batch, g.n, func(e engine.Event, n uint64) int { return cmp.Compare(e.N, n) })
		f.batch = slices.Insert(f.batch, at, engine.Event{N: g.n, Kind: engine.EventGap, At: g.at, Count: g.count})
		f.gap = gap{}
	}
	return slices.Clone(f.batch), f.tried
}

// remember gives batch to the store. When another one failed to take it, what
// that one kept all the same is left out.
func (f *follower) remember(ctx context.Context, store, tried *opened, batch *[]engine.Event) error {
	h := store.history()
	if h == nil {
		return errNoHistory
	}
	if tried != nil && tried != store {
		have := map[uint64]bool{}
		first, last := (*batch)[0].At, (*batch)[len(*batch)-1].At
		for e, err := range h.Past(ctx, engine.PastQuery{From: first, Until: last + 1}) {
			if err != nil {
				return fmt.Errorf("look what the history has: %w", err)
			}
			have[e.N] = have[e.N] || e.Epoch == tried.epoch
		}
		*batch = slices.DeleteFunc(*batch, func(e engine.Event) bool { return have[e.N] })
	}
	if len(*batch) == 0 {
		return nil
	}
	return h.Remember(ctx, *batch) //nolint:wrapcheck // the caller logs it
}

// forget keeps the history within its bounds.
func (f *follower) forget(ctx context.Context) {
	every := time.NewTicker(forgetEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		h := f.b.store.Load().history()
		if h == nil || f.b.Health().Reopening != "" {
			continue
		}
		before := engine.Instant(0)
		if age := cmp.Or(f.b.o.HistoryFor, 7*24*time.Hour); age > 0 {
			before = f.b.clock.glance().Add(-age)
		}
		most := max(0, cmp.Or(f.b.o.HistoryBytes, 256<<20))
		if err := h.Forget(ctx, before, most); err != nil && ctx.Err() == nil {
			f.b.log.Warn("the history was not cut; trying again in a minute", "err", err)
		}
	}
}
