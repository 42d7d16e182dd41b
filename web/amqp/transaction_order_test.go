package amqp_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
)

// gated is a store whose commits wait while it is shut. With stages, staging a body waits
// too, after the body has been read.
type gated struct {
	memory.Store
	mu     sync.Mutex
	gate   chan struct{} // nil while it is open
	err    error         // of commits that have waited
	stages bool          // staging waits too
}

func (s *gated) Commit(ctx context.Context, b *engine.Batch) error {
	s.mu.Lock()
	gate, err := s.gate, s.err
	s.mu.Unlock()
	if gate != nil {
		<-gate
		if err != nil {
			return err
		}
	}
	return s.Store.Commit(ctx, b)
}

// Stage stages the whole body, and then waits while the store is shut, if stages is set.
func (s *gated) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	err := s.Store.Stage(ctx, k, body)
	s.mu.Lock()
	gate, waits := s.gate, s.stages
	s.mu.Unlock()
	if gate != nil && waits {
		<-gate
	}
	return err
}

// shut makes the broker's next commit wait until open is called, and then return err.
func (s *gated) shut(err error) (open func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate, s.err = gate, err
	return func() {
		s.mu.Lock()
		s.gate = nil
		s.mu.Unlock()
		close(gate)
	}
}

// withGate runs f with a client that has a second coordinator, on handle 51, and a link
// to "large", on handle 1, on a store that can be shut. busy blocks the broker's only
// goroutine until the function that it returns is called.
func withGate(t *testing.T, limits map[string]string, f func(c *transactionClient, store *gated, busy func() (open func()))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := new(gated)
		inBubbleWithStore(t, limits, store, func(h bubbleWorld) {
			h.b.CreateQueue("large", engine.Config{MaxMessageSizeInKilobytes: 10 << 10})
			other := h.sender()
			c := &transactionClient{bubbleWorld: h, Client: h.connect(), next: 1000}
			c.Begin(0)
			for _, handle := range []uint32{50, 51} { // the first of the session, so that transactions span entities
				c.Attach(0, amqptest.CoordinatorAttach(handle))
				amqptest.Expect[*wire.Flow](c.Client)
			}
			c.AttachSender(0, 0, "q")
			c.AttachSender(0, 1, "large")
			f(c, store, func() func() {
				open := store.shut(nil)
				other.WriteFrames(0, amqptest.MessageTransfer(0, 0, amqptest.DataMessage(nil)))
				synctest.Wait()
				return open
			})
		})
	})
}

func (t *transactionClient) detach(handle uint32) {
	t.Helper()
	t.WriteFrames(0, &wire.Detach{Handle: handle, Closed: true})
	amqptest.Expect[*wire.Detach](t.Client)
}

// on sends a declare or discharge to a coordinator, without waiting for the outcome.
func (t *transactionClient) on(handle uint32, body []byte) (delivery uint32) {
	t.Helper()
	t.next++
	t.WriteFrames(0, amqptest.MessageTransfer(handle, t.next, wire.AppendSection(nil, wire.SectionValue, body)))
	return t.next
}

// If the coordinator ends while a transaction is being declared, the transaction does not
// exist: it does not count for the connection (TX-2).
func TestCoordinatorEndsWhileItDeclares(t *testing.T) {
	withGate(t, nil, func(c *transactionClient, _ *gated, busy func() func()) {
		declare := (&wire.Declare{}).Append(nil)
		for range 999 {
			if _, ok := c.WaitForOutcome(c.on(51, declare)).(wire.Declared); !ok {
				t.Fatal("the transaction was not declared")
			}
		}
		open := busy()
		c.on(50, declare)
		synctest.Wait()
		c.WriteFrames(0, &wire.Detach{Handle: 50, Closed: true})
		synctest.Wait()
		open()
		amqptest.Expect[*wire.Detach](c.Client)
		if s, ok := c.WaitForOutcome(c.on(51, declare)).(wire.Declared); !ok {
			t.Errorf("the thousandth: %+v", s)
		}
	})
}

// A commit that the store refuses ends the transaction if its coordinator has ended
// meanwhile, because the client can no longer try again.
func TestCoordinatorEndsWhileItDischarges(t *testing.T) {
	withGate(t, nil, func(c *transactionClient, store *gated, _ func() func()) {
		id := c.declare()
		c.in(c.sendIn(id, 0, []byte("x")), id)
		open := store.shut(engine.ErrUnwritable)
		discharge := (&wire.Discharge{TxnID: id}).Append(nil)
		c.on(50, discharge)
		synctest.Wait()
		c.WriteFrames(0, &wire.Detach{Handle: 50, Closed: true})
		synctest.Wait()
		open()
		c.rejected(c.WaitForOutcome(c.next), errorcodes.CondServerBusy)
		amqptest.Expect[*wire.Detach](c.Client)
		c.rejected(c.WaitForOutcome(c.on(51, discharge)), wire.CondTransactionUnknownID)
		if n := c.active("q"); n != 0 {
			t.Errorf("got %d messages", n)
		}
	})
}

// stream sends the pieces of a large message on handle 1, in a transaction.
func (t *transactionClient) stream(delivery uint32, in wire.Transactional, message []byte, last bool) {
	t.Helper()
	for at := 0; at < len(message); at += 60_000 {
		end := min(at+60_000, len(message))
		d := &wire.Transfer{Handle: 1, DeliveryID: wire.Some(delivery), State: in, More: end < len(message) || !last, Payload: message[at:end]}
		t.WriteFrames(0, d)
	}
}

// A streamed message takes its place in a transaction when all of it has arrived: after
// messages that were complete before, even if those have not been processed yet (TX-4).
func TestOrderOfAStream(t *testing.T) {
	withGate(t, nil, func(c *transactionClient, _ *gated, busy func() func()) {
		id := c.declare()
		state := wire.Transactional{TxnID: id}
		large := amqptest.DataMessage(pattern(600_000))
		c.stream(1, state, large[:400_000], false)
		synctest.Wait()
		open := busy()
		for i := range uint32(3) {
			c.WriteFrames(0, &wire.Transfer{Handle: 0, DeliveryID: wire.Some(2 + i), State: state, Payload: amqptest.DataMessage([]byte{byte(i)})})
		}
		c.stream(1, state, large[400_000:], true)
		synctest.Wait()
		open()
		for _, want := range []uint32{2, 3, 4, 1} {
			d := amqptest.Expect[*wire.Disposition](c.Client)
			if c.in(d.State, id); d.First != want {
				t.Errorf("delivery %d was answered, want %d", d.First, want)
			}
		}
		c.accepted(c.discharge(id, false))
		if n := c.active("large"); n != 1 {
			t.Errorf("got %d large messages", n)
		}
	})
}

// A discharge after a streamed message waits until the transaction has the message.
func TestDischargeBehindAStream(t *testing.T) {
	withGate(t, nil, func(c *transactionClient, store *gated, _ func() func()) {
		id := c.declare()
		state := wire.Transactional{TxnID: id}
		large := amqptest.DataMessage(pattern(600_000))
		c.stream(1, state, large[:400_000], false)
		synctest.Wait()
		store.stages = true
		open := store.shut(nil)
		c.stream(1, state, large[400_000:], true)
		discharge := c.on(50, (&wire.Discharge{TxnID: id}).Append(nil))
		synctest.Wait()
		open()
		c.in(c.WaitForOutcome(1), id)
		c.accepted(c.WaitForOutcome(discharge))
		if n := c.active("large"); n != 1 {
			t.Errorf("got %d large messages", n)
		}
	})
}

// A settlement in a transaction right before its discharge is part of it (SETL-5).
func TestDischargeBehindASettlement(t *testing.T) {
	withGate(t, nil, func(c *transactionClient, _ *gated, _ func() func()) {
		c.Send(0, 0, 0, amqptest.DataMessage([]byte("m")))
		c.Attach(0, amqptest.ReceiverAttach(2, "q"))
		c.GrantCredit(0, 2, 0, 1)
		c.ReceiveDelivery()
		id := c.declare()
		c.next++
		discharge := wire.AppendSection(nil, wire.SectionValue, (&wire.Discharge{TxnID: id}).Append(nil))
		c.WriteFrames(0, settles(0, wire.Opt[uint32]{}, wire.Transactional{TxnID: id, Outcome: wire.Accepted{}}), amqptest.MessageTransfer(50, c.next, discharge))
		for range 2 {
			switch d := amqptest.Expect[*wire.Disposition](c.Client); d.Role {
			case wire.RoleSender:
				c.in(d.State, id)
			default:
				c.accepted(d.State)
			}
		}
		if n := c.active("q"); n != 0 {
			t.Errorf("got %d messages", n)
		}
	})
}

// The rest of a message in a transaction that cannot be kept is dropped as it arrives.
func TestStoreFailsInATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inBubbleWithStore(t, nil, &failing{}, func(h bubbleWorld) {
			c := h.transactionClient()
			id := c.declare()
			before := time.Now()
			h.rejected(c.sendIn(id, 0, pattern(1_000_000)), wire.CondInternalError)
			if d := time.Since(before); d != 0 {
				t.Errorf("it took %v", d)
			}
			c.in(c.sendIn(id, 0, []byte("small")), id)
			h.accepted(c.discharge(id, false))
			if n := h.active("q"); n != 1 {
				t.Errorf("got %d messages", n)
			}
		})
	})
}

// Messages that wait for their turn in a transaction count as kept, and are refused if
// there is no room.
func TestTransactionsLineIsBounded(t *testing.T) {
	withGate(t, map[string]string{"incomplete-bytes": "2000000"}, func(c *transactionClient, _ *gated, busy func() func()) {
		id := c.declare()
		state := wire.Transactional{TxnID: id}
		open := busy()
		whole := amqptest.DataMessage(pattern(200_000))
		for i := range uint32(6) {
			for at := 0; at < len(whole); at += 50_000 {
				d := &wire.Transfer{Handle: 0, More: at+50_000 < len(whole), Payload: whole[at:min(at+50_000, len(whole))]}
				if at == 0 {
					d.DeliveryID, d.State = wire.Some(i), state
				}
				c.WriteFrames(0, d)
			}
		}
		synctest.Wait()
		open()
		in, busyOnes := 0, 0
		for range 6 {
			switch s := amqptest.Expect[*wire.Disposition](c.Client).State; {
			case condition(s) == errorcodes.CondServerBusy:
				busyOnes++
			default:
				c.in(s, id)
				in++
			}
		}
		if in != 4 || busyOnes != 2 { // the connection may use a megabyte
			t.Errorf("%d messages were accepted, and %d refused", in, busyOnes)
		}
		c.accepted(c.discharge(id, false))
		synctest.Wait()
		if n := c.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// An incomplete declare is dropped when its link ends.
func TestCoordinatorEndsWithinAMessage(t *testing.T) {
	withGate(t, nil, func(c *transactionClient, _ *gated, _ func() func()) {
		half := amqptest.MessageTransfer(50, 77, pattern(1000))
		half.More = true
		c.WriteFrames(0, half)
		synctest.Wait()
		if n := c.s.IncomingBytes(); n != 1000 {
			t.Errorf("%d bytes are kept", n)
		}
		c.detach(50)
		if n := c.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept at the end", n)
		}
	})
}
