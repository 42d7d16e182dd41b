package engine

import "time"

// holdPeriod is how often the idle clock of an entity with an open receiver is
// put back, and how coarsely its last use is remembered (IDLE-17).
const holdPeriod = 10 * time.Second

// Activity is what the idle rules need to know of an entity (semantics §10).
type Activity struct {
	LastUsed  Instant
	Receivers int   // with credit or waiting, here or for a topic at its subscriptions (IDLE-8)
	Scheduled int64 // messages waiting for their time (IDLE-9)
}

// Held tells whether something present keeps the entity from being idle.
func (a Activity) Held() bool { return a.Receivers > 0 || a.Scheduled > 0 }

// Idle decides whether an entity deletes itself at now, and if not when to
// look again; zero: only an operation can change the answer.
func Idle(c Config, a Activity, now Instant) (gone bool, next Instant) {
	switch {
	case c.AutoDeleteOnIdle == 0 || c.ForwardTo != "": // IDLE-12
		return false, 0
	case a.Receivers > 0:
		return false, now.Add(holdPeriod)
	case a.Scheduled > 0:
		return false, 0
	}
	at := a.LastUsed.Add(c.AutoDeleteOnIdle)
	return at.Passed(now), at
}

func (e *entity) activity() Activity {
	return Activity{LastUsed: e.main.meter.LastUsed, Receivers: e.credit, Scheduled: e.main.count[classScheduled]}
}

// A Use is one line of an entity's idle ledger.
type Use struct {
	At      Instant
	What    string
	By      string
	Counted bool // it put the idle clock back
}

// A ledger holds the latest uses of a temporary entity, in memory only.
type ledger struct {
	uses [20]Use
	n    int
}

func (l *ledger) add(u Use) { l.uses[l.n%len(l.uses)], l.n = u, l.n+1 }

// latest first
func (l *ledger) list() []Use {
	var out []Use
	for i := l.n - 1; i >= 0 && i >= l.n-len(l.uses); i-- {
		out = append(out, l.uses[i%len(l.uses)])
	}
	return out
}

// touch puts e's idle clock back, and its topic's (IDLE-2 … IDLE-4).
func (ns *Namespace) touch(now Instant, e *entity, what, by string) {
	for ; e != nil; e = e.topic {
		if e.Config.InForce().AutoDeleteOnIdle != 0 {
			e.ledger.add(Use{now, what, by, true})
		}
		if m := e.main.meter; now > m.LastUsed {
			m.LastUsed = now
			if now.Sub(e.main.usedAt) >= holdPeriod {
				e.main.usedAt = now
				ns.meter(e.main, m)
			} else {
				e.main.meter = m // near enough to what is stored
			}
		}
		ns.reconsider(now, e)
	}
}

// accessed is touch for what RT-2 counts: a send, or a receiver opened.
func (ns *Namespace) accessed(now Instant, e *entity, what, by string) {
	m := e.main.meter
	m.AccessedAt = now
	e.main.meter = m
	ns.touch(now, e, what, by)
}

// Looked notes in the ledger that somebody looked without it counting (IDLE-7).
func (ns *Namespace) Looked(now Instant, p Path, what, by string) {
	if e, err := ns.entity(p); err == nil && e.Config.InForce().AutoDeleteOnIdle != 0 {
		e.ledger.add(Use{now, what, by, false})
	}
}

// reconsider sets e's idle alarm.
func (ns *Namespace) reconsider(now Instant, e *entity) {
	_, next := Idle(e.Config, e.activity(), now)
	if next != e.idleAt {
		e.idleAt = next
		ns.reschedule(e.main)
	}
}

// expireIdle acts on e's idle alarm.
func (ns *Namespace) expireIdle(now Instant, e *entity) {
	a := e.activity()
	gone, next := Idle(e.Config, a, now)
	if gone {
		ns.remove(now, e, EventEntityAutoDeleted, "")
		return
	}
	if a.Receivers > 0 { // so that a crash does not find an old last use
		m := e.main.meter
		m.LastUsed = now
		ns.meter(e.main, m)
	}
	e.idleAt = next
	ns.reschedule(e.main)
}
