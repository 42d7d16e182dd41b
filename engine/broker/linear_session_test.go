package broker_test

import (
	"cmp"
	"slices"
)

// This file is what semantics.md says of sessions (§12), one operation after the
// other, for linear_model_test.go.

// A sessionFate is all that may be so of one session.
type sessionFate struct {
	id      string
	holders []int    // who may hold it: a handle, nobody, or somebody who is not there any more
	states  []string // that it may have
}

const (
	nobody  = 0
	unknown = -1 // it left, or was of a former process
	unset   = "" // a state that is set begins with "="
)

func freeSession(id string) sessionFate { return sessionFate{id, []int{nobody}, []string{unset}} }

// plain tells whether there is nothing to know of it.
func (s sessionFate) plain() bool {
	return len(s.holders) == 1 && s.holders[0] == nobody && len(s.states) == 1 && s.states[0] == unset
}

func byID(s sessionFate, id string) int { return cmp.Compare(s.id, id) }

// session is the one to look at or to assign to.
func (v *version) session(id string) *sessionFate {
	at, ok := slices.BinarySearchFunc(v.sessions, id, byID)
	if !ok {
		v.sessions = slices.Insert(v.sessions, at, freeSession(id))
	}
	return &v.sessions[at]
}

// held has only those holders remain that are as said, and tells whether any is.
func (s *sessionFate) held(is func(int) bool) bool {
	s.holders = slices.DeleteFunc(slices.Clone(s.holders), func(h int) bool { return !is(h) })
	return len(s.holders) > 0
}

func (s *sessionFate) heldBy(handle int) bool { return s.held(func(h int) bool { return h == handle }) }

func (s *sessionFate) heldNotBy(handle int) bool {
	return s.held(func(h int) bool { return h != handle })
}

// perhapsHeld adds a holder.
func (s *sessionFate) perhapsHeld(by int) {
	if !slices.Contains(s.holders, by) {
		s.holders = append(slices.Clone(s.holders), by)
		slices.Sort(s.holders)
	}
}

// sees tells whether a receive or fetch may get l: in a session its messages
// alone, elsewhere all (SES-8, DLQ-7, DEF-14).
func (d *deed) sees(l *letter) bool { return d.handle == 0 || l.session == d.session }

// holds says that who receives in a session holds it.
func (v *version) holds(d *deed) bool {
	return d.handle == 0 || v.session(d.session).heldBy(d.handle)
}

// taken says that a message under a lock in a session is in a session that
// somebody holds (SES-5).
func (v *version) taken(l *letter) bool {
	return l.session == "" || !l.must(func(f fate) bool { return f.spot == inQueue }) || v.session(l.session).heldNotBy(nobody)
}

// within edits the letters that are in a session now, or may be.
func (v *version) within(id string, f func(*letter) bool) bool {
	return v.each(func(l *letter) bool { return l.session != id || f(l) })
}

func lockedWithin(f fate) bool { return f.locked() && f.spot == inQueue }

func readyWithin(f fate) bool { return f.ready(inQueue) }

// free says that nobody holds a session: none of its messages is locked then.
func (v *version) free(d *deed) bool {
	id := d.session
	return v.session(id).heldBy(nobody) && v.within(id, func(l *letter) bool { return l.not(lockedWithin) })
}

// accept is a session that was given to a receiver (SES-2, SES-4).
func (v *version) accept(d *deed) bool {
	if !v.free(d) {
		return false
	}
	v.session(d.session).holders = []int{d.handle}
	return true
}

// acceptNext is the same for one that has something ready. Which of several is
// not documented.
func (v *version) acceptNext(d *deed) bool {
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

// perhapsAccept is a receiver that may have been given a session, and does not
// know: the one it named, or any that has something ready.
func (v *version) perhapsAccept(d *deed) {
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

// acceptNone is a receiver that found no session (SES-3, SES-17).
func (v *version) acceptNone(*deed) bool {
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

// ids are those of all sessions of which something is known.
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

// giveBack is a receiver closing its session: its messages are free and have not
// failed (SES-7). If somebody else has it by now, nothing happens.
func (v *version) giveBack(d *deed) {
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

func (v *version) perhapsGiveBack(d *deed) {
	s := v.session(d.session)
	if slices.Contains(s.holders, d.handle) {
		s.perhapsHeld(nobody)
		v.within(d.session, func(l *letter) bool { l.perhaps(lockedWithin, fate.released); return true })
	}
}

// leave is a receiver that is gone: the lock stays (DEC-5).
func (v *version) leave(d *deed) {
	s := v.session(d.session)
	if slices.Contains(s.holders, d.handle) {
		s.heldNotBy(d.handle)
		s.perhapsHeld(unknown)
	}
}

// breakUp is an operator ending a session's lock as if it had run out: what was
// locked has failed once more (OPS-6, SES-6).
func (v *version) breakUp(d *deed) bool {
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

func (v *version) perhapsBreakUp(d *deed) {
	v.session(d.session).perhapsHeld(nobody)
	v.within(d.session, func(l *letter) bool { l.perhaps(lockedWithin, fate.failed); return true })
}

// isHeld says that somebody holds a session, and isOver that this one does not.
func (v *version) isHeld(d *deed) bool { return v.session(d.session).heldNotBy(nobody) }

func (v *version) isOver(d *deed) bool { return v.session(d.session).heldNotBy(d.handle) }

// state is what a receiver that holds a session was told of its state (SES-11).
func (v *version) state(d *deed) bool {
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

// setState is a state that was set, by the receiver or by an operator.
func (v *version) setState(d *deed) bool {
	if !v.holds(d) {
		return false
	}
	v.session(d.session).states = []string{d.text}
	return true
}

func (v *version) perhapsSetState(d *deed) {
	if s := v.session(d.session); !slices.Contains(s.states, d.text) {
		s.states = append(slices.Clone(s.states), d.text)
		slices.Sort(s.states)
	}
}

// reopenSessions: nobody holds a session any more by a handle. One that has a
// locked message is taken until that lock ends, by nobody known (DEC-12).
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
