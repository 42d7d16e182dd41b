package engine

// A message is a Message in memory, with its content and its alarm.
type message struct {
	Message
	content    *content
	alarmFlags alarmFlags
}

// alarmFlags combines the time of a message's alarm with three flag bits, so that a waiting message
// takes only 112 bytes.
type alarmFlags int64

const (
	flagStored   alarmFlags = 1 << iota // the store has a version of the message
	flagDirty                           // the store's version is old; the message is in changes.messages
	flagLockOnly                        // dirty only because of a lock, which may be stored later
	flagBits     = 3
	flagMask     = 1<<flagBits - 1
)

// alarm returns the time of m's alarm in its subqueue, or zero if it has none.
func (m *message) alarm() Instant { return Instant(m.alarmFlags >> flagBits) }

func (m *message) setAlarm(at Instant) {
	m.alarmFlags = alarmFlags(at)<<flagBits | m.alarmFlags&flagMask
}

func (m *message) hasFlag(mark alarmFlags) bool { return m.alarmFlags&mark != 0 }

// content is a Content in memory, shared by the copies of a fan-out.
type content struct {
	key          Key
	packed       Packed
	size         int64 // how many bytes each copy counts in quotas
	hasBody      bool
	refs         int32 // messages and open transactions that refer to it
	pins         int32 // deliveries whose body has not been read yet
	stored       bool
	unreferenced bool // nothing refers to it any more, as of the last commit
	staged       bool // its body was stored ahead of it
	inGarbage    bool // whether it is in changes.garbage, or was dropped
}

func (m *message) size() int64 { return m.content.size + m.Extra.size() }

// packed returns the content of m for its receiver: what the sender wrote, or what a rule's
// action made of it (MSG-2).
func (m *message) packed() Packed {
	if m.Extra != nil && m.Extra.Rewritten != "" {
		return m.Extra.Rewritten
	}
	return m.content.packed
}

// ready reports whether m may be received, as of the last time it was judged.
func (m *message) ready() bool { return m.State == Active && m.LockedUntil == 0 }

// class determines which list of its subqueue a message is in, and which count includes it.
type class uint8

const (
	classActive class = iota
	classLocked       // whatever its state
	classDeferred
	classScheduled
	classes
)

func classOf(m Message) class {
	switch {
	case m.LockedUntil != 0:
		return classLocked
	case m.State == Deferred:
		return classDeferred
	case m.State == Scheduled:
		return classScheduled
	default:
		return classActive
	}
}

// A subqueue holds the messages and receivers of one subqueue of an entity, with their indexes. It
// is the main one of a queue, topic or subscription, its dead-letter or its transfer dead-letter
// subqueue.
type subqueue struct {
	id         SubqueueID
	path       Path
	entity     *entity
	dead       bool // it is a dead-letter or transfer dead-letter subqueue
	terms      Terms
	forwarding outgoing

	order    order          // every message by number
	byClass  [classes]order // lists of the locked, deferred and scheduled messages
	expiring alarms         // of messages whose next change is their expiry; see Horizon
	pending  alarms         // of messages that are locked outside of sessions, or scheduled
	count    [classes]int64
	bytes    int64 // as clients see them
	charged  int64 // as they count against the quota; see memory_account.go
	account  account
	sizer    sizer

	meter      Meter
	meterDirty bool
	usedAt     Instant // the last meter.LastUsed that was marked to be stored

	sessions *sessions // nil unless its entity requires sessions; always nil in a dead-letter subqueue

	links           linkLines                 // receivers attached here
	selectors       map[string]*selectorIndex // by text, for links with a selector; nil if none
	selecting       int                       // waiting links with a selector
	turns           int64                     // counts links that have begun to wait; see link.waitTurn
	step            int64                     // counts calls of catchUpSelectors
	selectorsBehind bool                      // the last step had too few evaluations for all selectors
	locks           map[Key]Lock              // details of locks; see lock
	peakLocks       int                       // the largest len(locks) since it was empty
	needsMatch      bool                      // it is in Namespace.needMatch
	expiryWatch     *expiryWatch              // the namespace's expiry watch, if it covers this subqueue

	memoryRetryAt Instant // pending is not checked before then; see schedulesWait
	rejudge       Seq     // the next number whose alarm must be set again after a change of terms; zero if none

	dueAt      Instant // when something is due here; zero if never
	heapIndex  int     // in Namespace.due; -1 if not in it
	inRotation bool    // whether it is in Namespace.rotation instead
}

func (ns *Namespace) newSubqueue(id SubqueueID, path Path, e *entity, dead bool) *subqueue {
	h := &subqueue{id: id, path: path, entity: e, dead: dead, heapIndex: -1, meter: Meter{Subqueue: id, NextSeq: 1}, account: account{parent: &ns.account}, sizer: ns.sizer}
	for c := range h.byClass {
		h.byClass[c].account = &h.account
	}
	h.order.account, h.forwarding.held.account, h.expiring.account, h.pending.account = &h.account, &h.account, &h.account, &h.account
	return h
}

// alarmsFor returns the set that m's alarm belongs to.
func (h *subqueue) alarmsFor(m Message) *alarms {
	if m.LockedUntil != 0 || m.State == Scheduled {
		return &h.pending
	}
	return &h.expiring
}

func (h *subqueue) addMessage(m *message) {
	h.addUnarmed(m)
	if next := h.nextChange(m.Message); next != 0 {
		h.arm(m, next)
	}
}

// arm sets m's alarm to `at`; m must not have one.
func (h *subqueue) arm(m *message, at Instant) {
	m.setAlarm(at)
	set := h.alarmsFor(m.Message)
	if set.add(at, m.Seq); set == &h.expiring {
		h.expiryWatch.arm(at, m.Key)
	}
}

// withSessionLock returns m as clients see it: in a session its lock ends with the session's lock,
// which may be later than m's own LockedUntil (SES-5).
func (h *subqueue) withSessionLock(m *message) Message {
	v := m.Message
	if h.sessions == nil || !v.Locked() {
		return v
	}
	if s := h.sessions.byID[m.sessionID()]; s != nil && s.lock != nil {
		v.LockedUntil = s.lock.until
	}
	return v
}

// lockEnd returns the latest time at which m's lock can end without another change of m: Forever in
// a session, because renewing the session's lock does not change m.
func (h *subqueue) lockEnd(m Message) Instant {
	if h.sessions != nil {
		return Forever
	}
	return m.LockedUntil
}

// nextChange returns when m will next change without a request, or zero if never. For a message
// locked in a session it is zero, because the session's lock ends the message's lock.
func (h *subqueue) nextChange(m Message) Instant {
	if h.sessions != nil && m.Locked() {
		return 0
	}
	return h.terms.NextChange(m)
}

// addUnarmed adds m without setting its alarm.
func (h *subqueue) addUnarmed(m *message) {
	c := classOf(m.Message)
	h.order.put(m)
	h.classify(m)
	h.updateSelectors(m)
	if c != classActive {
		h.byClass[c].put(m)
	}
	h.count[c]++
	h.resize(m.size(), h.sizer.charge(m))
	if h.sessions != nil {
		h.sessions.addMessage(m)
	}
}

func (h *subqueue) removeMessage(m *message) {
	c := classOf(m.Message)
	h.forwarding.unhold(m)
	h.removeFromSelectors(m)
	h.order.drop(m.Seq)
	if c != classActive {
		h.byClass[c].drop(m.Seq)
	}
	h.count[c]--
	h.resize(-m.size(), -h.sizer.charge(m))
	h.clearAlarm(m)
	h.dropLockDetails(m.Key)
	if h.sessions != nil {
		h.sessions.removeMessage(m)
	}
}

func (h *subqueue) clearAlarm(m *message) {
	if m.alarm() != 0 {
		h.alarmsFor(m.Message).remove(m.alarm(), m.Seq)
		m.setAlarm(0)
	}
}

// setAlarm updates m's alarm to the terms in force.
func (h *subqueue) setAlarm(m *message) {
	next := h.nextChange(m.Message)
	if next == m.alarm() {
		return
	}
	h.clearAlarm(m)
	if next != 0 {
		h.arm(m, next)
	}
}

// changeMessage replaces the record of m by next, which is in h under the same number, and updates
// only the indexes that depend on the difference.
func (h *subqueue) changeMessage(m *message, next Message) {
	was, will := classOf(m.Message), classOf(next)
	if next.Extra != m.Extra {
		was := h.sizer.charge(m)
		h.resize(next.Extra.size()-m.Extra.size(), h.sizer.chargeOf(m.content.packed, m.content.size, next.Extra)-was)
	}
	alarm := h.nextChange(next)
	if m.alarm() != alarm || h.alarmsFor(m.Message) != h.alarmsFor(next) {
		h.clearAlarm(m)
	}
	h.forwarding.unhold(m)
	m.Message = next
	if was != will || h.dead { // otherwise it belongs where it was
		h.classify(m)
	}
	h.updateSelectors(m)
	if next.LockedUntil == 0 {
		h.dropLockDetails(m.Key)
	}
	if alarm != 0 && m.alarm() == 0 {
		h.arm(m, alarm)
	}
	if will == classLocked && next.State == Active {
		h.expiryWatch.lock(h.terms.ExpiresAt(next), h.lockEnd(next), m.Key)
	}
	if was == will {
		return
	}
	if was != classActive {
		h.byClass[was].drop(m.Seq)
	}
	if will != classActive {
		h.byClass[will].put(m)
	}
	h.count[was]--
	h.count[will]++
	if h.sessions != nil {
		h.sessions.changeClass(m, was, will)
	}
}

// resize adds to the size of h and its root entity, as clients see it and as the quota counts
// it.
func (h *subqueue) resize(bytes, charge int64) {
	h.bytes += bytes
	h.charged += charge
	root := h.entity.root()
	root.bytes += bytes
	root.charged += charge
}

// nextDue returns when Sweep next has something to do for h, or zero if never.
func (h *subqueue) nextDue() Instant {
	var at Instant
	if a, ok := h.expiring.first(); ok {
		at = earlier(at, a.at)
	}
	if a, ok := h.pending.first(); ok {
		at = earlier(at, max(a.at, h.memoryRetryAt))
	}
	if h.sessions != nil {
		at = earlier(at, h.sessions.locked.end())
	}
	if h.rejudge != 0 {
		at = 1
	}
	if !h.dead {
		at = earlier(at, h.entity.idleAt)
		at = earlier(at, h.entity.nextForget())
	}
	return earlier(at, h.nextForward())
}
