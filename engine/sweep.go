package engine

import (
	"container/heap"
)

// maxAlarmsPerSubqueue is how many alarms of one subqueue are served before the next subqueue has
// its turn.
const maxAlarmsPerSubqueue = 64

// NextDue returns when Sweep next has something to do, or zero if never.
func (ns *Namespace) NextDue() Instant {
	if len(ns.rotation)+len(ns.freeing)+len(ns.needMatch) > 0 {
		return 1
	}
	if len(ns.due) == 0 {
		return ns.transactions.next()
	}
	return earlier(ns.due[0].dueAt, ns.transactions.next())
}

// Sweep does work that is due without a request, at most about `work` changes, and reports
// whether more is due. Every step judges the messages that it uses (TTL-31), so that requests
// get the same results without Sweep, with three exceptions: only Sweep forwards messages (§11)
// and deletes idle entities (§10); and clients that wait for a message, a session or the loss of
// a session's lock depend on Sweep if no request causes it.
func (ns *Namespace) Sweep(now Instant, work int) (more bool) {
	work -= ns.endOverdue(now, (work+1)/2) // neither transactions nor subqueues wait for all of the others
	for ns.collectDue(now); work > 0 && len(ns.rotation) > 0; ns.collectDue(now) {
		h := ns.rotation[0]
		ns.rotation = ns.rotation[1:]
		if ns.subqueues[h.id] != h {
			h.inRotation = false
			continue
		}
		work -= ns.handleDue(now, h, min(work, maxAlarmsPerSubqueue))
		if ns.subqueues[h.id] == h && h.nextDue().Passed(now) {
			ns.rotation = append(ns.rotation, h)
			continue
		}
		h.inRotation, h.dueAt = false, 0
		if ns.subqueues[h.id] == h {
			ns.reschedule(h)
		}
	}
	for work > 0 && len(ns.freeing) > 0 {
		work -= ns.freeDeleted(work)
	}
	ns.endOverdue(now, work)
	return ns.transactions.next().Passed(now) || len(ns.rotation) > 0 || len(ns.freeing) > 0 || len(ns.due) > 0 && ns.due[0].dueAt.Passed(now)
}

// SweepDrops is Sweep for a store on a full disk, limited to work that takes no room there:
// messages expire, and those of deleted entities are freed. Messages that are to be forwarded
// wait, and so do scheduled ones at topics.
func (ns *Namespace) SweepDrops(now Instant, work int) (more bool) {
	ns.dropsOnly = true
	defer func() { ns.dropsOnly = false }()
	return ns.Sweep(now, work)
}

// collectDue moves subqueues with something due from the heap to the rotation. Sweep calls it again
// after each subqueue, so that a message just forwarded is forwarded further in the same Sweep.
func (ns *Namespace) collectDue(now Instant) {
	for len(ns.due) > 0 && ns.due[0].dueAt.Passed(now) {
		h := ns.due[0]
		ns.due.remove(h)
		h.inRotation = true
		ns.rotation = append(ns.rotation, h)
	}
}

// handleDue handles up to about limit of h's due alarms and returns the number of changes.
func (ns *Namespace) handleDue(now Instant, h *subqueue, limit int) (done int) {
	if h.rejudge != 0 {
		done += h.rearm(limit)
	}
	for _, set := range []*alarms{&h.pending, &h.expiring} {
		for done < limit {
			a, ok := set.first()
			if !ok || !a.at.Passed(now) {
				break
			}
			if set == &h.pending && ns.schedulesWait(h) {
				h.memoryRetryAt = ns.nextMemoryRetry(now)
				break
			}
			ns.applyVerdict(now, h, h.order.at(a.seq))
			done += h.alarmCost()
		}
	}
	for more := 1; more > 0 && done < limit; done += more {
		more = ns.expireSessionLocks(now, h, limit-done)
	}
	if !h.dead && h.entity.nextForget().Passed(now) {
		ns.forgetIDs(now, h.entity)
		done++
	}
	done += ns.forwardDue(now, h, limit-done)
	if !h.dead && h.entity.idleAt.Passed(now) {
		ns.expireIdle(now, h.entity)
		done++
	}
	return max(done, 1)
}

// alarmCost returns how many changes one of h's alarms may make: at a topic one for each
// subscription's copy as well.
func (h *subqueue) alarmCost() int { return 1 + len(h.entity.subs) }

// rearm sets the alarms of up to limit messages again, from number rejudge on, after a change of
// terms. It advances rejudge, and returns how many messages it visited.
func (h *subqueue) rearm(limit int) (done int) {
	next := Seq(0)
	for m := range h.order.from(h.rejudge) {
		if done == limit {
			next = m.Seq
			break
		}
		h.setAlarm(m)
		done++
	}
	h.rejudge = next
	return done
}

// applyVerdict makes the changes of m that are due without a request, and reports whether m is still
// in h, under the same number, afterwards.
func (ns *Namespace) applyVerdict(now Instant, h *subqueue, m *message) (stays bool) {
	for {
		switch v := Judge(h.terms, h.withSessionLock(m), now); v {
		case Keep:
			h.setAlarm(m)
			return true
		case Activate:
			ns.activate(now, h, m)
			return false
		case Unlock:
			end := h.withSessionLock(m).LockedUntil
			ns.unlock(now, h, m, EventLockLost, "")
			// If its deliveries were exhausted when the lock ended, this takes precedence, even
			// if the message has expired since (DC-4).
			if Judge(h.terms, m.Message, end) == DeadLetterExhausted {
				ns.deadLetter(now, h, m, maxDeliveryCountExceeded(h.terms.MaxDeliveries))
				return false
			}
		case Drop:
			ns.drop(m)
			ns.changes.hard = true
			ns.event(EventExpired, now, m, h, "", "")
			return false
		case DeadLetterExpired:
			ns.deadLetter(now, h, m, &Extra{Reason: ReasonExpired, Description: "The message expired and was dead lettered."})
			return false
		case DeadLetterExhausted:
			ns.deadLetter(now, h, m, maxDeliveryCountExceeded(h.terms.MaxDeliveries))
			return false
		}
	}
}

// freeDeleted frees up to limit messages of a deleted subqueue; the store drops them with the
// subqueue.
func (ns *Namespace) freeDeleted(limit int) (done int) {
	h := ns.freeing[0]
	var gone []*message
	for m := range h.order.from(1) {
		if len(gone) == limit {
			break
		}
		gone = append(gone, m)
	}
	for _, m := range gone {
		delete(ns.messages, m.Key)
		h.order.drop(m.Seq)
		ns.account.add(-ns.sizer.message(m.Extra))
		ns.dropReference(m.content)
	}
	if h.order.len() == 0 {
		ns.freeing = ns.freeing[1:]
		ns.account.add(-h.account.bytes) // its indexes are freed with it
	}
	return len(gone) + 1
}

// dueSubqueues is a heap of subqueues by dueAt.
type dueSubqueues []*subqueue

// fix moves h to the position for h.dueAt, or removes it from the heap if that is zero.
func (d *dueSubqueues) fix(h *subqueue) {
	switch {
	case h.dueAt <= 0:
		d.remove(h)
	case h.heapIndex < 0:
		heap.Push(d, h)
	default:
		heap.Fix(d, h.heapIndex)
	}
}

func (d *dueSubqueues) remove(h *subqueue) {
	if h.heapIndex >= 0 {
		heap.Remove(d, h.heapIndex)
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d dueSubqueues) Len() int           { return len(d) }
func (d dueSubqueues) Less(i, j int) bool { return d[i].dueAt < d[j].dueAt }
func (d dueSubqueues) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].heapIndex, d[j].heapIndex = i, j
}

// Push implements heap.Interface.
func (d *dueSubqueues) Push(x any) {
	h := x.(*subqueue) //nolint:forcetypeassert // only holders are pushed
	h.heapIndex = len(*d)
	*d = append(*d, h)
}

// Pop implements heap.Interface.
func (d *dueSubqueues) Pop() any {
	old := *d
	h := old[len(old)-1]
	h.heapIndex = -1
	*d = old[:len(old)-1]
	return h
}

// Upcoming contains, by kind, the times of the next changes that need no request; zero means never.
type Upcoming struct {
	Expiry     Instant // a message expires
	Activation Instant // a scheduled message becomes available
	Unlock     Instant // a message's lock expires; locks of sessions are not included
	AutoDelete Instant // an entity deletes itself, if it stays unused
}

// Upcoming returns when the next change of each kind is due. Where many messages are scheduled and
// few are locked, or vice versa, it takes time in proportion to the larger number.
func (ns *Namespace) Upcoming() (u Upcoming) {
	for _, h := range ns.subqueues {
		if a, ok := h.expiring.first(); ok {
			u.Expiry = earlier(u.Expiry, a.at)
		}
		activation, unlock := h.upcoming()
		u.Activation, u.Unlock = earlier(u.Activation, activation), earlier(u.Unlock, unlock)
	}
	for _, i := range ns.IdleEntities(Forever) {
		u.AutoDelete = earlier(u.AutoDelete, i.DeletesAt)
	}
	return u
}

// upcoming returns when the next of h's messages is activated, and unlocked.
func (h *subqueue) upcoming() (activation, unlock Instant) {
	for _, chunk := range h.pending.chunks {
		for _, a := range chunk {
			m := h.order.at(a.seq)
			switch {
			case m == nil:
				continue
			case m.State == Scheduled:
				activation = earlier(activation, a.at)
			default:
				unlock = earlier(unlock, a.at)
			}
			if activation != 0 && unlock != 0 {
				return activation, unlock
			}
		}
	}
	return activation, unlock
}
