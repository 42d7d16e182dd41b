package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mayfly/engine"
)

// Close stops taking operations, commits what is left, hands the history what
// it has not got yet and closes the store. It tells how the broker ended if
// that was before: with engine.ErrFenced if another server owns the namespace.
func (b *Broker) Close() error {
	b.stop()
	<-b.done
	return b.err
}

// shutDown answers what has arrived, makes the rest durable and closes.
func (b *Broker) shutDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	b.refuseRest(engine.ErrClosed)
	now := b.clock.now()
	what := takeAll
	if b.Health().ReadOnly != "" {
		what = takeNothing
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

// errElsewhere is what callers are told when the namespace may have another
// owner.
var errElsewhere = &engine.Refusal{
	Kind: fmt.Errorf("%w: %w", engine.ErrClosed, engine.ErrFenced),
	Text: "Another server may own the namespace now: nothing was done here. Ask that one.",
}

// giveUp ends a broker that no longer owns its namespace: what it was about to
// decide is not so, and it must not open the store again.
func (b *Broker) giveUp(ops []*op, why error) {
	for _, o := range ops {
		b.finish(o, errElsewhere)
	}
	b.refuseRest(errElsewhere)
	b.leave(why)
	if err := b.store.Load().Close(); err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("close the store: %w", err))
	}
}

// leave ends a broker that has no store any more.
func (b *Broker) leave(why error) {
	b.log.Error("the broker ends", "err", why)
	b.err = why
	b.endLog(false)
}

// endLog says that nothing more happens. Unless the rest is to be handed over,
// the history gets nothing from then on.
func (b *Broker) endLog(handOver bool) {
	if b.past != nil && !handOver {
		b.past.stop()
	}
	b.events.close()
	if b.past != nil {
		b.past.finish()
	}
}

// refuseRest answers whoever waits.
func (b *Broker) refuseRest(why error) {
	b.endReceivers(why)
	for _, o := range b.later {
		b.finish(o, why)
	}
	b.later = nil
	b.refuseOps(why)
}

// endReceivers tells everybody who receives that it is over.
func (b *Broker) endReceivers(why error) {
	for id, to := range b.links {
		delete(b.links, id)
		to.Ended(why)
	}
}

// refuseOps answers what is in line. Anybody may call it when the owner has
// ended.
func (b *Broker) refuseOps(why error) {
	for {
		select {
		case o := <-b.inbox:
			b.finish(o, why)
		default:
			return
		}
	}
}

// reopen loads everything again. Until that works, operations are refused. It
// fails if ctx ends first, and with engine.ErrFenced if another server owns the
// namespace; the store is not open then.
func (b *Broker) reopen(ctx context.Context, why error) error {
	b.log.Error("the store failed; loading everything again", "err", why)
	b.update(func(h *Health) { h.Reopening, h.ReadOnly = why.Error(), "" })
	b.endReceivers(failing(why, "The store failed and is being opened again."))
	if err := b.store.Load().Close(); err != nil {
		b.log.Warn("closing the failed store", "err", err)
	}
	b.softSince, b.probeAt = 0, 0
	again := time.NewTimer(0)
	defer again.Stop()
	// A store that does not answer is waited for aside, so that callers are not.
	// What load writes is the owner's again once it has ended.
	var loading chan error
	for {
		select {
		case <-ctx.Done():
			if loading != nil && <-loading == nil {
				return errors.Join(fmt.Errorf("the store was not needed again: %w", why), b.store.Load().Close())
			}
			return fmt.Errorf("the store was not opened again: %w", why)
		case o := <-b.inbox:
			b.finish(o, failing(why, "The store failed and is being opened again; nothing was done."))
		case <-again.C:
			ended := make(chan error, 1)
			loading = ended
			go func() { ended <- b.load(ctx) }() // waited for in this loop
		case err := <-loading:
			loading = nil
			if err == nil {
				b.announce(engine.EventReopened, why.Error())
				b.update(func(h *Health) { h.Reopening = "" })
				return nil
			}
			if fenced := lostTo(err); fenced != nil {
				b.refuseRest(errElsewhere)
				return fenced
			}
			b.log.Error("opening the store again", "err", err)
			again.Reset(reopenEvery)
		}
	}
}

// failing is what callers are told while the store does not work. What it says
// of itself is for the log and for whoever asks for the chain.
func failing(why error, text string) error {
	return &engine.Refusal{Kind: fmt.Errorf("%w: %w", engine.ErrBusy, why), Text: text}
}

// lostTo is engine.ErrFenced with err if err says that another server owns the
// namespace, else nil.
func lostTo(err error) error {
	if _, owned := errors.AsType[*engine.OwnedError](err); owned {
		return fmt.Errorf("%w: %w", engine.ErrFenced, err)
	}
	if errors.Is(err, engine.ErrFenced) {
		return err
	}
	return nil
}
