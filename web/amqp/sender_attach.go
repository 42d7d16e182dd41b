package amqp

import (
	"errors"
	"math"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
)

const (
	sessionFilter             = "com.microsoft:session-filter"
	sessionTimeout            = "com.microsoft:timeout"
	lockedUntil               = "com.microsoft:locked-until-utc"
	nonExclusiveSessionFilter = "com.microsoft:non-exclusive-session-filter"

	sessionFilterCode = 0x137000000C

	// defaultSessionTimeout is how long a client waits for a session if it does not set a
	// time-out.
	defaultSessionTimeout = 65 * time.Second
)

// attachSender attaches a link on which the client receives. If the client asks for a session, the
// attach is answered when the link has one (§2.8).
func (s *session) attachSender(a *wire.Attach, path engine.Path, size int) {
	want, why := parseSessionFilter(a.Source.Filter)
	if why != nil {
		s.refuseAttach(a, why)
		return
	}
	selector, served, why := parseSelectorFilters(a.Source.Filter, s.c.b.Limits())
	if why != nil {
		s.refuseAttach(a, why)
		return
	}
	if s.c.linkBudgetLeft() < linkCost+int64(size+selectorCost(selector)) {
		s.refuseAttach(a, s.c.overBudget("link"))
		return
	}
	if err := s.transactionScope.checkSender(path, s.transactionScope.attachCount+1); err != nil {
		s.refuseAttach(a, errorOf(err))
		return
	}
	in := broker.AttachRequest{Path: path, Client: s.c.clientName(), Session: want, Selector: selector}
	switch {
	case a.Source.DistributionMode.Or(distributionMove) == distributionCopy: // a browser holds no session (PEEK-12)
		in.Mode = engine.PeekOnly
		if v, ok := a.Source.Filter.Lookup(sessionFilter); ok {
			served = append(served, value.Property{Name: sessionFilter, Value: v})
		}
		want = engine.SessionRequest{}
	case a.SenderSettleMode.Or(wire.SenderMixed) == wire.SenderSettled:
		in.Mode = engine.ReceiveAndDelete
	}
	o := &sender{s: s, handle: a.Handle, path: path, mode: in.Mode, sessionRequest: want, filter: served, pendingAttach: a, attachInProgress: true}
	was := s.c.stealLink(s, a, path, want)
	in.Instead = was.brokerLink
	s.addLink(a, o, size)
	s.addSelectorBytes(a.Handle, selectorCost(selector))
	c := s.c
	patience := defaultSessionTimeout
	if v, ok := a.Properties.Lookup(sessionTimeout); ok {
		if ms, ok := integerOf(v); ok {
			patience = time.Duration(min(max(ms, 0), math.MaxUint32)) * time.Millisecond
		}
	}
	c.attachAsync(func() func() {
		was.waitForEnd(c)
		until, err := c.checkRight(c.ctx, path, engine.ListenRight)
		var l *broker.Link
		if err == nil {
			l, err = c.b.Attach(c.ctx, in, brokerEvents{c, o})
		}
		was.finish(c, err)
		return func() {
			if o.brokerAttached(l, err, patience); err == nil && !o.ended {
				c.detachAtExpiry(s, a.Handle, o, path, engine.ListenRight, until)
			}
		}
	})
}

// A brokerEvents passes the broker's events for a sender to its connection.
type brokerEvents struct {
	c      *conn
	sender *sender
}

// Accepted, Delivered, Ended and SessionMoved implement broker.SessionLossListener.
func (k brokerEvents) Accepted(a engine.SessionAccepted) {
	k.c.mail.put(mailItem{kind: mailSessionAccepted, sender: k.sender, accepted: a})
}

func (k brokerEvents) Delivered(d engine.Delivery) {
	k.c.mail.put(mailItem{kind: mailDelivered, sender: k.sender, delivery: &d})
}

func (k brokerEvents) Ended(why error) {
	k.c.mail.put(mailItem{kind: mailLinkEnded, sender: k.sender, err: why})
}

func (k brokerEvents) SessionMoved() { k.c.mail.call(k.sender.sessionMoved) }

// brokerAttached handles the broker's answer to the attach. `patience` is how long the client waits
// for the next free session.
func (o *sender) brokerAttached(l *broker.Link, err error, patience time.Duration) {
	c := o.s.c
	o.attachInProgress = false
	if o.ended { // the link has ended meanwhile
		o.endedBrokerLink = l
		o.finishLateAttach()
		return
	}
	if err != nil {
		o.refuseAttach(err)
		return
	}
	o.brokerLink = l
	c.setLinkUse(&o.linkUse, linkUse{attached: true, hasCredit: o.credit > 0 || o.pendingAttach != nil && o.sessionRequest.Want != engine.NoSession}) // waiting for a session is not idle
	switch {
	case o.sessionRequest.Want == engine.NoSession || o.acceptedSession.LockedUntil != 0:
		o.answerAttach()
	case o.sessionRequest.Want == engine.NextSession:
		o.timer = time.AfterFunc(patience, func() { c.mail.call(o.stopWaitingForSession) })
	}
}

// sessionAccepted handles the session that the sender has got.
func (o *sender) sessionAccepted(a engine.SessionAccepted) {
	o.acceptedSession = a
	if o.brokerLink != nil && !o.ended {
		o.answerAttach()
	}
}

// answerAttach answers the attach, unless it is answered already, and then asks the broker for
// messages.
func (o *sender) answerAttach() {
	if o.pendingAttach == nil {
		return
	}
	o.stopTimer()
	nth := o.s.links[o.handle].attachNumber
	if err := o.s.transactionScope.checkSender(o.path, nth); err != nil { // other links have been attached meanwhile
		o.refuseAttach(err)
		return
	}
	answer := o.s.attachAnswer(o.pendingAttach)
	answer.Source.Filter = o.filter
	o.filter = nil // it keeps the frame of the attach in memory
	if o.mode == engine.PeekOnly {
		answer.Source.DistributionMode, answer.Source.Outcomes = wire.Some(distributionCopy), nil
		if answer.SenderSettleMode == wire.Some(wire.SenderUnsettled) {
			answer.SenderSettleMode = wire.Some(wire.SenderSettled) // a browser's deliveries are never settled
		}
	}
	if o.sessionRequest.Want != engine.NoSession {
		answer.Source.Filter = append(answer.Source.Filter, acceptedSessionFilter(o.pendingAttach.Source.Filter, o.acceptedSession.ID)...)
		answer.Properties = value.Properties{{Name: lockedUntil, Value: value.OfLong(wire.DotNetTicks(o.acceptedSession.LockedUntil.Time().UnixMilli()))}}
	}
	o.pendingAttach = nil
	o.s.transactionScope.linkAttached(o.path, nth, true)
	o.s.attachAnswered(o.handle)
	o.s.send(answer)
	if ask := o.adjustBrokerCredit(); ask != nil {
		o.s.c.queueWriterWork(ask)
	}
}

// stopWaitingForSession cancels the broker's search for a session, and refuses the attach unless
// the sender has got a session meanwhile.
func (o *sender) stopWaitingForSession() {
	if o.ended || o.pendingAttach == nil || o.acceptedSession.LockedUntil != 0 {
		return
	}
	c, l := o.s.c, o.brokerLink
	c.background.Go(func() {
		gone, err := l.CancelWait(c.s.ctx)
		c.mail.call(func() {
			if gone && err == nil && !o.ended && o.pendingAttach != nil {
				o.refuseAttach(engine.Refuse(engine.ErrTimeout, "%s", engine.NoSessionText))
			}
		})
	})
}

// refuseAttach ends the sender and refuses its attach with why.
func (o *sender) refuseAttach(why error) {
	o.s.removeLink(o.handle)
	if do := o.end(engine.DetachedByClient); do != nil { // returns its deliveries without counting them
		o.s.c.queueWriterWork(do)
	}
	o.s.refuseAttach(o.pendingAttach, errorOf(why))
	o.pendingAttach = nil
}

// brokerEnded handles the end of the link in the engine. It detaches the link with why, or refuses
// its attach, unless sessionExpired lets it stay attached.
func (o *sender) brokerEnded(why error) {
	if o.ended {
		return
	}
	if errors.Is(why, engine.ErrSessionLockLost) {
		o.endedBrokerLink = o.brokerLink
	}
	o.brokerLink = nil
	if o.pendingAttach != nil {
		o.refuseAttach(why)
		return
	}
	if o.sessionExpired(why) {
		if ask := o.checkLostSession(); ask != nil {
			o.s.c.queueWriterWork(ask)
		}
		o.s.c.queueToSend(o) // answers a pending drain
		return
	}
	e := errorOf(why)
	if e.Condition == errorcodes.CondServerBusy || e.Condition == wire.CondConnectionForced {
		e.Condition = wire.CondDetachForced // after this condition clients attach again
	}
	o.detachWithError(e)
}

// detachWithError detaches the link because of why.
func (o *sender) detachWithError(why *wire.Error) {
	if o.ended {
		return
	}
	o.s.detach(o.handle, why)
}

// parseSessionFilter returns the session that the source's filter asks for.
func parseSessionFilter(filter value.Properties) (engine.SessionRequest, *wire.Error) {
	if _, ok := filter.Lookup(nonExclusiveSessionFilter); ok {
		return engine.SessionRequest{}, &wire.Error{Condition: wire.CondNotImplemented, Description: "Only one receiver at a time may accept a session."}
	}
	v, ok := filter.Lookup(sessionFilter)
	if !ok {
		return engine.SessionRequest{}, nil
	}
	if raw, ok := v.Bytes(); ok && v.Kind() == value.Raw {
		_, of, err := wire.ParseDescribed(raw)
		if err != nil {
			return engine.SessionRequest{}, errorOf(err)
		}
		v = of
	}
	if v.Kind() == value.Null {
		return engine.SessionRequest{Want: engine.NextSession}, nil
	}
	id, ok := v.Str()
	if !ok {
		return engine.SessionRequest{}, &wire.Error{Condition: wire.CondInvalidField, Description: "The session filter must be a string, or null for the next session."}
	}
	return engine.SessionRequest{Want: engine.NamedSession, ID: strings.Clone(id)}, nil
}

// acceptedSessionFilter returns the filter of the session that was accepted, in the form in which
// the client sent its own (SES-2).
func acceptedSessionFilter(asked value.Properties, id string) value.Properties {
	v, _ := asked.Lookup(sessionFilter)
	if v.Kind() == value.Raw {
		v = value.OfRaw(wire.AppendDescribed(nil, value.OfULong(sessionFilterCode), value.OfString(id)))
	} else {
		v = value.OfString(id)
	}
	return value.Properties{{Name: sessionFilter, Value: v}}
}
