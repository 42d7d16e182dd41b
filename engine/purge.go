package engine

import "slices"

// A Purge removes the messages of some classes that were there when it began
// (OPS-7). It is done in slices; locked messages are passed over. Each message
// is counted once at most.
type Purge struct {
	Path    Path
	Classes []Class // ClassActive, ClassDeferred, ClassScheduled
	Only    *Sieve  // those it picks; nil: all. Set it before the first slice
	Bound   Seq     // exclusive; messages with this number or a later one survive
	Before  Instant // dead letters that died later survive, whatever their number
	From    Seq     // where the next slice begins
	Removed int64   // of a count: how many would be
	Skipped int64   // locked ones that would have gone
	Failed  int64   // Only could not be evaluated for them, locked or not
	Spared  int64   // Only is not true of them, and they are not locked
	Seen    int64   // those of Classes that were looked at; locked ones are of none
	Done    bool
	First   []Key // of a count: the first few that would be removed

	holder HolderID // of Path when it began: who comes after it under that name is spared
}

// PlanPurge fixes what a purge may remove, and changes nothing.
func (ns *Namespace) PlanPurge(now Instant, p Path, classes []Class) (Purge, error) {
	h, err := ns.holder(p)
	if err != nil {
		return Purge{}, err
	}
	return Purge{Path: p, Classes: classes, Bound: h.entity.main.meter.NextSeq, Before: now, From: 1, holder: h.id}, nil
}

// BeginPurge is PlanPurge for a purge that is going to be done: what time has
// done to locked and scheduled messages is settled first.
func (ns *Namespace) BeginPurge(now Instant, p Path, classes []Class) (Purge, error) {
	h, err := ns.holder(p)
	if err != nil {
		return Purge{}, err
	}
	ns.catchUp(now, h)
	return ns.PlanPurge(now, p, classes)
}

// PurgeSlice looks at up to limit more messages, removes those of them that are
// to go, and moves pg on.
func (ns *Namespace) PurgeSlice(now Instant, pg *Purge, limit int, actor string) error {
	h := ns.holders[pg.holder]
	if h == nil {
		return notFound(pg.Path)
	}
	var victims []*message
	for _, m := range pg.slice(h, limit) {
		switch {
		case m.Locked() && !h.present(m).LockedUntil.Passed(now):
			pg.skip(m)
		case m.Locked() || pg.wants(m.Message):
			victims = append(victims, m)
		}
	}
	removed := int64(0)
	for _, m := range victims {
		if ns.settleDue(now, h, m) && pg.wants(m.Message) && pg.picks(m) {
			ns.drop(m)
			removed++
		}
	}
	if removed > 0 {
		pg.Removed += removed
		ns.touch(now, h.entity, "purge", actor)
		ns.events = append(ns.events, Event{
			Kind: EventPurged, At: now, Holder: h.id, Path: h.path, Actor: actor, Reason: pg.Only.brief(), Count: removed,
		})
		ns.audit(&ns.events[len(ns.events)-1])
	}
	return nil
}

// CountSlice looks at up to limit more messages, counts what PurgeSlice would
// do to them, and moves pg on. It changes nothing and is no use of the entity
// (IDLE-7): what time has done to them is seen and not settled.
func (ns *Namespace) CountSlice(now Instant, pg *Purge, limit int) error {
	h := ns.holders[pg.holder]
	if h == nil {
		return notFound(pg.Path)
	}
	for _, m := range pg.slice(h, limit) {
		is := h.present(m)
		verdict := Judge(h.terms, is, now)
		if verdict == Unlock {
			is.LockedUntil, is.DeliveryCount = 0, is.DeliveryCount+1
			verdict = Judge(h.terms, is, now)
		}
		switch {
		case verdict != Keep: // it is gone as soon as somebody looks
		case is.Locked():
			pg.skip(m)
		case pg.wants(is) && pg.picks(m):
			if pg.Removed++; len(pg.First) < firstOfPurge {
				pg.First = append(slices.Clip(pg.First), m.Key)
			}
		}
	}
	return nil
}

// firstOfPurge is how many messages a count names.
const firstOfPurge = 5

// slice are those of the next limit messages that were there when pg began, and
// moves pg on. What that costs is bounded by limit, whatever becomes of them.
func (pg *Purge) slice(h *holder, limit int) (found []*message) {
	looked := 0
	pg.Done = true
	for m := range h.order.from(pg.From) {
		if m.Seq >= pg.Bound {
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

func (pg *Purge) wants(m Message) bool {
	return slices.Contains(pg.Classes, Class(classOf(m))+ClassActive)
}

// picks tells whether a message of the classes is to go, and counts it if not.
func (pg *Purge) picks(m *message) bool {
	pg.Seen++
	picked, err := pg.Only.picks(m)
	switch {
	case err != nil:
		pg.Failed++
	case !picked:
		pg.Spared++
	}
	return picked
}

// skip counts a locked message, if it would have gone.
func (pg *Purge) skip(m *message) {
	switch picked, err := pg.Only.picks(m); {
	case err != nil:
		pg.Failed++
	case picked:
		pg.Skipped++
	}
}
