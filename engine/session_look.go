package engine

import "iter"

// Sessions lists ids as clients do, in their order: of sessions that have
// messages to be received or under way, or, if changedSince is set, of those
// whose state was set later than that. It leaves out the first skip of them, and
// stops after top (SES-12).
func (ns *Namespace) Sessions(now Instant, p Path, changedSince Instant, skip, top int) ([]string, error) {
	h, err := ns.sessionsOf(p)
	if err == nil && !h.entity.Config.Status.receives() {
		err = disabledReceive(h)
	}
	if err != nil {
		return nil, err
	}
	if skip < 0 || top <= 0 {
		return nil, refuse(ErrOutOfRange, "The number of sessions to list must be positive, not %d, and the number to skip not %d.", top, skip)
	}
	ns.touch(now, h.entity, "list sessions", "")
	var ids []string
	for s := range h.sessions.byName.from("") {
		switch {
		case changedSince == 0 && s.order.ready()+s.locked() == 0:
		case changedSince != 0 && (s.state == nil || s.state.at <= changedSince):
		case skip > 0:
			skip--
		default:
			ids = append(ids, s.id)
		}
		if len(ids) == top {
			break
		}
	}
	return ids, nil
}

// A SessionRow is a session as somebody sees who only looks.
type SessionRow struct {
	ID                                  string
	Active, Locked, Deferred, Scheduled int64
	LockedUntil                         Instant // zero: nobody holds it
	Holder                              string  // who does, as far as known
	Attached                            bool    // its receiver is there; else the lock only waits for its end
	StateSet                            bool
	StateSize                           int     // bytes
	ChangedAt                           Instant // of the state; zero: it is not set
	OldestAt                            Instant // when its first message was enqueued; zero: it has none
	NextSeq                             Seq     // of the message that its holder gets next; zero: there is none
}

// SessionRows lists sessions by their ids, without any effect, from one on and
// at most limit of them.
func (ns *Namespace) SessionRows(p Path, from string, limit int) ([]SessionRow, error) {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return nil, err
	}
	var rows []SessionRow
	for s := range h.sessions.byName.from(from) {
		if len(rows) == limit {
			break
		}
		rows = append(rows, s.row())
	}
	return rows, nil
}

// NextSessions lists the ids of the sessions that receivers get who want the
// next one, in that order, at most limit of them (SES-2). It has no effect.
func (ns *Namespace) NextSessions(p Path, limit int) ([]string, error) {
	h, err := ns.sessionsOf(p)
	if err != nil {
		return nil, err
	}
	var ids []string
	for s := h.sessions.free.first; s != nil && len(ids) < limit; s = s.next {
		ids = append(ids, s.id)
	}
	return ids, nil
}

// SessionRow is one session's; not ok if nothing is known of it.
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
		r.LockedUntil, r.Holder, r.Attached = s.lock.until, s.lock.client, s.lock.link != nil
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

// PeekSession is Peek for the messages of one session (PEEK-5). Nobody needs to
// hold it.
func (ns *Namespace) PeekSession(now Instant, p Path, id string, from Seq, count int, client string) ([]Row, error) {
	h, err := ns.sessionsOf(p)
	if err == nil {
		err = ns.admitPeek(h, count)
	}
	if err != nil {
		return nil, err
	}
	ns.touch(now, h.entity, "peek", client)
	return ns.Browse(Browse{Path: p, Session: id, From: from, Limit: min(count, int(ns.limits.PeekCount))})
}

// of is the messages of a session from a number upwards.
func (ss *sessions) of(id string, from Seq) iter.Seq[*message] {
	if s := ss.byID[id]; s != nil {
		return s.order.from(from)
	}
	return func(func(*message) bool) {}
}
