package engine

import (
	"container/heap"
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
	open map[TxID]*transaction
	ends txEnds // all of them
	kept kept   // by all of them, whether their time is over or not
}

type transaction struct {
	id         TxID
	owner      string
	ends       Instant // when it is rolled back
	place      int     // in transactions.ends
	operations []operation
	messages   int                    // to be sent
	settled    map[LockToken]struct{} // by its operations
	kept       kept
}

// An operation waits for its transaction to be committed.
type operation struct {
	via    Path // empty: it sends straight to its destination
	to     Path
	batch  []Submission // each with the content that the transaction keeps; empty: it settles
	settle Settlement
	what   string // for people
}

// Declare begins a transaction; owner is for people and becomes the actor of
// what is sent in it. Its time runs from its first operation (TX-2); one that is
// given none is rolled back after five times as long, for whoever declared it
// has forgotten it. Until then it is ended with Discharge.
//
// Operations may be at any number of entities. That Service Bus wants send-via
// for more than one (TX-3) comes of how it is built; here it takes nothing to
// permit it, and SendViaIn is there for those who ask for it.
//
// Declare is refused with ErrNotAllowed where there are no transactions, with
// ErrBusy where there are too many.
func (ns *Namespace) Declare(now Instant, owner string) (TxID, error) {
	if err := ns.limits.CheckTransactions(); err != nil {
		return 0, err
	}
	if ns.limits.TransactionMessages <= 0 {
		return 0, refuse(ErrNotAllowed, "There are no transactions in this namespace.")
	}
	if err := ns.mayKeep(now, kept{}, keptByDeclaring(owner)); err != nil {
		return 0, err
	}
	x := &ns.transactions
	t := &transaction{id: TxID(ns.keys.Next()), owner: owner, ends: now.Add(ns.forgottenAfter()), kept: keptByDeclaring(owner)}
	x.enter(t)
	ns.changes.note(undo{kind: undoTransaction, other: func() { x.leave(t) }})
	return t.id, nil
}

// enter and leave are the two that change which transactions are open.
func (x *transactions) enter(t *transaction) {
	if x.open == nil {
		x.open = map[TxID]*transaction{}
	}
	x.open[t.id] = t
	heap.Push(&x.ends, t)
	x.kept = x.kept.plus(t.kept)
}

func (x *transactions) leave(t *transaction) {
	delete(x.open, t.id)
	heap.Remove(&x.ends, t.place)
	x.kept = x.kept.minus(t.kept)
}

// transaction finds one that can be used. If its time is over it is rolled back
// by the look.
func (ns *Namespace) transaction(now Instant, id TxID) (*transaction, error) {
	if t := ns.transactions.open[id]; t != nil {
		if !t.ends.Passed(now) {
			return t, nil
		}
		ns.endTransaction(t)
	}
	return nil, refuse(ErrTransaction, "The transaction is over: it was committed or rolled back, or not ended within %v of its first operation, or had none within %v, or the store was opened again.",
		ns.limits.TransactionTime, ns.forgottenAfter())
}

// Discharge ends a transaction. Committed, its operations are done in the order
// in which they were given, and the numbers of what was sent are returned in
// that order, as by Send. If one of them fails, nothing is done; the error is
// ErrRolledBack and that operation's too, and says which it was. Either way the
// transaction is over.
func (ns *Namespace) Discharge(now Instant, id TxID, how Discharge) ([]Seq, error) {
	if how == Commit {
		return ns.CommitPlanned(now, id, nil)
	}
	t, err := ns.transaction(now, id)
	if err != nil {
		return nil, err
	}
	ns.endTransaction(t)
	return nil, nil
}

// CommitPlanned commits a transaction, as Discharge does. The plans are those of
// Unplanned; what was given to the transaction since then has none.
func (ns *Namespace) CommitPlanned(now Instant, id TxID, plans []*Plan) ([]Seq, error) {
	t, err := ns.transaction(now, id)
	if err != nil {
		return nil, err
	}
	defer ns.endTransaction(t)
	before := ns.mark()
	seqs := make([]Seq, 0, t.messages)
	for i, o := range t.operations {
		got, err := ns.perform(now, o, t.owner, plans[min(len(seqs), len(plans)):])
		if err != nil {
			ns.undoTo(before)
			return nil, rolledBack(err, "Nothing of the transaction was done, because operation %d of %d failed, %s: %v", i+1, len(t.operations), o.what, err)
		}
		seqs = append(seqs, got...)
	}
	return seqs, nil
}

func (ns *Namespace) perform(now Instant, o operation, owner string, plans []*Plan) ([]Seq, error) {
	if len(o.batch) == 0 {
		return nil, ns.Settle(now, o.settle)
	}
	batch := slices.Clone(o.batch)
	for i := range min(len(batch), len(plans)) {
		batch[i].Plan = plans[i]
	}
	if o.via != "" {
		return ns.SendVia(now, o.via, o.to, batch, owner)
	}
	return ns.Send(now, o.to, batch, owner)
}

// rolledBack is err as the reason why a transaction came to nothing. A sub-code
// of its own err keeps to itself: what it asks for, to try again for one, does
// not help a transaction that is over.
func rolledBack(err error, format string, args ...any) error {
	return &Refusal{Kind: fmt.Errorf("%w: %w", ErrRolledBack, err), Text: fmt.Sprintf(format, args...)}
}

// Unplanned is a message that a transaction sends when it is committed.
type Unplanned struct {
	rules  *RuleSet // nil: there is nothing to ask
	packed Packed
}

// Plan asks the rules that can be asked before the commit, anywhere and at any
// time; nil if there are none.
func (u Unplanned) Plan() *Plan {
	if u.rules == nil {
		return nil
	}
	c, err := u.packed.Content()
	if err != nil { // nobody but Pack writes them
		return nil
	}
	return u.rules.Plan(c)
}

// Unplanned are the messages that a transaction is to send so far, in order, if
// any of them goes to a topic with SQL rules; else, and if it is over, none.
// While messages wait in a transaction they have no plans: those would keep rules
// in memory, and be out of date with the next change of a rule.
func (ns *Namespace) Unplanned(id TxID) (out []Unplanned) {
	t := ns.transactions.open[id]
	if t == nil {
		return nil
	}
	some := false
	for _, o := range t.operations {
		var rules *RuleSet
		if e := ns.entities[o.to.Fold()]; e != nil && len(o.batch) > 0 {
			rules = e.selector.set
		}
		some = some || rules != nil
		for _, s := range o.batch {
			out = append(out, Unplanned{rules, s.Content})
		}
	}
	if !some {
		return nil
	}
	return out
}

// endTransaction forgets a transaction. Contents that nothing else refers to go,
// and bodies that were staged for them.
func (ns *Namespace) endTransaction(t *transaction) {
	x := &ns.transactions
	x.leave(t)
	ns.changes.note(undo{kind: undoTransaction, other: func() {
		x.enter(t)
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
