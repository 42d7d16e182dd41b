package amqp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// A teller is a client with a coordinator on handle 50.
type teller struct {
	house
	*amqptest.Client
	next uint32 // delivery
}

func (h house) teller() *teller {
	h.Helper()
	t := &teller{house: h, Client: h.sender(), next: 1000}
	a := t.Attach(0, amqptest.Coordinates(50))
	if a.Coordinator == nil || len(a.Coordinator.Capabilities) == 0 {
		h.Errorf("the answer to a coordinator is %+v", a)
	}
	amqptest.Hear[*wire.Flow](t.Client)
	return t
}

func (t *teller) coordinate(body []byte) wire.State {
	t.Helper()
	t.next++
	return t.Send(0, 50, t.next, wire.AppendSection(nil, wire.SectionValue, body))
}

func (t *teller) declare() []byte {
	t.Helper()
	s := t.coordinate((&wire.Declare{}).Append(nil))
	d, ok := s.(wire.Declared)
	if !ok {
		t.Fatalf("a declare comes to %s", show(s))
	}
	return d.TxnID
}

func (t *teller) discharge(id []byte, fail bool) wire.State {
	t.Helper()
	return t.coordinate((&wire.Discharge{TxnID: id, Fail: fail}).Append(nil))
}

// sendIn sends a message to q in a transaction.
func (t *teller) sendIn(id []byte, handle uint32, body []byte) wire.State {
	t.Helper()
	t.next++
	rest := amqptest.Data(body)
	for first := true; first || len(rest) > 0; first = false {
		n := min(60_000, len(rest))
		d := &wire.Transfer{Handle: handle, More: n < len(rest), Payload: rest[:n]}
		if first {
			d.DeliveryID, d.State = wire.Some(t.next), wire.Transactional{TxnID: id}
		}
		t.Say(0, d)
		rest = rest[n:]
	}
	return t.Outcome(t.next)
}

func (t *teller) in(s wire.State, id []byte) {
	t.Helper()
	if in, ok := s.(wire.Transactional); !ok || string(in.TxnID) != string(id) || in.Outcome != (wire.Accepted{}) {
		t.Errorf("what was to be in the transaction is %s", show(s))
	}
}

// What is sent and settled in a transaction is done at its commit, small and large
// ones; what is rolled back never was (TX-1, TX-4, SETL-5).
func TestTransaction(t *testing.T) {
	within(t, nil, func(h house) {
		c := h.teller()
		h.accepted(c.Send(0, 0, 1, amqptest.Data([]byte("first"))))
		c.Attach(0, amqptest.Receives(9, "q"))
		c.Credit(0, 9, 0, 1)
		got := c.Receive()
		for _, fail := range []bool{true, false} {
			id := c.declare()
			c.in(c.sendIn(id, 0, []byte("small")), id)
			c.in(c.sendIn(id, 0, pattern(700_000)), id)
			c.in(c.sendIn(id, 0, []byte("last")), id)
			if n := h.active("q"); n != 1 {
				t.Errorf("TX-4: %d are there before the commit", n)
			}
			if !fail {
				c.Say(0, &wire.Disposition{Role: wire.RoleReceiver, First: got.DeliveryID.Or(99), State: wire.Transactional{TxnID: id, Outcome: wire.Accepted{}}})
				d := amqptest.Hear[*wire.Disposition](c.Client)
				c.in(d.State, id)
				if !d.Settled || d.Role != wire.RoleSender {
					t.Errorf("%+v", d)
				}
			}
			h.accepted(c.discharge(id, fail))
			h.rejected(c.discharge(id, fail), wire.CondTransactionUnknownID)
			h.rejected(c.sendIn(id, 0, nil), wire.CondTransactionUnknownID)
		}
		c.Credit(0, 9, 1, 3)
		for _, want := range [][]byte{[]byte("small"), pattern(700_000), []byte("last")} {
			h.same(c.Body(c.Receive().Payload), want)
		}
	})
}

// A transaction is of its connection, and ends with its coordinator.
func TestTransactionEnds(t *testing.T) {
	for name, end := range map[string]func(c *teller){
		"detach": func(c *teller) {
			c.Say(0, &wire.Detach{Handle: 50, Closed: true})
			amqptest.Hear[*wire.Detach](c.Client)
		},
		"vanish": func(c *teller) { c.Hang() },
		"close":  func(c *teller) { c.Say(0, &wire.Close{}); c.Closed() },
		"time":   func(*teller) { time.Sleep(2*time.Minute + time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			within(t, nil, func(h house) {
				c, other := h.teller(), h.teller()
				h.accepted(c.Send(0, 0, 0, amqptest.Data([]byte("x"))))
				id := c.declare()
				h.rejected(other.discharge(id, false), wire.CondTransactionUnknownID)
				h.rejected(other.sendIn(id, 0, nil), wire.CondTransactionUnknownID)
				c.in(c.sendIn(id, 0, []byte("in")), id)
				end(c)
				synctest.Wait()
				if name == "detach" || name == "time" {
					h.rejected(c.sendIn(id, 0, nil), wire.CondTransactionUnknownID)
				}
				if n := h.active("q"); n != 1 {
					t.Errorf("%d are there", n)
				}
				if id := other.declare(); true {
					other.in(other.sendIn(id, 0, []byte("other")), id)
					h.accepted(other.discharge(id, false))
				}
			})
		})
	}
}

// A commit of which something fails does nothing, and says so.
func TestTransactionRolledBack(t *testing.T) {
	within(t, nil, func(h house) {
		h.queue("there", engine.Config{})
		c := h.teller()
		a := amqptest.Sends(1, "q")
		a.Properties = value.Properties{{Name: "com.microsoft:transfer-destination-address", Value: value.OfString("there")}}
		c.Attach(0, a)
		amqptest.Hear[*wire.Flow](c.Client)
		h.accepted(c.Send(0, 1, 1, amqptest.Data([]byte("by way"))))
		if h.active("there") != 1 || h.active("q") != 0 {
			t.Error("FWD-14: it did not go there")
		}
		id := c.declare()
		c.in(c.sendIn(id, 1, []byte("by way")), id)
		c.in(c.sendIn(id, 0, []byte("beside")), id)
		if err := h.b.Delete(h.Context(), "there", broker.Unasked, "a test"); err != nil {
			t.Fatal(err)
		}
		h.rejected(c.discharge(id, false), wire.CondTransactionRollback)
		if n := h.active("q"); n != 0 {
			t.Errorf("%d are there", n)
		}
		h.because(h.refused(c.Client, 0, func() wire.Attach { a.Handle = 2; a.Name = "again"; return a }()), wire.CondNotFound)
		h.rejected(c.coordinate([]byte{0x40}), wire.CondInvalidField)
		h.rejected(c.coordinate(pattern(5000)), wire.CondMessageSizeExceeded)
	})
}

// Where there are no transactions, there is no coordinator.
func TestNoTransactions(t *testing.T) {
	within(t, map[string]string{"without": "transactions"}, func(h house) {
		c := h.sender()
		if e := h.refused(c, 0, amqptest.Coordinates(1)); e.Condition == "" || e.Condition == carry.CondServerBusy {
			t.Errorf("%+v", e)
		}
	})
}

// A peer hears something at least every half of what it asks for, and one that is
// silent is told to go.
func TestHeartbeats(t *testing.T) {
	within(t, nil, func(h house) {
		near := h.pipe()
		c := amqptest.Connect(h, near, wire.Open{IdleTimeOut: wire.Some[uint32](8_000)})
		for range 60 {
			time.Sleep(4*time.Second + 10*time.Millisecond)
			if heard := c.Heard(); time.Since(heard) > 4*time.Second+10*time.Millisecond {
				t.Fatalf("nothing was heard since %v", heard)
			}
			if c.Gone() != nil || len(c.Pending()) > 0 {
				break // it was silent for too long itself
			}
		}
		h.because(c.Closed(), wire.CondConnectionForced)
	})
}

// A client that sends and does not read is read no more when much waits for it,
// and is cut off in a while; nobody else notices.
func TestSlowReader(t *testing.T) {
	within(t, nil, func(h house) {
		healthy := h.sender()
		near := h.pipe()
		c := amqptest.Connect(h, near, wire.Open{})
		c.Begin(0)
		c.Attach(0, amqptest.Sends(0, "$cbs"))
		amqptest.Hear[*wire.Flow](c)
		c.Attach(0, amqptest.Receives(1, "$cbs"))
		c.Credit(0, 1, 0, 1<<30)
		c.Deafen()
		defer c.Listen()
		request := wire.AppendAnnotations(nil, wire.SectionApplicationProperties, value.Properties{{Name: "operation", Value: value.OfString("put-token")}})
		sent := 0
		for range 1_000_000 {
			if _, err := near.Write(wire.AppendFrame(nil, 0, amqptest.Delivery(0, uint32(sent), request))); err != nil {
				break
			}
			sent++
		}
		if sent > 100_000 {
			t.Errorf("%d requests were read of a client that reads no answer", sent)
		}
		h.accepted(healthy.Send(0, 0, 0, amqptest.Data(nil)))
	})
}
