package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
)

// becomeReadOnly rolls back a turn that the store refused and answers its operations one by one,
// as if the broker had been read-only before.
func (b *Broker) becomeReadOnly(ctx context.Context, now engine.Instant, ops []*op, batch *engine.Batch, why error) error {
	b.log.Error("the store accepts no writes; the namespace is read-only", "err", why)
	b.updateHealth(func(h *Health) { h.ReadOnly = unwritableReason(why) })
	b.probeAt, b.freeSpaceAt, b.probeSize = now.Add(probeEvery), now.Add(probeEvery), minProbeSize
	for _, body := range batch.Bodies {
		b.probeSize = min(b.probeSize+len(body.Bytes), maxProbeSize)
	}
	b.ns.Rollback()
	b.announce(engine.EventReadOnly, b.Health().ReadOnly)
	return b.readOnlyTurn(ctx, now, ops)
}

// storeTrouble returns the channel on which the store reports that it refuses writes from now on, or
// nil if the store reports that only in Commit.
func (b *Broker) storeTrouble() <-chan error {
	if t, ok := b.store.Load().Store.(engine.WriteFailureNotifier); ok {
		return t.WriteFailure()
	}
	return nil
}

// suspendWrites makes the namespace read-only between two turns. If it is read-only already,
// suspendWrites only updates the reason.
func (b *Broker) suspendWrites(why error) {
	was := b.Health().ReadOnly
	if !b.setReadOnlyReason(why) {
		return
	}
	b.log.Error("the store accepts no writes; the namespace is read-only", "err", why)
	if was == "" {
		b.probeAt, b.probeSize = b.clock.now().Add(probeEvery), minProbeSize
		b.freeSpaceAt = b.probeAt
	}
	b.announce(engine.EventReadOnly, b.Health().ReadOnly)
}

// setReadOnlyReason sets Health.ReadOnly to the reason in an error. It reports whether the reason
// is new.
func (b *Broker) setReadOnlyReason(why error) bool {
	reason := unwritableReason(why)
	if b.Health().ReadOnly == reason {
		return false
	}
	b.updateHealth(func(h *Health) { h.ReadOnly = reason })
	return true
}

// readOnlyTurn answers the operations that need no write and refuses the others. Once in a while
// it frees space in the store and tries to write.
func (b *Broker) readOnlyTurn(ctx context.Context, now engine.Instant, ops []*op) error {
	if b.freeSpaceAt.Passed(now) {
		freed, err := b.freeSpace(ctx, now, len(ops) > 0)
		if err != nil {
			return err
		}
		if b.freeSpaceAt = now.Add(probeEvery); freed {
			b.freeSpaceAt = now.Add(freeSpaceInterval) // there may be more
		}
	}
	if b.probeAt.Passed(now) { // also while space is freed, since there may always be more to free
		b.probeAt = now.Add(probeEvery)
		switch err := b.probe(ctx, now); {
		case errors.Is(err, engine.ErrUnwritable):
			b.setReadOnlyReason(err)
		case err != nil:
			return err
		default:
			b.log.Info("the store accepts writes again")
			b.announce(engine.EventWritable, b.Health().ReadOnly)
			b.updateHealth(func(h *Health) { h.ReadOnly = "" })
			b.probeAt, b.freeSpaceAt = 0, 0
			return b.turn(ctx, ops)
		}
	}
	for _, o := range ops {
		if err := b.readOnlyStep(ctx, now, o); err != nil {
			return err
		}
	}
	return nil
}

// readOnlyStep does one operation, or refuses it if it needs a write that the store does not
// accept. An error means the same as turn's.
func (b *Broker) readOnlyStep(ctx context.Context, now engine.Instant, o *op) error {
	o.err = o.step(b.ns, now)
	if o.receives { // only then, because matching for other receivers may need a write and must not fail a read
		b.ns.Match(now)
	}
	if !b.store.Load().Owned() {
		return errOwnershipUnknown
	}
	if hard, _ := b.ns.Pending(); !hard {
		b.completeTurn([]*op{o}, b.flush(now, flushNothing), flushNothing)
	} else if done, err := b.commitIfFreeing(ctx, now, []*op{o}); err != nil {
		return err
	} else if !done {
		b.finishOp(o, busyError(b.Health().ReadOnly))
		return nil
	}
	if o.receives || !b.canFreeSpace() {
		return nil
	}
	b.ns.Match(now) // apart from the operation, which stays done even if the store refuses the deliveries
	if hard, _ := b.ns.Pending(); hard {
		_, err := b.commitIfFreeing(ctx, now, nil)
		return err
	}
	return b.settleSoft(b.flush(now, flushNothing))
}

// commitIfFreeing commits the pending changes if they need no space and the store accepts such
// batches; done reports whether it did. Otherwise it rolls the changes back. An error means the
// same as turn's.
func (b *Broker) commitIfFreeing(ctx context.Context, now engine.Instant, ops []*op) (done bool, err error) {
	if b.canFreeSpace() {
		fx := b.flush(now, flushHard)
		if fx.Batch.NeedsNoSpace() {
			return b.commitFreeing(ctx, ops, fx)
		}
	}
	b.ns.Rollback()
	return false, nil
}

// commitFreeing commits a batch that needs no space. It returns false if the store refuses it.
func (b *Broker) commitFreeing(ctx context.Context, ops []*op, fx engine.Effects) (done bool, err error) {
	switch err := b.commit(ctx, fx.Batch); {
	case errors.Is(err, engine.ErrUnwritable):
		b.ns.Rollback()
		return false, nil
	case err != nil:
		return false, err
	}
	b.completeTurn(ops, fx, flushHard)
	return true, nil
}

// settleSoft completes a turn whose effects need no commit and answer no operation.
func (b *Broker) settleSoft(fx engine.Effects) error {
	if !b.store.Load().Owned() {
		return errOwnershipUnknown
	}
	b.completeTurn(nil, fx, flushNothing)
	return nil
}

// canFreeSpace reports whether the store, although it is full, accepts batches that need no space.
func (b *Broker) canFreeSpace() bool {
	r, ok := b.store.Load().Store.(engine.DropAccepter)
	return ok && r.AcceptsDrops()
}

// freeSpace drops expired messages, the messages of deleted entities, and contents that no
// message refers to any more, and matches waiting receivers with unlocked messages. It reports
// whether it has committed a batch.
func (b *Broker) freeSpace(ctx context.Context, now engine.Instant, asked bool) (freed bool, err error) {
	if !b.canFreeSpace() {
		return false, nil
	}
	if !b.o.NoSweep {
		b.ns.SweepDrops(now, b.sweepBudget(now, asked))
	}
	b.ns.Match(now)
	hard, _ := b.ns.Pending()
	fx := b.flush(now, flushHard)
	switch {
	case fx.Batch.NeedsNoSpace():
		return b.commitFreeing(ctx, nil, fx)
	case hard:
		b.ns.Rollback()
		return false, nil
	default: // only soft changes, such as locks that ran out
		fx.Batch = nil
		return false, b.settleSoft(fx)
	}
}

// freeSpaceInterval is the time from an attempt that freed space to the next.
const freeSpaceInterval = 10 * time.Millisecond

// The minimum and maximum number of bytes that a probe writes.
const (
	minProbeSize = 64 << 10
	maxProbeSize = 1 << 20
)

// probe writes as many bytes as the store refused and removes them again. A smaller write might
// succeed although the next message does not fit.
func (b *Broker) probe(ctx context.Context, now engine.Instant) error {
	k := b.store.Load().keys.Next()
	err := b.commit(ctx, &engine.Batch{Hard: true, Now: now, Bodies: []engine.Body{{Key: k, Bytes: make([]byte, b.probeSize)}}})
	if err != nil {
		return err
	}
	return b.commit(ctx, &engine.Batch{Hard: true, Now: now, DropContents: []engine.DroppedContent{{Key: k, HasBody: true}}})
}

// unwritableReason returns the reason a store gave for engine.ErrUnwritable.
func unwritableReason(err error) string {
	if _, reason, ok := strings.Cut(err.Error(), engine.ErrUnwritable.Error()+": "); ok {
		return reason
	}
	return err.Error()
}

// errReadOnly is wrapped by the errors of busyError. It means that nothing was done.
var errReadOnly = fmt.Errorf("%w: read-only", engine.ErrBusy)

func busyError(reason string) error {
	return engine.Refuse(errReadOnly, "Nothing can be written at the moment: %s.", reason)
}
