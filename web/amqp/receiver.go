package amqp

import (
	"errors"
	"math"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

const (
	sessionFilter  = "com.microsoft:session-filter"
	sessionTimeout = "com.microsoft:timeout"
	lockedUntil    = "com.microsoft:locked-until-utc"
	exclusiveNot   = "com.microsoft:non-exclusive-session-filter"

	sessionFilterCode = 0x137000000C

	// acceptPatience is how long a client waits for a session that does not say.
	acceptPatience = 65 * time.Second
)

// attachOutlet attaches a receiver. One that wants a session is answered when it
// has one (§2.8).
func (s *session) attachOutlet(a *wire.Attach, path engine.Path) {
	want, why := wantedSession(a.Source.Filter)
	if why != nil {
		s.refuse(a, why)
		return
	}
	o := &outlet{s: s, handle: a.Handle, path: path, want: want, answer: a, attaching: true}
	if a.SenderSettleMode.Or(wire.SenderMixed) == wire.SenderSettled {
		o.mode = engine.ReceiveAndDelete
	}
	was := s.c.takeOver(s, a, path, want)
	s.join(a, o)
	c := s.c
	patience := acceptPatience
	if v, ok := a.Properties.Lookup(sessionTimeout); ok {
		if ms, ok := whole(v); ok {
			patience = time.Duration(min(max(ms, 0), math.MaxUint32)) * time.Millisecond
		}
	}
	c.attachWith(func() func() {
		was.wait(c)
		until, err := c.permit(c.ctx, path, engine.ListenRight)
		var l *broker.Link
		if err == nil {
			l, err = c.b.Attach(c.ctx, broker.Attachment{Path: path, Mode: o.mode, Client: c.client(), Session: want, Instead: was.link}, sink{c, o})
		}
		was.leave(c, err)
		return func() {
			if o.attached(l, err, patience); err == nil && !o.over {
				c.guard(s, a.Handle, o, path, engine.ListenRight, until)
			}
		}
	})
}

// sink is how the broker tells a connection what becomes of an outlet.
type sink struct {
	c *conn
	o *outlet
}

// Accepted, Delivered, Ended and Succeeded implement broker.Survivor.
func (k sink) Accepted(a engine.SessionAccepted) {
	k.c.mail.put(mail{kind: mailAccepted, out: k.o, accepted: a})
}

func (k sink) Delivered(d engine.Delivery) {
	k.c.mail.put(mail{kind: mailDelivered, out: k.o, delivery: &d})
}

func (k sink) Ended(why error) { k.c.mail.put(mail{kind: mailEnded, out: k.o, err: why}) }

func (k sink) Succeeded() { k.c.mail.do(k.o.succeeded) }

// attached: the broker has answered.
func (o *outlet) attached(l *broker.Link, err error, patience time.Duration) {
	c := o.s.c
	o.attaching = false
	if o.over { // the client has gone meanwhile
		o.gone = l
		o.takeLeave()
		return
	}
	if err != nil {
		o.refuse(err)
		return
	}
	o.broker = l
	switch {
	case o.want.Want == engine.NoSession || o.session.LockedUntil != 0:
		o.agree()
	case o.want.Want == engine.NextSession:
		o.timer = time.AfterFunc(patience, func() { c.mail.do(o.giveUp) })
	}
}

// accepted: the outlet has its session.
func (o *outlet) accepted(a engine.SessionAccepted) {
	o.session = a
	if o.broker != nil && !o.over {
		o.agree()
	}
}

// agree answers the attach.
func (o *outlet) agree() {
	if o.answer == nil {
		return
	}
	o.stopTimer()
	answer := o.s.answer(o.answer)
	if o.want.Want != engine.NoSession {
		src := *answer.Source
		src.Filter = agreedFilter(src.Filter, o.session.ID)
		answer.Source = &src
		answer.Properties = value.Properties{{Name: lockedUntil, Value: value.OfLong(wire.Ticks(o.session.LockedUntil.Time().UnixMilli()))}}
	}
	o.answer = nil
	o.s.send(answer)
	if ask := o.balance(); ask != nil {
		o.s.c.later = append(o.s.c.later, ask)
	}
}

// giveUp: the time for a session is over.
func (o *outlet) giveUp() {
	if o.over || o.answer == nil || o.session.LockedUntil != 0 {
		return
	}
	c, l := o.s.c, o.broker
	c.work.Go(func() {
		gone, err := l.GiveUp(c.s.ctx)
		c.mail.do(func() {
			if gone && err == nil && !o.over && o.answer != nil {
				o.refuse(&engine.Refusal{Kind: engine.ErrTimeout, Text: engine.NoSessionText})
			}
		})
	})
}

// refuse answers the attach with why there is no link.
func (o *outlet) refuse(why error) {
	o.s.leave(o.handle)
	if do := o.end(engine.Lost); do != nil {
		o.s.c.later = append(o.s.c.later, do)
	}
	o.s.refuse(o.answer, asError(why))
	o.answer = nil
}

// ended: the engine has ended the receiver.
func (o *outlet) ended(why error) {
	if o.over {
		return
	}
	if errors.Is(why, engine.ErrSessionLockLost) {
		o.gone = o.broker
	}
	o.broker = nil
	if o.answer != nil {
		o.refuse(why)
		return
	}
	if o.lapsed(why) {
		o.s.c.line(o) // a drain is to be answered
		return
	}
	e := asError(why)
	if e.Condition == condBusy || e.Condition == wire.CondConnectionForced {
		e.Condition = wire.CondDetachForced // which has clients attach again
	}
	o.fail(e)
}

// fail detaches the link for a reason of ours.
func (o *outlet) fail(why *wire.Error) {
	if o.over {
		return
	}
	o.s.detach(o.handle, why)
}

// wantedSession is what the source's filter asks for.
func wantedSession(filter value.Properties) (engine.SessionRequest, *wire.Error) {
	if _, ok := filter.Lookup(exclusiveNot); ok {
		return engine.SessionRequest{}, &wire.Error{Condition: wire.CondNotImplemented, Description: "Sessions are held by one receiver at a time here."}
	}
	v, ok := filter.Lookup(sessionFilter)
	if !ok {
		return engine.SessionRequest{}, nil
	}
	if raw, ok := v.Bytes(); ok && v.Kind() == value.Raw {
		_, of, err := wire.ParseDescribed(raw)
		if err != nil {
			return engine.SessionRequest{}, asError(err)
		}
		v = of
	}
	if v.Kind() == value.Null {
		return engine.SessionRequest{Want: engine.NextSession}, nil
	}
	id, ok := v.Str()
	if !ok {
		return engine.SessionRequest{}, &wire.Error{Condition: wire.CondInvalidField, Description: "A session is asked for by a string, or by null for the next one."}
	}
	return engine.SessionRequest{Want: engine.NamedSession, ID: id}, nil
}

// agreedFilter is the filter with the session that was given, in the form that
// the client used (rule 9).
func agreedFilter(asked value.Properties, id string) value.Properties {
	out := make(value.Properties, 0, len(asked))
	for _, p := range asked {
		if p.Name == sessionFilter {
			if p.Value.Kind() == value.Raw {
				p.Value = value.OfRaw(wire.AppendDescribed(nil, value.OfULong(sessionFilterCode), value.OfString(id)))
			} else {
				p.Value = value.OfString(id)
			}
		}
		out = append(out, p)
	}
	return out
}
