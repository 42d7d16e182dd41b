package engine

import "time"

// This file is what an operator may do and a hosted client may not (§21a). All
// of it counts as activity like the corresponding operation of a client
// (OPS-11), and has an event that tells of it: see audit. What follows from it,
// a dead letter after a lock was broken, say, has events of its own.

// audit makes e one that tells what an operator did: it is remembered in the
// batch that does it, so that neither is without the other.
func (ns *Namespace) audit(e *Event) *Event {
	e.Audit = true
	ns.changes.hard = true
	return e
}

// free finds a message that an operator wants to act on and that nobody holds;
// what time has done to it is settled first.
func (ns *Namespace) free(now Instant, k Key) (*message, *holder, error) {
	m, h, err := ns.byKey(k)
	if err != nil {
		return nil, nil, err
	}
	ns.settleDue(now, h, m)
	if m, h, err = ns.byKey(k); err != nil {
		return nil, nil, err
	}
	if m.Locked() {
		return nil, nil, refuse(ErrNotAllowed, "Message #%d in '%s' is locked; break the lock first.", m.Seq, h.path)
	}
	return m, h, nil
}

// A Move says where an operator wants a message.
type Move struct {
	Key  Key
	To   Path // empty: back where it died, for a dead letter; where it was to go, for one of a transfer
	Copy bool // the message stays, a copy goes (OPS-2)
	// DropDuplicate lets To drop it as a duplicate, if it is one there; else Move
	// is refused with ErrDuplicate.
	DropDuplicate bool
}

// Move takes a message to another entity, or a dead letter back, as if it were
// sent anew: new number and enqueued time, its own TTL runs again, no failed
// deliveries, no dead-letter properties (OPS-1, OPS-2, OPS-10). A dead letter
// of a subscription goes back to that subscription, not to its topic. One that
// was dropped as a duplicate has the number zero.
func (ns *Namespace) Move(now Instant, mv Move, actor string) (Seq, error) {
	m, from, err := ns.free(now, mv.Key)
	if err != nil {
		return 0, err
	}
	to, err := ns.admitMove(now, m, from, mv)
	if err != nil {
		return 0, err
	}
	next, ttl := m.Message, m.content.packed.ttl()
	duplicate := ns.detect(now, to, m.digest())
	next.DeliveryCount, next.State, next.EnqueuedAt, next.ScheduledFor, next.Hops = 0, Active, now, 0, 0 // FWD-10
	next.ExpiresAt = to.main.terms.ownExpiry(now, ttl)
	if next.Seq = 0; !duplicate {
		next.Seq = ns.nextSeq(to.main)
	}
	next.EnqueuedSeq, next.Holder = next.Seq, to.ID
	next.Extra = nil
	if x := m.Extra; x != nil && (len(x.Properties) > 0 || x.Rewritten != "") {
		next.Extra = &Extra{Properties: x.Properties, Rewritten: x.Rewritten}
	}
	ns.touch(now, from.entity, "resubmit", actor)
	ns.accessed(now, to, "send", actor)
	what, why := EventMoved, ""
	if mv.Copy {
		what = EventCopied
	}
	switch {
	case duplicate:
		why = "dropped as a duplicate"
		if !mv.Copy {
			ns.drop(m)
			what = EventDeleted // for it is nowhere
		} else {
			next.Key = ns.keys.Next()
		}
		ns.dropDuplicate(now, to, next, m.content, actor)
	case to.Kind == Topic:
		next.Key = ns.keys.Next()
		ns.fanOut(now, to, next, m.content, actor, nil)
		if !mv.Copy {
			ns.drop(m)
		}
	case mv.Copy:
		next.Key = ns.keys.Next()
		ns.event(EventSent, now, ns.insert(next, m.content), to.main, actor, "resubmitted copy")
	default:
		ns.put(m, next)
	}
	ns.audit(ns.event(what, now, m, from, actor, why)).To = to.Path
	return next.Seq, nil
}

func (ns *Namespace) admitMove(now Instant, m *message, from *holder, mv Move) (*entity, error) {
	to := from.entity
	if from == to.transfer && mv.To == "" {
		mv.To = Path(m.Extra.To)
	}
	if mv.To != "" {
		var err error
		if to, err = ns.entity(mv.To); err != nil {
			return nil, err
		}
	} else if !from.dead {
		return nil, refuse(ErrNotAllowed, "Message #%d in '%s' is not a dead letter; say where to move it.", m.Seq, from.path)
	}
	switch {
	case mv.To.IsDeadLetter():
		return nil, refuseCode(ErrNotAllowed, 40301, "Messages cannot be sent to a dead-letter queue: '%s'.", mv.To)
	case m.State == Scheduled:
		return nil, refuse(ErrNotAllowed, "Message #%d is scheduled; send it now or reschedule it instead.", m.Seq)
	case to.main == from:
		return nil, refuse(ErrNotAllowed, "Message #%d is in '%s' already.", m.Seq, to.Path)
	case !to.Config.Status.sends():
		return nil, refuse(ErrDisabled, "Messaging entity '%s' is currently disabled for Send operations.", to.Path)
	case to.sessionful() && !m.hasSession(): // MSG-9
		return nil, refuseCode(ErrNotAllowed, 40301, "%s", NoSessionIDText)
	}
	if duplicate, err := ns.admitMoved(now, to, m, mv); duplicate || err != nil {
		return to, err
	}
	more := m.size() * to.copies(&glance{packed: m.packed(), m: m.Message}, nil)
	if !mv.Copy && to.root() == from.entity.root() {
		more -= m.size()
	}
	return to, ns.full(to, more)
}

// Extend sets a message's own expiry, past the entity's ceiling too but not
// before now (OPS-3).
func (ns *Namespace) Extend(now Instant, k Key, expires Instant, actor string) error {
	if expires == 0 {
		return refuse(ErrOutOfRange, "The time at which a message expires must not lie in the past.")
	}
	return ns.setExpiry(now, k, expires, actor)
}

// setExpiry is Extend that can also take a message's own expiry away, by zero:
// only the entity's default counts then (TTL-13).
func (ns *Namespace) setExpiry(now Instant, k Key, expires Instant, actor string) error {
	m, h, err := ns.byKey(k)
	if err != nil {
		return err
	}
	if m.State != Deferred { // a deferred one may be past its time and still be here
		ns.settleDue(now, h, m)
	}
	if m, h, err = ns.byKey(k); err != nil {
		return err
	}
	switch {
	case h.dead:
		return refuse(ErrNotAllowed, "Message #%d is a dead letter; dead letters do not expire.", m.Seq)
	case m.State == Scheduled:
		return refuse(ErrNotAllowed, "Message #%d is scheduled; its time runs from its activation.", m.Seq)
	case expires != 0 && expires < now:
		return refuse(ErrOutOfRange, "The time at which message #%d expires must not lie in the past.", m.Seq)
	}
	next := m.Message
	next.ExpiresAt = expires
	ns.put(m, next)
	ns.touch(now, h.entity, "extend", actor)
	ns.audit(ns.event(EventExtended, now, m, h, actor, ""))
	return nil
}

// ReturnToActive makes a deferred message deliverable again, at its old place
// in order (OPS-4).
func (ns *Namespace) ReturnToActive(now Instant, k Key, actor string) error {
	m, h, err := ns.free(now, k)
	if err != nil {
		return err
	}
	if m.State != Deferred {
		return refuse(ErrNotAllowed, "Message #%d in '%s' is not deferred.", m.Seq, h.path)
	}
	next := m.Message
	next.State = Active
	ns.put(m, next)
	ns.touch(now, h.entity, "return", actor)
	ns.audit(ns.event(EventReturned, now, m, h, actor, ""))
	ns.settleDue(now, h, m)
	return nil
}

// DeadLetterOne moves a message to the dead-letter queue (OPS-5).
func (ns *Namespace) DeadLetterOne(now Instant, k Key, reason, description, actor string) error {
	m, h, err := ns.free(now, k)
	if err != nil {
		return err
	}
	if err := checkReason(reason, description, ns.limits); err != nil {
		return err
	}
	if h.dead || m.State == Scheduled {
		return refuse(ErrNotAllowed, "Message #%d in '%s' cannot be dead-lettered from there.", m.Seq, h.path)
	}
	ns.touch(now, h.entity, "dead-letter", actor)
	ns.audit(ns.deadLetter(now, h, m, &Extra{Reason: reason, Description: description, By: actor}))
	return nil
}

// DeleteOne removes a message without a trace (OPS-5); a scheduled one is
// cancelled.
func (ns *Namespace) DeleteOne(now Instant, k Key, actor string) error {
	m, h, err := ns.free(now, k)
	if err != nil {
		return err
	}
	if m.State == Scheduled {
		ns.audit(ns.cancel(now, h, m, actor))
		return nil
	}
	ns.drop(m)
	ns.touch(now, h.entity, "delete", actor)
	ns.audit(ns.event(EventDeleted, now, m, h, actor, ""))
	return nil
}

// BreakLock ends a lock as if it had run out now (OPS-6).
func (ns *Namespace) BreakLock(now Instant, k Key, actor string) error {
	m, h, err := ns.held(now, k)
	if err != nil {
		return err
	}
	ns.touch(now, h.entity, "break lock", actor)
	ns.audit(ns.unlock(now, h, m, EventLockLost, actor))
	ns.settleDue(now, h, m)
	return nil
}

// RenewFor renews a lock on behalf of its holder (OPS-6). In a session that is
// the lock of the session, which its own event tells; that it was asked for with
// this message, the audited one does.
func (ns *Namespace) RenewFor(now Instant, k Key, actor string) (Instant, error) {
	m, h, err := ns.held(now, k)
	if err != nil {
		return 0, err
	}
	if h.sessions == nil {
		ns.audit(ns.renew(now, h, m, actor))
		return m.LockedUntil, nil
	}
	s := h.sessions.byID[m.sessionID()] // and with it all that is locked there (SES-5)
	ns.renewSession(now, h, s, actor)
	ns.audit(ns.event(EventRenewed, now, m, h, actor, ""))
	return s.lock.until, nil
}

func (ns *Namespace) held(now Instant, k Key) (*message, *holder, error) {
	m, h, err := ns.byKey(k)
	if err != nil {
		return nil, nil, err
	}
	if !m.Locked() || h.present(m).LockedUntil.Passed(now) {
		return nil, nil, refuse(ErrNotAllowed, "Message #%d in '%s' is not locked.", m.Seq, h.path)
	}
	return m, h, nil
}

// SendNow activates a scheduled message at once (OPS-8).
func (ns *Namespace) SendNow(now Instant, k Key, actor string) error {
	m, h, err := ns.scheduled(now, k)
	if err != nil {
		return err
	}
	ns.touch(now, h.entity, "send now", actor)
	first := len(ns.events) // tells of the activation; at a topic those of its copies follow
	ns.activate(now, h, m)
	ns.audit(&ns.events[first]).Actor = actor
	return nil
}

// Reschedule cancels and schedules in one step (OPS-8): the number changes.
func (ns *Namespace) Reschedule(now Instant, k Key, at Instant, actor string) (Seq, error) {
	m, h, err := ns.scheduled(now, k)
	if err != nil {
		return 0, err
	}
	if at <= now {
		return 0, refuse(ErrOutOfRange, "The new time of message #%d must lie ahead; use send now instead.", m.Seq)
	}
	next := m.Message
	next.ScheduledFor = at
	next.Seq = ns.nextSeq(h)
	next.EnqueuedSeq, next.EnqueuedAt = next.Seq, now
	ns.put(m, next)
	ns.touch(now, h.entity, "reschedule", actor)
	ns.audit(ns.event(EventScheduled, now, m, h, actor, "rescheduled"))
	return next.Seq, nil
}

func (ns *Namespace) scheduled(now Instant, k Key) (*message, *holder, error) {
	m, h, err := ns.byKey(k)
	if err != nil {
		return nil, nil, err
	}
	if m.State != Scheduled || Judge(h.terms, m.Message, now) == Activate {
		return nil, nil, refuse(ErrMessageNotFound, "Message %d is not scheduled any more.", k)
	}
	return m, h, nil
}

// Touch counts as use of a temporary entity (OPS-9).
func (ns *Namespace) Touch(now Instant, p Path, actor string) error {
	e, err := ns.admin(p)
	if err != nil {
		return err
	}
	ns.touch(now, e, "touch", actor)
	ns.audit(ns.entityEvent(EventTouched, now, e, actor))
	return nil
}

// Remember has an operator's doing remembered that is none to what is in the
// namespace: of EventNamespaceCreated and EventNamespaceRemoved, about is the
// other namespace; of the others, what their kinds say of Reason.
func (ns *Namespace) Remember(now Instant, kind EventKind, about, actor string) {
	ns.events = append(ns.events, Event{Kind: kind, At: now, Actor: actor, Reason: cut(about, 256)})
	ns.audit(&ns.events[len(ns.events)-1])
}

// Disconnected notes that an operator has closed a client's connection, of which
// the rules know no more than that.
func (ns *Namespace) Disconnected(now Instant, client, actor string) {
	ns.events = append(ns.events, Event{Kind: EventDisconnected, At: now, Actor: actor, Reason: client})
	ns.audit(&ns.events[len(ns.events)-1])
}

// SettingsChanged notes what an operator did to settings, whose meaning the rules
// do not know.
func (ns *Namespace) SettingsChanged(now Instant, what SettingDeed, actor string) {
	ns.events = append(ns.events, Event{Kind: EventSettingsChanged, At: now, Actor: actor, Reason: cut(what.String(), 256)})
	ns.audit(&ns.events[len(ns.events)-1])
}

// Pin keeps a temporary entity for good and remembers its idle time; Unpin
// gives it back (OPS-9).
func (ns *Namespace) Pin(now Instant, p Path, actor string) error {
	e, err := ns.admin(p)
	if err != nil {
		return err
	}
	if e.Config.InForce().AutoDeleteOnIdle == 0 {
		return refuse(ErrNotAllowed, "'%s' does not delete itself; there is nothing to pin.", e.Path)
	}
	return ns.setIdle(now, e, 0, e.Config.AutoDeleteOnIdle, "pin", actor)
}

// Unpin restores the idle time that Pin remembered (OPS-9).
func (ns *Namespace) Unpin(now Instant, p Path, actor string) error {
	e, err := ns.admin(p)
	if err != nil {
		return err
	}
	if e.Unpinned == 0 {
		return refuse(ErrNotAllowed, "'%s' is not pinned.", e.Path)
	}
	return ns.setIdle(now, e, e.Unpinned, 0, "unpin", actor)
}

func (ns *Namespace) setIdle(now Instant, e *entity, idle, remember time.Duration, what, actor string) error {
	next := e.Entity
	next.Config.AutoDeleteOnIdle, next.Unpinned, next.UpdatedAt = idle, remember, max(now, e.UpdatedAt)
	ns.describe(e, next)
	ns.touch(now, e, what, actor)
	ns.audit(ns.entityEvent(EventEntityUpdated, now, e, actor)).Reason = what
	return nil
}
