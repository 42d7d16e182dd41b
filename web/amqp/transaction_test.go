package amqp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
)

// A transactionClient is a client with a coordinator on handle 50.
type transactionClient struct {
	bubbleWorld
	*amqptest.Client
	next uint32 // id of the next delivery
}

func (h bubbleWorld) transactionClient() *transactionClient {
	h.Helper()
	t := &transactionClient{bubbleWorld: h, Client: h.sender(), next: 1000}
	a := t.Attach(0, amqptest.CoordinatorAttach(50))
	if a.Coordinator == nil || len(a.Coordinator.Capabilities) == 0 {
		h.Errorf("the answer to a coordinator is %+v", a)
	}
	amqptest.Expect[*wire.Flow](t.Client)
	return t
}

func (t *transactionClient) coordinate(body []byte) wire.State {
	t.Helper()
	t.next++
	return t.Send(0, 50, t.next, wire.AppendSection(nil, wire.SectionValue, body))
}

func (t *transactionClient) declare() []byte {
	t.Helper()
	s := t.coordinate((&wire.Declare{}).Append(nil))
	d, ok := s.(wire.Declared)
	if !ok {
		t.Fatalf("the outcome of a declare is %s", show(s))
	}
	return d.TxnID
}

func (t *transactionClient) discharge(id []byte, fail bool) wire.State {
	t.Helper()
	return t.coordinate((&wire.Discharge{TxnID: id, Fail: fail}).Append(nil))
}

// discharges sends a discharge and does not wait for its outcome, which is that of the delivery
// t.next.
func (t *transactionClient) discharges(id []byte, fail bool) {
	t.Helper()
	t.next++
	t.WriteFrames(0, amqptest.MessageTransfer(50, t.next, wire.AppendSection(nil, wire.SectionValue, (&wire.Discharge{TxnID: id, Fail: fail}).Append(nil))))
}

// sendIn sends a message to q in a transaction.
func (t *transactionClient) sendIn(id []byte, handle uint32, body []byte) wire.State {
	t.Helper()
	t.next++
	rest := amqptest.DataMessage(body)
	for first := true; first || len(rest) > 0; first = false {
		n := min(60_000, len(rest))
		d := &wire.Transfer{Handle: handle, More: n < len(rest), Payload: rest[:n]}
		if first {
			d.DeliveryID, d.State = wire.Some(t.next), wire.Transactional{TxnID: id}
		}
		t.WriteFrames(0, d)
		rest = rest[n:]
	}
	return t.WaitForOutcome(t.next)
}

func (t *transactionClient) in(s wire.State, id []byte) {
	t.Helper()
	if in, ok := s.(wire.Transactional); !ok || string(in.TxnID) != string(id) || in.Outcome != (wire.Accepted{}) {
		t.Errorf("the outcome of a send in the transaction is %s", show(s))
	}
}

// Messages that are sent and settled in a transaction, small and large ones, are sent and
// settled at its commit. A rollback leaves no effect (TX-1, TX-4, SETL-5).
func TestTransaction(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.transactionClient()
		h.accepted(c.Send(0, 0, 1, amqptest.DataMessage([]byte("first"))))
		c.Attach(0, amqptest.ReceiverAttach(9, "q"))
		c.GrantCredit(0, 9, 0, 1)
		got := c.ReceiveDelivery()
		for _, fail := range []bool{true, false} {
			id := c.declare()
			c.in(c.sendIn(id, 0, []byte("small")), id)
			c.in(c.sendIn(id, 0, pattern(700_000)), id)
			c.in(c.sendIn(id, 0, []byte("last")), id)
			if n := h.active("q"); n != 1 {
				t.Errorf("TX-4: got %d messages before the commit", n)
			}
			if !fail {
				c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: got.DeliveryID.Or(99), State: wire.Transactional{TxnID: id, Outcome: wire.Accepted{}}})
				d := amqptest.Expect[*wire.Disposition](c.Client)
				c.in(d.State, id)
				if d.Settled || d.Role != wire.RoleSender {
					t.Errorf("%+v", d)
				}
				c.discharges(id, false)
				d = amqptest.Expect[*wire.Disposition](c.Client) // the commit settles it
				c.in(d.State, id)
				if !d.Settled || d.Role != wire.RoleSender || d.First != got.DeliveryID.Or(99) {
					t.Errorf("%+v", d)
				}
				h.accepted(c.WaitForOutcome(c.next))
			} else {
				h.accepted(c.discharge(id, true))
			}
			h.rejected(c.discharge(id, fail), wire.CondTransactionUnknownID)
			h.rejected(c.sendIn(id, 0, nil), wire.CondTransactionUnknownID)
		}
		c.GrantCredit(0, 9, 1, 3)
		for _, want := range [][]byte{[]byte("small"), pattern(700_000), []byte("last")} {
			h.same(c.DataOf(c.ReceiveDelivery().Payload), want)
		}
	})
}

// A transaction belongs to its connection: other connections cannot use it. It is rolled back when
// its coordinator is detached, its connection ends or its time limit of two minutes passes.
func TestTransactionEnds(t *testing.T) {
	for name, end := range map[string]func(c *transactionClient){
		"detach": func(c *transactionClient) {
			c.WriteFrames(0, &wire.Detach{Handle: 50, Closed: true})
			amqptest.Expect[*wire.Detach](c.Client)
		},
		"vanish": func(c *transactionClient) { c.Disconnect() },
		"close":  func(c *transactionClient) { c.WriteFrames(0, &wire.Close{}); c.WaitForClose() },
		"time":   func(*transactionClient) { time.Sleep(2*time.Minute + time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				c, other := h.transactionClient(), h.transactionClient()
				h.accepted(c.Send(0, 0, 0, amqptest.DataMessage([]byte("x"))))
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
					t.Errorf("got %d messages", n)
				}
				if id := other.declare(); true {
					other.in(other.sendIn(id, 0, []byte("other")), id)
					h.accepted(other.discharge(id, false))
				}
			})
		})
	}
}

// A commit in which an operation fails has no effect and returns an error.
func TestTransactionRolledBack(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		h.b.CreateQueue("there", engine.Config{})
		c := h.transactionClient()
		a := amqptest.SenderAttach(1, "q")
		a.Properties = value.Properties{{Name: "com.microsoft:transfer-destination-address", Value: value.OfString("there")}}
		c.Attach(0, a)
		amqptest.Expect[*wire.Flow](c.Client)
		h.accepted(c.Send(0, 1, 1, amqptest.DataMessage([]byte("by way"))))
		if h.active("there") != 1 || h.active("q") != 0 {
			t.Error("FWD-14: the message was not transferred to the destination")
		}
		id := c.declare()
		c.in(c.sendIn(id, 1, []byte("by way")), id)
		c.in(c.sendIn(id, 0, []byte("beside")), id)
		if err := h.b.Delete(h.Context(), "there", broker.Unconfirmed, "a test"); err != nil {
			t.Fatal(err)
		}
		h.rejected(c.discharge(id, false), wire.CondTransactionRollback)
		if n := h.active("q"); n != 0 {
			t.Errorf("got %d messages", n)
		}
		h.because(h.refused(c.Client, 0, func() wire.Attach { a.Handle = 2; a.Name = "again"; return a }()), wire.CondNotFound)
		h.rejected(c.coordinate([]byte{0x40}), wire.CondInvalidField)
		h.rejected(c.coordinate(pattern(5000)), wire.CondMessageSizeExceeded)
	})
}

// Without transactions, no coordinator can be attached.
func TestNoTransactions(t *testing.T) {
	inBubble(t, map[string]string{"without": "transactions"}, func(h bubbleWorld) {
		c := h.sender()
		if e := h.refused(c, 0, amqptest.CoordinatorAttach(1)); e.Condition == "" || e.Condition == errorcodes.CondServerBusy {
			t.Errorf("%+v", e)
		}
	})
}

// The server sends a frame at least every half of the peer's idle time-out, and closes
// the connection of a silent peer.
func TestHeartbeats(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		near := h.pipe()
		c := amqptest.Connect(h, near, wire.Open{IdleTimeOut: wire.Some[uint32](8_000)})
		for range 60 {
			time.Sleep(4*time.Second + 10*time.Millisecond)
			if heard := c.LastReceived(); time.Since(heard) > 4*time.Second+10*time.Millisecond {
				t.Fatalf("no frame came since %v", heard)
			}
			if c.ReadError() != nil || len(c.Pending()) > 0 {
				break // the client itself was silent for too long
			}
		}
		h.because(c.WaitForClose(), wire.CondConnectionForced)
	})
}

// The server stops reading from a client that sends and does not read, and disconnects it
// after a while. Other clients are not affected.
func TestSlowReader(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		healthy := h.sender()
		near := h.pipe()
		c := amqptest.Connect(h, near, wire.Open{})
		c.Begin(0)
		c.Attach(0, amqptest.SenderAttach(0, "$cbs"))
		amqptest.Expect[*wire.Flow](c)
		c.Attach(0, amqptest.ReceiverAttach(1, "$cbs"))
		c.GrantCredit(0, 1, 0, 1<<30)
		c.StopReading()
		defer c.ResumeReading()
		request := wire.AppendAnnotations(nil, wire.SectionApplicationProperties, value.Properties{{Name: "operation", Value: value.OfString("put-token")}})
		sent := 0
		for range 1_000_000 {
			if _, err := near.Write(wire.AppendFrame(nil, 0, amqptest.MessageTransfer(0, uint32(sent), request))); err != nil {
				break
			}
			sent++
		}
		if sent > 100_000 {
			t.Errorf("%d requests were read from a client that reads no replies", sent)
		}
		h.accepted(healthy.Send(0, 0, 0, amqptest.DataMessage(nil)))
	})
}
