package amqp

import (
	"fmt"
	"math"

	"mayfly/web/amqp/wire"
)

func (c *conn) handleBegin(f wire.Frame) error {
	var p wire.Begin
	if err := p.Decode(f.Body); err != nil {
		return err
	}
	if p.RemoteChannel.IsSet() {
		return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("The begin on channel %d has a remote-channel. This server begins no sessions, so it must be null.", f.Channel)}
	}
	if s := c.sessions[f.Channel]; s != nil && s.ending {
		channel := f.Channel
		c.readerWait = func() { c.beginAfterEnd(s, channel, &p) }
		return nil
	}
	return c.startSession(f.Channel, &p)
}

// beginAfterEnd waits until the client's end of s is answered, and then begins a session on
// its channel. The reader calls it without the mutex.
func (c *conn) beginAfterEnd(s *session, channel uint16, p *wire.Begin) {
	c.waitWhile(c.readerSignal, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.sessions[channel] == s && c.state == running
	})
	if c.ctx.Err() != nil {
		return // the connection is ending
	}
	c.mu.Lock()
	var err error
	switch {
	case c.state != running:
	case c.sessions[channel] == s:
		err = &wire.ProtocolError{Condition: wire.CondResourceLimitExceeded, Text: fmt.Sprintf("The end of the session on channel %d could not be answered within %v.", channel, storeTimeout)}
	default:
		err = c.startSession(channel, p)
	}
	c.mu.Unlock()
	if err != nil {
		c.logClosed(errorOf(err))
		c.closeWithError(errorOf(err))
	}
	c.mail.wakeWriter()
}

// startSession begins a session on a free channel and answers the begin. Called with mu
// held.
func (c *conn) startSession(channel uint16, p *wire.Begin) error {
	switch {
	case c.sessions[channel] != nil:
		return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: fmt.Sprintf("Channel %d already has a session.", channel)}
	case len(c.sessions) >= c.limits.sessions:
		return &wire.ProtocolError{Condition: wire.CondResourceLimitExceeded, Text: fmt.Sprintf("The connection already has %d sessions, the maximum. End one first.", len(c.sessions))}
	}
	if err := c.checkChannel(channel); err != nil {
		return err
	}
	c.usedChannels.add(uint32(channel))
	if c.linkBudgetLeft() < sessionCost {
		why := c.withTrackingID(c.overBudget("session"))
		c.logRefused("", why)
		c.outFrames = wire.AppendFrame(c.outFrames, channel, &wire.Begin{
			RemoteChannel: wire.Some(channel), IncomingWindow: incomingWindow, OutgoingWindow: incomingWindow, HandleMax: wire.Some[uint32](handleMax),
		})
		c.outFrames = c.appendFitting(c.outFrames, channel, &wire.End{Error: why})
		return nil // further frames on the channel belong to no session
	}
	c.addLinkBytes(sessionCost)
	s := &session{
		c: c, channel: channel, nextIncomingID: p.NextOutgoingID, incomingWindow: incomingWindow, remoteIncomingWindow: p.IncomingWindow,
		links: map[uint32]attachedLink{}, handleMax: p.HandleMax.Or(math.MaxUint32),
	}
	c.sessions[channel] = s
	s.send(&wire.Begin{
		RemoteChannel: wire.Some(channel), NextOutgoingID: s.nextOutgoingID, IncomingWindow: incomingWindow,
		OutgoingWindow: incomingWindow, HandleMax: wire.Some[uint32](handleMax),
	})
	return nil
}
