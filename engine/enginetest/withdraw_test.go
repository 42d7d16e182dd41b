package enginetest

import "mayfly/engine"

// This file withdraws credit, in both walks and in the model of the first.

func (x *walk) withdraw() {
	id, n := x.anyLink(), x.r.IntN(4)
	x.logf("withdraw %d from link %d", n, id)
	if have, want := x.ns.Withdraw(x.now(), engine.LinkID(id), n), x.w.withdraw(id, n); have != want {
		x.failf("withdrawn are %d, the model says %d", have, want)
	}
}

func (w *model) withdraw(id uint64, n int) (taken int) {
	l := w.link(id)
	if l == nil {
		return 0
	}
	for ; taken < n && l.credit > 0; taken++ {
		l.credit--
	}
	if taken > 0 && l.credit == 0 {
		w.use(l.in)
	}
	return taken
}

func (x *sessionWalk) withdraw() {
	id, l := x.some()
	n, want := x.r.IntN(3), 0
	if l != nil {
		want = min(n, l.credit)
		l.credit -= want
	}
	x.logf("withdraw %d from link %d", n, id)
	if have := x.ns.Withdraw(x.now(), engine.LinkID(id), n); have != want {
		x.failf("withdrawn are %d, the model says %d", have, want)
	}
}
