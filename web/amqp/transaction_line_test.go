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
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// gated is a store whose commits wait while it is shut, and if stages is set what
// stages a body, once that is read.
type gated struct {
	memory.Store
	mu     sync.Mutex
	gate   chan struct{} // nil: it is open
	err    error         // of commits that have waited
	stages bool          // that wait too
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

// Stage waits when it has read all.
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

// shut has the broker's next commit wait until open, and come to err then.
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

// withGate has a teller with a second coordinator, on handle 51, and a link to
// "large", on handle 1, be served by a store that can be shut. busy has the broker's
// only goroutine wait for the store until what it returns is called.
func withGate(t *testing.T, limits map[string]string, f func(c *teller, store *gated, busy func() (open func()))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := new(gated)
		withStore(t, limits, store, func(h house) {
			h.queue("large", engine.Config{MaxMessageSizeInKilobytes: 10 << 10})
			other := h.sender()
			c := h.teller()
			c.Attach(0, amqptest.Coordinates(51))
			amqptest.Hear[*wire.Flow](c.Client)
			c.Sender(0, 1, "large")
			f(c, store, func() func() {
				open := store.shut(nil)
				other.Say(0, amqptest.Delivery(0, 0, amqptest.Data(nil)))
				synctest.Wait()
				return open
			})
		})
	})
}

func (t *teller) detach(handle uint32) {
	t.Helper()
	t.Say(0, &wire.Detach{Handle: handle, Closed: true})
	amqptest.Hear[*wire.Detach](t.Client)
}

// on declares or discharges on a coordinator, without hearing what comes of it.
func (t *teller) on(handle uint32, body []byte) (delivery uint32) {
	t.Helper()
	t.next++
	t.Say(0, amqptest.Delivery(handle, t.next, wire.AppendSection(nil, wire.SectionValue, body)))
	return t.next
}

// A transaction whose coordinator has ended while it was being declared is none: it
// does not count among those of the connection (TX-2).
func TestCoordinatorEndsWhileItDeclares(t *testing.T) {
	withGate(t, nil, func(c *teller, _ *gated, busy func() func()) {
		declare := (&wire.Declare{}).Append(nil)
		for range 999 {
			if _, ok := c.Outcome(c.on(51, declare)).(wire.Declared); !ok {
				t.Fatal("not declared")
			}
		}
		open := busy()
		c.on(50, declare)
		synctest.Wait()
		c.detach(50)
		open()
		synctest.Wait()
		if s, ok := c.Outcome(c.on(51, declare)).(wire.Declared); !ok {
			t.Errorf("the thousandth: %+v", s)
		}
	})
}

// A commit that the store does not take ends the transaction if its coordinator has
// ended meanwhile: nobody is left to try again.
func TestCoordinatorEndsWhileItDischarges(t *testing.T) {
	withGate(t, nil, func(c *teller, store *gated, _ func() func()) {
		id := c.declare()
		c.in(c.sendIn(id, 0, []byte("x")), id)
		open := store.shut(engine.ErrUnwritable)
		discharge := (&wire.Discharge{TxnID: id}).Append(nil)
		c.on(50, discharge)
		synctest.Wait()
		c.detach(50)
		open()
		synctest.Wait()
		c.rejected(c.Outcome(c.on(51, discharge)), wire.CondTransactionUnknownID)
		if n := c.active("q"); n != 0 {
			t.Errorf("%d are there", n)
		}
	})
}

// stream says the pieces of a large message on handle 1, in a transaction.
func (t *teller) stream(delivery uint32, in wire.Transactional, message []byte, last bool) {
	t.Helper()
	for at := 0; at < len(message); at += 60_000 {
		end := min(at+60_000, len(message))
		d := &wire.Transfer{Handle: 1, DeliveryID: wire.Some(delivery), State: in, More: end < len(message) || !last, Payload: message[at:end]}
		t.Say(0, d)
	}
}

// A message that streams takes its place in a transaction when all of it has come:
// behind what came whole before, also when that was not done yet (TX-4).
func TestPlaceOfAStream(t *testing.T) {
	withGate(t, nil, func(c *teller, _ *gated, busy func() func()) {
		id := c.declare()
		state := wire.Transactional{TxnID: id}
		large := amqptest.Data(pattern(600_000))
		c.stream(1, state, large[:400_000], false)
		synctest.Wait()
		open := busy()
		for i := range uint32(3) {
			c.Say(0, &wire.Transfer{Handle: 0, DeliveryID: wire.Some(2 + i), State: state, Payload: amqptest.Data([]byte{byte(i)})})
		}
		c.stream(1, state, large[400_000:], true)
		synctest.Wait()
		open()
		for _, want := range []uint32{2, 3, 4, 1} {
			d := amqptest.Hear[*wire.Disposition](c.Client)
			if c.in(d.State, id); d.First != want {
				t.Errorf("delivery %d is answered instead of %d", d.First, want)
			}
		}
		c.accepted(c.discharge(id, false))
		if n := c.active("large"); n != 1 {
			t.Errorf("%d large ones are there", n)
		}
	})
}

// A discharge behind a message that streams waits until the transaction has it.
func TestDischargeBehindAStream(t *testing.T) {
	withGate(t, nil, func(c *teller, store *gated, _ func() func()) {
		id := c.declare()
		state := wire.Transactional{TxnID: id}
		large := amqptest.Data(pattern(600_000))
		c.stream(1, state, large[:400_000], false)
		synctest.Wait()
		store.stages = true
		open := store.shut(nil)
		c.stream(1, state, large[400_000:], true)
		discharge := c.on(50, (&wire.Discharge{TxnID: id}).Append(nil))
		synctest.Wait()
		open()
		c.in(c.Outcome(1), id)
		c.accepted(c.Outcome(discharge))
		if n := c.active("large"); n != 1 {
			t.Errorf("%d large ones are there", n)
		}
	})
}

// What is settled in a transaction right before its discharge is part of it (SETL-5).
func TestDischargeBehindASettlement(t *testing.T) {
	withGate(t, nil, func(c *teller, _ *gated, _ func() func()) {
		c.Send(0, 0, 0, amqptest.Data([]byte("m")))
		c.Attach(0, amqptest.Receives(2, "q"))
		c.Credit(0, 2, 0, 1)
		c.Receive()
		id := c.declare()
		c.next++
		discharge := wire.AppendSection(nil, wire.SectionValue, (&wire.Discharge{TxnID: id}).Append(nil))
		c.Say(0, settles(0, wire.Opt[uint32]{}, wire.Transactional{TxnID: id, Outcome: wire.Accepted{}}), amqptest.Delivery(50, c.next, discharge))
		for range 2 {
			switch d := amqptest.Hear[*wire.Disposition](c.Client); d.Role {
			case wire.RoleSender:
				c.in(d.State, id)
			default:
				c.accepted(d.State)
			}
		}
		if n := c.active("q"); n != 0 {
			t.Errorf("%d are there", n)
		}
	})
}

// What comes of a message of a transaction after it was known that it cannot be
// kept is dropped as it comes.
func TestStoreFailsInATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		withStore(t, nil, &failing{}, func(h house) {
			c := h.teller()
			id := c.declare()
			before := time.Now()
			h.rejected(c.sendIn(id, 0, pattern(1_000_000)), wire.CondInternalError)
			if d := time.Since(before); d != 0 {
				t.Errorf("it took %v", d)
			}
			c.in(c.sendIn(id, 0, []byte("small")), id)
			h.accepted(c.discharge(id, false))
			if n := h.active("q"); n != 1 {
				t.Errorf("%d are there", n)
			}
		})
	})
}

// What waits for its turn in a transaction counts as kept, and is refused when there
// is no room for it.
func TestTransactionsLineIsBounded(t *testing.T) {
	withGate(t, map[string]string{"incomplete-bytes": "2000000"}, func(c *teller, _ *gated, busy func() func()) {
		id := c.declare()
		state := wire.Transactional{TxnID: id}
		open := busy()
		whole := amqptest.Data(pattern(200_000))
		for i := range uint32(6) {
			for at := 0; at < len(whole); at += 50_000 {
				d := &wire.Transfer{Handle: 0, More: at+50_000 < len(whole), Payload: whole[at:min(at+50_000, len(whole))]}
				if at == 0 {
					d.DeliveryID, d.State = wire.Some(i), state
				}
				c.Say(0, d)
			}
		}
		synctest.Wait()
		open()
		in, busyOnes := 0, 0
		for range 6 {
			switch s := amqptest.Hear[*wire.Disposition](c.Client).State; {
			case condition(s) == carry.CondServerBusy:
				busyOnes++
			default:
				c.in(s, id)
				in++
			}
		}
		if in != 4 || busyOnes != 2 { // the connection has a megabyte
			t.Errorf("%d were taken, and %d were too many", in, busyOnes)
		}
		c.accepted(c.discharge(id, false))
		synctest.Wait()
		if n := c.s.Kept(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// What has come of a declare when its link ends is not kept.
func TestCoordinatorEndsWithinAMessage(t *testing.T) {
	withGate(t, nil, func(c *teller, _ *gated, _ func() func()) {
		half := amqptest.Delivery(50, 77, pattern(1000))
		half.More = true
		c.Say(0, half)
		synctest.Wait()
		if n := c.s.Kept(); n != 1000 {
			t.Errorf("%d bytes are kept", n)
		}
		c.detach(50)
		if n := c.s.Kept(); n != 0 {
			t.Errorf("%d bytes are kept in the end", n)
		}
	})
}
