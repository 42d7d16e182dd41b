package engine

import "cmp"

// txEnds are transactions as a heap, by when they are rolled back.
type txEnds []*transaction

// next is when the time of a transaction is over; zero: of none.
func (x *transactions) next() Instant {
	if len(x.ends) == 0 {
		return 0
	}
	return x.ends[0].ends
}

// endOverdue rolls back the transactions whose time is over (TX-2).
func (ns *Namespace) endOverdue(now Instant) {
	for x := &ns.transactions; x.next().Passed(now); {
		ns.endTransaction(x.ends[0])
	}
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (x txEnds) Len() int { return len(x) }
func (x txEnds) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(x[i].ends, x[j].ends), cmp.Compare(x[i].id, x[j].id)) < 0
}
func (x txEnds) Swap(i, j int) {
	x[i], x[j] = x[j], x[i]
	x[i].place, x[j].place = i, j
}

// Push implements heap.Interface.
func (x *txEnds) Push(v any) {
	t := v.(*transaction) //nolint:forcetypeassert // heap hands back what was pushed
	t.place = len(*x)
	*x = append(*x, t)
}

// Pop implements heap.Interface.
func (x *txEnds) Pop() any {
	old := *x
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*x = old[:len(old)-1]
	return t
}
