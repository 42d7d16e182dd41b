package engine

import (
	"errors"
	"testing"
	"time"
)

// overdueOnes begins n transactions with one message each, and sends n other messages. At the
// returned instant, all of the transactions are overdue and the messages sent have expired. give
// adds a message to a transaction.
func overdueOnes(t *testing.T, n int) (ns *Namespace, now Instant, give func(id TxID, bytes int) error) {
	t.Helper()
	nonce := uint64(0)
	ns, now = New(Options{Limits: DefaultLimits(), Keys: NewKeys(1), Nonce: func() uint64 { nonce++; return nonce }}), Instant(1_000_000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	submit := func(bytes int) []Submission {
		s, err := Submit(Content{TTL: time.Second}, make([]byte, bytes), 0, ns.keys.Next(), ns.limits)
		must(err)
		return []Submission{s}
	}
	give = func(id TxID, bytes int) error { return ns.SendInTx(now, id, "q", submit(bytes)) }
	_, err := ns.Create(now, Queue, "q", Config{}, "")
	must(err)
	for range n {
		id, err := ns.BeginTransaction(now, "")
		must(err)
		must(give(id, 10))
		_, err = ns.Send(now, "q", submit(10), "")
		must(err)
	}
	ns.Seal(true)
	now = now.Add(ns.limits.TransactionTime)
	return ns, now, give
}

// TX-2: however many transactions are overdue at once, a turn does about as much work as its
// limit, and subqueues get their share of it.
func TestOverdueTransactionsAreEndedInSlices(t *testing.T) {
	const n, work = 300, 20
	ns, now, _ := overdueOnes(t, n)
	turns := 0
	for more := true; more; turns++ {
		if at := ns.NextDue(); at == 0 || at > now {
			t.Fatalf("after %d turns the next due time is %d", turns, at)
		}
		open, left := len(ns.transactions.open), ns.entities["q"].main.order.len()
		more = ns.Sweep(now, work)
		ended, expired := open-len(ns.transactions.open), left-ns.entities["q"].main.order.len()
		if did := 2*ended + expired; did > work+1 { // an ended transaction is two changes, so the limit may be exceeded by one
			t.Fatalf("a turn ended %d transactions and %d messages expired", ended, expired)
		}
		if open > 0 && ended == 0 || left > 0 && expired == 0 || open > work && left == 0 && ended < work/2 {
			t.Fatalf("turn %d ended %d of %d transactions, and %d of %d messages expired", turns, ended, open, expired, left)
		}
		if err := ns.Check(); err != nil {
			t.Fatal(err)
		}
		ns.Seal(true)
	}
	if open, at := len(ns.transactions.open), ns.NextDue(); open > 0 || at != 0 || turns < 3*n/work {
		t.Errorf("after %d turns %d transactions are open, and the next due time is %d", turns, open, at)
	}
}

// TX-2, TTL-31: an overdue transaction has no effect and does not block others, whether it has
// been ended or not. No request waits until all overdue transactions are ended.
func TestOverdueTransactionsDoNotCount(t *testing.T) {
	ns, now, give := overdueOnes(t, maxTransactions)
	open := func(want int) {
		t.Helper()
		if got := len(ns.transactions.open); got != want {
			t.Fatalf("%d transactions are open; want %d", got, want)
		}
		if err := ns.Check(); err != nil {
			t.Fatal(err)
		}
	}
	last := ns.transactions.deadlines[maxTransactions-1].id
	if _, err := ns.Discharge(now, last, Commit); !errors.Is(err, ErrTransaction) {
		t.Fatalf("an overdue transaction was committed: %v", err)
	}
	open(maxTransactions - 1)
	var mine [2]TxID
	for i := range mine {
		id, err := ns.BeginTransaction(now, "")
		if err != nil {
			t.Fatal(err)
		}
		mine[i] = id
	}
	open(maxTransactions)

	// As many transactions are ended as needed to make room, and none for an operation that is
	// refused.
	ns.limits.TransactionMessages = 1000
	const large = 250 << 10
	was, n := len(ns.transactions.open), 0
	for ; ; n++ {
		err := give(mine[n%2], large)
		k := ns.transactions.usage
		if k.memory > maxTxMemory || k.open < int64(was) && k.memory < maxTxMemory-large {
			t.Fatalf("%d transactions use %d bytes, with %d messages", k.open, k.memory, n)
		}
		if err != nil {
			if !errors.Is(err, ErrBusy) || int64(was) != k.open {
				t.Fatalf("of %d transactions %d are open after %v", was, k.open, err)
			}
			break
		}
		was = len(ns.transactions.open)
	}
	if n < maxTxMemory/large-2 {
		t.Errorf("only %d messages of %d bytes were accepted", n, large)
	}
	if !ns.transactions.next().Passed(now) {
		t.Error("all overdue transactions were ended; one could have stayed")
	}
	open(was)
}
