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
	"mayfly/engine/value"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// setAside sends n messages of `size` bytes to a queue, defers them, and returns the arguments of a
// request to $management that fetches them.
func setAside(w *world, path engine.Path, n, size int) value.Properties {
	w.t.Helper()
	var seqs []value.Value
	for range n {
		w.send(path, "", string(pattern(size)))
	}
	for range n {
		got, err := w.b.Receive(w.t.Context(), broker.ReceiveRequest{Path: path, Client: "tester"})
		if err != nil || len(got) != 1 {
			w.t.Fatal(got, err)
		}
		_ = got[0].Body.Close()
		if err := w.b.SettleAll(w.t.Context(), []engine.Settlement{{Token: got[0].Token(), Outcome: engine.Defer}}); err != nil {
			w.t.Fatal(err)
		}
		seqs = append(seqs, value.OfLong(int64(got[0].Message.Seq)))
	}
	return value.Properties{prop("sequence-numbers", arrayOf(value.Long, seqs...)), prop("receiver-settle-mode", value.OfUInt(1))}
}

const fetchOperation = "com.microsoft:receive-by-sequence-number"

// Ten deferred messages of 200 KB arrive in one reply, which is not larger than the link's
// max-message-size.
func TestFetchMany(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		in := setAside(w, "q", 10, 200_000)
		c := w.client()
		c.AttachSender(0, 0, "q/$management")
		a := amqptest.ReceiverAttach(1, "q/$management")
		a.Target = &wire.Target{Address: wire.Some("answers")}
		announced := c.Attach(0, a).MaxMessageSize.Or(0)
		m := &manager{c: c}
		m.ask(fetchOperation, in)
		c.GrantCredit(0, 1, 0, 1)
		payload := c.ReceiveDelivery().Payload
		if got := readAnswer(payload); got.Status != 200 {
			t.Fatalf("%d %s", got.Status, got.Text)
		}
		if n := uint64(len(payload)); n < 2_000_000 || n > announced {
			t.Errorf("a reply has %d bytes, want two million to %d", n, announced)
		}
		if _, locked := w.count("q"); locked != 10 {
			t.Errorf("%d messages are locked", locked)
		}
	})
}

// A fetch that names one message many times counts its size once: it is refused for the repetition
// (DEF-6), not because the reply would be too large.
func TestFetchRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		in := setAside(w, "q", 1, 200_000)
		seqs := make([]value.Value, 100) // 20 MB if each counted
		for i := range seqs {
			seqs[i] = value.OfLong(1)
		}
		in[0] = prop("sequence-numbers", arrayOf(value.Long, seqs...))
		c := w.client()
		c.AttachSender(0, 0, "q/$management")
		a := amqptest.ReceiverAttach(1, "q/$management")
		a.Target = &wire.Target{Address: wire.Some("answers")}
		c.Attach(0, a)
		m := &manager{c: c}
		m.ask(fetchOperation, in)
		c.GrantCredit(0, 1, 0, 1)
		if got := readAnswer(c.ReceiveDelivery().Payload); got.Status != 404 {
			t.Errorf("%d %s", got.Status, got.Text)
		}
	})
}

// The locks of fetched messages are released when the reply does not reach the client,
// which otherwise could only wait for them to expire (DEF-6). That does not count as a
// failed delivery (DC-3).
func TestAnswerNotDelivered(t *testing.T) {
	answers := func(c *amqptest.Client, takes uint64) *manager {
		c.AttachSender(0, 0, "q/$management")
		a := amqptest.ReceiverAttach(1, "q/$management")
		a.Target = &wire.Target{Address: wire.Some("answers")}
		if takes > 0 {
			a.MaxMessageSize = wire.Some(takes)
		}
		c.Attach(0, a)
		return &manager{c: c}
	}
	for name, fails := range map[string]func(t *testing.T, w *world, c *amqptest.Client, in value.Properties){
		"its link is detached": func(_ *testing.T, _ *world, c *amqptest.Client, in value.Properties) {
			answers(c, 0).ask(fetchOperation, in)
			synctest.Wait()
			c.WriteFrames(0, &wire.Detach{Handle: 1, Closed: true})
		},
		"its session is ended": func(_ *testing.T, _ *world, c *amqptest.Client, in value.Properties) {
			answers(c, 0).ask(fetchOperation, in)
			synctest.Wait()
			c.WriteFrames(0, &wire.End{})
		},
		"the connection is lost": func(_ *testing.T, _ *world, c *amqptest.Client, in value.Properties) {
			answers(c, 0).ask(fetchOperation, in)
			synctest.Wait()
			c.Disconnect()
		},
		"half of it is written": func(_ *testing.T, _ *world, c *amqptest.Client, in value.Properties) {
			answers(c, 0).ask(fetchOperation, in)
			synctest.Wait()
			c.WriteFrames(0, &wire.Flow{
				NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1, OutgoingWindow: 100,
				Handle: wire.Some[uint32](1), DeliveryCount: wire.Some[uint32](0), LinkCredit: wire.Some[uint32](1),
			})
			synctest.Wait()
			c.WriteFrames(0, &wire.Detach{Handle: 1, Closed: true})
		},
		"there is no link for it": func(_ *testing.T, _ *world, c *amqptest.Client, in value.Properties) {
			c.AttachSender(0, 0, "q/$management")
			(&manager{c: c}).ask(fetchOperation, in)
		},
		"it is larger than the client takes": func(t *testing.T, _ *world, c *amqptest.Client, in value.Properties) {
			if got := answers(c, 100_000).do(fetchOperation, in); got.Status != 403 || got.Condition != "amqp:link:message-size-exceeded" {
				t.Errorf("the client got %+v", got)
			}
		},
		"others push it out": func(_ *testing.T, _ *world, c *amqptest.Client, in value.Properties) {
			m := answers(c, 0)
			m.ask(fetchOperation, in)
			for range 1_000 {
				m.ask("com.microsoft:peek-message", value.Properties{prop("from-sequence-number", value.OfLong(99))})
				synctest.Wait()
			}
		},
	} {
		t.Run("DEF-6 "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
				in := setAside(w, "q", 2, 100_000)
				fails(t, w, w.client(), in)
				synctest.Wait()
				again := manages(w.client(), "q").do(fetchOperation, in)
				if again.Status != 200 {
					t.Fatalf("again: %d %s", again.Status, again.Text)
				}
				rows, err := w.b.Peek(t.Context(), "q", 0, 2, "tester")
				if err != nil || len(rows) != 2 || rows[0].Message.DeliveryCount != 1 {
					t.Errorf("the first message is %+v, %v", rows, err)
				}
			})
		})
	}
}

// faulty is a store in which only a given number of bodies can still be read.
type faulty struct {
	engine.Store
	left int
}

func (s *faulty) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	body, err := s.Store.Body(ctx, k)
	if s.left--; s.left < 0 && err == nil {
		return faultyBody{body}, nil
	}
	return body, err
}

type faultyBody struct{ io.ReadSeekCloser }

func (faultyBody) Read([]byte) (int, error) { return 0, errors.New("the disk has a fault") }

// A fetch that fails releases all of its locks.
func TestFetchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: new(memory.Store), left: 1 << 30}
		w := newWorldOn(t, store, amqp.Options{}, broker.Options{CacheBytes: 1})
		w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
		in := setAside(w, "q", 2, 250_000)
		m := manages(w.client(), "q")
		store.left = 1
		if got := m.do(fetchOperation, in); got.Status != 500 {
			t.Fatalf("with a fault: %d %s", got.Status, got.Text)
		}
		store.left = 1 << 30
		if got := m.do(fetchOperation, in); got.Status != 200 {
			t.Errorf("then: %d %s", got.Status, got.Text)
		}
	})
}
