package amqp

import (
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/wire"
)

// A takeover is what is left of a receiver whose client has attached it again
// while it was there (AMQP 1.0, part 2, 2.6.1). The session that it held goes back
// in the step that attaches the new one, which gets it if it asks for it: nobody
// else comes between, and what the client had not settled comes again without a
// count (SES-7). A receiver that the broker has not attached yet ends in a step of
// its own before.
//
// That is so on one connection only. What a container is called nobody proves, and
// the locks of a connection that is lost stay until they run out (DEC-5).
type takeover struct {
	link   *broker.Link // nil: there is none
	unseen []*engine.Delivery
	ended  chan struct{} // closed when one that was not attached yet has ended; nil: it was attached
}

func stolen() *wire.Error {
	return &wire.Error{Condition: wire.CondStolen, Description: "The link was attached again."}
}

// takeOver ends the receiver that a client attaches again, for the client: one of
// the same name in the session or, in another session of the connection, one that
// holds just what is asked for.
func (c *conn) takeOver(s *session, a *wire.Attach, path engine.Path, want engine.SessionRequest) takeover {
	o := s.receiver(a.Name)
	for _, other := range c.sessions {
		if o == nil {
			if there := other.receiver(a.Name); there != nil && there.holds(path, want) {
				o = there
			}
		}
	}
	if o == nil {
		return takeover{}
	}
	o.s.leave(o.handle)
	if o.answer != nil {
		o.s.refuse(o.answer, stolen())
		o.answer = nil
	} else {
		o.s.send(&wire.Detach{Handle: o.handle, Closed: true, Error: stolen()})
	}
	c.flushSettlements() // what the client settled before comes before
	var t takeover
	t.link, t.unseen = o.letGo()
	if o.attaching {
		ended := make(chan struct{})
		o.parting, t.ended = func() { close(ended) }, ended
	}
	return t
}

// receiver is the link by that name that the client receives on in the session;
// nil: there is none.
func (s *session) receiver(name string) *outlet {
	handle, ok := s.names[linkName{name, wire.RoleReceiver}]
	if !ok {
		return nil
	}
	o, _ := s.links[handle].link.(*outlet)
	return o
}

// holds tells whether o holds the very session that is asked for.
func (o *outlet) holds(path engine.Path, want engine.SessionRequest) bool {
	return o.broker != nil && o.session.LockedUntil != 0 && o.path.Fold() == path.Fold() &&
		want == engine.SessionRequest{Want: engine.NamedSession, ID: o.session.ID}
}

// wait waits until there is nothing of a former receiver that was being attached,
// or the connection ends. Called without the mutex.
func (t takeover) wait(c *conn) {
	if t.ended == nil {
		return
	}
	select {
	case <-t.ended:
	case <-c.ctx.Done():
	}
}

// leave sees to what the new receiver's attach, which came to err, has left of the
// former. Called without the mutex.
func (t takeover) leave(c *conn, err error) {
	switch {
	case t.link != nil && err != nil:
		c.detachLink(t.link, engine.ByClient, t.unseen, func() {})
	case len(t.unseen) > 0:
		c.giveBack(t.unseen)
	}
}
