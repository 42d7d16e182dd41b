package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// INVARIANT: sessions are a function of the messages of their place, their locks
// and their states; one that has none of these is not there. The last message
// that is locked in a session has the end of its lock.
func (ns *Namespace) checkSessions(h *holder) error {
	if (h.sessions != nil) != (h.entity.sessionful() && !h.dead) {
		return broken(h.path, "there are sessions: %v", h.sessions != nil)
	}
	if h.sessions == nil {
		return nil
	}
	want := map[string]*session{}
	for m := range h.order.from(0) {
		id := m.sessionID()
		s := want[id]
		if s == nil {
			s = &session{id: id, lock: &sessionLock{}}
			want[id] = s
		}
		s.order.put(m)
		s.order.setReady(m.Seq, m.ready())
		s.count(m, classOf(m.Message), 1)
	}
	states := 0
	for id, s := range h.sessions.byID {
		w := want[id]
		if w == nil {
			w = &session{id: id, lock: &sessionLock{}}
		}
		delete(want, id)
		if err := s.fault(w); err != nil {
			return broken(h.path, "session %q: %v", id, err)
		}
		if s.state != nil {
			states++
		}
	}
	for id := range want {
		return broken(h.path, "there are messages of the session %q, which is not known", id)
	}
	if states != h.sessions.states {
		return broken(h.path, "%d sessions with state are counted, %d are there", h.sessions.states, states)
	}
	if err := h.sessions.fault(); err != nil {
		return broken(h.path, "%v", err)
	}
	return nil
}

// fault tells how s is not what its messages, as w has them, make of it.
func (s *session) fault(w *session) error {
	lock := s.lock
	if lock == nil {
		lock = &sessionLock{}
	}
	for _, o := range [...]struct{ have, want *order }{{&s.order, &w.order}, {&lock.locked, &w.lock.locked}} {
		if err := o.have.fault(); err != nil {
			return err
		}
		if o.have.len() != o.want.len() || o.have.ready() != o.want.ready() {
			return fmt.Errorf("%d messages, %d ready; there are %d and %d", o.have.len(), o.have.ready(), o.want.len(), o.want.ready())
		}
		for m := range o.want.from(0) {
			if o.have.at(m.Seq) != m {
				return fmt.Errorf("#%d is missing", m.Seq)
			}
		}
	}
	if m := lock.locked.last(); m != nil && m.LockedUntil != lock.until {
		return fmt.Errorf("#%d is locked until %d, the session until %d", m.Seq, m.LockedUntil, lock.until)
	}
	switch {
	case s.id != w.id || s.order.first() != w.order.first():
		return fmt.Errorf("it is %q, and another message is the first", s.id)
	case s.deferred != w.deferred || s.scheduled != w.scheduled:
		return fmt.Errorf("%d deferred and %d scheduled messages are counted, %d and %d are there", s.deferred, s.scheduled, w.deferred, w.scheduled)
	case s.empty():
		return fmt.Errorf("there is nothing to it")
	case (s.rank != 0) != (s.lock == nil && s.order.ready() > 0):
		return fmt.Errorf("its rank is %d, with %d ready", s.rank, s.order.ready())
	}
	return nil
}

// INVARIANT: available sessions stand in line by their ranks, locked ones in a heap by their
// ends, and all of them in the order of their ids.
func (ss *sessions) fault() error {
	var line int
	var before *session
	for s := ss.free.first; s != nil; before, s = s, s.next {
		if s.rank == 0 || s.rank > ss.ranks || ss.byID[s.id] != s || s.prev != before || before != nil && before.rank >= s.rank {
			return fmt.Errorf("session %q stands in line and is not available, or not in order", s.id)
		}
		line++
	}
	available := 0
	for _, s := range ss.byID {
		if s.rank != 0 {
			available++
		}
		if s.lock != nil && (s.lock.place >= len(ss.taken) || ss.taken[s.lock.place] != s) {
			return fmt.Errorf("session %q is locked, and not at its place", s.id)
		}
	}
	if line != available || line != ss.free.n || ss.free.last != before {
		return fmt.Errorf("%d sessions stand in line, %d are counted, %d are available", line, ss.free.n, available)
	}
	for i, s := range ss.taken {
		if s.lock == nil || ss.byID[s.id] != s || i > 0 && ss.taken[(i-1)/2].lock.until > s.lock.until {
			return fmt.Errorf("session %q at place %d is not locked, or not in order", s.id, i)
		}
	}
	n, last := 0, ""
	for i, c := range ss.byName.chunks {
		if len(c) == 0 || len(c) > chunkSize {
			return fmt.Errorf("chunk %d of the roll has %d", i, len(c))
		}
		for _, s := range c {
			if ss.byID[s.id] != s || n > 0 && s.id <= last {
				return fmt.Errorf("session %q is out of order", s.id)
			}
			n, last = n+1, s.id
		}
	}
	if n != len(ss.byID) {
		return fmt.Errorf("%d sessions are in order, %d are known", n, len(ss.byID))
	}
	return nil
}

// INVARIANT: a link has the session that has it; one that waits for a session
// stands in line once; and where a link could get a session or a message, the
// place is hungry and the session is to be fed.
func (ns *Namespace) checkSessionLinks(h *holder) error {
	ss := h.sessions
	waiting, impatient := 0, 0
	for l := range h.links.all(attachedLinks) {
		switch {
		case l.session != nil && (l.took == nil || ss.byID[*l.took] != l.session || l.session.lock == nil || l.session.lock.link != l):
			return broken(h.path, "link %d has the session %q, which does not have it", l.ID, l.session.id)
		case l.session == nil && !l.pending():
			return broken(h.path, "link %d neither has a session nor waits for one", l.ID)
		case l.session == nil:
			waiting++
			impatient += l.impatience()
			if !slices.Contains(ss.accepting, l) {
				return broken(h.path, "link %d waits for a session and is not in line", l.ID)
			}
		}
	}
	if !slices.IsSortedFunc(ss.accepting, func(a, b *link) int { return cmp.Compare(a.rank, b.rank) }) {
		return broken(h.path, "the links that wait for a session are not in order")
	}
	if waiting != len(ss.accepting) || impatient != ss.impatient {
		return broken(h.path, "%d links stand in line, %d of them will not wait; %d and %d should", len(ss.accepting), ss.impatient, waiting, impatient)
	}
	if waiting > 0 && (ss.free.first != nil || impatient > 0) && !h.hungry {
		return broken(h.path, "%d sessions are available, %d links wait, and nothing will bring them together", ss.free.n, waiting)
	}
	fed := map[*session]bool{}
	for s, before := ss.fed.first, (*session)(nil); s != nil; before, s = s, s.next {
		if s.lock == nil || !s.lock.fed || ss.byID[s.id] != s || s.prev != before {
			return broken(h.path, "session %q is in line and not to be fed", s.id)
		}
		fed[s] = true
	}
	if len(fed) != ss.fed.n {
		return broken(h.path, "%d sessions are to be fed, %d are counted", len(fed), ss.fed.n)
	}
	for _, s := range ss.taken {
		l := s.lock.link
		switch {
		case l != nil && (ns.links[l.ID] != l || l.session != s):
			return broken(h.path, "session %q has a link that does not have it", s.id)
		case s.lock.fed != fed[s]:
			return broken(h.path, "session %q is to be fed and not in line", s.id)
		case ns.serves(s) && (!s.lock.fed || !h.hungry):
			return broken(h.path, "session %q has messages, its link credit, and nothing will bring them together", s.id)
		}
	}
	return nil
}
