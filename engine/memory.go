package engine

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// ErrMemoryFull is the kind of ErrBusy for requests that the memory limit refuses. They succeed
// again once enough messages were received or deleted.
var ErrMemoryFull = fmt.Errorf("%w: memory is full", ErrBusy)

// A Memory counts the memory that the namespaces of a process use, and limits it. It
// counts messages, sessions and entities by the rules of memory_account.go, not the memory that
// the process has obtained from the system: that number changes late and at random, and
// whether a send succeeds must not depend on it. It is safe for concurrent use. The zero Memory has
// no limit.
type Memory struct {
	limit  int64
	used   atomic.Int64
	shares atomic.Int64 // namespaces that are in use
}

// NewMemory returns a Memory with a limit in bytes; zero or less means no limit.
func NewMemory(limit int64) *Memory { return &Memory{limit: max(0, limit)} }

// Limit returns the limit in bytes; zero means no limit.
func (m *Memory) Limit() int64 { return m.limit }

// Used returns the bytes that are used. They may be more than the limit: deliveries,
// dead letters and forwards go on, and a store may hold more when it is opened.
func (m *Memory) Used() int64 { return m.used.Load() }

// memorySparePercent is by how many percent of the limit memory may grow beyond what sends may use.
// Only copies that a topic makes without a request use it: of forwarded messages and of scheduled
// ones.
// Without it, a memory full of messages that are yet to be copied would stay full: they
// cannot be received before that. A message whose copies were all received gives back more
// than its copies took.
const memorySparePercent = 2

// percentOfLimit returns percent of the limit, in bytes.
func (m *Memory) percentOfLimit(percent int64) int64 {
	if m.limit > math.MaxInt64/100 {
		return m.limit / 100 * percent
	}
	return m.limit * percent / 100
}

// admitMemory returns ErrMemoryFull unless the namespace may use `more` bytes in addition, and
// ErrQuota if they exceed the limit by themselves. It is called only for requests that add data;
// receiving and deleting messages is always possible.
func (ns *Namespace) admitMemory(more int64) error { return ns.share.admit(ns.memoryUsed(), more) }

// memoryRetryDelay is how long messages that a topic is to copy wait for memory before the next
// try.
const memoryRetryDelay = time.Second

// copiesWait reports whether copies that a topic makes without a request wait for memory. It does
// not consider how much the copies of a message take, so that a message with many is not
// overtaken forever; memory grows past memorySparePercent by the copies of one message at most. The
// copies of a namespace that uses more than an equal share wait earlier, as its sends are
// refused earlier: neither may use the last memoryReservePercent of the limit.
func (ns *Namespace) copiesWait() bool {
	m, kept := ns.share.memory, ns.memoryUsed()
	return m.limit > 0 && ns.share.total(kept)-ns.share.maxTotal(kept) >= m.percentOfLimit(memorySparePercent)
}

// nextMemoryRetry returns when messages that wait for memory are tried again. It is the same time for
// all subqueues of the namespace: one turn a second tries all of them.
func (ns *Namespace) nextMemoryRetry(now Instant) Instant {
	if ns.nextRetryAt <= now || ns.nextRetryAt > now.Add(memoryRetryDelay) {
		ns.nextRetryAt = now.Add(memoryRetryDelay)
	}
	return ns.nextRetryAt
}

// schedulesWait reports whether scheduled messages at h wait for memory, or for room in the store
// (SweepDrops). When a message at a topic is due, the topic makes a copy for each
// subscription, but the send was admitted with one copy. At a queue the message itself
// becomes active.
func (ns *Namespace) schedulesWait(h *subqueue) bool {
	return h.entity.Kind == Topic && !h.dead && (ns.dropsOnly || ns.copiesWait())
}

// deferForwards leaves the messages at h that are to be forwarded until the next try, because memory
// or the disk has no room for them. Each try is a use of their destination, as a send is
// (IDLE-2), so it does not delete itself before they arrive.
func (ns *Namespace) deferForwards(now Instant, h *subqueue) {
	if to := ns.entities[h.destination().Fold()]; to != nil {
		ns.touchIfFull(now, to, ErrMemoryFull)
	}
	h.forwarding.lacksMemory, h.forwarding.retryAt = true, ns.nextMemoryRetry(now)
	ns.reschedule(h)
}

// touchIfFull resets the idle clock of an entity if err means that memory had no room for a message
// sent to it. A client whose sends are refused uses the entity, as does one whose receives
// find nothing (IDLE-7).
func (ns *Namespace) touchIfFull(now Instant, to *entity, err error) {
	if errors.Is(err, ErrMemoryFull) && to.Config.Effective().AutoDeleteOnIdle != 0 {
		ns.touch(now, to, "send", "")
	}
}

// forwardsWait reports whether messages of e or of its subscriptions wait for memory to be
// forwarded. An entity does not delete itself then (IDLE-10): without the shortage they would
// have been forwarded by now.
func (e *entity) forwardsWait() bool {
	for _, h := range e.subqueues() {
		if h.forwarding.lacksMemory && h.nextForward() != 0 {
			return true
		}
	}
	for _, s := range e.subs {
		if s.forwardsWait() {
			return true
		}
	}
	return false
}

// memoryUsed returns the memory of the namespace in bytes.
func (ns *Namespace) memoryUsed() int64 { return ns.account.bytes }

// reportMemory updates the process's Memory with the changes since the last report. It is
// called once a turn, so that a send costs no more than additions.
func (ns *Namespace) reportMemory() {
	ns.shrinkIndex()
	ns.share.set(ns.memoryUsed())
}

// ReleaseMemory returns the memory of the namespace to the process. The namespace must not be used
// afterwards.
func (ns *Namespace) ReleaseMemory() { ns.share.leave() }

// MemoryUsed returns the memory of the namespace in bytes.
func (ns *Namespace) MemoryUsed() int64 { return ns.memoryUsed() }

// MemoryShare returns the namespace's share of the process's memory.
func (ns *Namespace) MemoryShare() *MemoryShare { return ns.share }

// A MemoryShare counts what one namespace uses of a Memory, and decides how much more it may
// use. It belongs to the namespace's owner; Full and Low are safe for concurrent use.
//
// The last memoryReservePercent of the limit is for namespaces that use less than an equal share of
// it. Without that, a namespace whose messages are never received would keep the clients of
// all others from sending. A namespace that is alone in the process may use the whole limit.
// An empty one has a share as well: it can be used even if others filled their memory before.
type MemoryShare struct {
	memory  *Memory
	used    atomic.Int64 // the bytes that set last recorded
	counted bool         // whether memory.shares counts this namespace
	full    atomic.Bool
}

const memoryReservePercent = 10 // percent of the limit

// A send that is refused makes memory full for its namespace if at least memoryFullPercent of what
// the namespace may use is used: all of its sends are then refused until less than
// memoryResumePercent is used. Otherwise a queue at the limit would accept every other message. Below
// memoryFullPercent, only the message that is too large for the rest is refused.
const (
	memoryFullPercent   = 98 // percent
	memoryResumePercent = 95
)

// set records how many bytes the namespace uses.
func (s *MemoryShare) set(kept int64) {
	if !s.counted {
		s.counted = true
		s.memory.shares.Add(1)
	}
	if was := s.used.Load(); kept != was {
		s.memory.used.Add(kept - was)
		s.used.Store(kept)
	}
}

// leave gives all memory of the namespace back to the Memory, and no longer counts the namespace.
func (s *MemoryShare) leave() {
	s.set(0)
	s.counted = false
	s.memory.shares.Add(-1)
}

// total returns how many bytes all namespaces use, where `kept` is what this one uses now.
func (s *MemoryShare) total(kept int64) int64 { return s.memory.used.Load() + kept - s.used.Load() }

// equalShare returns the limit divided by the number of namespaces in use.
func (s *MemoryShare) equalShare() int64 { return s.memory.limit / max(1, s.memory.shares.Load()) }

// maxTotal returns how many bytes all namespaces may use together while this one uses `kept` of
// them.
func (s *MemoryShare) maxTotal(kept int64) int64 {
	if s.memory.shares.Load() > 1 && kept > s.equalShare() {
		return s.memory.percentOfLimit(100 - memoryReservePercent)
	}
	return s.memory.limit
}

// Full reports whether sends to the namespace are refused because of memory.
func (s *MemoryShare) Full() bool {
	if !s.full.Load() {
		return false
	}
	top := s.maxTotal(s.used.Load() / memoryResumePercent * 100) // as if the refused message were added, which may exceed the equal share
	if s.memory.used.Load() < top/100*memoryResumePercent {
		s.full.Store(false)
		return false
	}
	return true
}

// memoryLowPercent is the percentage of what a namespace may use at which operators are warned.
const memoryLowPercent = 90

// Low reports whether at least memoryLowPercent of the memory that the namespace may use is in use,
// so that its sends may soon be refused.
func (s *MemoryShare) Low() bool {
	return s.memory.limit > 0 && s.memory.used.Load() >= s.maxTotal(s.used.Load())/100*memoryLowPercent
}

// admit returns ErrMemoryFull if the namespace, which uses `kept` bytes now, may not use `more` bytes
// in addition, and ErrQuota if `more` exceeds the limit by itself.
func (s *MemoryShare) admit(kept, more int64) error {
	m := s.memory
	if m.limit == 0 || more <= 0 {
		return nil
	}
	if more > m.limit {
		return RefuseCode(ErrQuota, 40300, "This needs %d bytes of memory, more than the server's limit of %d bytes (--limit memory).", more, m.limit)
	}
	total, top, full := s.total(kept), s.maxTotal(kept+more), s.Full()
	if !full && total+more <= top {
		return nil
	}
	if total >= top/100*memoryFullPercent {
		s.full.Store(true)
	}
	if top < m.limit && total < m.percentOfLimit(memoryFullPercent) {
		return Refuse(ErrMemoryFull, "The server's memory is full for this namespace, which uses %d bytes: messages of all namespaces use %d, the limit is %d (--limit memory), and the last %d %% are reserved for namespaces that use less than %d. Receive or delete messages, or raise the limit. Then send again.",
			kept, total, m.limit, memoryReservePercent, s.equalShare())
	}
	return Refuse(ErrMemoryFull, "The server's memory is full: messages use %d bytes and the limit is %d (--limit memory). Receive or delete messages, or raise the limit. Then send again.", total, m.limit)
}
