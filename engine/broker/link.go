package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"mayfly/engine"
)

// A Sink is notified of a receiver's deliveries and its end, in order, and only once they are
// durable. Its methods are called by the goroutine that serves the whole namespace: they must
// not block, nor call the broker.
type Sink interface {
	// Accepted reports that the receiver has its session. It is called once, before any
	// delivery, for a receiver that asked for a session.
	Accepted(a engine.SessionAccepted)
	// Delivered hands a message over. The sink passes its Pin to ReleaseBody, once, when the body
	// has been read or will not be.
	Delivered(d engine.Delivery)
	// Ended reports that the receiver has ended: its entity was deleted or refuses receivers, it
	// lost its session, or the broker lost its store. No call follows, except SessionMoved of a
	// SessionLossListener. Ended is not called if the client detached the receiver.
	Ended(why error)
}

// deliver passes effects to the sinks of their receivers.
func (b *Broker) deliver(fx engine.Effects) {
	for _, a := range fx.Accepted {
		if to := b.links[a.Link]; to != nil {
			to.Accepted(a)
		}
	}
	for _, d := range fx.Deliveries {
		if to := b.links[d.Link]; to != nil {
			to.Delivered(d)
		} else {
			b.ns.ReleaseBody(d.Pin)
		}
	}
	for _, e := range fx.Ended {
		if to := b.links[e.ID]; to != nil {
			delete(b.links, e.ID)
			to.Ended(e.Err)
			if s, stays := to.(SessionLossListener); stays && e.LostSession.Link != 0 {
				b.lossListeners.add(b.ns, e.LostSession, s)
			}
		}
	}
	for _, a := range fx.Accepted {
		b.lossListeners.accepted(b.ns, a)
	}
	for _, a := range b.ns.WatchedSessionsAvailable(b.clock.approximate()) {
		b.lossListeners.notifyMoved(b.ns, lostSessionOf(a))
	}
}

// An AttachRequest describes the receiver that Attach opens.
type AttachRequest struct {
	Path    engine.Path
	Mode    engine.Mode
	Client  string // name of the client, for display
	Session engine.SessionRequest

	Selector *engine.MessageSelector // selects the messages that the receiver gets; nil means all

	// Instead is a receiver that this one replaces: it ends in the same step, as if its client
	// had closed it (SES-7), so that no other receiver gets its messages. Nil means none.
	Instead *Link
}

// A Link is a receiver that lasts until it is detached or ends, for protocols whose clients give
// credit at any time. Its methods are safe for concurrent use. Operations that one goroutine
// submits are done in the order of its calls. Methods with a parameter done pass their answer to
// it, in the order of the operations. done is called once, unless the method returned an error, by
// the goroutine that serves the whole namespace: it must not block, nor call the broker.
type Link struct {
	b  *Broker
	id engine.LinkID
}

// Attach opens a receiver without credit, and returns when it exists. If another receiver holds
// the named session, Attach returns engine.ErrSessionLocked at once (SES-4). A link that asks for
// the next session waits for it until it is detached (SES-3). After an error, in.Instead may still
// exist and must be detached.
func (b *Broker) Attach(ctx context.Context, in AttachRequest, to Sink) (*Link, error) {
	l := &Link{b: b, id: engine.LinkID(b.link.Add(1))}
	err := b.execThen(ctx, &op{receives: true, step: func(ns *engine.Namespace, now engine.Instant) error {
		if in.Instead != nil {
			ns.Detach(now, in.Instead.id, engine.DetachedByClient)
		}
		return ns.Attach(now, engine.Link{ID: l.id, Path: in.Path, Mode: in.Mode, Client: in.Client, Session: in.Session, Selector: in.Selector})
	}}, func() {
		if in.Instead != nil {
			b.forgetSink(in.Instead.id)
		}
		b.links[l.id] = to // before the deliveries of this turn
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// ID returns the link's id in the engine and in events.
func (l *Link) ID() engine.LinkID { return l.id }

// AddCredit lets the link take n more messages (LOCK-14). engine.ErrBusy means that the store
// accepts no writes and the credit was not given.
func (l *Link) AddCredit(ctx context.Context, n int, done func(error)) error {
	return l.b.submit(ctx, &op{receives: true, done: done, step: func(ns *engine.Namespace, now engine.Instant) error {
		return ns.Credit(now, l.id, n)
	}})
}

// Drain delivers the available messages, takes back the credit that is left, and then calls `done`
// (LOCK-14). Credit that is added before `done` is called may be taken back too.
func (l *Link) Drain(ctx context.Context, done func(error)) error {
	return l.b.submit(ctx, &op{receives: true, done: done, step: drainStep(l.id)})
}

func drainStep(id engine.LinkID) func(*engine.Namespace, engine.Instant) error {
	return func(ns *engine.Namespace, now engine.Instant) error {
		if !ns.Drain(now, id) {
			return errRunAgain
		}
		return nil
	}
}

// WithdrawCredit takes back n of the link's credit, or all of it if there is less, and passes the
// amount to `done`.
func (l *Link) WithdrawCredit(ctx context.Context, n int, done func(taken int, err error)) error {
	taken := 0
	return l.b.submit(ctx, &op{
		done: func(err error) {
			if err != nil {
				taken = 0
			}
			done(taken, err)
		},
		step: func(ns *engine.Namespace, now engine.Instant) error {
			taken = ns.Withdraw(now, l.id, n)
			return nil
		},
	})
}

// CancelWait ends a link that waits for its session, unless it has been given one by now. It
// reports whether the link has ended.
func (l *Link) CancelWait(ctx context.Context) (gone bool, err error) {
	err = l.b.execThen(context.WithoutCancel(ctx), &op{step: func(ns *engine.Namespace, now engine.Instant) error {
		_, holds := ns.HeldSession(l.id)
		if gone = !holds; gone { // runs again if the store refused the turn
			ns.Detach(now, l.id, engine.DetachedByClient)
		}
		return nil
	}}, func() {
		if gone {
			l.b.forgetSink(l.id)
		}
	})
	return gone, err
}

// Detach ends the link: nothing is delivered to it after Detach returns, and Ended is not
// called. A client that closes releases its session, so that others can lock it at once (SES-7). If
// its connection was lost, its locks stay until they run out (DEC-5). If a close needs a write
// while the store accepts none, Detach ends the link as if the connection was lost, and returns
// ErrSessionKept.
func (l *Link) Detach(ctx context.Context, how engine.DetachReason) error {
	return l.detach(ctx, how, func() { l.b.forgetSink(l.id) })
}

// forgetSink removes the sink of a detached receiver.
func (b *Broker) forgetSink(id engine.LinkID) {
	delete(b.links, id)
	b.lossListeners.forget(b.ns, id)
}

// SubmitDetach is Detach, but passes its answer to `done`. If it needs a write while the store
// accepts none, the link still exists and the error is engine.ErrBusy.
func (l *Link) SubmitDetach(ctx context.Context, how engine.DetachReason, done func(error)) error {
	return l.b.submit(context.WithoutCancel(ctx), &op{
		step: func(ns *engine.Namespace, now engine.Instant) error {
			ns.Detach(now, l.id, how)
			return nil
		},
		done: func(err error) {
			if err == nil {
				l.b.forgetSink(l.id)
			}
			done(err)
		},
	})
}

func (l *Link) detach(ctx context.Context, how engine.DetachReason, then func()) error {
	leave := func(how engine.DetachReason) error {
		return l.b.execThen(context.WithoutCancel(ctx), &op{step: func(ns *engine.Namespace, now engine.Instant) error {
			ns.Detach(now, l.id, how)
			return nil
		}}, then)
	}
	err := leave(how)
	if how != engine.DetachedByClient || !errors.Is(err, errReadOnly) {
		return err
	}
	if lost := leave(engine.DetachedLost); lost != nil {
		return lost
	}
	return fmt.Errorf("%w: %w", ErrSessionKept, err)
}

// ErrSessionKept means that a receiver has ended but its session was not released, because the
// store accepts no writes: the lock stays until it runs out. It always wraps engine.ErrBusy too.
var ErrSessionKept = errors.New("the session was not released")

// RenewSession extends the link's lock of its session to a full period from now and returns its end
// (SES-5).
func (l *Link) RenewSession(ctx context.Context) (engine.Instant, error) {
	return do(ctx, l.b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Instant, error) {
		return ns.RenewSession(now, l.id)
	})
}

// SessionState returns the state of the link's session; set is false if it was never set or
// was cleared (SES-11).
func (l *Link) SessionState(ctx context.Context) (state string, set bool, err error) {
	err = exec(ctx, l.b, func(ns *engine.Namespace, now engine.Instant) (err error) {
		state, set, err = ns.SessionState(now, l.id)
		return err
	})
	return state, set, err
}

// SetSessionState sets the state of the link's session, nil to clear it (SES-11).
func (l *Link) SetSessionState(ctx context.Context, state *string) error {
	return exec(ctx, l.b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.SetSessionState(now, l.id, state)
	})
}

// ReceiveDeferred takes deferred messages of the link's session by number, all or none (DEF-14).
func (l *Link) ReceiveDeferred(ctx context.Context, seqs []engine.Seq, mode engine.Mode) ([]Received, error) {
	got, err := do(ctx, l.b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Delivery, error) {
		return ns.ReceiveDeferredInSession(now, l.id, seqs, mode)
	})
	if err != nil {
		return nil, err
	}
	return l.b.withBodies(ctx, got)
}

// BatchDelete is [Broker.BatchDelete] for the messages of the link's session (BDEL-8).
func (l *Link) BatchDelete(ctx context.Context, count int, before engine.Instant) (int, error) {
	return l.b.batchDelete(ctx, before, func(ns *engine.Namespace, now, before engine.Instant) (engine.BatchDelete, error) {
		return ns.BeginSessionBatchDelete(now, l.id, count, before)
	})
}

// ReleaseBody reports that the body of a delivery has been read or will not be.
func (b *Broker) ReleaseBody(d engine.Delivery) { b.releasedPins.add(d.Pin) }

// DeliveryBody opens the body of a delivery that has not been released. The body can be read until
// ctx is done. The caller closes it.
func (b *Broker) DeliveryBody(ctx context.Context, d engine.Delivery) (io.ReadSeekCloser, error) {
	if d.Body != nil {
		return memoryBody{bytes.NewReader(d.Body)}, nil
	}
	body, err := b.openBody(ctx, d.Message.Content, d.Content.BodySize())
	if err != nil {
		return nil, readError(ctx, fmt.Errorf("read the body of message #%d of %q: %w", d.Message.Seq, d.Path, err))
	}
	return body, nil
}

// SubmitSend is Send, but passes its answer to done, as a Link does. Large bodies are in the store
// when it returns. If it returns an error, nothing was sent and done is not called.
func (b *Broker) SubmitSend(ctx context.Context, to engine.Path, out []Outgoing, actor string, done func([]engine.Seq, error)) error {
	return b.submitSend(ctx, to, out, done, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return ns.Send(now, to, batch, actor)
	})
}

// SubmitSendVia is SubmitSend to one entity via another (FWD-14).
func (b *Broker) SubmitSendVia(ctx context.Context, via, to engine.Path, out []Outgoing, actor string, done func([]engine.Seq, error)) error {
	return b.submitSend(ctx, to, out, done, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return ns.SendVia(now, via, to, batch, actor)
	})
}

func (b *Broker) submitSend(ctx context.Context, to engine.Path, out []Outgoing, done func([]engine.Seq, error), step func(*engine.Namespace, engine.Instant, []engine.Submission) ([]engine.Seq, error)) error {
	batch, size, err := b.packMessages(ctx, to, out)
	if err == nil {
		var seqs []engine.Seq
		err = b.submit(ctx, &op{
			size: size,
			done: func(err error) {
				if err != nil {
					seqs = nil
				}
				done(seqs, err)
			},
			step: func(ns *engine.Namespace, now engine.Instant) (err error) {
				seqs, err = step(ns, now, batch)
				return err
			},
		})
	}
	if err != nil {
		b.discardStaged(ctx, batch)
	}
	return err
}

// SubmitSettle is Settle, but passes its answer to done, as a Link does.
func (b *Broker) SubmitSettle(ctx context.Context, all []engine.Settlement, done func(each []error, err error)) error {
	errs := make([]error, len(all))
	return b.submit(ctx, &op{
		done: func(err error) { done(errs, err) },
		step: func(ns *engine.Namespace, now engine.Instant) error {
			for i, s := range all {
				errs[i] = ns.Settle(now, s)
			}
			return nil
		},
	})
}
