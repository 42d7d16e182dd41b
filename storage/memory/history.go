package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"mayfly/engine"
	"mayfly/engine/codec"
)

var _ engine.History = (*Store)(nil)

// maxRoutineEvents limits the events that are not audit events. The oldest are dropped once
// the limit is exceeded by a tenth.
const maxRoutineEvents = 50_000

// history holds events by position, oldest first.
type history struct {
	rows    []storedEvent
	bytes   int64
	routine int // number of events that are not audit events
}

type storedEvent struct {
	engine.HistoryEvent
	bytes int64 // encoded size
}

// AppendEvents keeps events without copying, because the data that they refer to never changes.
func (s *Store) AppendEvents(ctx context.Context, events []engine.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return fmt.Errorf("remember events: %w", err)
	}
	s.records.history.add(s.Epoch(), events)
	return nil
}

// QueryEvents yields the events stored when it is called.
func (s *Store) QueryEvents(ctx context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error] {
	return func(yield func(engine.HistoryEvent, error) bool) {
		all, err := s.queryEvents(ctx, q)
		if err != nil {
			yield(engine.HistoryEvent{}, fmt.Errorf("history: %w", err))
			return
		}
		for _, e := range all {
			if ctx.Err() != nil {
				yield(engine.HistoryEvent{}, fmt.Errorf("history: %w", context.Cause(ctx)))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *Store) queryEvents(ctx context.Context, q engine.HistoryQuery) (all []engine.HistoryEvent, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(s.records.history.rows) {
		if q.Matches(r.HistoryEvent) {
			all = append(all, r.HistoryEvent)
			if len(all) == q.Limit {
				break
			}
		}
	}
	return all, nil
}

// TrimEvents drops the events before the instant `before`. Then, if `most` is positive, it drops
// the oldest events until the rest takes at most `most` bytes in encoded form; it drops audit
// events only after all others.
func (s *Store) TrimEvents(ctx context.Context, before engine.Instant, most int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return fmt.Errorf("forget history: %w", err)
	}
	h := &s.records.history
	h.dropWhere(func(r storedEvent) bool { return r.At < before })
	if most > 0 {
		h.dropWhere(func(r storedEvent) bool { return h.bytes > most && !r.Audit })
		h.dropWhere(func(storedEvent) bool { return h.bytes > most })
	}
	return nil
}

func (h *history) add(epoch uint64, events []engine.Event) {
	var buf []byte
	for _, e := range events {
		r := storedEvent{HistoryEvent: engine.HistoryEvent{Epoch: epoch, Event: e}}
		at, known := len(h.rows), false
		if at > 0 && !h.rows[at-1].Cursor().Before(r.Cursor()) {
			at, known = slices.BinarySearchFunc(h.rows, r, func(a, b storedEvent) int {
				switch {
				case a.Cursor().Before(b.Cursor()):
					return -1
				case b.Cursor().Before(a.Cursor()):
					return 1
				default:
					return 0
				}
			})
		}
		if known {
			continue
		}
		buf = codec.AppendEvent(buf[:0], &e)
		r.bytes = int64(len(buf))
		h.bytes += r.bytes
		if !e.Audit {
			h.routine++
		}
		h.rows = slices.Insert(h.rows, at, r)
	}
	if h.routine > maxRoutineEvents+maxRoutineEvents/10 {
		h.dropWhere(func(r storedEvent) bool { return h.routine > maxRoutineEvents && !r.Audit })
	}
}

// dropWhere drops the events for which gone returns true, oldest first; the counts are updated
// after each.
func (h *history) dropWhere(gone func(storedEvent) bool) {
	h.rows = slices.DeleteFunc(h.rows, func(r storedEvent) bool {
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
