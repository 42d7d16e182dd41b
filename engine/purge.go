package engine

import (
	"slices"
)

// A Purge removes the messages of some classes that exist when it begins (OPS-7). Each call of
// PurgeSlice or CountPurgeSlice handles some of them, until Done. Locked messages are skipped. Each
// message is counted at most once.
type Purge struct {
	Path      Path
	Classes   []Class        // ClassActive, ClassDeferred, ClassScheduled
	Filter    *MessageFilter // removes only matching messages; nil removes all. Set it before the first PurgeSlice
	EndSeq    Seq            // exclusive; messages with this number or a higher one stay
	Before    Instant        // messages that were dead-lettered later stay, whatever their number
	From      Seq            // the number from which PurgeSlice continues
	Removed   int64          // when counting: how many would be removed
	Skipped   int64          // locked messages that would have been removed
	Failed    int64          // messages, locked or not, for which Filter could not be evaluated
	Unmatched int64          // messages that Filter does not match and that are not locked
	Examined  int64          // messages of Classes that were examined, without locked ones
	Done      bool
	Sample    []Key // when counting: the first few messages that would be removed

	subqueue SubqueueID // the subqueue of Path when it began; an entity created later under that path is not purged
}

// PlanPurge determines what a purge may remove, and changes nothing.
func (ns *Namespace) PlanPurge(now Instant, p Path, classes []Class) (Purge, error) {
	h, err := ns.subqueue(p)
	if err != nil {
		return Purge{}, err
	}
	return Purge{Path: p, Classes: classes, EndSeq: h.entity.main.meter.NextSeq, Before: now, From: 1, subqueue: h.id}, nil
}

// BeginPurge is PlanPurge for a purge that will be executed: it first makes the changes of locked
// and scheduled messages that are due.
func (ns *Namespace) BeginPurge(now Instant, p Path, classes []Class) (Purge, error) {
	h, err := ns.subqueue(p)
	if err != nil {
		return Purge{}, err
	}
	ns.catchUp(now, h)
	return ns.PlanPurge(now, p, classes)
}

// PurgeSlice examines up to limit more messages, removes the matching ones, and advances pg.
func (ns *Namespace) PurgeSlice(now Instant, pg *Purge, limit int, actor string) error {
	h := ns.subqueues[pg.subqueue]
	if h == nil {
		return notFound(pg.Path)
	}
	var victims []*message
	for _, m := range pg.slice(h, limit) {
		switch {
		case m.Locked() && !h.withSessionLock(m).LockedUntil.Passed(now):
			pg.skip(m)
		case m.Locked() || pg.inClasses(m.Message):
			victims = append(victims, m)
		}
	}
	removed := int64(0)
	for _, m := range victims {
		if ns.applyVerdict(now, h, m) && pg.inClasses(m.Message) && pg.matches(m) {
			ns.drop(m)
			removed++
		}
	}
	if removed > 0 {
		pg.Removed += removed
		ns.touch(now, h.entity, "purge", actor)
		ns.events = append(ns.events, Event{
			Kind: EventPurged, At: now, Subqueue: h.id, Path: h.path, Actor: actor, Reason: pg.Filter.summary(), Count: removed,
		})
		ns.audit(&ns.events[len(ns.events)-1])
	}
	return nil
}

// CountPurgeSlice examines up to limit more messages, counts those that PurgeSlice would remove or
// skip, and advances pg. It changes nothing and is not a use of the entity (IDLE-7): changes of
// messages that are due are considered, but not made.
func (ns *Namespace) CountPurgeSlice(now Instant, pg *Purge, limit int) error {
	h := ns.subqueues[pg.subqueue]
	if h == nil {
		return notFound(pg.Path)
	}
	for _, m := range pg.slice(h, limit) {
		is := h.withSessionLock(m)
		verdict := Judge(h.terms, is, now)
		if verdict == Unlock {
			is.LockedUntil, is.DeliveryCount = 0, is.DeliveryCount+1
			verdict = Judge(h.terms, is, now)
		}
		switch {
		case verdict != Keep: // the change that is due takes it out of the purge
		case is.Locked():
			pg.skip(m)
		case pg.inClasses(is) && pg.matches(m):
			if pg.Removed++; len(pg.Sample) < purgeSample {
				pg.Sample = append(slices.Clip(pg.Sample), m.Key)
			}
		}
	}
	return nil
}

// purgeSample is how many messages a count lists in Sample.
const purgeSample = 5

// slice visits the next `limit` messages of h and returns those that were there when pg began. It
// advances pg.From, and sets pg.Done if there are no more.
func (pg *Purge) slice(h *subqueue, limit int) (found []*message) {
	looked := 0
	pg.Done = true
	for m := range h.order.from(pg.From) {
		if m.Seq >= pg.EndSeq {
			break
		}
		if looked++; looked > limit {
			pg.Done = false
			break
		}
		pg.From = m.Seq + 1
		if m.Extra == nil || !h.dead || m.Extra.DeadAt <= pg.Before {
			found = append(found, m)
		}
	}
	return found
}

func (pg *Purge) inClasses(m Message) bool {
	return slices.Contains(pg.Classes, Class(classOf(m))+ClassActive)
}

// matches reports whether Filter matches a message, and counts the message.
func (pg *Purge) matches(m *message) bool {
	pg.Examined++
	picked, err := pg.Filter.matches(m)
	switch {
	case err != nil:
		pg.Failed++
	case !picked:
		pg.Unmatched++
	}
	return picked
}

// skip counts a locked message that would have been removed.
func (pg *Purge) skip(m *message) {
	switch picked, err := pg.Filter.matches(m); {
	case err != nil:
		pg.Failed++
	case picked:
		pg.Skipped++
	}
}

// A BatchDelete removes the oldest active messages that were enqueued at or before an instant
// (BDEL-1 … BDEL-8). Locked, deferred and scheduled messages stay, and so do messages that
// arrived, or were dead-lettered, after it began. Each call of BatchDeleteSlice examines a limited
// number of messages, until Done, so that other requests do not wait while many messages are skipped
// that do not qualify or have expired.
type BatchDelete struct {
	Deleted int
	Done    bool

	path     Path
	subqueue SubqueueID
	count    int     // the maximum number of messages to remove
	before   Instant // only messages enqueued at or before this are removed
	from     Seq     // the number from which BatchDeleteSlice continues
	bound    Seq     // messages with this number or a higher one stay
	began    Instant // messages that were dead-lettered later stay, whatever their number
	client   string
	link     LinkID // the receiver whose session's messages are removed; zero for those of all sessions
}

// BeginBatchDelete checks whether up to count messages may be removed from p and returns the
// operation. It counts as use of the entity (BDEL-7).
func (ns *Namespace) BeginBatchDelete(now Instant, p Path, count int, before Instant, client string) (BatchDelete, error) {
	h, err := ns.receiveFrom(p)
	if err != nil {
		return BatchDelete{}, err
	}
	return ns.beginBatchDelete(now, h, BatchDelete{path: p, count: count, before: before, client: client})
}

// BeginSessionBatchDelete is BeginBatchDelete for the messages of the session that the
// receiver `id` holds; other sessions' messages stay (BDEL-8). Without the session's lock it
// returns ErrSessionLockLost.
func (ns *Namespace) BeginSessionBatchDelete(now Instant, id LinkID, count int, before Instant) (BatchDelete, error) {
	l, _, err := ns.sessionOfLink(now, id)
	if err != nil {
		return BatchDelete{}, err
	}
	return ns.beginBatchDelete(now, l.subqueue, BatchDelete{path: l.subqueue.path, count: count, before: before, client: l.Client, link: id})
}

func (ns *Namespace) beginBatchDelete(now Instant, h *subqueue, d BatchDelete) (BatchDelete, error) {
	if count := d.count; count <= 0 || int64(count) > ns.limits.BatchDelete {
		return BatchDelete{}, Refuse(ErrOutOfRange, "The number of messages to delete must be between 1 and %d, not %d.", ns.limits.BatchDelete, count)
	}
	ns.touch(now, h.entity, "batch delete", d.client)
	ns.catchUp(now, h)
	d.subqueue, d.from, d.bound, d.began = h.id, 1, h.entity.main.meter.NextSeq, now
	return d, nil
}

// BatchDeleteSlice continues d: it examines up to limit more messages.
func (ns *Namespace) BatchDeleteSlice(now Instant, d *BatchDelete, limit int) error {
	h := ns.subqueues[d.subqueue]
	switch {
	case h == nil:
		return notFound(d.path)
	case !h.entity.Config.Status.receives():
		return receiveDisabled(h)
	}
	ready := h.readyFrom(d.from)
	if d.link != 0 {
		_, s, err := ns.sessionOfLink(now, d.link)
		if err != nil {
			return err
		}
		ready = s.order.readyFrom(d.from)
	}
	looked := 0
	for m := range ready {
		if m.Seq >= d.bound || d.Deleted == d.count {
			d.Done = true
			return nil
		}
		if looked++; looked > limit {
			return nil
		}
		d.from = m.Seq + 1
		if m.EnqueuedAt > d.before || m.Extra != nil && m.Extra.DeadAt > d.began || !ns.applyVerdict(now, h, m) { // applyVerdict returns false if m had expired
			continue
		}
		ns.drop(m)
		ns.event(EventDeleted, now, m, h, d.client, "batch delete")
		ns.changes.hard = true
		d.Deleted++
	}
	d.Done = true
	return nil
}

// BatchDelete runs a whole BatchDelete in one step, and returns how many messages it removed.
func (ns *Namespace) BatchDelete(now Instant, p Path, count int, before Instant, client string) (int, error) {
	d, err := ns.BeginBatchDelete(now, p, count, before, client)
	for err == nil && !d.Done {
		err = ns.BatchDeleteSlice(now, &d, maxDuePerStep)
	}
	return d.Deleted, err
}
