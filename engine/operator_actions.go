package engine

import "time"

// This file implements operators' actions on one message or entity (§21a). Every action counts as
// activity like the corresponding operation of a client (OPS-11), and adds an audit event: see
// audit.go. Consequences of an action, such as a dead letter after a lock was broken, have events
// of their own.

// unlockedMessage returns a message for an operator's action, after applying the verdict of Judge.
// It returns ErrMessageNotFound if the message no longer exists then, and ErrNotAllowed if it is
// locked.
func (ns *Namespace) unlockedMessage(now Instant, k Key) (*message, *subqueue, error) {
	m, h, err := ns.byKey(k)
	if err != nil {
		return nil, nil, err
	}
	ns.applyVerdict(now, h, m)
	if m, h, err = ns.byKey(k); err != nil {
		return nil, nil, err
	}
	if m.Locked() {
		return nil, nil, Refuse(ErrNotAllowed, "Message #%d in '%s' is locked. Break the lock first.", m.Seq, h.path)
	}
	return m, h, nil
}

// A Move is an operator's request to move a message.
type Move struct {
	Key  Key
	To   Path // empty for the entity that dead-lettered it, or for a transfer dead letter its original destination
	Copy bool // the message stays, and a copy is sent (OPS-2)
	// DropDuplicate lets To drop the message if it is a duplicate there; otherwise Move
	// returns ErrDuplicate.
	DropDuplicate bool
}

// Move moves a message to another entity, or a dead letter back, as if it were sent again:
// new number and enqueued time, its own TTL starts again, no failed deliveries, no
// dead-letter properties (OPS-1, OPS-2, OPS-10). A dead letter of a subscription goes back to
// that subscription, not to its topic. The number is zero if the message was dropped as a
// duplicate.
func (ns *Namespace) Move(now Instant, mv Move, actor string) (Seq, error) {
	m, from, err := ns.unlockedMessage(now, mv.Key)
	if err != nil {
		return 0, err
	}
	to, err := ns.admitMove(now, m, from, mv)
	if err != nil {
		return 0, err
	}
	next, ttl := m.Message, m.packed().ttl()
	duplicate := ns.detectDuplicate(now, to, m.digest())
	next.DeliveryCount, next.State, next.EnqueuedAt, next.ScheduledFor, next.Hops = 0, Active, now, 0, 0 // FWD-10
	next.ExpiresAt = to.main.terms.ownExpiry(now, ttl)
	if next.Seq = 0; !duplicate {
		next.Seq = ns.nextSeq(to.main)
	}
	next.EnqueuedSeq, next.Subqueue = next.Seq, to.ID
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
			what = EventDeleted // because it does not exist any more
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

func (ns *Namespace) admitMove(now Instant, m *message, from *subqueue, mv Move) (*entity, error) {
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
		return nil, Refuse(ErrNotAllowed, "Message #%d in '%s' is not a dead letter, so it has no origin. Enter a destination.", m.Seq, from.path)
	}
	switch {
	case mv.To.IsDeadLetter():
		return nil, RefuseCode(ErrNotAllowed, 40301, "Messages cannot be sent to a dead-letter queue: '%s'.", mv.To)
	case m.State == Scheduled:
		return nil, Refuse(ErrNotAllowed, "Message #%d is scheduled. Send it now or reschedule it instead.", m.Seq)
	case to.main == from:
		return nil, Refuse(ErrNotAllowed, "Message #%d is already in '%s'.", m.Seq, to.Path)
	case !to.Config.Status.sends():
		return nil, Refuse(ErrDisabled, "Messaging entity '%s' is currently disabled for Send operations.", to.Path)
	case to.requiresSession() && !m.hasSession(): // MSG-9
		return nil, RefuseCode(ErrNotAllowed, 40301, "%s", NoSessionIDText)
	}
	if duplicate, err := ns.admitMoved(now, to, m, mv); duplicate || err != nil {
		return to, err
	}
	copies := to.countCopies(&filterView{packed: m.packed(), m: m.Message}, nil)
	n := requiredSpace{charge: ns.sizer.charge(m) * copies, memory: (ns.sizer.message(m.Extra) + messageEntry) * copies}
	if !mv.Copy {
		n.memory -= ns.sizer.message(m.Extra) + messageEntry
		if to.root() == from.entity.root() {
			n.charge -= ns.sizer.charge(m)
		}
	}
	return to, ns.admitSpace(to, n)
}

// Extend sets a message's own expiry, which may exceed the entity's ceiling but must not be
// in the past (OPS-3).
func (ns *Namespace) Extend(now Instant, k Key, expires Instant, actor string) error {
	if expires == 0 {
		return Refuse(ErrOutOfRange, "The expiry time of a message must not be in the past.")
	}
	return ns.setExpiry(now, k, expires, actor)
}

// setExpiry is Extend, but can also remove a message's own expiry: if expires is zero, only the
// entity's default counts (TTL-13).
func (ns *Namespace) setExpiry(now Instant, k Key, expires Instant, actor string) error {
	m, h, err := ns.byKey(k)
	if err != nil {
		return err
	}
	if m.State != Deferred { // a deferred message may have expired and still exist
		ns.applyVerdict(now, h, m)
	}
	if m, h, err = ns.byKey(k); err != nil {
		return err
	}
	switch {
	case h.dead:
		return Refuse(ErrNotAllowed, "Message #%d is a dead letter. Dead letters do not expire.", m.Seq)
	case m.State == Scheduled:
		return Refuse(ErrNotAllowed, "Message #%d is scheduled. Its time to live begins at its enqueue time.", m.Seq)
	case expires != 0 && expires < now:
		return Refuse(ErrOutOfRange, "The expiry time of message #%d must not be in the past.", m.Seq)
	}
	next := m.Message
	next.ExpiresAt = expires
	ns.put(m, next)
	ns.touch(now, h.entity, "extend", actor)
	ns.audit(ns.event(EventExtended, now, m, h, actor, ""))
	return nil
}

// ReturnToActive makes a deferred message deliverable again, at its old position in the order
// (OPS-4).
func (ns *Namespace) ReturnToActive(now Instant, k Key, actor string) error {
	m, h, err := ns.unlockedMessage(now, k)
	if err != nil {
		return err
	}
	if m.State != Deferred {
		return Refuse(ErrNotAllowed, "Message #%d in '%s' is not deferred.", m.Seq, h.path)
	}
	next := m.Message
	next.State = Active
	ns.put(m, next)
	ns.touch(now, h.entity, "return", actor)
	ns.audit(ns.event(EventReturned, now, m, h, actor, ""))
	ns.applyVerdict(now, h, m)
	return nil
}

// DeadLetterMessage moves a message to the dead-letter subqueue (OPS-5).
func (ns *Namespace) DeadLetterMessage(now Instant, k Key, reason, description, actor string) error {
	m, h, err := ns.unlockedMessage(now, k)
	if err != nil {
		return err
	}
	if err := checkReason(reason, description, ns.limits); err != nil {
		return err
	}
	if h.dead || m.State == Scheduled {
		return Refuse(ErrNotAllowed, "Message #%d in '%s' cannot be dead-lettered. Only active and deferred messages outside a dead-letter queue can.", m.Seq, h.path)
	}
	ns.touch(now, h.entity, "dead-letter", actor)
	ns.audit(ns.deadLetter(now, h, m, &Extra{Reason: reason, Description: description, By: actor}))
	return nil
}

// DeleteMessage removes a message (OPS-5); a scheduled one is cancelled.
func (ns *Namespace) DeleteMessage(now Instant, k Key, actor string) error {
	m, h, err := ns.unlockedMessage(now, k)
	if err != nil {
		return err
	}
	if m.State == Scheduled {
		ns.audit(ns.cancelScheduled(now, h, m, actor))
		return nil
	}
	ns.drop(m)
	ns.touch(now, h.entity, "delete", actor)
	ns.audit(ns.event(EventDeleted, now, m, h, actor, ""))
	return nil
}

// BreakLock ends a lock as if it expired now (OPS-6).
func (ns *Namespace) BreakLock(now Instant, k Key, actor string) error {
	m, h, err := ns.lockedMessage(now, k)
	if err != nil {
		return err
	}
	ns.touch(now, h.entity, "break lock", actor)
	ns.audit(ns.unlock(now, h, m, EventLockLost, actor))
	ns.applyVerdict(now, h, m)
	return nil
}

// RenewLockFor renews a lock on behalf of its receiver (OPS-6). In a session it renews the
// session's lock, which has its own event; the audit event names the message.
func (ns *Namespace) RenewLockFor(now Instant, k Key, actor string) (Instant, error) {
	m, h, err := ns.lockedMessage(now, k)
	if err != nil {
		return 0, err
	}
	if h.sessions == nil {
		ns.audit(ns.renew(now, h, m, actor))
		return m.LockedUntil, nil
	}
	s := h.sessions.byID[m.sessionID()] // the session's lock covers all its locked messages (SES-5)
	ns.renewSession(now, h, s, actor)
	ns.audit(ns.event(EventRenewed, now, m, h, actor, ""))
	return s.lock.until, nil
}

func (ns *Namespace) lockedMessage(now Instant, k Key) (*message, *subqueue, error) {
	m, h, err := ns.byKey(k)
	if err != nil {
		return nil, nil, err
	}
	if !m.Locked() || h.withSessionLock(m).LockedUntil.Passed(now) {
		return nil, nil, Refuse(ErrNotAllowed, "Message #%d in '%s' is not locked.", m.Seq, h.path)
	}
	return m, h, nil
}

// SendNow activates a scheduled message at once (OPS-8).
func (ns *Namespace) SendNow(now Instant, k Key, actor string) error {
	m, h, err := ns.scheduledMessage(now, k)
	if err != nil {
		return err
	}
	ns.touch(now, h.entity, "send now", actor)
	first := len(ns.events) // the activation's event; at a topic those of its copies follow
	ns.activate(now, h, m)
	ns.audit(&ns.events[first]).Actor = actor
	return nil
}

// Reschedule cancels and schedules a message in one step (OPS-8): its number changes.
func (ns *Namespace) Reschedule(now Instant, k Key, at Instant, actor string) (Seq, error) {
	m, h, err := ns.scheduledMessage(now, k)
	if err != nil {
		return 0, err
	}
	if at <= now {
		return 0, Refuse(ErrOutOfRange, "The new enqueue time of message #%d must be in the future. To send it at once, use send now.", m.Seq)
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

func (ns *Namespace) scheduledMessage(now Instant, k Key) (*message, *subqueue, error) {
	m, h, err := ns.byKey(k)
	if err != nil {
		return nil, nil, err
	}
	if m.State != Scheduled || Judge(h.terms, m.Message, now) == Activate {
		return nil, nil, Refuse(ErrMessageNotFound, "Message %d is no longer scheduled.", k)
	}
	return m, h, nil
}

// Touch resets the idle clock of a temporary entity (OPS-9).
func (ns *Namespace) Touch(now Instant, p Path, actor string) error {
	e, err := ns.entityForAdmin(p)
	if err != nil {
		return err
	}
	ns.touch(now, e, "touch", actor)
	ns.audit(ns.entityEvent(EventTouched, now, e, actor))
	return nil
}

// Pin keeps a temporary entity permanently and stores its idle time, which Unpin restores
// (OPS-9).
func (ns *Namespace) Pin(now Instant, p Path, actor string) error {
	e, err := ns.entityForAdmin(p)
	if err != nil {
		return err
	}
	if e.Config.Effective().AutoDeleteOnIdle == 0 {
		return Refuse(ErrNotAllowed, "'%s' has no AutoDeleteOnIdle and needs no pin.", e.Path)
	}
	return ns.setIdle(now, e, 0, e.Config.AutoDeleteOnIdle, "pin", actor)
}

// Unpin restores the idle time that Pin stored (OPS-9).
func (ns *Namespace) Unpin(now Instant, p Path, actor string) error {
	e, err := ns.entityForAdmin(p)
	if err != nil {
		return err
	}
	if e.UnpinnedIdle == 0 {
		return Refuse(ErrNotAllowed, "'%s' is not pinned.", e.Path)
	}
	return ns.setIdle(now, e, e.UnpinnedIdle, 0, "unpin", actor)
}

func (ns *Namespace) setIdle(now Instant, e *entity, idle, remember time.Duration, what, actor string) error {
	next := e.Entity
	next.Config.AutoDeleteOnIdle, next.UnpinnedIdle, next.UpdatedAt = idle, remember, max(now, e.UpdatedAt)
	ns.setDescription(e, next)
	ns.touch(now, e, what, actor)
	ns.audit(ns.entityEvent(EventEntityUpdated, now, e, actor)).Reason = what
	return nil
}
