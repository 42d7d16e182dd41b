package broker_test

import (
	"cmp"
	"slices"

	"mayfly/engine"
)

// This file specifies one message as SEMANTICS.md describes it, for linear_model_test.go.

// spot is the subqueue of a message.
type spot uint8

const (
	gone spot = iota
	inQueue
	inDead
)

// deliveries is the MaxDeliveryCount of every queue in this test.
const deliveries = 3

// A claim is a lock on one message. Its token is a number that stands for the lock token. from
// and to are when the call of its receiver began and returned.
type claim struct {
	token    int // zero means that the message is not locked
	from, to int64
}

// somebody stands for the token of a lock whose receiver got no answer, so that its token is
// unknown.
const somebody = -1

// A fate is a possible state of a message.
type fate struct {
	spot     spot
	deferred bool
	count    uint32 // deliveries that failed
	claim    claim
}

func (f fate) locked() bool { return f.claim.token != 0 }

// ready reports whether an ordinary receive at s may get the message (SEQ-7, DEF-2).
func (f fate) ready(s spot) bool { return f.spot == s && !f.deferred && !f.locked() }

// fetchable reports whether the message can be fetched by its sequence number at s (DEF-6, DEF-7).
func (f fate) fetchable(s spot) bool { return f.spot == s && f.deferred && !f.locked() }

// taken returns f after a receive (LOCK-2, LOCK-3).
func (f fate) taken(mode engine.Mode, c claim) fate {
	if mode == engine.ReceiveAndDelete {
		return fate{}
	}
	f.claim = c
	return f
}

// released returns f after its lock was released (SETL-4, SES-7, DEF-8).
func (f fate) released() fate {
	f.claim = claim{}
	return f
}

// failed returns f after a failed delivery: the count increases, and a message that exceeds
// MaxDeliveryCount becomes a dead letter (DC-2, DC-4, DC-5), unless it is one already (DC-6).
func (f fate) failed() fate {
	f.claim = claim{}
	if f.spot == inDead {
		return f
	}
	if f.count++; f.count >= deliveries {
		f.spot, f.deferred = inDead, false
	}
	return f
}

// settled returns the state of a message in the locked state f after its receiver has settled it
// (§5.2).
func (f fate) settled(how engine.Outcome) fate {
	switch how {
	case engine.Complete:
		return fate{}
	case engine.Abandon:
		return f.failed()
	case engine.Defer:
		if f.deferred = true; f.spot == inDead {
			return f.released()
		}
		return f.failed()
	case engine.DeadLetter:
		return fate{spot: inDead, count: f.count}
	default:
		return f.released()
	}
}

func compareFates(a, b fate) int {
	return cmp.Or(
		cmp.Compare(a.spot, b.spot), cmp.Compare(a.count, b.count), cmp.Compare(a.claim.token, b.claim.token),
		cmp.Compare(a.claim.from, b.claim.from), cmp.Compare(number(a.deferred), number(b.deferred)),
	)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A letter is a message that may exist.
type letter struct {
	seq     engine.Seq
	id      int
	session string
	fates   []fate // all possible ones, sorted, without duplicates; never changed in place
}

// where removes the fates for which `is` returns false, and reports whether any remains.
func (l *letter) where(is func(fate) bool) bool {
	if !slices.ContainsFunc(l.fates, func(f fate) bool { return !is(f) }) {
		return len(l.fates) > 0
	}
	l.fates = slices.DeleteFunc(slices.Clone(l.fates), func(f fate) bool { return !is(f) })
	return len(l.fates) > 0
}

func (l *letter) not(is func(fate) bool) bool { return l.where(func(f fate) bool { return !is(f) }) }

// may reports whether `is` returns true for at least one possible fate of the message, and must
// whether it does for all.
func (l *letter) may(is func(fate) bool) bool { return slices.ContainsFunc(l.fates, is) }

func (l *letter) must(is func(fate) bool) bool {
	return !slices.ContainsFunc(l.fates, func(f fate) bool { return !is(f) })
}

// become replaces every fate f of the message by next(f).
func (l *letter) become(next func(fate) fate) {
	all := make([]fate, 0, len(l.fates))
	for _, f := range l.fates {
		all = append(all, next(f))
	}
	l.set(all)
}

// perhaps adds next(f) to the possible fates, for each fate f for which `is` returns true.
func (l *letter) perhaps(is func(fate) bool, next func(fate) fate) {
	if !l.may(is) {
		return
	}
	all := slices.Clone(l.fates)
	for _, f := range l.fates {
		if is(f) {
			all = append(all, next(f))
		}
	}
	l.set(all)
}

func (l *letter) set(all []fate) {
	slices.SortFunc(all, compareFates)
	l.fates = slices.Compact(all)
}
