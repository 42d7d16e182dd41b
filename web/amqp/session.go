package amqp

import (
	"fmt"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

const (
	incomingWindow = 5_000 // transfers that a session takes before it says more
	handleMax      = 1<<32 - 1
)

// A session is one of a connection's, on the same channel both ways. Its state is
// guarded by the connection's mutex.
type session struct {
	c       *conn
	channel uint16

	nextIncoming uint32 // id of the next transfer of the client
	incoming     uint32 // how many more it may send
	nextOutgoing uint32 // id of our next transfer
	outgoing     uint32 // how many more it takes

	links      map[uint32]link // by handle, which is the same both ways
	deliveries map[uint32]held // ours, by id, that the client has not settled
	nextID     uint32          // of our next delivery
}

// A link is one end of ours, by the kind of what is there. Its methods are called
// with the connection's mutex held.
type link interface {
	// flow takes what the client says of the link.
	flow(f *wire.Flow)
	// transfer takes a transfer of the client; not of a link that it receives on.
	transfer(t *wire.Transfer) error
	// end ends the link, which is not in its session any more, and returns what is
	// to be done about it without the mutex; nil: nothing. lost tells that the
	// client did not say goodbye.
	end(how engine.Closed) func()
}

// held is a delivery that its client has not settled.
type held struct {
	to    *outlet
	token engine.LockToken
	asked bool // its settlement is on the way
}

// begin answers a begin.
func (c *conn) begin(f wire.Frame) error {
	var p wire.Begin
	if err := p.Decode(f.Body); err != nil {
		return err //nolint:wrapcheck // a ProtocolError
	}
	switch {
	case c.sessions[f.Channel] != nil:
		return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("Channel %d has a session already.", f.Channel)}
	case len(c.sessions) >= c.s.limits.Sessions:
		return &wire.ProtocolError{Condition: wire.CondResourceLimitExceeded, Text: fmt.Sprintf("The connection has %d sessions, which is the most it may have.", len(c.sessions))}
	}
	s := &session{
		c: c, channel: f.Channel, nextIncoming: p.NextOutgoingID, incoming: incomingWindow, outgoing: p.IncomingWindow,
		links: map[uint32]link{}, deliveries: map[uint32]held{},
	}
	c.sessions[f.Channel] = s
	s.send(&wire.Begin{
		RemoteChannel: wire.Some(f.Channel), NextOutgoingID: s.nextOutgoing, IncomingWindow: incomingWindow,
		OutgoingWindow: incomingWindow, HandleMax: wire.Some[uint32](handleMax),
	})
	return nil
}

// send has a frame be written.
func (s *session) send(p wire.Performative) { s.c.out = wire.AppendFrame(s.c.out, s.channel, p) }

// handle serves a frame of the session. An error ends the connection.
func (s *session) handle(code wire.Code, body []byte) (err error) {
	switch code {
	case wire.CodeTransfer:
		t := &s.c.transfer
		if err = t.Decode(body); err == nil {
			err = s.transferred(t)
		}
	case wire.CodeDisposition:
		d := &s.c.disposition
		if err = d.Decode(body); err == nil {
			s.disposed(d)
		}
	case wire.CodeFlow:
		f := &s.c.flow
		if err = f.Decode(body); err == nil {
			s.flowed(f)
		}
	case wire.CodeAttach:
		var a wire.Attach
		if err = a.Decode(body); err == nil {
			err = s.attach(&a)
		}
	case wire.CodeDetach:
		var d wire.Detach
		if err = d.Decode(body); err == nil {
			s.detached(&d)
		}
	case wire.CodeEnd:
		var e wire.End
		if err = e.Decode(body); err == nil {
			s.ended()
		}
	default:
		err = &wire.ProtocolError{Condition: wire.CondNotImplemented, Text: fmt.Sprintf("Nothing is done about %s in a session.", code)}
	}
	return err
}

// transferred counts a transfer and gives it to its link.
func (s *session) transferred(t *wire.Transfer) error {
	if s.incoming == 0 {
		return &wire.ProtocolError{Condition: wire.CondWindowViolation, Text: "More transfers came than the session's window has room for."}
	}
	s.incoming--
	s.nextIncoming++
	if l := s.links[t.Handle]; l != nil {
		if err := l.transfer(t); err != nil {
			return err
		}
	}
	if s.incoming < incomingWindow/2 {
		s.incoming = incomingWindow
		s.sendFlow(nil)
	}
	return nil
}

// sendFlow tells the session's state, and that of a link, whose handle and what
// follows are set in f.
func (s *session) sendFlow(f *wire.Flow) {
	if f == nil {
		f = &wire.Flow{}
	}
	f.NextIncomingID, f.IncomingWindow = wire.Some(s.nextIncoming), s.incoming
	f.NextOutgoingID, f.OutgoingWindow = s.nextOutgoing, incomingWindow
	s.send(f)
}

// flowed takes a flow of the client.
func (s *session) flowed(f *wire.Flow) {
	// What was on its way when the client wrote this is in its window already.
	from := f.NextIncomingID.Or(0)
	s.outgoing = from + f.IncomingWindow - s.nextOutgoing
	if int32(s.outgoing) < 0 {
		s.outgoing = 0
	}
	for _, l := range s.links {
		if o, ok := l.(*outlet); ok && (o.current != nil || len(o.queue) > 0) {
			s.c.line(o) // it may have waited for this
		}
	}
	h, ok := f.Handle.Get()
	if l := s.links[h]; ok && l != nil {
		l.flow(f)
	} else if !ok && f.Echo {
		s.sendFlow(nil)
	}
	s.c.mail.ring() // there may be something to send now
}

// detached answers a detach.
func (s *session) detached(d *wire.Detach) {
	l := s.links[d.Handle]
	if l == nil {
		return // it crossed ours
	}
	s.drop(d.Handle, l, engine.ByClient)
	s.send(&wire.Detach{Handle: d.Handle, Closed: d.Closed})
}

// drop takes a link away. What is to be done about that is noted for the reader.
func (s *session) drop(handle uint32, l link, how engine.Closed) {
	delete(s.links, handle)
	s.c.links--
	if do := l.end(how); do != nil {
		s.c.todo = append(s.c.todo, do)
	}
}

// detach ends a link for a reason of ours. Called by the writer, which returns
// what is to be done without the mutex.
func (s *session) detach(handle uint32, why *wire.Error) {
	delete(s.links, handle)
	s.c.links--
	s.send(&wire.Detach{Handle: handle, Closed: true, Error: why})
}

// ended answers an end.
func (s *session) ended() {
	for h, l := range s.links {
		s.drop(h, l, engine.ByClient)
	}
	delete(s.c.sessions, s.channel)
	s.send(&wire.End{})
}

// abandon ends the links of a client that has gone.
func (s *session) abandon() (ends []func()) {
	for _, l := range s.links {
		if do := l.end(engine.Lost); do != nil {
			ends = append(ends, do)
		}
	}
	clear(s.links)
	return ends
}
