package engine

import (
	"fmt"
	"slices"
)

// INVARIANT: a transaction with an operation is ended in time, and the bytes
// that transactions keep are counted.
func (ns *Namespace) checkTransactions() error {
	x := &ns.transactions
	bytes := int64(0)
	for id, t := range x.open {
		n, messages := int64(0), 0
		for _, o := range t.operations {
			n += inMemory(o.batch)
			messages += len(o.batch)
		}
		bytes += n
		if n != t.bytes || messages != t.messages || (t.ends == 0) != (len(t.operations) == 0) {
			return fmt.Errorf("a transaction of %d messages and %d bytes, which ends at %d, counts %d and %d", messages, n, t.ends, t.messages, t.bytes)
		}
		if t.ends != 0 && !slices.Contains(x.ends, txEnd{t.ends, id}) {
			return fmt.Errorf("nobody will end the transaction of %q", t.owner)
		}
	}
	if len(x.ends) > 0 && x.open[x.ends[0].id] == nil {
		return fmt.Errorf("the transaction to be ended at %d is over", x.ends[0].at)
	}
	if bytes != x.bytes || !slices.IsSortedFunc(x.ends, func(a, b txEnd) int { return int(a.at - b.at) }) {
		return fmt.Errorf("transactions keep %d bytes, not %d, and end at %v", bytes, x.bytes, x.ends)
	}
	return nil
}
