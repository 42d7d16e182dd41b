package engine

import (
	"crypto/sha256"
	"encoding/hex"
)

// SessionState is the state of the session that a link holds; not set if it was
// never set or was cleared (SES-11).
func (ns *Namespace) SessionState(now Instant, id LinkID) (state string, set bool, err error) {
	l, s, err := ns.holding(now, id)
	if err != nil {
		return "", false, err
	}
	ns.touch(now, l.holder.entity, "session state", l.Client)
	if s.state == nil {
		return "", false, nil
	}
	return s.state.text, true, nil
}

// SetSessionState sets the state of the session that a link holds, opaque bytes;
// nil clears it. It counts against the size of the entity, and stays when the
// messages are gone (SES-11).
func (ns *Namespace) SetSessionState(now Instant, id LinkID, state *string) error {
	l, s, err := ns.holding(now, id)
	if err != nil {
		return err
	}
	if err := ns.admitState(l.holder, s.id, state); err != nil {
		return err
	}
	ns.touch(now, l.holder.entity, "session state", l.Client)
	if state != nil || s.state != nil {
		ns.stateSet(now, l.holder, s.id, state, l.Client)
	}
	return nil
}

// admitState decides whether a session of h may be given such state.
func (ns *Namespace) admitState(h *holder, id string, state *string) error {
	if state == nil {
		return nil
	}
	had := int64(0)
	if s := h.sessions.byID[id]; s != nil && s.state != nil {
		had = int64(len(s.state.text))
	} else if n := h.sessions.states; int64(n) >= ns.limits.SessionStates {
		return refuseCode(ErrQuota, 40300, "'%s' has %d sessions with state, which is the most it may have.", h.path, n)
	}
	if n := int64(len(*state)); n > ns.limits.SessionStateSize {
		return refuseCode(ErrTooLarge, 40300, "The state of the session has %d bytes; %d are allowed.", n, ns.limits.SessionStateSize)
	}
	return ns.full(h.entity, int64(len(*state))-had)
}

// stateSet sets or clears a session's state and tells of it.
func (ns *Namespace) stateSet(now Instant, h *holder, id string, state *string, actor string) *Event {
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
	ns.changes.note(undo{kind: undoOther, h: h, other: func() { ns.putState(h, id, before) }})
	ns.putState(h, id, next)
	ns.changes.hard = true
	return ns.sessionEvent(EventSessionState, now, h, id, actor, what)
}

// putState is the one place where a session's state changes.
func (ns *Namespace) putState(h *holder, id string, next *sessionState) {
	h.setState(id, next)
	ns.changes.sessions[SessionID{h.id, id}] = struct{}{}
}

func (h *holder) setState(id string, next *sessionState) {
	s := h.sessions.get(id)
	by := 0
	if s.state != nil {
		by -= len(s.state.text)
		h.sessions.states--
	}
	if s.state = next; next != nil {
		by += len(next.text)
		h.sessions.states++
	}
	h.resize(int64(by))
	h.sessions.review(s)
}

// stored is what is remembered of a session; not ok if that is nothing.
func (ns *Namespace) storedSession(id SessionID) (r Session, ok bool) {
	h := ns.holders[id.Holder]
	if h == nil || h.sessions == nil {
		return r, false
	}
	s := h.sessions.byID[id.ID]
	if s == nil || s.state == nil {
		return r, false
	}
	return Session{Holder: id.Holder, ID: s.id, State: s.state.text, ChangedAt: s.state.at}, true
}

// sessionsOf is where the sessions of p are, for those who look at them or
// change them by path and id.
func (ns *Namespace) sessionsOf(p Path) (*holder, error) {
	h, err := ns.receivable(p)
	if err != nil {
		return nil, err
	}
	if h.sessions == nil {
		return nil, refuse(ErrNotAllowed, "'%s' does not require sessions, so it has none.", h.path)
	}
	return h, nil
}

// BreakSession ends the lock of a session as if it had run out now: its unsettled
// messages have failed once more, its receiver is told, and others can have it
// (OPS-6).
func (ns *Namespace) BreakSession(now Instant, p Path, id, actor string) error {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return err
	}
	s := h.sessions.byID[id]
	if s == nil || s.lock == nil || s.lock.until.Passed(now) {
		return refuse(ErrNotAllowed, "The session '%s' in '%s' is not locked.", cut(id, 128), h.path)
	}
	ns.touch(now, h.entity, "break lock", actor)
	ns.audit(ns.loseSession(now, h, s, actor))
	return nil
}

// A StateTag is what a session's state is called in few characters: another state
// has another one. Nothing has the zero tag.
type StateTag string

// TagState is the tag of a state, nil if none is set.
func TagState(state *string) StateTag {
	if state == nil {
		return "none"
	}
	sum := sha256.Sum256([]byte(*state))
	return StateTag(hex.EncodeToString(sum[:8]))
}

// SetStateFor sets a session's state whoever holds it, and whether or not it has
// messages; nil clears it (OPS-11).
func (ns *Namespace) SetStateFor(now Instant, p Path, id string, state *string, actor string) error {
	h, err := ns.stateful(p, id)
	if err != nil {
		return err
	}
	return ns.setStateFor(now, h, id, state, actor)
}

// SetStateIf is SetStateFor for somebody who has seen the state that has this tag:
// if it is another by now, that is ErrChanged.
func (ns *Namespace) SetStateIf(now Instant, p Path, id string, seen StateTag, state *string, actor string) error {
	h, err := ns.stateful(p, id)
	if err != nil {
		return err
	}
	var have *string
	if s := h.sessions.byID[id]; s != nil && s.state != nil {
		have = &s.state.text
	}
	if seen != TagState(have) {
		return refuse(ErrChanged, "The state of the session '%s' is not the one that was seen. Nothing was changed.", id)
	}
	return ns.setStateFor(now, h, id, state, actor)
}

// stateful is where a session is whose state is to be set, there or not.
func (ns *Namespace) stateful(p Path, id string) (*holder, error) {
	h, err := ns.sessionsOf(p)
	if err == nil {
		err = ns.checkSessionID(id)
	}
	return h, err
}

func (ns *Namespace) setStateFor(now Instant, h *holder, id string, state *string, actor string) error {
	if err := ns.admitState(h, id, state); err != nil {
		return err
	}
	ns.touch(now, h.entity, "session state", actor)
	ns.audit(ns.stateSet(now, h, id, state, actor))
	return nil
}

// StateOf is a session's state for somebody who only looks.
func (ns *Namespace) StateOf(p Path, id string) (state string, set bool, err error) {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return "", false, err
	}
	if s := h.sessions.byID[id]; s != nil && s.state != nil {
		return s.state.text, true, nil
	}
	return "", false, nil
}
