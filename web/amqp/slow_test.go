package amqp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
)

// late is a store whose large bodies can be read only after goOn is closed. A read returns early if
// its context ends.
type late struct {
	memory.Store
	goOn  chan struct{}
	opens bool // bodies open at once, and reading them waits
}

func (s *late) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	if s.opens {
		body, err := s.Store.Body(ctx, k)
		return lately{body, ctx, s.goOn}, err
	}
	if err := wait(ctx, s.goOn); err != nil {
		return nil, err
	}
	return s.Store.Body(ctx, k)
}

type lately struct {
	io.ReadSeekCloser
	ctx  context.Context
	goOn chan struct{}
}

func (s lately) Read(b []byte) (int, error) {
	if err := wait(s.ctx, s.goOn); err != nil {
		return 0, err
	}
	return s.ReadSeekCloser.Read(b)
}

func wait(ctx context.Context, goOn chan struct{}) error {
	select {
	case <-goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// withLate runs f while a client receives a message of six megabytes from "large" and its
// body is being waited for.
func withLate(t *testing.T, f func(h bubbleWorld, store *late, c *amqptest.Client)) {
	for name, opens := range map[string]bool{"open": false, "read": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &late{goOn: make(chan struct{}), opens: opens}
				inBubbleWithStore(t, nil, store, func(h bubbleWorld) {
					h.b.CreateQueue("large", engine.Config{MaxMessageSizeInKilobytes: 10 << 10})
					for range 2 {
						h.b.SendMessages("large", broker.Outgoing{Body: pattern(6 << 20)})
					}
					c := h.connect()
					c.Begin(0)
					c.Attach(0, amqptest.ReceiverAttach(0, "large"))
					c.GrantCredit(0, 0, 0, 2)
					synctest.Wait()
					f(h, store, c)
				})
			})
		})
	}
}

// If a client disconnects before it has seen any of a message, the message is available
// to others at once, and was not counted.
func TestGoneWhileABodyIsRead(t *testing.T) {
	withLate(t, func(h bubbleWorld, _ *late, c *amqptest.Client) {
		c.Disconnect()
		synctest.Wait()
		rows, err := h.b.Peek(h.Context(), "large", 1, 10, "a test")
		if err != nil || len(rows) != 2 {
			h.Fatalf("got %d messages, %v", len(rows), err)
		}
		for _, r := range rows {
			if r.Message.Locked() || r.Message.DeliveryCount != 0 {
				h.Errorf("message %d: locked %t, delivered %d times", r.Message.Seq, r.Message.Locked(), r.Message.DeliveryCount)
			}
		}
	})
}

// A client that closes its window while a body is read for it gets only the transfer that
// was on its way, and the rest when it opens the window again.
func TestWindowClosesWhileABodyIsRead(t *testing.T) {
	withLate(t, func(h bubbleWorld, store *late, c *amqptest.Client) {
		window := func(seen, of uint32) {
			c.WriteFrames(0, &wire.Flow{NextIncomingID: wire.Some(seen), IncomingWindow: of, OutgoingWindow: 1 << 20})
			synctest.Wait()
		}
		window(0, 0)
		close(store.goOn)
		synctest.Wait()
		got := uint32(len(c.Pending()))
		if got > 1 {
			h.Fatalf("received %d transfers with a window of zero", got)
		}
		window(got, 0)
		if n := uint32(len(c.Pending())); n != got {
			h.Errorf("then %d", n)
		}
		window(got, 1<<20)
		for range 2 {
			h.same(c.DataOf(c.ReceiveDelivery().Payload), pattern(6<<20))
		}
	})
}

// failing is a store that fails to store large bodies.
type failing struct{ memory.Store }

var errFull = errors.New("the disk is full")

func (*failing) Stage(context.Context, engine.Key, io.Reader) error { return errFull }

// A large message that the store fails to keep is refused, the rest of it is dropped as it arrives,
// and the link stays usable.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inBubbleWithStore(t, nil, &failing{}, func(h bubbleWorld) {
			c := h.large()
			before := time.Now()
			for id := range uint32(3) {
				h.rejected(c.Send(0, 0, id, amqptest.DataMessage(pattern(5<<20))), wire.CondInternalError)
			}
			if d := time.Since(before); d != 0 {
				t.Errorf("it took %v", d)
			}
			h.accepted(c.Send(0, 0, 9, amqptest.DataMessage(nil)))
		})
	})
}

// withStuck runs f while a large message is stuck in the store, before the client has
// sent all of it or after.
func withStuck(t *testing.T, f func(h bubbleWorld, c *amqptest.Client, goOn func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{goOn: make(chan struct{})}
		inBubbleWithStore(t, nil, store, func(h bubbleWorld) {
			defer func() {
				select {
				case <-store.goOn:
				default:
					close(store.goOn)
				}
			}()
			f(h, h.large(), func() { close(store.goOn) })
		})
	})
}

// Complete messages are sent even if their client has disconnected and the store is slow.
func TestGoneWhileTheStoreIsSlow(t *testing.T) {
	withStuck(t, func(h bubbleWorld, c *amqptest.Client, goOn func()) {
		c.SendInPieces(0, 0, 0, amqptest.DataMessage(pattern(300_000)), 60_000)
		c.SendInPieces(0, 0, 1, amqptest.DataMessage(pattern(100_000)), 60_000)
		c.WriteFrames(0, amqptest.MessageTransfer(0, 2, amqptest.DataMessage(nil)))
		synctest.Wait()
		c.Disconnect()
		synctest.Wait()
		goOn()
		synctest.Wait()
		if n := h.active("large"); n != 3 {
			h.Errorf("got %d messages", n)
		}
		if n := h.s.IncomingBytes(); n != 0 {
			h.Errorf("%d bytes are kept", n)
		}
	})
}

// While the store blocks on a message, a link accepts about a megabyte of further messages at once.
// A client that sends more has to wait until the store continues.
func TestLineIsBounded(t *testing.T) {
	withStuck(t, func(h bubbleWorld, c *amqptest.Client, goOn func()) {
		c.SendInPieces(0, 0, 0, amqptest.DataMessage(pattern(300_000)), 60_000)
		before := time.Now()
		for id := uint32(1); id <= 6; id++ {
			c.SendInPieces(0, 0, id, amqptest.DataMessage(pattern(200_000)), 60_000)
		}
		synctest.Wait()
		if d := time.Since(before); d != 0 {
			h.Errorf("the client had to wait %v for a megabyte", d)
		}
		go func() { time.Sleep(5 * time.Second); goOn() }()
		for id := uint32(7); id <= 10; id++ {
			c.SendInPieces(0, 0, id, amqptest.DataMessage(pattern(200_000)), 60_000)
		}
		if d := time.Since(before); d != 5*time.Second {
			h.Errorf("the client had to wait %v, want 5 s", d)
		}
		for range 11 {
			h.accepted(amqptest.Expect[*wire.Disposition](c).State)
		}
	})
}

// Streamed messages count for incomplete-bytes: of six messages of half a megabyte, one address can
// have three in progress, and the other three get the error busy.
func TestStreamsAreBounded(t *testing.T) {
	inBubble(t, map[string]string{"incomplete-bytes": "4000000"}, func(h bubbleWorld) {
		c := h.large()
		for i := uint32(1); i <= 6; i++ {
			c.AttachSender(0, i, "large")
		}
		part := amqptest.DataMessage(pattern(500_000))
		busy := 0
		for i := range uint32(6) {
			for at := 0; at < 400_000; at += 50_000 {
				p := wire.Transfer{Handle: i, More: true, Payload: part[at : at+50_000]}
				if at == 0 {
					p.DeliveryID = wire.Some(i)
				}
				c.WriteFrames(0, &p)
			}
		}
		synctest.Wait()
		if n := h.s.IncomingBytes(); n > 2_000_000 {
			t.Errorf("%d bytes are kept: more than half the limit", n)
		}
		for i := range uint32(6) {
			c.WriteFrames(0, &wire.Transfer{Handle: i, More: true, Payload: part[400_000:450_000]}, &wire.Transfer{Handle: i, Payload: part[450_000:]})
			if condition(c.WaitForOutcome(i)) == errorcodes.CondServerBusy {
				busy++
			}
		}
		if busy != 3 {
			t.Errorf("%d of six messages were refused, want three; a stream counts for half a megabyte", busy)
		}
		synctest.Wait()
		if n := h.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// A message that is both malformed and too large is refused as malformed, because that is found
// first.
func TestFirstReason(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.sender()
		junk := append(amqptest.DataMessage(pattern(400_000)), make([]byte, 3<<20)...)
		h.rejected(c.Send(0, 0, 0, junk), wire.CondDecodeError)
	})
}

// Incomplete messages of all connections together cannot exceed incomplete-bytes. A refused message
// frees the bytes that were counted for it.
func TestMemoryIsShared(t *testing.T) {
	inBubble(t, map[string]string{"incomplete-bytes": "2000000"}, func(h bubbleWorld) {
		whole := amqptest.DataMessage(pattern(240_000))
		var all []*amqptest.Client
		for i := range 3 {
			c := h.connectFrom(fmt.Sprintf("192.0.2.%d", i))
			c.Begin(0)
			for i := range uint32(4) {
				c.AttachSender(0, i, "q")
				first := amqptest.MessageTransfer(i, i, whole[:60_000])
				first.More = true
				c.WriteFrames(0, first)
				for at := 60_000; at < 240_000; at += 60_000 {
					c.WriteFrames(0, &wire.Transfer{Handle: i, More: true, Payload: whole[at : at+60_000]})
				}
			}
			all = append(all, c)
			synctest.Wait()
		}
		busy := 0
		for _, c := range all {
			for i := range uint32(4) {
				c.WriteFrames(0, &wire.Transfer{Handle: i, Payload: whole[240_000:]})
				if condition(c.WaitForOutcome(i)) == errorcodes.CondServerBusy {
					busy++
				}
			}
		}
		if busy != 4 { // 240,000 bytes each
			t.Errorf("%d of twelve messages were refused", busy)
		}
		synctest.Wait()
		if n := h.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}
