package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"mayfly/engine"
	"mayfly/engine/record"
)

var _ engine.History = (*Store)(nil)

// mostRoutine is how many events are kept that no operator did, a tenth more
// for a while; whoever wants more history wants a store that lasts.
const mostRoutine = 50_000

// history is events by their place, oldest first.
type history struct {
	rows    []row
	bytes   int64
	routine int // that no operator did
}

type row struct {
	engine.PastEvent
	bytes int64 // it would take when written
}

// Remember keeps events as they are given: nobody changes what they refer to.
func (s *Store) Remember(ctx context.Context, events []engine.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("remember events: %w", err)
	}
	s.held.past.add(s.Epoch(), events)
	return nil
}

// Past yields what is remembered at the moment it is called.
func (s *Store) Past(ctx context.Context, q engine.PastQuery) iter.Seq2[engine.PastEvent, error] {
	return func(yield func(engine.PastEvent, error) bool) {
		all, err := s.past(ctx, q)
		if err != nil {
			yield(engine.PastEvent{}, fmt.Errorf("history: %w", err))
			return
		}
		for _, e := range all {
			if ctx.Err() != nil {
				yield(engine.PastEvent{}, fmt.Errorf("history: %w", context.Cause(ctx)))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *Store) past(ctx context.Context, q engine.PastQuery) (all []engine.PastEvent, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(s.held.past.rows) {
		if q.Match(r.PastEvent) {
			all = append(all, r.PastEvent)
			if len(all) == q.Limit {
				break
			}
		}
	}
	return all, nil
}

// Forget drops what happened before an instant, then the oldest until the rest
// would take no more than most bytes when written. What operators did goes last.
func (s *Store) Forget(ctx context.Context, before engine.Instant, most int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("forget history: %w", err)
	}
	h := &s.held.past
	h.drop(func(r row) bool { return r.At < before })
	if most > 0 {
		h.drop(func(r row) bool { return h.bytes > most && !r.Audit })
		h.drop(func(row) bool { return h.bytes > most })
	}
	return nil
}

func (h *history) add(epoch uint64, events []engine.Event) {
	var buf []byte
	for _, e := range events {
		r := row{PastEvent: engine.PastEvent{Epoch: epoch, Event: e}}
		at, known := len(h.rows), false
		if at > 0 && !h.rows[at-1].Place().Before(r.Place()) {
			at, known = slices.BinarySearchFunc(h.rows, r, func(a, b row) int {
				switch {
				case a.Place().Before(b.Place()):
					return -1
				case b.Place().Before(a.Place()):
					return 1
				default:
					return 0
				}
			})
		}
		if known {
			continue
		}
		buf = record.AppendEvent(buf[:0], &e)
		r.bytes = int64(len(buf))
		h.bytes += r.bytes
		if !e.Audit {
			h.routine++
		}
		h.rows = slices.Insert(h.rows, at, r)
	}
	if h.routine > mostRoutine+mostRoutine/10 {
		h.drop(func(r row) bool { return h.routine > mostRoutine && !r.Audit })
	}
}

// drop asks whether each is to go, oldest first; what is gone counts no longer
// when it asks about the next.
func (h *history) drop(gone func(row) bool) {
	h.rows = slices.DeleteFunc(h.rows, func(r row) bool {
		if !gone(r) {
			return false
		}
		h.bytes -= r.bytes
		if !r.Audit {
			h.routine--
		}
		return true
	})
}
