package amqp_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// late is a store that has large bodies read only when goOn is closed, or not at
// all when whoever asked leaves before.
type late struct {
	memory.Store
	goOn  chan struct{}
	opens bool // it opens them at once, and has their reading wait
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

// withLate has a message of six megabytes be received from "large", whose body is
// waited for.
func withLate(t *testing.T, f func(h house, store *late, c *amqptest.Client)) {
	for name, opens := range map[string]bool{"open": false, "read": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &late{goOn: make(chan struct{}), opens: opens}
				withStore(t, nil, store, func(h house) {
					h.queue("large", engine.Config{MaxMessageSizeInKilobytes: 10 << 10})
					for range 2 {
						if _, err := h.b.Send(h.Context(), "large", []broker.Outgoing{{Body: pattern(6 << 20)}}, "a test"); err != nil {
							t.Fatal(err)
						}
					}
					c := h.connect()
					c.Begin(0)
					c.Attach(0, amqptest.Receives(0, "large"))
					c.Credit(0, 0, 0, 2)
					synctest.Wait()
					f(h, store, c)
				})
			})
		})
	}
}

// A message that a client has gone from before it had seen any of it is there for
// others at once, as if it had not been on its way.
func TestGoneWhileABodyIsRead(t *testing.T) {
	withLate(t, func(h house, _ *late, c *amqptest.Client) {
		c.Hang()
		synctest.Wait()
		rows, err := h.b.Peek(h.Context(), "large", 1, 10, "a test")
		if err != nil || len(rows) != 2 {
			h.Fatalf("%d are there, %v", len(rows), err)
		}
		for _, r := range rows {
			if r.Message.Locked() || r.Message.DeliveryCount != 0 {
				h.Errorf("message %d: locked %t, delivered %d times", r.Message.Seq, r.Message.Locked(), r.Message.DeliveryCount)
			}
		}
	})
}

// A client that closes its window while a body is read for it gets no more than the
// transfer that was on its way, and the rest when it opens the window again.
func TestWindowClosesWhileABodyIsRead(t *testing.T) {
	withLate(t, func(h house, store *late, c *amqptest.Client) {
		window := func(seen, of uint32) {
			c.Say(0, &wire.Flow{NextIncomingID: wire.Some(seen), IncomingWindow: of, OutgoingWindow: 1 << 20})
			synctest.Wait()
		}
		window(0, 0)
		close(store.goOn)
		synctest.Wait()
		got := uint32(len(c.Pending()))
		if got > 1 {
			h.Fatalf("%d transfers came into a window of none", got)
		}
		window(got, 0)
		if n := uint32(len(c.Pending())); n != got {
			h.Errorf("then %d", n)
		}
		window(got, 1<<20)
		for range 2 {
			h.same(c.Body(c.Receive().Payload), pattern(6<<20))
		}
	})
}

// failing is a store that takes no large bodies.
type failing struct{ memory.Store }

var errFull = errors.New("the disk is full")

func (*failing) Stage(context.Context, engine.Key, io.Reader) error { return errFull }

// What comes of a large message after it was known that it cannot be kept is
// dropped as it comes.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		withStore(t, nil, &failing{}, func(h house) {
			c := h.large()
			before := time.Now()
			for id := range uint32(3) {
				h.rejected(c.Send(0, 0, id, amqptest.Data(pattern(5<<20))), wire.CondInternalError)
			}
			if d := time.Since(before); d != 0 {
				t.Errorf("it took %v", d)
			}
			h.accepted(c.Send(0, 0, 9, amqptest.Data(nil)))
		})
	})
}

// withStuck has a large message be stuck in the store, before the client has sent
// all of it or after.
func withStuck(t *testing.T, f func(h house, c *amqptest.Client, goOn func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{goOn: make(chan struct{})}
		withStore(t, nil, store, func(h house) {
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

// What came whole is sent though its client has gone since, also when the store was
// slow.
func TestGoneWhileTheStoreIsSlow(t *testing.T) {
	withStuck(t, func(h house, c *amqptest.Client, goOn func()) {
		c.Split(0, 0, 0, amqptest.Data(pattern(300_000)), 60_000)
		c.Split(0, 0, 1, amqptest.Data(pattern(100_000)), 60_000)
		c.Say(0, amqptest.Delivery(0, 2, amqptest.Data(nil)))
		synctest.Wait()
		c.Hang()
		synctest.Wait()
		goOn()
		synctest.Wait()
		if n := h.active("large"); n != 3 {
			h.Errorf("%d are there", n)
		}
		if n := h.s.Kept(); n != 0 {
			h.Errorf("%d bytes are kept", n)
		}
	})
}

// Behind a message that the store does not take, a megabyte waits on its link; then
// the client does.
func TestLineIsBounded(t *testing.T) {
	withStuck(t, func(h house, c *amqptest.Client, goOn func()) {
		c.Split(0, 0, 0, amqptest.Data(pattern(300_000)), 60_000)
		before := time.Now()
		for id := uint32(1); id <= 6; id++ {
			c.Split(0, 0, id, amqptest.Data(pattern(200_000)), 60_000)
		}
		synctest.Wait()
		if d := time.Since(before); d != 0 {
			h.Errorf("the client had to wait %v for a megabyte", d)
		}
		go func() { time.Sleep(5 * time.Second); goOn() }()
		for id := uint32(7); id <= 10; id++ {
			c.Split(0, 0, id, amqptest.Data(pattern(200_000)), 60_000)
		}
		if d := time.Since(before); d != 5*time.Second {
			h.Errorf("the client had to wait %v, and it was 5 s", d)
		}
		for range 11 {
			h.accepted(amqptest.Hear[*wire.Disposition](c).State)
		}
	})
}

// The memory for messages that stream is bounded as that of others is.
func TestStreamsAreBounded(t *testing.T) {
	within(t, map[string]string{"incomplete-bytes": "4000000"}, func(h house) {
		c := h.large()
		for i := uint32(1); i <= 6; i++ {
			c.Sender(0, i, "large")
		}
		part := amqptest.Data(pattern(500_000))
		busy := 0
		for i := range uint32(6) {
			for at := 0; at < 400_000; at += 50_000 {
				p := wire.Transfer{Handle: i, More: true, Payload: part[at : at+50_000]}
				if at == 0 {
					p.DeliveryID = wire.Some(i)
				}
				c.Say(0, &p)
			}
		}
		synctest.Wait()
		if n := h.s.Kept(); n > 2_000_000 {
			t.Errorf("%d bytes are kept: more than half", n)
		}
		for i := range uint32(6) {
			c.Say(0, &wire.Transfer{Handle: i, More: true, Payload: part[400_000:450_000]}, &wire.Transfer{Handle: i, Payload: part[450_000:]})
			if condition(c.Outcome(i)) == carry.CondServerBusy {
				busy++
			}
		}
		if busy != 3 {
			t.Errorf("%d of six were too many at a time; a stream counts for half a megabyte", busy)
		}
		synctest.Wait()
		if n := h.s.Kept(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// Of several reasons not to take a message, the first is told.
func TestFirstReason(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.sender()
		junk := append(amqptest.Data(pattern(400_000)), make([]byte, 3<<20)...)
		h.rejected(c.Send(0, 0, 0, junk), wire.CondDecodeError)
	})
}

// Several connections together have no more than there is, and who hears that it is
// not enough takes nothing away from it.
func TestMemoryIsShared(t *testing.T) {
	within(t, map[string]string{"incomplete-bytes": "2000000"}, func(h house) {
		whole := amqptest.Data(pattern(240_000))
		var all []*amqptest.Client
		for range 3 {
			c := h.connect()
			c.Begin(0)
			for i := range uint32(4) {
				c.Sender(0, i, "q")
				first := amqptest.Delivery(i, i, whole[:60_000])
				first.More = true
				c.Say(0, first)
				for at := 60_000; at < 240_000; at += 60_000 {
					c.Say(0, &wire.Transfer{Handle: i, More: true, Payload: whole[at : at+60_000]})
				}
			}
			all = append(all, c)
			synctest.Wait()
		}
		busy := 0
		for _, c := range all {
			for i := range uint32(4) {
				c.Say(0, &wire.Transfer{Handle: i, Payload: whole[240_000:]})
				if condition(c.Outcome(i)) == carry.CondServerBusy {
					busy++
				}
			}
		}
		if busy != 4 { // 240,000 bytes each
			t.Errorf("%d of twelve were too many", busy)
		}
		synctest.Wait()
		if n := h.s.Kept(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}
