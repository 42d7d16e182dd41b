package engine

// A BatchDelete removes the oldest active messages that were enqueued at or
// before an instant (BDEL-1 … BDEL-7). Locked, deferred and scheduled ones stay,
// and so does what came, or died, after it began. It is done in slices, so that
// however many do not qualify, or have expired, nobody waits for all of them.
type BatchDelete struct {
	Deleted int
	Done    bool

	path   Path
	holder HolderID
	count  int     // how many to remove at the most
	before Instant // when the last of them was enqueued
	from   Seq     // where the next slice begins
	bound  Seq     // exclusive
	began  Instant // dead letters that died later stay, whatever their number
	client string
}

// BeginBatchDelete decides whether up to count messages may be removed from p,
// and which. It is use of the entity (BDEL-7).
func (ns *Namespace) BeginBatchDelete(now Instant, p Path, count int, before Instant, client string) (BatchDelete, error) {
	h, err := ns.openFor(p)
	if err != nil {
		return BatchDelete{}, err
	}
	if count <= 0 || int64(count) > ns.limits.BatchDelete {
		return BatchDelete{}, refuse(ErrOutOfRange, "The number of messages to delete must be between 1 and %d, not %d.", ns.limits.BatchDelete, count)
	}
	ns.touch(now, h.entity, "batch delete", client)
	ns.catchUp(now, h)
	return BatchDelete{path: p, holder: h.id, count: count, before: before, from: 1, bound: h.entity.main.meter.NextSeq, began: now, client: client}, nil
}

// BatchDeleteSlice goes on with d, looking at up to limit more messages.
func (ns *Namespace) BatchDeleteSlice(now Instant, d *BatchDelete, limit int) error {
	h := ns.holders[d.holder]
	switch {
	case h == nil:
		return notFound(d.path)
	case !h.entity.Config.Status.receives():
		return disabledReceive(h)
	}
	looked := 0
	for m := range h.readyFrom(d.from) {
		if m.Seq >= d.bound || d.Deleted == d.count {
			d.Done = true
			return nil
		}
		if looked++; looked > limit {
			return nil
		}
		d.from = m.Seq + 1
		if m.EnqueuedAt > d.before || m.Extra != nil && m.Extra.DeadAt > d.began || !ns.settleDue(now, h, m) { // or it had expired
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

// BatchDelete is all of a BatchDelete in one step, and says how many went.
func (ns *Namespace) BatchDelete(now Instant, p Path, count int, before Instant, client string) (int, error) {
	d, err := ns.BeginBatchDelete(now, p, count, before, client)
	for err == nil && !d.Done {
		err = ns.BatchDeleteSlice(now, &d, maxDueInStep)
	}
	return d.Deleted, err
}
