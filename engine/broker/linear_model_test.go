package broker_test

import (
	"cmp"
	"slices"

	"mayfly/engine"
)

// This file specifies one queue and its dead-letter queue as SEMANTICS.md describes them, one
// operation after another, without using the engine. Where an answer left the outcome unknown,
// the model keeps all possible states, and later observations rule some out.

// A version is one possible assignment of sequence numbers. It contains all other uncertainty.
type version struct {
	next     engine.Seq    // of the next message that is sent
	letters  []letter      // by sequence number
	sessions []sessionFate // by id; the others are free and have no state
}

// edit returns a copy whose letters and sessions may be assigned to.
func (v *version) edit() *version {
	return &version{v.next, slices.Clone(v.letters), slices.Clone(v.sessions)}
}

// each calls f for every letter, which f may change. It stops when f returns false, and reports
// whether f never did.
func (v *version) each(f func(*letter) bool) bool {
	for i := range v.letters {
		if !f(&v.letters[i]) {
			return false
		}
	}
	return true
}

// tidied returns v without messages that certainly no longer exist.
func (v *version) tidied() *version {
	v.letters = slices.DeleteFunc(v.letters, func(l letter) bool { return len(l.fates) == 1 && l.fates[0].spot == gone })
	v.sessions = slices.DeleteFunc(v.sessions, sessionFate.plain)
	return v
}

func (v *version) letter(n engine.Seq) *letter {
	if at, ok := slices.BinarySearchFunc(v.letters, n, func(l letter, n engine.Seq) int { return cmp.Compare(l.seq, n) }); ok {
		return &v.letters[at]
	}
	return nil
}

// holding returns the letter that may be locked under a token.
func (v *version) holding(token int) *letter {
	for i := range v.letters {
		if l := &v.letters[i]; l.may(by(token)) {
			return l
		}
	}
	return nil
}

func by(token int) func(fate) bool { return func(f fate) bool { return f.claim.token == token } }

// send adds messages under the next numbers (SEQ-1, MSG-7).
func (v *version) send(d *operation) {
	for i, id := range d.ids {
		v.letters = append(v.letters, letter{v.next, id, d.sessions[i], []fate{{spot: inQueue}}})
		v.next++
	}
}

// sent calls send, and reports whether the sequence numbers that the sender got are possible.
func (v *version) sent(d *operation) bool {
	first := v.next
	v.send(d)
	for i, n := range d.seqs {
		if n != first+engine.Seq(i) {
			return false
		}
	}
	return len(d.seqs) == len(d.ids)
}

// take receives one message: the first that is ready (SEQ-7, SEQ-8, SES-8).
func (v *version) take(d *operation) bool {
	if !v.holds(d) {
		return false
	}
	found := false
	return v.each(func(l *letter) bool {
		switch {
		case !d.sees(l):
			return true
		case l.seq < d.got[0].seq:
			return l.not(func(f fate) bool { return f.ready(d.spot) })
		case l.seq == d.got[0].seq:
			found = true
			return v.had(d, l, d.got[0], func(f fate) bool { return f.ready(d.spot) })
		default:
			return true
		}
	}) && found
}

// had reports whether l can be the received message g, from a state that satisfies `is`. If so, l
// is then locked or deleted by the receive.
func (v *version) had(d *operation, l *letter, g got, is func(fate) bool) bool {
	if l.id != g.id || !l.where(func(f fate) bool { return is(f) && f.count == g.count }) {
		return false
	}
	l.become(func(f fate) fate { return f.taken(d.mode, claim{g.token, d.call, d.ret}) })
	return true
}

// takeNone reports whether it is possible that a receive found no message.
func (v *version) takeNone(d *operation) bool {
	return v.holds(d) && v.each(func(l *letter) bool {
		return !d.sees(l) || l.not(func(f fate) bool { return f.ready(d.spot) })
	})
}

// perhapsTake adds to v the states after a receive that may have happened or not.
func (v *version) perhapsTake(d *operation) {
	if d.handle != 0 && !slices.Contains(v.session(d.session).holders, d.handle) {
		return
	}
	ready := func(f fate) bool { return f.ready(d.spot) }
	v.each(func(l *letter) bool {
		if !d.sees(l) {
			return true
		}
		certain := l.must(ready)
		l.perhaps(ready, func(f fate) fate { return f.taken(d.mode, claim{somebody, d.call, never}) })
		return !certain // the receive took this message, or one before it
	})
}

// fetch receives messages by sequence number, all or none (DEF-6, DEF-7, DEF-14).
func (v *version) fetch(d *operation) bool {
	if !v.holds(d) {
		return false
	}
	for _, g := range d.got {
		l := v.letter(g.seq)
		if l == nil || !d.sees(l) || !v.had(d, l, g, func(f fate) bool { return f.fetchable(d.spot) }) {
			return false
		}
	}
	return true
}

// fetchNone reports whether a fetch can have been refused because a message was not available.
func (v *version) fetchNone(d *operation) bool {
	if !v.holds(d) {
		return false
	}
	able := func(f fate) bool { return f.fetchable(d.spot) }
	var doubtful []*letter
	for _, n := range d.seqs {
		l := v.letter(n)
		switch {
		case l == nil || !d.sees(l) || !l.may(able):
			return true
		case !l.must(able):
			doubtful = append(doubtful, l)
		}
	}
	if len(doubtful) == 1 {
		return doubtful[0].not(able)
	}
	return len(doubtful) > 0
}

// settle ends a delivery, once (LOCK-7, LOCK-10).
func (v *version) settle(d *operation) bool {
	l := v.holding(d.token)
	if l == nil || d.how == engine.DeadLetter && d.spot == inDead { // DLQ-5
		return false
	}
	if !l.where(by(d.token)) || !v.taken(l) {
		return false
	}
	l.become(func(f fate) fate { return f.settled(d.how) })
	return true
}

// stands reports whether the token of d may be valid, and lapsed whether it may be invalid.
func (v *version) stands(d *operation) bool {
	l := v.holding(d.token)
	return l != nil && l.where(by(d.token)) && v.taken(l)
}

func (v *version) lapsed(d *operation) bool {
	l := v.holding(d.token)
	return l == nil || l.not(by(d.token))
}

// reopen models a broker that reads everything again from its store. Acknowledged changes
// survive. Locks that a later commit made durable survive, and those taken after the last commit
// do not (DEC-12): their messages are unlocked, and have not failed. For locks taken in between,
// both are possible.
func (v *version) reopen(d *operation) {
	v.each(func(l *letter) bool {
		if !l.may(fate.locked) {
			return true
		}
		all := make([]fate, 0, 2*len(l.fates))
		for _, f := range l.fates {
			if !f.locked() || f.claim.from < d.since {
				all = append(all, f)
			}
			if f.locked() && f.claim.to > d.since {
				all = append(all, f.released())
			}
		}
		l.set(all)
		return true
	})
	v.reopenSessions()
}
