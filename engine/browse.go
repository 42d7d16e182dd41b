package engine

import (
	"cmp"
	"container/heap"
	"iter"
)

// A Row is a message as browsing shows it.
type Row struct {
	Message             Message
	Content             Packed
	Path                Path    // the message's subqueue
	Expires             Instant // computed from the message and its entity's default (TTL-15); zero if never
	DeadLettersOnExpiry bool    // on expiry it moves to the dead-letter subqueue, otherwise it is lost
	MaxDeliveries       int32   // the number of failed deliveries that dead-letters it; zero in a dead-letter subqueue
	Lock                Lock    // zero if the message is not locked or no details are recorded
}

func (ns *Namespace) row(h *subqueue, m *message) Row {
	r := Row{
		Message: h.withSessionLock(m), Content: m.packed(), Path: h.path, Expires: h.terms.ExpiresAt(m.Message),
		DeadLettersOnExpiry: h.terms.KeepExpired, Lock: h.lock(m),
	}
	if !h.dead {
		r.MaxDeliveries = h.terms.MaxDeliveries
	}
	return r
}

// A Class groups messages by state. Locked messages are in ClassLocked, whatever their state.
type Class uint8

// The classes. ClassAll contains every message.
const (
	ClassAll Class = iota
	ClassActive
	ClassLocked
	ClassDeferred
	ClassScheduled
)

// A Browse is a request for messages in ascending order of their numbers.
type Browse struct {
	Path    Path
	Session *string // only messages of this session; nil for all
	Class   Class   // with Session: ClassAll, ClassActive or ClassLocked
	From    Seq     // inclusive
	Limit   int
	Buffer  []Row // a buffer for the result, which is overwritten; nil allocates one
}

// Browse lists messages without any effect (DEC-6). It visits only messages that it lists. For
// clients, use Peek.
func (ns *Namespace) Browse(b Browse) ([]Row, error) {
	h, err := ns.subqueue(b.Path)
	if err == nil && b.Session != nil {
		h, err = ns.sessionsOf(b.Path)
	}
	if err != nil {
		return nil, err
	}
	list, err := h.browse(b)
	if err != nil {
		return nil, err
	}
	rows := b.Buffer[:0]
	for m := range list {
		if len(rows) == b.Limit {
			break
		}
		rows = append(rows, ns.row(h, m))
	}
	return rows, nil
}

// browse returns the messages of h that b asks for, without its limit.
func (h *subqueue) browse(b Browse) (iter.Seq[*message], error) {
	all, locked := &h.order, &h.byClass[classLocked]
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
		return nil, Refuse(ErrArgument, "Deferred and scheduled messages cannot be listed by session. List those of the whole queue or subscription.")
	default:
		return h.byClass[class(b.Class-ClassActive)].from(b.From), nil
	}
}

// Peek is PeekFiltered for all messages of a subqueue.
func (ns *Namespace) Peek(now Instant, p Path, from Seq, count int, client string) ([]Row, error) {
	return ns.PeekFiltered(now, Browse{Path: p, From: from, Limit: count}, client)
}

// PeekFiltered is Browse for a client: it counts as use, fails where receiving is disabled, and
// returns at most Limits.PeekCount messages (§9).
func (ns *Namespace) PeekFiltered(now Instant, b Browse, client string) ([]Row, error) {
	h, err := ns.subqueue(b.Path) // topics too: their scheduled messages can be peeked (SCH-4)
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

func (ns *Namespace) admitPeek(h *subqueue, count int) error {
	if !h.entity.Config.Status.receives() {
		return receiveDisabled(h)
	}
	if count <= 0 {
		return Refuse(ErrOutOfRange, "The number of messages to peek must be positive, not %d.", count)
	}
	return nil
}

// Message returns a message by its key, in whatever subqueue it is.
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
	DeadLetter                          int64 // messages in the dead-letter subqueue, in any state
	DeadLocked                          int64 // locked messages in DeadLetter
	Transfer                            int64 // messages in Active that wait to be forwarded (FWD-14)
	TransferDeadLetter                  int64 // messages in the transfer dead-letter subqueue, in any state
}

// ActiveMessageCount returns Service Bus' number of that name: it includes locked and
// deferred messages (DEF-13), but not those waiting to be forwarded.
func (c Counts) ActiveMessageCount() int64 { return c.Active - c.Transfer + c.Locked + c.Deferred }

// MessageCount returns the number of all messages of the entity, dead letters included (RT-4).
func (c Counts) MessageCount() int64 {
	return c.ActiveMessageCount() + c.Transfer + c.Scheduled + c.DeadLetter + c.TransferDeadLetter
}

// An EntityState is an entity with its present state.
type EntityState struct {
	Entity
	Counts        Counts
	SizeInBytes   int64 // a topic's includes its subscriptions; zero for a subscription, as on the wire
	Bytes         int64 // size of the entity's own messages, dead letters included
	Charged       int64 // bytes that count against its quota, at least SizeInBytes; see memory_account.go; zero for a subscription
	AccessedAt    Instant
	LastUsed      Instant
	NextSeq       Seq
	NextExpiry    Instant // zero if nothing expires
	Receivers     int     // attached
	KeptAlive     bool    // see Activity.KeptAlive
	DeletesAt     Instant // when it deletes itself if it stays unused; zero if never, or while KeptAlive
	Subscriptions int
	Filters       FilterCounts // for a topic: the sum over its subscriptions
	Duplicates    uint64       // messages dropped as duplicates
	RememberedIDs int          // MessageIds remembered to detect duplicates; those whose window has passed are removed a few at a time
	Sessions      SessionCounts
	Rules         []Rule // must not be changed
	Uses          []Use  // for a temporary entity: its use history, latest first
}

// FilterCounts counts the rules of a topic's subscriptions by kind of filter. True and false
// filters are the SQL filters "1=1" and "1=0", and count as SQL.
type FilterCounts struct{ SQL, Correlation int }

// SessionCounts counts the sessions of an entity that requires them.
type SessionCounts struct {
	Known     int // sessions with messages, a lock or state
	Available int // sessions that a receiver asking for the next one can get
	Locked    int
	WithState int
}

// State returns the state of one entity. It changes nothing.
func (ns *Namespace) State(p Path) (EntityState, error) {
	e, err := ns.entity(p)
	if err != nil {
		return EntityState{}, err
	}
	s := e.state()
	s.Uses = e.useLog.list()
	return s, nil
}

// States returns the states of all entities of a kind, or of all entities if kind is zero, sorted by
// path.
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

// EntityPage returns up to top entities of a kind, sorted by path, after skipping skip of them.
// Subscriptions are those of one topic, which must exist; for other kinds topic is empty.
func (ns *Namespace) EntityPage(kind EntityKind, topic Path, skip, top int) ([]EntityState, error) {
	all := ns.sorted
	if kind == Subscription {
		e, err := ns.entityForAdmin(topic)
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

// Subscriptions returns the subscriptions of a topic, sorted by path, or none for any other
// path.
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
		Bytes: e.subqueueBytes(), AccessedAt: h.meter.AccessedAt, LastUsed: h.meter.LastUsed, NextSeq: h.meter.NextSeq,
		KeptAlive: e.activity().KeptAlive(), Subscriptions: len(e.subs), Rules: e.rules,
		Duplicates: h.meter.Duplicates, RememberedIDs: e.seen.len(), Filters: e.ruleIndex.counts(),
	}
	for _, h := range e.subqueues() {
		s.Receivers += h.links[attachedLinks].n
	}
	if e.topic == nil {
		s.SizeInBytes, s.Charged = e.bytes, e.charged
	}
	if ss := h.sessions; ss != nil {
		s.Sessions = SessionCounts{Known: len(ss.byID), Available: ss.available.n, Locked: len(ss.locked), WithState: ss.states}
	}
	if a, ok := h.expiring.first(); ok {
		s.NextExpiry = a.at
	}
	if idle := e.Config.Effective().AutoDeleteOnIdle; idle != 0 && !s.KeptAlive {
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

// Totals returns the counts of the whole namespace and the number of its entities.
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

// A HorizonSpan counts the messages that expire in a span of time, by what happens to them then.
type HorizonSpan struct{ DeadLettered, Lost int64 }

// Horizon counts the messages whose next change is their expiry, in the subqueue p or, if p is empty,
// in the whole namespace. edges are instants in ascending order. The first span of the result ends
// before the first instant, each other one begins at an instant and ends before the next, and the
// last has no end.
func (ns *Namespace) Horizon(p Path, edges []Instant) []HorizonSpan {
	spans := make([]HorizonSpan, len(edges)+1)
	count := func(h *subqueue) {
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
		if h, err := ns.subqueue(p); err == nil {
			count(h)
		}
		return spans
	}
	for _, h := range ns.subqueues {
		if h.expiring.len() > 0 {
			count(h)
		}
	}
	return spans
}

// Expiring returns the n messages of the namespace that expire next, soonest first.
func (ns *Namespace) Expiring(n int) []Row {
	var next cursorHeap
	for _, h := range ns.subqueues {
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

// A cursor points at one of a subqueue's expiry alarms.
type cursor struct {
	alarm
	h            *subqueue
	chunk, index int // where the alarm is in h.expiring
}

// advance moves to the next alarm and reports whether there is one.
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

// cursorHeap is a heap of cursors, by time and path.
type cursorHeap []cursor

func (s cursorHeap) Len() int { return len(s) }
func (s cursorHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].at, s[j].at), cmp.Compare(s[i].h.path, s[j].h.path)) < 0
}
func (s cursorHeap) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// Push is never called, because no subqueue is added after the heap is made.
func (s *cursorHeap) Push(any) { panic("engine: Push on a cursorHeap") }

// Pop implements heap.Interface.
func (s *cursorHeap) Pop() any {
	last := len(*s) - 1
	*s = (*s)[:last]
	return nil
}

// Deferred lists up to limit deferred messages of all entities, by path and sequence number. It
// starts at subqueue `at`, which need not exist any more, and sequence number `from`, or at the
// beginning if `at` is empty.
func (ns *Namespace) Deferred(at Path, from Seq, limit int) []Row {
	var rows []Row
	for _, e := range ns.sorted() {
		before := cmp.Compare(e.Path.Fold(), at.Entity().Fold())
		if at != "" && before < 0 {
			continue
		}
		here := at != "" && before == 0 // `at` is a subqueue of e that has not been reached
		for _, h := range e.subqueues() {
			first := Seq(1)
			switch {
			case here && h.path.Fold() == at.Fold():
				here, first = false, from
			case here:
				continue
			}
			for m := range h.byClass[classDeferred].from(first) {
				if len(rows) == limit {
					return rows
				}
				rows = append(rows, ns.row(h, m))
			}
		}
	}
	return rows
}
