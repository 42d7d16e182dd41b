package engine

// take hands m out: under a lock, or for good.
func (ns *Namespace) take(now Instant, h *holder, m *message, mode Mode, client string) Delivery {
	m.content.pins++
	ns.changes.note(undo{kind: undoPin, pin: m.content})
	d := Delivery{Path: h.path, Content: m.packed(), Expires: h.terms.ExpiresAt(m.Message), Body: ns.changes.bodies[m.content], Pin: Pin{m.content}}
	if mode == ReceiveAndDelete {
		d.Message, d.Deleted = m.Message, true
		ns.drop(m)
		ns.changes.hard = true
		ns.event(EventReceived, now, m, h, client, "")
		return d
	}
	next := m.Message
	if next.LockedUntil = now.Add(h.entity.Config.LockFor()); h.sessions != nil { // LOCK-4
		next.LockedUntil = h.sessions.byID[m.sessionID()].lock.until // SES-5
	}
	next.Nonce = ns.nonce()
	quiet := !m.is(dirty) || m.is(calm)
	if ns.put(m, next); quiet {
		m.marks |= calm
	}
	h.begun(now, m, client)
	ns.event(EventLocked, now, m, h, client, "")
	d.Message = m.Message
	return d
}

// Fetch takes deferred messages by number, all or none (DEF-6, DEF-7). An
// expired one is settled first, and then counts as missing: this is the only
// change that a failing Fetch makes (DEF-9). Those of a session are FetchSession's.
func (ns *Namespace) Fetch(now Instant, p Path, seqs []Seq, mode Mode, client string) ([]Delivery, error) {
	h, err := ns.openFor(p)
	if err == nil {
		err = ns.admitSession(now, h, SessionRequest{})
	}
	if err != nil {
		return nil, err
	}
	return ns.fetch(now, h, nil, seqs, mode, client)
}

// FetchSession is Fetch for the link that holds the session: it gets that
// session's messages alone, until the session's deadline (DEF-14), and no more of
// them than Limits.SessionLocks, else ErrQuota.
func (ns *Namespace) FetchSession(now Instant, id LinkID, seqs []Seq, mode Mode) ([]Delivery, error) {
	l, s, err := ns.holding(now, id)
	if err != nil {
		return nil, err
	}
	return ns.fetch(now, l.holder, s, seqs, mode, l.Client)
}

func (ns *Namespace) fetch(now Instant, h *holder, s *session, seqs []Seq, mode Mode, client string) ([]Delivery, error) {
	ns.touch(now, h.entity, "fetch", client)
	missing := false
	found, named := make([]*message, 0, len(seqs)), make(map[Seq]bool, len(seqs))
	for _, n := range seqs {
		m := h.order.at(n)
		if m != nil && ns.settleDue(now, h, m) {
			ns.expireDeferred(now, h, m)
		}
		if m == nil || ns.messages[m.Key] != m || m.Holder != h.id || m.State != Deferred || m.Locked() || named[n] || s != nil && m.sessionID() != s.id {
			missing = true
			continue
		}
		found, named[n] = append(found, m), true
	}
	if missing {
		return nil, refuse(ErrMessageNotFound, "%s", NotLockedText)
	}
	if s != nil && mode == PeekLock && int64(len(found)) > ns.room(s) {
		return nil, refuseCode(ErrQuota, 40300, "%d messages of the session '%s' are locked, and no more than %d may be: settle some first.", s.locked(), s.id, ns.limits.SessionLocks)
	}
	out := make([]Delivery, 0, len(found))
	for _, m := range found {
		out = append(out, ns.take(now, h, m, mode, client))
	}
	return out, nil
}

// expireDeferred is the moment at which a deferred message's time counts: when
// somebody asks for it.
func (ns *Namespace) expireDeferred(now Instant, h *holder, m *message) {
	if m.State != Deferred || m.Locked() || !h.terms.ExpiresAt(m.Message).Passed(now) {
		return
	}
	active := m.Message
	active.State = Active
	ns.put(m, active)
	ns.settleDue(now, h, m)
}
