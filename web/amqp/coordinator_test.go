package amqp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/storage/memory"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
)

// A coordinator accepts hundreds of declares and discharges without running out of credit, even
// with an aborted transfer before each.
func TestCoordinatorsCredit(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.transactionClient()
		for i := range uint32(300) {
			first := amqptest.MessageTransfer(50, 5000+i, []byte{0})
			first.More = true
			c.WriteFrames(0, first, &wire.Transfer{Handle: 50, Aborted: true})
			h.accepted(c.discharge(c.declare(), i%2 == 0))
		}
	})
}

// A connection has at most a thousand transactions, and may have another one when one has
// ended. Those of another coordinator stay when one ends.
func TestMostTransactions(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.transactionClient()
		c.Attach(0, amqptest.CoordinatorAttach(51))
		amqptest.Expect[*wire.Flow](c.Client)
		kept, ok := c.Send(0, 51, 1, wire.AppendSection(nil, wire.SectionValue, (&wire.Declare{}).Append(nil))).(wire.Declared)
		if !ok {
			t.Fatal("the transaction was not declared")
		}
		var last []byte
		for range 999 {
			last = c.declare()
		}
		h.rejected(c.coordinate((&wire.Declare{}).Append(nil)), wire.CondResourceLimitExceeded)
		h.accepted(c.discharge(last, true))
		last = c.declare()
		h.rejected(c.coordinate((&wire.Declare{}).Append(nil)), wire.CondResourceLimitExceeded)
		c.WriteFrames(0, &wire.Detach{Handle: 50, Closed: true})
		amqptest.Expect[*wire.Detach](c.Client)
		h.rejected(c.sendIn(last, 0, nil), wire.CondTransactionUnknownID)
		c.in(c.sendIn(kept.TxnID, 0, []byte("kept")), kept.TxnID)
		c.SendInPieces(0, 51, 2, wire.AppendSection(nil, wire.SectionValue, (&wire.Discharge{TxnID: kept.TxnID}).Append(nil)), 60_000)
		h.accepted(c.WaitForOutcome(2))
		if n := h.active("q"); n != 1 {
			t.Errorf("got %d messages", n)
		}
		synctest.Wait()
		if n := h.s.IncomingBytes(); n != 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// readOnly is a store that can be written to only while off is false.
type readOnly struct {
	memory.Store
	off atomic.Bool
}

func (s *readOnly) Commit(ctx context.Context, b *engine.Batch) error {
	if s.off.Load() {
		return engine.ErrUnwritable
	}
	return s.Store.Commit(ctx, b)
}

// A commit that the store refuses at the moment does not end its transaction: the client
// can try again.
func TestCommitAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &readOnly{}
		inBubbleWithStore(t, nil, store, func(h bubbleWorld) {
			c := h.transactionClient()
			id := c.declare()
			c.in(c.sendIn(id, 0, []byte("x")), id)
			store.off.Store(true)
			h.rejected(c.discharge(id, false), errorcodes.CondServerBusy)
			store.off.Store(false)
			time.Sleep(10 * time.Second)
			h.accepted(c.discharge(id, false))
			if n := h.active("q"); n != 1 {
				t.Errorf("got %d messages", n)
			}
		})
	})
}

// completes returns a request to $management that completes a received message in a transaction,
// together with the messages of the lock tokens in `more`.
func completes(id uint32, got *wire.Transfer, txn []byte, more ...value.Value) *wire.Transfer {
	d := amqptest.MessageTransfer(0, id, request(uint64(id), "com.microsoft:update-disposition", value.Properties{
		prop("lock-tokens", arrayOf(value.UUID, append(more, value.OfUUID(wire.TagOfLockToken([16]byte(got.DeliveryTag))))...)),
		prop("disposition-status", value.OfString("completed")),
	}))
	d.State = wire.Transactional{TxnID: txn}
	return d
}

// managing returns a client that has received n messages of q, with links to $management
// on channel 1.
func (h bubbleWorld) managing(n uint32) (c *transactionClient, got []*wire.Transfer) {
	h.Helper()
	c = h.transactionClient()
	for i := range n {
		h.accepted(c.Send(0, 0, i, amqptest.DataMessage(nil)))
	}
	c.Begin(1)
	c.AttachSender(1, 0, "q/$management")
	c.Attach(1, amqptest.ReceiverAttach(1, "q/$management"))
	c.GrantCredit(1, 1, 0, 1000)
	c.Attach(0, amqptest.ReceiverAttach(9, "q"))
	c.GrantCredit(0, 9, 0, n)
	for range n {
		got = append(got, c.ReceiveDelivery())
	}
	return c, got
}

// Messages that are settled and scheduled through $management in a transaction are
// settled and scheduled at its commit, not before.
func TestManagementInTransaction(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c, got := h.managing(1)
		message := wire.AppendAnnotations(nil, wire.SectionMessageAnnotations, value.Properties{prop("x-opt-scheduled-enqueue-time", value.OfTimestamp(time.Now().Add(1000*time.Hour).UnixMilli()))})
		message = append(message, amqptest.DataMessage(nil)...)
		for i, fail := range []bool{true, false} {
			id := c.declare()
			schedules := amqptest.MessageTransfer(0, uint32(2*i+1), request(0, "com.microsoft:schedule-message", value.Properties{
				prop("messages", listOf(mapOf(prop("message-id", value.OfString("m")), prop("message", value.OfBinary(message))))),
			}))
			schedules.State = wire.Transactional{TxnID: id}
			for _, ask := range []*wire.Transfer{completes(uint32(2*i), got[0], id), schedules} {
				c.WriteFrames(1, ask)
				c.in(c.WaitForOutcome(ask.DeliveryID.Or(0)), id)
				if a := readAnswer(c.ReceiveDelivery().Payload); a.Status != 200 {
					t.Errorf("%+v", a)
				}
			}
			if n := h.active("q"); n != 1 {
				t.Errorf("got %d messages before the transaction ended", n)
			}
			h.accepted(c.discharge(id, fail))
			if rows, err := h.b.Peek(h.Context(), "q", 1, 10, "a test"); err != nil || len(rows) != 1 || (rows[0].Message.State == engine.Scheduled) == fail {
				t.Errorf("rolled back %t: %+v, %v", fail, rows, err)
			}
		}
	})
}

// If several deliveries cannot all be settled, a transaction settles none.
func TestManagementInTransactionTogether(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c, got := h.managing(2)
		id := c.declare()
		first := value.OfUUID(wire.TagOfLockToken([16]byte(got[0].DeliveryTag)))
		for i, tc := range []struct {
			more   []value.Value
			status int64
		}{{[]value.Value{first, value.OfUUID([16]byte{1})}, 410}, {[]value.Value{first}, 200}} {
			ask := completes(uint32(i), got[1], id, tc.more...)
			c.WriteFrames(1, ask)
			c.WaitForOutcome(uint32(i))
			if a := readAnswer(c.ReceiveDelivery().Payload); a.Status != tc.status {
				t.Errorf("%+v", a)
			}
		}
		h.accepted(c.discharge(id, false))
		if n := h.active("q"); n != 0 {
			t.Errorf("got %d messages", n)
		}
	})
}

// A settlement through $management that arrives together with the discharge of its
// transaction is part of it, or is refused. The client's answer is correct in either
// case.
func TestManagementAndDischarge(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		const messages = 20
		c, got := h.managing(messages)
		left := 0
		for i := range uint32(messages) {
			id := c.declare()
			settle := wire.AppendFrame(nil, 1, completes(i, got[i], id))
			c.next++
			discharge := wire.AppendFrame(nil, 0, amqptest.MessageTransfer(50, c.next, wire.AppendSection(nil, wire.SectionValue, (&wire.Discharge{TxnID: id}).Append(nil))))
			if i%2 == 0 {
				c.Write(append(settle, discharge...))
			} else {
				c.Write(append(discharge, settle...))
			}
			synctest.Wait()
			var reply *answer
			for range c.Pending() {
				f, err := c.Next()
				if err != nil {
					t.Fatal(err)
				}
				switch p := f.Body.(type) {
				case *wire.Transfer:
					a := readAnswer(p.Payload)
					reply = &a
				case *wire.Disposition:
					if r, ok := p.State.(wire.Rejected); ok {
						t.Errorf("%d: %s", i, show(r))
					}
				}
			}
			switch {
			case reply == nil:
				t.Fatalf("%d: no reply arrived", i)
			case reply.Status == 200:
			case reply.Condition == string(wire.CondTransactionUnknownID):
				left++
			default:
				t.Errorf("%d: %+v", i, reply)
			}
			if n := h.active("q"); n != messages-1-int(i)+left {
				t.Errorf("%d: got %d messages, and the reply %+v", i, n, reply)
			}
		}
		if left < messages/2 {
			t.Errorf("%d settlements that arrived after the discharge were refused", left)
		}
	})
}

// Transactions that are never discharged count for the limit of a thousand for twenty minutes, ten
// times their time limit, and then no more.
func TestOldTransactions(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.transactionClient()
		for range 1000 {
			c.declare()
		}
		for minute := range 21 { // ten times the time limit of a transaction
			if minute == 19 {
				h.rejected(c.coordinate((&wire.Declare{}).Append(nil)), wire.CondResourceLimitExceeded)
			}
			time.Sleep(time.Minute)
			c.Write(wire.AppendHeartbeat(nil))
		}
		h.accepted(c.discharge(c.declare(), false))
	})
}
