package amqp

import (
	"context"
	"errors"
	"time"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

const (
	writeAtOnce   = 64 << 10         // bytes that are gathered before they are written
	writePatience = 60 * time.Second // for a client to take them
	retryEvery    = time.Second      // for what the broker was too busy for
)

// write is the writer of a connection. It returns when the close was written or
// the connection has gone.
func (c *conn) write() {
	tick := time.NewTicker(c.beat())
	defer tick.Stop()
	var used []mail
	var asks []func()
	buf := make([]byte, 0, 4<<10)
	silent := true
	for {
		used = c.mail.take(used)
		c.mu.Lock()
		for _, m := range used {
			asks = c.open(m, asks)
		}
		buf = append(buf[:0], c.out...)
		c.out = c.out[:0]
		if cap(c.out) > 4*writeAtOnce {
			c.out = nil
		}
		var more bool
		if c.state == running {
			buf, asks, more = c.pump(buf, asks)
			buf = append(buf, c.out...) // what pumping had to say, after the transfers
			c.out = c.out[:0]
		}
		asks, c.later = append(asks, c.later...), nil
		over := c.state != running
		if over {
			buf = wire.AppendFrame(buf, 0, &wire.Close{Error: c.farewell})
		}
		c.mu.Unlock()
		if len(buf) > 0 {
			silent = false
			_ = c.nc.SetWriteDeadline(time.Now().Add(writePatience)) //nolint:errcheck // the write says it
			if _, err := c.nc.Write(buf); err != nil {
				c.stop()
				_ = c.nc.Close() // has the reader end
				return
			}
			if cap(buf) > 4*writeAtOnce {
				buf = make([]byte, 0, 4<<10)
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
				c.mu.Lock()
				c.out = wire.AppendHeartbeat(c.out)
				c.mu.Unlock()
			}
			silent = true
			asks = c.retry(asks)
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

// beat is how often something is to be written.
func (c *conn) beat() time.Duration {
	if c.peer.idle <= 0 {
		return 30 * time.Second
	}
	return max(c.peer.idle/3, 10*time.Millisecond)
}

// retry has outlets ask again for what the broker was too busy for.
func (c *conn) retry(asks []func()) []func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		for _, l := range s.links {
			if o, ok := l.(*outlet); ok {
				if ask := o.balance(); ask != nil {
					asks = append(asks, ask)
				}
			}
		}
	}
	return asks
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

// line has the writer look at o.
func (c *conn) line(o *outlet) {
	if !o.lined {
		o.lined = true
		c.feeding = append(c.feeding, o)
	}
}

// pump makes transfers of what links have, one of each in rotation, until buf is
// full; more tells that it is. Called with mu held, which it lets go of while it
// reads bodies from the store.
func (c *conn) pump(buf []byte, asks []func()) (_ []byte, _ []func(), more bool) {
	for len(c.feeding) > 0 {
		if len(buf) >= writeAtOnce {
			return buf, asks, true
		}
		o := c.feeding[0]
		c.feeding[0], c.feeding = nil, c.feeding[1:]
		if o.over {
			o.lined = false
			continue
		}
		var wrote bool
		buf, wrote = o.write(buf)
		if wrote && !o.over {
			c.feeding = append(c.feeding, o)
			continue
		}
		o.lined = false
		if o.over {
			continue
		}
		if o.drain && o.exhausted && len(o.queue) == 0 {
			o.finishDrain()
		}
		if ask := o.balance(); ask != nil {
			asks = append(asks, ask)
		}
	}
	c.feeding = nil
	return buf, asks, false
}

// write appends the next transfer of o, if it has one and the client has room.
func (o *outlet) write(buf []byte) (_ []byte, wrote bool) {
	s := o.s
	if s.outgoing == 0 {
		return buf, false // a flow lines it up again
	}
	if o.current == nil {
		if len(o.queue) == 0 || o.remaining() == 0 {
			return buf, false
		}
		d := o.queue[0]
		o.queue[0], o.queue = nil, o.queue[1:]
		if len(o.queue) == 0 {
			o.queue = nil
		}
		if !o.prepare(d) {
			return buf, true
		}
	}
	cur := o.current
	streams := cur.body != nil
	if streams {
		s.c.mu.Unlock()
	}
	next, err := cur.split.Next(buf)
	if streams {
		s.c.mu.Lock()
	}
	if o.over {
		return buf, true // it went meanwhile, and so did the delivery
	}
	if err != nil {
		s.c.log.Error("a delivery cannot be written", "path", o.path, "err", err)
		o.fail(&wire.Error{Condition: wire.CondInternalError, Description: "A message cannot be read from the store."})
		return buf, true
	}
	s.outgoing--
	s.nextOutgoing++
	if cur.split.Done() {
		o.current = nil
		if cur.body != nil {
			cur.body.Close()
		}
		s.c.b.Taken(*cur.delivery)
	}
	return next, true
}

// prepare makes d the current delivery. It lets go of the mutex while it opens a
// body in the store.
func (o *outlet) prepare(d *engine.Delivery) bool {
	s := o.s
	cur := &outgoing{delivery: d}
	if _, err := cur.envelope.Delivery(nil, d); err != nil {
		s.c.log.Error("a message in the store cannot be read", "path", o.path, "seq", d.Message.Seq, "err", err)
		s.c.b.Taken(*d)
		return false
	}
	if d.Body == nil && d.Content.BodySize() > 0 {
		s.c.mu.Unlock()
		body, err := s.c.b.DeliveryBody(s.c.ctx, *d)
		s.c.mu.Lock()
		switch {
		case o.over:
			if err == nil {
				_ = body.Close()
			}
			s.c.mail.put(mail{kind: mailDelivered, out: o, delivery: d}) // to be given back
			return false
		case err != nil:
			// Its lock runs out and that counts, so that it does not stand in the way for ever.
			if !errors.Is(err, context.Canceled) {
				s.c.log.Error("a message was taken whose body cannot be read", "path", o.path, "err", err)
			}
			s.c.b.Taken(*d)
			return false
		}
		cur.body, cur.split.Stream, cur.split.StreamSize = body, cur.envelope.Stream(body), cur.envelope.BodySize()
	} else {
		cur.split.Body = cur.envelope.Body(d.Body)
	}
	cur.split.Head, cur.split.Tail = cur.envelope.Head, cur.envelope.Tail
	cur.split.Channel, cur.split.MaxFrame = s.channel, s.c.peer.maxFrame
	id := s.nextID
	s.nextID++
	t := wire.Transfer{Handle: o.handle, DeliveryID: wire.Some(id), MessageFormat: wire.Some[uint32](0), Settled: wire.Some(d.Deleted)}
	if d.Deleted {
		t.DeliveryTag = []byte{}
	} else {
		tag := wire.LockTag(d.Token())
		t.DeliveryTag = tag[:]
		s.deliveries[id] = held{to: o, token: d.Token()}
		o.unsettled++
	}
	cur.split.Transfer = t
	o.current = cur
	o.count++
	return true
}
