package engine

import (
	"crypto/sha256"
	"encoding/hex"

	"mayfly/engine/shorten"
)

// SessionState returns the state of the session that a link holds; set is false if it was
// never set or was cleared (SES-11).
func (ns *Namespace) SessionState(now Instant, id LinkID) (state string, set bool, err error) {
	l, s, err := ns.sessionOfLink(now, id)
	if err != nil {
		return "", false, err
	}
	ns.touch(now, l.subqueue.entity, "session state", l.Client)
	if s.state == nil {
		return "", false, nil
	}
	return s.state.text, true, nil
}

// SetSessionState sets the state of the session that a link holds, opaque bytes; nil clears
// it. It counts against the size of the entity, and outlives the session's messages (SES-11).
func (ns *Namespace) SetSessionState(now Instant, id LinkID, state *string) error {
	l, s, err := ns.sessionOfLink(now, id)
	if err != nil {
		return err
	}
	if err := ns.admitState(l.subqueue, s.id, state); err != nil {
		return err
	}
	ns.touch(now, l.subqueue.entity, "session state", l.Client)
	if state != nil || s.state != nil {
		ns.changeSessionState(now, l.subqueue, s.id, state, l.Client)
	}
	return nil
}

// admitState checks whether a session of h may have this state.
func (ns *Namespace) admitState(h *subqueue, id string, state *string) error {
	if state == nil {
		return nil
	}
	t := h.sizer
	next := &sessionState{text: *state}
	charge, memory := t.chargeState(next), t.state(next)
	if s := h.sessions.byID[id]; s != nil && s.state != nil {
		charge -= t.chargeState(s.state)
		memory -= t.state(s.state)
	} else if n := h.sessions.states; int64(n) >= ns.limits.SessionStates {
		return RefuseCode(ErrQuota, 40300, "'%s' already has %d sessions with state, the maximum. Clear the state of one first.", h.path, n)
	}
	if n := int64(len(*state)); n > ns.limits.SessionStateSize {
		return RefuseCode(ErrTooLarge, 40300, "The state of the session has %d bytes; the maximum is %d.", n, ns.limits.SessionStateSize)
	}
	return ns.admitSpace(h.entity, requiredSpace{charge: charge, memory: memory})
}

// changeSessionState sets or clears a session's state and adds an event.
func (ns *Namespace) changeSessionState(now Instant, h *subqueue, id string, state *string, actor string) *Event {
	what := "cleared"
	var next *sessionState
	if state != nil {
		what = "set"
		next = &sessionState{text: *state, at: now}
	}
	var before *sessionState
	if s := h.sessions.byID[id]; s != nil {
		before = s.state
	}
	ns.changes.addUndo(undo{kind: undoOther, h: h, other: func() { ns.putState(h, id, before) }})
	ns.putState(h, id, next)
	ns.changes.hard = true
	return ns.sessionEvent(EventSessionState, now, h, id, actor, what)
}

// putState sets a session's state, or clears it if next is nil, and marks it to be stored.
func (ns *Namespace) putState(h *subqueue, id string, next *sessionState) {
	h.setState(id, next)
	ns.changes.sessions[SessionID{h.id, id}] = struct{}{}
}

func (h *subqueue) setState(id string, next *sessionState) {
	s := h.sessions.get(id)
	by, charge := 0, -h.sizer.chargeState(s.state)
	h.account.add(-h.sizer.state(s.state))
	if s.state != nil {
		by -= len(s.state.text)
		h.sessions.states--
	}
	if s.state = next; next != nil {
		by += len(next.text)
		h.sessions.states++
	}
	h.account.add(h.sizer.state(next))
	h.resize(int64(by), charge+h.sizer.chargeState(next))
	h.sessions.update(s)
}

// storedSession returns the record of a session; ok is false if there is none.
func (ns *Namespace) storedSession(id SessionID) (r SessionRecord, ok bool) {
	h := ns.subqueues[id.Subqueue]
	if h == nil || h.sessions == nil {
		return r, false
	}
	s := h.sessions.byID[id.ID]
	if s == nil || s.state == nil {
		return r, false
	}
	return SessionRecord{Subqueue: id.Subqueue, ID: s.id, State: s.state.text, ChangedAt: s.state.at}, true
}

// sessionsOf returns the subqueue p for callers that view or change its sessions by id. It returns
// ErrNotAllowed if the subqueue has no sessions.
func (ns *Namespace) sessionsOf(p Path) (*subqueue, error) {
	h, err := ns.receivable(p)
	if err != nil {
		return nil, err
	}
	if h.sessions == nil {
		return nil, Refuse(ErrNotAllowed, "'%s' has no sessions: RequiresSession is false.", h.path)
	}
	return h, nil
}

// BreakSession ends the lock of a session as if it expired now: its unsettled messages count
// a failed delivery, its receiver is ended, and others can lock it (OPS-6).
func (ns *Namespace) BreakSession(now Instant, p Path, id, actor string) error {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return err
	}
	s := h.sessions.byID[id]
	if s == nil || s.lock == nil || s.lock.until.Passed(now) {
		return Refuse(ErrNotAllowed, "The session '%s' in '%s' is not locked.", shorten.To(id, 128), h.path)
	}
	ns.touch(now, h.entity, "break lock", actor)
	ns.audit(ns.loseSession(now, h, s, actor))
	return nil
}

// A SessionStateTag identifies a session's state in few characters: different states have different
// tags. No state has the zero tag.
type SessionStateTag string

// TagSessionState returns the tag of a state, which is nil if not set.
func TagSessionState(state *string) SessionStateTag {
	if state == nil {
		return "none"
	}
	sum := sha256.Sum256([]byte(*state))
	return SessionStateTag(hex.EncodeToString(sum[:8]))
}

// SetSessionStateAt sets a session's state even if it is locked or has no messages; nil clears it
// (OPS-11).
func (ns *Namespace) SetSessionStateAt(now Instant, p Path, id string, state *string, actor string) error {
	h, err := ns.subqueueForState(p, id)
	if err != nil {
		return err
	}
	return ns.setSessionStateAt(now, h, id, state, actor)
}

// SetSessionStateIf is SetSessionStateAt if the state still has the tag that the caller saw.
// Otherwise it returns ErrChanged.
func (ns *Namespace) SetSessionStateIf(now Instant, p Path, id string, seen SessionStateTag, state *string, actor string) error {
	h, err := ns.subqueueForState(p, id)
	if err != nil {
		return err
	}
	var have *string
	if s := h.sessions.byID[id]; s != nil && s.state != nil {
		have = &s.state.text
	}
	if seen != TagSessionState(have) {
		return Refuse(ErrChanged, "The state of the session '%s' has changed since it was read. Nothing was changed. Reload it and try again.", id)
	}
	return ns.setSessionStateAt(now, h, id, state, actor)
}

// subqueueForState returns the subqueue of a session whose state is to be set; the session may not
// exist yet.
func (ns *Namespace) subqueueForState(p Path, id string) (*subqueue, error) {
	h, err := ns.sessionsOf(p)
	if err == nil {
		err = ns.checkSessionID(id)
	}
	return h, err
}

func (ns *Namespace) setSessionStateAt(now Instant, h *subqueue, id string, state *string, actor string) error {
	if err := ns.admitState(h, id, state); err != nil {
		return err
	}
	ns.touch(now, h.entity, "session state", actor)
	ns.audit(ns.changeSessionState(now, h, id, state, actor))
	return nil
}

// SessionStateAt returns a session's state without any effect; set is false if it is not set.
func (ns *Namespace) SessionStateAt(p Path, id string) (state string, set bool, err error) {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return "", false, err
	}
	if s := h.sessions.byID[id]; s != nil && s.state != nil {
		return s.state.text, true, nil
	}
	return "", false, nil
}

// A SessionList lists session ids for clients, in id order (SES-12). Call
// ListSessions until Done. A session that is added or removed meanwhile may be included or not.
type SessionList struct {
	Path         Path
	ChangedSince Instant // only sessions whose state was set later; zero for those with ready or locked messages, or a state
	Skip         int     // how many sessions to skip at the beginning; counted down
	Top          int     // how many to list at most; never more than maxSessionsListed

	IDs  []string // listed so far
	From string   // the id from which ListSessions continues
	Done bool
}

// maxSessionsListed is the maximum number of ids in one list. To get more, the client requests
// another list that skips these.
const maxSessionsListed = 1000

// ListSessions examines up to limit more sessions and advances l.
func (ns *Namespace) ListSessions(now Instant, l *SessionList, limit int) error {
	h, err := ns.sessionsOf(l.Path)
	if err == nil && !h.entity.Config.Status.receives() {
		err = receiveDisabled(h)
	}
	if err != nil {
		return err
	}
	if l.Skip < 0 || l.Top <= 0 {
		return Refuse(ErrOutOfRange, "The number of sessions to list must be positive, not %d, and the number to skip must be 0 or more, not %d.", l.Top, l.Skip)
	}
	ns.touch(now, h.entity, "list sessions", "")
	looked := 0
	l.Done = true
	for s := range h.sessions.sorted.from(l.From) {
		if len(l.IDs) >= min(l.Top, maxSessionsListed) {
			break
		}
		if looked++; looked > limit {
			l.From, l.Done = s.id, false
			break
		}
		switch {
		case l.ChangedSince == 0 && s.order.ready()+s.locked() == 0 && s.state == nil:
		case l.ChangedSince != 0 && (s.state == nil || s.state.at <= l.ChangedSince):
		case l.Skip > 0:
			l.Skip--
		default:
			l.IDs = append(l.IDs, s.id)
		}
	}
	return nil
}

// A SessionRow is a session as browsing shows it.
type SessionRow struct {
	ID                                  string
	Active, Locked, Deferred, Scheduled int64
	LockedUntil                         Instant // zero if not locked
	Lock                                Lock    // details of the lock
	Attached                            bool    // its receiver is attached; otherwise the lock stays until it expires
	StateSet                            bool
	StateSize                           int     // bytes
	ChangedAt                           Instant // when the state was set; zero if there is none
	OldestAt                            Instant // when its first message was enqueued; zero if it has none
	NextSeq                             Seq     // the number of the message to be received next; zero if there is none
}

// SessionRows lists up to limit sessions in id order, starting at from. It has no effect.
func (ns *Namespace) SessionRows(p Path, from string, limit int) ([]SessionRow, error) {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return nil, err
	}
	var rows []SessionRow
	for s := range h.sessions.sorted.from(from) {
		if len(rows) == limit {
			break
		}
		rows = append(rows, s.row())
	}
	return rows, nil
}

// AvailableSessions lists up to limit ids of the sessions that receivers asking for the next one
// will get, in that order (SES-2). It has no effect.
func (ns *Namespace) AvailableSessions(p Path, limit int) ([]string, error) {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return nil, err
	}
	var ids []string
	for s := h.sessions.available.first; s != nil && len(ids) < limit; s = s.next {
		ids = append(ids, s.id)
	}
	return ids, nil
}

// SessionRow returns one session; ok is false if it does not exist.
func (ns *Namespace) SessionRow(p Path, id string) (r SessionRow, ok bool, err error) {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return r, false, err
	}
	if s := h.sessions.byID[id]; s != nil {
		return s.row(), true, nil
	}
	return r, false, nil
}

func (s *session) row() SessionRow {
	r := SessionRow{ID: s.id, Active: int64(s.order.ready()), Locked: int64(s.locked()), Deferred: int64(s.deferred), Scheduled: int64(s.scheduled)}
	if s.lock != nil {
		r.LockedUntil, r.Lock, r.Attached = s.lock.until, s.lock.Lock, s.lock.link != nil
	}
	if s.state != nil {
		r.StateSet, r.StateSize, r.ChangedAt = true, len(s.state.text), s.state.at
	}
	for m := range s.order.from(1) {
		r.OldestAt = m.EnqueuedAt
		break
	}
	if m := s.order.first(); m != nil {
		r.NextSeq = m.Seq
	}
	return r
}

// PeekSession is Peek for the messages of one session (PEEK-5). It needs no lock of the
// session.
func (ns *Namespace) PeekSession(now Instant, p Path, id string, from Seq, count int, client string) ([]Row, error) {
	return ns.PeekFiltered(now, Browse{Path: p, Session: &id, From: from, Limit: count}, client)
}

// orders returns the messages of a session, and the locked ones among them.
func (ss *sessions) orders(id string) (all, locked *order) {
	s := ss.byID[id]
	switch {
	case s == nil:
		return &order{}, &order{}
	case s.lock == nil:
		return &s.order, &order{}
	default:
		return &s.order, &s.lock.locked
	}
}
