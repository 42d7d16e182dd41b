package engine

import (
	"container/heap"
	"fmt"
	"slices"
)

// SendInTx adds a send to a transaction, which sends the messages when it is committed. They
// are checked now and again then; before that they are invisible and have no numbers (TX-4).
// A send that is rejected is not part of the transaction, which stays open.
//
// Every message to be sent counts once against Limits.TransactionMessages, however many
// copies a topic makes of it, and even if it is scheduled or will turn out to be a duplicate;
// a batch that would exceed the limit is rejected as a whole, with ErrQuota (TX-3).
//
// SendInTx counts as use of the destination for idleness (IDLE-2). AccessedAt changes only with
// the commit: messages of a rolled-back transaction were never sent (RT-2, TX-4).
func (ns *Namespace) SendInTx(now Instant, id TxID, to Path, batch []Submission) error {
	return ns.sendInTx(now, id, txOperation{to: to, what: fmt.Sprintf("to send to '%s'", to)}, batch)
}

// SendViaInTx is SendInTx to one entity via another (FWD-14, TX-3), as SendVia does it. Whether
// the messages go to a disabled destination, and become dead letters, is decided at the commit.
func (ns *Namespace) SendViaInTx(now Instant, id TxID, via, to Path, batch []Submission) error {
	return ns.sendInTx(now, id, txOperation{via: via, to: to, what: fmt.Sprintf("to send to '%s' via '%s'", to, via)}, batch)
}

func (ns *Namespace) sendInTx(now Instant, id TxID, o txOperation, batch []Submission) error {
	t, err := ns.transaction(now, id)
	var used []*entity
	if err == nil {
		used, err = ns.admitSendInTx(now, t, o, batch)
	}
	if err != nil {
		ns.DiscardStaged(batch)
		return err
	}
	o.scope, _ = ns.scopeOfSend(o, batch) //nolint:errcheck // it was admitted
	o.batch = slices.Clone(batch)
	for i := range o.batch {
		s := &o.batch[i]
		s.Plan = nil // see UnplannedMessages
		s.sharedContent = s.content()
		ns.addReference(s.sharedContent)
	}
	ns.addOperation(now, t, o)
	for _, e := range used {
		ns.touch(now, e, "send", t.owner)
	}
	return nil
}

// admitSendInTx checks whether t accepts a send, and returns the entities that it uses.
func (ns *Namespace) admitSendInTx(now Instant, t *transaction, o txOperation, batch []Submission) (used []*entity, err error) {
	if most := ns.limits.TransactionMessages; int64(t.messages)+int64(len(batch)) > most { // TX-3
		return nil, Refuse(ErrQuota, "Can't send more than %d messages in a single transaction.", most)
	}
	with := o
	with.batch = batch
	if with.scope, err = ns.scopeOfSend(o, batch); err == nil || !t.confined {
		err = t.admitScope(with.scope)
	}
	if err != nil {
		return nil, err
	}
	if err := ns.admitUsage(now, t.usage, with.usage()); err != nil {
		return nil, err
	}
	if o.via == "" {
		e, err := ns.admitSend(now, o.to, batch)
		return []*entity{e}, err
	}
	v, err := ns.admitVia(now, o.via, o.to, batch)
	if used = []*entity{v.by}; !v.disabled {
		used = append(used, v.to)
	}
	return used, err
}

// SettleInTx adds a settlement to a transaction, which settles the delivery when it is
// committed; until then the message stays locked, for as long as its lock lasts (SETL-5). It
// is checked now and again then. Renewing the lock meanwhile is not part of the transaction.
// A settlement that is rejected is not part of it either, and the transaction stays open.
//
// A transaction may settle as many messages as it may send, Limits.TransactionMessages of
// each; one more is ErrQuota. Service Bus documents a limit only for sends (TX-3).
func (ns *Namespace) SettleInTx(now Instant, id TxID, s Settlement) error {
	t, err := ns.transaction(now, id)
	if err != nil {
		return err
	}
	m, h, _, err := ns.settleable(now, &s)
	if err != nil {
		return err
	}
	if _, twice := t.settled[s.Token]; twice {
		return ns.lockLostError(now, h, s.Path, s.Link)
	}
	if most := ns.limits.TransactionMessages; int64(len(t.settled)) >= most {
		return Refuse(ErrQuota, "Can't settle more than %d messages in a single transaction.", most)
	}
	o := txOperation{settle: s, what: fmt.Sprintf("to %s message #%d of '%s'", s.Outcome, m.Seq, h.path), scope: ns.scopeOf(m, h.path)}
	if err := t.admitScope(o.scope); err != nil {
		return err
	}
	if err := ns.admitUsage(now, t.usage, o.usage()); err != nil {
		return err
	}
	ns.addOperation(now, t, o)
	ns.touch(now, h.entity, s.Outcome.String(), s.Client)
	return nil
}

// CancelScheduledInTx adds a cancellation of scheduled messages to a transaction, which cancels
// them as CancelScheduled does when it is committed (TX-1, SCH-7). They are checked now and again
// then: if one becomes available in between, the commit fails. A call that is rejected is not part
// of the transaction. A transaction may cancel as many messages as it may send.
func (ns *Namespace) CancelScheduledInTx(now Instant, id TxID, p Path, seqs []Seq) error {
	t, err := ns.transaction(now, id)
	if err != nil {
		return err
	}
	h, found, err := ns.scheduledAt(now, p, seqs)
	if err != nil || len(found) == 0 {
		return err
	}
	o := txOperation{to: p, cancel: make([]Seq, 0, len(found)), what: fmt.Sprintf("to cancel scheduled messages of '%s'", h.path)}
	total := len(found)
	for _, m := range found {
		o.cancel = append(o.cancel, m.Seq)
		at := ns.scopeOf(m, h.path)
		if err := t.admitScope(at); err != nil {
			return err
		}
		switch {
		case o.scope.key == "":
			o.scope = at
		case t.confined && at.key != "" && at.key != o.scope.key:
			return Refuse(ErrNotAllowed, txScopeText)
		}
	}
	for _, other := range t.operations {
		if total += len(other.cancel); other.scope.entity != o.scope.entity || other.to.Fold() != p.Fold() {
			continue
		}
		for _, seq := range other.cancel {
			if slices.Contains(o.cancel, seq) {
				return notScheduled(h, seq)
			}
		}
	}
	if most := ns.limits.TransactionMessages; int64(total) > most {
		return Refuse(ErrQuota, "Can't cancel more than %d messages in a single transaction.", most)
	}
	if err := ns.admitUsage(now, t.usage, o.usage()); err != nil {
		return err
	}
	ns.addOperation(now, t, o)
	ns.touch(now, h.entity, "cancel", t.owner)
	return nil
}

// receiveInTxError returns the error for receiving in a transaction.
func (ns *Namespace) receiveInTxError(now Instant, id TxID) error {
	if _, err := ns.transaction(now, id); err != nil {
		return err
	}
	return Refuse(ErrNotAllowed, "Messages cannot be received in a transaction. Receive them first and settle them in the transaction.")
}

// addOperation adds an operation to a transaction. The first operation starts the transaction's
// time (TX-2).
func (ns *Namespace) addOperation(now Instant, t *transaction, o txOperation) {
	x := &ns.transactions
	ends, first := t.deadline, len(t.operations) == 0
	if first {
		t.deadline = now.Add(ns.limits.TransactionTime)
		heap.Fix(&x.deadlines, t.heapIndex)
	}
	t.operations = append(t.operations, o)
	t.messages += len(o.batch)
	if o.settles() {
		if t.settled == nil {
			t.settled = map[LockToken]struct{}{}
		}
		t.settled[o.settle.Token] = struct{}{}
	}
	x.addUsage(t, o.usage())
	ns.changes.addUndo(undo{kind: undoTransaction, other: func() {
		x.addUsage(t, txUsage{}.minus(o.usage()))
		t.operations = truncated(t.operations, len(t.operations)-1)
		t.messages -= len(o.batch)
		for _, s := range o.batch {
			ns.undoReference(s.sharedContent)
		}
		if o.settles() {
			delete(t.settled, o.settle.Token)
		}
		if first {
			t.deadline = ends
			heap.Fix(&x.deadlines, t.heapIndex)
		}
	}})
}

// A txScope is the entity of an operation, a queue or a topic with its subscriptions, and one
// partition of it if it is partitioned.
type txScope struct {
	entity string // folded name
	key    string // the partition key; empty if it is unknown or the entity is not partitioned
}

// Error texts of a confined transaction, as Service Bus writes them.
const (
	txScopeText = "Local transactions cannot span multiple entities or partitions."

	// ReceiverScopeText is the same for receivers of an AMQP session that may span entities.
	ReceiverScopeText = "Local transactions cannot span multiple top-level entities such as queue or topic."
)

// Confine sets whether further operations of a transaction must be at the entity and the
// partition of all its operations so far (TX-3). Service Bus requires that unless the client
// opens all its links in the session of its coordinator, after that link. Mayfly does not
// need it, and a transaction is not confined until Confine is called; but a program that
// fails on Service Bus should fail here too. A topic and its subscriptions are one entity, and
// so are an entity and its dead-letter subqueues. What Service Bus does in these two cases is
// not documented.
//
// A message sent to a partitioned entity must have a key: a SessionId, a PartitionKey or,
// with duplicate detection, a MessageId. Messages with different keys count as being in
// different partitions, although the service has only sixteen of them and may put two keys
// into one. A message that was sent without a key, outside a transaction, may be settled with
// any others.
func (ns *Namespace) Confine(now Instant, id TxID, confined bool) error {
	t, err := ns.transaction(now, id)
	if err == nil {
		t.confined = confined
	}
	return err
}

// admitScope returns ErrNotAllowed if t is confined and an operation with this scope is at another
// entity or partition than an operation of t.
func (t *transaction) admitScope(at txScope) error {
	if !t.confined {
		return nil
	}
	for _, o := range t.operations {
		if o.scope.entity != at.entity || o.scope.key != "" && at.key != "" && o.scope.key != at.key {
			return Refuse(ErrNotAllowed, txScopeText)
		}
	}
	return nil
}

// scopeOfSend returns the scope of a send: at the entity that it is sent via, if there is one.
// The error matters only for a confined transaction.
func (ns *Namespace) scopeOfSend(o txOperation, batch []Submission) (at txScope, err error) {
	at.entity = o.to.TopLevel().Fold()
	if o.via != "" {
		at.entity = o.via.TopLevel().Fold()
	}
	e := ns.entities[at.entity]
	if e == nil || !e.Config.EnablePartitioning {
		return at, nil
	}
	for i, s := range batch {
		key := partitionKeyOf(s.Content, e)
		if o.via != "" {
			key = s.Content.text(tagViaPartitionKey)
		}
		switch {
		case key == "":
			return at, Refuse(ErrNotAllowed, "In a transaction, a message to the partitioned entity '%s' needs a SessionId, a PartitionKey or, with duplicate detection, a MessageId. A message that is sent via this entity needs a ViaPartitionKey.", e.Path)
		case i > 0 && key != at.key:
			return at, Refuse(ErrNotAllowed, txScopeText)
		}
		at.key = key
	}
	return at, nil
}

// scopeOf returns the scope of a message at p.
func (ns *Namespace) scopeOf(m *message, p Path) txScope {
	at := txScope{entity: p.TopLevel().Fold()}
	if e := ns.entities[at.entity]; e != nil && e.Config.EnablePartitioning {
		at.key = partitionKeyOf(m.content.packed, e)
	}
	return at
}

// partitionKeyOf returns the key that determines the partition of a message at e, or "" if it
// has none.
func partitionKeyOf(c Packed, e *entity) string {
	switch {
	case c.HasSessionID():
		return "s" + c.SessionID() // the empty id is a session too
	case c.text(tagPartitionKey) != "":
		return "s" + c.text(tagPartitionKey)
	case e.Config.RequiresDuplicateDetection && c.MessageID() != "":
		return "m" + c.MessageID()
	}
	return ""
}
