package broker_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
)

// historian is a flaky store with a history.
type historian struct {
	*flaky
	t *testing.T

	history struct {
		sync.Mutex
		rows    []engine.HistoryEvent
		given   []int // sizes of the batches of AppendEvents
		err     error // of the next AppendEvents
		kept    bool  // the events are stored in spite of err
		again   bool  // an event may be appended twice
		blind   error // error of the next QueryEvents
		forgets []forgotten
	}
}

type forgotten struct {
	before engine.Instant
	most   int64
}

// An opening is one opening of a historian. A broker that still uses a former opening writes
// under its epoch.
type opening struct {
	*historian
	epoch uint64
}

func (h *historian) reopened() engine.Store { return &opening{h, h.flaky.Epoch()} }

func (h *opening) Epoch() uint64 { return h.epoch }

func (h *opening) Commit(ctx context.Context, b *engine.Batch) error {
	err := h.flaky.Commit(ctx, b)
	if err == nil || h.applied {
		h.keep(h.epoch, b.Audit)
	}
	return err
}

func (h *opening) AppendEvents(ctx context.Context, events []engine.Event) error {
	h.history.Lock()
	err, kept := h.history.err, h.history.kept
	h.history.given = append(h.history.given, len(events))
	h.history.Unlock()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil || kept {
		if !slices.IsSortedFunc(events, func(a, b engine.Event) int { return int(a.N) - int(b.N) }) {
			h.t.Errorf("out of order: %v", events)
		}
		h.keep(h.epoch, events)
	}
	return err
}

func (h *historian) keep(epoch uint64, events []engine.Event) {
	h.history.Lock()
	defer h.history.Unlock()
	for _, e := range events {
		if slices.ContainsFunc(h.history.rows, func(o engine.HistoryEvent) bool { return o.Epoch == epoch && o.N == e.N }) {
			if !h.history.again {
				h.t.Errorf("%v number %d of epoch %d was appended before", e.Kind, e.N, epoch)
			}
			continue
		}
		h.history.rows = append(h.history.rows, engine.HistoryEvent{Epoch: epoch, Event: e})
	}
}

func (h *historian) QueryEvents(_ context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error] {
	all := h.rows()
	h.history.Lock()
	err := h.history.blind
	h.history.Unlock()
	return func(yield func(engine.HistoryEvent, error) bool) {
		if err != nil {
			yield(engine.HistoryEvent{}, err)
			return
		}
		given := 0
		for _, e := range slices.Backward(all) {
			if q.Matches(e) {
				if given++; !yield(e, nil) || given == q.Limit {
					return
				}
			}
		}
	}
}

func (h *historian) TrimEvents(_ context.Context, before engine.Instant, most int64) error {
	h.history.Lock()
	defer h.history.Unlock()
	h.history.forgets = append(h.history.forgets, forgotten{before, most})
	return nil
}

// rows returns the rows in the order of their cursors.
func (h *historian) rows() []engine.HistoryEvent {
	h.history.Lock()
	defer h.history.Unlock()
	return slices.SortedFunc(slices.Values(h.history.rows), func(a, b engine.HistoryEvent) int {
		if a.Cursor().Before(b.Cursor()) {
			return -1
		}
		return 1
	})
}

func (h *historian) fails(with error, kept bool) {
	h.history.Lock()
	defer h.history.Unlock()
	h.history.err, h.history.kept, h.history.again = with, kept, true
}

// asked returns the number of calls of AppendEvents.
func (h *historian) asked() int {
	h.history.Lock()
	defer h.history.Unlock()
	return len(h.history.given)
}

func (h *historian) works() {
	h.history.Lock()
	defer h.history.Unlock()
	h.history.err, h.history.kept = nil, false
}

// startHistory starts a world whose store has a history.
func startHistory(t *testing.T, o broker.Options) (*world, *historian) {
	t.Helper()
	h := &historian{flaky: &flaky{Store: new(memory.Store)}, t: t}
	return startOn(t, h.flaky, h.reopened, o), h
}
