package broker_test

import (
	"cmp"
	"slices"
)

// This file specifies sessions as SEMANTICS.md (§12) describes them, one operation after
// another, for linear_model_test.go.

// A sessionFate contains all possible states of one session.
type sessionFate struct {
	id      string
	holders []int    // its possible holders: a handle, none, or unknown
	states  []string // its possible states
}

const (
	nobody  = 0
	unknown = -1 // a holder that left, or belonged to a former process
	unset   = "" // states that were set begin with "="
)

func freeSession(id string) sessionFate { return sessionFate{id, []int{nobody}, []string{unset}} }

// plain reports whether the session certainly has no holder and no state.
func (s sessionFate) plain() bool {
	return len(s.holders) == 1 && s.holders[0] == nobody && len(s.states) == 1 && s.states[0] == unset
}

func byID(s sessionFate, id string) int { return cmp.Compare(s.id, id) }

// session returns the session with this id, to read or to assign to.
func (v *version) session(id string) *sessionFate {
	at, ok := slices.BinarySearchFunc(v.sessions, id, byID)
	if !ok {
		v.sessions = slices.Insert(v.sessions, at, freeSession(id))
	}
	return &v.sessions[at]
}

// held removes the possible holders for which `is` returns false, and reports whether any remains.
func (s *sessionFate) held(is func(int) bool) bool {
	s.holders = slices.DeleteFunc(slices.Clone(s.holders), func(h int) bool { return !is(h) })
	return len(s.holders) > 0
}

func (s *sessionFate) heldBy(handle int) bool { return s.held(func(h int) bool { return h == handle }) }

func (s *sessionFate) heldNotBy(handle int) bool {
	return s.held(func(h int) bool { return h != handle })
}

// perhapsHeld adds a possible holder.
func (s *sessionFate) perhapsHeld(by int) {
	if !slices.Contains(s.holders, by) {
		s.holders = append(slices.Clone(s.holders), by)
		slices.Sort(s.holders)
	}
}

// sees reports whether a receive or fetch may get l: the holder of a session gets its messages
// only, other receivers get all (SES-8, DLQ-7, DEF-14).
func (d *operation) sees(l *letter) bool { return d.handle == 0 || l.session == d.session }

// holds reports whether the operation's receiver may hold its session.
func (v *version) holds(d *operation) bool {
	return d.handle == 0 || v.session(d.session).heldBy(d.handle)
}

// taken reports whether the lock on l is possible: if l is in a session, a receiver must hold the
// session (SES-5).
func (v *version) taken(l *letter) bool {
	return l.session == "" || !l.must(func(f fate) bool { return f.spot == inQueue }) || v.session(l.session).heldNotBy(nobody)
}

// within calls f for each letter of a session, and returns false as soon as f does.
func (v *version) within(id string, f func(*letter) bool) bool {
	return v.each(func(l *letter) bool { return l.session != id || f(l) })
}

func lockedWithin(f fate) bool { return f.locked() && f.spot == inQueue }

func readyWithin(f fate) bool { return f.ready(inQueue) }

// free reports whether the session of d may be free. If so, v then contains only the states in
// which it is free and none of its messages is locked.
func (v *version) free(d *operation) bool {
	id := d.session
	return v.session(id).heldBy(nobody) && v.within(id, func(l *letter) bool { return l.not(lockedWithin) })
}

// accept grants a session to a receiver (SES-2, SES-4).
func (v *version) accept(d *operation) bool {
	if !v.free(d) {
		return false
	}
	v.session(d.session).holders = []int{d.handle}
	return true
}

// acceptNext is accept for a session that has a ready message. If there are several, it may be
// any of them, because the choice is not documented.
func (v *version) acceptNext(d *operation) bool {
	if !v.free(d) {
		return false
	}
	var ready []*letter
	v.within(d.session, func(l *letter) bool {
		if l.may(readyWithin) {
			ready = append(ready, l)
		}
		return true
	})
	if len(ready) == 0 || len(ready) == 1 && !ready[0].where(readyWithin) {
		return false
	}
	v.session(d.session).holders = []int{d.handle}
	return true
}

// perhapsAccept is an accept with an unknown outcome: of the named session, or of any that has
// a ready message.
func (v *version) perhapsAccept(d *operation) {
	ids := []string{d.session}
	if d.verb == acceptingNext {
		ids = v.ids()
	}
	for _, id := range ids {
		ready := !v.within(id, func(l *letter) bool { return !l.may(readyWithin) })
		if s := v.session(id); slices.Contains(s.holders, nobody) && (ready || d.verb == accepting) {
			s.perhapsHeld(d.handle)
		}
	}
}

// acceptNone models a receiver that found no session (SES-3, SES-17).
func (v *version) acceptNone(*operation) bool {
	for _, id := range v.ids() {
		s := v.session(id)
		switch {
		case !slices.Contains(s.holders, nobody):
		case len(s.holders) == 1:
			if !v.within(id, func(l *letter) bool { return l.not(readyWithin) }) {
				return false
			}
		case !v.within(id, func(l *letter) bool { return !l.must(readyWithin) }):
			if !s.heldNotBy(nobody) {
				return false
			}
		}
	}
	return true
}

// ids returns the ids of all sessions that are not plain.
func (v *version) ids() (ids []string) {
	for _, s := range v.sessions {
		ids = append(ids, s.id)
	}
	for _, l := range v.letters {
		if l.session != "" {
			ids = append(ids, l.session)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// giveBack models a receiver that closes its session: the session's messages are unlocked and
// have not failed (SES-7). If another receiver holds the session by now, nothing happens.
func (v *version) giveBack(d *operation) {
	s := v.session(d.session)
	switch {
	case !slices.Contains(s.holders, d.handle):
	case len(s.holders) == 1:
		s.holders = []int{nobody}
		v.within(d.session, func(l *letter) bool { l.become(releasedWithin); return true })
	default:
		s.heldNotBy(d.handle)
		s.perhapsHeld(nobody)
		v.within(d.session, func(l *letter) bool { l.perhaps(lockedWithin, fate.released); return true })
	}
}

func releasedWithin(f fate) fate {
	if lockedWithin(f) {
		return f.released()
	}
	return f
}

func (v *version) perhapsGiveBack(d *operation) {
	s := v.session(d.session)
	if slices.Contains(s.holders, d.handle) {
		s.perhapsHeld(nobody)
		v.within(d.session, func(l *letter) bool { l.perhaps(lockedWithin, fate.released); return true })
	}
}

// leave models a receiver that disconnects: the lock stays (DEC-5).
func (v *version) leave(d *operation) {
	s := v.session(d.session)
	if slices.Contains(s.holders, d.handle) {
		s.heldNotBy(d.handle)
		s.perhapsHeld(unknown)
	}
}

// breakUp models an operator who ends a session's lock as if it had expired: the delivery count
// of the session's locked messages increases (OPS-6, SES-6).
func (v *version) breakUp(d *operation) bool {
	s := v.session(d.session)
	if !s.heldNotBy(nobody) {
		return false
	}
	s.holders = []int{nobody}
	v.within(d.session, func(l *letter) bool {
		l.become(func(f fate) fate {
			if lockedWithin(f) {
				return f.failed()
			}
			return f
		})
		return true
	})
	return true
}

func (v *version) perhapsBreakUp(d *operation) {
	v.session(d.session).perhapsHeld(nobody)
	v.within(d.session, func(l *letter) bool { l.perhaps(lockedWithin, fate.failed); return true })
}

// isHeld reports whether any receiver may hold the session of d, and isOver whether it is
// possible that the receiver of d no longer holds it.
func (v *version) isHeld(d *operation) bool { return v.session(d.session).heldNotBy(nobody) }

func (v *version) isOver(d *operation) bool { return v.session(d.session).heldNotBy(d.handle) }

// state compares v with the state that a receiver read in its session (SES-11).
func (v *version) state(d *operation) bool {
	if !v.holds(d) {
		return false
	}
	s := v.session(d.session)
	if !slices.Contains(s.states, d.text) {
		return false
	}
	s.states = []string{d.text}
	return true
}

// setState models the receiver or an operator who sets the session's state.
func (v *version) setState(d *operation) bool {
	if !v.holds(d) {
		return false
	}
	v.session(d.session).states = []string{d.text}
	return true
}

func (v *version) perhapsSetState(d *operation) {
	if s := v.session(d.session); !slices.Contains(s.states, d.text) {
		s.states = append(slices.Clone(s.states), d.text)
		slices.Sort(s.states)
	}
}

// reopenSessions detaches all receivers. A session with a locked message is held by an unknown
// holder until that lock ends (DEC-12).
func (v *version) reopenSessions() {
	for _, id := range v.ids() {
		s := v.session(id)
		s.holders = []int{nobody}
		v.within(id, func(l *letter) bool {
			switch {
			case l.must(lockedWithin):
				s.holders = []int{unknown}
				return false
			case l.may(lockedWithin):
				s.holders = []int{unknown, nobody}
			}
			return true
		})
	}
}
