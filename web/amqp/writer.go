package amqp

import (
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

const (
	writeAtOnce   = 64 << 10         // bytes that are gathered before they are written
	writePatience = 60 * time.Second // for a client to take them
)

// write is the writer of a connection. It returns when the close was written or
// the connection has gone.
func (c *conn) write() {
	tick := time.NewTicker(c.beat())
	defer tick.Stop()
	var used []mail
	var asks []func()
	var buf []byte
	silent := true
	for {
		used = c.mail.take(used)
		c.mu.Lock()
		for _, m := range used {
			asks = c.open(m, asks)
		}
		if cap(buf) > 4*writeAtOnce {
			buf = nil
		}
		buf, c.out = c.out, buf[:0]
		var more bool
		if c.state == running {
			buf, asks, more = c.pump(buf, asks)
			buf = append(buf, c.out...) // what pumping had to say, after the transfers
			c.out = c.out[:0]
		}
		asks, c.later = append(asks, c.later...), nil
		over := c.state != running
		if over {
			buf = wire.AppendFrame(buf, 0, &wire.Close{Error: c.tracked(c.farewell)})
		}
		c.writing(buf)
		c.mu.Unlock()
		c.stir()
		if len(buf) > 0 {
			silent = false
			_ = c.nc.SetWriteDeadline(time.Now().Add(writePatience)) //nolint:errcheck // the write says it
			if _, err := c.nc.Write(buf); err != nil {
				c.stop()
				_ = c.nc.Close() // has the reader end
				return
			}
		}
		for _, ask := range asks {
			ask()
		}
		clear(asks)
		asks = asks[:0]
		if over {
			c.linger()
			return
		}
		if more {
			continue
		}
		select {
		case <-c.mail.bell:
		case <-c.ctx.Done():
			return
		case <-tick.C:
			if silent {
				buf, used, asks = nil, nil, nil // an idle connection keeps little
				c.mu.Lock()
				c.out, c.spare = wire.AppendHeartbeat(slices.Clip(c.out)), nil
				c.mu.Unlock()
			}
			silent = true
		}
	}
}

// lingering is how long a client has to answer a close.
const lingering = 2 * time.Second

// linger waits for the client's close, so that ours arrives.
func (c *conn) linger() {
	_ = c.nc.SetReadDeadline(time.Now().Add(lingering)) //nolint:errcheck // the reader hears it
	c.mu.Lock()
	both := c.state == closedBoth
	c.mu.Unlock()
	if both {
		_ = c.nc.Close()
	}
}

// beat is how often is looked whether something was written: nothing may have
// been for twice as long, which is half of what the client asks for.
func (c *conn) beat() time.Duration {
	if c.peer.idle <= 0 {
		return 30 * time.Second
	}
	return max(c.peer.idle/4, 10*time.Millisecond)
}

// open does what one piece of mail says.
func (c *conn) open(m mail, asks []func()) []func() {
	switch m.kind {
	case mailDo:
		m.do()
	case mailDelivered:
		if m.out.over {
			d := m.delivery
			return append(asks, func() { c.giveBack([]*engine.Delivery{d}) })
		}
		m.out.delivered(m.delivery)
	case mailAccepted:
		m.out.accepted(m.accepted)
	case mailEnded:
		m.out.ended(m.err)
	}
	return asks
}
