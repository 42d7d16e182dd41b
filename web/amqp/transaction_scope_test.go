package amqp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// A transaction spans one entity, unless its coordinator is the first link of the session that has
// all of its operations (TX-3).
func TestTransactionSpans(t *testing.T) {
	for name, first := range map[string]bool{"TX-3 plain": false, "TX-3 in the session of the coordinator": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				h.b.CreateQueue("r", engine.Config{})
				for range 3 {
					h.b.SendMessages("r", broker.Outgoing{})
				}
				c := &transactionClient{bubbleWorld: h, Client: h.connect(), next: 1000}
				c.Begin(0)
				links := func() {
					c.AttachSender(0, 0, "q")
					c.AttachSender(0, 1, "r")
					c.AttachSender(0, 2, "r/$management")
				}
				if !first {
					links()
				}
				c.Attach(0, amqptest.CoordinatorAttach(50))
				amqptest.Expect[*wire.Flow](c.Client)
				if first {
					links()
				}
				id := c.declare()
				c.in(c.sendIn(id, 0, nil), id)
				if got := c.sendIn(id, 1, nil); first {
					c.in(got, id)
				} else {
					h.rejected(got, wire.CondNotAllowed)
					if !strings.HasPrefix(show(got), "rejected with amqp:not-allowed: Local transactions cannot span multiple entities or partitions.") {
						t.Error(show(got))
					}
				}
				h.accepted(c.discharge(id, false))
				if q, r := h.active("q"), h.active("r"); q != 1 || r != 3 && !first || r != 4 && first {
					t.Errorf("got %d and %d messages", q, r)
				}
			})
		})
	}
}

// TX-3: the receivers of a session whose first link is a coordinator are at the queue or
// topic of its first link to one; senders may be anywhere.
func TestReceiversOfOneEntity(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		h.b.CreateQueue("r", engine.Config{})
		for _, first := range []wire.Attach{amqptest.SenderAttach(0, "Q"), amqptest.ReceiverAttach(0, "q")} {
			c := h.connect()
			c.Begin(0)
			c.Attach(0, amqptest.CoordinatorAttach(50))
			h.because(h.refused(c, 0, amqptest.ReceiverAttach(3, "nowhere")), wire.CondNotFound) // a refused link does not count
			c.Attach(0, first)
			c.Attach(0, amqptest.SenderAttach(1, "r"))
			c.Attach(0, amqptest.ReceiverAttach(2, "q/$DeadLetterQueue"))
			why := h.refused(c, 0, amqptest.ReceiverAttach(3, "r"))
			h.because(why, wire.CondNotAllowed)
			if !strings.HasPrefix(why.Description, "Local transactions cannot span multiple top-level entities such as queue or topic.") {
				t.Error(why.Description)
			}
			c.Attach(0, amqptest.ReceiverAttach(4, "r/$management"))
			c.Begin(1) // another session has no such bound
			c.Attach(1, amqptest.ReceiverAttach(0, "r"))
		}
		c := h.transactionClient() // its coordinator is not the first link
		c.Attach(0, amqptest.ReceiverAttach(1, "q"))
		c.Attach(0, amqptest.ReceiverAttach(2, "r"))
	})
}

// TX-3: the first link counts even if several are attached before one is answered,
// whatever the order of the answers.
func TestReceiversAttachedTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		say     []wire.Attach
		refused []uint32 // handles, one of which is refused
	}{
		"two entities":                 {[]wire.Attach{amqptest.ReceiverAttach(0, "q"), amqptest.ReceiverAttach(1, "r")}, []uint32{0, 1}},
		"a sender first":               {[]wire.Attach{amqptest.SenderAttach(0, "q"), amqptest.ReceiverAttach(1, "q"), amqptest.ReceiverAttach(2, "q")}, nil},
		"a sender of another later":    {[]wire.Attach{amqptest.ReceiverAttach(0, "q"), amqptest.SenderAttach(1, "r"), amqptest.SenderAttach(2, "r"), amqptest.SenderAttach(3, "r")}, nil},
		"a refused one does not count": {[]wire.Attach{amqptest.ReceiverAttach(0, "nowhere"), amqptest.ReceiverAttach(1, "q"), amqptest.ReceiverAttach(2, "q")}, []uint32{0}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				h.b.CreateQueue("r", engine.Config{})
				for range 5 { // the broker answers in any order
					c := h.connect()
					c.Begin(0)
					c.Attach(0, amqptest.CoordinatorAttach(50))
					var all []wire.Performative
					for i := range tc.say {
						tc.say[i].Name = fmt.Sprint(i)
						all = append(all, &tc.say[i])
					}
					c.WriteFrames(0, all...)
					var refused []uint32
					for _, p := range frames(c) {
						if d, ok := p.(*wire.Detach); ok {
							refused = append(refused, d.Handle)
						}
					}
					if len(refused) != min(1, len(tc.refused)) || len(refused) > 0 && !slices.Contains(tc.refused, refused[0]) {
						t.Errorf("the refused links are %v", refused)
					}
				}
			})
		})
	}
}

// TX-3: a transaction that has sent to one entity refuses to settle a message of another.
func TestSettlementsSpan(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		h.b.CreateQueue("r", engine.Config{})
		c := h.holding(1, false)
		c.AttachSender(0, 1, "r")
		id := c.declare()
		c.in(c.sendIn(id, 1, nil), id)
		c.settle(0, 0, id, wire.Accepted{}, false)
		if got := c.outcomes(); len(got) != 1 || got[0] != "0-0 rejected amqp:not-allowed, unsettled" {
			t.Errorf("the error is %v", got)
		}
		h.accepted(c.discharge(id, false))
	})
}

// TX-1: cancelling a scheduled message is part of the transaction.
func TestCancelInTransaction(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c, _ := h.managing(0)
		seqs, err := h.b.Send(h.Context(), "q", []broker.Outgoing{{Content: engine.Content{ScheduledFor: engine.At(time.Now().Add(1000 * time.Hour))}}}, "a test")
		if err != nil {
			t.Fatal(err)
		}
		for i, fail := range []bool{true, false} {
			id := c.declare()
			ask := amqptest.MessageTransfer(0, uint32(i), request(0, "com.microsoft:cancel-scheduled-message", value.Properties{
				prop("sequence-numbers", arrayOf(value.Long, value.OfLong(int64(seqs[0])))),
			}))
			ask.State = wire.Transactional{TxnID: id}
			c.WriteFrames(1, ask)
			c.in(c.WaitForOutcome(uint32(i)), id)
			if a := readAnswer(c.ReceiveDelivery().Payload); a.Status != 200 {
				t.Errorf("%+v", a)
			}
			if n := h.active("q"); n != 1 {
				t.Errorf("got %d messages before the transaction ended", n)
			}
			h.accepted(c.discharge(id, fail))
			if n := h.active("q"); n == 1 != fail {
				t.Errorf("rolled back %t: got %d messages", fail, n)
			}
		}
	})
}
