// Package amqptest is an AMQP client for tests of a server. It sends exactly what a test
// wants, valid or not, and records everything that it receives.
package amqptest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"mayfly/web/amqp/wire"
)

// A Client is the client's end of a connection. Its own goroutine reads, so a test can write
// without reading; StopReading pauses it. A failed write ends the test. Its methods are for use by
// one goroutine.
type Client struct {
	// ServerOpen is the server's open.
	ServerOpen wire.Open

	t  testing.TB
	nc net.Conn

	mu             sync.Mutex
	arrived        sync.Cond
	frames         []Frame
	err            error // the error that ended reading
	readingStopped bool
	lastReceived   time.Time // when bytes last arrived
}

// A Frame is a frame from the server.
type Frame struct {
	Channel uint16
	Body    wire.Performative
}

// Connect sends the protocol header over nc and opens a connection, without SASL. The
// connection is closed when the test ends.
func Connect(t testing.TB, nc net.Conn, open wire.Open) *Client {
	t.Helper()
	c := &Client{t: t, nc: nc}
	c.arrived.L = &c.mu
	t.Cleanup(func() { _ = nc.Close(); c.ResumeReading() })
	if open.ContainerID == "" {
		open.ContainerID = "a test"
	}
	r := &wire.Reader{From: nc, MaxFrame: open.MaxFrameSize.Or(1 << 20)}
	begun := make(chan error, 1)
	go func() {
		_, err := r.Protocol()
		begun <- err
		if err == nil {
			c.readFrames(r)
		}
	}()
	c.Write(wire.ProtocolAMQP.Append(nil))
	if err := <-begun; err != nil {
		t.Fatalf("the server's header: %v", err)
	}
	c.WriteFrames(0, &open)
	c.ServerOpen = *Expect[*wire.Open](c)
	return c
}

func (c *Client) readFrames(r *wire.Reader) {
	for {
		f, err := r.Frame()
		c.mu.Lock()
		c.lastReceived = time.Now()
		c.mu.Unlock()
		if err == nil && f.IsHeartbeat() {
			continue
		}
		var p wire.Performative
		if err == nil {
			f.Body = bytes.Clone(f.Body)
			p, err = wire.Decode(f)
		}
		c.mu.Lock()
		if err != nil {
			c.err = err
			c.arrived.Broadcast()
			c.mu.Unlock()
			return
		}
		c.frames = append(c.frames, Frame{f.Channel, p})
		c.arrived.Broadcast()
		for c.readingStopped {
			c.arrived.Wait()
		}
		c.mu.Unlock()
	}
}

// StopReading makes the client stop reading after the next frame, until ResumeReading is called.
func (c *Client) StopReading() { c.setReadingStopped(true) }

// ResumeReading reverses StopReading.
func (c *Client) ResumeReading() { c.setReadingStopped(false) }

func (c *Client) setReadingStopped(deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readingStopped = deaf
	c.arrived.Broadcast()
}

// Write sends bytes unchanged.
func (c *Client) Write(b []byte) {
	c.t.Helper()
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatalf("write: %v; frames not yet read: %v", err, c.Pending())
	}
}

// WriteFrames sends performatives in one write.
func (c *Client) WriteFrames(channel uint16, all ...wire.Performative) {
	c.t.Helper()
	var b []byte
	for _, p := range all {
		b = wire.AppendFrame(b, channel, p)
	}
	c.Write(b)
}

// Next returns the next frame that is not a heartbeat, or the error that ended reading:
// io.EOF if the server has closed the connection.
func (c *Client) Next() (Frame, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.frames) == 0 && c.err == nil {
		c.arrived.Wait()
	}
	if len(c.frames) == 0 {
		return Frame{}, c.err
	}
	f := c.frames[0]
	c.frames = c.frames[1:]
	return f, nil
}

// Pending returns the frames that Next has not returned yet.
func (c *Client) Pending() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.frames)
}

// LastReceived returns the time at which the last bytes arrived, including those of heartbeats.
func (c *Client) LastReceived() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastReceived
}

// ReadError returns the error that ended reading, even while frames are pending, or nil.
func (c *Client) ReadError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Disconnect closes the connection without a close frame.
func (c *Client) Disconnect() { _ = c.nc.Close() }

// Expect returns the next frame of type P. It skips flows before it. Any other frame or an error
// ends the test.
func Expect[P wire.Performative](c *Client) P {
	c.t.Helper()
	for {
		f, err := c.Next()
		if err != nil {
			var none P
			c.t.Fatalf("expected %T: %v", none, err)
		}
		if p, ok := f.Body.(P); ok {
			return p
		}
		if _, ok := f.Body.(*wire.Flow); !ok {
			var none P
			c.t.Fatalf("expected %T, got %s", none, Format(f.Body))
		}
	}
}

// Format formats a performative for the message of a failed test.
func Format(p wire.Performative) string {
	var why *wire.Error
	switch p := p.(type) {
	case *wire.Close:
		why = p.Error
	case *wire.End:
		why = p.Error
	case *wire.Detach:
		why = p.Error
	}
	if why != nil {
		return fmt.Sprintf("%T because of %s: %s", p, why.Condition, why.Description)
	}
	return fmt.Sprintf("%T%+v", p, p)
}

// Begin begins a session.
func (c *Client) Begin(channel uint16) *wire.Begin {
	c.t.Helper()
	c.WriteFrames(channel, &wire.Begin{IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20})
	return Expect[*wire.Begin](c)
}

// Attach attaches a link and returns the server's attach. A refusal ends the test.
func (c *Client) Attach(channel uint16, a wire.Attach) *wire.Attach {
	c.t.Helper()
	c.WriteFrames(channel, &a)
	answer := Expect[*wire.Attach](c)
	refused := answer.Target == nil && answer.Coordinator == nil
	if a.Role == wire.RoleReceiver {
		refused = answer.Source == nil
	}
	if refused {
		c.t.Fatalf("the attach was refused: %+v", Expect[*wire.Detach](c).Error)
	}
	return answer
}

// AttachSender attaches a link that sends to `address`, waits for its credit, and returns the
// server's attach.
func (c *Client) AttachSender(channel uint16, handle uint32, address string) *wire.Attach {
	c.t.Helper()
	a := c.Attach(channel, SenderAttach(handle, address))
	Expect[*wire.Flow](c)
	return a
}

// SenderAttach returns the attach of a link that sends to address.
func SenderAttach(handle uint32, address string) wire.Attach {
	return wire.Attach{
		Name: fmt.Sprint("to ", address, " ", handle), Handle: handle, Role: wire.RoleSender, Source: &wire.Source{},
		Target: &wire.Target{Address: wire.Some(address)}, InitialDeliveryCount: wire.Some[uint32](0),
	}
}

// ReceiverAttach returns the attach of a link that receives from address in peek-lock mode.
func ReceiverAttach(handle uint32, address string) wire.Attach {
	return wire.Attach{
		Name: fmt.Sprint("from ", address, " ", handle), Handle: handle, Role: wire.RoleReceiver, Target: &wire.Target{},
		Source: &wire.Source{Address: wire.Some(address)}, ReceiverSettleMode: wire.Some(wire.ReceiverSecond),
	}
}

// CoordinatorAttach returns the attach of a link to the transaction coordinator.
func CoordinatorAttach(handle uint32) wire.Attach {
	return wire.Attach{
		Name: fmt.Sprint("transactions ", handle), Handle: handle, Role: wire.RoleSender, Source: &wire.Source{},
		Coordinator: &wire.Coordinator{Capabilities: []string{"amqp:local-transactions"}}, InitialDeliveryCount: wire.Some[uint32](0),
	}
}

// MessageTransfer returns a transfer of a whole message.
func MessageTransfer(handle, id uint32, message []byte) *wire.Transfer {
	return &wire.Transfer{
		Handle: handle, DeliveryID: wire.Some(id), DeliveryTag: []byte{byte(id >> 8), byte(id)}, MessageFormat: wire.Some[uint32](0),
		Settled: wire.Some(false), Payload: message,
	}
}

// DataMessage returns a message with one data section, which contains body.
func DataMessage(body []byte) []byte {
	return append(wire.AppendDataHeader(nil, uint32(len(body))), body...)
}

// Send sends a message, in several transfers if it is large, and returns its outcome.
func (c *Client) Send(channel uint16, handle, id uint32, message []byte) wire.State {
	c.t.Helper()
	c.SendInPieces(channel, handle, id, message, 60_000)
	return c.WaitForOutcome(id)
}

// WaitForOutcome waits for the outcome of a delivery that the client sent.
func (c *Client) WaitForOutcome(id uint32) wire.State {
	c.t.Helper()
	d := Expect[*wire.Disposition](c)
	if d.Role != wire.RoleReceiver || d.First != id || d.Last.Or(id) != id || !d.Settled {
		c.t.Fatalf("expected a settled outcome of delivery %d, got %s", id, Format(d))
	}
	return d.State
}

// SendInPieces sends a message in transfers of at most piece bytes.
func (c *Client) SendInPieces(channel uint16, handle, id uint32, message []byte, piece int) {
	c.t.Helper()
	t := MessageTransfer(handle, id, nil)
	for {
		n := min(piece, len(message))
		t.Payload, message = message[:n], message[n:]
		t.More = len(message) > 0
		c.WriteFrames(channel, t)
		if !t.More {
			return
		}
		t.DeliveryID, t.DeliveryTag, t.MessageFormat, t.Settled = wire.Opt[uint32]{}, nil, wire.Opt[uint32]{}, wire.Opt[bool]{}
	}
}

// GrantCredit gives a receiving link credit. `count` is how many deliveries the link has received.
func (c *Client) GrantCredit(channel uint16, handle, count, credit uint32) {
	c.t.Helper()
	c.WriteFrames(channel, &wire.Flow{
		NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20,
		Handle: wire.Some(handle), DeliveryCount: wire.Some(count), LinkCredit: wire.Some(credit),
	})
}

// ReceiveDelivery returns the next delivery: its first transfer, with the payload of all of them.
func (c *Client) ReceiveDelivery() *wire.Transfer {
	c.t.Helper()
	first := Expect[*wire.Transfer](c)
	for more := first.More; more; {
		t := Expect[*wire.Transfer](c)
		first.Payload, more = append(first.Payload, t.Payload...), t.More
	}
	return first
}

// DataOf decodes a message and returns the content of its body.
func (c *Client) DataOf(message []byte) []byte {
	c.t.Helper()
	var m wire.Message
	if err := m.Decode(message); err != nil {
		c.t.Fatalf("a message that was received: %v", err)
	}
	return m.Body.Content()
}

// WaitForClose waits for the server's close and the end of the connection, and returns the
// error of the close.
func (c *Client) WaitForClose() *wire.Error {
	c.t.Helper()
	p := Expect[*wire.Close](c)
	_ = c.nc.Close()
	for {
		if _, err := c.Next(); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && c.ReadError() == nil {
				c.t.Errorf("after the close: %v", err)
			}
			return p.Error
		}
	}
}

// String formats f for the message of a failed test.
func (f Frame) String() string { return fmt.Sprint(f.Channel, " ", Format(f.Body)) }
