package broker

import (
	"context"
	"errors"

	"mayfly/engine"
)

// opSize is what an operation without a body takes in the inbox.
const opSize = 256

// An op is one step waiting for its turn.
type op struct {
	step     func(ns *engine.Namespace, now engine.Instant) error // comes again if the store refused the turn, and after errNotYet
	done     func(error)                                          // called once, when everything is durable; must not block; with nil only by the owner; nil after that
	size     int64                                                // bytes it may hold up
	receives bool                                                 // it is for nothing unless messages are matched
	err      error                                                // what step said
}

// errNotYet is what a step says that is to come again in the next turn, before
// those that are new then.
var errNotYet = errors.New("not yet")

// submit puts an operation in line. It waits only for room; ctx ends that
// wait. After a nil return, done will be called.
func (b *Broker) submit(ctx context.Context, o *op) error {
	o.size = min(o.size+opSize, b.largest())
	if err := b.room.Acquire(ctx, o.size); err != nil {
		return context.Cause(ctx)
	}
	select {
	case b.inbox <- o:
		select {
		case <-b.done: // the owner may have looked for the last time before this came
			b.refuseOps(b.closed())
		default:
		}
		return nil
	case <-ctx.Done():
		b.room.Release(o.size)
		return context.Cause(ctx)
	case <-b.done:
		b.room.Release(o.size)
		return b.closed()
	}
}

// largest keeps one operation from asking for more room than there is.
func (b *Broker) largest() int64 {
	if n := b.o.InboxBytes; n > 0 {
		return n
	}
	return 64 << 20
}

// do runs step in its turn and returns when its effects are durable. The wait
// for an answer cannot be cut short by ctx, so that every call has one definite
// outcome; a broker that ends answers too.
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

// act is do for steps that only fail or not.
func act(ctx context.Context, b *Broker, step func(ns *engine.Namespace, now engine.Instant) error) error {
	_, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (struct{}, error) {
		return struct{}{}, step(ns, now)
	})
	return err
}
