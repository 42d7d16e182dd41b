package engine

// changes is what the store has not heard of yet, and how to take it back.
//
// What is dirty is found by identity and read from the state when a batch is
// made: a message that was sent, locked and completed meanwhile never reaches
// the store. The undo log is separate, because what has been answered stays,
// dirty or not.
type changes struct {
	log    []undo    // since the last Seal
	sealed savepoint // how far everything was then
	hard   bool      // something here must be durable before it is answered

	messages []*message // with dirty set; may hold some that are gone or were taken back
	dropped  map[Key]struct{}
	meters   []*holder
	entities map[HolderID]*entity // nil value: dropped
	holders  map[HolderID]struct{}
	rules    map[RuleID]struct{}
	sessions map[SessionID]struct{} // whose state changed
	contents []*content             // new ones
	bodies   map[*content][]byte    // of new ones, unless staged or empty
	garbage  []*content             // ones whose last reference went since the last commit
	ripe     []*content             // ones whose last reference went before and that nobody reads any more
	deleted  []*holder              // gone with their entity; their messages are let go after Seal
	seen     []*entity              // that have seen or let go of ids
	access   bool                   // the namespace's rules
	settings map[string]struct{}    // keys
	sparing  bool                   // the batch that was taken last has no locks
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

// undo is one before-image.
type undo struct {
	kind   undoKind
	m      *message
	before Message
	h      *holder
	meter  Meter
	link   *link
	credit int
	served bool
	pin    *content
	lock   Lock // on m
	seen   sighting
	stood  standing
	other  func() // for what is rare: transactions, settings; sessions, entities and rules, with h where it concerns that entity alone
}

func newChanges() changes {
	return changes{
		dropped: map[Key]struct{}{}, entities: map[HolderID]*entity{},
		holders: map[HolderID]struct{}{}, rules: map[RuleID]struct{}{}, bodies: map[*content][]byte{},
		sessions: map[SessionID]struct{}{}, settings: map[string]struct{}{},
	}
}

func (c *changes) note(u undo) { c.log = append(c.log, u) }

func (c *changes) mark(m *message) {
	delete(c.dropped, m.Key)
	m.marks &^= calm
	if !m.is(dirty) {
		m.marks |= dirty
		c.messages = append(c.messages, m)
	}
}

func (c *changes) unmark(m *message) {
	if m.is(stored) {
		c.dropped[m.Key] = struct{}{}
	}
}

// discard notes that nothing refers to k any more. The step may be undone, or
// refer to it again as a topic's activation does: the next commit looks.
func (c *changes) discard(k *content) {
	if !k.litter {
		k.litter = true
		c.garbage = append(c.garbage, k)
	}
}

func (c *changes) markMeter(h *holder) {
	if !h.meterDirty {
		h.meterDirty = true
		c.meters = append(c.meters, h)
	}
}

// Effects are what steps did since the last Flush.
type Effects struct {
	Batch      *Batch
	Events     []Event
	Accepted   []SessionAccepted // before any delivery to them
	Deliveries []Delivery
	Ended      []LinkEnded
}

// Pending tells whether a batch must be committed before anybody is answered
// (hard), or may wait (soft).
func (ns *Namespace) Pending() (hard, soft bool) {
	c := &ns.changes
	soft = c.access || len(c.entities)+len(c.messages)+len(c.dropped)+len(c.meters)+len(c.garbage)+len(c.ripe)+len(c.seen) > 0
	return c.hard, soft
}

// Flush takes what happened since the last Flush. The batch, nil if commit is
// false or nothing waits for the store, holds the present state of everything
// dirty. Call Seal when it is durable or when nothing had to be, Rollback when
// the store refused it.
func (ns *Namespace) Flush(now Instant, commit bool) Effects { //nolint:revive // whether to commit now is its caller's to say
	ns.changes.sparing = false
	fx := ns.happened()
	if commit {
		fx.Batch = ns.batch(now)
	}
	return fx
}

// FlushHard is Flush of what must be durable now and what goes with it. Messages
// whose only change is a lock stay behind, for a later Flush: most are completed
// before it comes, and the store never hears of their locks. What is not durable
// of a lock is lost in a crash, and the message is free then (DEC-12).
func (ns *Namespace) FlushHard(now Instant) Effects {
	ns.changes.sparing = true
	fx := ns.happened()
	fx.Batch = ns.batch(now)
	return fx
}

// likelyEvents is how many events room is made for at the most, when as many
// happened the last time.
const likelyEvents = 1024

// happened takes what happened since it was taken last.
func (ns *Namespace) happened() Effects {
	fx := ns.out
	ns.out = Effects{}
	likely := min(len(ns.events), likelyEvents)
	fx.Events, ns.events, ns.read = ns.events, ns.read, nil
	if ns.events == nil {
		ns.events = make([]Event, 0, likely)
	}
	s := &ns.changes.sealed
	s.events, s.deliveries, s.ended, s.accepted = 0, 0, 0, 0
	return fx
}

// Recycle takes Effects.Events back when all have read them: what happens next is
// written over them.
func (ns *Namespace) Recycle(events []Event) {
	clear(events) // what they tell of may be large
	if n := cap(events); n > cap(ns.read) && n <= 2*likelyEvents {
		ns.read = events[:0]
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
		if ns.messages[m.Key] == m && !(c.sparing && m.is(calm)) {
			b.Messages = append(b.Messages, m.Message)
			b.Written = append(b.Written, m.packed())
		}
	}
	for k := range c.dropped {
		b.DropMessages = append(b.DropMessages, k)
	}
	for _, h := range c.meters {
		if ns.holders[h.id] == h {
			b.Meters = append(b.Meters, h.meter)
		}
	}
	for _, e := range c.entities {
		if ns.holders[e.ID] == e.main {
			b.Entities = append(b.Entities, e.Entity)
		}
	}
	for id := range c.holders {
		if ns.holders[id] == nil {
			b.DropHolders = append(b.DropHolders, id)
		}
	}
	for id := range c.rules {
		if r, ok := ns.rule(id); ok {
			b.Rules = append(b.Rules, r)
		} else if ns.holders[id.Subscription] != nil {
			b.DropRules = append(b.DropRules, id)
		}
	}
	for id := range c.sessions {
		if s, ok := ns.storedSession(id); ok {
			b.Sessions = append(b.Sessions, s)
		} else if ns.holders[id.Holder] != nil {
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

// collect names the contents that went in an earlier batch and that nobody
// reads any more. Those of this batch wait for the next one, so that a
// delivery can still find the body it is about to hand out.
func (ns *Namespace) collect(b *Batch) {
	var loose map[Key]bool // a send that was taken back and tried again discards its staged bodies each time
	for _, k := range ns.changes.ripe {
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

// Seal says that everything up to the last Flush is answered for: it can no
// longer be undone. committed tells that the batch reached the store.
func (ns *Namespace) Seal(committed bool) { //nolint:revive // what became of the batch is its caller's to say
	c := &ns.changes
	c.log = cutAt(c.log, 0)
	ns.dying, c.deleted = append(ns.dying, c.deleted...), nil
	if committed {
		c.clean(ns)
	}
	c.sealed = ns.mark()
}

// clean says that the store has everything that was here, but for what the batch
// spared.
func (c *changes) clean(ns *Namespace) {
	c.messages = deleteFrom(c.messages, 0, func(m *message) bool {
		if c.sparing && m.is(calm) && ns.messages[m.Key] == m {
			return false
		}
		m.marks = m.marks&^(dirty|calm) | stored
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
	clear(c.ripe) // this batch dropped them
	c.ripe = c.ripe[:0]
	for _, k := range c.garbage {
		k.litter = k.refs == 0
		if k.orphan = k.litter; k.orphan && k.pins == 0 {
			c.ripe = append(c.ripe, k)
		}
	}
	clear(c.contents)
	c.meters, c.contents, c.garbage = c.meters[:0], c.contents[:0], nil
	clear(c.dropped)
	clear(c.entities)
	clear(c.holders)
	clear(c.rules)
	clear(c.sessions)
	clear(c.settings)
	clear(c.bodies)
	c.cleanSeen()
	c.hard, c.access = false, false
}

// Taken says that the body of a delivery has been read or given up.
func (ns *Namespace) Taken(p Pin) {
	if p.content.pins--; p.content.pins == 0 && p.content.orphan {
		ns.changes.ripe = append(ns.changes.ripe, p.content)
	}
}

// A Pin keeps the body of a delivered message in the store until it is read.
type Pin struct{ content *content }
