package amqp_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// Each limit has its boundary, and who goes past it hurts nobody else.
func TestLimits(t *testing.T) {
	for limit, b := range map[string]struct {
		to   string
		test func(h house)
	}{
		"connections": {"3", func(h house) { // with the healthy one
			h.connect().Begin(0) // an answer says that it is let in
			h.connect().Begin(0)
			c := h.connect()
			h.because(c.Closed(), wire.CondResourceLimitExceeded)
			h.connect().Hang()
		}},
		"connection-sessions": {"2", func(h house) {
			c := h.connect()
			if most := c.Opened.ChannelMax; most != wire.Some[uint16](1) {
				h.Errorf("the last channel is %v", most)
			}
			c.Begin(0)
			c.Begin(1)
			c.Say(1, &wire.End{})
			amqptest.Hear[*wire.End](c)
			c.Begin(1)
			c.Say(2, &wire.Begin{})
			h.because(c.Closed(), wire.CondResourceLimitExceeded)
		}},
		"connection-links": {"2", func(h house) {
			c := h.sender()
			c.Begin(1)
			c.Sender(1, 7, "q")
			for range 2 { // the link is refused, and the connection stays
				h.because(h.refused(c, 1, amqptest.Sends(8, "q")), wire.CondResourceLimitExceeded)
			}
			c.Say(1, &wire.Detach{Handle: 7, Closed: true})
			amqptest.Hear[*wire.Detach](c)
			c.Sender(1, 8, "q")
			h.accepted(c.Send(0, 0, 0, amqptest.Data(nil)))
		}},
		"link-unsettled": {"3", func(h house) {
			c := h.sender()
			for id := range uint32(5) {
				h.accepted(c.Send(0, 0, id, amqptest.Data([]byte{byte(id)})))
			}
			c.Attach(0, amqptest.Receives(1, "q"))
			c.Credit(0, 1, 0, 100)
			for range 3 {
				c.Receive()
			}
			h.accepted(c.Send(0, 0, 9, amqptest.Data(nil))) // nothing else comes before this is answered
			c.Say(0, &wire.Disposition{Role: wire.RoleReceiver, First: 1, Settled: true, State: wire.Accepted{}})
			if got := c.Body(c.Receive().Payload); got[0] != 3 {
				h.Errorf("%v came", got)
			}
		}},
		"frame-size": {"1000", func(h house) {
			c := h.sender()
			if most := c.Opened.MaxFrameSize; most != wire.Some[uint32](1000) {
				h.Errorf("a frame may have %v bytes", most)
			}
			d := amqptest.Delivery(0, 0, nil)
			over := len(wire.AppendFrame(nil, 0, d)) + 8
			d.Payload = amqptest.Data(pattern(1000 - over))
			c.Say(0, d)
			h.accepted(c.Outcome(0))
			d.Payload = amqptest.Data(pattern(1000 - over + 1))
			d.DeliveryID = wire.Some[uint32](1)
			c.Say(0, d)
			h.because(c.Closed(), wire.CondFramingError)
		}},
	} {
		t.Run(limit, func(t *testing.T) {
			within(t, map[string]string{limit: b.to}, func(h house) {
				healthy := h.sender()
				b.test(h)
				h.accepted(healthy.Send(0, 0, 100, amqptest.Data([]byte("healthy"))))
			})
		})
	}
}

// refused is why an attach is.
func (h house) refused(c *amqptest.Client, channel uint16, a wire.Attach) *wire.Error {
	h.Helper()
	c.Say(channel, &a)
	answer := amqptest.Hear[*wire.Attach](c)
	if a.Role == wire.RoleSender && (answer.Target != nil || answer.Coordinator != nil) || a.Role == wire.RoleReceiver && answer.Source != nil {
		h.Error("the answer to a refused attach has a terminus")
	}
	d := amqptest.Hear[*wire.Detach](c)
	if !d.Closed || d.Handle != a.Handle || d.Error == nil {
		h.Fatalf("%s", amqptest.Show(d))
	}
	return d.Error
}

func (h house) because(e *wire.Error, want wire.Condition) {
	h.Helper()
	if e == nil || e.Condition != want || e.Description == "" {
		h.Errorf("it was because of %+v; want %s", e, want)
	}
}

// A client that sends more than it has credit for loses its link, and nothing
// else.
func TestSendersCredit(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.connect()
		c.Begin(0)
		a := amqptest.Sends(0, "q")
		a.InitialDeliveryCount = wire.Some[uint32](1<<32 - 600) // it wraps
		c.Attach(0, a)
		f := amqptest.Hear[*wire.Flow](c)
		if f.DeliveryCount != wire.Some[uint32](1<<32-600) || f.LinkCredit != wire.Some[uint32](1000) {
			t.Errorf("the first flow is %+v", f)
		}
		limit := f.DeliveryCount.Or(0) + f.LinkCredit.Or(0)
		// What a client says of the credit of a link that it sends on has no meaning.
		c.Say(0, &wire.Flow{Handle: wire.Some[uint32](0), DeliveryCount: wire.Some[uint32](5), LinkCredit: wire.Some[uint32](10_000), IncomingWindow: 1 << 16, OutgoingWindow: 1 << 16})
		count := f.DeliveryCount.Or(0)
		for id := range uint32(5000) {
			if count == limit {
				t.Fatalf("the credit is used up after %d", id)
			}
			c.Say(0, amqptest.Delivery(0, id, amqptest.Data(nil)))
			count++
			for answered := false; !answered; {
				frame, err := c.Next()
				if err != nil {
					t.Fatal(err)
				}
				switch p := frame.Body.(type) {
				case *wire.Flow:
					if _, ok := p.Handle.Get(); ok {
						limit = p.DeliveryCount.Or(0) + p.LinkCredit.Or(0)
						if count-p.DeliveryCount.Or(0) > 1 || p.LinkCredit.Or(0) > 1000 {
							t.Fatalf("after %d: %+v", id, p)
						}
					}
				case *wire.Disposition:
					answered = true
				}
			}
		}
		first := amqptest.Delivery(0, 5000, nil)
		first.More = true
		for i := range uint32(1100) { // aborted ones use it up, too, until it comes back
			first.DeliveryID = wire.Some(5000 + i)
			c.Say(0, first, &wire.Transfer{Handle: 0, Aborted: true})
		}
		h.accepted(c.Send(0, 0, 9000, amqptest.Data(nil)))
		c.Sender(0, 1, "q")
		c.Deafen() // its credit comes back with answers, which it does not read
		var all []byte
		for id := range uint32(20_000) {
			all = wire.AppendFrame(all, 0, amqptest.Delivery(1, 10_000+id, amqptest.Data(nil)))
		}
		c.Write(all)
		c.Listen()
		for {
			frame, err := c.Next()
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := frame.Body.(*wire.Detach); ok {
				h.because(d.Error, wire.CondTransferLimitExceeded)
				break
			}
			if d, ok := frame.Body.(*wire.Close); ok {
				t.Fatal(amqptest.Show(d))
			}
		}
		h.accepted(c.Send(0, 0, 40_000, amqptest.Data(nil)))
	})
}

// What a client may not say of a delivery ends its link.
func TestDelivery(t *testing.T) {
	for name, c := range map[string]struct {
		says []*wire.Transfer
		want wire.Condition
	}{
		"no id":          {[]*wire.Transfer{{Handle: 0, Payload: amqptest.Data(nil)}}, wire.CondInvalidField},
		"another's id":   {[]*wire.Transfer{{Handle: 0, DeliveryID: wire.Some[uint32](1), More: true}, {Handle: 0, DeliveryID: wire.Some[uint32](2)}}, wire.CondInvalidField},
		"another format": {[]*wire.Transfer{{Handle: 0, DeliveryID: wire.Some[uint32](1), More: true}, {Handle: 0, MessageFormat: wire.Some[uint32](1)}}, wire.CondInvalidField},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, nil, func(h house) {
				client := h.sender()
				client.Sender(0, 1, "q")
				for _, p := range c.says {
					client.Say(0, p)
				}
				h.because(amqptest.Hear[*wire.Detach](client).Error, c.want)
				client.Say(0, &wire.Detach{Handle: 0, Closed: true}, &wire.Transfer{Handle: 0, DeliveryID: wire.Some[uint32](3)})
				h.accepted(client.Send(0, 1, 4, amqptest.Data(nil)))
			})
		})
	}
}

// Settled messages are not answered, also when they are refused; ids may be
// repeated or left out in what follows the first transfer; tags may be empty.
func TestTransfers(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.sender()
		whole := amqptest.Data([]byte(strings.Repeat("x", 300)))
		for i, transfers := range [][]wire.Transfer{
			{{More: true, Payload: whole[:100]}, {More: true, Payload: whole[100:200]}, {Payload: whole[200:]}},
			{{More: true, Payload: whole[:100], DeliveryTag: []byte{}}, {DeliveryID: wire.Some[uint32](1), DeliveryTag: []byte{}, MessageFormat: wire.Some[uint32](0), Payload: whole[100:]}},
			{{More: true}, {More: true}, {Payload: whole}},
			{{More: true, Payload: whole}, {}},
			{{More: true, Payload: whole}, {Settled: wire.Some(true)}},
			{{Settled: wire.Some(true), Payload: whole}},
			{{Settled: wire.Some(true), Payload: []byte("junk")}},
			{{Payload: whole, ReceiverSettleMode: wire.Some(wire.ReceiverSecond), Batchable: true}},
		} {
			for j := range transfers {
				if j == 0 {
					transfers[j].DeliveryID = wire.Some(uint32(i))
				}
				c.Say(0, &transfers[j])
			}
			if i < 4 || i == 7 {
				h.accepted(c.Outcome(uint32(i)))
			}
		}
		if n := h.active("q"); n != 7 {
			t.Errorf("%d are there", n)
		}
		for _, got := range h.receive(c, "q", 7) {
			h.same(got, []byte(strings.Repeat("x", 300)))
		}
	})
}

// A batch as full as its link permits is taken: what a broker adds to messages
// that have little besides a body does not count.
func TestFullBatch(t *testing.T) {
	for _, size := range []int{0, 20, 48, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			within(t, map[string]string{"message-size": "262144", "batch-size": "262144"}, func(h house) {
				c := h.connect()
				c.Begin(0)
				a := c.Sender(0, 0, "q")
				one := amqptest.Data(append(wire.AppendSection(nil, wire.SectionProperties, []byte{0x45}), amqptest.Data(pattern(size))...))
				n := min(4500, int(a.MaxMessageSize.Or(0))/len(one))
				t.Logf("%d messages", n)
				for rest, first := bytes.Repeat(one, n), true; len(rest) > 0; first = false {
					k := min(60_000, len(rest))
					p := wire.Transfer{Handle: 0, More: k < len(rest), Payload: rest[:k]}
					if first {
						p.DeliveryID, p.MessageFormat = wire.Some[uint32](0), wire.Some(wire.FormatBatch)
					}
					c.Say(0, &p)
					rest = rest[k:]
				}
				h.accepted(c.Outcome(0))
			})
		})
	}
}
