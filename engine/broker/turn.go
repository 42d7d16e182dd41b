package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"mayfly/engine"
)

// errUnowned says that nobody can tell whether the namespace is still ours:
// what was decided without a commit to confirm it is not so.
var errUnowned = fmt.Errorf("the time for which the namespace was ours has passed: %w", engine.ErrFenced)

// turn applies operations and due work and makes them durable before anybody
// hears of them. An error means that the outcome in the store is unknown, or
// with engine.ErrFenced that there is none.
//
// What a hard commit confirmed is so, whatever has become of the lease
// meanwhile. Anything else, a look, a refusal or a message under a lock that
// the store knows softly at best, is told only while nobody else can own the
// namespace.
func (b *Broker) turn(ctx context.Context, ops []*op) error {
	now := b.clock.now()
	for _, p := range b.taken.take() {
		b.ns.Taken(p)
	}
	if b.Health().ReadOnly != "" {
		return b.readOnlyTurn(ctx, now, ops)
	}
	for _, o := range ops {
		o.err = o.step(b.ns, now)
	}
	if !b.o.Unswept {
		b.ns.Sweep(now, b.slice(now, len(ops) > 0))
	}
	b.ns.Match(now)
	hard, soft := b.ns.Pending()
	if soft && b.softSince == 0 {
		b.softSince = now
	}
	what := takeNothing
	switch {
	case hard && b.o.EagerLocks, soft && now.Sub(b.softSince) >= b.softDelay():
		what = takeAll
	case hard:
		what = takeHard
	}
	fx := b.flush(now, what)
	confirmed := false
	if fx.Batch != nil && !fx.Batch.Empty() {
		switch err := b.commit(ctx, fx.Batch); {
		case errors.Is(err, engine.ErrUnwritable):
			return b.goReadOnly(ctx, now, ops, fx.Batch, err)
		case err != nil:
			return err
		}
		confirmed = fx.Batch.Hard
		b.bodies.keep(fx.Batch.Bodies)
	}
	if !confirmed && !b.store.Load().Owned() {
		return errUnowned
	}
	b.ns.Seal(fx.Batch != nil)
	if _, waits := b.ns.Pending(); fx.Batch != nil && (what == takeAll || !waits) {
		b.softSince = 0
	}
	b.answer(ops, fx)
	if b.ns.Stirred() {
		b.stirred()
	}
	return nil
}

// A taking is what is to become of changes.
type taking uint8

const (
	takeNothing taking = iota // they wait
	takeHard                  // what must be durable is committed
	takeAll                   // everything is
)

// flush takes what happened and numbers it as the log will. What operators did
// goes with the batch, which is hard then: it is never missing (§21a).
func (b *Broker) flush(now engine.Instant, what taking) engine.Effects {
	var fx engine.Effects
	if what == takeHard {
		fx = b.ns.FlushHard(now)
	} else {
		fx = b.ns.Flush(now, what == takeAll)
	}
	last := b.events.Last()
	for i := range fx.Events {
		e := &fx.Events[i]
		e.N = last + 1 + uint64(i)
		if e.Audit && fx.Batch != nil {
			fx.Batch.Audit = append(fx.Batch.Audit, remembered(*e))
		}
	}
	return fx
}

// answer publishes what happened, then tells everybody what became of their
// operations: who looks for what he did himself finds it.
func (b *Broker) answer(ops []*op, fx engine.Effects) {
	b.events.append(fx.Events)
	b.ns.Recycle(fx.Events)
	for _, o := range ops {
		b.conclude(o)
	}
	b.deliver(fx)
}

// conclude finishes an operation with what its step said, unless it is to come
// again.
func (b *Broker) conclude(o *op) {
	if o.err == errNotYet { //nolint:errorlint // a sign between us, which nobody wraps
		b.later = append(b.later, o)
		return
	}
	b.finish(o, o.err)
}

// finish answers an operation that has not been answered yet.
func (b *Broker) finish(o *op, err error) {
	if done := o.done; done != nil {
		o.done = nil
		b.room.Release(o.size)
		done(err)
	}
}

// abandon answers operations whose outcome nobody knows.
func (b *Broker) abandon(ops []*op, err error) {
	for _, o := range ops {
		b.finish(o, failing(err, "Whether this was done is not known: the store did not answer in time. Look before you try again."))
	}
}

// announce publishes what happened to the server itself. Only between turns, or
// before the first operation of one is applied: the numbers that readers were
// given count what is not published yet.
func (b *Broker) announce(kind engine.EventKind, reason string) {
	b.events.append([]engine.Event{{Kind: kind, At: b.clock.now(), Reason: reason}})
}

// pins are bodies that have been read, on their way to the owner.
type pins struct {
	mu   sync.Mutex
	list []engine.Pin
}

func (p *pins) add(pin engine.Pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, pin)
}

func (p *pins) take() []engine.Pin {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.list
	p.list = nil
	return out
}
