package engine

import "container/heap"

// sliceOfHolder is how many alarms of one holder are served before another
// holder has its turn.
const sliceOfHolder = 64

// NextDue is when Sweep next has something to do; zero: never.
func (ns *Namespace) NextDue() Instant {
	if len(ns.turn)+len(ns.dying)+len(ns.hungry) > 0 {
		return 1
	}
	if len(ns.due) == 0 {
		return ns.transactions.next()
	}
	return earlier(ns.due[0].at, ns.transactions.next())
}

// Sweep does what is due and nobody has asked for, at most about work changes,
// and tells whether more is due. Every step judges what it touches (TTL-31), so
// that who asks is answered the same without it, but for three things: messages
// are forwarded (§11), and entities delete themselves when they are idle (§10),
// in a Sweep alone; and who waits, for a message, for a session or to hear that
// a session's lock has run out, is told of what time alone has done by one.
func (ns *Namespace) Sweep(now Instant, work int) (more bool) {
	work -= ns.endOverdue(now, (work+1)/2) // neither they nor the places wait for all of the others
	for ns.gather(now); work > 0 && len(ns.turn) > 0; ns.gather(now) {
		h := ns.turn[0]
		ns.turn = ns.turn[1:]
		if ns.holders[h.id] != h {
			h.inTurn = false
			continue
		}
		work -= ns.serve(now, h, min(work, sliceOfHolder))
		if ns.holders[h.id] == h && h.next().Passed(now) {
			ns.turn = append(ns.turn, h)
			continue
		}
		h.inTurn, h.at = false, 0
		if ns.holders[h.id] == h {
			ns.reschedule(h)
		}
	}
	for work > 0 && len(ns.dying) > 0 {
		work -= ns.bury(work)
	}
	ns.endOverdue(now, work)
	return ns.transactions.next().Passed(now) || len(ns.turn) > 0 || len(ns.dying) > 0 || len(ns.due) > 0 && ns.due[0].at.Passed(now)
}

// gather gives those a turn where something is due by now: what was just
// forwarded goes on from where it is.
func (ns *Namespace) gather(now Instant) {
	for len(ns.due) > 0 && ns.due[0].at.Passed(now) {
		h := ns.due[0]
		ns.due.remove(h)
		h.inTurn = true
		ns.turn = append(ns.turn, h)
	}
}

// serve acts on up to limit of h's due alarms and returns how many it acted on.
func (ns *Namespace) serve(now Instant, h *holder, limit int) (done int) {
	if h.rejudge != 0 {
		done += h.setAlarms(limit)
	}
	for _, set := range []*alarms{&h.pending, &h.expiring} {
		for done < limit {
			a, ok := set.first()
			if !ok || !a.at.Passed(now) {
				break
			}
			ns.settleDue(now, h, h.order.at(a.seq))
			done += h.worth()
		}
	}
	for more := 1; more > 0 && done < limit; done += more {
		more = ns.loseDue(now, h, limit-done)
	}
	if !h.dead && h.entity.lapseAt().Passed(now) {
		ns.lapse(now, h.entity)
		done++
	}
	done += ns.forwardDue(now, h, limit-done)
	if !h.dead && h.entity.idleAt.Passed(now) {
		ns.expireIdle(now, h.entity)
		done++
	}
	return max(done, 1)
}

// worth is how many changes one of h's alarms may make: at a topic a copy for
// each subscription.
func (h *holder) worth() int { return 1 + len(h.entity.subs) }

// setAlarms goes on setting alarms anew after a change of terms.
func (h *holder) setAlarms(limit int) (done int) {
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

// settleDue applies what time has done to m, and tells whether m is still in
// h afterwards.
func (ns *Namespace) settleDue(now Instant, h *holder, m *message) (stays bool) {
	for {
		switch v := Judge(h.terms, h.present(m), now); v {
		case Keep:
			h.setAlarm(m)
			return true
		case Activate:
			ns.activate(now, h, m)
			return false
		case Unlock:
			end := h.present(m).LockedUntil
			ns.unlock(now, h, m, EventLockLost, "")
			// It wore out at that moment, even if by now it has expired as well (DC-4).
			if Judge(h.terms, m.Message, end) == DeadLetterExhausted {
				ns.deadLetter(now, h, m, exhausted(h.terms.Deliveries))
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
			ns.deadLetter(now, h, m, exhausted(h.terms.Deliveries))
			return false
		}
	}
}

// bury lets go of the messages of a deleted entity, a slice at a time; the
// store drops them by their holder.
func (ns *Namespace) bury(limit int) (done int) {
	h := ns.dying[0]
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
		if m.content.refs--; m.content.refs == 0 {
			ns.changes.discard(m.content)
		}
	}
	if h.order.len() == 0 {
		ns.dying = ns.dying[1:]
	}
	return len(gone) + 1
}

// dueHolders is a heap of holders by when something is due there.
type dueHolders []*holder

// fix puts h where h.at belongs, out of the heap if that is zero.
func (d *dueHolders) fix(h *holder) {
	switch {
	case h.at <= 0:
		d.remove(h)
	case h.place < 0:
		heap.Push(d, h)
	default:
		heap.Fix(d, h.place)
	}
}

func (d *dueHolders) remove(h *holder) {
	if h.place >= 0 {
		heap.Remove(d, h.place)
	}
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (d dueHolders) Len() int           { return len(d) }
func (d dueHolders) Less(i, j int) bool { return d[i].at < d[j].at }
func (d dueHolders) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push implements heap.Interface.
func (d *dueHolders) Push(x any) {
	h := x.(*holder) //nolint:forcetypeassert // heap hands back what was pushed
	h.place = len(*d)
	*d = append(*d, h)
}

// Pop implements heap.Interface.
func (d *dueHolders) Pop() any {
	old := *d
	h := old[len(old)-1]
	h.place = -1
	*d = old[:len(old)-1]
	return h
}
