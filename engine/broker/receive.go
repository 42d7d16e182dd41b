package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"mayfly/engine"
)

// A ReceiveRequest asks for messages.
type ReceiveRequest struct {
	Path   engine.Path
	Max    int // messages at most; zero means one
	Mode   engine.Mode
	Wait   time.Duration // for the first of them; zero means no wait
	Client string

	transaction engine.TxID // of a Transaction, which refuses to receive
}

// A Received is a delivered message with its body, which the caller must close.
type Received struct {
	engine.Delivery
	Body io.ReadSeekCloser
}

// A collector is the Sink of a Receive. It gathers the deliveries.
type collector struct {
	got  []engine.Delivery // owned by run until done is closed
	err  error
	done chan struct{}
}

func (r *collector) end(err error) {
	r.err = err
	close(r.done)
}

func (r *collector) Accepted(engine.SessionAccepted) {}

func (r *collector) Delivered(d engine.Delivery) { r.got = append(r.got, d) }

func (r *collector) Ended(why error) { r.end(why) }

// Receive takes messages. If none arrives in time, the result is empty, not an error. If ctx ends
// while a delivery is on its way, Receive returns the delivery, so that no message is locked
// without its receiver knowing.
func (b *Broker) Receive(ctx context.Context, in ReceiveRequest) ([]Received, error) {
	r := &collector{done: make(chan struct{})}
	id := engine.LinkID(b.link.Add(1))
	attached := make(chan error, 1)
	err := b.submit(ctx, &op{
		receives: true,
		step: func(ns *engine.Namespace, now engine.Instant) error {
			l := engine.Link{ID: id, Path: in.Path, Mode: in.Mode, Client: in.Client, SingleMessage: true, NoWait: in.Wait <= 0, Transaction: in.transaction}
			if err := ns.Attach(now, l); err != nil {
				return err
			}
			err := ns.Credit(now, id, max(1, in.Max))
			if err != nil {
				ns.Detach(now, id, engine.DetachedByClient) // the caller gets an error, so nothing else would detach the link
			}
			return err
		},
		done: func(err error) {
			if err == nil {
				b.links[id] = r // before the deliveries of this turn
			}
			attached <- err
		},
	})
	if err == nil {
		err = <-attached
	}
	if err == nil {
		err = b.await(ctx, id, r, in.Wait)
	}
	if err != nil {
		return nil, err
	}
	return b.withBodies(ctx, r.got)
}

// await waits until the link ends, and ends it when the time is up.
func (b *Broker) await(ctx context.Context, id engine.LinkID, r *collector, wait time.Duration) error {
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	if wait <= 0 {
		timer.Stop()
	}
	select {
	case <-r.done:
		return r.err
	case <-b.done:
		return b.closedError()
	case <-timer.C:
	case <-ctx.Done():
	}
	err := exec(context.WithoutCancel(ctx), b, func(ns *engine.Namespace, now engine.Instant) error {
		ns.Detach(now, id, engine.DetachedByClient)
		delete(b.links, id)
		return nil
	})
	if errors.Is(err, engine.ErrClosed) {
		return err
	}
	select {
	case <-r.done: // the link was served, or ended, in the meantime
		return r.err
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// withBodies adds the bodies to deliveries. It skips a delivery whose body cannot be read: the
// message's lock runs out and its delivery count increases, so that it does not block the queue for
// ever. It returns an error only if no delivery remains.
func (b *Broker) withBodies(ctx context.Context, got []engine.Delivery) ([]Received, error) {
	out := make([]Received, 0, len(got))
	var failed error
	for i := range got {
		if got[i].Body == nil {
			b.ReadBodies(ctx, got[i:])
		}
		d := got[i]
		body, err := b.deliveryBody(ctx, d)
		b.releasedPins.add(d.Pin)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("read the body of message #%d of %q: %w", d.Message.Seq, d.Path, err))
			continue
		}
		out = append(out, Received{Delivery: d, Body: body})
	}
	if len(out) == 0 {
		return nil, failed
	}
	if failed != nil {
		b.log.Error("received messages have bodies that cannot be read", "err", failed)
	}
	return out, nil
}

func (b *Broker) deliveryBody(ctx context.Context, d engine.Delivery) (io.ReadSeekCloser, error) {
	if d.Body != nil {
		return memoryBody{bytes.NewReader(d.Body)}, nil
	}
	return b.openBody(context.WithoutCancel(ctx), d.Message.Content, d.Content.BodySize())
}

// ReceiveDeferred takes deferred messages by number, all or none (DEF-6, DEF-7).
func (b *Broker) ReceiveDeferred(ctx context.Context, p engine.Path, seqs []engine.Seq, mode engine.Mode, client string) ([]Received, error) {
	got, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Delivery, error) {
		return ns.ReceiveDeferred(now, p, seqs, mode, client)
	})
	if err != nil {
		return nil, err
	}
	return b.withBodies(ctx, got)
}

// Settle settles deliveries and returns the error of each, nil for success.
func (b *Broker) Settle(ctx context.Context, all ...engine.Settlement) ([]error, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) ([]error, error) {
		errs := make([]error, len(all))
		for i, s := range all {
			errs[i] = ns.Settle(now, s)
		}
		return errs, nil
	})
}

// SettleAll is Settle for several deliveries, all or none.
func (b *Broker) SettleAll(ctx context.Context, all []engine.Settlement) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.SettleAll(now, all) })
}

// RenewLock extends a lock to a full period from now and returns its end (LOCK-5).
func (b *Broker) RenewLock(ctx context.Context, t engine.LockToken, at engine.Path, client string) (engine.Instant, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Instant, error) {
		return ns.RenewLock(now, t, at, client)
	})
}

// RenewLocks is RenewLock for several locks, all or none.
func (b *Broker) RenewLocks(ctx context.Context, tokens []engine.LockToken, at engine.Path, client string) ([]engine.Instant, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Instant, error) {
		return ns.RenewLocks(now, tokens, at, client)
	})
}

// Peek returns up to count messages from sequence number `from` on, without locking them, as a
// client's peek does (§9).
func (b *Broker) Peek(ctx context.Context, p engine.Path, from engine.Seq, count int, client string) ([]engine.Row, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Row, error) {
		return ns.Peek(now, p, from, count, client)
	})
}

// PeekFiltered is Peek for messages of one class, or of one session.
func (b *Broker) PeekFiltered(ctx context.Context, q engine.Browse, client string) ([]engine.Row, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Row, error) {
		return ns.PeekFiltered(now, q, client)
	})
}

// CancelScheduled removes scheduled messages by number, all or none (SCH-7).
func (b *Broker) CancelScheduled(ctx context.Context, p engine.Path, seqs []engine.Seq, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.CancelScheduled(now, p, seqs, actor) })
}

// BatchDelete removes up to count active messages enqueued before the instant `before`, or before
// the present time if that is zero, and returns how many it removed (BDEL-1). It works in several
// turns. If ctx ends or the entity is deleted, it returns the number removed so far with the error.
func (b *Broker) BatchDelete(ctx context.Context, p engine.Path, count int, before engine.Instant, client string) (int, error) {
	return b.batchDelete(ctx, before, func(ns *engine.Namespace, now, before engine.Instant) (engine.BatchDelete, error) {
		return ns.BeginBatchDelete(now, p, count, before, client)
	})
}

func (b *Broker) batchDelete(ctx context.Context, before engine.Instant, begin func(ns *engine.Namespace, now, before engine.Instant) (engine.BatchDelete, error)) (int, error) {
	d, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.BatchDelete, error) {
		if before == 0 {
			before = now
		}
		d, err := begin(ns, now, before)
		if err == nil {
			err = ns.BatchDeleteSlice(now, &d, purgeSlice)
		}
		return d, err
	})
	for err == nil && !d.Done {
		former := d
		d, err = do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.BatchDelete, error) {
			next := former
			err := ns.BatchDeleteSlice(now, &next, purgeSlice)
			return next, err
		})
		if err != nil {
			return former.Deleted, err
		}
	}
	return d.Deleted, err
}
