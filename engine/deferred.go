package engine

// takeMessage locks m or, for ReceiveAndDelete, removes it, and returns its delivery to a receiver.
// The delivery pins m's body.
func (ns *Namespace) takeMessage(now Instant, h *subqueue, m *message, mode Mode, client string) Delivery {
	m.content.pins++
	ns.changes.addUndo(undo{kind: undoPin, pinned: m.content})
	d := Delivery{Path: h.path, Content: m.packed(), Expires: h.terms.ExpiresAt(m.Message), Body: ns.changes.bodies[m.content], Pin: BodyPin{m.content}}
	if mode == ReceiveAndDelete {
		d.Message, d.Deleted = m.Message, true
		ns.drop(m)
		ns.changes.hard = true
		ns.event(EventReceived, now, m, h, client, "")
		return d
	}
	next := m.Message
	if next.LockedUntil = now.Add(h.entity.Config.LockTime()); h.sessions != nil { // LOCK-4
		next.LockedUntil, d.SessionLocked = h.sessions.byID[m.sessionID()].lock.until, true // SES-5
	}
	next.Nonce = ns.nonce()
	quiet := !m.hasFlag(flagDirty) || m.hasFlag(flagLockOnly)
	if ns.put(m, next); quiet {
		m.alarmFlags |= flagLockOnly
	}
	h.recordLock(now, m, client)
	ns.event(EventLocked, now, m, h, client, "")
	d.Message = m.Message
	return d
}

// ReceiveDeferred receives deferred messages by number, all or none (DEF-6, DEF-7). A message that
// has expired is removed or dead-lettered first, and then counts as missing: this is the only
// change that a failing ReceiveDeferred makes (DEF-9). For a session's messages, use
// ReceiveDeferredInSession.
func (ns *Namespace) ReceiveDeferred(now Instant, p Path, seqs []Seq, mode Mode, client string) ([]Delivery, error) {
	h, err := ns.receiveFrom(p)
	if err == nil {
		err = ns.admitSession(now, h, SessionRequest{})
	}
	if err != nil {
		return nil, err
	}
	return ns.receiveDeferred(now, h, nil, seqs, mode, client)
}

// ReceiveDeferredInSession is ReceiveDeferred for the link that holds the session: it returns only
// that session's messages, locked until the session's deadline (DEF-14). If more than
// Limits.SessionLocks messages would be locked, it returns ErrQuota.
func (ns *Namespace) ReceiveDeferredInSession(now Instant, id LinkID, seqs []Seq, mode Mode) ([]Delivery, error) {
	l, s, err := ns.sessionOfLink(now, id)
	if err != nil {
		return nil, err
	}
	return ns.receiveDeferred(now, l.subqueue, s, seqs, mode, l.Client)
}

func (ns *Namespace) receiveDeferred(now Instant, h *subqueue, s *session, seqs []Seq, mode Mode, client string) ([]Delivery, error) {
	ns.touch(now, h.entity, "fetch", client)
	missing := false
	found, named := make([]*message, 0, len(seqs)), make(map[Seq]bool, len(seqs))
	for _, n := range seqs {
		m := h.order.at(n)
		if m != nil && ns.applyVerdict(now, h, m) {
			ns.expireDeferred(now, h, m)
		}
		if m == nil || ns.messages[m.Key] != m || m.Subqueue != h.id || m.State != Deferred || m.Locked() || named[n] || s != nil && m.sessionID() != s.id {
			missing = true
			continue
		}
		found, named[n] = append(found, m), true
	}
	if missing {
		return nil, Refuse(ErrMessageNotFound, "%s", NotLockedText)
	}
	if s != nil && mode == PeekLock && int64(len(found)) > ns.lockCapacity(s) {
		return nil, RefuseCode(ErrQuota, 40300, "%d messages of the session '%s' are locked, and the maximum is %d. Settle some first.", s.locked(), s.id, ns.limits.SessionLocks)
	}
	out := make([]Delivery, 0, len(found))
	for _, m := range found {
		out = append(out, ns.takeMessage(now, h, m, mode, client))
	}
	return out, nil
}

// expireDeferred removes or dead-letters m if it is deferred and has expired. It is called only
// when a receiver requests m.
func (ns *Namespace) expireDeferred(now Instant, h *subqueue, m *message) {
	if m.State != Deferred || m.Locked() || !h.terms.ExpiresAt(m.Message).Passed(now) {
		return
	}
	active := m.Message
	active.State = Active
	ns.put(m, active)
	ns.applyVerdict(now, h, m)
}
