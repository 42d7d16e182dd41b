package amqp

import (
	"context"
	"strings"
	"time"

	"mayfly/web/amqp/wire"
	"mayfly/web/relay"
)

// spaceFor is the namespace that the client of a connection wants.
func (c *conn) spaceFor() *Space {
	switch {
	case c.by != nil:
	case c.port != "":
		return c.s.spaceAt(c.port)
	default:
		return c.s.spaceOf(c.peer.host, serverName(c.nc))
	}
	if sp := c.s.Find(strings.ToLower(c.by.Namespace)); sp != nil {
		return sp
	}
	sp := newSpace(c.s)
	sp.why = "This server does not know of the namespace yet."
	return sp
}

// pass has the owner of the namespace take the connection, whose open is f, and tells
// whether it has: the open is the owner's to answer then. A connection that another
// server has passed on stays.
func (c *conn) pass(f wire.Frame) (ok bool) {
	if c.by != nil {
		return false
	}
	defer func() { c.rule, c.key = "", "" }() // nobody else asks
	line, leave := c.at.depart()
	if line == nil {
		return false
	}
	is := relay.Passed{Client: c.nc.RemoteAddr().String(), ServerName: serverName(c.nc), Rule: c.rule, Key: c.key}
	is.Secure, is.WebSocket = c.means()
	ctx, cancel := context.WithTimeout(c.ctx, handshakePatience)
	defer cancel()
	owner, err := line.Open(ctx, is)
	if err == nil {
		_ = owner.SetWriteDeadline(time.Now().Add(handshakePatience)) //nolint:errcheck // the write says it
		if _, err = owner.Write(append(f.Append(nil), c.r.Ahead()...)); err != nil {
			_ = owner.Close()
		}
	}
	if err != nil {
		leave()
		c.log.Debug("a connection was not passed on", "owner", line.To().String(), "err", err)
		return false
	}
	_ = owner.SetWriteDeadline(time.Time{}) //nolint:errcheck // likewise
	c.onward = func() {
		defer leave()
		defer c.stop()
		_ = c.nc.SetDeadline(time.Time{})                                               //nolint:errcheck // whoever uses it hears of it
		cut := context.AfterFunc(c.s.open, func() { _ = c.nc.SetDeadline(time.Now()) }) //nolint:errcheck // likewise
		defer cut()
		line.Join(c.nc, owner)
	}
	return true
}

// depart counts a connection in that is to be passed on, and gives the line for it;
// nil: it is not. leave counts it out again.
func (sp *Space) depart() (line *relay.Line, leave func()) {
	s := sp.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp.line == nil || s.over {
		return nil, nil
	}
	if sp.passing >= sp.limits.connections {
		return nil, nil
	}
	sp.passing++
	return sp.line, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		sp.passing--
	}
}
