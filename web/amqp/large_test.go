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
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// pattern is n bytes none of whose pieces look alike.
func pattern(n int) []byte {
	b := make([]byte, n)
	x := uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// large has a queue "large" that takes ten megabytes.
func (h house) large() *amqptest.Client {
	h.Helper()
	h.queue("large", engine.Config{MaxMessageSizeInKilobytes: 10 << 10})
	c := h.connect()
	c.Begin(0)
	if a := c.Sender(0, 0, "large"); a.MaxMessageSize.Or(0) != 10<<20 {
		h.Errorf("messages may have %v bytes", a.MaxMessageSize)
	}
	return c
}

// receive takes everything there is from a queue.
func (h house) receive(c *amqptest.Client, path string, n int) (bodies [][]byte) {
	h.Helper()
	const handle = 99
	c.Attach(0, amqptest.Receives(handle, path))
	c.Credit(0, handle, 0, uint32(n))
	for range n {
		bodies = append(bodies, c.Body(c.Receive().Payload))
	}
	return bodies
}

func (h house) same(got, want []byte) {
	h.Helper()
	if !bytes.Equal(got, want) {
		h.Errorf("%d bytes came out of %d, or others", len(got), len(want))
	}
}

// Whatever its size and the pieces it comes in, a message comes out as it went in.
func TestLarge(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.large()
		id := uint32(0)
		for _, size := range []int{0, 1, 60_000, 65_536, 256 << 10, 256<<10 + 1, 300_000, 3_000_000, 10<<20 - 200} {
			body := pattern(size)
			for _, piece := range []int{65_000, 1 << 15} {
				c.Split(0, 0, id, amqptest.Data(body), piece)
				h.accepted(c.Outcome(id))
				id++
				got := h.receive(c, "large", 1)
				h.same(got[0], body)
				c.Say(0, &wire.Disposition{Role: wire.RoleReceiver, First: id - 1, Settled: true, State: wire.Accepted{}}, &wire.Detach{Handle: 99, Closed: true})
				amqptest.Hear[*wire.Detach](c)
			}
		}
		synctest.Wait()
		if n := h.s.Kept(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// A body that is no data is large as well, and so is one with much in front of it.
func TestLargeValue(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.large()
		body := wire.AppendValue(nil, value.OfString(string(bytes.Repeat([]byte("value "), 500_000))))
		h.accepted(c.Send(0, 0, 0, wire.AppendSection(nil, wire.SectionValue, body)))
		h.same(h.receive(c, "large", 1)[0], body)
	})
}

// What comes behind a large message on its link is behind it in the queue; on other
// links it does not wait.
func TestLargeOrder(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.large()
		c.Sender(0, 1, "q")
		large := wire.Transfer{Handle: 0, DeliveryID: wire.Some[uint32](0), DeliveryTag: []byte{0}, More: true, Payload: amqptest.Data(pattern(1 << 20))[:60_000]}
		rest := amqptest.Data(pattern(1 << 20))[60_000:]
		c.Say(0, &large)
		for i := uint32(1); len(rest) > 0; i++ { // beside it goes a small one, between any two pieces
			n := min(len(rest), 60_000)
			c.Say(0, &wire.Transfer{Handle: 0, More: n < len(rest), Payload: rest[:n]})
			rest = rest[n:]
			if len(rest) > 0 {
				h.accepted(c.Send(0, 1, i, amqptest.Data([]byte("small"))))
			}
		}
		for i := range uint32(20) {
			c.Split(0, 0, 100+i, amqptest.Data([]byte{byte(i)}), 100)
			c.Split(0, 0, 200+i, amqptest.Data(pattern(300_000)), 60_000)
		}
		for range 41 {
			h.accepted(amqptest.Hear[*wire.Disposition](c).State)
		}
		got := h.receive(c, "large", 41)
		h.same(got[0], pattern(1<<20))
		for i := range 20 {
			h.same(got[1+2*i], []byte{byte(i)})
			h.same(got[2+2*i], pattern(300_000))
		}
		if n := h.active("q"); n != 16 {
			t.Errorf("%d small ones are there", n)
		}
	})
}

// A message that is too large is refused when all of it has come, the link stays,
// and nothing of it is kept.
func TestTooLarge(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.sender()
		c.Sender(0, 1, "q")
		for id, size := range []int{1<<20 + 1, 1<<20 + 200_000, 5 << 20, 1<<20 + 128<<10} {
			h.rejected(c.Send(0, 0, uint32(id), amqptest.Data(pattern(size))), wire.CondMessageSizeExceeded)
			h.accepted(c.Send(0, 0, 1000+uint32(id), amqptest.Data(pattern(size%60_000))))
		}
		if n := h.active("q"); n != 4 {
			t.Errorf("%d are there", n)
		}
		c.Split(0, 0, 50, amqptest.Data(pattern(3 << 20))[:2<<20], 50_000) // ends within a section, too
		h.rejected(c.Outcome(50), wire.CondMessageSizeExceeded)
		h.rejected(c.Send(0, 0, 51, amqptest.Data(pattern(900_000))[:800_000]), wire.CondDecodeError)
		h.rejected(c.Send(0, 0, 52, append(amqptest.Data(pattern(900_000)), 0, 0x53)), wire.CondDecodeError)
		c.Say(0, &wire.Transfer{Handle: 1, DeliveryID: wire.Some[uint32](60), DeliveryTag: []byte{}, Settled: wire.Some(true), Payload: amqptest.Data(pattern(1 << 10))})
		h.accepted(c.Send(0, 1, 61, amqptest.Data(nil)))
		synctest.Wait()
		if n := h.s.Kept(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// An aborted message was never sent, however much of it has come (AMQP 1.0 part 2,
// 2.7.5), and is not answered.
func TestAborted(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "in two": 70_000, "streamed": 700_000} {
		t.Run(name, func(t *testing.T) {
			within(t, nil, func(h house) {
				c := h.sender()
				for id := range uint32(1200) { // more than there is credit, which comes back
					whole := amqptest.Data(pattern(size))
					first := amqptest.Delivery(0, id, whole[:min(60_000, len(whole))])
					first.More = true
					c.Say(0, first)
					for rest := whole[len(first.Payload):]; len(rest) > 0 && id < 3; {
						n := min(60_000, len(rest))
						c.Say(0, &wire.Transfer{Handle: 0, More: true, Payload: rest[:n]})
						rest = rest[n:]
					}
					c.Say(0, &wire.Transfer{Handle: 0, Aborted: true, More: id%2 == 0})
					synctest.Wait()
				}
				h.accepted(c.Send(0, 0, 5000, amqptest.Data(nil)))
				if n := h.active("q"); n != 1 {
					t.Errorf("%d are there", n)
				}
				synctest.Wait()
				if n := h.s.Kept(); n != 0 {
					t.Errorf("%d bytes are kept", n)
				}
			})
		})
	}
}

// Of a message whose client goes half-way nothing stays, whether the link ends, the
// session or the connection; what came whole before is sent all the same.
func TestHalfWay(t *testing.T) {
	for name, leave := range map[string]func(c *amqptest.Client){
		"detach": func(c *amqptest.Client) {
			c.Say(0, &wire.Detach{Handle: 0, Closed: true})
			amqptest.Hear[*wire.Detach](c)
		},
		"end":     func(c *amqptest.Client) { c.Say(0, &wire.End{}); amqptest.Hear[*wire.End](c) },
		"close":   func(c *amqptest.Client) { c.Say(0, &wire.Close{}); c.Closed() },
		"vanish":  func(c *amqptest.Client) { c.Hang() },
		"nothing": func(*amqptest.Client) {},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, nil, func(h house) {
				c := h.large()
				for id := range uint32(3) { // settled before: nobody hears of them
					whole := amqptest.Data(pattern(400_000))
					c.Say(0, &wire.Transfer{Handle: 0, DeliveryID: wire.Some(id), Settled: wire.Some(true), More: true, Payload: whole[:50_000]})
					for rest := whole[50_000:]; len(rest) > 0; rest = rest[min(50_000, len(rest)):] {
						c.Say(0, &wire.Transfer{Handle: 0, More: len(rest) > 50_000, Payload: rest[:min(50_000, len(rest))]})
					}
				}
				part := amqptest.Delivery(0, 3, amqptest.Data(pattern(4 << 20))[:60_000])
				part.More = true
				c.Say(0, part)
				for range 20 {
					c.Say(0, &wire.Transfer{Handle: 0, More: true, Payload: pattern(60_000)})
				}
				leave(c)
				synctest.Wait()
				if n := h.s.Kept(); (n != 0) != (name == "nothing") {
					t.Errorf("%d bytes are kept", n)
				}
				if n := h.active("large"); n != 3 {
					t.Errorf("%d are there", n)
				}
			})
		})
	}
}

// Who has more messages on their way than there is memory for hears that the server
// is busy, of those that are past it; another client does not notice.
func TestIncompleteBytes(t *testing.T) {
	within(t, map[string]string{"incomplete-bytes": "2000000"}, func(h house) {
		c, healthy := h.sender(), h.sender()
		const links = 10
		for i := uint32(1); i <= links; i++ {
			c.Sender(0, i, "q")
			first := amqptest.Delivery(i, i, amqptest.Data(pattern(121_000))[:60_000])
			first.More = true
			c.Say(0, first, &wire.Transfer{Handle: i, More: true, Payload: pattern(60_000)})
		}
		synctest.Wait()
		if n := h.s.Kept(); n > 1_000_000 {
			t.Errorf("%d bytes are kept: more than half", n)
		}
		h.accepted(healthy.Send(0, 0, 0, amqptest.Data(pattern(200_000))))
		h.accepted(healthy.Send(0, 0, 1, amqptest.Data(pattern(900_000))))
		busy, taken := 0, 0
		for i := uint32(1); i <= links; i++ {
			c.Say(0, &wire.Transfer{Handle: i, Payload: amqptest.Data(pattern(121_000))[120_000:]})
			switch s := c.Outcome(i).(type) {
			case wire.Accepted:
				taken++
			default:
				h.rejected(s, carry.CondServerBusy)
				busy++
			}
		}
		if taken != 8 || busy != 2 { // 120,000 bytes each
			t.Errorf("%d were taken, %d not", taken, busy)
		}
		h.accepted(c.Send(0, 0, 99, amqptest.Data(pattern(600_000))))
		synctest.Wait()
		if n := h.s.Kept(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// stuck is a store that takes no large bodies until it is told to go on.
type stuck struct {
	memory.Store
	goOn chan struct{}
}

func (s *stuck) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	<-s.goOn
	return s.Store.Stage(ctx, k, body)
}

// A store that does not take a large message holds up neither the links beside it
// for ever nor the memory.
func TestStuckStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{goOn: make(chan struct{})}
		goOn := sync.OnceFunc(func() { close(store.goOn) })
		withStore(t, nil, store, func(h house) {
			defer goOn()
			c := h.large()
			c.Sender(0, 1, "q")
			whole := amqptest.Data(pattern(2 << 20))
			c.Split(0, 0, 0, whole[:1<<20], 60_000) // as if it were the whole
			c.Say(0, amqptest.Delivery(1, 1, amqptest.Data(nil)))
			h.rejected(c.Outcome(0), carry.CondServerBusy)
			h.accepted(c.Outcome(1))
			if n := h.s.Kept(); n > 1<<20 {
				t.Errorf("%d bytes are kept", n)
			}
			goOn()
			h.accepted(c.Send(0, 0, 2, amqptest.Data(pattern(1<<20))))
			if n := h.active("large"); n != 1 {
				t.Errorf("%d are there", n)
			}
		})
	})
}

// A batch is taken whole or not, whatever its size (MSG-6).
func TestBatch(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.sender()
		send := func(id uint32, messages ...[]byte) wire.State {
			var envelope []byte
			for _, m := range messages {
				envelope = append(envelope, amqptest.Data(m)...)
			}
			first := true
			for rest := envelope; first || len(rest) > 0; first = false {
				n := min(60_000, len(rest))
				t := wire.Transfer{Handle: 0, More: n < len(rest), Payload: rest[:n]}
				if first {
					t.DeliveryID, t.DeliveryTag, t.MessageFormat = wire.Some(id), []byte{}, wire.Some(wire.FormatBatch)
				}
				c.Say(0, &t)
				rest = rest[n:]
			}
			return c.Outcome(id)
		}
		h.accepted(send(0, slices.Repeat([][]byte{amqptest.Data([]byte("small"))}, 4500)...))
		h.accepted(send(1, slices.Repeat([][]byte{amqptest.Data(pattern(100_000))}, 8)...))
		h.rejected(send(2, amqptest.Data(nil), []byte{1}), wire.CondDecodeError)
		h.rejected(send(3, slices.Repeat([][]byte{amqptest.Data(pattern(100_000))}, 12)...), wire.CondMessageSizeExceeded)
		h.rejected(send(4), wire.CondDecodeError)
		c.Say(0, &wire.Transfer{Handle: 0, DeliveryID: wire.Some[uint32](5), MessageFormat: wire.Some[uint32](7), Payload: amqptest.Data(nil)})
		h.rejected(c.Outcome(5), wire.CondNotImplemented)
	})
}
