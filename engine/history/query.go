package history

import (
	"context"
	"fmt"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	// batchSize is how many events are read at once when searching.
	batchSize = 500
	// maxScanned is how many events one Query reads at most if the filter has a condition that
	// a HistoryQuery cannot express.
	maxScanned = 10_000
)

// A Page is a page of the events that a filter selects, newest first.
type Page struct {
	Events []engine.HistoryEvent
	// Next is where the next page starts; zero if there are no older events.
	Next engine.HistoryCursor
	// Incomplete reports that the search stopped before it found enough events, because it had
	// read maxScanned events or run out of time. It can be continued from Next.
	Incomplete bool
}

// Query returns the latest events that f selects, up to `most`, which must be positive. It
// returns engine.ErrNotImplemented if the store keeps no history.
func Query(ctx context.Context, b *broker.Broker, f Filter, most int) (Page, error) {
	return QueryWithin(ctx, b, f, most, 0)
}

// QueryWithin is Query, but stops a search after about `patience` and returns an incomplete page.
// Zero means no limit.
func QueryWithin(ctx context.Context, b *broker.Broker, f Filter, most int, patience time.Duration) (Page, error) {
	var p Page
	began := time.Now()
	all := merge{b: b}
	for _, q := range f.queries() {
		q.Limit = most + 1
		if f.searches() {
			q.Limit = batchSize
		}
		all.streams = append(all.streams, &stream{q: q})
	}
	var last engine.HistoryCursor
	for seen := 0; ; seen++ {
		e, ok, err := all.next(ctx)
		switch {
		case err != nil:
			return Page{}, fmt.Errorf("read the history: %w", err)
		case !ok:
			return p, nil
		case len(p.Events) == most, seen == maxScanned, patience > 0 && seen > 0 && seen%batchSize == 0 && time.Since(began) >= patience:
			p.Next, p.Incomplete = last, len(p.Events) < most
			return p, nil
		}
		last = e.Cursor()
		if f.match(e) {
			p.Events = append(p.Events, e)
		}
	}
}

// A merge merges several streams, newest first, without duplicates.
type merge struct {
	b       *broker.Broker
	streams []*stream
}

// A stream reads the results of a query in batches of the query's limit.
type stream struct {
	q     engine.HistoryQuery
	ready []engine.HistoryEvent
	ended bool
}

func (s *stream) fill(ctx context.Context, b *broker.Broker) (err error) {
	if len(s.ready) > 0 || s.ended {
		return nil
	}
	if s.ready, err = b.History(ctx, s.q); err != nil {
		return err
	}
	s.ended = len(s.ready) < s.q.Limit
	if n := len(s.ready); n > 0 {
		s.q.Before = s.ready[n-1].Cursor()
	}
	return nil
}

func (m *merge) next(ctx context.Context) (e engine.HistoryEvent, ok bool, err error) {
	for _, s := range m.streams {
		if err := s.fill(ctx, m.b); err != nil {
			return e, false, err
		}
		if len(s.ready) > 0 && (!ok || e.Cursor().Before(s.ready[0].Cursor())) {
			e, ok = s.ready[0], true
		}
	}
	for _, s := range m.streams {
		if len(s.ready) > 0 && s.ready[0].Cursor() == e.Cursor() {
			s.ready = s.ready[1:]
		}
	}
	return e, ok, nil
}
