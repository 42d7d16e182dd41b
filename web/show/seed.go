package show

import (
	"context"
	"errors"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	seedLines = 400 // events among which the ticker's lines are looked for
	// seedWithin is how old these are at the most: the ticker tells no dates.
	seedWithin  = 12 * time.Hour
	seedExpired = 1000
)

// remind fills in what the broker and this memory of it cannot know by
// themselves, from the history: at first what happened before this process, as if
// it had not stopped, and whenever the store was opened again the ledgers, which
// the broker has lost then. What has happened since comes by following, so the
// two meet without overlap. A history that cannot be read leaves pages with less
// to tell.
func (r *Recent) remind(ctx context.Context) {
	if r.b.HasHistory() {
		r.doubt(ctx, r.learn(ctx))
	}
	r.mu.Lock()
	r.made = nil
	close(r.seeded)
	r.mu.Unlock()
	if !r.b.HasHistory() {
		return
	}
	for {
		select {
		case at := <-r.reopened:
			r.doubt(ctx, r.learnLedgers(ctx, at))
		case <-ctx.Done():
			return
		}
	}
}

func (r *Recent) doubt(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
		r.log.Warn("what the history remembers is not shown", "err", err)
	}
}

// learn asks for each sort of thing by itself, so that one cannot crowd out the
// others.
func (r *Recent) learn(ctx context.Context) error {
	var s seeds
	for _, kind := range []engine.EventKind{engine.EventEntityAutoDeleted, engine.EventEntityDeleted} {
		gone, err := r.before(ctx, engine.PastQuery{Kinds: []engine.EventKind{kind}, Limit: 2 * graveyard})
		if err != nil {
			return err
		}
		s.graves = append(s.graves, gone...)
	}
	slices.SortFunc(s.graves, byPlace)
	var err error
	if s.expired, err = r.before(ctx, engine.PastQuery{
		Kinds: []engine.EventKind{engine.EventExpired, engine.EventDeadLettered},
		From:  r.began - engine.Instant(justExpired/time.Millisecond), Limit: seedExpired,
	}); err != nil {
		return err
	}
	s.expired = slices.DeleteFunc(s.expired, func(e engine.PastEvent) bool { return !expired(e.Event) })
	if s.lines, err = r.before(ctx, engine.PastQuery{From: r.began.Add(-seedWithin), Limit: seedLines}); err != nil {
		return err
	}
	if s.strays, err = r.before(ctx, engine.PastQuery{Kinds: []engine.EventKind{engine.EventUnmatched}, Limit: straysMost}); err != nil {
		return err
	}
	if err := s.look(ctx, r.b); err != nil {
		return err
	}
	r.plant(s)
	return r.learnLedgers(ctx, r.began)
}

// before is what a query picks of what happened before this process, oldest
// first.
func (r *Recent) before(ctx context.Context, q engine.PastQuery) ([]engine.PastEvent, error) {
	q.Until = r.began + 1
	all, err := r.b.Past(ctx, q)
	if err != nil {
		return nil, err //nolint:wrapcheck // seed says what it is about
	}
	all = slices.DeleteFunc(all, func(e engine.PastEvent) bool { return e.Epoch >= r.epoch })
	slices.Reverse(all)
	return all, nil
}

func byPlace(a, b engine.PastEvent) int {
	switch {
	case a.Place().Before(b.Place()):
		return -1
	case b.Place().Before(a.Place()):
		return 1
	default:
		return 0
	}
}

// seeds are what is found in the history, oldest first.
type seeds struct {
	graves, expired, lines, strays []engine.PastEvent

	exist    map[string]bool              // by folded path: entities that a grave is of
	contents map[engine.Key]engine.Packed // of messages that are still there
}

// look finds out what there still is of what the history tells of.
func (s *seeds) look(ctx context.Context, b *broker.Broker) error {
	return b.Read(ctx, func(r broker.Reader) error { //nolint:wrapcheck // seed says what it is about
		s.exist, s.contents = map[string]bool{}, map[engine.Key]engine.Packed{}
		for _, g := range s.graves {
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

// trace is an event of the history, named as far as it can be.
func (s *seeds) trace(e engine.PastEvent) trace {
	t := traceOf(e.Event)
	t.epoch = e.Epoch
	if e.Content == "" {
		e.Content = s.contents[e.Message.Key]
	}
	return t.named(e.Event)
}

// plant puts what was found before what has been noted since the start.
func (r *Recent) plant(s seeds) {
	var old Recent
	for _, e := range s.lines {
		old.say(s.trace(e))
	}
	for _, e := range s.expired {
		old.expiry = append(trimmed(old.expiry, expiredLines), s.trace(e))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(latest(old.lines, tickerLines), r.lines...)
	r.expiry = append(latest(old.expiry, expiredLines), r.expiry...)
	r.strays.older(s.strays)
	// An entity that was made since has been looked at before its grave could be
	// opened, or its event comes after this.
	r.yard.older(slices.DeleteFunc(s.graves, func(g engine.PastEvent) bool {
		return s.exist[g.Path.Fold()] || r.made[g.Path.Fold()]
	}))
}
