package amqp

import (
	"io"

	"mayfly/engine"
)

// ignore reads what a client still sends that is not listened to any more, until
// it has heard why: were the connection closed before, it might never.
func (c *conn) ignore() {
	_, _ = io.Copy(io.Discard, c.nc) //nolint:errcheck // whatever ends it, it is over
}

// closed answers the client's close, once nothing of its links is left: the
// sessions that they held are free then (SES-7).
func (c *conn) closed() {
	if c.state != running { // it answers ours
		c.state = closedBoth
		return
	}
	c.partAll(engine.ByClient, func() {
		c.close(nil)
		c.state = closedBoth
	})
}

// partAll ends all links of all sessions, and has then called when that is done,
// with the mutex held.
func (c *conn) partAll(how engine.Closed, then func()) {
	left := len(c.sessions) + 1
	one := func() {
		if left--; left == 0 {
			then()
		}
	}
	for _, s := range c.sessions {
		s.ending = true
		s.partAll(how, one)
	}
	one()
}

// abandon ends everything that the client had, as lost, and waits until nothing
// of the connection is under way. Reader and writer have ended.
func (c *conn) abandon() {
	c.mu.Lock()
	c.state = closedBoth
	c.partAll(engine.Lost, func() {})
	c.flushSettlements()
	c.mu.Unlock()
	for {
		c.mu.Lock()
		todo := append(c.todo, c.later...)
		c.todo, c.later = nil, nil
		c.mu.Unlock()
		for _, do := range todo {
			do()
		}
		c.work.Wait()
		list := c.mail.take(nil)
		if len(list) == 0 && len(todo) == 0 {
			return
		}
		var asks []func()
		c.mu.Lock()
		for _, m := range list {
			asks = c.open(m, asks)
		}
		c.later = append(c.later, asks...)
		c.mu.Unlock()
	}
}
