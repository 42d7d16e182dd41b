package amqp

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
	"mayfly/web/auth/sas"
	"mayfly/web/loglimit"
)

// Conditions that this package treats in a special way.
const (
	condBusy          wire.Condition = "com.microsoft:server-busy"
	condTimeout       wire.Condition = "com.microsoft:timeout"
	condSessionLocked wire.Condition = "com.microsoft:session-cannot-be-locked"
)

func errorOf(err error) *wire.Error {
	e, _ := told(err)
	return e
}

// rejectedState returns the state for a message or settlement that was refused.
func rejectedState(err error) wire.State { return wire.Rejected{Error: errorOf(err)} }

// addTrackingID adds a TrackingId to the error of a performative, if it has one (ERR-5).
func (c *conn) addTrackingID(p wire.Performative) {
	switch p := p.(type) {
	case *wire.Disposition:
		if r, ok := p.State.(wire.Rejected); ok && r.Error != nil {
			p.State = wire.Rejected{Error: c.withTrackingID(r.Error)}
		}
	case *wire.Detach:
		p.Error = c.withTrackingID(p.Error)
	case *wire.End:
		p.Error = c.withTrackingID(p.Error)
	}
}

// withTrackingID returns a copy of e with an id that is logged too, or nil for nil.
func (c *conn) withTrackingID(e *wire.Error) *wire.Error {
	if e == nil {
		return nil
	}
	out := *e
	out.Description = c.appendTrackingID(e.Condition, e.Description)
	return &out
}

func (c *conn) appendTrackingID(cond wire.Condition, text string) string {
	var r [16]byte
	_, _ = rand.Read(r[:]) // never fails
	id := fmt.Sprintf("%x-%x-%x-%x-%x_G0", r[:4], r[4:6], r[6:8], r[8:10], r[10:])
	c.log.Debug("an AMQP error was sent to the client", "container", c.peer.container, "tracking_id", id, "condition", string(cond), "description", text)
	tracker := serverContainerID // until the client has named its namespace
	if c.b != nil {
		tracker = c.b.Name()
	}
	return strings.TrimSpace(fmt.Sprintf("%s TrackingId:%s, SystemTracker:%s, Timestamp:%s", text, id, tracker, time.Now().UTC().Format("2006-01-02T15:04:05")))
}

// told returns the AMQP error and the status for an error.
func told(err error) (*wire.Error, int32) {
	if sas.IsRefused(err) {
		return &wire.Error{Condition: wire.CondUnauthorizedAccess, Description: err.Error()}, 401
	}
	return codec.AMQPError(err)
}

// A session answers on its client's own channel and its links with the client's own handles.
// A frame for a channel or handle that is no longer in use is dropped: it crossed the
// server's end or detach, or its client ends or detaches twice, as Python's SDK does
// (§18.1). One for a channel that was never begun closes the connection, and one for a
// handle that was never attached ends the session.

// numberSet is a set of small numbers. Its memory is proportional to the largest.
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

// checkChannel returns why a session may not use a channel, or nil if it may.
func (c *conn) checkChannel(channel uint16) error {
	switch most := c.limits.sessions - 1; {
	case int(channel) > most:
		return &wire.ProtocolError{Condition: wire.CondFramingError, Text: fmt.Sprintf("Channel %d is above the channel-max of %d.", channel, most)}
	case channel > c.peer.channelMax:
		return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("Channel %d is above the client's own channel-max of %d, so the server cannot answer on it.", channel, c.peer.channelMax)}
	}
	return nil
}

// checkChannelUsed returns why a frame on a channel without a session ends the connection, or nil if
// there was a session.
func (c *conn) checkChannelUsed(channel uint16) error {
	if c.usedChannels.has(uint32(channel)) {
		return nil
	}
	return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("Channel %d has no session. Send a begin first.", channel)}
}

// checkHandle returns why a link may not use a handle, or nil if it may.
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

// checkHandleUsed returns why a frame for a handle without a link ends the session, or nil if
// there was a link.
func (s *session) checkHandleUsed(handle uint32) error {
	if s.usedHandles.has(handle) {
		return nil
	}
	return &wire.ProtocolError{Condition: wire.CondUnattachedHandle, Text: fmt.Sprintf("Handle %d has no link. Send an attach first.", handle)}
}

// detachForViolation detaches a link because of a client's error on it, and logs that.
func (s *session) detachForViolation(handle uint32, why *wire.Error) {
	c := s.c
	l := s.links[handle]
	if l.pendingAttach == nil && c.s.repeats.First(loglimit.Line{Client: hostOf(c.nc), Subject: c.peer.container, Reason: why.Description}) {
		c.log.Info("an AMQP link was detached", "container", c.peer.container, "link", printable(l.name.name, maxNameLength), "condition", string(why.Condition), "description", why.Description)
	}
	s.detach(handle, why)
}

// appendFitting appends a frame of at most the client's maximum size: it cuts the
// description of an error. A frame that does not fit even so closes the connection.
func (c *conn) appendFitting(b []byte, channel uint16, p wire.Performative) []byte {
	start := len(b)
	b = wire.AppendFrame(b, channel, p)
	over := len(b) - start - int(c.peer.maxFrame)
	if over <= 0 {
		return b
	}
	if why := errorIn(p); why != nil {
		short := *why
		short.Description = strings.ToValidUTF8(short.Description[:max(0, len(short.Description)-over)], "")
		*why = short
		if b = wire.AppendFrame(b[:start], channel, p); len(b)-start <= int(c.peer.maxFrame) {
			return b
		}
	}
	if _, last := p.(*wire.Close); !last {
		c.close(&wire.Error{Condition: wire.CondFrameSizeTooSmall, Description: fmt.Sprintf("An answer does not fit into the client's largest frame of %d bytes.", c.peer.maxFrame)})
	}
	return b[:start]
}

// errorIn returns the error in a performative, so that the caller can change it, or nil.
func errorIn(p wire.Performative) *wire.Error {
	switch p := p.(type) {
	case *wire.Disposition:
		if r, ok := p.State.(wire.Rejected); ok && r.Error != nil {
			own := *r.Error
			p.State = wire.Rejected{Error: &own}
			return &own
		}
	case *wire.Detach:
		return p.Error
	case *wire.End:
		return p.Error
	case *wire.Close:
		return p.Error
	}
	return nil
}
