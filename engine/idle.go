package engine

import "time"

// idleResetPeriod is how often the idle clock of an entity with an open receiver is reset, and the
// resolution of the stored LastUsed (IDLE-17).
const idleResetPeriod = 10 * time.Second

// Activity is the input of the idle rules for an entity (semantics §10).
type Activity struct {
	LastUsed  Instant
	Receivers int   // receivers with credit or waiting for a session, at the entity or, for a topic, its subscriptions (IDLE-8)
	Scheduled int64 // messages waiting for their time (IDLE-9)
}

// KeptAlive reports whether a receiver or a scheduled message keeps the entity from being idle.
func (a Activity) KeptAlive() bool { return a.Receivers > 0 || a.Scheduled > 0 }

// JudgeIdle decides whether an entity deletes itself at now, and if not when to check again; zero
// means that only an operation can change the answer.
func JudgeIdle(c Config, a Activity, now Instant) (gone bool, next Instant) {
	switch {
	case c.AutoDeleteOnIdle == 0 || c.ForwardTo != "": // IDLE-12
		return false, 0
	case a.Receivers > 0:
		return false, now.Add(idleResetPeriod)
	case a.Scheduled > 0:
		return false, 0
	}
	at := a.LastUsed.Add(c.AutoDeleteOnIdle)
	return at.Passed(now), at
}

func (e *entity) activity() Activity {
	return Activity{LastUsed: e.main.meter.LastUsed, Receivers: e.credit, Scheduled: e.main.count[classScheduled]}
}

// A Use is an entry in an entity's use history.
type Use struct {
	At      Instant
	What    string
	By      string
	Counted bool // whether it reset the idle clock
}

// A useLog holds the latest uses of a temporary entity, in memory only.
type useLog struct {
	uses [20]Use
	n    int
}

func (l *useLog) add(u Use) { l.uses[l.n%len(l.uses)], l.n = u, l.n+1 }

// list returns the uses, latest first.
func (l *useLog) list() []Use {
	var out []Use
	for i := l.n - 1; i >= 0 && i >= l.n-len(l.uses); i-- {
		out = append(out, l.uses[i%len(l.uses)])
	}
	return out
}

// touch resets the idle clocks of e and of its topic (IDLE-2 … IDLE-4), and adds to the use history
// of each that deletes itself when idle.
func (ns *Namespace) touch(now Instant, e *entity, what, by string) {
	for ; e != nil; e = e.topic {
		if e.Config.Effective().AutoDeleteOnIdle != 0 {
			e.useLog.add(Use{now, what, by, true})
		}
		if m := e.main.meter; now > m.LastUsed {
			m.LastUsed = now
			if now.Sub(e.main.usedAt) >= idleResetPeriod {
				e.main.usedAt = now
				ns.meter(e.main, m)
			} else {
				e.main.meter = m // the stored time is less than idleResetPeriod earlier
			}
		}
		ns.setIdleAlarm(now, e)
	}
}

// accessed is touch for sends and attached receivers, which also set AccessedAt (RT-2).
func (ns *Namespace) accessed(now Instant, e *entity, what, by string) {
	m := e.main.meter
	m.AccessedAt = now
	e.main.meter = m
	ns.touch(now, e, what, by)
}

// RecordView adds to the use history that an operator looked at the entity. This does not count as
// a use (IDLE-7).
func (ns *Namespace) RecordView(now Instant, p Path, what, by string) {
	if e, err := ns.entity(p); err == nil && e.Config.Effective().AutoDeleteOnIdle != 0 {
		e.useLog.add(Use{now, what, by, false})
	}
}

// setIdleAlarm sets e's idle alarm to the time at which JudgeIdle is to be called again.
func (ns *Namespace) setIdleAlarm(now Instant, e *entity) {
	_, next := JudgeIdle(e.Config, e.activity(), now)
	if next != e.idleAt {
		e.idleAt = next
		ns.reschedule(e.main)
	}
}

// expireIdle deletes e if it is idle, and sets its next alarm otherwise. If messages of e wait for
// memory to be forwarded, it resets the idle clock instead.
func (ns *Namespace) expireIdle(now Instant, e *entity) {
	a := e.activity()
	gone, next := JudgeIdle(e.Config, a, now)
	if gone && e.forwardsWait() {
		ns.touch(now, e, "forward", "")
		return
	}
	if gone {
		ns.deleteEntity(now, e, EventEntityAutoDeleted, "")
		return
	}
	if a.Receivers > 0 { // so that after a crash the stored last use is recent
		m := e.main.meter
		m.LastUsed = now
		ns.meter(e.main, m)
	}
	e.idleAt = next
	ns.reschedule(e.main)
}

// An IdleEntity is an entity that deletes itself if it stays unused.
type IdleEntity struct {
	Path      Path
	DeletesAt Instant
}

// IdleEntities returns the entities that delete themselves by until if they stay unused, sorted by
// path.
func (ns *Namespace) IdleEntities(until Instant) (all []IdleEntity) {
	for _, e := range ns.sorted() {
		idle := e.Config.Effective().AutoDeleteOnIdle
		if idle == 0 || e.Config.ForwardTo != "" || e.activity().KeptAlive() {
			continue
		}
		if at := e.main.meter.LastUsed.Add(idle); at <= until {
			all = append(all, IdleEntity{e.Path, at})
		}
	}
	return all
}
