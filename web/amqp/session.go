package amqp

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

const (
	incomingWindow = 5_000 // transfers that the client may send before the next flow of the server
	handleMax      = 1<<16 - 1
)

// A session is an AMQP session of a connection. It has the same channel in both directions. Its
// state is guarded by the connection's mutex.
type session struct {
	c       *conn
	channel uint16

	nextIncomingID       uint32 // id of the client's next transfer
	incomingWindow       uint32 // how many more transfers the client may send
	nextOutgoingID       uint32 // id of the server's next transfer
	remoteIncomingWindow uint32 // how many more transfers the client accepts

	links            map[uint32]attachedLink       // by handle, which is the same in both directions
	names            map[linkName]uint32           // the handles of the links, by name
	usedHandles      numberSet                     // handles that have had a link
	rheaEchoes       rheaEchoes                    // links that the client detached before their attach was answered
	handleMax        uint32                        // largest handle that the client accepts
	unsettled        map[uint32]*unsettledDelivery // by id: deliveries that the client has not settled
	detachedLinks    map[uint32]detachedLink       // by handle: links that the server has detached, until the client answers
	nextDeliveryID   uint32                        // id of the server's next delivery
	windowBlocked    []outgoingLink                // links that wait for room in the window
	ending           bool                          // the client has ended it, and the answer is pending
	transactionScope transactionScope
	pendingDetaches  int      // links whose detach by the client has not been answered
	afterDetaches    []func() // called when pendingDetaches becomes zero
}

// attachedLink is a link of a session and its description.
type attachedLink struct {
	link
	name          linkName
	identifier    string       // the client's identifier for the sender or receiver; may be empty
	since         time.Time    // when it was attached
	attachBytes   int          // bytes of the attach in the budget until it is answered
	attachNumber  int          // number of its attach in the session, from 1
	selectorBytes int          // bytes of its selector
	pendingAttach *wire.Attach // the client's attach until it is answered, then nil
}

// linkName is the name of a link in a session. A name may be used by one link in each direction.
type linkName struct {
	name string    // as nameKey returns it
	role wire.Role // of the client
}

func linkNameFor(name string, role wire.Role) linkName { return linkName{nameKey(name), role} }

// nameKey returns a key for a name or address that a client wrote: the name itself, or its
// beginning and a digest of the whole if it is long. The key shares no memory with name.
func nameKey(name string) string {
	if len(name) <= maxNameLength {
		return strings.Clone(name)
	}
	digest := sha256.Sum256([]byte(name))
	return name[:maxNameLength] + string(digest[:])
}

// A link is the server's end of an AMQP link. Each kind of node has its own implementation. Its
// methods are called with the connection's mutex held.
type link interface {
	// handleFlow handles the client's flow.
	handleFlow(f *wire.Flow)
	// handleTransfer handles the client's transfer. It is an error on a link on which the
	// client receives.
	handleTransfer(t *wire.Transfer) error
	// end ends the link, which is no longer in its session, and returns a function to
	// call without the mutex, or nil. how is engine.DetachedLost if the client did not end it.
	end(how engine.DetachReason) func()
}

// send queues a frame.
func (s *session) send(p wire.Performative) {
	s.c.addTrackingID(p)
	s.c.outFrames = s.c.appendFitting(s.c.outFrames, s.channel, p)
}

// handleFrame serves a frame of the session. An error ends the connection. Errors whose condition
// begins with amqp:session: only end the session, and are not returned.
func (s *session) handleFrame(code wire.Code, body []byte) error {
	if s.ending {
		return nil // frames after the client's end are ignored (§18.1)
	}
	err := s.dispatch(code, body)
	if p, ok := errors.AsType[*wire.ProtocolError](err); ok && strings.HasPrefix(string(p.Condition), "amqp:session:") {
		s.endWithError(p.AMQP())
		return nil
	}
	return err
}

func (s *session) dispatch(code wire.Code, body []byte) (err error) {
	switch code {
	case wire.CodeTransfer:
		t := &s.c.transfer
		if err = t.Decode(body); err == nil {
			err = s.handleTransfer(t)
		}
	case wire.CodeDisposition:
		d := &s.c.disposition
		if err = d.Decode(body); err == nil {
			err = s.handleDisposition(d)
		}
	case wire.CodeFlow:
		f := &s.c.flow
		if err = f.Decode(body); err == nil {
			err = s.handleFlow(f)
		}
	case wire.CodeAttach:
		var a wire.Attach
		if err = a.Decode(body); err == nil {
			err = s.handleAttach(&a, len(body))
		}
	case wire.CodeDetach:
		var d wire.Detach
		if err = d.Decode(body); err == nil {
			err = s.handleDetach(&d)
		}
	case wire.CodeEnd:
		var e wire.End
		if err = e.Decode(body); err == nil {
			s.handleEnd()
		}
	}
	return err
}

// handleTransfer counts a transfer and passes it to its link.
func (s *session) handleTransfer(t *wire.Transfer) error {
	s.incomingWindow-- // never below zero: the window is opened again before it is used up
	s.nextIncomingID++
	if l := s.links[t.Handle]; l.link != nil {
		if err := l.handleTransfer(t); err != nil {
			return err
		}
	} else if err := s.checkHandleUsed(t.Handle); err != nil {
		return err
	}
	if s.incomingWindow < incomingWindow/2 {
		s.incomingWindow = incomingWindow
		s.sendFlow(nil)
	}
	return nil
}

// sendFlow sends the session's state, and that of a link if f has its handle.
func (s *session) sendFlow(f *wire.Flow) {
	if f == nil {
		f = &wire.Flow{}
	}
	f.NextIncomingID, f.IncomingWindow = wire.Some(s.nextIncomingID), s.incomingWindow
	f.NextOutgoingID, f.OutgoingWindow = s.nextOutgoingID, incomingWindow
	s.send(f)
}

// handleFlow handles the client's flow.
func (s *session) handleFlow(f *wire.Flow) error {
	// Transfers that the client had not seen when it sent this count against its window.
	// A client that has not seen the server's begin counts from its first id, 0.
	s.remoteIncomingWindow = creditLeft(f.IncomingWindow, s.nextOutgoingID-f.NextIncomingID.Or(0))
	if s.remoteIncomingWindow > 0 {
		s.unblockWindow()
	}
	h, ok := f.Handle.Get()
	switch l := s.links[h]; {
	case ok && l.link != nil:
		l.handleFlow(f)
	case ok:
		if err := s.checkHandleUsed(h); err != nil {
			return err
		}
	case f.Echo:
		s.sendFlow(nil)
	}
	s.c.mail.wakeWriter() // there may be something to send now
	return nil
}

// handleDetach ends a link that the client detaches, and answers when the link has ended, so that
// its message session is free for the next client when the answer arrives (SES-7).
func (s *session) handleDetach(d *wire.Detach) error {
	l := s.links[d.Handle].link
	if l == nil {
		delete(s.detachedLinks, d.Handle) // it crossed the server's detach
		return s.checkHandleUsed(d.Handle)
	}
	unanswered, name := s.links[d.Handle].pendingAttach, s.links[d.Handle].name
	s.removeLink(d.Handle)
	handle, closed := d.Handle, d.Closed
	s.pendingDetaches++
	s.endLink(l, engine.DetachedByClient, func() {
		if s.c.sessions[s.channel] == s {
			switch {
			case unanswered == nil:
				s.send(&wire.Detach{Handle: handle, Closed: closed})
			case !isMaybeRhea(s.c.connectionInfo.library) || !s.rheaEchoes.isEcho(name, time.Now()):
				s.send(s.attachWithoutTerminus(unanswered))
				s.send(&wire.Detach{Handle: handle, Closed: closed})
			}
		}
		if s.pendingDetaches--; s.pendingDetaches == 0 {
			done := s.afterDetaches
			s.afterDetaches = nil
			for _, then := range done {
				then()
			}
		}
	})
	return nil
}

// isOpen reports whether frames can be sent on the session's channel.
func (s *session) isOpen() bool { return s.c.sessions[s.channel] == s && !s.ending }

// endLink ends a link that is no longer in its session, and calls `then` with the mutex held when
// the link has ended.
func (s *session) endLink(l link, how engine.DetachReason, then func()) {
	switch l := l.(type) {
	case *sender:
		if leave := l.endWith(how); leave != nil {
			s.c.queueSettlements() // settlements that the client sent before come first
			s.c.queueReaderWork(func() { leave(then) })
			return
		}
	case answeringLink:
		s.endWhenAnswered(l, how, then)
		return
	default:
		if do := l.end(how); do != nil {
			s.c.queueReaderWork(do)
		}
	}
	then()
}

// endAllLinks ends all links, and calls `then` with the mutex held when all of them have ended and
// the client's earlier detaches are answered.
func (s *session) endAllLinks(how engine.DetachReason, then func()) {
	left := len(s.links) + 1
	one := func() {
		if left--; left == 0 {
			then()
		}
	}
	if s.pendingDetaches > 0 {
		left++
		s.afterDetaches = append(s.afterDetaches, one)
	}
	for h, l := range s.links {
		s.removeLink(h)
		s.endLink(l.link, how, one)
	}
	one()
}

// detach detaches a link with the error why, or refuses its attach if that is not answered yet.
func (s *session) detach(handle uint32, why *wire.Error) {
	l, unanswered := s.links[handle].link, s.links[handle].pendingAttach
	if l == nil {
		return
	}
	s.removeLink(handle)
	if unanswered != nil {
		s.refuseAttach(unanswered, why)
	} else {
		s.send(&wire.Detach{Handle: handle, Closed: true, Error: why})
	}
	if o, ok := l.(*sender); ok {
		s.rememberDetached(o, why)
	}
	if do := l.end(engine.DetachedLost); do != nil {
		s.c.queueWriterWork(do) // the writer has a frame to write anyway
	}
}

// handleEnd answers an end after all links of the session have ended.
func (s *session) handleEnd() {
	s.ending = true
	s.endAllLinks(engine.DetachedByClient, func() {
		if s.c.sessions[s.channel] == s {
			s.remove()
			s.c.outFrames = wire.AppendFrame(s.c.outFrames, s.channel, &wire.End{})
		}
	})
}

// endWithError ends the session because of why. The client's further frames on it are ignored.
func (s *session) endWithError(why *wire.Error) {
	s.logEnded(why)
	s.send(&wire.End{Error: why})
	s.ending = true
	s.remove()
	s.endAllLinks(engine.DetachedLost, func() {})
}

// remove removes the session from its connection and its bytes from the budget.
func (s *session) remove() {
	delete(s.c.sessions, s.channel)
	s.c.addLinkBytes(-sessionCost - 8*int64(len(s.usedHandles)))
}

// A receiver that is only waiting stays attached when the lock of its session expires:
// clients that wait as long as their lock lasts would otherwise see a failure
// (sdk-demands 8). It is detached with session-lock-lost when the session continues
// without it: when another receiver has the session, over whatever protocol, or a message
// of the session is available, which this link will not get (SES-6). Messages that were
// available when the lock expired count once the client gives credit: a client without
// credit is not waiting for them.

// sessionExpired reports whether a link that the engine has ended with why stays attached for now:
// the lock of its session has expired, and it has no messages. If an operator broke the lock before
// it expired, the link ends at once.
func (o *sender) sessionExpired(why error) bool {
	return errors.Is(why, engine.ErrSessionLockLost) && o.acceptedSession.LockedUntil.Passed(engine.At(time.Now())) &&
		o.unsettledCount == 0 && len(o.queue) == 0 && o.current == nil
}

// checkLostSession returns a function that asks the broker whether the session that the link has
// lost has messages, and detaches the link if it does. It returns nil if the link has not lost a
// session, or its client gives no credit. It is called with the connection's mutex held; the
// function that it returns is called without.
func (o *sender) checkLostSession() func() {
	if o.ended || o.requestInProgress || o.credit == 0 || o.brokerLink != nil || o.endedBrokerLink == nil || o.pendingAttach != nil {
		return nil
	}
	o.requestInProgress = true
	c, path, id := o.s.c, o.path, o.acceptedSession.ID
	return func() {
		c.background.Go(func() {
			is, err := c.b.SessionAvailable(c.ctx, path, id)
			c.mail.call(func() {
				o.requestInProgress = false
				if is || err != nil {
					o.sessionMoved()
				}
				c.queueToSend(o)
			})
		})
	}
}

// sessionMoved detaches the link because the session that it lost continues without it.
func (o *sender) sessionMoved() {
	o.detachWithError(errorOf(engine.Refuse(engine.ErrSessionLockLost, "%s", engine.SessionLockLostText)))
}

// numberSet is a set of small numbers: the channels or handles that have been used. Its memory is
// proportional to the largest.
//
// A session answers on its client's own channel and its links with the client's own handles. A
// frame for a channel or handle that is no longer in use is dropped: it crossed the server's end or
// detach, or its client ends or detaches twice, as Python's SDK does (§18.1). A frame for a channel
// that was never begun closes the connection, and one for a handle that was never attached ends the
// session.
type numberSet []uint64

// add adds n and returns how many bytes of memory the set has grown.
func (s *numberSet) add(n uint32) (grown int) {
	at := int(n / 64)
	if more := at + 1 - len(*s); more > 0 {
		*s = append(*s, make([]uint64, more)...)
		grown = 8 * more
	}
	(*s)[at] |= 1 << (n % 64)
	return grown
}

func (s numberSet) has(n uint32) bool { return int(n/64) < len(s) && s[n/64]&(1<<(n%64)) != 0 }

// checkChannel returns an error if a session may not use a channel.
func (c *conn) checkChannel(channel uint16) error {
	switch most := c.limits.sessions - 1; {
	case int(channel) > most:
		return &wire.ProtocolError{Condition: wire.CondFramingError, Text: fmt.Sprintf("Channel %d is above the channel-max of %d.", channel, most)}
	case channel > c.peer.channelMax:
		return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("Channel %d is above the client's own channel-max of %d, so the server cannot answer on it.", channel, c.peer.channelMax)}
	}
	return nil
}

// checkChannelUsed returns an error, which ends the connection, for a frame on a channel that never
// had a session.
func (c *conn) checkChannelUsed(channel uint16) error {
	if c.usedChannels.has(uint32(channel)) {
		return nil
	}
	return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("Channel %d has no session. Send a begin first.", channel)}
}

// checkHandle returns an error if a link may not use a handle. Otherwise it records the handle as
// used.
func (s *session) checkHandle(handle uint32) error {
	switch {
	case handle > handleMax:
		return &wire.ProtocolError{Condition: wire.CondFramingError, Text: fmt.Sprintf("Handle %d is above the handle-max of %d.", handle, handleMax)}
	case handle > s.handleMax:
		return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("Handle %d is above the client's own handle-max of %d, so the server cannot answer with it.", handle, s.handleMax)}
	}
	s.c.addLinkBytes(int64(s.usedHandles.add(handle)))
	return nil
}

// checkHandleUsed returns an error, which ends the session, for a frame with a handle that never
// had a link.
func (s *session) checkHandleUsed(handle uint32) error {
	if s.usedHandles.has(handle) {
		return nil
	}
	return &wire.ProtocolError{Condition: wire.CondUnattachedHandle, Text: fmt.Sprintf("Handle %d has no link. Send an attach first.", handle)}
}
