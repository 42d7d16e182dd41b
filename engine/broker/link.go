package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"mayfly/engine"
)

// A Sink is told what becomes of a receiver, in order, and only of what is
// durable. Its methods are called by the goroutine that serves the whole
// namespace: they must not block, nor call the broker.
type Sink interface {
	// Accepted says that the receiver has its session from now on. It comes once,
	// before any delivery, for a receiver that asked for one.
	Accepted(a engine.SessionAccepted)
	// Delivered hands a message over. Whoever got it gives its Pin to Taken, once,
	// when the body has been read or nobody will.
	Delivered(d engine.Delivery)
	// Ended is the last call but for a Survivor's, unless the receiver was detached
	// by its client: its entity is gone, refuses receivers or has lost the session;
	// or the broker has lost its store.
	Ended(why error)
}

// deliver hands effects to those they concern.
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
			b.ns.Taken(d.Pin)
		}
	}
	for _, e := range fx.Ended {
		if to := b.links[e.ID]; to != nil {
			delete(b.links, e.ID)
			to.Ended(e.Err)
			if s, stays := to.(Survivor); stays && e.Lost.Link != 0 {
				b.lapsed.add(e.Lost, s)
			}
		}
	}
	for _, a := range fx.Accepted {
		b.lapsed.taken(a)
	}
}

// An Attachment asks for a receiver that stays.
type Attachment struct {
	Path    engine.Path
	Mode    engine.Mode
	Client  string // for people: who this is
	Session engine.SessionRequest

	// Instead is a receiver that this one takes the place of: it ends in the same
	// step, as one that its client closes (SES-7), so that nobody else gets what it
	// held. nil: none.
	Instead *Link
}

// A Link is a receiver that stays until it is detached or ends: for doors whose
// clients give credit as they like. Its methods are safe for concurrent use. What
// is submitted by one goroutine is done in the order of its calls; answers come
// in the order in which things were done, as calls of done. done is called once
// unless submitting failed, by the goroutine that serves the whole namespace: it
// must not block, nor call the broker.
type Link struct {
	b  *Broker
	id engine.LinkID
}

// Attach opens a receiver without credit, and returns when it is there. A named
// session that somebody else holds is engine.ErrSessionLocked at once (SES-4);
// the next one is waited for, until the link is detached (SES-3). With an error
// in.Instead may be there still, and is to be detached.
func (b *Broker) Attach(ctx context.Context, in Attachment, to Sink) (*Link, error) {
	l := &Link{b: b, id: engine.LinkID(b.link.Add(1))}
	err := b.ask(ctx, &op{receives: true, step: func(ns *engine.Namespace, now engine.Instant) error {
		if in.Instead != nil {
			ns.Detach(now, in.Instead.id, engine.ByClient)
		}
		return ns.Attach(now, engine.Link{ID: l.id, Path: in.Path, Mode: in.Mode, Client: in.Client, Session: in.Session})
	}}, func() {
		if in.Instead != nil {
			b.drop(in.Instead.id)
		}
		b.links[l.id] = to // what this turn gives it comes next
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// ID names the link in the engine and in events.
func (l *Link) ID() engine.LinkID { return l.id }

// Credit lets the link take n more messages (LOCK-14). engine.ErrBusy says that
// nothing could be written and the credit was not given.
func (l *Link) Credit(ctx context.Context, n int, done func(error)) error {
	return l.b.submit(ctx, &op{receives: true, done: done, step: func(ns *engine.Namespace, now engine.Instant) error {
		return ns.Credit(now, l.id, n)
	}})
}

// Drain takes the credit back that is left once there is nothing more for it;
// what was there has been delivered when done is called (LOCK-14). Credit that is
// given before that may be taken with it.
func (l *Link) Drain(ctx context.Context, done func(error)) error {
	return l.b.submit(ctx, &op{receives: true, done: done, step: drain(l.id)})
}

func drain(id engine.LinkID) func(*engine.Namespace, engine.Instant) error {
	return func(ns *engine.Namespace, now engine.Instant) error {
		if !ns.Drain(now, id) {
			return errNotYet
		}
		return nil
	}
}

// Withdraw takes n of the link's credit back, or what is left of it, and tells
// how much that was.
func (l *Link) Withdraw(ctx context.Context, n int, done func(taken int, err error)) error {
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

// GiveUp ends a link that waits for its session, unless it has one by now.
func (l *Link) GiveUp(ctx context.Context) (gone bool, err error) {
	err = l.b.ask(context.WithoutCancel(ctx), &op{step: func(ns *engine.Namespace, now engine.Instant) error {
		_, holds := ns.Holds(l.id)
		if gone = !holds; gone { // it comes again if the store refused the turn
			ns.Detach(now, l.id, engine.ByClient)
		}
		return nil
	}}, func() {
		if gone {
			l.b.drop(l.id)
		}
	})
	return gone, err
}

// Detach ends the link: nothing is delivered to it any more when it returns, and
// Ended is not called. A client that closes gives its session back, so that others
// can have it at once (SES-7); one that was lost keeps its locks until they run
// out (DEC-5), and so does one that closes while nothing can be written, which is
// ErrSessionKept.
func (l *Link) Detach(ctx context.Context, how engine.Closed) error {
	return l.detach(ctx, how, func() { l.b.drop(l.id) })
}

// drop forgets who is to be told of a receiver that is detached.
func (b *Broker) drop(id engine.LinkID) {
	delete(b.links, id)
	b.lapsed.forget(id)
}

// SubmitDetach is Detach whose answer is a call of done. It does not try again
// when nothing can be written: engine.ErrBusy says that the link is still there.
func (l *Link) SubmitDetach(ctx context.Context, how engine.Closed, done func(error)) error {
	return l.b.submit(context.WithoutCancel(ctx), &op{
		step: func(ns *engine.Namespace, now engine.Instant) error {
			ns.Detach(now, l.id, how)
			return nil
		},
		done: func(err error) {
			if err == nil {
				l.b.drop(l.id)
			}
			done(err)
		},
	})
}

func (l *Link) detach(ctx context.Context, how engine.Closed, then func()) error {
	leave := func(how engine.Closed) error {
		return l.b.ask(context.WithoutCancel(ctx), &op{step: func(ns *engine.Namespace, now engine.Instant) error {
			ns.Detach(now, l.id, how)
			return nil
		}}, then)
	}
	err := leave(how)
	if how != engine.ByClient || !errors.Is(err, errReadOnly) {
		return err
	}
	if lost := leave(engine.Lost); lost != nil {
		return lost
	}
	return fmt.Errorf("%w: %w", ErrSessionKept, err)
}

// ErrSessionKept says that a receiver is gone but its session was not given back,
// because nothing could be written: the lock stays until it runs out. What it is
// told with is engine.ErrBusy too.
var ErrSessionKept = errors.New("the session was not given back")

// RenewSession sets the end of the lock that the link has on its session to a full
// period from now and returns it (SES-5).
func (l *Link) RenewSession(ctx context.Context) (engine.Instant, error) {
	return do(ctx, l.b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Instant, error) {
		return ns.RenewSession(now, l.id)
	})
}

// SessionState is that of the link's session; not set if it was never set or was
// cleared (SES-11).
func (l *Link) SessionState(ctx context.Context) (state string, set bool, err error) {
	err = act(ctx, l.b, func(ns *engine.Namespace, now engine.Instant) (err error) {
		state, set, err = ns.SessionState(now, l.id)
		return err
	})
	return state, set, err
}

// SetSessionState sets the state of the link's session, nil to clear it (SES-11).
func (l *Link) SetSessionState(ctx context.Context, state *string) error {
	return act(ctx, l.b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.SetSessionState(now, l.id, state)
	})
}

// FetchSession takes deferred messages of the link's session by number, all or
// none (DEF-14).
func (l *Link) FetchSession(ctx context.Context, seqs []engine.Seq, mode engine.Mode) ([]Received, error) {
	got, err := do(ctx, l.b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Delivery, error) {
		return ns.FetchSession(now, l.id, seqs, mode)
	})
	if err != nil {
		return nil, err
	}
	return l.b.withBodies(ctx, got)
}

// Taken says that the body of a delivery has been read, or that nobody will.
func (b *Broker) Taken(d engine.Delivery) { b.taken.add(d.Pin) }

// DeliveryBody opens the body of a delivery that has not been Taken, and reads it
// until ctx is over. The caller closes it.
func (b *Broker) DeliveryBody(ctx context.Context, d engine.Delivery) (io.ReadSeekCloser, error) {
	if d.Body != nil {
		return memoryBody{bytes.NewReader(d.Body)}, nil
	}
	body, err := b.openBody(ctx, d.Message.Content, d.Content.BodySize())
	if err != nil {
		return nil, unread(ctx, fmt.Errorf("read the body of message #%d of %q: %w", d.Message.Seq, d.Path, err))
	}
	return body, nil
}

// SubmitSend is Send whose answer is a call of done, as a Link's are. Large
// bodies are with the store when it returns. With an error nothing was sent and
// done is not called.
func (b *Broker) SubmitSend(ctx context.Context, to engine.Path, out []Outgoing, actor string, done func([]engine.Seq, error)) error {
	return b.submitSend(ctx, to, out, done, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return ns.Send(now, to, batch, actor)
	})
}

// SubmitSendVia is SubmitSend to one entity by way of another (FWD-14).
func (b *Broker) SubmitSendVia(ctx context.Context, via, to engine.Path, out []Outgoing, actor string, done func([]engine.Seq, error)) error {
	return b.submitSend(ctx, to, out, done, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return ns.SendVia(now, via, to, batch, actor)
	})
}

func (b *Broker) submitSend(ctx context.Context, to engine.Path, out []Outgoing, done func([]engine.Seq, error), step func(*engine.Namespace, engine.Instant, []engine.Submission) ([]engine.Seq, error)) error {
	batch, size, err := b.prepare(ctx, to, out)
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
		b.discard(ctx, batch)
	}
	return err
}

// SubmitSettle is Settle whose answer is a call of done, as a Link's are.
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
