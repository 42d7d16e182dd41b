package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"mayfly/engine"
)

// errOwnershipUnknown means that it is unknown whether this broker still owns the namespace, so
// that decisions that no commit confirms must not be answered.
var errOwnershipUnknown = fmt.Errorf("this server's lease of the namespace has ended: %w", engine.ErrFenced)

// turn applies operations and due work and makes them durable before it answers. An error
// means that the outcome in the store is unknown, or with engine.ErrFenced that there is none.
//
// A result that a hard commit confirms is valid, even if the lease has ended meanwhile. Any other
// result (a read, a refusal, or a message whose lock would be lost in a crash) is returned only
// while no other server can own the namespace.
func (b *Broker) turn(ctx context.Context, ops []*op) error {
	now := b.clock.now()
	for _, p := range b.releasedPins.take() {
		b.ns.ReleaseBody(p)
	}
	if b.Health().ReadOnly != "" {
		return b.readOnlyTurn(ctx, now, ops)
	}
	for _, o := range ops {
		o.err = o.step(b.ns, now)
	}
	if !b.o.NoSweep {
		b.ns.Sweep(now, b.sweepBudget(now, len(ops) > 0))
	}
	b.ns.Match(now)
	hard, soft := b.ns.Pending()
	if soft && b.softSince == 0 {
		b.softSince = now
	}
	what := flushNothing
	switch {
	case hard && b.o.EagerLocks, soft && now.Sub(b.softSince) >= b.softDelay():
		what = flushAll
	case hard:
		what = flushHard
	}
	fx := b.flush(now, what)
	confirmed := false
	if fx.Batch != nil && !fx.Batch.Empty() {
		switch err := b.commit(ctx, fx.Batch); {
		case errors.Is(err, engine.ErrUnwritable):
			return b.becomeReadOnly(ctx, now, ops, fx.Batch, err)
		case err != nil:
			return err
		}
		confirmed = fx.Batch.Hard
		b.bodies.add(fx.Batch.Bodies)
	}
	if !confirmed && !b.store.Load().Owned() {
		return errOwnershipUnknown
	}
	b.completeTurn(ops, fx, what)
	return nil
}

// completeTurn ends a turn whose effects fx are as durable as they must be: it can no longer be
// rolled back, its events are published, and ops are answered.
func (b *Broker) completeTurn(ops []*op, fx engine.Effects, what flushScope) {
	b.ns.Seal(fx.Batch != nil)
	if _, waits := b.ns.Pending(); fx.Batch != nil && (what == flushAll || !waits) {
		b.softSince = 0
	}
	b.countDamaged()
	b.publishAndAnswer(ops, fx)
	if b.ns.ExpiryChanged() {
		b.signalExpiryChanged()
	}
}

// A flushScope selects the changes to commit.
type flushScope uint8

const (
	flushNothing flushScope = iota // none; all changes wait
	flushHard                      // changes that must be durable
	flushAll                       // all changes
)

// flush takes the effects and numbers their events as the log will. Operators' actions go with
// the batch, which is hard then: the audit trail is never missing them (§21a).
func (b *Broker) flush(now engine.Instant, what flushScope) engine.Effects {
	var fx engine.Effects
	if what == flushHard {
		fx = b.ns.FlushHard(now)
	} else {
		fx = b.ns.Flush(now, what == flushAll)
	}
	last := b.events.Last()
	for i := range fx.Events {
		e := &fx.Events[i]
		e.N = last + 1 + uint64(i)
		if e.Audit && fx.Batch != nil {
			fx.Batch.Audit = append(fx.Batch.Audit, historyEvent(*e))
		}
	}
	return fx
}

// publishAndAnswer publishes events, then answers operations, in this order so that a caller finds
// the event of its own operation.
func (b *Broker) publishAndAnswer(ops []*op, fx engine.Effects) {
	b.events.append(fx.Events)
	b.ns.ReuseEvents(fx.Events)
	for _, o := range ops {
		b.concludeOp(o)
	}
	b.deliver(fx)
}

// concludeOp finishes an operation with its step's result, unless it is to run again.
func (b *Broker) concludeOp(o *op) {
	if o.err == errRunAgain { //nolint:errorlint // an internal sentinel that is never wrapped
		b.postponed = append(b.postponed, o)
		return
	}
	b.finishOp(o, o.err)
}

// finishOp answers an operation with an error or nil, unless it has been answered already.
func (b *Broker) finishOp(o *op, err error) {
	if done := o.done; done != nil {
		o.done = nil
		b.inFlight.Release(o.size)
		done(err)
	}
}

// answerUnknown answers operations whose outcome is unknown.
func (b *Broker) answerUnknown(ops []*op, err error) {
	for _, o := range ops {
		b.finishOp(o, storeUnavailable(err, "The store did not answer in time, so this may or may not have happened. Check before you retry."))
	}
}

// announce publishes an event of the server itself. Call it only between turns, or before the first
// operation of one is applied: Reader.N counts unpublished events of the turn, which must get the
// next numbers.
func (b *Broker) announce(kind engine.EventKind, reason string) {
	b.events.append([]engine.Event{{Kind: kind, At: b.clock.now(), Reason: reason}})
}

// pinList collects the pins of bodies that are no longer needed, until the owner releases them.
type pinList struct {
	mu   sync.Mutex
	list []engine.BodyPin
}

func (p *pinList) add(pin engine.BodyPin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, pin)
}

func (p *pinList) take() []engine.BodyPin {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.list
	p.list = nil
	return out
}
