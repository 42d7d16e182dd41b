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

// endOverdue rolls back transactions whose time is over (TX-2), the soonest
// first, as long as that is less than limit changes, and returns how many it was.
func (ns *Namespace) endOverdue(now Instant, limit int) (done int) {
	for x := &ns.transactions; done < limit && x.next().Passed(now); {
		done += 1 + x.ends[0].messages
		ns.endTransaction(x.ends[0])
	}
	return done
}

// overdue is what those keep whose time is over and that have not been ended yet.
func (x *transactions) overdue(now Instant) (k kept) {
	var add func(i int)
	add = func(i int) { // what is beneath one that is not overdue is none either
		if i < len(x.ends) && x.ends[i].ends.Passed(now) {
			k = k.plus(x.ends[i].kept)
			add(2*i + 1)
			add(2*i + 2)
		}
	}
	add(0)
	return k
}

// mayKeep decides whether a transaction that keeps own may keep more. Those
// whose time is over do not count, whether they have been ended or not: as many
// of them are ended as have to make room, so that no more is ever kept than may
// be, and it costs about as much as what is to be kept.
func (ns *Namespace) mayKeep(now Instant, own, more kept) error {
	x := &ns.transactions
	if x.kept.fits(more) {
		return nil
	}
	if err := x.kept.minus(x.overdue(now)).admit(own, more); err != nil {
		return err
	}
	for !x.kept.fits(more) {
		ns.endTransaction(x.ends[0])
	}
	return nil
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
