package engine

import (
	"cmp"
	"container/heap"
	"iter"
)

// A Row is a message as somebody sees who only looks.
type Row struct {
	Message    Message
	Content    Packed
	Path       Path    // where it is
	Expires    Instant // computed, the entity's default included (TTL-15); zero: never
	KeepsDead  bool    // on expiry it goes to the dead-letter queue, otherwise it is lost
	Deliveries int32   // failed deliveries that are one too many; zero in a dead-letter queue
	Lock       Lock    // the zero Lock: there is none, or nothing is known of it
}

func (ns *Namespace) row(h *holder, m *message) Row {
	r := Row{
		Message: h.present(m), Content: m.packed(), Path: h.path, Expires: h.terms.ExpiresAt(m.Message),
		KeepsDead: h.terms.KeepExpired, Lock: h.lock(m),
	}
	if !h.dead {
		r.Deliveries = h.terms.Deliveries
	}
	return r
}

// Class is the list that a message is in (locked ones, whatever their state).
type Class uint8

// The classes; ClassAll is every message.
const (
	ClassAll Class = iota
	ClassActive
	ClassLocked
	ClassDeferred
	ClassScheduled
)

// A Browse asks for messages by number, ascending.
type Browse struct {
	Path    Path
	Session *string // of that session only; nil: whatever their session
	Class   Class   // of a session: all, active or locked ones
	From    Seq     // inclusive
	Limit   int
	Into    []Row // room for the answer, which is written over; nil: it gets its own
}

// Browse lists messages without any effect (DEC-6), and looks at no others. Use
// Peek for clients.
func (ns *Namespace) Browse(b Browse) ([]Row, error) {
	h, err := ns.holder(b.Path)
	if err == nil && b.Session != nil {
		h, err = ns.sessionsOf(b.Path)
	}
	if err != nil {
		return nil, err
	}
	list, err := h.listed(b)
	if err != nil {
		return nil, err
	}
	rows := b.Into[:0]
	for m := range list {
		if len(rows) == b.Limit {
			break
		}
		rows = append(rows, ns.row(h, m))
	}
	return rows, nil
}

// listed are the messages of h that b asks for, whatever its limit.
func (h *holder) listed(b Browse) (iter.Seq[*message], error) {
	all, locked := &h.order, &h.apart[classLocked]
	if b.Session != nil {
		all, locked = h.sessions.orders(*b.Session)
	}
	switch {
	case b.Class == ClassAll:
		return all.from(b.From), nil
	case b.Class == ClassActive && b.Session == nil:
		return h.readyFrom(b.From), nil
	case b.Class == ClassActive:
		return all.readyFrom(b.From), nil
	case b.Class == ClassLocked:
		return locked.from(b.From), nil
	case b.Session != nil:
		return nil, refuse(ErrArgument, "The deferred and scheduled messages of one session are not kept in lists of their own.")
	default:
		return h.apart[class(b.Class-ClassActive)].from(b.From), nil
	}
}

// Peek is PeekOf for all messages of a place.
func (ns *Namespace) Peek(now Instant, p Path, from Seq, count int, client string) ([]Row, error) {
	return ns.PeekOf(now, Browse{Path: p, From: from, Limit: count}, client)
}

// PeekOf is Browse for a client: it counts as use, is refused where receiving is
// closed, and gives at most the limit's number of messages (§9).
func (ns *Namespace) PeekOf(now Instant, b Browse, client string) ([]Row, error) {
	h, err := ns.holder(b.Path) // a topic too: scheduled messages are seen there (SCH-4)
	if err == nil && b.Session != nil {
		h, err = ns.sessionsOf(b.Path)
	}
	if err == nil {
		err = ns.admitPeek(h, b.Limit)
	}
	if err != nil {
		return nil, err
	}
	ns.touch(now, h.entity, "peek", client)
	b.Limit = min(b.Limit, int(ns.limits.PeekCount))
	return ns.Browse(b)
}

func (ns *Namespace) admitPeek(h *holder, count int) error {
	if !h.entity.Config.Status.receives() {
		return disabledReceive(h)
	}
	if count <= 0 {
		return refuse(ErrOutOfRange, "The number of messages to peek must be positive, not %d.", count)
	}
	return nil
}

// Message is one message by its key, wherever it is now.
func (ns *Namespace) Message(k Key) (Row, error) {
	m, h, err := ns.byKey(k)
	if err != nil {
		return Row{}, err
	}
	return ns.row(h, m), nil
}

// Counts are exact numbers of messages (CNT-3, DEC-7).
type Counts struct {
	Active, Locked, Deferred, Scheduled int64
	DeadLetter                          int64 // whatever their state there
	DeadLocked                          int64 // of these, locked
	Transfer                            int64 // of the active ones, waiting to be forwarded (FWD-14)
	TransferDeadLetter                  int64 // in the transfer dead-letter queue, whatever their state there
}

// ActiveMessageCount is Service Bus' number of that name: locked and deferred
// ones are in it (DEF-13), those on their way to somewhere else are not.
func (c Counts) ActiveMessageCount() int64 { return c.Active - c.Transfer + c.Locked + c.Deferred }

// MessageCount is the sum for the entity (RT-4).
func (c Counts) MessageCount() int64 {
	return c.ActiveMessageCount() + c.Transfer + c.Scheduled + c.DeadLetter + c.TransferDeadLetter
}

// An EntityState is an entity with what is true of it now.
type EntityState struct {
	Entity
	Counts        Counts
	SizeInBytes   int64 // a topic's includes its subscriptions; zero for a subscription, as on the wire
	Bytes         int64 // of the entity's own messages, dead letters included
	AccessedAt    Instant
	LastUsed      Instant
	NextSeq       Seq
	NextExpiry    Instant // zero: nothing expires
	Receivers     int     // attached
	Held          bool    // see Activity.Held
	DeletesAt     Instant // when it deletes itself if nobody uses it; zero: never, or held
	Subscriptions int
	Filters       FilterCounts // of a topic, its subscriptions' together
	Duplicates    uint64       // messages dropped as duplicates
	Seen          int          // MessageIds remembered to detect them; those that have had their window go a few at a time
	Sessions      SessionCounts
	Rules         []Rule // not to be changed
	Uses          []Use  // of a temporary entity, latest first
}

// FilterCounts are the rules of a topic's subscriptions by what their filters
// are. True and false filters are SQL's "1=1" and "1=0".
type FilterCounts struct{ SQL, Correlation int }

// SessionCounts are the sessions of an entity that requires them.
type SessionCounts struct {
	Known     int // with messages, a lock or state
	Available int // that a receiver who wants the next one can have
	Locked    int
	WithState int
}

// State is what there is to know of one entity. Looking changes nothing.
func (ns *Namespace) State(p Path) (EntityState, error) {
	e, err := ns.entity(p)
	if err != nil {
		return EntityState{}, err
	}
	s := e.state()
	s.Uses = e.ledger.list()
	return s, nil
}

// States are all entities by path; kind zero means every kind.
func (ns *Namespace) States(kind EntityKind) []EntityState {
	n := 0
	for _, e := range ns.entities {
		if kind == 0 || e.Kind == kind {
			n++
		}
	}
	all := make([]EntityState, 0, n) // states are large, and there may be ten thousand
	for _, e := range ns.sorted() {
		if kind == 0 || e.Kind == kind {
			all = append(all, e.state())
		}
	}
	return all
}

// Page is some of the entities of a kind, by path: top of them at most, after
// skip. It takes no longer for others than it takes to count them. Subscriptions
// are those of one topic, which must be there; of other kinds topic is empty.
func (ns *Namespace) Page(kind EntityKind, topic Path, skip, top int) ([]EntityState, error) {
	all := ns.sorted
	if kind == Subscription {
		e, err := ns.admin(topic)
		switch {
		case err != nil:
			return nil, err
		case e.Kind != Topic:
			return nil, notFound(topic)
		}
		all = func() []*entity { return e.subs }
	}
	page := make([]EntityState, 0, min(top, 100))
	for _, e := range all() {
		switch {
		case len(page) >= top:
			return page, nil
		case e.Kind != kind:
		case skip > 0:
			skip--
		default:
			page = append(page, e.state())
		}
	}
	return page, nil
}

// Subscriptions are those of a topic, by path; none of anything else.
func (ns *Namespace) Subscriptions(topic Path) []EntityState {
	e, err := ns.entity(topic)
	if err != nil {
		return nil
	}
	all := make([]EntityState, len(e.subs))
	for i, sub := range e.subs {
		all[i] = sub.state()
	}
	return all
}

func (e *entity) state() EntityState {
	h := e.main
	s := EntityState{
		Entity: e.Entity, Counts: e.counts(),
		Bytes: e.bytesHeld(), AccessedAt: h.meter.AccessedAt, LastUsed: h.meter.LastUsed, NextSeq: h.meter.NextSeq,
		Held: e.activity().Held(), Subscriptions: len(e.subs), Rules: e.rules,
		Duplicates: h.meter.Duplicates, Seen: e.seen.len(), Filters: e.selector.counts(),
	}
	for _, h := range e.holders() {
		s.Receivers += h.links[attachedLinks].n
	}
	if e.topic == nil {
		s.SizeInBytes = e.bytes
	}
	if ss := h.sessions; ss != nil {
		s.Sessions = SessionCounts{Known: len(ss.byID), Available: ss.free.n, Locked: len(ss.taken), WithState: ss.states}
	}
	if a, ok := h.expiring.first(); ok {
		s.NextExpiry = a.at
	}
	if idle := e.Config.InForce().AutoDeleteOnIdle; idle != 0 && !s.Held {
		s.DeletesAt = s.LastUsed.Add(idle)
	}
	return s
}

func (e *entity) counts() Counts {
	n := e.main.count
	c := Counts{Active: n[classActive], Locked: n[classLocked], Deferred: n[classDeferred], Scheduled: n[classScheduled]}
	if e.dead != nil {
		c.DeadLetter, c.DeadLocked = int64(e.dead.order.len()), e.dead.count[classLocked]
	}
	if e.Config.ForwardTo != "" {
		c.Transfer = c.Active
	}
	c.TransferDeadLetter = int64(e.transfer.order.len())
	return c
}

// Totals are the counts of the whole namespace.
func (ns *Namespace) Totals() (c Counts, entities int) {
	for _, e := range ns.entities {
		s := e.counts()
		c.Active += s.Active
		c.Locked += s.Locked
		c.Deferred += s.Deferred
		c.Scheduled += s.Scheduled
		c.DeadLetter += s.DeadLetter
		c.DeadLocked += s.DeadLocked
		c.Transfer += s.Transfer
		c.TransferDeadLetter += s.TransferDeadLetter
	}
	return c, len(ns.entities)
}

// A Span of the horizon counts messages by what happens at their expiry.
type Span struct{ DeadLettered, Lost int64 }

// Horizon counts the messages whose next change is their expiry, between one
// edge and the next; the last span has no end. Edges ascend. An empty path
// means the whole namespace.
func (ns *Namespace) Horizon(p Path, edges []Instant) []Span {
	spans := make([]Span, len(edges)+1)
	count := func(h *holder) {
		before := int64(0)
		for i := range spans {
			upto := int64(h.expiring.len())
			if i < len(edges) {
				upto = int64(h.expiring.countBefore(edges[i]))
			}
			if h.terms.KeepExpired {
				spans[i].DeadLettered += upto - before
			} else {
				spans[i].Lost += upto - before
			}
			before = upto
		}
	}
	if p != "" {
		if h, err := ns.holder(p); err == nil {
			count(h)
		}
		return spans
	}
	for _, h := range ns.holders {
		if h.expiring.len() > 0 {
			count(h)
		}
	}
	return spans
}

// Expiring lists the next n messages whose time runs out, soonest first.
func (ns *Namespace) Expiring(n int) []Row {
	var next soonest
	for _, h := range ns.holders {
		if h.expiring.len() > 0 {
			next = append(next, cursor{h: h, alarm: h.expiring.chunks[0][0]})
		}
	}
	heap.Init(&next)
	var rows []Row
	for len(rows) < n && len(next) > 0 {
		c := &next[0]
		rows = append(rows, ns.row(c.h, c.h.order.at(c.seq)))
		if c.advance() {
			heap.Fix(&next, 0)
		} else {
			heap.Pop(&next)
		}
	}
	return rows
}

// A cursor stands at one of a place's expiries.
type cursor struct {
	alarm
	h            *holder
	chunk, index int // where the alarm stands in h.expiring
}

// advance goes to the next one, if there is one.
func (c *cursor) advance() bool {
	chunks := c.h.expiring.chunks
	if c.index++; c.index == len(chunks[c.chunk]) {
		c.chunk, c.index = c.chunk+1, 0
	}
	if c.chunk == len(chunks) {
		return false
	}
	c.alarm = chunks[c.chunk][c.index]
	return true
}

// soonest is a heap of cursors, by time and path.
type soonest []cursor

func (s soonest) Len() int { return len(s) }
func (s soonest) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].at, s[j].at), cmp.Compare(s[i].h.path, s[j].h.path)) < 0
}
func (s soonest) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// Push is never called: there are no more places than at first.
func (s *soonest) Push(any) { panic("a place came in between") }

// Pop implements heap.Interface.
func (s *soonest) Pop() any {
	last := len(*s) - 1
	*s = (*s)[:last]
	return nil
}

// Deferred lists deferred messages over all entities, by path and number: from a number
// at a place on, which need not be there any more; from the first one if at is empty.
func (ns *Namespace) Deferred(at Path, from Seq, limit int) []Row {
	var rows []Row
	for _, e := range ns.sorted() {
		before := cmp.Compare(e.Path.Fold(), at.Entity().Fold())
		if at != "" && before < 0 {
			continue
		}
		here := at != "" && before == 0 // until the place is passed
		for _, h := range e.holders() {
			first := Seq(1)
			switch {
			case here && h.path.Fold() == at.Fold():
				here, first = false, from
			case here:
				continue
			}
			for m := range h.apart[classDeferred].from(first) {
				if len(rows) == limit {
					return rows
				}
				rows = append(rows, ns.row(h, m))
			}
		}
	}
	return rows
}
