package engine

import (
	"container/heap"
	"fmt"
	"slices"
)

// SendIn has messages sent when a transaction is committed. They are checked now
// and once more then; nobody sees them before, and they get no numbers (TX-4). A
// send that is refused is not part of the transaction, which stays open.
//
// Every message that is to be sent counts against Limits.TransactionMessages,
// once, however many copies a topic makes of it, and whether it is scheduled or
// will turn out to be a duplicate; a batch that would go past it is refused as a
// whole, with ErrQuota (TX-3).
//
// To give is to use the destination, which is not idle then (IDLE-2). That it was
// sent to, AccessedAt says from the commit on: what is rolled back was never sent
// (RT-2, TX-4).
func (ns *Namespace) SendIn(now Instant, id TxID, to Path, batch []Submission) error {
	return ns.sendIn(now, id, operation{to: to, what: fmt.Sprintf("to send to '%s'", to)}, batch)
}

// SendViaIn is SendIn to one entity by way of another (FWD-14, TX-3), as SendVia
// does it. Whether the destination is disabled counts at the commit.
func (ns *Namespace) SendViaIn(now Instant, id TxID, via, to Path, batch []Submission) error {
	return ns.sendIn(now, id, operation{via: via, to: to, what: fmt.Sprintf("to send to '%s' by way of '%s'", to, via)}, batch)
}

func (ns *Namespace) sendIn(now Instant, id TxID, o operation, batch []Submission) error {
	t, err := ns.transaction(now, id)
	var used []*entity
	if err == nil {
		used, err = ns.admitSendIn(now, t, o, batch)
	}
	if err != nil {
		ns.Discard(batch)
		return err
	}
	o.batch = slices.Clone(batch)
	for i := range o.batch {
		s := &o.batch[i]
		s.Plan = nil // see Unplanned
		s.kept = s.content()
		s.kept.refs++
	}
	ns.give(now, t, o)
	for _, e := range used {
		ns.touch(now, e, "send", t.owner)
	}
	return nil
}

// admitSendIn decides whether t takes a send, and what is used by it.
func (ns *Namespace) admitSendIn(now Instant, t *transaction, o operation, batch []Submission) (used []*entity, err error) {
	if most := ns.limits.TransactionMessages; int64(t.messages)+int64(len(batch)) > most { // TX-3
		return nil, refuse(ErrQuota, "Can't send more than %d messages in a single transaction.", most)
	}
	with := o
	with.batch = batch
	if err := ns.mayKeep(now, t.kept, with.keeps()); err != nil {
		return nil, err
	}
	if o.via == "" {
		e, err := ns.admitSend(now, o.to, batch)
		return []*entity{e}, err
	}
	v, err := ns.admitVia(now, o.via, o.to, batch)
	if used = []*entity{v.by}; !v.stranded {
		used = append(used, v.to)
	}
	return used, err
}

// SettleIn has a delivery settled when a transaction is committed; until then it
// stays locked, for as long as its lock lasts (SETL-5). It is checked now and
// once more then. To renew the lock meanwhile is no part of the transaction. One
// that is refused is not part of it either, and the transaction stays open.
//
// A transaction settles as many messages as it may send, Limits.TransactionMessages
// of each; one more is ErrQuota. What Service Bus has to say of the number are its
// sends only (TX-3).
func (ns *Namespace) SettleIn(now Instant, id TxID, s Settlement) error {
	t, err := ns.transaction(now, id)
	if err != nil {
		return err
	}
	m, h, _, err := ns.settleable(now, &s)
	if err != nil {
		return err
	}
	if _, twice := t.settled[s.Token]; twice {
		return ns.lost(h, s.Path)
	}
	if most := ns.limits.TransactionMessages; int64(len(t.settled)) >= most {
		return refuse(ErrQuota, "Can't settle more than %d messages in a single transaction.", most)
	}
	o := operation{settle: s, what: fmt.Sprintf("to %s message #%d of '%s'", s.Outcome, m.Seq, h.path)}
	if err := ns.mayKeep(now, t.kept, o.keeps()); err != nil {
		return err
	}
	ns.give(now, t, o)
	ns.touch(now, h.entity, s.Outcome.String(), s.Client)
	return nil
}

// refuseIn answers who would receive in a transaction.
func (ns *Namespace) refuseIn(now Instant, id TxID) error {
	if _, err := ns.transaction(now, id); err != nil {
		return err
	}
	return refuse(ErrNotAllowed, "Messages cannot be received in a transaction; receive them first and settle them in it.")
}

// give adds an operation to a transaction. With the first one its time begins
// (TX-2).
func (ns *Namespace) give(now Instant, t *transaction, o operation) {
	x := &ns.transactions
	ends, first := t.ends, len(t.operations) == 0
	if first {
		t.ends = now.Add(ns.limits.TransactionTime)
		heap.Fix(&x.ends, t.place)
	}
	t.operations = append(t.operations, o)
	t.messages += len(o.batch)
	if len(o.batch) == 0 {
		if t.settled == nil {
			t.settled = map[LockToken]struct{}{}
		}
		t.settled[o.settle.Token] = struct{}{}
	}
	x.keep(t, o.keeps())
	ns.changes.note(undo{kind: undoTransaction, other: func() {
		x.keep(t, kept{}.minus(o.keeps()))
		t.operations = cutAt(t.operations, len(t.operations)-1)
		t.messages -= len(o.batch)
		if len(o.batch) == 0 {
			delete(t.settled, o.settle.Token)
		}
		if first {
			t.ends = ends
			heap.Fix(&x.ends, t.place)
		}
	}})
}
