package engine

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"mayfly/engine/value"
)

// A TxID identifies a transaction. It is never reused in a namespace.
type TxID uint64

// Discharge is how a transaction ends.
type Discharge uint8

// The ways of ending a transaction.
const (
	Commit   Discharge = iota // all operations are done, in order and at once, or none
	Rollback                  // no operation is done
)

// transactions are the open transactions. They are in memory only: a namespace that is loaded
// again has none (§5.4). Their operations wait for the commit, which does all of them in one
// step. Until then they take no locks and do not count against the sizes of entities.
type transactions struct {
	open      map[TxID]*transaction
	deadlines txDeadlines // all of them
	usage     txUsage     // the usage of all of them, whether overdue or not
}

type transaction struct {
	id         TxID
	owner      string
	deadline   Instant // when it is rolled back
	heapIndex  int     // in transactions.deadlines
	operations []txOperation
	messages   int                    // number of messages to be sent
	settled    map[LockToken]struct{} // the tokens that its operations settle
	usage      txUsage
	confined   bool // further operations must be at the same entity and partition; see Confine
}

// A txOperation is an operation that will be done when its transaction is committed.
type txOperation struct {
	via    Path // empty if it sends straight to its destination
	to     Path
	batch  []Submission // each with the content that the transaction keeps
	cancel []Seq        // scheduled messages at to; an operation without batch and cancel settles
	settle Settlement
	what   string // description for errors
	scope  txScope
}

func (o *txOperation) settles() bool { return len(o.batch) == 0 && len(o.cancel) == 0 }

// BeginTransaction begins a transaction; end it with Discharge. owner is for people and becomes the
// actor of its operations. Its time runs from its first operation (TX-2); a transaction without
// operations is considered forgotten, and rolled back, after five times as long.
//
// Its operations may concern any number of entities, except after Confine.
//
// The error is ErrNotAllowed if the namespace does not offer transactions, and ErrBusy if too
// many are open.
func (ns *Namespace) BeginTransaction(now Instant, owner string) (TxID, error) {
	if err := ns.limits.CheckTransactions(); err != nil {
		return 0, err
	}
	if ns.limits.TransactionMessages <= 0 {
		return 0, Refuse(ErrNotAllowed, "Transactions are disabled in this namespace.")
	}
	if err := ns.admitUsage(now, txUsage{}, usageOfDeclaring(owner)); err != nil {
		return 0, err
	}
	x := &ns.transactions
	t := &transaction{id: TxID(ns.keys.Next()), owner: owner, deadline: now.Add(ns.maxTransactionIdle()), usage: usageOfDeclaring(owner)}
	x.add(t)
	ns.changes.addUndo(undo{kind: undoTransaction, other: func() { x.remove(t) }})
	return t.id, nil
}

// add adds t to the open transactions and their usage, and remove removes it. No other function
// changes the set.
func (x *transactions) add(t *transaction) {
	if x.open == nil {
		x.open = map[TxID]*transaction{}
	}
	x.open[t.id] = t
	heap.Push(&x.deadlines, t)
	x.usage = x.usage.plus(t.usage)
}

func (x *transactions) remove(t *transaction) {
	delete(x.open, t.id)
	heap.Remove(&x.deadlines, t.heapIndex)
	x.usage = x.usage.minus(t.usage)
}

// transaction returns an open transaction, or ErrTransaction if there is none with this id. It first
// rolls back the transaction if its time is over.
func (ns *Namespace) transaction(now Instant, id TxID) (*transaction, error) {
	if t := ns.transactions.open[id]; t != nil {
		if !t.deadline.Passed(now) {
			return t, nil
		}
		ns.endTransaction(t)
	}
	return nil, Refuse(ErrTransaction, "The transaction is over: it was committed or rolled back, did not end within %v of its first operation, had no operation within %v, or the store was reopened.",
		ns.limits.TransactionTime, ns.maxTransactionIdle())
}

// Discharge ends a transaction. On commit, its operations are done in the order in which they
// were added, and the numbers of the sent messages are returned in that order, as by Send. If
// one of them fails, none is done; the error wraps ErrRolledBack and that operation's error, and
// names the operation. In both cases the transaction is over.
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

// CommitPlanned commits a transaction, as Discharge does. The plans are those of the
// UnplannedMessages, in order; messages added to the transaction since then have none.
func (ns *Namespace) CommitPlanned(now Instant, id TxID, plans []*Plan) ([]Seq, error) {
	t, err := ns.transaction(now, id)
	if err != nil {
		return nil, err
	}
	defer ns.endTransaction(t)
	before := ns.savepoint()
	seqs := make([]Seq, 0, t.messages)
	for i, o := range t.operations {
		got, err := ns.perform(now, o, t.owner, plans[min(len(seqs), len(plans)):])
		if err != nil {
			ns.undoTo(before)
			return nil, rolledBack(err, "The transaction was rolled back because operation %d of %d failed, %s: %v", i+1, len(t.operations), o.what, err)
		}
		seqs = append(seqs, got...)
	}
	return seqs, nil
}

func (ns *Namespace) perform(now Instant, o txOperation, owner string, plans []*Plan) ([]Seq, error) {
	switch {
	case len(o.cancel) > 0:
		return nil, ns.CancelScheduled(now, o.to, o.cancel, owner)
	case o.settles():
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

// rolledBack returns the error for a transaction that failed with err. It drops err's
// sub-code: what that suggests, such as trying again, does not help once the transaction is
// over.
func rolledBack(err error, format string, args ...any) error {
	return RefuseCode(fmt.Errorf("%w: %w", ErrRolledBack, err), 0, format, args...)
}

// UnplannedMessage is a message that a transaction will send when it is committed.
type UnplannedMessage struct {
	rules  *RuleSet // nil if there are no rules to evaluate
	packed Packed
}

// Plan evaluates the rules that can be evaluated before the commit, on any goroutine and at any
// time. It returns nil if there are none.
func (u UnplannedMessage) Plan() *Plan {
	if u.rules == nil {
		return nil
	}
	c, err := u.packed.Content()
	if err != nil { // cannot happen: Pack wrote it
		return nil
	}
	return u.rules.Plan(c)
}

// UnplannedMessages returns the messages that a transaction will send so far, in order, if any of
// them is sent to a topic with SQL rules. Otherwise, or if the transaction is over, it returns nil.
// Messages that wait in a transaction have no plans: these would keep rules in memory, and be
// out of date with the next change of a rule.
func (ns *Namespace) UnplannedMessages(id TxID) (out []UnplannedMessage) {
	t := ns.transactions.open[id]
	if t == nil {
		return nil
	}
	some := false
	for _, o := range t.operations {
		var rules *RuleSet
		if e := ns.entities[o.to.Fold()]; e != nil && len(o.batch) > 0 {
			rules = e.ruleIndex.set
		}
		some = some || rules != nil
		for _, s := range o.batch {
			out = append(out, UnplannedMessage{rules, s.Content})
		}
	}
	if !some {
		return nil
	}
	return out
}

// endTransaction removes a transaction. Contents that nothing else refers to are dropped, as are
// the bodies that were staged for them.
func (ns *Namespace) endTransaction(t *transaction) {
	x := &ns.transactions
	x.remove(t)
	ns.changes.addUndo(undo{kind: undoTransaction, other: func() {
		x.add(t)
		t.contents(ns.addReference)
	}})
	t.contents(ns.dropReference)
}

// contents calls each with every content that t keeps.
func (t *transaction) contents(each func(*content)) {
	for _, o := range t.operations {
		for _, s := range o.batch {
			each(s.sharedContent)
		}
	}
}

// Bounds on open transactions and on their total usage, so that clients that never end their
// transactions can fill neither the memory nor the store. The error is ErrQuota for an operation
// that never fits in one transaction, and ErrBusy for one that would fit if there were no other
// transactions.
const (
	maxTransactions = 10_000
	maxTxMemory     = 64 << 20 // bytes in memory, of all parts of operations
	maxTxStaged     = 1 << 30  // bytes of bodies staged in the store: ten of the largest possible
)

// maxTransactionIdle returns how long a transaction may be open without an operation.
func (ns *Namespace) maxTransactionIdle() time.Duration { return 5 * ns.limits.TransactionTime }

// txUsage counts transactions, and the bytes of the operations that wait in them.
type txUsage struct {
	open   int64 // transactions
	memory int64 // approximate bytes in the heap
	staged int64 // bytes of bodies in the store
}

func (k txUsage) plus(o txUsage) txUsage {
	return txUsage{k.open + o.open, k.memory + o.memory, k.staged + o.staged}
}

func (k txUsage) minus(o txUsage) txUsage {
	return txUsage{k.open - o.open, k.memory - o.memory, k.staged - o.staged}
}

// Bytes of memory besides texts. An operation is in a list that has grown, a token in a map:
// about half of both is unused capacity.
const (
	perTransaction = int64(unsafe.Sizeof(transaction{})) + 64 // with its entries in a map and a heap
	perOperation   = int64(unsafe.Sizeof(txOperation{})) * 3 / 2
	perToken       = int64(unsafe.Sizeof(LockToken{})) * 2
	perMessage     = int64(unsafe.Sizeof(Submission{}) + unsafe.Sizeof(content{}))
	perProperty    = int64(unsafe.Sizeof(value.Property{}))
)

func usageOfDeclaring(owner string) txUsage {
	return txUsage{open: 1, memory: perTransaction + int64(len(owner))}
}

// usage returns how many bytes o takes while it waits for the commit.
func (o *txOperation) usage() txUsage {
	k := txUsage{memory: perOperation + int64(len(o.via)+len(o.to)+len(o.what))}
	for _, s := range o.batch {
		k.memory += perMessage + int64(len(s.Content)+len(s.Body))
		if s.Staged {
			k.staged += s.BodySize
		}
	}
	k.memory += int64(len(o.scope.key)+len(o.scope.entity)) + int64(len(o.cancel))*int64(unsafe.Sizeof(Seq(0)))
	if o.settles() {
		s := &o.settle
		k.memory += perToken + int64(len(s.Reason)+len(s.Description)+len(s.Client)+len(s.Path))
		for _, p := range s.Modify {
			k.memory += perProperty + int64(len(p.Name)+len(p.Value.Text()))
		}
	}
	return k
}

// addUsage adds `more` to the usage of t and to the total.
func (x *transactions) addUsage(t *transaction, more txUsage) {
	t.usage, x.usage = t.usage.plus(more), x.usage.plus(more)
}

// fits reports whether the sum of k and `more` is within the bounds.
func (k txUsage) fits(more txUsage) bool {
	k = k.plus(more)
	return k.open <= maxTransactions && k.memory <= maxTxMemory && k.staged <= maxTxStaged
}

// admit checks whether a transaction whose usage is `own` may use `more` in addition; k is the usage
// of all transactions. The error is ErrQuota or ErrBusy, as described above.
func (k txUsage) admit(own, more txUsage) error {
	if k.open+more.open > maxTransactions {
		return Refuse(ErrBusy, "%d transactions are already open, the maximum. Commit or roll back one first.", k.open)
	}
	for _, b := range [...]struct {
		what                  string
		own, all, more, limit int64
	}{
		{"in memory", own.memory, k.memory, more.memory, maxTxMemory},
		{"of large bodies", own.staged, k.staged, more.staged, maxTxStaged},
	} {
		switch {
		case b.own+b.more > b.limit:
			return Refuse(ErrQuota, "The transaction would hold %d bytes %s; the maximum is %d.", b.own+b.more, b.what, b.limit)
		case b.all+b.more > b.limit:
			return Refuse(ErrBusy, "All open transactions together hold %d bytes %s; the maximum is %d. Retry when one of them has ended.", b.all, b.what, b.limit)
		}
	}
	return nil
}

// txDeadlines is a heap of transactions by deadline.
type txDeadlines []*transaction

// next returns when the next transaction is to be rolled back, or zero if there is none.
func (x *transactions) next() Instant {
	if len(x.deadlines) == 0 {
		return 0
	}
	return x.deadlines[0].deadline
}

// endOverdue rolls back overdue transactions (TX-2), the soonest first, until it has made
// limit changes, and returns the number of changes.
func (ns *Namespace) endOverdue(now Instant, limit int) (done int) {
	for x := &ns.transactions; done < limit && x.next().Passed(now); {
		done += 1 + x.deadlines[0].messages
		ns.endTransaction(x.deadlines[0])
	}
	return done
}

// overdue returns the total usage of transactions that are overdue but not yet ended.
func (x *transactions) overdue(now Instant) (k txUsage) {
	var add func(i int)
	add = func(i int) { // if one is not overdue, those below it in the heap are not either
		if i < len(x.deadlines) && x.deadlines[i].deadline.Passed(now) {
			k = k.plus(x.deadlines[i].usage)
			add(2*i + 1)
			add(2*i + 2)
		}
	}
	add(0)
	return k
}

// admitUsage checks whether a transaction whose usage is `own` may use `more` in addition. Overdue
// transactions do not count. As many of them are ended as needed to make room, so that the bounds
// are never exceeded and the cost is about proportional to the added usage.
func (ns *Namespace) admitUsage(now Instant, own, more txUsage) error {
	x := &ns.transactions
	if x.usage.fits(more) {
		return nil
	}
	if err := x.usage.minus(x.overdue(now)).admit(own, more); err != nil {
		return err
	}
	for !x.usage.fits(more) {
		ns.endTransaction(x.deadlines[0])
	}
	return nil
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (x txDeadlines) Len() int { return len(x) }
func (x txDeadlines) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(x[i].deadline, x[j].deadline), cmp.Compare(x[i].id, x[j].id)) < 0
}
func (x txDeadlines) Swap(i, j int) {
	x[i], x[j] = x[j], x[i]
	x[i].heapIndex, x[j].heapIndex = i, j
}

// Push implements heap.Interface.
func (x *txDeadlines) Push(v any) {
	t := v.(*transaction) //nolint:forcetypeassert // only transactions are pushed
	t.heapIndex = len(*x)
	*x = append(*x, t)
}

// Pop implements heap.Interface.
func (x *txDeadlines) Pop() any {
	old := *x
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*x = old[:len(old)-1]
	return t
}
