package amqp

import (
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

const (
	writeSize    = 64 << 10         // bytes to gather before a write
	writeTimeout = 60 * time.Second // time limit of a write
)

// writeFrames is the writer of a connection. It returns when it has written the close or the
// connection has ended.
func (c *conn) writeFrames() {
	tick := time.NewTicker(c.heartbeatInterval())
	defer tick.Stop()
	var used []mailItem
	var work []func()
	var buf []byte
	silent := true
	for {
		used = c.mail.take(used)
		c.mu.Lock()
		for _, m := range used {
			c.handleMail(m)
		}
		if cap(buf) > 4*writeSize {
			buf = nil
		}
		buf, c.outFrames = c.outFrames, buf[:0]
		var more bool
		if c.state == running {
			buf, more = c.appendTransfers(buf)
			buf = append(buf, c.outFrames...) // frames that appendTransfers has queued, after its transfers
			c.outFrames = c.outFrames[:0]
		}
		work, c.writerWork = c.writerWork, work[:0]
		over := c.state != running
		if over {
			buf = c.appendFitting(buf, 0, &wire.Close{Error: c.withTrackingID(c.closeError)})
		}
		c.countFramesOut(buf)
		c.mu.Unlock()
		c.wakeReader()
		if len(buf) > 0 {
			silent = false
			_ = c.nc.SetWriteDeadline(time.Now().Add(writeTimeout)) //nolint:errcheck // the write returns the error
			if _, err := c.nc.Write(buf); err != nil {
				c.stop()
				_ = c.nc.Close() // ends the reader
				return
			}
		}
		for _, do := range work {
			do()
		}
		clear(work)
		if over {
			c.awaitClientClose()
			return
		}
		if more {
			continue
		}
		select {
		case <-c.mail.signal:
		case <-c.ctx.Done():
			return
		case <-tick.C:
			if silent {
				buf, used, work = nil, nil, nil // an idle connection keeps little memory
				c.mu.Lock()
				c.outFrames, c.spareSendQueue = wire.AppendHeartbeat(slices.Clip(c.outFrames)), nil
				if len(c.writerWork) == 0 {
					c.writerWork = nil
				}
				c.mu.Unlock()
			}
			silent = true
		}
	}
}

// clientCloseTimeout is how long a client may take to answer a close.
const clientCloseTimeout = 2 * time.Second

// awaitClientClose lets the reader read for up to clientCloseTimeout, until the client's close
// arrives: if the connection were closed earlier, the client might not get the server's close. If
// the client's close has arrived already, it closes the connection.
func (c *conn) awaitClientClose() {
	_ = c.nc.SetReadDeadline(time.Now().Add(clientCloseTimeout)) //nolint:errcheck // the reader gets the error
	c.mu.Lock()
	both := c.state == bothClosed
	c.mu.Unlock()
	if both {
		_ = c.nc.Close()
	}
}

// heartbeatInterval returns the interval at which the writer checks whether it has written
// anything, and sends a heartbeat if not. The client may receive nothing for up to two intervals,
// half of its idle time-out.
func (c *conn) heartbeatInterval() time.Duration {
	if c.peer.idle <= 0 {
		return 30 * time.Second
	}
	return max(c.peer.idle/4, 10*time.Millisecond)
}

// handleMail passes an event from the mailbox to its sender, or calls its function. Called with mu
// held.
func (c *conn) handleMail(m mailItem) {
	switch m.kind {
	case mailCall:
		m.call()
	case mailDelivered:
		if m.sender.ended {
			d := m.delivery
			c.queueWriterWork(func() { c.returnDeliveries([]*engine.Delivery{d}) })
			return
		}
		m.sender.enqueueDelivery(m.delivery)
	case mailSessionAccepted:
		m.sender.sessionAccepted(m.accepted)
	case mailLinkEnded:
		m.sender.brokerEnded(m.err)
	}
}
