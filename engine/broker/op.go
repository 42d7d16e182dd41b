package broker

import (
	"context"
	"errors"

	"mayfly/engine"
)

// opSize is how much an operation without a body counts towards Options.InboxBytes.
const opSize = 256

// An op is one step waiting for its turn.
type op struct {
	step     func(ns *engine.Namespace, now engine.Instant) error // runs again if the store refused the turn, and after errRunAgain
	done     func(error)                                          // called once: by the owner when the effects are durable, or by any goroutine with an error; must not block; nil after the call
	size     int64                                                // bytes that the operation may keep in memory
	receives bool                                                 // the step has no effect until messages are matched
	err      error                                                // step's error
}

// errRunAgain is the error of a step that is to run again in the next turn, before new operations.
var errRunAgain = errors.New("not yet")

// submit puts an operation in the inbox. It waits until there is room or ctx ends, but not for the
// operation. If submit returns nil, o.done is called later; otherwise it is never called.
func (b *Broker) submit(ctx context.Context, o *op) error {
	o.size = min(o.size+opSize, b.maxOpSize())
	if err := b.inFlight.Acquire(ctx, o.size); err != nil {
		return context.Cause(ctx)
	}
	select {
	case b.inbox <- o:
		select {
		case <-b.done: // the owner may have emptied the inbox before this arrived
			b.refuseOps(b.closedError())
		default:
		}
		return nil
	case <-ctx.Done():
		b.inFlight.Release(o.size)
		return context.Cause(ctx)
	case <-b.done:
		b.inFlight.Release(o.size)
		return b.closedError()
	}
}

// maxOpSize returns the most that one operation may count, so that it always fits.
func (b *Broker) maxOpSize() int64 {
	if n := b.o.InboxBytes; n > 0 {
		return n
	}
	return 64 << 20
}

// do runs step in a turn and returns when its effects are durable. The end of ctx
// does not cut short the wait for an answer, so that every call has one definite
// outcome. A broker that shuts down answers all pending calls.
func do[T any](ctx context.Context, b *Broker, size int64, step func(ns *engine.Namespace, now engine.Instant) (T, error)) (T, error) {
	var out T
	answered := make(chan error, 1)
	err := b.submit(ctx, &op{
		size: size,
		step: func(ns *engine.Namespace, now engine.Instant) (err error) {
			out, err = step(ns, now)
			return err
		},
		done: func(err error) { answered <- err },
	})
	if err == nil {
		err = <-answered
	}
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// exec is do for steps that return only an error.
func exec(ctx context.Context, b *Broker, step func(ns *engine.Namespace, now engine.Instant) error) error {
	_, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (struct{}, error) {
		return struct{}{}, step(ns, now)
	})
	return err
}
