package engine

import (
	"cmp"
	"slices"
)

// A damaged message is one whose record, content or body in the store is not as it was written.
// It is in no queue: it is neither delivered nor counted, does not expire and is not purged. It
// is listed until an operator sets it aside.

// restoreDamaged adds a message that Load found damaged.
func (ns *Namespace) restoreDamaged(d Damaged) {
	if ns.damaged == nil {
		ns.damaged = map[Key]damagedEntry{}
	}
	held := damagedEntry{Damaged: d}
	if c := ns.load().content(d.Content); c != nil {
		c.pins++
		held.content = c
	}
	ns.damaged[d.Key] = held
}

type damagedEntry struct {
	Damaged
	content *content // pinned; nil if it is missing
}

// DamagedMessage is a damaged message and where it was.
type DamagedMessage struct {
	Damaged
	Path Path // empty if it is unknown
}

// DamagedMessages lists the damaged messages, by path and number.
func (ns *Namespace) DamagedMessages() []DamagedMessage {
	all := make([]DamagedMessage, 0, len(ns.damaged))
	for _, d := range ns.damaged {
		out := DamagedMessage{Damaged: d.Damaged}
		if h := ns.subqueues[d.Subqueue]; h != nil {
			out.Path = h.path
		}
		all = append(all, out)
	}
	slices.SortFunc(all, func(a, b DamagedMessage) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// DamagedCount returns how many messages are damaged.
func (ns *Namespace) DamagedCount() int { return len(ns.damaged) }

// MarkDamaged takes all messages with the content `body` out of their queues and lists them as
// damaged. Call it when the store finds damage while it reads a body; why names the damaged part.
// The store keeps the messages, and finds the damage again when the body is read after a restart.
func (ns *Namespace) MarkDamaged(now Instant, body Key, why string) {
	var all []*message // usually one of millions, or none
	for _, m := range ns.messages {
		if m.content.key == body {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *message) int { return cmp.Compare(a.Key, b.Key) })
	for _, m := range all {
		h := ns.subqueues[m.Subqueue]
		d := damagedEntry{Damaged{Key: m.Key, Subqueue: m.Subqueue, Seq: m.Seq, Content: body, Part: why}, m.content}
		ns.event(EventDeleted, now, m, h, "", "taken out of the queue: its "+why+" is damaged")
		m.content.pins++
		if ns.damaged == nil {
			ns.damaged = map[Key]damagedEntry{}
		}
		ns.damaged[m.Key] = d
		ns.changes.addUndo(undo{kind: undoOther, other: func() {
			m.content.pins--
			delete(ns.damaged, m.Key)
		}})
		ns.drop(m)
		delete(ns.changes.dropped, m.Key)
	}
}

// SetAside moves a damaged message out of the namespace, to a part of the store that Load
// does not read. It reports whether there is a damaged message with that key.
func (ns *Namespace) SetAside(now Instant, k Key, actor string) bool {
	d, ok := ns.damaged[k]
	if !ok {
		return false
	}
	delete(ns.damaged, k)
	c := &ns.changes
	before := len(c.setAside)
	c.setAside = append(c.setAside, k)
	if d.content != nil {
		ns.ReleaseBody(BodyPin{d.content})
	}
	ns.changes.addUndo(undo{kind: undoOther, other: func() {
		ns.damaged[k] = d
		c.setAside = c.setAside[:before]
		if d.content != nil {
			d.content.pins++
			c.collectable = slices.DeleteFunc(c.collectable, func(k *content) bool { return k == d.content }) // otherwise the next batch would drop it
		}
	}})
	c.hard = true
	e := Event{Kind: EventDeleted, At: now, Subqueue: d.Subqueue, Actor: actor, Reason: "damaged, and set aside", Audit: true,
		Message: Message{Key: k, Subqueue: d.Subqueue, Seq: d.Seq, Content: d.Content}}
	if h := ns.subqueues[d.Subqueue]; h != nil {
		e.Path = h.path
	}
	ns.events = append(ns.events, e)
	return true
}
