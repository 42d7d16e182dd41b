package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mayfly/engine"
)

// Close refuses further operations, commits pending changes, writes the last events to the history
// and closes the store. If the broker had already ended, Close returns the reason: engine.ErrFenced
// if another server owns the namespace.
func (b *Broker) Close() error {
	b.stop()
	<-b.done
	return b.err
}

// shutDown refuses the waiting operations, commits pending changes and closes the store.
func (b *Broker) shutDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	b.refuseAll(engine.ErrClosed)
	now := b.clock.now()
	what := flushAll
	if b.Health().ReadOnly != "" {
		what = flushNothing
	}
	if fx := b.flush(now, what); fx.Batch != nil {
		fx.Batch.Hard = true
		if err := b.commit(ctx, fx.Batch); err != nil {
			b.err = fmt.Errorf("last commit: %w", err)
		}
	}
	b.announce(engine.EventStopped, "")
	b.endLog(b.err == nil)
	if err := b.store.Load().Close(); err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("close the store: %w", err))
	}
}

// errNotOwner is the error for callers when the namespace may have another owner.
var errNotOwner = engine.Refuse(fmt.Errorf("%w: %w", engine.ErrClosed, engine.ErrFenced), "Another server may own the namespace now. Nothing was changed here. Retry at that server.")

// endFenced ends a broker that may no longer own its namespace: it refuses ops, whose effects were
// not committed, and all waiting operations with errNotOwner, and closes the store without another
// commit.
func (b *Broker) endFenced(ops []*op, why error) {
	for _, o := range ops {
		b.finishOp(o, errNotOwner)
	}
	b.refuseAll(errNotOwner)
	b.endBroken(why)
	if err := b.store.Load().Close(); err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("close the store: %w", err))
	}
}

// endBroken ends a broker that has lost its store.
func (b *Broker) endBroken(why error) {
	b.log.Error("the broker has stopped", "err", why)
	b.err = why
	b.endLog(false)
}

// endLog closes the log and ends the historyWriter. If handOver is set, the last events are still
// written to the history.
func (b *Broker) endLog(handOver bool) {
	if b.history != nil && !handOver {
		b.history.stop()
	}
	b.events.close()
	if b.history != nil {
		b.history.waitUntilWritten()
	}
}

// refuseAll ends receivers and refuses all waiting operations.
func (b *Broker) refuseAll(why error) {
	b.endReceivers(why)
	for _, o := range b.postponed {
		b.finishOp(o, why)
	}
	b.postponed = nil
	b.refuseOps(why)
}

// endReceivers ends all receivers.
func (b *Broker) endReceivers(why error) {
	for id, to := range b.links {
		delete(b.links, id)
		to.Ended(why)
	}
}

// refuseOps refuses the operations in the inbox. Any goroutine may call it when the owner has
// ended.
func (b *Broker) refuseOps(why error) {
	for {
		select {
		case o := <-b.inbox:
			b.finishOp(o, why)
		default:
			return
		}
	}
}

// reopen opens the store again and reloads the namespace. Until that succeeds, it refuses
// operations. It fails if ctx ends first, and with engine.ErrFenced if another server owns the
// namespace; then the store is not open.
func (b *Broker) reopen(ctx context.Context, why error) error {
	b.log.Error("the store failed; reloading all data", "err", why)
	b.updateHealth(func(h *Health) { h.Reopening, h.ReadOnly = why.Error(), "" })
	b.endReceivers(storeUnavailable(why, "The store failed and is being reopened."))
	if err := b.store.Load().Close(); err != nil {
		b.log.Warn("the failed store could not be closed", "err", err)
	}
	b.softSince, b.probeAt, b.freeSpaceAt = 0, 0, 0
	b.releaseNamespace() // memory may not be enough for the old and the new namespace together
	again := time.NewTimer(0)
	defer again.Stop()
	// load runs in its own goroutine, so that callers get answers even if the store does not
	// respond. Until it has ended, the owner must not use the fields that it sets.
	var loading chan error
	for {
		select {
		case <-ctx.Done():
			if loading != nil && <-loading == nil {
				return errors.Join(fmt.Errorf("the store was not reopened because it is no longer needed: %w", why), b.store.Load().Close())
			}
			return fmt.Errorf("the store was not reopened: %w", why)
		case o := <-b.inbox:
			b.finishOp(o, storeUnavailable(why, "The store failed and is being reopened; nothing was done."))
		case <-again.C:
			ended := make(chan error, 1)
			loading = ended
			go func() { ended <- b.load(ctx) }() // waited for in this loop
		case err := <-loading:
			loading = nil
			if err == nil {
				b.announce(engine.EventReopened, why.Error())
				b.updateHealth(func(h *Health) { h.Reopening = "" })
				return nil
			}
			if fenced := fencedError(err); fenced != nil {
				b.refuseAll(errNotOwner)
				return fenced
			}
			b.log.Error("the store could not be reopened", "err", err)
			again.Reset(reopenEvery)
		}
	}
}

// storeUnavailable returns the error for callers while the store does not work. The store's own error
// is in its chain, for the log.
func storeUnavailable(why error, text string) error {
	return engine.Refuse(fmt.Errorf("%w: %w", engine.ErrBusy, why), "%s", text)
}

// fencedError returns engine.ErrFenced with err if err means that another server owns the
// namespace, else nil.
func fencedError(err error) error {
	if _, owned := errors.AsType[*engine.OwnedError](err); owned {
		return fmt.Errorf("%w: %w", engine.ErrFenced, err)
	}
	if errors.Is(err, engine.ErrFenced) {
		return err
	}
	return nil
}
