package engine

import "unicode/utf8"

// A SessionRequest says which session a receiver wants. The zero value is a
// receiver without one, and all that an entity takes that does not require
// sessions (SES-13, SES-14).
type SessionRequest struct {
	Want SessionWant
	ID   string // of a NamedSession
}

// SessionWant is how a receiver chooses its session (SES-2).
type SessionWant uint8

// The ways to choose.
const (
	NoSession    SessionWant = iota
	NamedSession             // that one, also if nobody ever sent to it
	NextSession              // the one that has waited longest of those that can be had and have messages
)

// SessionAccepted says that a link holds a session from now on.
type SessionAccepted struct {
	Link        LinkID
	Path        Path // of the place that the session is of
	ID          string
	LockedUntil Instant
}

// What clients are told about sessions.
const (
	// SessionLockLostText is for whoever does something with a session that it
	// does not hold any more (SES-6).
	SessionLockLostText = "The session lock has expired on the MessageSession. Accept a new MessageSession."
	// NoSessionIDText is for who sends without a SessionId where one is required
	// (MSG-9).
	NoSessionIDText = "The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have session support enabled can only receive messages that have the SessionId set to a valid value."
	// PlainReceiverText is for who receives without a session where one is
	// required (SES-13).
	PlainReceiverText = "It is not possible for an entity that requires sessions to create a non-sessionful message receiver."
	// SessionReceiverText is for who wants a session where there are none
	// (SES-14).
	SessionReceiverText = "A sessionful message receiver cannot be created on an entity that does not require sessions. Ensure RequiresSession is set to true when creating a Queue or Subscription to enable sessionful behavior."
	// NoSessionText is for who wanted the next session when none came in time
	// (SES-3).
	NoSessionText = "No session that has messages and is not locked came in time."
)

func sessionLockLost() error { return refuse(ErrSessionLockLost, "%s", SessionLockLostText) }

// sessionID is the session that m belongs to where there are sessions.
func (m *message) sessionID() string { return m.packed().SessionID() }

// hasSession tells whether m may be where sessions are required.
func (m *message) hasSession() bool { return m.packed().HasSessionID() }

// sessionful tells whether e requires sessions. Its dead-letter queue does not
// (DLQ-7).
func (e *entity) sessionful() bool { return e.Config.RequiresSession && e.Kind != Topic }

// withoutSession is why a message cannot be where sessions are required.
func withoutSession() *Extra {
	return &Extra{Reason: ReasonNoSession, Description: "Session enabled entity doesn't allow a message whose session identifier is null."}
}

// admitSession decides whether a receiver may be attached to h for what it
// wants.
func (ns *Namespace) admitSession(now Instant, h *holder, want SessionRequest) error {
	switch {
	case h.sessions == nil && want.Want != NoSession:
		return refuseCode(ErrNotAllowed, 40301, "%s", SessionReceiverText)
	case h.sessions != nil && want.Want == NoSession:
		return refuseCode(ErrNotAllowed, 40301, "%s", PlainReceiverText)
	case want.Want != NamedSession:
		return nil
	}
	if err := ns.checkSessionID(want.ID); err != nil {
		return err
	}
	if s := h.sessions.byID[want.ID]; s != nil && s.lock != nil && !s.lock.until.Passed(now) {
		return refuse(ErrSessionLocked, "The requested session '%s' cannot be accepted. It may be locked by another receiver.", want.ID)
	}
	return nil
}

// checkSessionID refuses what no message can have as its SessionId (SES-1).
func (ns *Namespace) checkSessionID(id string) error {
	if n := int64(utf8.RuneCountInString(id)); n > ns.limits.IDLength {
		return refuse(ErrArgument, "A SessionId has at most %d characters; this one has %d.", ns.limits.IDLength, n)
	}
	return nil
}

// grant gives a session that nobody holds to a link that has none (SES-2).
func (ns *Namespace) grant(now Instant, h *holder, l *link, id string) {
	waited := l.pending()
	s := ns.lockSession(h, id, now.Add(h.entity.Config.LockFor()), Lock{By: l.Client, Since: now})
	l.took = &s.id
	if waited {
		h.sessions.leave(l)
	}
	l.bind(s)
	ns.recount(l)
	ns.changes.note(undo{kind: undoOther, h: h, other: func() {
		l.unbind()
		l.took = nil
		if waited {
			h.sessions.await(l)
		}
		ns.recount(l)
	}})
	if waited {
		ns.touch(now, h.entity, "receive", l.Client)
	}
	ns.out.Accepted = append(ns.out.Accepted, SessionAccepted{l.ID, h.path, s.id, s.lock.until})
	ns.sessionEvent(EventSessionTaken, now, h, id, l.Client, "")
	ns.offer(h, s)
}

// lockSession is the one place where a session's lock begins, changes or ends;
// until zero ends it. Of a session that ends with it nothing is left.
func (ns *Namespace) lockSession(h *holder, id string, until Instant, l Lock) *session {
	s := h.sessions.get(id)
	var before sessionLock
	if s.lock != nil {
		before = *s.lock
	}
	stood := h.sessions.standing(id)
	ns.changes.note(undo{kind: undoOther, h: h, other: func() {
		s := h.sessions.get(id)
		h.sessions.setLock(s, before.until, before.Lock)
		ns.reschedule(h)
		ns.offer(h, s)
	}})
	h.sessions.setLock(s, until, l)
	ns.stood(h, stood)
	ns.reschedule(h)
	return s
}

// giveBack ends the lock of a session whose receiver closed: at once, and its
// messages have not failed (SES-7, DC-3).
func (ns *Namespace) giveBack(now Instant, h *holder, s *session, client string) {
	for m := range s.lock.locked.from(1) {
		ns.unlock(now, h, m, EventReleased, client)
		ns.settleDue(now, h, m)
	}
	ns.lockSession(h, s.id, 0, Lock{})
	ns.sessionEvent(EventSessionClosed, now, h, s.id, client, "")
	ns.offer(h, s)
}

// loseSession ends the lock of a session that has run out, or as if it had: its
// unsettled messages have failed once more, and its receiver is told (SES-6,
// DC-2). actor is the operator who broke it.
func (ns *Namespace) loseSession(now Instant, h *holder, s *session, actor string) *Event {
	client := s.lock.By
	if l := s.lock.link; l != nil {
		ns.quit(now, l)
		ns.out.Ended = append(ns.out.Ended, LinkEnded{l.ID, sessionLockLost(), SessionAccepted{l.ID, h.path, s.id, s.lock.until}})
	}
	for m := range s.lock.locked.from(1) {
		if !s.lock.until.Passed(now) {
			ns.unlock(now, h, m, EventLockLost, actor)
		}
		ns.settleDue(now, h, m)
	}
	ns.lockSession(h, s.id, 0, Lock{})
	if actor != "" {
		client = actor
	}
	ns.offer(h, s)
	return ns.sessionEvent(EventSessionLost, now, h, s.id, client, "")
}

// loseDue ends the session lock of h that has run out first, if one has, or
// unlocks the first limit of its messages; it returns how many changes these are.
func (ns *Namespace) loseDue(now Instant, h *holder, limit int) (done int) {
	if h.sessions == nil || !h.sessions.taken.end().Passed(now) {
		return 0
	}
	s := h.sessions.taken[0]
	for m := range s.lock.locked.from(1) {
		if done == limit {
			return done
		}
		ns.settleDue(now, h, m)
		done++
	}
	ns.loseSession(now, h, s, "")
	return done + 1
}

// holding is the session that a link holds (SES-11).
func (ns *Namespace) holding(now Instant, id LinkID) (*link, *session, error) {
	l := ns.links[id]
	switch {
	case l != nil && l.session == nil:
		return nil, nil, refuse(ErrNotAllowed, "The receiver %d holds no session.", id)
	case l == nil || l.session.lock.until.Passed(now):
		return nil, nil, sessionLockLost()
	default:
		return l, l.session, nil
	}
}

// Holds is the session that a link holds, and until when; not ok if it has none
// or is not known any more.
func (ns *Namespace) Holds(id LinkID) (a SessionAccepted, ok bool) {
	l := ns.links[id]
	if l == nil || l.session == nil {
		return a, false
	}
	return SessionAccepted{id, l.holder.path, l.session.id, l.session.lock.until}, true
}

// RenewSession sets the end of the lock that a link has on its session to a full
// period from now and returns it; the locks of its messages go with it (SES-5).
// A lock that has run out, or a link that has ended, is ErrSessionLockLost.
func (ns *Namespace) RenewSession(now Instant, id LinkID) (Instant, error) {
	l, s, err := ns.holding(now, id)
	if err != nil {
		return 0, err
	}
	ns.renewSession(now, l.holder, s, l.Client)
	return s.lock.until, nil
}

// renewSession costs the same however many messages are locked, and has one
// event that tells of all of them.
func (ns *Namespace) renewSession(now Instant, h *holder, s *session, client string) {
	ns.lockSession(h, s.id, now.Add(h.entity.Config.LockFor()), s.lock.renewed(now))
	if last := s.lock.locked.last(); last != nil {
		ns.carry(h, last)
	}
	ns.touch(now, h.entity, "renew", client)
	ns.sessionEvent(EventSessionRenewed, now, h, s.id, client, "")
}

// carry has the last message that is locked in a session have the session's
// deadline, after that or what is locked has changed; m is of that session. It
// is what the store knows of the deadline: the other messages keep the one that
// they were locked with, until they are the last.
func (ns *Namespace) carry(h *holder, m *message) {
	if h.sessions == nil {
		return
	}
	s := h.sessions.byID[m.sessionID()]
	if s == nil || s.lock == nil {
		return
	}
	if last := s.lock.locked.last(); last != nil && last.LockedUntil != s.lock.until {
		next := last.Message
		next.LockedUntil = s.lock.until
		ns.put(last, next)
	}
}

// sessionEvent notes what happened to a session.
func (ns *Namespace) sessionEvent(kind EventKind, now Instant, h *holder, id, actor, reason string) *Event {
	ns.events = append(ns.events, Event{Kind: kind, At: now, Holder: h.id, Path: h.path, Session: id, Actor: actor, Reason: reason})
	return &ns.events[len(ns.events)-1]
}
