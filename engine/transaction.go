package engine

import (
	"errors"
	"fmt"
	"slices"
)

// A TxID names a transaction. None is given twice in a namespace.
type TxID uint64

// Discharge says how a transaction ends.
type Discharge uint8

// The ways of ending a transaction.
const (
	Commit   Discharge = iota // all of it is done, in order and at once, or nothing
	Rollback                  // nothing of it is done
)

// transactions are those that have not ended. They are in memory only: a
// namespace that is loaded again has none (§5.4). What was given to one waits
// there and holds nothing else up: no lock and no quota knows of it before the
// commit, which does it in one step.
type transactions struct {
	open  map[TxID]*transaction
	ends  []txEnd // of those with an operation, soonest first; may name some that are over, but not as the first
	bytes int64   // that waiting messages take in memory
}

type txEnd struct {
	at Instant
	id TxID
}

type transaction struct {
	owner      string
	ends       Instant // zero before its first operation (TX-2)
	operations []operation
	messages   int   // to be sent
	bytes      int64 // of them, in memory
}

// An operation waits for its transaction to be committed.
type operation struct {
	to     Path
	batch  []Submission // each with the content that the transaction keeps; empty: it settles
	settle Settlement
	what   string // for people
}

// What open transactions may take together, so that clients which never end
// theirs cannot fill the memory.
const (
	mostTransactions     = 10_000
	mostTransactionBytes = 64 << 20
)

// Declare begins a transaction; owner is for people and becomes the actor of
// what is sent in it. Its time runs from its first operation (TX-2). Whoever
// declared it ends it with Discharge. It is refused with ErrNotAllowed where
// there are no transactions, with ErrBusy where there are too many.
func (ns *Namespace) Declare(_ Instant, owner string) (TxID, error) {
	if err := ns.limits.CheckTransactions(); err != nil {
		return 0, err
	}
	x := &ns.transactions
	switch {
	case ns.limits.TransactionMessages <= 0:
		return 0, refuse(ErrNotAllowed, "There are no transactions in this namespace.")
	case len(x.open) >= mostTransactions:
		return 0, refuse(ErrBusy, "%d transactions are open, which is the most there may be.", len(x.open))
	case x.open == nil:
		x.open = map[TxID]*transaction{}
	}
	id := TxID(ns.keys.Next())
	x.open[id] = &transaction{owner: owner}
	ns.changes.note(undo{kind: undoOther, other: func() { delete(x.open, id) }})
	return id, nil
}

// transaction finds one that can be used. One whose time is over is rolled back
// by the look.
func (ns *Namespace) transaction(now Instant, id TxID) (*transaction, error) {
	t := ns.transactions.open[id]
	if t != nil && t.ends.Passed(now) {
		ns.endTransaction(id, t)
		t = nil
	}
	if t == nil {
		return nil, refuse(ErrTransaction, "The transaction is over: it was committed or rolled back, or not ended within %v of its first operation, or the store was opened again.", ns.limits.TransactionTime)
	}
	return t, nil
}

// SendIn has messages sent when a transaction is committed. They are checked now
// and once more then; nobody sees them before, and they get no numbers (TX-4). A
// send that is refused is not part of the transaction, which stays open.
func (ns *Namespace) SendIn(now Instant, id TxID, to Path, batch []Submission) error {
	t, err := ns.transaction(now, id)
	if err == nil {
		err = ns.admitSendIn(now, t, to, batch)
	}
	if err != nil {
		ns.Discard(batch)
		return err
	}
	o := operation{to: to, batch: slices.Clone(batch), what: fmt.Sprintf("to send to '%s'", to)}
	for i := range o.batch {
		s := &o.batch[i]
		s.kept = s.content()
		s.kept.refs++
	}
	ns.give(now, id, t, o)
	if e, err := ns.entity(to); err == nil {
		ns.accessed(now, e, "send", t.owner)
	}
	return nil
}

func (ns *Namespace) admitSendIn(now Instant, t *transaction, to Path, batch []Submission) error {
	if most := ns.limits.TransactionMessages; int64(t.messages)+int64(len(batch)) > most { // TX-3
		return refuse(ErrQuota, "Can't send more than %d messages in a single transaction.", most)
	}
	if have := ns.transactions.bytes; have+inMemory(batch) > mostTransactionBytes {
		return refuse(ErrBusy, "Open transactions hold %d bytes of messages and may hold %d together.", have, mostTransactionBytes)
	}
	_, err := ns.admitSend(now, to, batch)
	return err
}

// inMemory is what a batch takes while it waits.
func inMemory(batch []Submission) (n int64) {
	for _, s := range batch {
		n += int64(len(s.Content) + len(s.Body))
	}
	return n
}

// SettleIn has a delivery settled when a transaction is committed; until then it
// stays locked, for as long as its lock lasts (SETL-5). It is checked now and
// once more then. To renew the lock meanwhile is no part of the transaction. One
// that is refused is not part of it either, and the transaction stays open.
func (ns *Namespace) SettleIn(now Instant, id TxID, s Settlement) error {
	t, err := ns.transaction(now, id)
	if err != nil {
		return err
	}
	m, h, _, err := ns.settleable(now, &s)
	if err != nil {
		return err
	}
	for _, o := range t.operations {
		if len(o.batch) == 0 && o.settle.Token == s.Token {
			return ns.lost(h, s.Path)
		}
	}
	ns.give(now, id, t, operation{settle: s, what: fmt.Sprintf("to %s message #%d of '%s'", s.Outcome, m.Seq, h.path)})
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

// give adds an operation to a transaction. With the first one its time begins.
func (ns *Namespace) give(now Instant, id TxID, t *transaction, o operation) {
	x := &ns.transactions
	was, ends, bytes := *t, x.ends, x.bytes
	ns.changes.note(undo{kind: undoOther, other: func() { *t, x.ends, x.bytes = was, ends, bytes }})
	if t.ends == 0 {
		t.ends = now.Add(ns.limits.TransactionTime)
		x.ends = append(x.ends, txEnd{t.ends, id})
	}
	t.operations = append(t.operations, o)
	n := inMemory(o.batch)
	t.messages, t.bytes, x.bytes = t.messages+len(o.batch), t.bytes+n, x.bytes+n
}

// Discharge ends a transaction. Committed, its operations are done in the order
// in which they were given, and the numbers of what was sent are returned in
// that order, as by Send. If one of them fails, nothing is done; the error is
// that one's and says which it was. Either way the transaction is over.
func (ns *Namespace) Discharge(now Instant, id TxID, how Discharge) ([]Seq, error) {
	t, err := ns.transaction(now, id)
	if err != nil {
		return nil, err
	}
	defer ns.endTransaction(id, t)
	if how == Rollback {
		return nil, nil
	}
	before := ns.mark()
	seqs := make([]Seq, 0, t.messages)
	for i, o := range t.operations {
		got, err := ns.perform(now, o, t.owner)
		if err != nil {
			ns.undoTo(before)
			return nil, failed(err, "Nothing of the transaction was done, because operation %d of %d failed, %s: %s", i+1, len(t.operations), o.what, err)
		}
		seqs = append(seqs, got...)
	}
	return seqs, nil
}

func (ns *Namespace) perform(now Instant, o operation, owner string) ([]Seq, error) {
	if len(o.batch) == 0 {
		return nil, ns.Settle(now, o.settle)
	}
	return ns.Send(now, o.to, o.batch, owner)
}

// failed is err with another text.
func failed(err error, format string, args ...any) error {
	f := &Refusal{Kind: err, Text: fmt.Sprintf(format, args...)}
	if r, ok := errors.AsType[*Refusal](err); ok {
		f.SubCode = r.SubCode
	}
	return f
}

// endTransaction forgets a transaction. Contents that nothing else refers to go,
// and bodies that were staged for them.
func (ns *Namespace) endTransaction(id TxID, t *transaction) {
	x := &ns.transactions
	delete(x.open, id)
	ends := x.ends
	for len(x.ends) > 0 && x.open[x.ends[0].id] == nil {
		x.ends = x.ends[1:]
	}
	x.bytes -= t.bytes
	ns.changes.note(undo{kind: undoOther, other: func() {
		x.open[id], x.ends = t, ends
		x.bytes += t.bytes
		t.contents(func(c *content) { c.refs++ })
	}})
	t.contents(func(c *content) {
		if c.refs--; c.refs == 0 {
			ns.changes.discard(c)
		}
	})
}

// contents calls each with every content that t keeps.
func (t *transaction) contents(each func(*content)) {
	for _, o := range t.operations {
		for _, s := range o.batch {
			each(s.kept)
		}
	}
}

// next is when the time of a transaction is over; zero: of none.
func (x *transactions) next() Instant {
	if len(x.ends) == 0 {
		return 0
	}
	return x.ends[0].at
}

// endOverdue rolls back the transactions whose time is over.
func (ns *Namespace) endOverdue(now Instant) {
	for x := &ns.transactions; x.next().Passed(now); {
		id := x.ends[0].id
		ns.endTransaction(id, x.open[id])
	}
}
