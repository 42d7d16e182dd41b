package broker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"mayfly/engine"
)

// The default and the maximum number of events that History returns.
const (
	defaultHistoryLimit = 100
	maxHistoryLimit     = 10_000
)

var errNoHistory = engine.Refuse(engine.ErrNotImplemented, "This store keeps no history.")

// HasHistory reports whether the store keeps a history, which History reads.
func (b *Broker) HasHistory() bool { return b.history != nil }

// History returns the events that match q, newest first: those in the history and those not yet
// handed to it. It includes everything that was answered before the call, except renewals and
// events that Options.HistoryRate leaves out. A limit of zero means 100; more than 10,000 is out of
// range. To continue, call it again with Before set to the Cursor of the last event. The error
// is engine.ErrNotImplemented if the store has no history and engine.ErrBusy if it does not
// answer. History waits for the store, not for the owner.
func (b *Broker) History(ctx context.Context, q engine.HistoryQuery) ([]engine.HistoryEvent, error) {
	switch {
	case b.history == nil:
		return nil, errNoHistory
	case q.Limit < 0 || q.Limit > maxHistoryLimit:
		return nil, engine.Refuse(engine.ErrOutOfRange, "At most %d events can be requested at once, not %d.", maxHistoryLimit, q.Limit)
	case q.Limit == 0:
		q.Limit = defaultHistoryLimit
	}
	select {
	case <-b.done:
		return nil, b.closedError()
	default:
	}
	if why := b.Health().Reopening; why != "" {
		return nil, engine.Refuse(engine.ErrBusy, "The store is being reopened: %s.", why)
	}
	store := b.store.Load()
	// Read pending events before stored ones: an event that is handed over in between is then
	// found twice rather than never.
	pending := b.history.pending(store, q)
	known := map[eventID]bool{}
	for _, e := range pending {
		known[eventIDOf(e)] = true
	}
	h := store.history()
	if h == nil {
		return nil, errNoHistory
	}
	var out []engine.HistoryEvent
	for e, err := range h.QueryEvents(ctx, q) {
		if err != nil {
			return nil, readError(ctx, fmt.Errorf("read the history: %w", err))
		}
		if known[eventIDOf(e)] {
			continue
		}
		for len(pending) > 0 && e.Cursor().Before(pending[0].Cursor()) {
			out, pending = append(out, pending[0]), pending[1:]
		}
		if out = append(out, e); len(out) >= q.Limit {
			break
		}
	}
	out = append(out, pending...)
	return out[:min(len(out), q.Limit)], nil
}

// An eventID identifies an event as long as the broker runs, regardless of the epoch.
type eventID struct {
	n    uint64
	at   engine.Instant
	kind engine.EventKind
}

func eventIDOf(e engine.HistoryEvent) eventID { return eventID{e.N, e.At, e.Kind} }

// A store may return the audited events of a commit only a moment later. Until then they are read
// from the log.
const (
	auditVisibleAfter = 10 * time.Second
	logBatch          = 512
)

// pending returns, newest first, the events that match q and that a query of `store` may not return
// yet: those that were not handed over, and recent audited ones.
func (f *historyWriter) pending(store *openStore, q engine.HistoryQuery) (out []engine.HistoryEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	add := func(e *engine.Event) { // may run while the log is locked
		if p := (engine.HistoryEvent{Epoch: store.epoch, Event: *e}); q.Matches(p) {
			p.Event = historyEvent(p.Event)
			out = append(out, p)
		}
	}
	shown := f.b.clock.approximate().Add(-auditVisibleAfter)
	for n := uint64(math.MaxUint64); n > 0; {
		n = f.b.events.scanBack(n, logBatch, func(e *engine.Event, taken uint64) bool {
			if e.N <= taken && e.At < shown {
				return true
			}
			if e.Audit && e.N > store.from || isRecorded(e) && e.N > taken {
				add(e)
			}
			return false
		})
	}
	for i := range f.batch {
		add(&f.batch[i])
	}
	slices.SortFunc(out, func(a, b engine.HistoryEvent) int {
		if a.Cursor().Before(b.Cursor()) {
			return 1
		}
		return -1
	})
	return out
}
