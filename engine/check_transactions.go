package engine

import (
	"fmt"
	"slices"
)

// INVARIANT: every transaction is to be ended, at a time that is set and the
// soonest first; what transactions send, settle and keep is counted.
func (ns *Namespace) checkTransactions() error {
	x := &ns.transactions
	all := kept{}
	for id, t := range x.open {
		have, messages, settled := keptByDeclaring(t.owner), 0, 0
		for _, o := range t.operations {
			have = have.plus(o.keeps())
			messages += len(o.batch)
			if slices.ContainsFunc(o.batch, func(s Submission) bool { return s.Plan != nil }) {
				return fmt.Errorf("transaction %d keeps a plan, which nobody counts", id)
			}
			if len(o.batch) > 0 {
				continue
			}
			settled++
			if _, ok := t.settled[o.settle.Token]; !ok {
				return fmt.Errorf("a transaction settles message %d and does not know it", o.settle.Token.Key())
			}
		}
		all = all.plus(have)
		if have != t.kept || messages != t.messages || settled != len(t.settled) {
			return fmt.Errorf("a transaction that sends %d messages, settles %d and keeps %v bytes counts %d, %d and %v", messages, settled, have, t.messages, len(t.settled), t.kept)
		}
		if id != t.id || t.ends == 0 || t.place >= len(x.ends) || x.ends[t.place] != t {
			return fmt.Errorf("nobody will end transaction %d of %q", id, t.owner)
		}
	}
	for i, t := range x.ends {
		if x.open[t.id] != t || i > 0 && t.ends < x.ends[(i-1)/2].ends {
			return fmt.Errorf("transaction %d, to be ended at %d, is over, or not in its place", t.id, t.ends)
		}
	}
	if all != x.kept {
		return fmt.Errorf("transactions keep %v bytes, not %v", all, x.kept)
	}
	return nil
}
