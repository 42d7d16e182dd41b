package broker_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/storetest"
)

// tick is a step of a history's clock. It is more than 1, so that there is room between two
// steps.
const tick = 4

// mostOperations is the maximum number of operations of a history.
const mostOperations = 1000

// A history records what several clients did to a broker, and the answers.
type history struct {
	*testing.T
	*broker.Broker
	seed    uint64
	clients int
	clock   atomic.Int64
	ground  *ground
	desks   []*desk
	sent    atomic.Int64 // messages
	handles atomic.Int64
	idle    atomic.Int64 // operations that the broker did not do for its own reasons

	mu         sync.Mutex
	operations []*operation             // guarded by mu
	tokens     map[engine.LockToken]int // guarded by mu
}

func (h *history) now() int64 { return h.clock.Add(tick) }

// add records operations that have ended.
func (h *history) add(all ...*operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, all...)
}

// full reports whether the history is complete.
func (h *history) full() bool {
	h.ground.mu.Lock()
	reopened := len(h.ground.reopened)
	h.ground.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.operations)+len(h.desks)*(reopened+2) > mostOperations-50
}

// number returns a number for a lock token; each token is issued once (LOCK-10).
func (h *history) number(t engine.LockToken) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tokens[t] != 0 {
		h.Errorf("the lock token %s was issued twice", t)
	}
	h.tokens[t] = len(h.tokens) + 1
	return h.tokens[t]
}

// answer classifies an error.
func (h *history) answer(err error) answer {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case err == nil:
		return done
	case errors.Is(err, engine.ErrBusy) && (strings.Contains(text, "nothing was done") || strings.Contains(text, "Nothing can be written")):
		return nothing
	case errors.Is(err, engine.ErrBusy):
		return unsaid
	case errors.Is(err, engine.ErrNotAllowed):
		return barred
	}
	for _, known := range []error{engine.ErrLockLost, engine.ErrSessionLockLost, engine.ErrMessageNotFound, engine.ErrSessionLocked, engine.ErrTimeout, broker.ErrSessionEnded} {
		if errors.Is(err, known) {
			return refused
		}
	}
	h.Errorf("unexpected error: %v", err)
	return unsaid
}

// tell lets several clients use a broker until the history is full, and returns the history.
func tell(t *testing.T, seed uint64) *history {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 0))
	h := &history{T: t, seed: seed, tokens: map[engine.LockToken]int{}}
	h.ground = &ground{clock: &h.clock, rnd: rand.New(rand.NewPCG(seed, 1)), faults: []storetest.Fault{storetest.FailBefore, storetest.FailAfter, storetest.FailUnwritable}}
	b, err := broker.Open(t.Context(), h.ground.open, broker.Options{EagerLocks: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h.Broker = b
	for i := range 1 + rnd.IntN(3) {
		d := &desk{path: engine.Path("q" + strconv.Itoa(i)), sessions: rnd.IntN(2) == 0}
		h.desks = append(h.desks, d)
		c := engine.Config{LockDuration: 5 * time.Minute, MaxDeliveryCount: deliveries, RequiresSession: d.sessions}
		if _, err := b.Create(t.Context(), engine.Queue, d.path, c, ""); err != nil {
			t.Fatal(err)
		}
	}
	h.ground.fails([]int{0, 10, 25, 80}[rnd.IntN(4)])
	var all sync.WaitGroup
	h.clients = 2 + rnd.IntN(2+len(h.desks))
	for n := range h.clients {
		c := &client{history: h, n: n, rnd: rand.New(rand.NewPCG(seed, uint64(2+n)))}
		all.Go(func() { c.work(t.Context()) })
	}
	all.Wait()
	h.ground.fails(0)
	h.end(t.Context())
	return h
}

// end reads everything once more when the store works again, and closes the broker.
func (h *history) end(ctx context.Context) {
	last := &client{history: h, n: 7, rnd: rand.New(rand.NewPCG(h.seed, 7))}
	for _, d := range h.desks {
		a := last.look(ctx, d)
		for n := 0; a == nothing && n < patience && last.wait(ctx); n++ {
			a = last.look(ctx, d)
		}
		if a != done {
			h.Errorf("at the end %s cannot be read", d.path)
		}
	}
	if err := h.Close(); err != nil {
		h.Error(err)
	}
}

// porcupineOperations converts h to the checker's operations.
func (h *history) porcupineOperations() (all []porcupine.Operation) {
	g := h.ground
	for _, d := range h.operations {
		if d.answer == unsaid {
			h.narrow(d)
		}
	}
	operations := h.operations
	for _, r := range g.reopened {
		for _, d := range h.desks {
			operations = append(operations, &operation{verb: reopening, answer: done, queue: string(d.path), client: 8, call: r.from, ret: r.to, since: r.since})
		}
	}
	for _, d := range operations {
		all = append(all, porcupine.Operation{ClientId: d.client, Input: d, Call: d.call, Return: d.ret})
	}
	return all
}

// narrow shortens the interval in which an operation with an unknown answer may have been done, to
// the turn whose commit failed, since nothing of that turn was acknowledged. An operation by the
// holder of a session may also have been done before that turn.
func (h *history) narrow(d *operation) {
	var failed []commitSpan
	for _, f := range h.ground.failed {
		if d.call < f.to && f.to < d.ret {
			failed = append(failed, f)
		}
	}
	if n := len(failed); n > 0 {
		d.ret = failed[n-1].to - 1
		if n == 1 && d.handle == 0 {
			d.call = max(d.call, failed[0].from)
		}
	}
}

// received records a delivery, and checks that the message is the one that was sent.
func (h *history) received(r broker.Received) got {
	c, err := r.Content.Content()
	if err != nil {
		h.Error(err)
	}
	body, err := io.ReadAll(r.Body)
	id, wrong := strconv.Atoi(c.MessageID)
	if err != nil || wrong != nil || string(body) != c.MessageID {
		h.Errorf("message %d has id %q and body %q, %v", r.Message.Seq, c.MessageID, body, err)
	}
	g := got{seq: r.Message.Seq, id: id, count: r.Message.DeliveryCount}
	if !r.Deleted {
		g.token = h.number(r.Token())
	}
	return g
}
