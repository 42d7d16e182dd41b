package main

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"mayfly/web/amqp/wire"
)

// A conn is a connection to Mayfly with one session and one link.
type conn struct {
	nc     net.Conn
	r      wire.Reader
	failed func(error)

	mu     sync.Mutex
	out    []byte // to be written
	bell   chan struct{}
	closed bool
	room   *sync.Cond // for senders: the link has credit
	credit uint32
	sent   uint32

	onTransfer    func(t *wire.Transfer)
	onDisposition func(d *wire.Disposition)
}

const frameSize = 64 << 10

// dialConn opens a connection and a session. If reading or writing fails later, the connection calls
// failed with the error.
func dialConn(address string, failed func(error)) (*conn, error) {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &conn{nc: nc, r: wire.Reader{From: nc, MaxFrame: frameSize}, failed: failed, bell: make(chan struct{}, 1)}
	c.room = sync.NewCond(&c.mu)
	b := wire.ProtocolAMQP.Append(nil)
	b = wire.AppendFrame(b, 0, &wire.Open{ContainerID: "brokerbench", Hostname: wire.Some("localhost"), MaxFrameSize: wire.Some[uint32](frameSize)})
	b = wire.AppendFrame(b, 0, &wire.Begin{IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30})
	if _, err := nc.Write(b); err != nil {
		return nil, err
	}
	if _, err := c.r.Protocol(); err != nil {
		return nil, err
	}
	for _, want := range []wire.Code{wire.CodeOpen, wire.CodeBegin} {
		f, err := c.r.Frame()
		if err != nil {
			return nil, err
		}
		if code, err := wire.CodeOf(f.Body); err != nil || code != want {
			return nil, fmt.Errorf("got %v, want %v: %w", code, want, err)
		}
	}
	go c.write()
	return c, nil
}

// send queues a frame for writing.
func (c *conn) send(p wire.Performative) {
	c.mu.Lock()
	c.out = wire.AppendFrame(c.out, 0, p)
	c.mu.Unlock()
	c.ring()
}

func (c *conn) ring() {
	select {
	case c.bell <- struct{}{}:
	default:
	}
}

// write writes queued frames until the connection is closed. Each call of Write gets all frames
// that are queued by then.
func (c *conn) write() {
	var b []byte
	for range c.bell {
		c.mu.Lock()
		b, c.out = c.out, b[:0]
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return
		}
		if _, err := c.nc.Write(b); err != nil {
			c.failed(err)
			return
		}
	}
}

// read handles the frames of the server.
func (c *conn) read() {
	var t wire.Transfer
	var d wire.Disposition
	for {
		f, err := c.r.Frame()
		if err == nil && !f.IsHeartbeat() {
			err = c.handle(f, &t, &d)
		}
		if err != nil {
			c.mu.Lock()
			closed := c.closed
			c.closed = true
			c.room.Broadcast()
			c.mu.Unlock()
			if !closed {
				c.failed(err)
			}
			return
		}
		if !c.r.Buffered() {
			c.ring() // nothing is left to read: write the acknowledgements
		}
	}
}

func (c *conn) handle(f wire.Frame, t *wire.Transfer, d *wire.Disposition) error {
	code, err := wire.CodeOf(f.Body)
	if err != nil {
		return err
	}
	switch code {
	case wire.CodeTransfer:
		if err := t.Decode(f.Body); err != nil {
			return err
		}
		c.onTransfer(t)
	case wire.CodeDisposition:
		if err := d.Decode(f.Body); err != nil {
			return err
		}
		if _, ok := d.State.(wire.Accepted); !ok {
			return fmt.Errorf("the server says %#v", d.State)
		}
		c.onDisposition(d)
	case wire.CodeFlow:
		var flow wire.Flow
		if err := flow.Decode(f.Body); err != nil {
			return err
		}
		if !flow.Handle.IsSet() {
			return nil // a flow of the session, whose window is large enough
		}
		c.mu.Lock()
		c.credit = flow.DeliveryCount.Or(0) + flow.LinkCredit.Or(0)
		c.room.Broadcast()
		c.mu.Unlock()
	case wire.CodeDetach, wire.CodeEnd, wire.CodeClose:
		return fmt.Errorf("the server ended the link: %v", code)
	}
	return nil
}

// receive attaches a receiver to the queue, with credit.
func (c *conn) receive(credit uint32) error {
	c.send(&wire.Attach{
		Name: "receiver", Role: wire.RoleReceiver, ReceiverSettleMode: wire.Some(wire.ReceiverSecond),
		Source: &wire.Source{Address: wire.Some("q")}, Target: &wire.Target{},
	})
	c.grant(0, credit)
	go c.read()
	return nil
}

func (c *conn) grant(count, credit uint32) {
	c.send(&wire.Flow{NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30, Handle: wire.Some[uint32](0), DeliveryCount: wire.Some(count), LinkCredit: wire.Some(credit)})
}

func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.room.Broadcast()
	c.mu.Unlock()
	c.ring()
	return c.nc.Close()
}

// A lean client of Mayfly uses little processor time, so that the figures are those of the server.
type lean struct {
	out, in  *conn
	message  []byte
	finished atomic.Int64
}

func dialLean(address string, window int, h handlers) (*lean, error) {
	c := &lean{}
	var err error
	if c.out, err = dialConn(address, h.failed); err != nil {
		return nil, err
	}
	if c.in, err = dialConn(address, h.failed); err != nil {
		return nil, err
	}
	c.out.onDisposition = func(d *wire.Disposition) { h.confirmed(int(d.Last.Or(d.First)-d.First) + 1) }
	c.out.send(&wire.Attach{
		Name: "sender", Role: wire.RoleSender, Source: &wire.Source{}, Target: &wire.Target{Address: wire.Some("q")},
		InitialDeliveryCount: wire.Some[uint32](0),
	})
	go c.out.read()
	var count, granted uint32 // owned by c.in's reader
	granted = uint32(window)
	var m wire.Message
	c.in.onTransfer = func(t *wire.Transfer) {
		if err := m.Decode(t.Payload); err != nil {
			h.failed(err)
			return
		}
		h.received(m.Body.Content())
		id, _ := t.DeliveryID.Get()
		c.in.mu.Lock()
		c.in.out = wire.AppendFrame(c.in.out, 0, &wire.Disposition{Role: wire.RoleReceiver, First: id, Last: wire.Some(id), State: wire.Accepted{}})
		c.in.mu.Unlock()
		// An acknowledgement frees credit at once, as with the prefetch of the other
		// brokers, which do not confirm acknowledgements.
		if count++; count+uint32(window) >= granted+uint32(window)/4 {
			granted = count + uint32(window)
			c.in.grant(count, granted-count)
		}
	}
	c.in.onDisposition = func(d *wire.Disposition) {
		c.finished.Add(int64(d.Last.Or(d.First)-d.First) + 1)
	}
	return c, c.in.receive(granted)
}

var errClosed = errors.New("the connection is closed")

func (c *lean) publish(body []byte) error {
	k := c.out
	k.mu.Lock()
	for int32(k.credit-k.sent) <= 0 && !k.closed {
		k.room.Wait()
	}
	if k.closed {
		k.mu.Unlock()
		return errClosed
	}
	id := k.sent
	k.sent++
	c.message = append(wire.AppendDataHeader(c.message[:0], uint32(len(body))), body...)
	k.out = wire.AppendFrame(k.out, 0, &wire.Transfer{DeliveryID: wire.Some(id), DeliveryTag: []byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)}, MessageFormat: wire.Some(wire.FormatMessage), Payload: c.message})
	k.mu.Unlock()
	k.ring()
	return nil
}

func (c *lean) settled() int64 { return c.finished.Load() }

func (c *lean) close() error { return errors.Join(c.in.Close(), c.out.Close()) }
