package amqp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/connections"
)

// mine returns an attach of the receiver "mine".
func mine(handle uint32, address string, session value.Value) *wire.Attach {
	a := asks(handle, address, session, 1_000)
	a.Name = "mine"
	return &a
}

// holdingClient returns a client whose link "mine" at handle 0 holds the session a of q, and has
// received its message m1 without settling it. The queue also has m2 and, in the session b, m3.
func holdingClient(w *world) *amqptest.Client {
	w.b.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: time.Minute})
	w.send("q", "a", "m1", "m2")
	w.send("q", "b", "m3")
	c := w.client()
	c.Attach(0, *mine(0, "q", value.OfString("a")))
	c.WriteFrames(0, flow(0, 1, nil))
	if m := c.ReceiveDelivery(); string(c.DataOf(m.Payload)) != "m1" {
		w.t.Fatal("received another message")
	}
	return c
}

func credit(handle uint32) *wire.Flow {
	return flow(0, 5, func(f *wire.Flow) { f.Handle = wire.Some(handle) })
}

// A client that attaches its link again while it is attached gets the session at once: the step
// that attaches the new link releases it, and unsettled messages are delivered again (SES-7).
func TestTakeover(t *testing.T) {
	const attach, gone = "*wire.Attach", "detach " + string(wire.CondStolen)
	a := value.OfString("a")
	for name, tc := range map[string]struct {
		channel uint16
		say     []wire.Performative
		want    []string
		free    bool // the old session is free afterwards
	}{
		"the same session":        {0, []wire.Performative{mine(1, "q", a), credit(1)}, []string{gone, attach, "message m1", "message m2"}, false},
		"described":               {0, []wire.Performative{mine(1, "q", described(a)), credit(1)}, []string{gone, attach, "message m1", "message m2"}, false},
		"another session":         {0, []wire.Performative{mine(1, "q", value.OfString("b")), credit(1)}, []string{gone, attach, "message m3"}, true},
		"the next":                {0, []wire.Performative{mine(1, "q", value.Value{}), credit(1)}, []string{gone, attach, "message m3"}, true},
		"after settling":          {0, []wire.Performative{settles(0, wire.Opt[uint32]{}, wire.Accepted{}), mine(1, "q", a), credit(1)}, []string{gone, attach, "message m2"}, false},
		"what is not there":       {0, []wire.Performative{mine(1, "nothing", a)}, []string{gone, attach, "detach " + string(wire.CondNotFound)}, true},
		"in another AMQP session": {1, []wire.Performative{mine(0, "Q", a), credit(0)}, []string{gone, attach, "message m1", "message m2"}, false},
	} {
		t.Run("SES-7 "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				c := holdingClient(w)
				c.Begin(1)
				c.WriteFrames(tc.channel, tc.say...)
				if diff := cmp.Diff(tc.want, sentFrames(c)); diff != "" {
					t.Error(diff)
				}
				if tc.free {
					c.Attach(1, asks(5, "q", a, 0))
				}
			})
		})
	}
}

// No other client gets the session in between, neither one that waits for the next
// session nor one that asks for this one at that time.
func TestTakeoverIsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOn(t, slow{new(memory.Store)}, amqp.Options{}, broker.Options{})
		c := holdingClient(w)
		rival := w.client()
		rival.Attach(0, asks(0, "q", value.Value{}, 60_000)) // b
		waiting := asks(1, "q", value.Value{}, 60_000)
		rival.WriteFrames(0, &waiting)
		sentFrames(rival)
		c.WriteFrames(0, mine(1, "q", value.OfString("a")))
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff([]string{"detach " + string(wire.CondStolen), "*wire.Attach"}, sentFrames(c)); diff != "" {
			t.Error(diff)
		}
		if got := sentFrames(rival); got != nil {
			t.Errorf("the rival got %q", got)
		}
		if _, locked := w.count("q"); locked != 0 {
			t.Errorf("%d messages are locked", locked)
		}
	})
}

// Deliveries that a client has settled just before it attaches the link again are settled
// first, however slow the store is.
func TestTakeoverComesAfterSettlements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOn(t, slow{new(memory.Store)}, amqp.Options{}, broker.Options{InboxBytes: 1}) // one operation at a time
		w.b.CreateQueue("other", engine.Config{})
		c := holdingClient(w)
		c.AttachSender(0, 7, "other")
		say := []wire.Performative{settles(0, wire.Opt[uint32]{}, wire.Accepted{}), mine(1, "q", value.OfString("a")), credit(1)}
		for id := range uint32(3) {
			say = append(say, amqptest.MessageTransfer(7, id, amqptest.DataMessage(nil)))
		}
		c.WriteFrames(0, say...)
		time.Sleep(20 * time.Second)
		if active, locked := w.count("q"); active != 1 || locked != 1 {
			t.Errorf("%d messages are active and %d locked; want m3 and m2", active, locked)
		}
	})
}

// However often a client takes its link over, the unsettled messages keep a delivery count of zero
// (SES-7, DC-3).
func TestTakeoverCountsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		c := holdingClient(w)
		for handle := range uint32(3) {
			c.WriteFrames(0, mine(handle+1, "q", value.OfString("a")), credit(handle+1))
			sentFrames(c)
		}
		if err := w.b.Read(t.Context(), func(r broker.Reader) error {
			rows, err := r.Browse(engine.Browse{Path: "q", Limit: 3})
			for _, row := range rows {
				if n := row.Message.DeliveryCount; n != 0 {
					t.Errorf("message %d has %d failed deliveries", row.Message.Seq, n)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// A link that still waits for its session is refused, and the new one waits.
func TestTakeoverOfOneThatWaits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{RequiresSession: true})
		c := w.client()
		c.WriteFrames(0, mine(0, "q", value.Value{}))
		sentFrames(c)
		c.WriteFrames(0, mine(1, "q", value.Value{}))
		if diff := cmp.Diff([]string{"*wire.Attach", "detach " + string(wire.CondStolen)}, sentFrames(c)); diff != "" {
			t.Error(diff)
		}
		w.send("q", "a", "m")
		c.WriteFrames(0, credit(1))
		if diff := cmp.Diff([]string{"*wire.Attach", "message m"}, sentFrames(c)); diff != "" {
			t.Error(diff)
		}
	})
}

// If a client attaches a second link of the same name before the busy broker has answered the first
// attach, the first link is detached as stolen and the second one gets the session. If the client
// disconnects instead, its connection is removed.
func TestTakeoverOfAnUnansweredAttach(t *testing.T) {
	for name, goes := range map[string]bool{"and stays": false, "and goes": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorldOn(t, slow{new(memory.Store)}, amqp.Options{}, broker.Options{})
				w.b.CreateQueue("q", engine.Config{RequiresSession: true})
				c := w.client()
				go w.send("q", "a", "m")
				synctest.Wait()
				c.WriteFrames(0, mine(0, "q", value.OfString("a")))
				synctest.Wait() // the broker has been asked, and is busy
				c.WriteFrames(0, mine(1, "q", value.OfString("a")), credit(1))
				if goes {
					synctest.Wait()
					c.Disconnect()
					time.Sleep(20 * time.Second)
					if n := w.s.Connections(connections.Query{}).Total; n != 0 {
						t.Errorf("got %d connections", n)
					}
					return
				}
				time.Sleep(20 * time.Second)
				if diff := cmp.Diff([]string{"*wire.Attach", "detach " + string(wire.CondStolen), "*wire.Attach", "message m"}, sentFrames(c)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A link is attached again only if name and connection are the same, and in another AMQP
// session also the session that it holds: container ids are not authenticated, and the
// locks of a connection stay (DEC-5).
func TestNoTakeover(t *testing.T) {
	refused := []string{"*wire.Attach", "detach com.microsoft:session-cannot-be-locked"}
	same := func(_ *world, c *amqptest.Client) *amqptest.Client { return c }
	another := func(w *world, _ *amqptest.Client) *amqptest.Client { return w.client() }
	named := asks(0, "q", value.OfString("a"), 0)
	for name, tc := range map[string]struct {
		client func(*world, *amqptest.Client) *amqptest.Client
		attach *wire.Attach
		want   []string
	}{
		"by another connection of the container":  {another, mine(0, "q", value.OfString("a")), refused},
		"by another name":                         {same, &named, refused},
		"in another AMQP session for another one": {same, mine(0, "q", value.OfString("b")), []string{"*wire.Attach"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				c := holdingClient(w)
				n := tc.client(w, c)
				n.Begin(1)
				n.WriteFrames(1, tc.attach)
				if diff := cmp.Diff(tc.want, sentFrames(n)); diff != "" {
					t.Error(diff)
				}
				c.WriteFrames(0, settles(0, wire.Opt[uint32]{}, wire.Accepted{}))
				if diff := cmp.Diff([]string{"0-0 accepted"}, dispositions(c)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	t.Run("DEC-5 of a connection that is lost", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			holdingClient(w).Disconnect()
			c := w.client()
			c.WriteFrames(0, mine(0, "q", value.OfString("a")))
			if diff := cmp.Diff(refused, sentFrames(c)); diff != "" {
				t.Error(diff)
			}
		})
	})
}

// While the store refuses writes, a link that steals a session is refused as busy. The old link is
// detached as stolen nevertheless, so that no receiver is left.
func TestTakeoverWhileReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &readOnly{}
		w := newWorldOn(t, store, amqp.Options{}, broker.Options{})
		c := holdingClient(w)
		store.off.Store(true)
		c.WriteFrames(0, mine(1, "q", value.OfString("a")))
		if diff := cmp.Diff([]string{"detach " + string(wire.CondStolen), "*wire.Attach", "detach com.microsoft:server-busy"}, sentFrames(c)); diff != "" {
			t.Error(diff)
		}
		store.off.Store(false)
		time.Sleep(20 * time.Second)
		if err := w.b.Read(t.Context(), func(r broker.Reader) error {
			s, err := r.State("q")
			if s.Receivers != 0 {
				t.Errorf("got %d receivers", s.Receivers)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}
