package engine

// A SessionList lists ids as clients do, in their order (SES-12). It is done in
// slices; a session that comes or goes meanwhile may be in it or not.
type SessionList struct {
	Path         Path
	ChangedSince Instant // those whose state was set later; zero: those with messages to be received or under way, or a state (sdk-demands 12)
	Skip         int     // how many of them to leave out at the beginning; counted down
	Top          int     // how many to list at most; more than 1,000 are not listed, whatever it says

	IDs  []string // listed so far
	From string   // where the next slice begins
	Done bool
}

// maxListed is how many ids one list has at most: who wants more asks again, and
// leaves these out.
const maxListed = 1000

// ListSessions looks at up to limit more sessions and moves l on.
func (ns *Namespace) ListSessions(now Instant, l *SessionList, limit int) error {
	h, err := ns.sessionsOf(l.Path)
	if err == nil && !h.entity.Config.Status.receives() {
		err = disabledReceive(h)
	}
	if err != nil {
		return err
	}
	if l.Skip < 0 || l.Top <= 0 {
		return refuse(ErrOutOfRange, "The number of sessions to list must be positive, not %d, and the number to skip not %d.", l.Top, l.Skip)
	}
	ns.touch(now, h.entity, "list sessions", "")
	looked := 0
	l.Done = true
	for s := range h.sessions.byName.from(l.From) {
		if len(l.IDs) >= min(l.Top, maxListed) {
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

// A SessionRow is a session as somebody sees who only looks.
type SessionRow struct {
	ID                                  string
	Active, Locked, Deferred, Scheduled int64
	LockedUntil                         Instant // zero: nobody holds it
	Lock                                Lock    // what is known of how it is held
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

// PeekSession is Peek for the messages of one session (PEEK-5). Nobody needs to
// hold it.
func (ns *Namespace) PeekSession(now Instant, p Path, id string, from Seq, count int, client string) ([]Row, error) {
	return ns.PeekOf(now, Browse{Path: p, Session: &id, From: from, Limit: count}, client)
}

// orders are the messages of a session, and the locked ones again.
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
