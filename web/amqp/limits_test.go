package amqp_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// Each limit is tested at its boundary. A client that exceeds it affects no other client.
func TestLimits(t *testing.T) {
	for limit, b := range map[string]struct {
		to   string
		test func(h bubbleWorld)
	}{
		"connections": {"3", func(h bubbleWorld) { // including the healthy client's
			idle := h.connect()
			idle.Begin(0) // the answer shows that the connection is admitted
			for range 2 {
				h.sender()
			}
			h.because(idle.WaitForClose(), wire.CondConnectionForced) // the new connection displaces this one, because it has no link
			c := h.connect()
			h.because(c.WaitForClose(), wire.CondResourceLimitExceeded)
			h.connect().Disconnect()
		}},
		"connection-sessions": {"2", func(h bubbleWorld) {
			c := h.connect()
			if most := c.ServerOpen.ChannelMax; most != wire.Some[uint16](1) {
				h.Errorf("the channel-max is %v", most)
			}
			c.Begin(0)
			c.Begin(1)
			c.WriteFrames(1, &wire.End{})
			amqptest.Expect[*wire.End](c)
			c.Begin(1)
			c.WriteFrames(2, &wire.Begin{})
			h.because(c.WaitForClose(), wire.CondResourceLimitExceeded)
		}},
		"connection-links": {"2", func(h bubbleWorld) {
			c := h.sender()
			c.Begin(1)
			c.AttachSender(1, 7, "q")
			for range 2 { // the link is refused, and the connection stays
				h.because(h.refused(c, 1, amqptest.SenderAttach(8, "q")), wire.CondResourceLimitExceeded)
			}
			c.WriteFrames(1, &wire.Detach{Handle: 7, Closed: true})
			amqptest.Expect[*wire.Detach](c)
			c.AttachSender(1, 8, "q")
			h.accepted(c.Send(0, 0, 0, amqptest.DataMessage(nil)))
		}},
		"link-unsettled": {"3", func(h bubbleWorld) {
			c := h.sender()
			for id := range uint32(5) {
				h.accepted(c.Send(0, 0, id, amqptest.DataMessage([]byte{byte(id)})))
			}
			c.Attach(0, amqptest.ReceiverAttach(1, "q"))
			c.GrantCredit(0, 1, 0, 100)
			for range 3 {
				c.ReceiveDelivery()
			}
			h.accepted(c.Send(0, 0, 9, amqptest.DataMessage(nil))) // no other frame comes before this answer
			c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: 1, Settled: true, State: wire.Accepted{}})
			if got := c.DataOf(c.ReceiveDelivery().Payload); got[0] != 3 {
				h.Errorf("received %v", got)
			}
		}},
		"frame-size": {"1000", func(h bubbleWorld) {
			c := h.sender()
			if most := c.ServerOpen.MaxFrameSize; most != wire.Some[uint32](1000) {
				h.Errorf("the max-frame-size is %v", most)
			}
			d := amqptest.MessageTransfer(0, 0, nil)
			over := len(wire.AppendFrame(nil, 0, d)) + 8
			d.Payload = amqptest.DataMessage(pattern(1000 - over))
			c.WriteFrames(0, d)
			h.accepted(c.WaitForOutcome(0))
			d.Payload = amqptest.DataMessage(pattern(1000 - over + 1))
			d.DeliveryID = wire.Some[uint32](1)
			c.WriteFrames(0, d)
			h.because(c.WaitForClose(), wire.CondFramingError)
		}},
	} {
		t.Run(limit, func(t *testing.T) {
			inBubble(t, map[string]string{limit: b.to}, func(h bubbleWorld) {
				healthy := h.sender()
				b.test(h)
				h.accepted(healthy.Send(0, 0, 100, amqptest.DataMessage([]byte("healthy"))))
			})
		})
	}
}

// refused attaches a link that must be refused, and returns the error of the detach. The attach in
// the answer must have no terminus.
func (h bubbleWorld) refused(c *amqptest.Client, channel uint16, a wire.Attach) *wire.Error {
	h.Helper()
	c.WriteFrames(channel, &a)
	answer := amqptest.Expect[*wire.Attach](c)
	if a.Role == wire.RoleSender && (answer.Target != nil || answer.Coordinator != nil) || a.Role == wire.RoleReceiver && answer.Source != nil {
		h.Error("the answer to a refused attach has a terminus")
	}
	d := amqptest.Expect[*wire.Detach](c)
	if !d.Closed || d.Handle != a.Handle || d.Error == nil {
		h.Fatalf("%s", amqptest.Format(d))
	}
	return d.Error
}

func (h bubbleWorld) because(e *wire.Error, want wire.Condition) {
	h.Helper()
	if e == nil || e.Condition != want || e.Description == "" {
		h.Errorf("the error is %+v; want %s", e, want)
	}
}

// A client that sends more messages than its credit allows loses that link, and its other links
// stay.
func TestSendersCredit(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.connect()
		c.Begin(0)
		a := amqptest.SenderAttach(0, "q")
		a.InitialDeliveryCount = wire.Some[uint32](1<<32 - 600) // it wraps around
		c.Attach(0, a)
		f := amqptest.Expect[*wire.Flow](c)
		if f.DeliveryCount != wire.Some[uint32](1<<32-600) || f.LinkCredit != wire.Some[uint32](1000) {
			t.Errorf("the first flow is %+v", f)
		}
		limit := f.DeliveryCount.Or(0) + f.LinkCredit.Or(0)
		// The credit in a client's flow for a link on which it sends is ignored.
		c.WriteFrames(0, &wire.Flow{Handle: wire.Some[uint32](0), DeliveryCount: wire.Some[uint32](5), LinkCredit: wire.Some[uint32](10_000), IncomingWindow: 1 << 16, OutgoingWindow: 1 << 16})
		count := f.DeliveryCount.Or(0)
		for id := range uint32(5000) {
			if count == limit {
				t.Fatalf("the credit is used up after %d messages", id)
			}
			c.WriteFrames(0, amqptest.MessageTransfer(0, id, amqptest.DataMessage(nil)))
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
		first := amqptest.MessageTransfer(0, 5000, nil)
		first.More = true
		for i := range uint32(1100) { // aborted ones use up credit too
			first.DeliveryID = wire.Some(5000 + i)
			c.WriteFrames(0, first, &wire.Transfer{Handle: 0, Aborted: true})
		}
		h.accepted(c.Send(0, 0, 9000, amqptest.DataMessage(nil)))
		c.AttachSender(0, 1, "q")
		c.StopReading() // credit is granted together with outcomes, which the client does not read
		var all []byte
		for id := range uint32(20_000) {
			all = wire.AppendFrame(all, 0, amqptest.MessageTransfer(1, 10_000+id, amqptest.DataMessage(nil)))
		}
		c.Write(all)
		c.ResumeReading()
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
				t.Fatal(amqptest.Format(d))
			}
		}
		h.accepted(c.Send(0, 0, 40_000, amqptest.DataMessage(nil)))
	})
}

// A transfer with an invalid field ends its link, and further transfers on it are ignored. Other
// links of the session stay usable.
func TestDelivery(t *testing.T) {
	for name, c := range map[string]struct {
		says []*wire.Transfer
		want wire.Condition
	}{
		"no id":          {[]*wire.Transfer{{Handle: 0, Payload: amqptest.DataMessage(nil)}}, wire.CondInvalidField},
		"another's id":   {[]*wire.Transfer{{Handle: 0, DeliveryID: wire.Some[uint32](1), More: true}, {Handle: 0, DeliveryID: wire.Some[uint32](2)}}, wire.CondInvalidField},
		"another format": {[]*wire.Transfer{{Handle: 0, DeliveryID: wire.Some[uint32](1), More: true}, {Handle: 0, MessageFormat: wire.Some[uint32](1)}}, wire.CondInvalidField},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				client := h.sender()
				client.AttachSender(0, 1, "q")
				for _, p := range c.says {
					client.WriteFrames(0, p)
				}
				h.because(amqptest.Expect[*wire.Detach](client).Error, c.want)
				client.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true}, &wire.Transfer{Handle: 0, DeliveryID: wire.Some[uint32](3)})
				h.accepted(client.Send(0, 1, 4, amqptest.DataMessage(nil)))
			})
		})
	}
}

// Settled messages get no outcome, even if they are refused. Transfers after the first
// may repeat or omit the delivery id. Tags may be empty.
func TestTransfers(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.sender()
		whole := amqptest.DataMessage([]byte(strings.Repeat("x", 300)))
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
				c.WriteFrames(0, &transfers[j])
			}
			if i < 4 || i == 7 {
				h.accepted(c.WaitForOutcome(uint32(i)))
			}
		}
		if n := h.active("q"); n != 7 {
			t.Errorf("got %d messages", n)
		}
		for _, got := range h.receive(c, "q", 7) {
			h.same(got, []byte(strings.Repeat("x", 300)))
		}
	})
}

// A batch as large as its link permits is accepted: the broker's additions to messages do not
// count.
func TestFullBatch(t *testing.T) {
	for _, size := range []int{0, 20, 48, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			inBubble(t, map[string]string{"message-size": "262144", "batch-size": "262144"}, func(h bubbleWorld) {
				c := h.connect()
				c.Begin(0)
				a := c.AttachSender(0, 0, "q")
				one := amqptest.DataMessage(append(wire.AppendSection(nil, wire.SectionProperties, []byte{0x45}), amqptest.DataMessage(pattern(size))...))
				n := min(4500, int(a.MaxMessageSize.Or(0))/len(one))
				t.Logf("%d messages", n)
				for rest, first := bytes.Repeat(one, n), true; len(rest) > 0; first = false {
					k := min(60_000, len(rest))
					p := wire.Transfer{Handle: 0, More: k < len(rest), Payload: rest[:k]}
					if first {
						p.DeliveryID, p.MessageFormat = wire.Some[uint32](0), wire.Some(wire.FormatBatch)
					}
					c.WriteFrames(0, &p)
					rest = rest[k:]
				}
				h.accepted(c.WaitForOutcome(0))
			})
		})
	}
}
