// Package amqptest is a client for tests of an AMQP server: it says exactly what
// it is told to, sensible or not, and hears everything.
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

// A Client is one end of a connection. A goroutine of its own reads what comes, so
// that a test may write as long as it likes; Deafen ends that. Failures to write
// end the test. Its methods are for one goroutine.
type Client struct {
	// Opened is the server's open.
	Opened wire.Open

	t  testing.TB
	nc net.Conn

	mu     sync.Mutex
	heard  sync.Cond
	list   []Frame
	err    error // why nothing more comes
	deaf   bool
	latest time.Time // that something came
}

// A Frame is one that the server has sent.
type Frame struct {
	Channel uint16
	Body    wire.Performative
}

// Connect says hello over nc and opens a connection, without SASL. It is closed
// when the test ends.
func Connect(t testing.TB, nc net.Conn, open wire.Open) *Client {
	t.Helper()
	c := &Client{t: t, nc: nc}
	c.heard.L = &c.mu
	t.Cleanup(func() { _ = nc.Close(); c.Listen() })
	if open.ContainerID == "" {
		open.ContainerID = "a test"
	}
	r := &wire.Reader{From: nc, MaxFrame: open.MaxFrameSize.Or(1 << 20)}
	begun := make(chan error, 1)
	go func() {
		_, err := r.Protocol()
		begun <- err
		if err == nil {
			c.listen(r)
		}
	}()
	c.Write(wire.ProtocolAMQP.Append(nil))
	if err := <-begun; err != nil {
		t.Fatalf("the server's header: %v", err)
	}
	c.Say(0, &open)
	c.Opened = *Hear[*wire.Open](c)
	return c
}

func (c *Client) listen(r *wire.Reader) {
	for {
		f, err := r.Frame()
		c.mu.Lock()
		c.latest = time.Now()
		c.mu.Unlock()
		if err == nil && f.Heartbeat() {
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
			c.heard.Broadcast()
			c.mu.Unlock()
			return
		}
		c.list = append(c.list, Frame{f.Channel, p})
		c.heard.Broadcast()
		for c.deaf {
			c.heard.Wait()
		}
		c.mu.Unlock()
	}
}

// Deafen has the client read nothing more than what comes next, until Listen.
func (c *Client) Deafen() { c.setDeaf(true) }

// Listen ends what Deafen began.
func (c *Client) Listen() { c.setDeaf(false) }

func (c *Client) setDeaf(deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = deaf
	c.heard.Broadcast()
}

// Write sends bytes as they are.
func (c *Client) Write(b []byte) {
	c.t.Helper()
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatalf("write: %v, and unheard: %v", err, c.Pending())
	}
}

// Say sends performatives in one piece.
func (c *Client) Say(channel uint16, all ...wire.Performative) {
	c.t.Helper()
	var b []byte
	for _, p := range all {
		b = wire.AppendFrame(b, channel, p)
	}
	c.Write(b)
}

// Next is the next frame, heartbeats apart, or why there is none: io.EOF when the
// server has closed the connection.
func (c *Client) Next() (Frame, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.list) == 0 && c.err == nil {
		c.heard.Wait()
	}
	if len(c.list) == 0 {
		return Frame{}, c.err
	}
	f := c.list[0]
	c.list = c.list[1:]
	return f, nil
}

// Pending is what has come and was not heard.
func (c *Client) Pending() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// Heard is when something came last, be it a heartbeat.
func (c *Client) Heard() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}

// Gone tells whether the server has closed the connection, all before heard or
// not.
func (c *Client) Gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Hang closes the connection without a word.
func (c *Client) Hang() { _ = c.nc.Close() }

// Hear is the next frame of this kind. What comes before it is forgotten if it is
// a flow, and ends the test otherwise.
func Hear[P wire.Performative](c *Client) P {
	c.t.Helper()
	for {
		f, err := c.Next()
		if err != nil {
			var none P
			c.t.Fatalf("%T was expected: %v", none, err)
		}
		if p, ok := f.Body.(P); ok {
			return p
		}
		if _, ok := f.Body.(*wire.Flow); !ok {
			var none P
			c.t.Fatalf("%T was expected, and %s came", none, Show(f.Body))
		}
	}
}

// Show is a performative for people.
func Show(p wire.Performative) string {
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
	c.Say(channel, &wire.Begin{IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20})
	return Hear[*wire.Begin](c)
}

// Attach attaches a link and is the server's answer. A refused one ends the test.
func (c *Client) Attach(channel uint16, a wire.Attach) *wire.Attach {
	c.t.Helper()
	c.Say(channel, &a)
	answer := Hear[*wire.Attach](c)
	refused := answer.Target == nil && answer.Coordinator == nil
	if a.Role == wire.RoleReceiver {
		refused = answer.Source == nil
	}
	if refused {
		c.t.Fatalf("the attach was refused: %+v", Hear[*wire.Detach](c).Error)
	}
	return answer
}

// Sender attaches a link that sends to address, and waits for its credit.
func (c *Client) Sender(channel uint16, handle uint32, address string) *wire.Attach {
	c.t.Helper()
	a := c.Attach(channel, Sends(handle, address))
	Hear[*wire.Flow](c)
	return a
}

// Sends is an attach of a link that sends to address.
func Sends(handle uint32, address string) wire.Attach {
	return wire.Attach{
		Name: fmt.Sprint("to ", address, " ", handle), Handle: handle, Role: wire.RoleSender, Source: &wire.Source{},
		Target: &wire.Target{Address: wire.Some(address)}, InitialDeliveryCount: wire.Some[uint32](0),
	}
}

// Receives is an attach of a link that receives from address, with locks.
func Receives(handle uint32, address string) wire.Attach {
	return wire.Attach{
		Name: fmt.Sprint("from ", address, " ", handle), Handle: handle, Role: wire.RoleReceiver, Target: &wire.Target{},
		Source: &wire.Source{Address: wire.Some(address)}, ReceiverSettleMode: wire.Some(wire.ReceiverSecond),
	}
}

// Coordinates is an attach of a link that transactions are declared on.
func Coordinates(handle uint32) wire.Attach {
	return wire.Attach{
		Name: fmt.Sprint("transactions ", handle), Handle: handle, Role: wire.RoleSender, Source: &wire.Source{},
		Coordinator: &wire.Coordinator{Capabilities: []string{"amqp:local-transactions"}}, InitialDeliveryCount: wire.Some[uint32](0),
	}
}

// Delivery is one transfer of a whole message.
func Delivery(handle, id uint32, message []byte) *wire.Transfer {
	return &wire.Transfer{
		Handle: handle, DeliveryID: wire.Some(id), DeliveryTag: []byte{byte(id >> 8), byte(id)}, MessageFormat: wire.Some[uint32](0),
		Settled: wire.Some(false), Payload: message,
	}
}

// Data is a message whose body is of this data.
func Data(body []byte) []byte { return append(wire.AppendDataHead(nil, uint32(len(body))), body...) }

// Send sends a message, in several transfers if it is large, and is what became of
// it.
func (c *Client) Send(channel uint16, handle, id uint32, message []byte) wire.State {
	c.t.Helper()
	c.Split(channel, handle, id, message, 60_000)
	return c.Outcome(id)
}

// Outcome is what the server says became of a delivery of the client's.
func (c *Client) Outcome(id uint32) wire.State {
	c.t.Helper()
	d := Hear[*wire.Disposition](c)
	if d.Role != wire.RoleReceiver || d.First != id || d.Last.Or(id) != id || !d.Settled {
		c.t.Fatalf("delivery %d was to be settled, and what came is %s", id, Show(d))
	}
	return d.State
}

// Split sends a message in transfers of so many bytes.
func (c *Client) Split(channel uint16, handle, id uint32, message []byte, piece int) {
	c.t.Helper()
	t := Delivery(handle, id, nil)
	for {
		n := min(piece, len(message))
		t.Payload, message = message[:n], message[n:]
		t.More = len(message) > 0
		c.Say(channel, t)
		if !t.More {
			return
		}
		t.DeliveryID, t.DeliveryTag, t.MessageFormat, t.Settled = wire.Opt[uint32]{}, nil, wire.Opt[uint32]{}, wire.Opt[bool]{}
	}
}

// Credit gives a receiving link credit; count is how many deliveries it has had.
func (c *Client) Credit(channel uint16, handle, count, credit uint32) {
	c.t.Helper()
	c.Say(channel, &wire.Flow{
		NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20,
		Handle: wire.Some(handle), DeliveryCount: wire.Some(count), LinkCredit: wire.Some(credit),
	})
}

// Receive is the next delivery, whole: its first transfer, with all of the
// message.
func (c *Client) Receive() *wire.Transfer {
	c.t.Helper()
	first := Hear[*wire.Transfer](c)
	for more := first.More; more; {
		t := Hear[*wire.Transfer](c)
		first.Payload, more = append(first.Payload, t.Payload...), t.More
	}
	return first
}

// Body is the data of a message.
func (c *Client) Body(message []byte) []byte {
	c.t.Helper()
	var m wire.Message
	if err := m.Decode(message); err != nil {
		c.t.Fatalf("a message that was received: %v", err)
	}
	return m.Body.Content()
}

// Closed waits for the server's close and the end of the connection, and is why.
func (c *Client) Closed() *wire.Error {
	c.t.Helper()
	p := Hear[*wire.Close](c)
	_ = c.nc.Close()
	for {
		if _, err := c.Next(); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && c.Gone() == nil {
				c.t.Errorf("after the close: %v", err)
			}
			return p.Error
		}
	}
}

// String is for people.
func (f Frame) String() string { return fmt.Sprint(f.Channel, " ", Show(f.Body)) }
