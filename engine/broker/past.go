package broker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"mayfly/engine"
)

// How many events Past returns at most, unless it is asked for fewer, and at
// all.
const (
	pastDefault = 100
	pastMost    = 10_000
)

var errNoHistory = &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "This store keeps no history."}

// HasHistory tells whether Past has anything to tell.
func (b *Broker) HasHistory() bool { return b.past != nil }

// Past is what happened, newest first, and matches q: what the history keeps
// and what it has yet to be given. What was answered before the call is in it,
// but for renewals and what Options.HistoryRate leaves out. A limit of zero means 100; more than 10,000 is out of range. To go on, ask
// again with Before set to the Place of the last one. It is
// engine.ErrNotImplemented if the store has no history and engine.ErrBusy if it
// does not answer. It waits for the store, not for the owner.
func (b *Broker) Past(ctx context.Context, q engine.PastQuery) ([]engine.PastEvent, error) {
	switch {
	case b.past == nil:
		return nil, errNoHistory
	case q.Limit < 0 || q.Limit > pastMost:
		return nil, &engine.Refusal{Kind: engine.ErrOutOfRange, Text: fmt.Sprintf("At most %d events can be asked for at once, not %d.", pastMost, q.Limit)}
	case q.Limit == 0:
		q.Limit = pastDefault
	}
	select {
	case <-b.done:
		return nil, b.closed()
	default:
	}
	if why := b.Health().Reopening; why != "" {
		return nil, &engine.Refusal{Kind: engine.ErrBusy, Text: fmt.Sprintf("The store is being opened again: %s.", why)}
	}
	store := b.store.Load()
	// First what is pending, then what is kept: what is handed over in between
	// comes twice and not never.
	pending := b.past.pending(store, q)
	known := map[happening]bool{}
	for _, e := range pending {
		known[happeningOf(e)] = true
	}
	h := store.history()
	if h == nil {
		return nil, errNoHistory
	}
	var out []engine.PastEvent
	for e, err := range h.Past(ctx, q) {
		if err != nil {
			return nil, unread(ctx, fmt.Errorf("read the history: %w", err))
		}
		if known[happeningOf(e)] {
			continue
		}
		for len(pending) > 0 && e.Place().Before(pending[0].Place()) {
			out, pending = append(out, pending[0]), pending[1:]
		}
		if out = append(out, e); len(out) >= q.Limit {
			break
		}
	}
	out = append(out, pending...)
	return out[:min(len(out), q.Limit)], nil
}

// A happening is an event in one broker's life, whatever epoch its number is
// told with.
type happening struct {
	n    uint64
	at   engine.Instant
	kind engine.EventKind
}

func happeningOf(e engine.PastEvent) happening { return happening{e.N, e.At, e.Kind} }

// A store may take a moment until it shows what a commit has audited; until
// then the log does.
const (
	auditShown = 10 * time.Second
	backAtOnce = 512
)

// pending is what matches q and store may not show yet, newest first.
func (f *follower) pending(store *opened, q engine.PastQuery) (out []engine.PastEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	add := func(e *engine.Event) { // under the lock that the owner appends with, too
		if p := (engine.PastEvent{Epoch: store.epoch, Event: *e}); q.Match(p) {
			p.Event = remembered(p.Event)
			out = append(out, p)
		}
	}
	shown := f.b.clock.glance().Add(-auditShown)
	for n := uint64(math.MaxUint64); n > 0; {
		n = f.b.events.back(n, backAtOnce, func(e *engine.Event, taken uint64) bool {
			if e.N <= taken && e.At < shown {
				return true
			}
			if e.Audit && e.N > store.from || wanted(e) && e.N > taken {
				add(e)
			}
			return false
		})
	}
	for i := range f.batch {
		add(&f.batch[i])
	}
	slices.SortFunc(out, func(a, b engine.PastEvent) int {
		if a.Place().Before(b.Place()) {
			return 1
		}
		return -1
	})
	return out
}
