package engine

import "slices"

// changes records the changes that the store does not have yet, and how to undo them.
//
// Dirty records are found by identity and read from the state when a batch is made: a message
// that was sent, locked and completed meanwhile never reaches the store. The undo log is
// separate, because a step whose caller was answered is never undone, even while it is dirty.
type changes struct {
	log    []undo    // since the last Seal
	sealed savepoint // the position in the log and in the effects at the last Seal
	hard   bool      // whether a change must be durable before its caller gets an answer

	messages    []*message // those with flagDirty; may include messages that were dropped or undone
	dropped     map[Key]struct{}
	meters      []*subqueue
	entities    map[SubqueueID]*entity // changed entities; the value is nil for a dropped one
	subqueues   map[SubqueueID]struct{}
	rules       map[RuleID]struct{}
	sessions    map[SessionID]struct{} // sessions whose state changed
	contents    []*content             // new contents
	bodies      map[*content][]byte    // bodies of new contents, unless staged or empty
	garbage     []*content             // contents that lost their last reference since the last commit
	collectable []*content             // contents that lost their last reference before that, and that no delivery reads any more
	deleted     []*subqueue            // deleted with their entity; their messages are freed after Seal
	seen        []*entity              // entities that remembered or forgot MessageIds
	access      bool                   // the namespace's rules changed
	settings    map[string]struct{}    // keys of changed settings
	setAside    []Key                  // the keys of damaged messages that were set aside
	leftLocks   bool                   // the last batch left out locks
}

type undoKind uint8

const (
	undoInsert undoKind = iota
	undoPut
	undoDrop
	undoMeter
	undoCredit
	undoPin
	undoSeen
	undoTransaction
	undoRank
	undoSetting
	undoOther
)

// An undo holds the values before one change, by kind, to undo it.
type undo struct {
	kind   undoKind
	m      *message
	before Message
	h      *subqueue
	meter  Meter
	link   *link
	credit int
	served bool
	next   Seq
	pinned *content
	lock   Lock // on m
	seen   rememberedID
	rank   sessionRank
	other  func() // for undoOther: undoes a change that has no kind of its own; h is set if the change concerns one entity alone
}

func newChanges() changes {
	return changes{
		dropped: map[Key]struct{}{}, entities: map[SubqueueID]*entity{},
		subqueues: map[SubqueueID]struct{}{}, rules: map[RuleID]struct{}{}, bodies: map[*content][]byte{},
		sessions: map[SessionID]struct{}{}, settings: map[string]struct{}{},
	}
}

func (c *changes) addUndo(u undo) { c.log = append(c.log, u) }

func (c *changes) markDirty(m *message) {
	delete(c.dropped, m.Key)
	m.alarmFlags &^= flagLockOnly
	if !m.hasFlag(flagDirty) {
		m.alarmFlags |= flagDirty
		c.messages = append(c.messages, m)
	}
}

func (c *changes) unmarkDirty(m *message) {
	if m.hasFlag(flagStored) {
		c.dropped[m.Key] = struct{}{}
	}
}

// discard adds k, to which no message refers any more, to the garbage. The step may be undone, or a
// topic's activation may refer to k again, so clean counts the references once more after the next
// commit.
func (c *changes) discard(k *content) {
	if !k.inGarbage {
		k.inGarbage = true
		c.garbage = append(c.garbage, k)
	}
}

func (c *changes) markMeter(h *subqueue) {
	if !h.meterDirty {
		h.meterDirty = true
		c.meters = append(c.meters, h)
	}
}

// Effects are the results of the steps since the last Flush.
type Effects struct {
	Batch      *Batch
	Events     []Event
	Accepted   []SessionAccepted // the sessions that links got; report them before Deliveries
	Deliveries []Delivery
	Ended      []LinkEnded
}

// Pending reports whether the changes must be committed before any caller is answered (hard), and
// whether there are changes to commit at all (soft).
func (ns *Namespace) Pending() (hard, soft bool) {
	c := &ns.changes
	soft = c.access || len(c.entities)+len(c.messages)+len(c.dropped)+len(c.meters)+len(c.garbage)+len(c.collectable)+len(c.seen) > 0
	return c.hard, soft
}

// Flush returns the effects since the last Flush. The batch holds the present state of
// everything dirty; it is nil if commit is false. Call Seal when the batch is durable or need not
// be, and Rollback when the store refused it.
func (ns *Namespace) Flush(now Instant, commit bool) Effects { //nolint:revive // the caller decides whether to commit now
	ns.changes.leftLocks = false
	fx := ns.takeEffects()
	if commit {
		fx.Batch = ns.batch(now)
	}
	return fx
}

// FlushHard is Flush with a batch that leaves out messages whose only change is a lock. A later
// Flush stores these locks, unless the messages are completed before, as most are. A crash loses
// locks that were not stored, and makes their messages available again (DEC-12).
func (ns *Namespace) FlushHard(now Instant) Effects {
	ns.changes.leftLocks = true
	fx := ns.takeEffects()
	fx.Batch = ns.batch(now)
	return fx
}

// likelyEvents is the largest number of events for which takeEffects makes room in advance, if
// there were as many since its previous call.
const likelyEvents = 1024

// takeEffects returns the effects since its last call.
func (ns *Namespace) takeEffects() Effects {
	fx := ns.effects
	ns.effects = Effects{}
	likely := min(len(ns.events), likelyEvents)
	fx.Events, ns.events, ns.eventBuffer = ns.events, ns.eventBuffer, nil
	if ns.events == nil {
		ns.events = make([]Event, 0, likely)
	}
	s := &ns.changes.sealed
	s.events, s.deliveries, s.ended, s.accepted = 0, 0, 0, 0
	return fx
}

// ReuseEvents keeps the memory of events, an earlier Effects.Events, for later events. The slice is
// overwritten, so the caller must not use it any more.
func (ns *Namespace) ReuseEvents(events []Event) {
	clear(events) // the records that they refer to may be large
	if n := cap(events); n > cap(ns.eventBuffer) && n <= 2*likelyEvents {
		ns.eventBuffer = events[:0]
	}
}

func (ns *Namespace) batch(now Instant) *Batch {
	c := &ns.changes
	b := &Batch{Hard: c.hard, Now: now}
	if c.access {
		b.Access = &Access{Rules: ns.access}
	}
	b.Messages, b.Written = make([]Message, 0, len(c.messages)), make([]Packed, 0, len(c.messages))
	b.DropMessages = make([]Key, 0, len(c.dropped))
	b.Contents, b.Bodies = make([]StoredContent, 0, len(c.contents)), make([]Body, 0, len(c.bodies))
	for _, m := range c.messages {
		if ns.messages[m.Key] == m && !(c.leftLocks && m.hasFlag(flagLockOnly)) {
			b.Messages = append(b.Messages, m.Message)
			b.Written = append(b.Written, m.packed())
			if !m.hasFlag(flagStored) {
				b.Added++
			}
		}
	}
	for k := range c.dropped {
		b.DropMessages = append(b.DropMessages, k)
	}
	for _, h := range c.meters {
		if ns.subqueues[h.id] == h {
			b.Meters = append(b.Meters, h.meter)
		}
	}
	for _, e := range c.entities {
		if ns.subqueues[e.ID] == e.main {
			b.Entities = append(b.Entities, e.Entity)
		}
	}
	for id := range c.subqueues {
		if ns.subqueues[id] == nil {
			b.DropSubqueues = append(b.DropSubqueues, id)
		}
	}
	for id := range c.rules {
		if r, ok := ns.rule(id); ok {
			b.Rules = append(b.Rules, r)
		} else if ns.subqueues[id.Subscription] != nil {
			b.DropRules = append(b.DropRules, id)
		}
	}
	for id := range c.sessions {
		if s, ok := ns.storedSession(id); ok {
			b.Sessions = append(b.Sessions, s)
		} else if ns.subqueues[id.Subqueue] != nil {
			b.DropSessions = append(b.DropSessions, id)
		}
	}
	for key := range c.settings {
		if s, ok := ns.Setting(key); ok {
			b.Settings = append(b.Settings, s)
		} else {
			b.DropSettings = append(b.DropSettings, key)
		}
	}
	b.SetAside = slices.Clone(c.setAside)
	for _, k := range c.contents {
		if k.refs > 0 {
			b.Contents = append(b.Contents, StoredContent{k.key, k.packed})
			if body := c.bodies[k]; body != nil {
				b.Bodies = append(b.Bodies, Body{k.key, body})
			}
		}
	}
	ns.batchSeen(b)
	ns.collect(b)
	return b
}

// collect adds to b the contents that lost their last reference in an earlier batch and that
// no delivery reads any more. Those of this batch wait for the next one, so that a delivery
// of this batch can still read its body.
func (ns *Namespace) collect(b *Batch) {
	var loose map[Key]bool // a send that was undone and retried discards its staged bodies each time
	for _, k := range ns.changes.collectable {
		if k.staged && !k.stored {
			if loose[k.key] {
				continue
			}
			if loose == nil {
				loose = map[Key]bool{}
			}
			loose[k.key] = true
		}
		if k.stored || k.staged {
			b.DropContents = append(b.DropContents, DroppedContent{k.key, k.hasBody})
		}
	}
}

// Seal makes everything up to the last Flush final: it can no longer be undone. committed
// reports whether the batch reached the store.
func (ns *Namespace) Seal(committed bool) { //nolint:revive // the caller knows what became of the batch
	c := &ns.changes
	c.log = truncated(c.log, 0)
	ns.freeing, c.deleted = append(ns.freeing, c.deleted...), nil
	if committed {
		c.clean(ns)
	}
	c.sealed = ns.savepoint()
	ns.reportMemory()
}

// clean marks everything as stored, except what the batch left out.
func (c *changes) clean(ns *Namespace) {
	c.messages = deleteFrom(c.messages, 0, func(m *message) bool {
		if c.leftLocks && m.hasFlag(flagLockOnly) && ns.messages[m.Key] == m {
			return false
		}
		m.alarmFlags = m.alarmFlags&^(flagDirty|flagLockOnly) | flagStored
		return true
	})
	for _, h := range c.meters {
		h.meterDirty = false
	}
	for _, k := range c.contents {
		if k.refs > 0 {
			k.stored = true
		}
	}
	clear(c.collectable) // this batch dropped them
	c.collectable = c.collectable[:0]
	for _, k := range c.garbage {
		k.inGarbage = k.refs == 0
		if k.unreferenced = k.inGarbage; k.unreferenced && k.pins == 0 {
			c.collectable = append(c.collectable, k)
		}
	}
	clear(c.contents)
	c.meters, c.contents, c.garbage = c.meters[:0], c.contents[:0], nil
	clear(c.dropped)
	clear(c.entities)
	clear(c.subqueues)
	clear(c.rules)
	clear(c.sessions)
	clear(c.settings)
	c.setAside = nil
	clear(c.bodies)
	c.cleanSeen()
	c.hard, c.access = false, false
}

// ReleaseBody releases a pin. Call it when the body of a delivery was read, or will not be.
func (ns *Namespace) ReleaseBody(p BodyPin) {
	if p.content.pins--; p.content.pins == 0 && p.content.unreferenced {
		ns.changes.collectable = append(ns.changes.collectable, p.content)
	}
}

// A BodyPin keeps the body of a delivered message in the store until it is read.
type BodyPin struct{ content *content }
