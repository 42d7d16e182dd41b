package engine

import (
	"slices"
	"unicode/utf8"
)

// A SessionRequest selects the session that a receiver asks for. The zero value is a receiver
// without a session, the only one that an entity without sessions accepts (SES-13, SES-14).
type SessionRequest struct {
	Want SessionWant
	ID   string // the id of a NamedSession
}

// SessionWant is how a receiver chooses its session (SES-2).
type SessionWant uint8

// The ways to choose a session.
const (
	NoSession    SessionWant = iota
	NamedSession             // the session with this id, which may have no messages
	NextSession              // the available session with messages that has waited longest
)

// SessionAccepted reports that a link has locked a session.
type SessionAccepted struct {
	Link        LinkID
	Path        Path // of the session's subqueue
	ID          string
	LockedUntil Instant
}

// Error texts about sessions.
const (
	// SessionLockLostText is for an operation on a session whose lock the client has lost
	// (SES-6).
	SessionLockLostText = "The session lock has expired on the MessageSession. Accept a new MessageSession."
	// NoSessionIDText is for sending a message without a SessionId where one is required
	// (MSG-9).
	NoSessionIDText = "The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have session support enabled can only receive messages that have the SessionId set to a valid value."
	// PlainReceiverText is for a receiver without a session where one is required (SES-13).
	PlainReceiverText = "It is not possible for an entity that requires sessions to create a non-sessionful message receiver."
	// SessionReceiverText is for a session receiver at an entity without sessions (SES-14).
	SessionReceiverText = "A sessionful message receiver cannot be created on an entity that does not require sessions. Ensure RequiresSession is set to true when creating a Queue or Subscription to enable sessionful behavior."
	// NoSessionText is for a receiver that waited for the next session in vain (SES-3).
	NoSessionText = "No session with messages became available in time."
)

func sessionLockLost() error { return Refuse(ErrSessionLockLost, "%s", SessionLockLostText) }

// requiresSession reports whether e requires sessions. Its dead-letter subqueues do not (DLQ-7).
func (e *entity) requiresSession() bool { return e.Config.RequiresSession && e.Kind != Topic }

// sessionIDMissing returns the dead-letter reason of a message without a SessionId where sessions
// are required.
func sessionIDMissing() *Extra {
	return &Extra{Reason: ReasonNoSession, Description: "Session enabled entity doesn't allow a message whose session identifier is null."}
}

// admitSession checks whether a receiver may be attached to h with this request. It returns
// ErrNotAllowed if only one of h and the request is for sessions, and ErrSessionLocked if the named
// session is locked.
func (ns *Namespace) admitSession(now Instant, h *subqueue, want SessionRequest) error {
	switch {
	case h.sessions == nil && want.Want != NoSession:
		return RefuseCode(ErrNotAllowed, 40301, "%s", SessionReceiverText)
	case h.sessions != nil && want.Want == NoSession:
		return RefuseCode(ErrNotAllowed, 40301, "%s", PlainReceiverText)
	case want.Want != NamedSession:
		return nil
	}
	if err := ns.checkSessionID(want.ID); err != nil {
		return err
	}
	if s := h.sessions.byID[want.ID]; s != nil && s.lock != nil && !s.lock.until.Passed(now) {
		return Refuse(ErrSessionLocked, "The requested session '%s' cannot be accepted. It may be locked by another receiver.", want.ID)
	}
	return nil
}

// checkSessionID returns an error for an id that no message can have as its SessionId
// (SES-1).
func (ns *Namespace) checkSessionID(id string) error {
	if n := int64(utf8.RuneCountInString(id)); n > ns.limits.IDLength {
		return Refuse(ErrArgument, "A SessionId must have at most %d characters, not %d.", ns.limits.IDLength, n)
	}
	return nil
}

// acceptSession gives an unlocked session to a link without one, and locks it (SES-2).
func (ns *Namespace) acceptSession(now Instant, h *subqueue, l *link, id string) {
	waited := l.awaitsSession()
	s := ns.lockSession(h, id, now.Add(h.entity.Config.LockTime()), Lock{By: l.Client, Since: now})
	l.took = &s.id
	if waited {
		h.sessions.stopAwaiting(l)
	}
	l.bind(s)
	ns.updateWaiting(l)
	ns.changes.addUndo(undo{kind: undoOther, h: h, other: func() {
		l.unbind()
		l.took = nil
		if waited {
			h.sessions.await(l)
		}
		ns.updateWaiting(l)
	}})
	if waited {
		ns.touch(now, h.entity, "receive", l.Client)
	}
	ns.effects.Accepted = append(ns.effects.Accepted, SessionAccepted{l.ID, h.path, s.id, s.lock.until})
	ns.sessionEvent(EventSessionLocked, now, h, id, l.Client, "")
	ns.offer(h, s)
}

// lockSession begins or changes the lock of a session or, if `until` is zero, ends it, as a change
// that can be undone. A session without lock, messages and state is removed.
func (ns *Namespace) lockSession(h *subqueue, id string, until Instant, l Lock) *session {
	s := h.sessions.get(id)
	var before sessionLock
	if s.lock != nil {
		before = *s.lock
	}
	stood := h.sessions.rankOf(id)
	ns.changes.addUndo(undo{kind: undoOther, h: h, other: func() {
		s := h.sessions.get(id)
		h.sessions.setLock(s, before.until, before.Lock)
		ns.reschedule(h)
		ns.offer(h, s)
	}})
	h.sessions.setLock(s, until, l)
	ns.noteRank(h, stood)
	ns.reschedule(h)
	return s
}

// releaseSession ends the lock of a session whose receiver closed, at once. Its messages do not
// count as failed (SES-7, DC-3).
func (ns *Namespace) releaseSession(now Instant, h *subqueue, s *session, client string) {
	for m := range s.lock.locked.from(1) {
		ns.unlock(now, h, m, EventReleased, client)
		ns.applyVerdict(now, h, m)
	}
	ns.lockSession(h, s.id, 0, Lock{})
	ns.sessionEvent(EventSessionClosed, now, h, s.id, client, "")
	ns.offer(h, s)
}

// loseSession ends a session's lock because it has expired or is broken: its unsettled messages
// count a failed delivery, and its receiver is ended (SES-6, DC-2). actor is the operator who
// broke the lock, if any.
func (ns *Namespace) loseSession(now Instant, h *subqueue, s *session, actor string) *Event {
	client := s.lock.By
	if l := s.lock.link; l != nil {
		ns.endLink(now, l)
		ns.effects.Ended = append(ns.effects.Ended, LinkEnded{l.ID, sessionLockLost(), SessionAccepted{l.ID, h.path, s.id, s.lock.until}})
	}
	for m := range s.lock.locked.from(1) {
		if !s.lock.until.Passed(now) {
			ns.unlock(now, h, m, EventLockLost, actor)
		}
		ns.applyVerdict(now, h, m)
	}
	ns.lockSession(h, s.id, 0, Lock{})
	if actor != "" {
		client = actor
	}
	ns.offer(h, s)
	return ns.sessionEvent(EventSessionLost, now, h, s.id, client, "")
}

// expireSessionLocks unlocks the messages of the session of h whose lock expired first, if any, and
// then ends that lock. After limit messages it stops. It returns the number of changes.
func (ns *Namespace) expireSessionLocks(now Instant, h *subqueue, limit int) (done int) {
	if h.sessions == nil || !h.sessions.locked.end().Passed(now) {
		return 0
	}
	s := h.sessions.locked[0]
	for m := range s.lock.locked.from(1) {
		if done == limit {
			return done
		}
		ns.applyVerdict(now, h, m)
		done++
	}
	ns.loseSession(now, h, s, "")
	return done + 1
}

// sessionOfLink returns the session that a link holds (SES-11). It returns ErrNotAllowed for a link
// without a session, and ErrSessionLockLost if the lock has expired or there is no such link.
func (ns *Namespace) sessionOfLink(now Instant, id LinkID) (*link, *session, error) {
	l := ns.links[id]
	switch {
	case l != nil && l.session == nil:
		return nil, nil, Refuse(ErrNotAllowed, "The receiver %d has no session.", id)
	case l == nil || l.session.lock.until.Passed(now):
		return nil, nil, sessionLockLost()
	default:
		return l, l.session, nil
	}
}

// HeldSession returns the session that a link holds, and the end of its lock. ok is false if the
// link has no session or does not exist any more.
func (ns *Namespace) HeldSession(id LinkID) (a SessionAccepted, ok bool) {
	l := ns.links[id]
	if l == nil || l.session == nil {
		return a, false
	}
	return SessionAccepted{id, l.subqueue.path, l.session.id, l.session.lock.until}, true
}

// RenewSession sets the end of a link's session lock to a full period from now and returns
// it; the locks of the session's messages are renewed with it (SES-5). The error is
// ErrSessionLockLost if the lock has expired or the link has ended.
func (ns *Namespace) RenewSession(now Instant, id LinkID) (Instant, error) {
	l, s, err := ns.sessionOfLink(now, id)
	if err != nil {
		return 0, err
	}
	ns.renewSession(now, l.subqueue, s, l.Client)
	return s.lock.until, nil
}

// renewSession renews a session's lock and adds an event. The cost does not depend on the number of
// locked messages.
func (ns *Namespace) renewSession(now Instant, h *subqueue, s *session, client string) {
	ns.lockSession(h, s.id, now.Add(h.entity.Config.LockTime()), s.lock.renewed(now))
	if last := s.lock.locked.last(); last != nil {
		ns.alignSessionDeadline(h, last)
	}
	ns.touch(now, h.entity, "renew", client)
	ns.sessionEvent(EventSessionRenewed, now, h, s.id, client, "")
}

// alignSessionDeadline gives the last locked message of m's session the session's deadline, after
// the deadline or the locked messages have changed. This is how the deadline is stored: the other
// messages keep the one that they were locked with, until they are the last.
func (ns *Namespace) alignSessionDeadline(h *subqueue, m *message) {
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

// sessionEvent adds an event about a session.
func (ns *Namespace) sessionEvent(kind EventKind, now Instant, h *subqueue, id, actor, reason string) *Event {
	ns.events = append(ns.events, Event{Kind: kind, At: now, Subqueue: h.id, Path: h.path, Session: id, Actor: actor, Reason: reason})
	return &ns.events[len(ns.events)-1]
}

// The rest of this file connects links and sessions: it decides which link gets which session, and
// delivers a session's messages to its link. The cost does not depend on the number of idle
// links, because waiting links are in lists of their own.

// enlist binds l to the session that it got before, or adds it to the links that wait for a session;
// delist undoes this.
func (ns *Namespace) enlist(l *link) {
	ss := l.subqueue.sessions
	switch {
	case ss == nil:
	case l.took != nil:
		l.bind(ss.byID[*l.took])
		ns.offer(l.subqueue, l.session)
	case l.awaitsSession():
		ss.await(l)
		ns.requestMatch(l.subqueue)
	}
}

func (ns *Namespace) delist(l *link) {
	switch {
	case l.session != nil:
		l.unbind()
	case l.awaitsSession():
		l.subqueue.sessions.stopAwaiting(l)
	}
}

// await adds l to the links waiting for the next session: at the end, or at its former
// position if a step is undone.
func (ss *sessions) await(l *link) {
	if l.rank == 0 {
		l.rank = ss.nextRank()
	}
	at := len(ss.accepting)
	for at > 0 && ss.accepting[at-1].rank > l.rank {
		at--
	}
	ss.accepting = slices.Insert(ss.accepting, at, l)
	ss.noWait += l.noWaitCount()
}

// stopAwaiting undoes await.
func (ss *sessions) stopAwaiting(l *link) {
	ss.noWait -= l.noWaitCount()
	if ss.accepting[0] == l { // the usual case
		ss.accepting[0] = nil
		ss.accepting = ss.accepting[1:]
		return
	}
	ss.accepting = slices.DeleteFunc(ss.accepting, func(o *link) bool { return o == l })
}

// offer requests a match if s is available and links wait for a session, or if the link that holds s
// could get a message. In the latter case it also adds s to the sessions to serve.
func (ns *Namespace) offer(h *subqueue, s *session) {
	switch {
	case s.rank != 0:
		if len(h.sessions.accepting) > 0 {
			ns.requestMatch(h)
		}
	case ns.canServeSession(s):
		h.sessions.addToServe(s)
		ns.requestMatch(h)
	}
}

// canServeSession reports whether the receiver that holds s could get a message. A receiver with
// Limits.SessionLocks locked messages must settle some first, so that ending a session's lock
// never unlocks more than that.
func (ns *Namespace) canServeSession(s *session) bool {
	if s.lock == nil || s.lock.link == nil || s.order.ready() == 0 {
		return false
	}
	l := s.lock.link
	return l.credit > 0 && (l.Mode == ReceiveAndDelete || ns.lockCapacity(s) > 0)
}

// lockCapacity returns how many more messages of a session may be locked.
func (ns *Namespace) lockCapacity(s *session) int64 {
	return ns.limits.SessionLocks - int64(s.locked())
}

// offerSessionOf calls offer for the session of m, after m was unlocked or removed.
func (ns *Namespace) offerSessionOf(h *subqueue, m *message) {
	if h.sessions == nil {
		return
	}
	if s := h.sessions.byID[m.sessionID()]; s != nil {
		ns.offer(h, s)
	}
}

// matchSessions is Match for one subqueue with sessions: it gives sessions to waiting links, delivers
// messages to links with sessions, and ends the links with NoWait that got no session.
func (ns *Namespace) matchSessions(now Instant, h *subqueue, most int) {
	if !ns.catchUp(now, h) {
		ns.requestMatch(h)
		return
	}
	if ns.acceptNext(now, h) && ns.serveSessions(now, h, most) && h.sessions.noWait > 0 {
		for _, l := range slices.Clone(h.sessions.accepting) {
			if l.NoWait { // SES-3
				ns.endLink(now, l)
				ns.effects.Ended = append(ns.effects.Ended, LinkEnded{ID: l.ID, Err: Refuse(ErrTimeout, "%s", NoSessionText)})
			}
		}
	}
}

// acceptNext gives available sessions to the links that wait for one, both in order, and
// reports whether it finished. A session whose ready messages have all expired is not
// available.
func (ns *Namespace) acceptNext(now Instant, h *subqueue) (all bool) {
	ss := h.sessions
	for looked := 0; len(ss.accepting) > 0 && ss.available.first != nil; looked++ {
		if looked == maxDuePerStep {
			ns.requestMatch(h)
			return false
		}
		s := ss.available.first
		if ns.applyVerdict(now, h, s.order.first()) {
			ns.acceptSession(now, h, ss.accepting[0], s.id)
		}
	}
	return true
}

// serveSessions serves the links that hold sessions with ready messages, one message to each
// in rotation, until `most` deliveries wait to be flushed; it reports whether it finished.
func (ns *Namespace) serveSessions(now Instant, h *subqueue, most int) (all bool) {
	ss := h.sessions
	for looked := 0; ss.toServe.first != nil; looked++ {
		if len(ns.effects.Deliveries) >= most || looked == maxDuePerStep+maxDeliveriesPerStep {
			ns.requestMatch(h)
			return false
		}
		s := ss.toServe.first
		ss.removeToServe(s)
		if !ns.canServeSession(s) {
			continue
		}
		if m := s.order.first(); ns.applyVerdict(now, h, m) {
			ns.deliverToLink(now, h, s.lock.link, m)
		}
		if ns.canServeSession(s) {
			ss.addToServe(s)
		}
	}
	return true
}

// A sessionWatch records when watched sessions get a message that can be received. Receivers
// whose session's lock has expired watch that session: see [Namespace.WatchSession]. The zero
// value watches nothing. A nil *sessionWatch ignores calls of note.
type sessionWatch struct {
	watched map[watchedSession]bool
	changed []watchedSession // since the last call of WatchedSessionsAvailable
}

type watchedSession struct {
	path Path
	id   string
}

// note records, if the session is watched, that a message of it can be received.
func (w *sessionWatch) note(h *subqueue, id string) {
	if w == nil || len(w.watched) == 0 {
		return
	}
	if at := (watchedSession{h.path, id}); w.watched[at] {
		w.changed = append(w.changed, at)
	}
}

// noteAll records that the watched sessions of h changed, because h ends all its links.
func (w *sessionWatch) noteAll(h *subqueue) {
	for at := range w.watched {
		if at.path == h.path {
			w.changed = append(w.changed, at)
		}
	}
}

// WatchSession makes WatchedSessionsAvailable report a session as soon as a message of it can be
// received while no receiver holds it, or when its entity is deleted or rejects receivers
// (SES-20). Messages that are ready when the watch begins are not reported: the caller checks the
// session itself. p must be the Path of the [SessionAccepted].
func (ns *Namespace) WatchSession(p Path, id string) {
	if ns.watch.watched == nil {
		ns.watch.watched = map[watchedSession]bool{}
	}
	at := watchedSession{p, id}
	ns.watch.watched[at] = true
	if _, err := ns.attachTo(p); err != nil {
		ns.watch.changed = append(ns.watch.changed, at)
	}
}

// UnwatchSession stops watching a session.
func (ns *Namespace) UnwatchSession(p Path, id string) {
	delete(ns.watch.watched, watchedSession{p, id})
}

// WatchedSessionsAvailable returns the watched sessions that got a message to receive since the
// last call, or whose entity was deleted or rejects receivers. A session may be listed twice. A
// session whose first ready message has expired is returned once that message has been removed
// and another one can be received.
func (ns *Namespace) WatchedSessionsAvailable(now Instant) (all []SessionAccepted) {
	for _, at := range ns.watch.changed {
		if !ns.watch.watched[at] {
			continue
		}
		if is, err := ns.SessionAvailable(now, at.path, at.id); is || err != nil {
			all = append(all, SessionAccepted{Path: at.path, ID: at.id})
		}
	}
	ns.watch.changed = nil
	return all
}

// SessionAvailable reports whether a session has a message that its next receiver would get. It
// checks only the first ready message. It returns an error if the session's entity was deleted or
// rejects receivers. It has no effect.
func (ns *Namespace) SessionAvailable(now Instant, p Path, id string) (bool, error) {
	h, err := ns.attachTo(p)
	if err != nil {
		return false, err
	}
	if h.sessions == nil {
		return true, nil // there is nothing to wait for
	}
	s := h.sessions.byID[id]
	return s != nil && s.rank != 0 && Judge(h.terms, h.withSessionLock(s.order.first()), now) == Keep, nil
}
