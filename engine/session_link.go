package engine

import "slices"

// This file is how links and sessions come together: which link gets which
// session, and which session's messages go to its link. What is done for one of
// them does not take longer the more links are idle: those that want something
// stand in lists of their own.

// pending tells whether l waits for its session. That keeps its entity from
// being idle, as credit does (IDLE-8).
func (l *link) pending() bool { return l.Session.Want == NextSession && l.took == nil }

// impatience is what l adds to sessions.impatient while it is pending.
func (l *link) impatience() int {
	if l.NoWait {
		return 1
	}
	return 0
}

func (l *link) bind(s *session) { l.session, s.lock.link = s, l }

func (l *link) unbind() { l.session.lock.link, l.session = nil, nil }

// enlist has a link that joins its place's sessions be where it belongs there,
// and delist takes it away.
func (ns *Namespace) enlist(l *link) {
	ss := l.holder.sessions
	switch {
	case ss == nil:
	case l.took != nil:
		l.bind(ss.byID[*l.took])
		ns.offer(l.holder, l.session)
	case l.pending():
		ss.await(l)
		ns.feed(l.holder)
	}
}

func (ns *Namespace) delist(l *link) {
	switch {
	case l.session != nil:
		l.unbind()
	case l.pending():
		l.holder.sessions.leave(l)
	}
}

// await has l wait for the next session: behind those that wait, or where it
// waited before a step that is undone.
func (ss *sessions) await(l *link) {
	if l.rank == 0 {
		l.rank = ss.nextRank()
	}
	at := len(ss.accepting)
	for at > 0 && ss.accepting[at-1].rank > l.rank {
		at--
	}
	ss.accepting = slices.Insert(ss.accepting, at, l)
	ss.impatient += l.impatience()
}

// leave is await taken back.
func (ss *sessions) leave(l *link) {
	ss.impatient -= l.impatience()
	if ss.accepting[0] == l { // mostly
		ss.accepting[0] = nil
		ss.accepting = ss.accepting[1:]
		return
	}
	ss.accepting = slices.DeleteFunc(ss.accepting, func(o *link) bool { return o == l })
}

// offer has s looked at by the next Match if a link may get it, or something of
// it.
func (ns *Namespace) offer(h *holder, s *session) {
	switch {
	case s.rank != 0:
		if len(h.sessions.accepting) > 0 {
			ns.feed(h)
		}
	case ns.serves(s):
		h.sessions.feed(s)
		ns.feed(h)
	}
}

// serves tells whether the receiver that holds s could be given a message of it:
// whoever has as many locked as it may have (Limits.SessionLocks) settles some
// first. So what ends a session's lock has no more than these to unlock.
func (ns *Namespace) serves(s *session) bool {
	if s.lock == nil || s.lock.link == nil || s.order.ready() == 0 {
		return false
	}
	l := s.lock.link
	return l.credit > 0 && (l.Mode == ReceiveAndDelete || ns.room(s) > 0)
}

// room is how many more messages of a session may be locked.
func (ns *Namespace) room(s *session) int64 { return ns.limits.SessionLocks - int64(s.locked()) }

// makeRoom follows that m may be locked in its session no longer.
func (ns *Namespace) makeRoom(h *holder, m *message) {
	if h.sessions == nil {
		return
	}
	if s := h.sessions.byID[m.sessionID()]; s != nil {
		ns.offer(h, s)
	}
}

// matchSessions is Match for one place with sessions.
func (ns *Namespace) matchSessions(now Instant, h *holder, most int) {
	if !ns.catchUp(now, h) {
		ns.feed(h)
		return
	}
	if ns.acceptNext(now, h) && ns.feedSessions(now, h, most) && h.sessions.impatient > 0 {
		for _, l := range slices.Clone(h.sessions.accepting) {
			if l.NoWait { // SES-3
				ns.quit(now, l)
				ns.out.Ended = append(ns.out.Ended, LinkEnded{ID: l.ID, Err: refuse(ErrTimeout, "%s", NoSessionText)})
			}
		}
	}
}

// acceptNext gives available sessions to the links that wait for one, both in
// their order, and tells whether it came to an end. A session whose ready
// messages have all expired is not available.
func (ns *Namespace) acceptNext(now Instant, h *holder) (all bool) {
	ss := h.sessions
	for looked := 0; len(ss.accepting) > 0 && ss.free.first != nil; looked++ {
		if looked == maxDueInStep {
			ns.feed(h)
			return false
		}
		s := ss.free.first
		if ns.settleDue(now, h, s.order.first()) {
			ns.grant(now, h, ss.accepting[0], s.id)
		}
	}
	return true
}

// feedSessions serves the links that hold sessions with ready messages, one
// message to each in rotation, until most deliveries wait to be flushed; it
// tells whether it came to an end.
func (ns *Namespace) feedSessions(now Instant, h *holder, most int) (all bool) {
	ss := h.sessions
	for looked := 0; ss.fed.first != nil; looked++ {
		if len(ns.out.Deliveries) >= most || looked == maxDueInStep+maxHandedOut {
			ns.feed(h)
			return false
		}
		s := ss.fed.first
		ss.unfeed(s)
		if !ns.serves(s) {
			continue
		}
		if m := s.order.first(); ns.settleDue(now, h, m) {
			ns.handOut(now, h, s.lock.link, m)
		}
		if ns.serves(s) {
			ss.feed(s)
		}
	}
	return true
}
