package amqp

import (
	"io"

	"mayfly/engine"
)

// discardInput reads and drops what the client sends until the client closes the connection or the
// read deadline passes. If the server closed the connection while bytes of the client were on their
// way, the client might never read the close.
func (c *conn) discardInput() {
	_, _ = io.Copy(io.Discard, c.nc) //nolint:errcheck // any error ends the connection
}

// handleClose answers the client's close after its links have ended, so that their sessions are
// free when the client gets the answer (SES-7).
func (c *conn) handleClose() {
	if c.state != running { // the client answers the server's close
		c.state = bothClosed
		return
	}
	c.endAllLinks(engine.DetachedByClient, func() {
		c.close(nil)
		c.state = bothClosed
	})
}

// endAllLinks ends all links of all sessions, and calls `then` with the mutex held when all of them
// have ended.
func (c *conn) endAllLinks(how engine.DetachReason, then func()) {
	left := len(c.sessions) + 1
	one := func() {
		if left--; left == 0 {
			then()
		}
	}
	for _, s := range c.sessions {
		s.ending = true
		s.endAllLinks(how, one)
	}
	one()
}

// shutDown detaches all links with engine.DetachedLost, and waits until no work of the connection
// is in progress. It is called after the reader and the writer have ended.
func (c *conn) shutDown() {
	c.mu.Lock()
	c.state = bothClosed
	c.endAllLinks(engine.DetachedLost, func() {})
	c.queueSettlements()
	c.mu.Unlock()
	for {
		c.mu.Lock()
		work := append(c.readerWork, c.writerWork...)
		c.readerWork, c.writerWork = nil, nil
		c.mu.Unlock()
		for _, do := range work {
			do()
		}
		c.background.Wait()
		mail := c.mail.take(nil)
		if len(mail) == 0 && len(work) == 0 {
			return
		}
		c.mu.Lock()
		for _, m := range mail {
			c.handleMail(m)
		}
		c.mu.Unlock()
	}
}
