package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// Restore adds one record of the store, in Load's order; call Restored after the last one. It
// marks nothing as changed, because the store has it already.
func (ns *Namespace) Restore(r Record) error {
	switch r := r.(type) {
	case Clock: // the broker uses it
	case Access:
		ns.access = slices.CompactFunc(slices.SortedFunc(slices.Values(r.Rules), compareAccess),
			func(a, b AccessRule) bool { return compareAccess(a, b) == 0 })
	case Setting:
		ns.settings.put(r.Key, &r)
	case Entity:
		if r.Kind == RestoreMark {
			return ErrRestoreIncomplete
		}
		if r.TransferID == 0 {
			return fmt.Errorf("%s %q has no transfer dead-letter queue: it was written by an older Mayfly, which this version does not support; start a server of an older version on the store first, which adds it", r.Kind, r.Path)
		}
		e := &entity{Entity: r}
		var topic *entity
		if name, _, ok := r.Path.Subscription(); ok {
			if topic = ns.entities[Path(name).Fold()]; topic == nil {
				return fmt.Errorf("subscription %q is stored before its topic, or without one", r.Path)
			}
		}
		ns.addEntity(e, topic)
	case Rule:
		if h := ns.subqueues[r.Subscription]; h != nil {
			ns.restoreRule(h.entity, r)
		}
	case Meter:
		if h := ns.subqueues[r.Subqueue]; h != nil {
			h.meter = r
		}
	case SeenIDs:
		if h := ns.subqueues[r.Subqueue]; h != nil {
			had := h.entity.seen.len()
			h.entity.restoreSeen(r)
			ns.account.add(int64(h.entity.seen.len()-had) * digestEntry)
		}
	case SessionRecord:
		if h := ns.subqueues[r.Subqueue]; h != nil && h.sessions != nil {
			h.setState(r.ID, &sessionState{text: r.State, at: r.ChangedAt})
		}
	case StoredContent:
		ns.load().take(&content{
			key: r.Key, packed: r.Content, size: r.Content.Size(), hasBody: r.Content.BodySize() > 0, stored: true,
		})
	case Message:
		return ns.restoreMessage(r)
	case Damaged:
		ns.restoreDamaged(r)
	default:
		panic(fmt.Sprintf("unknown record %T", r)) // a new kind must not be ignored
	}
	return nil
}

// restoreRule adds a rule; one that cannot be parsed any more selects nothing.
func (ns *Namespace) restoreRule(e *entity, r Rule) {
	p, err := compile(r, ns.limits)
	p.compileErr = err
	e.rules = withRule(e.rules, r)
	if e.topic != nil {
		e.topic.ruleIndex.add(p.of(e))
		ns.updateRulebook(e.topic)
	}
}

func (ns *Namespace) restoreMessage(r Message) error {
	h := ns.subqueues[r.Subqueue]
	if h == nil {
		return nil // of a deleted entity; the store removes it
	}
	l := ns.load()
	c := l.content(r.Content)
	if c == nil {
		ns.restoreDamaged(Damaged{Key: r.Key, Subqueue: r.Subqueue, Seq: r.Seq, Content: r.Content, Part: DamagedContent})
		return nil
	}
	if len(ns.messages) == 0 {
		ns.messages = make(map[Key]*message, len(l.contents))
	}
	m := &message{Message: r, content: c, alarmFlags: flagStored}
	ns.addReference(c)
	ns.messages[r.Key] = m
	ns.account.add(ns.sizer.message(r.Extra))
	ns.countIndex()
	if h.sessions != nil && m.Locked() {
		h.sessions.restoreLock(m)
	}
	h.addUnarmed(m)
	if next := h.nextChange(r); next != 0 {
		m.setAlarm(next)
		set := h.alarmsFor(r)
		l.alarms[set] = append(l.alarms[set], alarm{next, m.Seq})
	}
	return nil
}

// A loading is the state of a load. To load a million messages quickly, it looks for a content next
// to the last one found, and collects alarms to sort them once.
type loading struct {
	contents []*content // by key, once the first message was restored
	sorted   bool
	at       int // just after the last content found
	alarms   map[*alarms][]alarm
}

func (ns *Namespace) load() *loading {
	if ns.loading == nil {
		ns.loading = &loading{alarms: map[*alarms][]alarm{}}
	}
	return ns.loading
}

func (l *loading) take(c *content) { l.contents = append(l.contents, c) }

// content returns a content by its key. Messages are mostly in the order of their contents.
func (l *loading) content(k Key) *content {
	byKey := func(c *content, k Key) int { return cmp.Compare(c.key, k) }
	if !l.sorted {
		slices.SortFunc(l.contents, func(a, b *content) int { return byKey(a, b.key) })
		l.sorted = true
	}
	if l.at >= len(l.contents) || l.contents[l.at].key != k {
		at, ok := slices.BinarySearchFunc(l.contents, k, byKey)
		if !ok {
			return nil
		}
		l.at = at
	}
	l.at++
	return l.contents[l.at-1]
}

// Restored ends a load: contents that no message refers to become garbage, and the idle
// clocks are advanced by idleResetPeriod, because the stored LastUsed may be that much older than
// the last use (IDLE-17).
func (ns *Namespace) Restored(now Instant) {
	for _, c := range ns.load().contents {
		if c.refs == 0 {
			ns.changes.discard(c)
		}
	}
	for set, all := range ns.loading.alarms {
		set.fill(all)
	}
	ns.loading = nil
	defer ns.reportMemory()
	for _, e := range ns.sorted() {
		e.main.usedAt = e.main.meter.LastUsed
		e.main.meter.LastUsed = min(now, e.main.meter.LastUsed.Add(idleResetPeriod))
		ns.setIdleAlarm(now, e)
		e.restoredSeen(now)
		if e.main.sessions != nil {
			e.main.sessions.rankAvailable()
		}
		for _, h := range e.subqueues() {
			ns.reschedule(h)
		}
	}
}
