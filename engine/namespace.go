package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// Keys generates identities: the epoch in the upper 24 bits, a counter below. It is safe for
// concurrent use, so that a body can be staged under its key before the owner of the
// namespace gets the message.
type Keys struct {
	epoch uint64
	last  atomic.Uint64
}

// NewKeys returns the Keys of an epoch.
func NewKeys(epoch uint64) *Keys { return &Keys{epoch: epoch << 40} }

// Next returns an identity never used before in this namespace.
func (k *Keys) Next() Key { return Key(k.epoch | k.last.Add(1)) }

// issued reports whether an identity is of this epoch.
func (k *Keys) issued(key Key) bool { return uint64(key)>>40 == k.epoch>>40 }

// Options are the options of New.
type Options struct {
	Limits Limits
	Keys   *Keys         // keys of the store's epoch
	Nonce  func() uint64 // random, for lock tokens
	Rules  *Rulebook     // kept up to date for senders that evaluate rules before a send; nil if none do
	Memory *Memory       // the memory of the process; nil for no limit
	// InMemory means that the store keeps its records in memory, so that bodies and its
	// copies of the records count.
	InMemory bool
}

// A Namespace is the state of every entity and implements the rules of SEMANTICS.md. It reads no
// clock, starts no goroutine and does no I/O. It is not safe for concurrent use: its owner
// calls its methods one at a time, with instants that never go back.
//
// Its methods are steps. A step that fails changes nothing, unless its comment names what it
// changes while checking. Flush returns the effects of the steps since the last Flush; Seal
// makes them final once they are durable, or Rollback undoes them.
type Namespace struct {
	limits Limits
	keys   *Keys
	nonce  func() uint64

	rulebook *Rulebook

	entities       map[string]*entity // by folded path
	subqueues      map[SubqueueID]*subqueue
	messages       map[Key]*message
	links          map[LinkID]*link
	due            dueSubqueues // heap by subqueue.dueAt
	rotation       []*subqueue  // subqueues with something due, served in rotation
	needMatch      []*subqueue  // subqueues where a link may now be served
	freeing        []*subqueue  // subqueues of deleted entities; Sweep frees their messages, some at a time
	topLevelCount  int          // queues and topics
	sortedEntities []*entity    // by folded path, must not be changed; nil after an entity was added or removed

	transactions transactions
	access       []AccessRule // the namespace's own rules, sorted by folded name; never changed in place
	settings     settings
	damaged      map[Key]damagedEntry
	expiryWatch  expiryWatch
	watch        sessionWatch

	changes     changes
	events      []Event
	eventBuffer []Event  // capacity for the next events; nil if none
	loading     *loading // between the first Restore and Restored
	effects     Effects

	share        *MemoryShare
	sizer        sizer
	account      account // of the whole namespace
	peakMessages int     // the largest len(messages) since the map was made
	nextRetryAt  Instant // see nextMemoryRetry
	dropsOnly    bool    // see SweepDrops
}

// An entity is an Entity with its subqueues.
type entity struct {
	Entity
	main          *subqueue
	dead          *subqueue // nil for a topic
	transfer      *subqueue // its transfer dead-letter subqueue; nil only while a namespace is loaded
	topic         *entity   // nil except for a subscription
	subs          []*entity
	rules         []Rule          // for a subscription: its rules, sorted by folded name
	detachedRules []*compiledRule // its compiled rules, while it is not in the namespace
	bytes         int64           // at a root entity: the size of its subqueues and those of its subscriptions
	charged       int64           // the charge against the quota of the same subqueues
	credit        int             // links that wait, with credit or for a session, here and, for a topic, at its subscriptions
	attached      int             // at a root entity: links here and at its subscriptions, including idle ones
	idleAt        Instant
	useLog        useLog

	ruleIndex ruleIndex         // of a topic: the rules of its subscriptions
	seen      *duplicateHistory // nil unless it detects duplicates
}

// root returns the entity that e's bytes count against: the topic for a subscription.
func (e *entity) root() *entity { return cmp.Or(e.topic, e) }

// New returns an empty namespace; fill it with Restore.
func New(o Options) *Namespace {
	ns := &Namespace{
		limits: o.Limits, keys: o.Keys, nonce: o.Nonce, rulebook: o.Rules,
		entities: map[string]*entity{}, subqueues: map[SubqueueID]*subqueue{},
		messages: map[Key]*message{}, links: map[LinkID]*link{},
		settings: settings{byKey: map[string]Setting{}},
		changes:  newChanges(),
		share:    &MemoryShare{memory: cmp.Or(o.Memory, &Memory{})}, sizer: sizer{inMemory: o.InMemory, minMessage: o.Limits.MessageMemory},
	}
	ns.settings.account = &ns.account
	return ns
}

// Limits returns the limits that the namespace was made with.
func (ns *Namespace) Limits() Limits { return ns.limits }

func (ns *Namespace) entity(p Path) (*entity, error) {
	if e := ns.entities[p.Entity().Fold()]; e != nil {
		return e, nil
	}
	// A client that omits the middle segment means a subscription.
	if name := string(p.Entity()); strings.Contains(name, "/") {
		i := strings.LastIndexByte(name, '/')
		if meant := ns.entities[SubscriptionPath(name[:i], name[i+1:]).Fold()]; meant != nil {
			return nil, RefuseCode(ErrNotFound, 40400, "The messaging entity '%s' could not be found. A subscription's path is TOPIC/Subscriptions/NAME: '%s'.", p, meant.Path)
		}
	}
	return nil, notFound(p)
}

// subqueue returns the subqueue that p names; for the path of an entity, its main one.
func (ns *Namespace) subqueue(p Path) (*subqueue, error) {
	e, err := ns.entity(p)
	switch {
	case err != nil:
		return nil, err
	case !p.IsDeadLetter():
		return e.main, nil
	case p.IsTransfer():
		return e.transfer, nil
	case e.dead == nil:
		return nil, notFound(p)
	default:
		return e.dead, nil
	}
}

// receivable is subqueue for receivers: it returns ErrNotAllowed for the path of a topic.
func (ns *Namespace) receivable(p Path) (*subqueue, error) {
	h, err := ns.subqueue(p)
	if err != nil {
		return nil, err
	}
	if h.entity.Kind == Topic && !h.dead {
		return nil, Refuse(ErrNotAllowed, "'%s' is a topic. Receive from one of its subscriptions.", h.path)
	}
	return h, nil
}

// byKey returns a message and its subqueue.
func (ns *Namespace) byKey(k Key) (*message, *subqueue, error) {
	if m := ns.messages[k]; m != nil {
		if h := ns.subqueues[m.Subqueue]; h != nil {
			return m, h, nil
		}
	}
	return nil, nil, Refuse(ErrMessageNotFound, "Message %d no longer exists.", k)
}

// The mutators insert, put and drop follow. Every change of a message goes through them.

// insert adds a new message with the record v and the content c, and returns it.
func (ns *Namespace) insert(v Message, c *content) *message {
	m := &message{Message: v, content: c}
	ns.changes.addUndo(undo{kind: undoInsert, m: m})
	ns.indexMessage(m)
	return m
}

// put replaces the record of m by next, which may have another subqueue or number.
func (ns *Namespace) put(m *message, next Message) {
	ns.changes.addUndo(undo{kind: undoPut, m: m, before: m.Message, lock: ns.subqueues[m.Subqueue].locks[m.Key]})
	h, held := ns.subqueues[m.Subqueue], m.Locked()
	stood := h.sessionRank(m)
	ns.replace(m, next)
	ns.noteRank(h, stood)
	if held {
		ns.alignSessionDeadline(h, m)
	}
}

func (ns *Namespace) replace(m *message, next Message) {
	h, held := ns.subqueues[m.Subqueue], m.Locked()
	if next.Extra != m.Extra {
		ns.account.add(ns.sizer.message(next.Extra) - ns.sizer.message(m.Extra))
	}
	if next.Subqueue == m.Subqueue && next.Seq == m.Seq {
		h.changeMessage(m, next)
	} else {
		h.removeMessage(m)
		m.Message = next
		ns.subqueues[m.Subqueue].addMessage(m)
		ns.reschedule(ns.subqueues[m.Subqueue])
	}
	ns.reschedule(h)
	ns.wake(ns.subqueues[m.Subqueue], m)
	if held {
		ns.offerSessionOf(h, m)
	}
	ns.changes.markDirty(m)
}

// drop removes a message. Its content becomes garbage if no other message refers to it.
func (ns *Namespace) drop(m *message) {
	ns.changes.addUndo(undo{kind: undoDrop, m: m, before: m.Message, lock: ns.subqueues[m.Subqueue].locks[m.Key]})
	h := ns.subqueues[m.Subqueue]
	stood := h.sessionRank(m)
	ns.unindexMessage(m)
	ns.noteRank(h, stood)
	if m.Locked() {
		ns.alignSessionDeadline(h, m)
	}
}

func (ns *Namespace) indexMessage(m *message) {
	h := ns.subqueues[m.Subqueue]
	ns.messages[m.Key] = m
	ns.addReference(m.content)
	ns.account.add(ns.sizer.message(m.Extra))
	ns.countIndex()
	h.addMessage(m)
	ns.reschedule(h)
	ns.wake(h, m)
	ns.changes.markDirty(m)
}

func (ns *Namespace) unindexMessage(m *message) {
	h := ns.subqueues[m.Subqueue]
	h.removeMessage(m)
	delete(ns.messages, m.Key)
	ns.account.add(-ns.sizer.message(m.Extra))
	ns.dropReference(m.content)
	ns.reschedule(h)
	if m.Locked() {
		ns.offerSessionOf(h, m)
	}
	ns.changes.unmarkDirty(m)
}

// nextSeq returns h's next number and advances it.
func (ns *Namespace) nextSeq(h *subqueue) Seq {
	m := h.meter
	m.NextSeq++
	ns.meter(h, m)
	return m.NextSeq - 1
}

func (ns *Namespace) meter(h *subqueue, next Meter) {
	ns.changes.addUndo(undo{kind: undoMeter, h: h, meter: h.meter})
	h.meter = next
	ns.changes.markMeter(h)
}

// event adds an event with the present values of m.
func (ns *Namespace) event(kind EventKind, now Instant, m *message, h *subqueue, actor, reason string) *Event {
	ns.events = append(ns.events, Event{
		Kind: kind, At: now, Subqueue: h.id, Path: h.path, Actor: actor, Reason: reason,
		Message: h.withSessionLock(m), Content: m.packed(),
	})
	return &ns.events[len(ns.events)-1]
}

// reschedule moves h to its position in the heap after the time of its next change may have changed.
// It does nothing while h is in the rotation.
func (ns *Namespace) reschedule(h *subqueue) {
	if at := h.nextDue(); at != h.dueAt && !h.inRotation {
		h.dueAt = at
		ns.due.fix(h)
	}
}

// wake requests a match at h if a link there may get m, which was added or changed.
func (ns *Namespace) wake(h *subqueue, m *message) {
	if h.links[peekingLinks].n > 0 {
		ns.requestMatch(h)
	}
	switch {
	case !m.ready():
	case h.sessions != nil:
		ns.offer(h, h.sessions.byID[m.sessionID()])
	case h.links[waitingLinks].n > 0 || h.selecting > 0:
		ns.requestMatch(h)
	}
}

func (ns *Namespace) requestMatch(h *subqueue) {
	if !h.needsMatch {
		h.needsMatch = true
		ns.needMatch = append(ns.needMatch, h)
	}
}

// Unpublished returns how many events happened since the last Flush.
func (ns *Namespace) Unpublished() int { return len(ns.events) }

// sorted returns the entities by folded path. The result is cached, because pages request it
// several times a second.
func (ns *Namespace) sorted() []*entity {
	if ns.sortedEntities == nil {
		ns.sortedEntities = make([]*entity, 0, len(ns.entities))
		for _, key := range slices.Sorted(maps.Keys(ns.entities)) {
			ns.sortedEntities = append(ns.sortedEntities, ns.entities[key])
		}
	}
	return ns.sortedEntities
}
