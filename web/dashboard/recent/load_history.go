package recent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
)

const (
	pastTickerEvents = 400 // past events that are read to fill the ticker
	// pastTickerMaxAge is the greatest age of these events, because the ticker shows no dates.
	pastTickerMaxAge  = 12 * time.Hour
	pastExpiredEvents = 1000
)

// loadHistory reads older events from the store's history. First it reads those from before this
// process, so that pages show the same after a restart. Later, whenever the store has been opened
// again, it reads the use histories, because the broker has lost them. Newer events come from
// follow, without overlap. If the history cannot be read, pages show less.
func (r *Events) loadHistory(ctx context.Context) {
	if r.b.HasHistory() {
		r.logHistoryError(ctx, r.readHistory(ctx))
	}
	r.mu.Lock()
	r.created = nil
	close(r.historyLoaded)
	r.mu.Unlock()
	if !r.b.HasHistory() {
		return
	}
	for {
		select {
		case at := <-r.reopened:
			r.logHistoryError(ctx, r.loadUseHistories(ctx, at))
		case <-ctx.Done():
			return
		}
	}
}

func (r *Events) logHistoryError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
		r.Log.Warn("the stored history is not shown on pages", "err", err)
	}
}

// readHistory queries the history for each kind of event separately, so that many events of one
// kind do not displace the others.
func (r *Events) readHistory(ctx context.Context) error {
	var s pastEvents
	for _, kind := range []engine.EventKind{engine.EventEntityAutoDeleted, engine.EventEntityDeleted} {
		gone, err := r.eventsBefore(ctx, engine.HistoryQuery{Kinds: []engine.EventKind{kind}, Limit: 2 * MaxDeletedEntities})
		if err != nil {
			return err
		}
		s.deleted = append(s.deleted, gone...)
	}
	slices.SortFunc(s.deleted, byPosition)
	var err error
	if s.expired, err = r.eventsBefore(ctx, engine.HistoryQuery{
		Kinds: []engine.EventKind{engine.EventExpired, engine.EventDeadLettered},
		From:  r.started - engine.Instant(ExpiredWithin/time.Millisecond), Limit: pastExpiredEvents,
	}); err != nil {
		return err
	}
	s.expired = slices.DeleteFunc(s.expired, func(e engine.HistoryEvent) bool { return !expired(e.Event) })
	if s.lines, err = r.eventsBefore(ctx, engine.HistoryQuery{From: r.started.Add(-pastTickerMaxAge), Limit: pastTickerEvents}); err != nil {
		return err
	}
	if s.unmatched, err = r.eventsBefore(ctx, engine.HistoryQuery{Kinds: []engine.EventKind{engine.EventUnmatched}, Limit: MaxUnmatched}); err != nil {
		return err
	}
	if err := s.resolve(ctx, r.b); err != nil {
		return err
	}
	r.addPastEvents(s)
	return r.loadUseHistories(ctx, r.started)
}

// eventsBefore returns the results of a query from before this process, oldest first.
func (r *Events) eventsBefore(ctx context.Context, q engine.HistoryQuery) ([]engine.HistoryEvent, error) {
	q.Until = r.started + 1
	all, err := r.b.History(ctx, q)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e engine.HistoryEvent) bool { return e.Epoch >= r.epoch })
	slices.Reverse(all)
	return all, nil
}

func byPosition(a, b engine.HistoryEvent) int {
	switch {
	case a.Cursor().Before(b.Cursor()):
		return -1
	case b.Cursor().Before(a.Cursor()):
		return 1
	default:
		return 0
	}
}

// pastEvents are the events found in the history, oldest first.
type pastEvents struct {
	deleted, expired, lines, unmatched []engine.HistoryEvent

	exist    map[string]bool              // by folded path: deleted entities that exist again
	contents map[engine.Key]engine.Packed // contents of messages that still exist, by key
}

// resolve finds out which entities and messages of these events still exist.
func (s *pastEvents) resolve(ctx context.Context, b *broker.Broker) error {
	return b.Read(ctx, func(r broker.Reader) error {
		s.exist, s.contents = map[string]bool{}, map[engine.Key]engine.Packed{}
		for _, g := range s.deleted {
			if _, err := r.State(g.Path); err == nil {
				s.exist[g.Path.Fold()] = true
			}
		}
		for _, e := range slices.Concat(s.expired, s.lines) {
			if row, err := r.Message(e.Message.Key); err == nil {
				s.contents[e.Message.Key] = row.Content
			}
		}
		return nil
	})
}

// record returns an event of the history, with the message's name if it is known.
func (s *pastEvents) record(e engine.HistoryEvent) EventRecord {
	t := RecordOf(e.Event)
	t.Epoch = e.Epoch
	if e.Content == "" {
		e.Content = s.contents[e.Message.Key]
	}
	return t.WithName(e.Event)
}

// addPastEvents puts the events found in the history before those recorded since the start.
func (r *Events) addPastEvents(s pastEvents) {
	var old Events
	for _, e := range s.lines {
		old.addTickerLine(s.record(e))
	}
	for _, e := range s.expired {
		old.expired = append(trimmed(old.expired, expiredCapacity), s.record(e))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(latest(old.lines, tickerCapacity), r.lines...)
	r.expired = append(latest(old.expired, expiredCapacity), r.expired...)
	r.unmatchedMessages.addOlder(s.unmatched)
	// An entity created since the start is either in r.created already, or its event arrives
	// later and removes it from r.deleted.
	r.deleted.addOlder(slices.DeleteFunc(s.deleted, func(g engine.HistoryEvent) bool {
		return s.exist[g.Path.Fold()] || r.created[g.Path.Fold()]
	}))
}

// ExpiredWithin is how long messages that have expired are shown.
const ExpiredWithin = 5 * time.Minute

// TemporaryEntities returns the entities with automatic deletion, pinned ones included: first
// those whose idle clock runs, the soonest first, then those that are kept alive, then pinned
// ones.
func TemporaryEntities(all []engine.EntityState) []engine.EntityState {
	idle := slices.DeleteFunc(all, func(e engine.EntityState) bool {
		return e.Config.Effective().AutoDeleteOnIdle == 0 && e.UnpinnedIdle == 0
	})
	rank := func(e engine.EntityState) int {
		return map[component.IdleState]int{component.IdleRunning: 0, component.IdleHeld: 1, component.IdlePinned: 2}[IdleState(e)]
	}
	slices.SortStableFunc(idle, func(a, b engine.EntityState) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.DeletesAt, b.DeletesAt))
	})
	return idle
}
