package amqp

import (
	"errors"
	"fmt"
	"strings"
	"time"

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

	links      map[uint32]attached // by handle, which is the same both ways
	names      map[linkName]uint32 // their handles
	deliveries map[uint32]*held    // ours, by id, that the client has not settled
	crossing   map[uint32]crossing // by handle: of links that we have detached, until the client has answered
	nextID     uint32              // of our next delivery
	stuck      []feeder            // that wait for room in the window
	ending     bool                // the client has ended it, and is not answered yet
}

// attached is a link of a session and what it is called.
type attached struct {
	link
	name       linkName
	identifier string    // what the client calls whoever has it; empty: nothing
	since      time.Time // it is one
}

// linkName is what names a link in a session: one name may stand for one link in
// each direction.
type linkName struct {
	name string
	role wire.Role // of the client
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

// begin answers a begin.
func (c *conn) begin(f wire.Frame) error {
	var p wire.Begin
	if err := p.Decode(f.Body); err != nil {
		return err //nolint:wrapcheck // a ProtocolError
	}
	switch {
	case c.sessions[f.Channel] != nil:
		return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("Channel %d has a session already.", f.Channel)}
	case len(c.sessions) >= c.limits.sessions:
		return &wire.ProtocolError{Condition: wire.CondResourceLimitExceeded, Text: fmt.Sprintf("The connection has %d sessions, which is the most it may have.", len(c.sessions))}
	}
	s := &session{
		c: c, channel: f.Channel, nextIncoming: p.NextOutgoingID, incoming: incomingWindow, outgoing: p.IncomingWindow,
		links: map[uint32]attached{},
	}
	c.sessions[f.Channel] = s
	s.send(&wire.Begin{
		RemoteChannel: wire.Some(f.Channel), NextOutgoingID: s.nextOutgoing, IncomingWindow: incomingWindow,
		OutgoingWindow: incomingWindow, HandleMax: wire.Some[uint32](handleMax),
	})
	return nil
}

// send has a frame be written.
func (s *session) send(p wire.Performative) {
	s.c.track(p)
	s.c.out = wire.AppendFrame(s.c.out, s.channel, p)
}

// handle serves a frame of the session. An error ends the connection, but for one
// with a condition of sessions, which ends the session.
func (s *session) handle(code wire.Code, body []byte) error {
	if s.ending {
		return nil // nothing is to be said on it any more (rule 17)
	}
	err := s.take(code, body)
	if p, ok := errors.AsType[*wire.ProtocolError](err); ok && strings.HasPrefix(string(p.Condition), "amqp:session:") {
		s.fail(p.AMQP())
		return nil
	}
	return err
}

func (s *session) take(code wire.Code, body []byte) (err error) {
	switch code {
	case wire.CodeTransfer:
		t := &s.c.transfer
		if err = t.Decode(body); err == nil {
			err = s.transferred(t)
		}
	case wire.CodeDisposition:
		d := &s.c.disposition
		if err = d.Decode(body); err == nil {
			err = s.disposed(d)
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
	s.incoming-- // never below zero: the window is opened again before it is used up
	s.nextIncoming++
	if l := s.links[t.Handle]; l.link != nil {
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
	// What was on its way when the client wrote this is in its window already. One
	// that has not seen our begin counts from its number, which is 0.
	s.outgoing = creditLeft(f.IncomingWindow, s.nextOutgoing-f.NextIncomingID.Or(0))
	if s.outgoing > 0 {
		s.unstick()
	}
	h, ok := f.Handle.Get()
	if l := s.links[h]; ok && l.link != nil {
		l.flow(f)
	} else if !ok && f.Echo {
		s.sendFlow(nil)
	}
	s.c.mail.ring() // there may be something to send now
}

// detached answers a detach, once nothing of the link is left: what it held is
// free for the next one then (SES-7).
func (s *session) detached(d *wire.Detach) {
	l := s.links[d.Handle].link
	if l == nil {
		delete(s.crossing, d.Handle)
		return // it crossed ours
	}
	s.leave(d.Handle)
	handle, closed := d.Handle, d.Closed
	s.part(l, engine.ByClient, func() {
		if s.live() {
			s.send(&wire.Detach{Handle: handle, Closed: closed})
		}
	})
}

// live tells whether something can be said on the session's channel.
func (s *session) live() bool { return s.c.sessions[s.channel] == s && !s.ending }

// part ends a link that is not in its session any more, and has then called when
// that is done, with the mutex held.
func (s *session) part(l link, how engine.Closed, then func()) {
	if o, ok := l.(*outlet); ok {
		if leave := o.part(how); leave != nil {
			s.c.flushSettlements() // what it settled before comes before
			s.c.note(func() { leave(then) })
			return
		}
	} else if do := l.end(how); do != nil {
		s.c.note(do)
	}
	then()
}

// partAll ends all links, and has then called when that is done, with the mutex
// held.
func (s *session) partAll(how engine.Closed, then func()) {
	left := len(s.links) + 1
	one := func() {
		if left--; left == 0 {
			then()
		}
	}
	for h, l := range s.links {
		s.leave(h)
		s.part(l.link, how, one)
	}
	one()
}

// detach ends a link for a reason of ours.
func (s *session) detach(handle uint32, why *wire.Error) {
	l := s.links[handle].link
	if l == nil {
		return
	}
	s.leave(handle)
	s.send(&wire.Detach{Handle: handle, Closed: true, Error: why})
	if o, ok := l.(*outlet); ok {
		s.cross(o, why)
	}
	if do := l.end(engine.Lost); do != nil {
		s.c.later = append(s.c.later, do) // the writer has something to write anyway
	}
}

// ended answers an end, once nothing of the session is left.
func (s *session) ended() {
	s.ending = true
	s.partAll(engine.ByClient, func() {
		if s.c.sessions[s.channel] == s {
			delete(s.c.sessions, s.channel)
			s.c.out = wire.AppendFrame(s.c.out, s.channel, &wire.End{})
		}
	})
}

// fail ends the session for a reason of ours. What the client still says on it
// is not heard.
func (s *session) fail(why *wire.Error) {
	s.send(&wire.End{Error: why})
	s.ending = true
	delete(s.c.sessions, s.channel)
	s.partAll(engine.Lost, func() {})
}
