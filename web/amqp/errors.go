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

func errorOf(err error) *wire.Error {
	e, _ := errorAndStatus(err)
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

// withTrackingID returns a copy of e whose description ends with a new TrackingId, which is logged
// too. It returns nil for nil.
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

// errorAndStatus returns the AMQP error and the status for an error.
func errorAndStatus(err error) (*wire.Error, int32) {
	if sas.IsRefused(err) {
		return &wire.Error{Condition: wire.CondUnauthorizedAccess, Description: err.Error()}, 401
	}
	return codec.AMQPError(err)
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

// appendFitting appends a frame of at most the client's maximum size. If the frame is larger, it
// shortens the description of the error in p. If that is not enough, it appends nothing and closes
// the connection.
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

// errorIn returns a pointer to the error in a performative, through which the caller can change it,
// or nil if there is none.
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
