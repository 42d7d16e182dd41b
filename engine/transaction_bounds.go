package engine

import (
	"time"
	"unsafe"

	"mayfly/engine/value"
)

// What open transactions may be and keep together, so that clients which never
// end theirs can fill neither the memory nor the store. What a single one could
// never have is ErrQuota; what it could have if there were no others is ErrBusy.
const (
	mostTransactions = 10_000
	mostKeptMemory   = 64 << 20 // bytes, with all that an operation is made of
	mostKeptStaged   = 1 << 30  // bytes of bodies that wait in the store: ten of the largest there are
)

// forgottenAfter is how long a transaction may be without an operation.
func (ns *Namespace) forgottenAfter() time.Duration { return 5 * ns.limits.TransactionTime }

// kept is what waits in transactions, and they themselves; in bytes but for these.
type kept struct {
	open   int64 // transactions
	memory int64 // about what it takes in the heap
	staged int64 // of bodies in the store
}

func (k kept) plus(o kept) kept {
	return kept{k.open + o.open, k.memory + o.memory, k.staged + o.staged}
}

func (k kept) minus(o kept) kept {
	return kept{k.open - o.open, k.memory - o.memory, k.staged - o.staged}
}

// What things take in memory besides their texts. An operation stands in a list
// that has grown, a token in a map: of both about a half is room.
const (
	perTransaction = int64(unsafe.Sizeof(transaction{})) + 64 // with its places in a map and a heap
	perOperation   = int64(unsafe.Sizeof(operation{})) * 3 / 2
	perToken       = int64(unsafe.Sizeof(LockToken{})) * 2
	perMessage     = int64(unsafe.Sizeof(Submission{}) + unsafe.Sizeof(content{}))
	perProperty    = int64(unsafe.Sizeof(value.Property{}))
)

func keptByDeclaring(owner string) kept {
	return kept{open: 1, memory: perTransaction + int64(len(owner))}
}

// keeps is what o takes while it waits.
func (o *operation) keeps() kept {
	k := kept{memory: perOperation + int64(len(o.via)+len(o.to)+len(o.what))}
	for _, s := range o.batch {
		k.memory += perMessage + int64(len(s.Content)+len(s.Body))
		if s.Staged {
			k.staged += s.BodySize
		}
	}
	if len(o.batch) == 0 {
		s := &o.settle
		k.memory += perToken + int64(len(s.Reason)+len(s.Description)+len(s.Client)+len(s.Path))
		for _, p := range s.Modify {
			k.memory += perProperty + int64(len(p.Name)+len(p.Value.Text()))
		}
	}
	return k
}

// keep adds to what t keeps.
func (x *transactions) keep(t *transaction, more kept) {
	t.kept, x.kept = t.kept.plus(more), x.kept.plus(more)
}

// fits tells whether more may be kept beside k.
func (k kept) fits(more kept) bool {
	k = k.plus(more)
	return k.open <= mostTransactions && k.memory <= mostKeptMemory && k.staged <= mostKeptStaged
}

// admit decides whether more may be kept beside k, which is what all
// transactions keep, by one that keeps own of it.
func (k kept) admit(own, more kept) error {
	if k.open+more.open > mostTransactions {
		return refuse(ErrBusy, "%d transactions are open, which is the most there may be.", k.open)
	}
	for _, b := range [...]struct {
		what                  string
		own, all, more, limit int64
	}{
		{"in memory", own.memory, k.memory, more.memory, mostKeptMemory},
		{"of large bodies", own.staged, k.staged, more.staged, mostKeptStaged},
	} {
		switch {
		case b.own+b.more > b.limit:
			return refuse(ErrQuota, "The transaction would keep %d bytes %s; %d are allowed.", b.own+b.more, b.what, b.limit)
		case b.all+b.more > b.limit:
			return refuse(ErrBusy, "Open transactions keep %d bytes %s and may keep %d together.", b.all, b.what, b.limit)
		}
	}
	return nil
}
