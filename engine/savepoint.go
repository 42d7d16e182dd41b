package engine

import "slices"

// A savepoint is how far a namespace had come at some moment since the last
// Seal: undoTo goes back there. It is good until the next Seal.
type savepoint struct {
	log                                    int
	events, accepted, deliveries, ended    int
	messages, contents, garbage, deletions int
	hard                                   bool
}

// mark is the present moment.
func (ns *Namespace) mark() savepoint {
	c := &ns.changes
	return savepoint{
		log: len(c.log), events: len(ns.events), accepted: len(ns.out.Accepted), deliveries: len(ns.out.Deliveries), ended: len(ns.out.Ended),
		messages: len(c.messages), contents: len(c.contents), garbage: len(c.garbage), deletions: len(c.deleted),
		hard: c.hard,
	}
}

// undoTo takes back what steps did since to: records and their indexes, events,
// deliveries, links that ended, and what was to be durable. That an entity was
// used is not taken back. It costs what was done since; but if entities or
// rules came, went or changed, all entities are looked at.
func (ns *Namespace) undoTo(to savepoint) {
	c := &ns.changes
	all := false
	used := map[*entity]struct{}{}
	var before ranks
	for _, u := range slices.Backward(c.log[to.log:]) {
		ns.undo(u)
		switch {
		case u.kind == undoTransaction, u.kind == undoSetting: // entities know nothing of it
		case u.kind == undoRank:
			before.had(u.h.sessions, u.stood)
		case u.h != nil:
			used[u.h.entity] = struct{}{}
		case u.kind == undoOther:
			all = true
		case u.link != nil:
			used[u.link.holder.entity] = struct{}{}
		case u.m != nil:
			if h := ns.holders[u.m.Holder]; h != nil {
				used[h.entity] = struct{}{}
			}
		}
	}
	before.restore()
	c.log = cutAt(c.log, to.log)
	ns.events = cutAt(ns.events, to.events)
	ns.out.Accepted = cutAt(ns.out.Accepted, to.accepted)
	ns.out.Deliveries = cutAt(ns.out.Deliveries, to.deliveries)
	ns.out.Ended = cutAt(ns.out.Ended, to.ended)
	c.deleted = cutAt(c.deleted, to.deletions)
	c.hard = to.hard
	ns.forget(to)
	if all {
		for _, e := range ns.entities {
			used[e] = struct{}{}
		}
	}
	for e := range used { // what kept it, or its time, may be other than it was
		for ; e != nil; e = e.topic {
			if e.Config.AutoDeleteOnIdle != 0 && ns.holders[e.ID] == e.main {
				e.idleAt = 1
				ns.reschedule(e.main)
			}
		}
	}
}

// undo puts one before-image back. It uses the mutators' inner halves, so
// indexes follow the records here too.
func (ns *Namespace) undo(u undo) {
	switch u.kind {
	case undoInsert:
		ns.unlink(u.m)
	case undoPut:
		ns.replace(u.m, u.before)
		ns.relock(u)
	case undoDrop:
		u.m.Message = u.before
		ns.link(u.m)
		ns.relock(u)
	case undoMeter:
		u.h.meter, u.h.usedAt = u.meter, 0 // what the store has is to be written again
		ns.changes.markMeter(u.h)
	case undoCredit:
		u.link.served = u.served
		u.link.setCredit(ns, u.credit)
		switch h := u.link.holder; {
		case h.sessions == nil && u.credit > 0:
			ns.feed(h)
		case u.link.session != nil:
			ns.offer(h, u.link.session)
		}
	case undoPin:
		u.pin.pins--
	case undoSeen:
		ns.forgetID(u.h.entity, u.seen)
	case undoRank: // when all is as it was, see undoTo
	case undoTransaction, undoSetting, undoOther:
		u.other()
	}
}

// relock knows again of a message's lock what was known.
func (ns *Namespace) relock(u undo) {
	h := ns.holders[u.m.Holder]
	if u.lock == (Lock{}) {
		delete(h.locks, u.m.Key) // one that began in a former process has not been renewed
		return
	}
	h.know(u.m.Key, u.lock)
}

// forget lets go of messages and contents that came after a savepoint and never
// were, bodies above all: a store may refuse for hours. Staged bodies are still
// to be dropped.
func (ns *Namespace) forget(to savepoint) {
	c := &ns.changes
	c.messages = deleteFrom(c.messages, to.messages, func(m *message) bool {
		if ns.messages[m.Key] == m {
			return false
		}
		m.marks &^= dirty | calm
		return true
	})
	c.contents = deleteFrom(c.contents, to.contents, func(k *content) bool {
		delete(c.bodies, k)
		return true
	})
	c.garbage = deleteFrom(c.garbage, to.garbage, func(k *content) bool { return k.refs == 0 && !k.stored && !k.staged })
}

// Rollback undoes every step since the last Seal, after the store refused
// their batch; deliveries made by them, flushed or not, never happened and have
// nothing to be Taken. What was answered before stays and is committed later.
func (ns *Namespace) Rollback() { ns.undoTo(ns.changes.sealed) }

// cutAt is list without what follows its first n; it may have fewer.
func cutAt[T any](list []T, n int) []T {
	if n >= len(list) {
		return list
	}
	clear(list[n:])
	return list[:n]
}

// deleteFrom is slices.DeleteFunc for what follows the first n of list.
func deleteFrom[T any](list []T, n int, gone func(T) bool) []T {
	return list[:n+len(slices.DeleteFunc(list[n:], gone))]
}
