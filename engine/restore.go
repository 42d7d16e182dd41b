package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// Restore takes one record of the store in, in Load's order; call Restored
// after the last one. It notes no change: the store has it already.
func (ns *Namespace) Restore(r Record) error {
	switch r := r.(type) {
	case Clock: // the broker's concern
	case Access:
		ns.access = slices.CompactFunc(slices.SortedFunc(slices.Values(r.Rules), compareAccess),
			func(a, b AccessRule) bool { return compareAccess(a, b) == 0 })
	case Setting:
		ns.settings.put(r.Key, &r)
	case Entity:
		if r.Kind == Unfinished {
			return ErrUnfinished
		}
		e := &entity{Entity: r}
		var topic *entity
		if name, _, ok := r.Path.Subscription(); ok {
			if topic = ns.entities[Path(name).Fold()]; topic == nil {
				return fmt.Errorf("subscription %q was stored before its topic, or without one", r.Path)
			}
		}
		ns.place(e, topic)
	case Rule:
		if h := ns.holders[r.Subscription]; h != nil {
			ns.restoreRule(h.entity, r)
		}
	case Meter:
		if h := ns.holders[r.Holder]; h != nil {
			h.meter = r
		}
	case Seen:
		if h := ns.holders[r.Holder]; h != nil {
			h.entity.restoreSeen(r)
		}
	case Session:
		if h := ns.holders[r.Holder]; h != nil && h.sessions != nil {
			h.setState(r.ID, &sessionState{text: r.State, at: r.ChangedAt})
		}
	case StoredContent:
		ns.load().take(&content{
			key: r.Key, packed: r.Content, size: r.Content.Size(), hasBody: r.Content.BodySize() > 0, stored: true,
		})
	case Message:
		return ns.restoreMessage(r)
	default:
		panic(fmt.Sprintf("unknown record %T", r)) // a new kind must not pass silently
	}
	return nil
}

// restoreRule takes a rule in; one that cannot be read any more selects nothing.
func (ns *Namespace) restoreRule(e *entity, r Rule) {
	p, err := compile(r, ns.limits)
	p.broken = err
	e.rules = withRule(e.rules, r)
	if e.topic != nil {
		e.topic.selector.add(p.of(e))
		ns.publish(e.topic)
	}
}

func (ns *Namespace) restoreMessage(r Message) error {
	h := ns.holders[r.Holder]
	if h == nil {
		return nil // of a deleted entity; the store sweeps it
	}
	l := ns.load()
	c := l.content(r.Content)
	if c == nil {
		return fmt.Errorf("message %d of %q refers to content %d, which is not there", r.Key, h.path, r.Content)
	}
	if len(ns.messages) == 0 {
		ns.messages = make(map[Key]*message, len(l.contents))
	}
	if x := r.Extra; h == h.entity.transfer && x != nil && x.To == "" { // of a version that kept it as the source
		moved := *x
		moved.To, moved.Source = x.Source, ""
		r.Extra = &moved
	}
	if x := r.Extra; x != nil && x.Stays && x.Reason != ReasonHops && !ns.madeAllHops(r) { // of a version that said so of all that a destination did not take as it was
		tried := *x
		tried.Stays = false
		r.Extra = &tried
	}
	m := &message{Message: r, content: c, marks: stored}
	c.refs++
	ns.messages[r.Key] = m
	if h.sessions != nil && m.Locked() {
		h.sessions.retake(m)
	}
	h.enter(m)
	if next := h.nextLook(r); next != 0 {
		m.setAlarm(next)
		set := h.alarmsFor(r)
		l.alarms[set] = append(l.alarms[set], alarm{next, m.Seq})
	}
	return nil
}

// A loading is what a load has met so far. It is built for a million messages:
// contents are looked up where the last one was, and alarms are sorted once.
type loading struct {
	contents []*content // by key, once the first message was met
	sorted   bool
	at       int // just after the content found last
	alarms   map[*alarms][]alarm
}

func (ns *Namespace) load() *loading {
	if ns.loading == nil {
		ns.loading = &loading{alarms: map[*alarms][]alarm{}}
	}
	return ns.loading
}

func (l *loading) take(c *content) { l.contents = append(l.contents, c) }

// content finds one by its key; messages mostly come in the order of theirs.
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

// Restored ends a load: contents that no message refers to become garbage, and
// idle clocks start no earlier than they would have without the pause between
// what was last remembered and the end of the former process (IDLE-17).
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
	for _, e := range ns.sorted() {
		if e.TransferID == 0 { // of a version that knew no transfers
			e.TransferID = HolderID(ns.keys.Next())
			e.placeTransfer()
			ns.holders[e.TransferID] = e.transfer
			ns.changes.entities[e.ID] = e
		}
		e.main.usedAt = e.main.meter.LastUsed
		e.main.meter.LastUsed = min(now, e.main.meter.LastUsed.Add(holdPeriod))
		ns.reconsider(now, e)
		e.restoredSeen(now)
		if e.main.sessions != nil {
			e.main.sessions.line()
		}
		for _, h := range e.holders() {
			ns.reschedule(h)
		}
	}
}
