package engine

// message is a Message in its indexes.
type message struct {
	Message
	content *content
	marks   marks
}

// marks are where a message stands in its holder's alarms, above three bits of
// bookkeeping: together they keep a waiting message in 112 bytes.
type marks int64

const (
	stored    marks = 1 << iota // the store has some version of it
	dirty                       // the store's version is old; it is in changes.messages
	calm                        // dirty, but only by a lock, which the store need not hear of at once
	markBits  = 3
	markFlags = 1<<markBits - 1
)

// alarm is where m stands in its holder's alarms; zero: nowhere.
func (m *message) alarm() Instant { return Instant(m.marks >> markBits) }

func (m *message) setAlarm(at Instant) { m.marks = marks(at)<<markBits | m.marks&markFlags }

func (m *message) is(mark marks) bool { return m.marks&mark != 0 }

// content is a Content in memory, shared by the copies of a fan-out.
type content struct {
	key     Key
	packed  Packed
	size    int64 // what each copy of it counts for in quotas
	hasBody bool
	refs    int32 // messages that refer to it
	pins    int32 // deliveries whose body has not been read yet
	stored  bool
	orphan  bool // nothing refers to it, for good
	staged  bool // its body went ahead of it
	litter  bool // it is in changes.garbage, or gone
}

func (m *message) size() int64 { return m.content.size + m.Extra.size() }

// packed is the content of m as its receiver is to see it: what the sender wrote,
// or what a rule's action made of it (MSG-2).
func (m *message) packed() Packed {
	if m.Extra != nil && m.Extra.Rewritten != "" {
		return m.Extra.Rewritten
	}
	return m.content.packed
}

// ready tells whether a receiver may have m now, as far as the last look tells.
func (m *message) ready() bool { return m.State == Active && m.LockedUntil == 0 }

// class is the one count that a message is in.
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

// A holder is a place for messages with its indexes: a queue, a topic, a
// subscription or a dead-letter queue, that of transfers included.
type holder struct {
	id     HolderID
	path   Path
	entity *entity
	dead   bool // it is its entity's dead-letter queue, or that of its transfers
	terms  Terms
	out    outgoing

	order    order          // every message by number
	apart    [classes]order // locked, deferred and scheduled ones again, for their lists
	expiring alarms         // messages whose next alarm is their expiry: the horizon
	pending  alarms         // locks outside of sessions, and schedules
	count    [classes]int64
	bytes    int64

	meter      Meter
	meterDirty bool
	usedAt     Instant // meter.LastUsed as the store may have it

	sessions *sessions // nil unless its entity requires them; never of a dead-letter queue

	links  linkLines    // receivers attached here
	locks  map[Key]Lock // what is known of locks; see lock
	hungry bool         // it is in Namespace.hungry
	near   *vigil       // the namespace's, if it is of interest there

	rejudge Seq // next number whose alarm must be set anew after a change of terms; zero: none

	at     Instant // when something is due here; zero: never
	place  int     // in the heap of holders; -1: not in it
	inTurn bool    // in Namespace.turn instead
}

func newHolder(id HolderID, path Path, e *entity, dead bool) *holder {
	return &holder{id: id, path: path, entity: e, dead: dead, place: -1, meter: Meter{Holder: id, NextSeq: 1}}
}

// alarmsFor is the set that m's alarm belongs to.
func (h *holder) alarmsFor(m Message) *alarms {
	if m.LockedUntil != 0 || m.State == Scheduled {
		return &h.pending
	}
	return &h.expiring
}

func (h *holder) link(m *message) {
	h.enter(m)
	if next := h.nextLook(m.Message); next != 0 {
		h.arm(m, next)
	}
}

// arm adds m's alarm, of which there is none.
func (h *holder) arm(m *message, at Instant) {
	m.setAlarm(at)
	set := h.alarmsFor(m.Message)
	if set.add(at, m.Seq); set == &h.expiring {
		h.near.arm(at, m.Key)
	}
}

// present is m as it is: in a session the end of its lock is the session's, and
// what m itself has may be an earlier one (SES-5).
func (h *holder) present(m *message) Message {
	v := m.Message
	if h.sessions == nil || !v.Locked() {
		return v
	}
	if s := h.sessions.byID[m.sessionID()]; s != nil && s.lock != nil {
		v.LockedUntil = s.lock.until
	}
	return v
}

// lockEnd is when m's lock ends at the latest, as far as that is known: in a
// session it may be renewed with the session.
func (h *holder) lockEnd(m Message) Instant {
	if h.sessions != nil {
		return Forever
	}
	return m.LockedUntil
}

// nextLook is when time alone will next change m. What is locked in a session
// waits for the session's alarm.
func (h *holder) nextLook(m Message) Instant {
	if h.sessions != nil && m.Locked() {
		return 0
	}
	return h.terms.NextLook(m)
}

// enter is link but for the alarm.
func (h *holder) enter(m *message) {
	c := classOf(m.Message)
	h.order.put(m)
	h.classify(m)
	if c != classActive {
		h.apart[c].put(m)
	}
	h.count[c]++
	h.resize(m.size())
	if h.sessions != nil {
		h.sessions.enter(m)
	}
}

func (h *holder) unlink(m *message) {
	c := classOf(m.Message)
	h.out.leave(m)
	h.order.drop(m.Seq)
	if c != classActive {
		h.apart[c].drop(m.Seq)
	}
	h.count[c]--
	h.resize(-m.size())
	h.clearAlarm(m)
	delete(h.locks, m.Key)
	if h.sessions != nil {
		h.sessions.exit(m)
	}
}

func (h *holder) clearAlarm(m *message) {
	if m.alarm() != 0 {
		h.alarmsFor(m.Message).remove(m.alarm(), m.Seq)
		m.setAlarm(0)
	}
}

// setAlarm puts m's alarm where the terms in force want it.
func (h *holder) setAlarm(m *message) {
	next := h.nextLook(m.Message)
	if next == m.alarm() {
		return
	}
	h.clearAlarm(m)
	if next != 0 {
		h.arm(m, next)
	}
}

// change gives m new values in the same place, touching only the indexes that
// they concern.
func (h *holder) change(m *message, next Message) {
	was, will := classOf(m.Message), classOf(next)
	h.resize(next.Extra.size() - m.Extra.size())
	alarm := h.nextLook(next)
	if m.alarm() != alarm || h.alarmsFor(m.Message) != h.alarmsFor(next) {
		h.clearAlarm(m)
	}
	h.out.leave(m)
	m.Message = next
	if was != will || h.dead { // else it is as ready as it was
		h.classify(m)
	}
	if next.LockedUntil == 0 {
		delete(h.locks, m.Key)
	}
	if alarm != 0 && m.alarm() == 0 {
		h.arm(m, alarm)
	}
	if will == classLocked && next.State == Active {
		h.near.lock(h.terms.ExpiresAt(next), h.lockEnd(next), m.Key)
	}
	if was == will {
		return
	}
	if was != classActive {
		h.apart[was].drop(m.Seq)
	}
	if will != classActive {
		h.apart[will].put(m)
	}
	h.count[was]--
	h.count[will]++
	if h.sessions != nil {
		h.sessions.change(m, was, will)
	}
}

func (h *holder) resize(by int64) {
	h.bytes += by
	h.entity.root().bytes += by
}

// next is when time alone will change something here.
func (h *holder) next() Instant {
	var at Instant
	if a, ok := h.expiring.first(); ok {
		at = earlier(at, a.at)
	}
	if a, ok := h.pending.first(); ok {
		at = earlier(at, a.at)
	}
	if h.sessions != nil {
		at = earlier(at, h.sessions.taken.end())
	}
	if h.rejudge != 0 {
		at = 1
	}
	if !h.dead {
		at = earlier(at, h.entity.idleAt)
		at = earlier(at, h.entity.lapseAt())
	}
	return earlier(at, h.nextForward())
}
