package past

import (
	"context"
	"fmt"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	// batch is how many events are read at once to find some among them.
	batch = 500
	// scanned is how many events one Look goes through to find what a history
	// cannot look up.
	scanned = 10_000
)

// A Part is some of what a filter picks, newest first.
type Part struct {
	Events []engine.PastEvent
	// Next is the place before which it goes on, zero if there is nothing older.
	Next engine.PastPlace
	// Short says that the search stopped before it found as many as were asked
	// for, having gone through enough, or long enough, for once: it goes on at Next.
	Short bool
}

// Look finds the latest events that f picks, at most so many; most is positive.
// It is engine.ErrNotImplemented if the store keeps no history.
func Look(ctx context.Context, b *broker.Broker, f Filter, most int) (Part, error) {
	return LookFor(ctx, b, f, most, 0)
}

// LookFor is Look for somebody who waits: what goes through many events to find some
// ends after about so long. Zero is without such an end.
func LookFor(ctx context.Context, b *broker.Broker, f Filter, most int, patience time.Duration) (Part, error) {
	var p Part
	began := time.Now()
	all := merge{b: b}
	for _, q := range f.queries() {
		q.Limit = most + 1
		if f.searches() {
			q.Limit = batch
		}
		all.streams = append(all.streams, &stream{q: q})
	}
	var last engine.PastPlace
	for seen := 0; ; seen++ {
		e, ok, err := all.next(ctx)
		switch {
		case err != nil:
			return Part{}, fmt.Errorf("look at the history: %w", err)
		case !ok:
			return p, nil
		case len(p.Events) == most, seen == scanned, patience > 0 && seen > 0 && seen%batch == 0 && time.Since(began) >= patience:
			p.Next, p.Short = last, len(p.Events) < most
			return p, nil
		}
		last = e.Place()
		if f.match(e) {
			p.Events = append(p.Events, e)
		}
	}
}

// A merge is several streams as one, newest first, each event once.
type merge struct {
	b       *broker.Broker
	streams []*stream
}

// A stream is what a query picks, read in pieces of the query's limit.
type stream struct {
	q     engine.PastQuery
	ready []engine.PastEvent
	ended bool
}

func (s *stream) fill(ctx context.Context, b *broker.Broker) (err error) {
	if len(s.ready) > 0 || s.ended {
		return nil
	}
	if s.ready, err = b.Past(ctx, s.q); err != nil {
		return err
	}
	s.ended = len(s.ready) < s.q.Limit
	if n := len(s.ready); n > 0 {
		s.q.Before = s.ready[n-1].Place()
	}
	return nil
}

func (m *merge) next(ctx context.Context) (e engine.PastEvent, ok bool, err error) {
	for _, s := range m.streams {
		if err := s.fill(ctx, m.b); err != nil {
			return e, false, err
		}
		if len(s.ready) > 0 && (!ok || e.Place().Before(s.ready[0].Place())) {
			e, ok = s.ready[0], true
		}
	}
	for _, s := range m.streams {
		if len(s.ready) > 0 && s.ready[0].Place() == e.Place() {
			s.ready = s.ready[1:]
		}
	}
	return e, ok, nil
}
