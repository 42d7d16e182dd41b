package engine

import "fmt"

// restore links one record without noting a change: the store has it already.
func (ns *Namespace) restore(r Record) error {
	switch r := r.(type) {
	case Clock: // the broker's concern
	case Entity:
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
			h.entity.rules = withRule(h.entity.rules, r)
		}
	case Meter:
		if h := ns.holders[r.Holder]; h != nil {
			h.meter = r
		}
	case StoredContent:
		if ns.loading == nil {
			ns.loading = map[Key]*content{}
		}
		ns.loading[r.Key] = &content{
			key: r.Key, packed: r.Content, size: r.Content.Size(), hasBody: r.Content.BodySize() > 0, stored: true,
		}
	case Message:
		return ns.restoreMessage(r)
	default:
		panic(fmt.Sprintf("unknown record %T", r)) // a new kind must not pass silently
	}
	return nil
}

func (ns *Namespace) restoreMessage(r Message) error {
	h := ns.holders[r.Holder]
	if h == nil {
		return nil // of a deleted entity; the store sweeps it
	}
	c := ns.loading[r.Content]
	if c == nil {
		return fmt.Errorf("message %d of %q refers to content %d, which is not there", r.Key, h.path, r.Content)
	}
	m := &message{Message: r, content: c, stored: true}
	c.refs++
	ns.messages[r.Key] = m
	h.link(m)
	return nil
}

// Restored ends a load: contents that no message refers to become garbage, and
// idle clocks start no earlier than they would have without the pause between
// what was last remembered and the end of the former process (IDLE-17).
func (ns *Namespace) Restored(now Instant) {
	for _, c := range ns.loading {
		if c.refs == 0 {
			ns.changes.discard(c)
		}
	}
	ns.loading = nil
	for _, e := range ns.sorted() {
		e.main.usedAt = e.main.meter.LastUsed
		e.main.meter.LastUsed = min(now, e.main.meter.LastUsed.Add(holdPeriod))
		ns.reconsider(now, e)
		for _, h := range e.holders() {
			ns.reschedule(h)
		}
	}
}
