package engine

import (
	"maps"

	"mayfly/engine/value"
)

// An account counts the bytes of memory that records take and adds them to its
// parent account. Sizes are rounded up as the allocator does. The sum is at least
// the live heap and at most twice that, which TestAccountIsTheHeap checks. Memory
// that has a budget of its own is not counted: the inbox, caches, the log of events,
// buffers of connections, open transactions.
//
// INVARIANT: an account is the sum of its records and indexes; see Check.
type account struct {
	bytes  int64
	parent *account // the parent; nil at the top
}

func (a *account) add(n int64) {
	for ; a != nil; a = a.parent {
		a.bytes += n
	}
}

// Sizes of values in bytes; TestMemoryConstantsAreSizes compares them with the compiler's.
const (
	messageMemory     = 112
	contentMemory     = 48
	extraMemory       = 160
	propertyMemory    = 48
	pageMemory        = 64
	sessionMemory     = 112
	sessionLockMemory = 128
	stateMemory       = 24
	pointerMemory     = 8
	alarmMemory       = 16
	chunkMemory       = chunkSize*alarmMemory + 24 + alarmMemory // with its entries in alarms.chunks and alarms.last
)

// Bytes of a map entry: its slot and a control byte, at the lowest load of a map
// that only grows, 7 of 16.
const (
	messageEntry = (16 + 1) * 16 / 7 // Key and pointer
	sessionEntry = (24 + 1) * 16 / 7 // string and pointer
	lockEntry    = (48 + 1) * 16 / 7 // Key and Lock
	digestEntry  = (20 + 1) * 16 / 7 // Digest and uint32
	settingEntry = (56+1)*16/7 + 16  // string and Setting, and its entry in the order
)

// Bytes of an entity and of a rule without their texts: their subqueues, indexes and
// map entries. They are measured, not computed.
const (
	entityMemory = 4608
	ruleMemory   = 768
	textFactor   = 2  // bytes of memory for each byte of a correlation filter
	sqlFactor    = 12 // bytes of memory for each byte of a SQL filter or action
)

// textMemory returns the memory of a text of n bytes.
func textMemory(n int) int64 {
	const page = 8 << 10
	switch {
	case n == 0:
		return 0
	case n > 4*page: // whole pages
		return int64(n+page-1) / page * page
	default:
		return int64(n+n/8)/16*16 + 16
	}
}

// memory returns the memory of x, zero for nil.
func (x *Extra) memory() int64 {
	if x == nil {
		return 0
	}
	n := int64(extraMemory)
	for _, s := range [...]string{x.Reason, x.Description, x.Source, x.To, x.By, string(x.Rewritten)} {
		n += textMemory(len(s))
	}
	return n + propertiesMemory(x.Properties)
}

func propertiesMemory(all value.Properties) (n int64) {
	for _, p := range all {
		n += propertyMemory + textMemory(len(p.Name)) + textMemory(p.Value.Len())
	}
	return n
}

// A sizer computes the memory of records and their charge against a quota. The
// zero sizer is for a store that keeps its records on disk, and counts sizes alone.
type sizer struct {
	inMemory   bool  // the store keeps copies of the records in memory
	minMessage int64 // Limits.MessageMemory
}

// Bytes of the map entries of storage/memory.
const (
	storedMessageMemory = (8 + 96 + 1) * 16 / 7
	storedContentMemory = (8 + 16 + 1) * 16 / 7
	storedBodyMemory    = (8 + 24 + 1) * 16 / 7
	storedStateMemory   = (24 + 48 + 1) * 16 / 7
)

// message returns the memory of a message with x, without its content.
func (t sizer) message(x *Extra) int64 {
	if t.inMemory {
		return messageMemory + storedMessageMemory + 2*x.memory()
	}
	return messageMemory + x.memory()
}

// content returns the memory of a content, which all copies of a message share.
func (t sizer) content(packed Packed) int64 {
	n := contentMemory + textMemory(len(packed))
	if t.inMemory {
		n += storedContentMemory
		if body := packed.BodySize(); body > 0 {
			n += storedBodyMemory + textMemory(int(body))
		}
	}
	return n
}

// state returns the memory of a session's state, zero for nil.
func (t sizer) state(s *sessionState) int64 {
	switch {
	case s == nil:
		return 0
	case t.inMemory: // the text is shared
		return stateMemory + storedStateMemory + textMemory(len(s.text))
	default:
		return stateMemory + textMemory(len(s.text))
	}
}

// addReference adds a reference to c, and dropReference drops one. The account counts c
// once, however many messages share it.
func (ns *Namespace) addReference(c *content) {
	if c.refs++; c.refs == 1 {
		ns.account.add(ns.sizer.content(c.packed))
	}
}

func (ns *Namespace) dropReference(c *content) {
	if ns.undoReference(c); c.refs == 0 {
		ns.changes.discard(c)
	}
}

// undoReference drops a reference to c without discarding its body: the step that added
// the reference is undone and runs again.
func (ns *Namespace) undoReference(c *content) {
	if c.refs--; c.refs == 0 {
		ns.account.add(-ns.sizer.content(c.packed))
	}
}

// countIndex counts the growth of the index of messages. A map keeps its memory when
// entries are deleted.
func (ns *Namespace) countIndex() {
	if n := len(ns.messages); n > ns.peakMessages {
		ns.account.add(int64(n-ns.peakMessages) * messageEntry)
		ns.peakMessages = n
	}
}

// A map that had at least shrinkFrom entries is rebuilt when only one in shrinkAt of them
// is left. An empty map that had no more than smallMap entries is kept for reuse.
const (
	shrinkAt   = 8
	shrinkFrom = 1 << 12
	smallMap   = 64
)

// shrinkIndex rebuilds the index of messages when most of its entries are deleted, as
// after a purge. Call it only between steps.
func (ns *Namespace) shrinkIndex() {
	n := len(ns.messages)
	if ns.peakMessages < shrinkFrom || n > ns.peakMessages/shrinkAt {
		return
	}
	small := make(map[Key]*message, n)
	maps.Copy(small, ns.messages)
	ns.account.add(int64(n-ns.peakMessages) * messageEntry)
	ns.messages, ns.peakMessages = small, n
}

// setLockDetails records l as the lock of message k.
func (h *subqueue) setLockDetails(k Key, l Lock) {
	if h.locks == nil {
		h.locks = map[Key]Lock{}
	}
	h.locks[k] = l
	if n := len(h.locks); n > h.peakLocks {
		h.account.add(int64(n-h.peakLocks) * lockEntry)
		h.peakLocks = n
	}
}

// dropLockDetails drops the record of message k's lock, if there is one.
func (h *subqueue) dropLockDetails(k Key) {
	if delete(h.locks, k); len(h.locks) == 0 && h.peakLocks > smallMap {
		h.account.add(int64(-h.peakLocks) * lockEntry)
		h.locks, h.peakLocks = nil, 0
	}
}

// memory returns the memory of a session without its messages, state and lock.
func (s *session) memory() int64 { return sessionMemory + 2*pointerMemory + textMemory(len(s.id)) }

// added counts a new session, and removed stops counting one that has ended.
func (ss *sessions) added(s *session) {
	h := ss.subqueue
	h.account.add(s.memory())
	h.resize(0, h.sizer.chargeSession(s))
	if n := len(ss.byID); n > ss.peak {
		h.account.add(int64(n-ss.peak) * sessionEntry)
		ss.peak = n
	}
}

func (ss *sessions) removed(s *session) {
	h := ss.subqueue
	h.account.add(-s.memory())
	h.resize(0, -h.sizer.chargeSession(s))
	if len(ss.byID) == 0 && ss.peak > smallMap {
		h.account.add(int64(-ss.peak) * sessionEntry)
		ss.byID, ss.peak = map[string]*session{}, 0
	}
}

// memory returns the memory of an entity in a namespace, without its rules and messages.
func (e *entity) memory() int64 {
	return entityMemory + 8*textMemory(len(e.Path)) + e.Config.memory() + int64(e.seen.len())*digestEntry
}

// memory returns the memory of the texts in c.
func (c Config) memory() int64 {
	n := textMemory(len(c.ForwardTo)) + textMemory(len(c.ForwardDeadLetteredMessagesTo)) + textMemory(len(c.UserMetadata))
	for _, r := range c.AuthorizationRules {
		n += 256 + textMemory(len(r.Name)) + textMemory(len(r.PrimaryKey)) + textMemory(len(r.SecondaryKey))
	}
	return n
}

// memory returns the memory of a compiled rule.
func (p *compiledRule) memory() int64 {
	r := &p.Rule
	factor := int64(textFactor)
	if r.Filter.Kind == SQLFilter {
		factor = sqlFactor
	}
	return ruleMemory + 2*textMemory(len(p.sortKey)) + 2*textMemory(len(r.Name)) + factor*textMemory(len(r.Filter.Text)) + sqlFactor*textMemory(len(r.Action)) + 2*propertiesMemory(r.Filter.Parameters)
}

// The size of an entity (§1.5, DLQ-11) is charged for its messages and session states, each
// with the larger of two numbers: its size as clients see it in SizeInBytes (RT-3), and the
// memory it takes. Service Bus keeps messages on disk and counts only the first; here a queue
// of 1 GB full of empty messages would then take 16 GB of memory. SizeInBytes stays as the
// rules define it, so that clients can compare it with what they sent; where the two differ,
// the error says so. If Limits.MessageMemory is zero, only sizes count.
//
// By default Limits.MessageMemory is 512 bytes: an empty message takes 200 while it waits and
// up to 370 when it is locked or deferred, and the garbage collector lets the heap grow to
// twice what is alive. From about 600 bytes on, a message is charged with its size.
//
// The charge of a message does not depend on its state or on other messages: copies of a
// fan-out that share a content are each charged for it, as each counts in full in
// SizeInBytes.

// chargeOf returns how many bytes a message with this content, size and Extra counts
// against the quota.
func (t sizer) chargeOf(packed Packed, size int64, x *Extra) int64 {
	size += x.size()
	if t.minMessage == 0 {
		return size
	}
	memory := t.minMessage + textMemory(len(packed)) + x.memory()
	if t.inMemory {
		memory += t.message(x) - messageMemory - x.memory() + t.content(packed) - contentMemory - textMemory(len(packed))
	}
	return max(size, memory)
}

func (t sizer) charge(m *message) int64 {
	return t.chargeOf(m.content.packed, m.content.size, m.Extra)
}

// chargeState returns how many bytes the state of a session counts against the quota, and
// chargeSession how many the session itself counts while it has messages or state.
func (t sizer) chargeState(s *sessionState) int64 {
	switch {
	case s == nil:
		return 0
	case t.minMessage == 0:
		return int64(len(s.text))
	default:
		return max(int64(len(s.text)), t.state(s))
	}
}

func (t sizer) chargeSession(s *session) int64 {
	if t.minMessage == 0 {
		return 0
	}
	return s.memory() + sessionEntry
}
