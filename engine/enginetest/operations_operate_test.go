package enginetest

import (
	"slices"

	"mayfly/engine"
)

func (x *walk) move(operation string) {
	m := x.target(operation)
	to, keep := "", operation == "copy"
	if operation != "move back" && !x.chance(10) {
		to = x.any()
		if x.chance(3) {
			to += "/$DeadLetterQueue"
		}
	}
	drop := x.chance(30)
	x.logf("%s %s #%d to %q, drop %v", operation, m.path(), m.seq, to, drop)
	seq, err := x.ns.Move(x.now(), engine.Move{Key: engine.Key(m.key), To: engine.Path(to), Copy: keep, DropDuplicate: drop}, "operator")
	if errIs(err, engine.ErrQuota) {
		x.w.limits.entitySize = 0 // bytes that settlements added count too
		defer func() { x.w.limits.entitySize = x.limits.EntitySize }()
	}
	have, code := x.w.move(m, to, keep, drop)
	if x.expect(err, code) && int64(seq) != have {
		x.failf("moved to #%d, the model says %d", seq, have)
	}
}

func (x *walk) extend() {
	m := x.target("extend")
	to := x.w.now + one[int64](x, -1, 0, 1, 1000, 1000, 50_000, 50_000, lastInstant-x.w.now)
	x.logf("extend %s #%d to %d", m.path(), m.seq, to-begin)
	x.expect(x.ns.Extend(x.now(), engine.Key(m.key), engine.Instant(to), "operator"), x.w.extend(m, to))
}

func (x *walk) giveBack() {
	m := x.target("return")
	x.logf("return %s #%d", m.path(), m.seq)
	x.expect(x.ns.ReturnToActive(x.now(), engine.Key(m.key), "operator"), x.w.giveBack(m))
}

func (x *walk) deadLetterOne() {
	m := x.target("dead-letter one")
	reason := one(x, "", "operator", "much too long")
	x.logf("dead-letter %s #%d, %q", m.path(), m.seq, reason)
	x.expect(x.ns.DeadLetterMessage(x.now(), engine.Key(m.key), reason, "", "operator"), x.w.deadLetterOne(m, reason, ""))
}

func (x *walk) deleteOne() {
	m := x.target("delete one")
	x.logf("delete %s #%d", m.path(), m.seq)
	x.expect(x.ns.DeleteMessage(x.now(), engine.Key(m.key), "operator"), x.w.deleteOne(m))
}

func (x *walk) breakLock() {
	m := x.target("break lock")
	x.logf("break the lock of %s #%d", m.path(), m.seq)
	x.expect(x.ns.BreakLock(x.now(), engine.Key(m.key), "operator"), x.w.breakLock(m))
}

func (x *walk) renewFor() {
	m := x.target("renew for")
	x.logf("renew the lock of %s #%d for its holder", m.path(), m.seq)
	until, err := x.ns.RenewLockFor(x.now(), engine.Key(m.key), "operator")
	have, code := x.w.renewFor(m)
	if x.expect(err, code) && int64(until) != have {
		x.failf("renewed until %d, the model says %d", until, have)
	}
}

func (x *walk) sendNow() {
	m := x.target("send now")
	x.logf("send %s #%d now", m.path(), m.seq)
	x.expect(x.ns.SendNow(x.now(), engine.Key(m.key), "operator"), x.w.sendNow(m))
}

func (x *walk) reschedule() {
	m := x.target("reschedule")
	to := x.w.now + one[int64](x, -1, 0, 1, 2000, 5000)
	x.logf("reschedule %s #%d for %d", m.path(), m.seq, to-begin)
	seq, err := x.ns.Reschedule(x.now(), engine.Key(m.key), engine.Instant(to), "operator")
	have, code := x.w.reschedule(m, to)
	if x.expect(err, code) && int64(seq) != have {
		x.failf("rescheduled as #%d, the model says %d", seq, have)
	}
}

func (x *walk) purge() {
	path := x.randomPath()
	var classes []engine.Class
	var kinds []string
	for c, k := range map[engine.Class]string{engine.ClassActive: "active", engine.ClassDeferred: "deferred", engine.ClassScheduled: "scheduled"} {
		if x.chance(40) {
			classes, kinds = append(classes, c), append(kinds, k)
		}
	}
	slices.Sort(kinds)
	x.met("purge", path)
	only, sieve := x.sieve()
	x.logf("purge %v of %s where %q", kinds, path, only.text)
	p, err := x.ns.BeginPurge(x.now(), engine.Path(path), classes)
	p.Filter = sieve
	count, begun := p, err == nil
	for begun && !count.Done {
		if err := x.ns.CountPurgeSlice(x.now(), &count, one(x, 1, 2, 100)); err != nil {
			x.failf("count a purge: %v", err)
		}
	}
	for err == nil && !p.Done {
		err = x.ns.PurgeSlice(x.now(), &p, one(x, 1, 2, 100), "operator")
	}
	m, code := x.w.purge(path, kinds, only)
	if !x.expect(err, code) {
		return
	}
	x.comparePurges(p, m)
	if count.Removed != p.Removed || count.Skipped != p.Skipped || count.Failed != p.Failed || count.Unmatched != p.Unmatched {
		x.failf("counted %+v, and did %+v", count, p)
	}
}

// sieve returns a filter for a purge, or none.
func (x *walk) sieve() (modelSieve, *engine.MessageFilter) {
	if x.chance(40) {
		return modelSieve{}, nil
	}
	only := one(x, modelSieves()...)
	sieve, err := engine.ParseMessageFilter(only.text, x.limits)
	if err != nil {
		x.failf("%q: %v", only.text, err)
	}
	return only, sieve
}

func (x *walk) comparePurges(p engine.Purge, m modelPurge) {
	if p.Removed != m.removed || p.Skipped != m.skipped || p.Failed != m.failed || p.Unmatched != m.spared || p.Done != m.done {
		x.failf("purged %+v; the model says %+v", p, m)
	}
}

// slowly is a purge in progress, in the engine and in the model. Some steps of a walk continue it.
type slowly struct {
	engine engine.Purge
	model  modelPurge
}

func (x *walk) purgeSlowly() {
	if x.slow == nil {
		path := x.randomPath()
		only, sieve := x.sieve()
		x.logf("begin to purge %s where %q", path, only.text)
		p, err := x.ns.BeginPurge(x.now(), engine.Path(path), []engine.Class{engine.ClassActive, engine.ClassScheduled})
		m, code := x.w.beginPurge(path, []string{"active", "scheduled"})
		if p.Filter, m.only = sieve, only; x.expect(err, code) {
			x.slow = &slowly{p, m}
		}
		return
	}
	limit := one(x, 1, 2, 5)
	x.logf("purge up to %d more of %s", limit, x.slow.model.path)
	err := x.ns.PurgeSlice(x.now(), &x.slow.engine, limit, "operator")
	if !x.expect(err, x.w.purgeSlice(&x.slow.model, limit)) {
		x.slow = nil
		return
	}
	x.comparePurges(x.slow.engine, x.slow.model)
	if x.slow.model.done {
		x.slow = nil
	}
}

func (x *walk) batchDelete() {
	path, count := x.randomPath(), one(x, 0, 1, 2, 4, 5)
	before := x.w.now - one[int64](x, 0, 0, 1, 2000)
	x.met("batch delete", path)
	x.logf("batch delete %d of %s before %d", count, path, before-begin)
	n, err := x.ns.BatchDelete(x.now(), engine.Path(path), count, engine.Instant(before), "client")
	have, code := x.w.batchDelete(path, count, before)
	if x.expect(err, code) && n != have {
		x.failf("deleted %d, the model says %d", n, have)
	}
}
