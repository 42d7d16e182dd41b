package amqp

import (
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/wire"
)

// A stolenLink is what remains of a receiver that its client has attached again while it was
// attached (AMQP 1.0, part 2, 2.6.1). The step that attaches the new receiver also releases the old
// one's session, so that no other client can get it in between, and the new one gets it if it asks
// for it. Messages that the client had not settled are delivered again without counting (SES-7). A
// receiver that the broker has not attached yet is ended first, in a step of its own.
//
// This works only within one connection. Container ids are not authenticated, and the
// locks of a lost connection stay until they expire (DEC-5).
type stolenLink struct {
	brokerLink *broker.Link // nil if there is none
	unseen     []*engine.Delivery
	ended      chan struct{} // closed when a receiver that was not attached yet has ended; nil for an attached one
}

func stolenError() *wire.Error {
	return &wire.Error{Condition: wire.CondStolen, Description: "The link was attached again."}
}

// stealLink ends the receiver that the client attaches again: the one of the same name in s, or
// else one of the same name in another AMQP session of the connection that holds the message
// session that `want` asks for. It returns an empty stolenLink if there is no such receiver.
func (c *conn) stealLink(s *session, a *wire.Attach, path engine.Path, want engine.SessionRequest) stolenLink {
	o := s.senderNamed(a.Name)
	for _, other := range c.sessions {
		if o == nil {
			if there := other.senderNamed(a.Name); there != nil && there.holdsSession(path, want) {
				o = there
			}
		}
	}
	if o == nil {
		return stolenLink{}
	}
	o.s.removeLink(o.handle)
	if o.pendingAttach != nil {
		o.s.refuseAttach(o.pendingAttach, stolenError())
		o.pendingAttach = nil
	} else {
		o.s.send(&wire.Detach{Handle: o.handle, Closed: true, Error: stolenError()})
	}
	c.queueSettlements() // settlements that the client sent before come first
	var t stolenLink
	t.brokerLink, t.unseen = o.dropDeliveries()
	if o.attachInProgress {
		ended := make(chan struct{})
		o.afterAttach, t.ended = func() { close(ended) }, ended
	}
	return t
}

// senderNamed returns the session's link of this name on which the client receives, or nil.
func (s *session) senderNamed(name string) *sender {
	handle, ok := s.names[linkNameFor(name, wire.RoleReceiver)]
	if !ok {
		return nil
	}
	o, _ := s.links[handle].link.(*sender)
	return o
}

// holdsSession reports whether o holds the session that want asks for by name.
func (o *sender) holdsSession(path engine.Path, want engine.SessionRequest) bool {
	return o.brokerLink != nil && o.acceptedSession.LockedUntil != 0 && o.path.Fold() == path.Fold() &&
		want == engine.SessionRequest{Want: engine.NamedSession, ID: o.acceptedSession.ID}
}

// waitForEnd waits until an old receiver that was being attached has ended, or the connection
// ends. Called without the mutex.
func (t stolenLink) waitForEnd(c *conn) {
	if t.ended == nil {
		return
	}
	select {
	case <-t.ended:
	case <-c.ctx.Done():
	}
}

// finish is called with the result err of the new receiver's attach, and returns the old receiver's
// deliveries to the broker. If the attach failed, it did not detach the old receiver, so finish
// does. Called without the mutex.
func (t stolenLink) finish(c *conn, err error) {
	switch {
	case t.brokerLink != nil && err != nil:
		c.detachFromBroker(t.brokerLink, engine.DetachedByClient, t.unseen, func() {})
	case len(t.unseen) > 0:
		c.returnDeliveries(t.unseen)
	}
}
