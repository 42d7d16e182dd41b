package engine

import "slices"

// A savepoint is a point between steps since the last Seal, to which undoTo can return. It is
// valid until the next Seal.
type savepoint struct {
	log                                    int
	events, accepted, deliveries, ended    int
	messages, contents, garbage, deletions int
	hard                                   bool
}

// savepoint returns a savepoint for the present state.
func (ns *Namespace) savepoint() savepoint {
	c := &ns.changes
	return savepoint{
		log: len(c.log), events: len(ns.events), accepted: len(ns.effects.Accepted), deliveries: len(ns.effects.Deliveries), ended: len(ns.effects.Ended),
		messages: len(c.messages), contents: len(c.contents), garbage: len(c.garbage), deletions: len(c.deleted),
		hard: c.hard,
	}
}

// undoTo undoes the effects of the steps since a savepoint: changes of records and their indexes,
// events, deliveries, ended links, and the need for durability. Idle clocks are not set back.
// Its cost is proportional to the number of changes; but if entities or rules were added, removed
// or changed, it visits all entities.
func (ns *Namespace) undoTo(to savepoint) {
	c := &ns.changes
	all := false
	used := map[*entity]struct{}{}
	var before savedRanks
	for _, u := range slices.Backward(c.log[to.log:]) {
		ns.undo(u)
		switch {
		case u.kind == undoTransaction, u.kind == undoSetting: // does not concern entities
		case u.kind == undoRank:
			before.save(u.h.sessions, u.rank)
		case u.h != nil:
			used[u.h.entity] = struct{}{}
		case u.kind == undoOther:
			all = true
		case u.link != nil:
			used[u.link.subqueue.entity] = struct{}{}
		case u.m != nil:
			if h := ns.subqueues[u.m.Subqueue]; h != nil {
				used[h.entity] = struct{}{}
			}
		}
	}
	before.restore()
	c.log = truncated(c.log, to.log)
	ns.events = truncated(ns.events, to.events)
	ns.effects.Accepted = truncated(ns.effects.Accepted, to.accepted)
	ns.effects.Deliveries = truncated(ns.effects.Deliveries, to.deliveries)
	ns.effects.Ended = truncated(ns.effects.Ended, to.ended)
	c.deleted = truncated(c.deleted, to.deletions)
	c.hard = to.hard
	ns.dropUndone(to)
	if all {
		for _, e := range ns.entities {
			used[e] = struct{}{}
		}
	}
	for e := range used { // what kept it in use, or its last use, may have changed
		for ; e != nil; e = e.topic {
			if e.Config.AutoDeleteOnIdle != 0 && ns.subqueues[e.ID] == e.main {
				e.idleAt = 1
				ns.reschedule(e.main)
			}
		}
	}
}

// undo restores one before-image. It calls the functions that the mutators call too, so that the
// indexes follow the records.
func (ns *Namespace) undo(u undo) {
	switch u.kind {
	case undoInsert:
		ns.unindexMessage(u.m)
	case undoPut:
		ns.replace(u.m, u.before)
		ns.undoLock(u)
	case undoDrop:
		u.m.Message = u.before
		ns.indexMessage(u.m)
		ns.undoLock(u)
	case undoMeter:
		u.h.meter, u.h.usedAt = u.meter, 0 // the stored values must be written again
		ns.changes.markMeter(u.h)
	case undoCredit:
		u.link.served, u.link.next = u.served, u.next
		u.link.setCredit(ns, u.credit)
		switch h := u.link.subqueue; {
		case (h.sessions == nil || u.link.Mode == PeekOnly) && u.credit > 0:
			ns.requestMatch(h)
		case u.link.session != nil:
			ns.offer(h, u.link.session)
		}
	case undoPin:
		u.pinned.pins--
	case undoSeen:
		ns.undoRemember(u.h.entity, u.seen)
	case undoRank: // undoTo restores ranks at the end
	case undoTransaction, undoSetting, undoOther:
		u.other()
	}
}

// undoLock restores the details of the lock that a message had before the change u.
func (ns *Namespace) undoLock(u undo) {
	h := ns.subqueues[u.m.Subqueue]
	if u.lock == (Lock{}) {
		h.dropLockDetails(u.m.Key) // a lock from before a restart that has not been renewed
		return
	}
	h.setLockDetails(u.m.Key, u.lock)
}

// dropUndone drops messages and contents that were added after a savepoint and are undone. Above
// all it drops their bodies, which would fill memory while a store refuses batches for hours.
// Staged bodies remain to be deleted.
func (ns *Namespace) dropUndone(to savepoint) {
	c := &ns.changes
	c.messages = deleteFrom(c.messages, to.messages, func(m *message) bool {
		if ns.messages[m.Key] == m {
			return false
		}
		m.alarmFlags &^= flagDirty | flagLockOnly
		return true
	})
	c.contents = deleteFrom(c.contents, to.contents, func(k *content) bool {
		delete(c.bodies, k)
		return true
	})
	c.garbage = deleteFrom(c.garbage, to.garbage, func(k *content) bool { return k.refs == 0 && !k.stored && !k.staged })
}

// Rollback undoes every step since the last Seal, after the store refused their batch.
// Deliveries made by them, flushed or not, never happened, and their pins must not be released.
// Steps before the last Seal stay and are committed later.
func (ns *Namespace) Rollback() {
	ns.undoTo(ns.changes.sealed)
	ns.reportMemory()
}

// truncated returns the first n items of list, or all of them if there are fewer, and clears the
// others.
func truncated[T any](list []T, n int) []T {
	if n >= len(list) {
		return list
	}
	clear(list[n:])
	return list[:n]
}

// deleteFrom is slices.DeleteFunc for the items of list after the first n.
func deleteFrom[T any](list []T, n int, gone func(T) bool) []T {
	return list[:n+len(slices.DeleteFunc(list[n:], gone))]
}

// Atomically runs step and, if it returns an error, undoes its changes, except for the times of
// last use of entities.
func (ns *Namespace) Atomically(step func() error) error {
	to := ns.savepoint()
	if err := step(); err != nil {
		ns.undoTo(to)
		return err
	}
	return nil
}
