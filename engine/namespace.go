package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// Keys gives identities: the epoch in the upper 24 bits, a counter below. It
// is safe for concurrent use, so that a body can be staged under its key
// before the owner of the namespace hears of it.
type Keys struct {
	epoch uint64
	last  atomic.Uint64
}

// NewKeys starts the identities of an epoch.
func NewKeys(epoch uint64) *Keys { return &Keys{epoch: epoch << 40} }

// Next is an identity never given before in this namespace.
func (k *Keys) Next() Key { return Key(k.epoch | k.last.Add(1)) }

// gave tells whether an identity is of this epoch.
func (k *Keys) gave(key Key) bool { return uint64(key)>>40 == k.epoch>>40 }

// Options are what a Namespace is made with.
type Options struct {
	Limits Limits
	Keys   *Keys         // of the store's epoch
	Nonce  func() uint64 // random, for lock tokens
	Rules  *Rulebook     // kept up to date for those who plan ahead; nil: nobody does
}

// A Namespace is the state of every entity and the rules of semantics. It
// reads no clock, starts no goroutine and does no I/O. It is not safe for
// concurrent use: whoever owns it calls its methods one at a time, with
// instants that never go back.
//
// Its methods are steps. A step that fails changes nothing, unless its comment
// says that looking changed something. What steps did since the last Flush is
// taken with Flush and, once it is durable, sealed with Seal, or undone with
// Rollback.
type Namespace struct {
	limits Limits
	keys   *Keys
	nonce  func() uint64

	rulebook *Rulebook

	entities map[string]*entity // by folded path
	holders  map[HolderID]*holder
	messages map[Key]*message
	links    map[LinkID]*link
	due      dueHolders // heap by holder.at
	turn     []*holder  // holders with something due, served in rotation
	hungry   []*holder  // holders where a link may now be served
	dying    []*holder  // of deleted entities; their messages are let go in slices
	topLevel int        // queues and topics
	inOrder  []*entity  // by folded path, not to be changed; nil after one came or went

	transactions transactions
	access       []AccessRule // of the namespace, by folded name; never changed in place
	settings     settings
	vigil        vigil

	changes changes
	events  []Event
	read    []Event  // room for the next events; nil: there is none
	loading *loading // between the first Restore and Restored
	out     Effects
}

// An entity is an Entity with its places.
type entity struct {
	Entity
	main     *holder
	dead     *holder // nil for a topic
	transfer *holder // its transfer dead-letter queue; nil only while a namespace is loaded
	topic    *entity // nil but for a subscription
	subs     []*entity
	rules    []Rule     // of a subscription, by folded name
	aside    []*planned // of rules, while it is not in its place
	bytes    int64      // of all holders below a root entity
	credit   int        // links that wait, with credit or for a session, here and, for a topic, at its subscriptions
	attached int        // at a root entity: links, idle ones too, here and at its subscriptions
	idleAt   Instant
	ledger   ledger

	selector selector   // of a topic: the rules of its subscriptions
	seen     *sightings // nil unless it detects duplicates
}

// root is the entity that e's bytes count against: the topic for a
// subscription.
func (e *entity) root() *entity { return cmp.Or(e.topic, e) }

// New is an empty namespace; fill it with Restore.
func New(o Options) *Namespace {
	return &Namespace{
		limits: o.Limits, keys: o.Keys, nonce: o.Nonce, rulebook: o.Rules,
		entities: map[string]*entity{}, holders: map[HolderID]*holder{},
		messages: map[Key]*message{}, links: map[LinkID]*link{},
		settings: settings{byKey: map[string]Setting{}},
		changes:  newChanges(),
	}
}

// Limits are those it was made with.
func (ns *Namespace) Limits() Limits { return ns.limits }

func (ns *Namespace) entity(p Path) (*entity, error) {
	if e := ns.entities[p.Entity().Fold()]; e != nil {
		return e, nil
	}
	// Somebody who left the segment in the middle out means a subscription.
	if name := string(p.Entity()); strings.Contains(name, "/") {
		i := strings.LastIndexByte(name, '/')
		if meant := ns.entities[SubscriptionPath(name[:i], name[i+1:]).Fold()]; meant != nil {
			return nil, refuseCode(ErrNotFound, 40400, "The messaging entity '%s' could not be found. A subscription's path is TOPIC/Subscriptions/NAME: '%s'.", p, meant.Path)
		}
	}
	return nil, notFound(p)
}

// holder is where messages received from p are.
func (ns *Namespace) holder(p Path) (*holder, error) {
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

// receivable is holder for those who receive: a topic has no receivers.
func (ns *Namespace) receivable(p Path) (*holder, error) {
	h, err := ns.holder(p)
	if err != nil {
		return nil, err
	}
	if h.entity.Kind == Topic && !h.dead {
		return nil, refuse(ErrNotAllowed, "'%s' is a topic: messages are received from its subscriptions.", h.path)
	}
	return h, nil
}

// byKey finds a message and its place.
func (ns *Namespace) byKey(k Key) (*message, *holder, error) {
	if m := ns.messages[k]; m != nil {
		if h := ns.holders[m.Holder]; h != nil {
			return m, h, nil
		}
	}
	return nil, nil, refuse(ErrMessageNotFound, "There is no message %d any more.", k)
}

// --- the mutators: everything that changes a message goes through them ---

// insert adds a new message. INVARIANT: indexes are a function of the records.
func (ns *Namespace) insert(v Message, c *content) *message {
	m := &message{Message: v, content: c}
	ns.changes.note(undo{kind: undoInsert, m: m})
	ns.link(m)
	return m
}

// put gives m new values, in another holder too.
func (ns *Namespace) put(m *message, next Message) {
	ns.changes.note(undo{kind: undoPut, m: m, before: m.Message, lock: ns.holders[m.Holder].locks[m.Key]})
	h, held := ns.holders[m.Holder], m.Locked()
	stood := h.standing(m)
	ns.replace(m, next)
	ns.stood(h, stood)
	if held {
		ns.carry(h, m)
	}
}

func (ns *Namespace) replace(m *message, next Message) {
	h, held := ns.holders[m.Holder], m.Locked()
	if next.Holder == m.Holder && next.Seq == m.Seq {
		h.change(m, next)
	} else {
		h.unlink(m)
		m.Message = next
		ns.holders[m.Holder].link(m)
		ns.reschedule(ns.holders[m.Holder])
	}
	ns.reschedule(h)
	ns.wake(ns.holders[m.Holder], m)
	if held {
		ns.makeRoom(h, m)
	}
	ns.changes.mark(m)
}

// drop removes a message for good; its content goes when nothing refers to it.
func (ns *Namespace) drop(m *message) {
	ns.changes.note(undo{kind: undoDrop, m: m, before: m.Message, lock: ns.holders[m.Holder].locks[m.Key]})
	h := ns.holders[m.Holder]
	stood := h.standing(m)
	ns.unlink(m)
	ns.stood(h, stood)
	if m.Locked() {
		ns.carry(h, m)
	}
}

func (ns *Namespace) link(m *message) {
	h := ns.holders[m.Holder]
	ns.messages[m.Key] = m
	m.content.refs++
	h.link(m)
	ns.reschedule(h)
	ns.wake(h, m)
	ns.changes.mark(m)
}

func (ns *Namespace) unlink(m *message) {
	h := ns.holders[m.Holder]
	h.unlink(m)
	delete(ns.messages, m.Key)
	if m.content.refs--; m.content.refs == 0 {
		ns.changes.discard(m.content)
	}
	ns.reschedule(h)
	if m.Locked() {
		ns.makeRoom(h, m)
	}
	ns.changes.unmark(m)
}

// nextSeq gives h's next number.
func (ns *Namespace) nextSeq(h *holder) Seq {
	m := h.meter
	m.NextSeq++
	ns.meter(h, m)
	return m.NextSeq - 1
}

func (ns *Namespace) meter(h *holder, next Meter) {
	ns.changes.note(undo{kind: undoMeter, h: h, meter: h.meter})
	h.meter = next
	ns.changes.markMeter(h)
}

// event notes what happened to a message, as it is now.
func (ns *Namespace) event(kind EventKind, now Instant, m *message, h *holder, actor, reason string) *Event {
	ns.events = append(ns.events, Event{
		Kind: kind, At: now, Holder: h.id, Path: h.path, Actor: actor, Reason: reason,
		Message: h.present(m), Content: m.packed(),
	})
	return &ns.events[len(ns.events)-1]
}

// reschedule moves h in the heap to where its next alarm wants it.
func (ns *Namespace) reschedule(h *holder) {
	if at := h.next(); at != h.at && !h.inTurn {
		h.at = at
		ns.due.fix(h)
	}
}

// wake notes that h's receivers may be served because of m.
func (ns *Namespace) wake(h *holder, m *message) {
	switch {
	case !m.ready():
	case h.sessions != nil:
		ns.offer(h, h.sessions.byID[m.sessionID()])
	case h.links[waitingLinks].n > 0:
		ns.feed(h)
	}
}

func (ns *Namespace) feed(h *holder) {
	if !h.hungry {
		h.hungry = true
		ns.hungry = append(ns.hungry, h)
	}
}

// Unpublished is how many events happened since the last Flush.
func (ns *Namespace) Unpublished() int { return len(ns.events) }

// sorted are the entities by folded path. Pages ask several times a second.
func (ns *Namespace) sorted() []*entity {
	if ns.inOrder == nil {
		ns.inOrder = make([]*entity, 0, len(ns.entities))
		for _, key := range slices.Sorted(maps.Keys(ns.entities)) {
			ns.inOrder = append(ns.inOrder, ns.entities[key])
		}
	}
	return ns.inOrder
}
