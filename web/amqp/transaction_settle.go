package amqp

import (
	"errors"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// A delivery that is settled in a transaction is enlisted: its outcome is provisional, and the
// answer shows that by being unsettled (AMQP 1.0, part 4, 4.4.2). A commit settles it. After a
// rollback the delivery is the client's as before, and can be settled again. The client cannot
// settle a delivery again that it has already settled itself, so a rollback releases such a
// delivery.
//
// While the transaction is open, the broker handles a second outcome: within the
// transaction it is refused, and outside it ends the delivery, so that the commit fails.
// A release is an exception: Java's SDK releases its enlisted deliveries when it closes a
// receiver before the commit, and the commit must not fail because of that. Service Bus
// does not document its answer.

// settle adds settlements to the transaction.
func (t *transaction) settle(list []settlement) {
	for len(list) > 0 {
		n := 1 // settlements of one session go together
		for n < len(list) && list[n].s == list[0].s {
			n++
		}
		some, in := list[:n:n], t.inSession(list[0].s)
		list = list[n:]
		all := make([]engine.Settlement, len(some))
		for i := range some {
			all[i] = some[i].outcome
		}
		t.enqueue(func() {
			each, err := in.Settle(t.c.s.ctx, all...)
			t.c.releaseDeliveries(t.enlist(some, each, err)...)
			t.c.mail.call(func() { answerSettlements(some, each, err) })
		})
	}
}

// enlist records the settlements that the transaction has accepted. It also records refused
// settlements of deliveries that the client has settled itself, so that a rollback releases these
// deliveries: if they were released at once, a client that receives until the queue is empty would
// get them again. To bound the memory of the transaction, it records at most as many of them as the
// transaction may settle, and returns the deliveries of the others, which the caller releases. A
// transaction with such settlements cannot be committed.
func (t *transaction) enlist(list []settlement, each []error, err error) (excess []*unsettledDelivery) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.firstEnlisted.IsZero() {
		t.firstEnlisted = time.Now()
	}
	most := t.c.b.Limits().TransactionMessages
	for i := range list {
		list[i].settledByClient = list[i].settledByClient || list[i].delivery.settledByClient
		l, why := list[i], err
		if why == nil {
			why = each[i]
		}
		t.recordFailure(l.settledByClient, why)
		switch {
		case why == nil:
			l.delivery.transaction = t
			t.enlisted = append(t.enlisted, l)
		case l.settledByClient && t.refusedCount >= most:
			excess = append(excess, l.delivery)
		case l.settledByClient:
			t.refusedCount++
			t.enlisted = append(t.enlisted, l)
		}
	}
	return excess
}

// recordFailure records why an operation failed that the client had sent settled. The client gets
// no answer to such an operation, so the commit is refused. It does nothing if settled is false.
func (t *transaction) recordFailure(settled bool, why error) {
	if t.failed == nil && settled {
		t.failed = why
	}
}

// enqueueFailure is recordFailure for an operation that was never added to the transaction. t
// may be nil. Called with mu held.
func (t *transaction) enqueueFailure(settled bool, why *wire.Error) {
	if t != nil && settled {
		t.enqueue(func() { t.recordFailure(true, &wire.ProtocolError{Condition: why.Condition, Text: why.Description}) })
	}
}

// endsDelivery reports whether the client's delivery ends with its answer. It does not if the
// outcome is provisional, or if a transaction refuses it and its lock is still held.
func (t *settlement) endsDelivery(err error) bool {
	_, within := t.state.(wire.Transactional)
	switch {
	case t.settledByClient:
		return true
	case err == nil:
		return !within
	case t.delivery.transaction != nil:
		return false // it is still enlisted
	}
	return !within || errors.Is(err, engine.ErrLockLost) || errors.Is(err, engine.ErrSessionLockLost) || errors.Is(err, engine.ErrNotFound)
}

// settleAgain handles a disposition for an enlisted delivery. `tx` is the transaction of the
// disposition, or nil. It reports false if the broker must handle the disposition.
func (h *unsettledDelivery) settleAgain(d *wire.Disposition, tx *transaction) bool {
	t, s := h.transaction, h.sender.s
	if !slices.ContainsFunc(t.enlisted, func(l settlement) bool { return l.delivery == h }) || time.Since(t.firstEnlisted) >= s.c.b.Limits().TransactionTime {
		h.transaction = nil // the transaction has ended
		return false
	}
	_, released := withoutTransaction(d.State).(wire.Released)
	_, settles := outcome(withoutTransaction(d.State))
	switch {
	case tx != t && !released && !(d.Settled && !settles): // settled without an outcome, the delivery keeps its earlier one
		return false
	case d.Settled: // the earlier outcome remains valid
		t.markSettledByClient(h)
		h.remove()
		return true
	case tx == t:
		return false
	}
	why := engine.Refuse(engine.ErrNotAllowed, "The delivery is settled in a transaction that has not ended.")
	s.send(&wire.Disposition{Role: wire.RoleSender, First: h.id, Last: wire.Some(h.id), State: rejectedState(why)})
	return true
}

// markSettledByClient records that the client has settled h. t may be nil. Called with mu held.
func (t *transaction) markSettledByClient(h *unsettledDelivery) {
	if t == nil {
		return
	}
	for i := range t.enlisted {
		if t.enlisted[i].delivery == h {
			t.enlisted[i].settledByClient = true
		}
	}
}

// releaseSettled releases the deliveries that the client has settled in a transaction that is
// rolled back. It runs in the transaction's queue, so that the messages are available when the
// rollback is answered.
func (t *transaction) releaseSettled() {
	t.c.mu.Lock()
	var all []*unsettledDelivery
	for _, l := range t.enlisted {
		if l.settledByClient {
			all = append(all, l.delivery)
		}
	}
	t.c.mu.Unlock()
	t.c.releaseDeliveries(all...)
}

// releaseDeliveries releases deliveries that the client has settled without effect. It waits for
// the broker: call it without mu.
func (c *conn) releaseDeliveries(all ...*unsettledDelivery) {
	if len(all) == 0 {
		return
	}
	back := make([]engine.Settlement, 0, len(all))
	for _, h := range all {
		back = append(back, engine.Settlement{Token: h.token, Outcome: engine.Release, Path: h.sender.path, Client: c.clientName()})
	}
	_, _ = c.b.Settle(c.s.ctx, back...) //nolint:errcheck // otherwise their locks expire
}

// settleEnlisted settles the enlisted deliveries if the transaction was committed. Otherwise the
// client can settle them again. Called with mu held.
func (t *transaction) settleEnlisted(committed bool) {
	list := t.enlisted
	t.enlisted = nil
	for len(list) > 0 {
		l := list[0]
		n := 1
		if committed {
			for n < len(list) && list[n].inCommitRange(&list[n-1]) {
				n++
			}
		}
		for _, done := range list[:n] {
			if done.delivery.transaction == t { // not of a later transaction
				done.delivery.transaction = nil
			}
			if committed && !done.settledByClient && !done.delivery.sender.ended {
				done.delivery.remove()
			}
		}
		if committed && !l.settledByClient && !l.delivery.sender.ended && l.s.isOpen() {
			state := withoutTransaction(l.state)
			if _, ok := state.(wire.Rejected); ok {
				state = wire.Rejected{}
			}
			l.s.send(&wire.Disposition{Role: wire.RoleSender, First: l.delivery.id, Last: wire.Some(list[n-1].delivery.id), Settled: true, State: t.transactionalState(state)})
		}
		list = list[n:]
	}
}

// inCommitRange reports whether t can be settled in one range with b, which precedes it.
func (t *settlement) inCommitRange(b *settlement) bool {
	return t.s == b.s && t.delivery.id == b.delivery.id+1 && t.settledByClient == b.settledByClient && t.delivery.sender.ended == b.delivery.sender.ended &&
		withoutTransaction(t.state).StateCode() == withoutTransaction(b.state).StateCode()
}
