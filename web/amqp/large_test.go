package amqp_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/storage/memory"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
)

// pattern returns n bytes without repetition.
func pattern(n int) []byte {
	b := make([]byte, n)
	x := uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// large creates a queue "large" for messages of ten megabytes, and returns a client of
// it.
func (h bubbleWorld) large() *amqptest.Client {
	h.Helper()
	h.b.CreateQueue("large", engine.Config{MaxMessageSizeInKilobytes: 10 << 10})
	c := h.connect()
	c.Begin(0)
	if a := c.AttachSender(0, 0, "large"); a.MaxMessageSize.Or(0) != 10<<20 {
		h.Errorf("the maximum message size is %v", a.MaxMessageSize)
	}
	return c
}

// receive receives n messages of a queue, which must be all of them.
func (h bubbleWorld) receive(c *amqptest.Client, path string, n int) (bodies [][]byte) {
	h.Helper()
	const handle = 99
	c.Attach(0, amqptest.ReceiverAttach(handle, path))
	c.GrantCredit(0, handle, 0, uint32(n))
	for range n {
		bodies = append(bodies, c.DataOf(c.ReceiveDelivery().Payload))
	}
	return bodies
}

func (h bubbleWorld) same(got, want []byte) {
	h.Helper()
	if !bytes.Equal(got, want) {
		h.Errorf("received %d bytes of %d, or other bytes", len(got), len(want))
	}
}

// A message is received as it was sent, whatever its size and the sizes of its pieces.
func TestLarge(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.large()
		id := uint32(0)
		for _, size := range []int{0, 1, 60_000, 65_536, 256 << 10, 256<<10 + 1, 300_000, 3_000_000, 10<<20 - 200} {
			body := pattern(size)
			for _, piece := range []int{65_000, 1 << 15} {
				c.SendInPieces(0, 0, id, amqptest.DataMessage(body), piece)
				h.accepted(c.WaitForOutcome(id))
				id++
				got := h.receive(c, "large", 1)
				h.same(got[0], body)
				c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: id - 1, Settled: true, State: wire.Accepted{}}, &wire.Detach{Handle: 99, Closed: true})
				amqptest.Expect[*wire.Detach](c)
			}
		}
		synctest.Wait()
		if n := h.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// A large message whose body is an AMQP value, not data, is received unchanged.
func TestLargeValue(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.large()
		body := wire.AppendValue(nil, value.OfString(string(bytes.Repeat([]byte("value "), 500_000))))
		h.accepted(c.Send(0, 0, 0, wire.AppendSection(nil, wire.SectionValue, body)))
		h.same(h.receive(c, "large", 1)[0], body)
	})
}

// Messages that follow a large one on its link follow it in the queue. On other links
// they do not wait.
func TestLargeOrder(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.large()
		c.AttachSender(0, 1, "q")
		large := wire.Transfer{Handle: 0, DeliveryID: wire.Some[uint32](0), DeliveryTag: []byte{0}, More: true, Payload: amqptest.DataMessage(pattern(1 << 20))[:60_000]}
		rest := amqptest.DataMessage(pattern(1 << 20))[60_000:]
		c.WriteFrames(0, &large)
		for i := uint32(1); len(rest) > 0; i++ { // between two pieces, a small message is sent on another link
			n := min(len(rest), 60_000)
			c.WriteFrames(0, &wire.Transfer{Handle: 0, More: n < len(rest), Payload: rest[:n]})
			rest = rest[n:]
			if len(rest) > 0 {
				h.accepted(c.Send(0, 1, i, amqptest.DataMessage([]byte("small"))))
			}
		}
		for i := range uint32(20) {
			c.SendInPieces(0, 0, 100+i, amqptest.DataMessage([]byte{byte(i)}), 100)
			c.SendInPieces(0, 0, 200+i, amqptest.DataMessage(pattern(300_000)), 60_000)
		}
		for range 41 {
			h.accepted(amqptest.Expect[*wire.Disposition](c).State)
		}
		got := h.receive(c, "large", 41)
		h.same(got[0], pattern(1<<20))
		for i := range 20 {
			h.same(got[1+2*i], []byte{byte(i)})
			h.same(got[2+2*i], pattern(300_000))
		}
		if n := h.active("q"); n != 16 {
			t.Errorf("got %d small messages", n)
		}
	})
}

// A message that is too large is refused when all of it has arrived. The link stays, and
// the message is not kept.
func TestTooLarge(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.sender()
		c.AttachSender(0, 1, "q")
		for id, size := range []int{1<<20 + 1, 1<<20 + 200_000, 5 << 20, 1<<20 + 128<<10} {
			h.rejected(c.Send(0, 0, uint32(id), amqptest.DataMessage(pattern(size))), wire.CondMessageSizeExceeded)
			h.accepted(c.Send(0, 0, 1000+uint32(id), amqptest.DataMessage(pattern(size%60_000))))
		}
		if n := h.active("q"); n != 4 {
			t.Errorf("got %d messages", n)
		}
		c.SendInPieces(0, 0, 50, amqptest.DataMessage(pattern(3 << 20))[:2<<20], 50_000) // a message that ends within a section
		h.rejected(c.WaitForOutcome(50), wire.CondMessageSizeExceeded)
		h.rejected(c.Send(0, 0, 51, amqptest.DataMessage(pattern(900_000))[:800_000]), wire.CondDecodeError)
		h.rejected(c.Send(0, 0, 52, append(amqptest.DataMessage(pattern(900_000)), 0, 0x53)), wire.CondDecodeError)
		c.WriteFrames(0, &wire.Transfer{Handle: 1, DeliveryID: wire.Some[uint32](60), DeliveryTag: []byte{}, Settled: wire.Some(true), Payload: amqptest.DataMessage(pattern(1 << 10))})
		h.accepted(c.Send(0, 1, 61, amqptest.DataMessage(nil)))
		synctest.Wait()
		if n := h.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// An aborted message has no effect, however much of it has arrived (AMQP 1.0 part 2,
// 2.7.5), and gets no answer.
func TestAborted(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "in two": 70_000, "streamed": 700_000} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				c := h.sender()
				whole := amqptest.DataMessage(pattern(size))
				for id := range uint32(1200) { // more than the credit, which is granted again
					first := amqptest.MessageTransfer(0, id, whole[:min(60_000, len(whole))])
					first.More = true
					c.WriteFrames(0, first)
					for rest := whole[len(first.Payload):]; len(rest) > 0 && id < 3; {
						n := min(60_000, len(rest))
						c.WriteFrames(0, &wire.Transfer{Handle: 0, More: true, Payload: rest[:n]})
						rest = rest[n:]
					}
					c.WriteFrames(0, &wire.Transfer{Handle: 0, Aborted: true, More: id%2 == 0})
					synctest.Wait()
				}
				h.accepted(c.Send(0, 0, 5000, amqptest.DataMessage(nil)))
				if n := h.active("q"); n != 1 {
					t.Errorf("got %d messages", n)
				}
				synctest.Wait()
				if n := h.s.IncomingBytes(); n != 0 {
					t.Errorf("%d bytes are kept", n)
				}
			})
		})
	}
}

// If a link, a session or a connection ends in the middle of a message, the message is not kept.
// Messages that were complete before are sent.
func TestHalfWay(t *testing.T) {
	for name, leave := range map[string]func(c *amqptest.Client){
		"detach": func(c *amqptest.Client) {
			c.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true})
			amqptest.Expect[*wire.Detach](c)
		},
		"end":     func(c *amqptest.Client) { c.WriteFrames(0, &wire.End{}); amqptest.Expect[*wire.End](c) },
		"close":   func(c *amqptest.Client) { c.WriteFrames(0, &wire.Close{}); c.WaitForClose() },
		"vanish":  func(c *amqptest.Client) { c.Disconnect() },
		"nothing": func(*amqptest.Client) {},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				c := h.large()
				for id := range uint32(3) { // settled, so the client gets no outcomes
					whole := amqptest.DataMessage(pattern(400_000))
					c.WriteFrames(0, &wire.Transfer{Handle: 0, DeliveryID: wire.Some(id), Settled: wire.Some(true), More: true, Payload: whole[:50_000]})
					for rest := whole[50_000:]; len(rest) > 0; rest = rest[min(50_000, len(rest)):] {
						c.WriteFrames(0, &wire.Transfer{Handle: 0, More: len(rest) > 50_000, Payload: rest[:min(50_000, len(rest))]})
					}
				}
				part := amqptest.MessageTransfer(0, 3, amqptest.DataMessage(pattern(4 << 20))[:60_000])
				part.More = true
				c.WriteFrames(0, part)
				for range 20 {
					c.WriteFrames(0, &wire.Transfer{Handle: 0, More: true, Payload: pattern(60_000)})
				}
				leave(c)
				synctest.Wait()
				if n := h.s.IncomingBytes(); (n != 0) != (name == "nothing") {
					t.Errorf("%d bytes are kept", n)
				}
				if n := h.active("large"); n != 3 {
					t.Errorf("got %d messages", n)
				}
			})
		})
	}
}

// A client that has more incomplete messages than there is memory for gets the error busy
// for the excess ones. A client of another address is not affected.
func TestIncompleteBytes(t *testing.T) {
	inBubble(t, map[string]string{"incomplete-bytes": "2000000"}, func(h bubbleWorld) {
		c, healthy, sameAddress := h.sender(), h.senderFrom("192.0.2.7"), h.sender()
		const links = 10
		for i := uint32(1); i <= links; i++ {
			c.AttachSender(0, i, "q")
			first := amqptest.MessageTransfer(i, i, amqptest.DataMessage(pattern(121_000))[:60_000])
			first.More = true
			c.WriteFrames(0, first, &wire.Transfer{Handle: i, More: true, Payload: pattern(60_000)})
		}
		synctest.Wait()
		if n := h.s.IncomingBytes(); n > 1_000_000 {
			t.Errorf("%d bytes are kept: more than half the limit", n)
		}
		h.accepted(healthy.Send(0, 0, 0, amqptest.DataMessage(pattern(200_000))))
		synctest.Wait() // the bytes may be released after the answer
		h.accepted(healthy.Send(0, 0, 1, amqptest.DataMessage(pattern(900_000))))
		h.rejected(sameAddress.Send(0, 0, 0, amqptest.DataMessage(pattern(200_000))), errorcodes.CondServerBusy)
		busy, taken := 0, 0
		for i := uint32(1); i <= links; i++ {
			c.WriteFrames(0, &wire.Transfer{Handle: i, Payload: amqptest.DataMessage(pattern(121_000))[120_000:]})
			switch s := c.WaitForOutcome(i).(type) {
			case wire.Accepted:
				taken++
			default:
				h.rejected(s, errorcodes.CondServerBusy)
				busy++
			}
		}
		if taken != 8 || busy != 2 { // 120,000 bytes each
			t.Errorf("%d messages were accepted, %d refused as busy", taken, busy)
		}
		h.accepted(c.Send(0, 0, 99, amqptest.DataMessage(pattern(600_000))))
		synctest.Wait()
		h.accepted(sameAddress.Send(0, 0, 1, amqptest.DataMessage(pattern(200_000))))
		synctest.Wait()
		if n := h.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// stuck is a store that blocks writes of large bodies until the test lets it continue.
type stuck struct {
	memory.Store
	goOn chan struct{}
}

func (s *stuck) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	<-s.goOn
	return s.Store.Stage(ctx, k, body)
}

// While the store blocks on a large message, other links of the connection are served, and only a
// bounded part of the message is kept in memory.
func TestStuckStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{goOn: make(chan struct{})}
		goOn := sync.OnceFunc(func() { close(store.goOn) })
		inBubbleWithStore(t, nil, store, func(h bubbleWorld) {
			defer goOn()
			c := h.large()
			c.AttachSender(0, 1, "q")
			whole := amqptest.DataMessage(pattern(2 << 20))
			c.SendInPieces(0, 0, 0, whole[:1<<20], 60_000) // as if it were complete
			c.WriteFrames(0, amqptest.MessageTransfer(1, 1, amqptest.DataMessage(nil)))
			h.rejected(c.WaitForOutcome(0), errorcodes.CondServerBusy)
			h.accepted(c.WaitForOutcome(1))
			if n := h.s.IncomingBytes(); n > 1<<20 {
				t.Errorf("%d bytes are kept", n)
			}
			goOn()
			h.accepted(c.Send(0, 0, 2, amqptest.DataMessage(pattern(1<<20))))
			if n := h.active("large"); n != 1 {
				t.Errorf("got %d messages", n)
			}
		})
	})
}

// A batch is stored completely or not at all, whatever its size (MSG-6).
func TestBatch(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.sender()
		send := func(id uint32, messages ...[]byte) wire.State {
			var envelope []byte
			for _, m := range messages {
				envelope = append(envelope, amqptest.DataMessage(m)...)
			}
			first := true
			for rest := envelope; first || len(rest) > 0; first = false {
				n := min(60_000, len(rest))
				t := wire.Transfer{Handle: 0, More: n < len(rest), Payload: rest[:n]}
				if first {
					t.DeliveryID, t.DeliveryTag, t.MessageFormat = wire.Some(id), []byte{}, wire.Some(wire.FormatBatch)
				}
				c.WriteFrames(0, &t)
				rest = rest[n:]
			}
			return c.WaitForOutcome(id)
		}
		h.accepted(send(0, slices.Repeat([][]byte{amqptest.DataMessage([]byte("small"))}, 4500)...))
		h.accepted(send(1, slices.Repeat([][]byte{amqptest.DataMessage(pattern(100_000))}, 8)...))
		h.rejected(send(2, amqptest.DataMessage(nil), []byte{1}), wire.CondDecodeError)
		h.rejected(send(3, slices.Repeat([][]byte{amqptest.DataMessage(pattern(100_000))}, 12)...), wire.CondMessageSizeExceeded)
		h.rejected(send(4), wire.CondDecodeError)
		c.WriteFrames(0, &wire.Transfer{Handle: 0, DeliveryID: wire.Some[uint32](5), MessageFormat: wire.Some[uint32](7), Payload: amqptest.DataMessage(nil)})
		h.rejected(c.WaitForOutcome(5), wire.CondNotImplemented)
	})
}
