package broker_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/storage/storetest"
)

// A ground is a store that fails now and then, across its openings, and records when its commits
// failed and when it was opened again, on which the possible results of operations depend.
type ground struct {
	clock *atomic.Int64

	mu       sync.Mutex
	rnd      *rand.Rand
	store    *memory.Store
	opens    int
	every    int // one fault in so many commits on average; zero means none
	faults   []storetest.Fault
	again    int   // how many of the next commits fail as Unwritable
	complete int64 // when the last complete commit was
	bodies   map[engine.Key][]byte
	failed   []commitSpan // commits whose outcome is unknown
	reopened []reopened
	opening  chan struct{} // closed when the store has been read after a failed commit; nil if it does not have to be
	spoilt   bool          // the stored records could not be loaded
}

// A commitSpan is the interval of a commit.
type commitSpan struct{ from, to int64 }

// reopened is the interval in which a broker read everything again: after a commit failed, and
// before a client can have seen what was read. since is when the last complete commit was.
type reopened struct {
	commitSpan
	since int64
}

func (g *ground) open(context.Context) (engine.Store, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opens++; g.opens == 1 {
		g.store, g.bodies = new(memory.Store), map[engine.Key][]byte{}
	} else {
		g.store = g.store.Reopen()
	}
	f := &storetest.Faulty{Store: under{g.store, g}}
	f.Plan(func(int) storetest.Fault { return g.next() })
	return over{f, g}, nil
}

// fails makes one in `every` commits fail on average, or none if every is zero.
func (g *ground) fails(every int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.every, g.again = every, 0
}

func (g *ground) next() storetest.Fault {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.again > 0:
		g.again--
		return storetest.FailUnwritable
	case g.every == 0 || g.rnd.IntN(g.every) > 0:
		return storetest.NoFault
	}
	f := g.faults[g.rnd.IntN(len(g.faults))]
	if f == storetest.FailUnwritable {
		g.again = g.rnd.IntN(3)
	}
	return f
}

// rest waits until a failed store has been opened again.
func (g *ground) rest(ctx context.Context) {
	g.mu.Lock()
	opening := g.opening
	g.mu.Unlock()
	if opening != nil {
		select {
		case <-opening:
		case <-ctx.Done():
		}
	}
}

// lost reports whether the store can no longer be opened.
func (g *ground) lost() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spoilt
}

// over is the store as the broker sees it, with faults.
type over struct {
	*storetest.Faulty
	g *ground
}

func (o over) Commit(ctx context.Context, b *engine.Batch) error {
	o.g.mu.Lock()
	yields := o.g.rnd.IntN(4)
	o.g.mu.Unlock()
	for range yields { // so that operations gather for the next turn
		runtime.Gosched()
	}
	from := o.g.clock.Add(tick)
	err := o.Faulty.Commit(ctx, b)
	if err != nil && !errors.Is(err, engine.ErrUnwritable) {
		o.g.mu.Lock()
		defer o.g.mu.Unlock()
		o.g.failed = append(o.g.failed, commitSpan{from, o.g.clock.Add(tick)})
		o.g.opening = make(chan struct{})
	}
	return err
}

// Body returns the body of any message that a client received, whatever has become of the store
// and of the message meanwhile. A message received and deleted may be lost on its way (LOCK-2),
// but the test does not check that.
func (o over) Body(_ context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	o.g.mu.Lock()
	defer o.g.mu.Unlock()
	body, ok := o.g.bodies[k]
	if !ok {
		return nil, engine.ErrMessageNotFound
	}
	return readable{bytes.NewReader(body)}, nil
}

type readable struct{ *bytes.Reader }

func (readable) Close() error { return nil }

// Close keeps the data in memory for the next opening.
func (o over) Close() error { return nil }

// under is the store below the injected faults.
type under struct {
	*memory.Store
	g *ground
}

func (u under) Commit(ctx context.Context, b *engine.Batch) error {
	err := u.Store.Commit(ctx, b)
	u.g.mu.Lock()
	defer u.g.mu.Unlock()
	for _, body := range b.Bodies {
		u.g.bodies[body.Key] = body.Bytes
	}
	if len(b.Messages)+len(b.DropMessages) > 0 { // a probe has no messages
		u.g.complete = u.g.clock.Add(tick)
	}
	return err
}

func (u under) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		whole := true
		for r, err := range u.Store.Load(ctx) {
			if whole = yield(r, err) && err == nil; !whole {
				break
			}
		}
		u.g.loaded(whole)
	}
}

// loaded records whether everything could be read and loaded.
func (g *ground) loaded(whole bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opening == nil {
		return
	}
	if g.spoilt = !whole; whole {
		g.reopened = append(g.reopened, reopened{commitSpan{g.failed[len(g.failed)-1].to, g.clock.Add(tick)}, g.complete})
	}
	close(g.opening)
	g.opening = nil
}
