package amqp_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/storage/memory"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// holding returns a client that has received n messages of q, or of session "s" of the
// queue "sessions".
func (h bubbleWorld) holding(n uint32, session bool) *transactionClient {
	h.Helper()
	c := h.transactionClient()
	a := amqptest.ReceiverAttach(9, "q")
	to, id := engine.Path("q"), ""
	if session {
		h.b.CreateQueue("sessions", engine.Config{RequiresSession: true})
		a, to, id = asks(9, "sessions", value.OfString("s"), 0), "sessions", "s"
	}
	for i := range n {
		h.b.SendMessages(to, broker.Outgoing{Body: []byte{byte(i)}, Content: engine.Content{SessionID: id}})
	}
	c.Attach(0, a)
	c.GrantCredit(0, 9, 0, n)
	for range n {
		c.ReceiveDelivery()
	}
	return c
}

// settle sends a disposition in a transaction, or in none if id is nil.
func (t *transactionClient) settle(first, last uint32, id []byte, s wire.State, settled bool) {
	t.Helper()
	if id != nil {
		s = wire.Transactional{TxnID: id, Outcome: s}
	}
	t.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: first, Last: wire.Some(last), Settled: settled, State: s})
}

// outcomes returns the server's outcomes of the client's deliveries, in short, and of its
// discharges.
func (t *transactionClient) outcomes() (out []string) {
	t.Helper()
	for _, p := range frames(t.Client) {
		d, ok := p.(*wire.Disposition)
		if !ok {
			out = append(out, fmt.Sprintf("%T", p))
			continue
		}
		text := fmt.Sprintf("%d-%d", d.First, d.Last.Or(99))
		if d.Role == wire.RoleReceiver {
			text = "discharge"
		}
		state := d.State
		if in, ok := state.(wire.Transactional); ok {
			text, state = text+" within", in.Outcome
		}
		switch s := state.(type) {
		case wire.Accepted:
			text += " accepted"
		case wire.Released:
			text += " released"
		case wire.Rejected:
			text += " rejected"
			if s.Error != nil {
				text += " " + string(s.Error.Condition)
			}
		default:
			text += fmt.Sprintf(" %T", s)
		}
		if !d.Settled {
			text += ", unsettled"
		}
		out = append(out, text)
	}
	return out
}

// A settlement in a transaction is answered unsettled. A commit settles the delivery.
// After a rollback, whatever its cause, the delivery is the client's as before and can be
// settled again. If the client has settled it itself, the message is available again
// (SETL-5, TX-5).
func TestSettledInTransaction(t *testing.T) {
	lost := "com.microsoft:message-lock-lost"
	for name, tc := range map[string]struct {
		act  func(c *transactionClient, id []byte)
		want []string
		left int // messages of three that are left at the end
	}{
		"SETL-5 complete, commit": {func(c *transactionClient, id []byte) {
			c.settle(0, 2, id, wire.Accepted{}, false)
			c.discharges(id, false)
			synctest.Wait()
			c.settle(0, 2, nil, wire.Accepted{}, false) // the deliveries are no longer the client's
		}, []string{"0-2 within accepted, unsettled", "0-2 within accepted", "discharge accepted"}, 0},
		"SETL-5 complete, roll back, complete": {func(c *transactionClient, id []byte) {
			c.settle(0, 2, id, wire.Accepted{}, false)
			c.discharges(id, true)
			synctest.Wait()
			c.settle(0, 1, nil, wire.Accepted{}, false)
		}, []string{"0-2 within accepted, unsettled", "discharge accepted", "0-1 accepted"}, 1},
		"SETL-5 complete, roll back, complete in another": {func(c *transactionClient, id []byte) {
			c.settle(0, 2, id, wire.Accepted{}, false)
			c.discharges(id, true)
			synctest.Wait()
			frames(c.Client)
			id = c.declare()
			c.settle(1, 1, id, wire.Accepted{}, false)
			c.discharges(id, false)
		}, []string{"1-1 within accepted, unsettled", "1-1 within accepted", "discharge accepted"}, 2},
		"kinds": {func(c *transactionClient, id []byte) {
			c.settle(0, 0, id, wire.Rejected{Error: &wire.Error{Condition: "com.microsoft:dead-letter"}}, false)
			c.settle(1, 2, id, wire.Released{}, false)
			c.discharges(id, false)
		}, []string{"0-0 within rejected, unsettled", "1-2 within released, unsettled", "0-0 within rejected", "1-2 within released", "discharge accepted"}, 2},
		"the time is over": {func(c *transactionClient, id []byte) {
			c.settle(0, 0, id, wire.Accepted{}, false)
			c.settle(1, 1, id, wire.Accepted{}, true)
			time.Sleep(2*time.Minute + time.Second)
			c.settle(0, 0, nil, wire.Accepted{}, false)
		}, []string{"0-0 within accepted, unsettled", "0-0 accepted"}, 2},
		"the coordinator has gone": {func(c *transactionClient, id []byte) {
			c.settle(0, 0, id, wire.Accepted{}, false)
			synctest.Wait()
			c.WriteFrames(0, &wire.Detach{Handle: 50, Closed: true})
			synctest.Wait()
			c.settle(0, 0, nil, wire.Accepted{}, false)
		}, []string{"0-0 within accepted, unsettled", "*wire.Detach", "0-0 accepted"}, 2},
		"there is no such transaction": {func(c *transactionClient, _ []byte) {
			c.settle(0, 1, []byte("none"), wire.Accepted{}, false)
			synctest.Wait()
			c.settle(0, 1, nil, wire.Accepted{}, false)
		}, []string{"0-0 rejected amqp:transaction:unknown-id, unsettled", "1-1 rejected amqp:transaction:unknown-id, unsettled", "0-1 accepted"}, 1},
		"another outcome meanwhile": {func(c *transactionClient, id []byte) {
			c.settle(0, 0, id, wire.Accepted{}, false)
			synctest.Wait()
			c.settle(0, 0, id, wire.Released{}, false)
			synctest.Wait()
			c.settle(0, 0, nil, wire.Released{}, false) // as Java's SDK does when it closes a receiver
			c.settle(0, 0, nil, nil, false)
			c.discharges(id, false)
		}, []string{
			"0-0 within accepted, unsettled", "0-0 rejected com.microsoft:message-lock-lost, unsettled", "0-0 rejected amqp:not-allowed, unsettled",
			"0-0 within accepted", "discharge accepted",
		}, 2},
		"completed beside it": {func(c *transactionClient, id []byte) {
			c.settle(0, 0, id, wire.Accepted{}, false)
			synctest.Wait()
			c.settle(0, 0, nil, wire.Accepted{}, false)
			synctest.Wait()
			c.discharges(id, false)
		}, []string{"0-0 within accepted, unsettled", "0-0 accepted", "discharge rejected amqp:transaction:rollback"}, 2},
		"settled by the client afterwards": {func(c *transactionClient, id []byte) {
			c.settle(0, 1, id, wire.Accepted{}, false)
			synctest.Wait()
			c.settle(0, 0, id, wire.Accepted{}, true)
			c.discharges(id, false)
		}, []string{"0-1 within accepted, unsettled", "1-1 within accepted", "discharge accepted"}, 1},
		"settled plainly, roll back": {func(c *transactionClient, id []byte) {
			c.settle(0, 1, id, wire.Accepted{}, false)
			synctest.Wait()
			c.settle(0, 0, nil, nil, true)
			c.discharges(id, true)
			synctest.Wait()
			c.GrantCredit(0, 9, 3, 1)
		}, []string{"0-1 within accepted, unsettled", "discharge accepted", "*wire.Transfer"}, 3},
		"settled plainly, commit": {func(c *transactionClient, id []byte) {
			c.settle(0, 1, id, wire.Accepted{}, false)
			synctest.Wait()
			c.settle(0, 0, nil, nil, true)
			c.discharges(id, false)
		}, []string{"0-1 within accepted, unsettled", "1-1 within accepted", "discharge accepted"}, 1},
		"settled plainly at once, roll back": {func(c *transactionClient, id []byte) {
			within := wire.Transactional{TxnID: id, Outcome: wire.Accepted{}}
			c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: 0, Last: wire.Some[uint32](1), State: within},
				&wire.Disposition{Role: wire.RoleReceiver, First: 0, Settled: true})
			c.discharges(id, true)
			synctest.Wait()
			c.GrantCredit(0, 9, 3, 1)
		}, []string{"1-1 within accepted, unsettled", "discharge accepted", "*wire.Transfer"}, 3},
		"a later one has it": {func(c *transactionClient, id []byte) { // when the first transaction ends
			later := c.declare()
			c.settle(0, 0, id, wire.Accepted{}, false)
			time.Sleep(2*time.Minute + time.Second)
			c.settle(0, 0, later, wire.Accepted{}, false)
			synctest.Wait()
			c.discharges(id, true)
			synctest.Wait()
			c.settle(0, 0, nil, wire.Released{}, false) // refused, because it is in a transaction
			synctest.Wait()
			c.discharges(later, false)
		}, []string{
			"0-0 within accepted, unsettled", "0-0 within accepted, unsettled", "discharge rejected amqp:transaction:unknown-id",
			"0-0 rejected amqp:not-allowed, unsettled", "0-0 within accepted", "discharge accepted",
		}, 2},
		"lost": {func(c *transactionClient, id []byte) {
			time.Sleep(time.Minute)
			c.settle(0, 0, id, wire.Accepted{}, false)
			synctest.Wait()
			c.settle(0, 0, nil, wire.Accepted{}, false)
		}, []string{"0-0 rejected " + lost}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				if name != "lost" {
					if _, err := h.b.Update(h.Context(), "q", engine.Config{LockDuration: 5 * time.Minute}, "a test"); err != nil {
						t.Fatal(err)
					}
				}
				c := h.holding(3, false)
				tc.act(c, c.declare())
				if diff := cmp.Diff(tc.want, c.outcomes()); diff != "" {
					t.Error(diff)
				}
				if n := h.active("q"); n != tc.left {
					t.Errorf("got %d messages; want %d", n, tc.left)
				}
			})
		})
	}
}

// SETL-5: messages that the client has settled itself in a transaction, as JMS clients
// do, are available again when the rollback is answered, or when the connection ends.
func TestReleasedByRollback(t *testing.T) {
	for _, session := range []bool{false, true} {
		for _, vanishes := range []bool{false, true} {
			inBubble(t, nil, func(h bubbleWorld) {
				c := h.holding(2, session)
				id := c.declare()
				c.settle(0, 1, id, wire.Accepted{}, true)
				if vanishes {
					synctest.Wait()
					c.Disconnect()
					synctest.Wait()
					c = h.transactionClient()
					if session {
						time.Sleep(time.Minute) // until the lock of the session, which held them, has expired
						c.Attach(0, asks(9, "sessions", value.OfString("s"), 0))
					} else {
						c.Attach(0, amqptest.ReceiverAttach(9, "q"))
					}
					c.GrantCredit(0, 9, 0, 2)
				} else {
					c.GrantCredit(0, 9, 2, 2)
					c.discharges(id, true)
				}
				synctest.Wait()
				got := c.outcomes()
				if !slices.Contains(got, "*wire.Transfer") || vanishes == slices.Contains(got, "discharge accepted") {
					t.Errorf("session %t, vanishes %t: after the rollback received %v", session, vanishes, got)
				}
			})
		}
	}
}

// The client gets no answer about a message that it has settled itself, or sent settled.
// If a transaction refuses such a message, its commit fails (TX-3).
func TestTransactionMissesSettled(t *testing.T) {
	for name, tc := range map[string]struct {
		limits map[string]string
		act    func(c *transactionClient, id []byte)
	}{
		"a settlement too many": {map[string]string{"transaction-messages": "2"}, func(c *transactionClient, id []byte) { c.settle(0, 2, id, wire.Accepted{}, true) }},
		"a message too many": {map[string]string{"transaction-messages": "2"}, func(c *transactionClient, id []byte) {
			for range 3 {
				c.sendSettled(id, amqptest.DataMessage(nil))
			}
		}},
		"a message that cannot be read": {nil, func(c *transactionClient, id []byte) { c.sendSettled(id, []byte{0, 0x53, 0x75, 0x41}) }},
		"a message too large":           {nil, func(c *transactionClient, id []byte) { c.sendSettled(id, amqptest.DataMessage(pattern(1_300_000))) }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tc.limits, func(h bubbleWorld) {
				c := h.holding(3, false)
				id := c.declare()
				tc.act(c, id)
				c.discharges(id, false)
				if diff := cmp.Diff([]string{"discharge rejected " + string(wire.CondTransactionRollback)}, c.outcomes()); diff != "" {
					t.Error(diff)
				}
				if n := h.active("q"); n != 3 {
					t.Errorf("got %d messages", n)
				}
			})
		})
	}
}

// If a client settles more messages than fit into its transaction, the server delivers refused ones
// again before the transaction ends, so that it keeps no more of them than the limit
// transaction-messages (SETL-5).
func TestTransactionKeepsFewRefused(t *testing.T) {
	inBubble(t, map[string]string{"transaction-messages": "2"}, func(h bubbleWorld) {
		c := h.holding(7, false)
		id := c.declare()
		for i := range uint32(7) {
			c.settle(i, i, id, wire.Accepted{}, true)
			synctest.Wait()
		}
		c.GrantCredit(0, 9, 7, 100)
		if diff := cmp.Diff(slices.Repeat([]string{"*wire.Transfer"}, 3), c.outcomes()); diff != "" {
			t.Error(diff)
		}
		c.discharges(id, false)
		synctest.Wait()
		want := append(slices.Repeat([]string{"*wire.Transfer"}, 4), "discharge rejected "+string(wire.CondTransactionRollback))
		got := c.outcomes()
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// A disposition that settles 50 messages in a transaction that does not exist releases them in one
// or two commits, not one by one (SETL-5): the server reads on only after the commits.
func TestReleasedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{}
		inBubbleWithStore(t, nil, store, func(h bubbleWorld) {
			c := h.holding(50, false)
			synctest.Wait()
			before := store.commits.Load()
			c.settle(0, 49, []byte("none"), wire.Accepted{}, true)
			synctest.Wait()
			if n := store.commits.Load() - before; n > 2 {
				t.Errorf("50 messages were released in %d commits", n)
			}
			c.GrantCredit(0, 9, 50, 50)
			if diff := cmp.Diff(slices.Repeat([]string{"*wire.Transfer"}, 50), c.outcomes()); diff != "" {
				t.Error(diff)
			}
		})
	})
}

// countingStore counts commits.
type countingStore struct {
	memory.Store
	commits atomic.Int64
}

func (s *countingStore) Commit(ctx context.Context, b *engine.Batch) error {
	s.commits.Add(1)
	return s.Store.Commit(ctx, b)
}

// sendSettled sends a message that the client has settled, in a transaction.
func (t *transactionClient) sendSettled(id, message []byte) {
	t.Helper()
	t.next++
	for first := true; first || len(message) > 0; first = false {
		n := min(60_000, len(message))
		d := &wire.Transfer{Handle: 0, More: n < len(message), Payload: message[:n]}
		if first {
			d.DeliveryID, d.State, d.Settled = wire.Some(t.next), wire.Transactional{TxnID: id}, wire.Some(true)
		}
		t.WriteFrames(0, d)
		message = message[n:]
	}
}

// Outside transactions every answer to a disposition settles the delivery, even while
// nothing can be written (SETL-1), because JavaScript's SDK waits for that.
func TestFailureSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &readOnly{}
		inBubbleWithStore(t, nil, store, func(h bubbleWorld) {
			c := h.holding(1, false)
			store.off.Store(true)
			c.settle(0, 0, nil, wire.Accepted{}, false)
			if diff := cmp.Diff([]string{"0-0 rejected com.microsoft:server-busy"}, c.outcomes()); diff != "" {
				t.Error(diff)
			}
			store.off.Store(false)
		})
	})
}
