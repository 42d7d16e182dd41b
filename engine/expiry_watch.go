package engine

import (
	"container/heap"
	"slices"
	"time"
)

// This file implements the expiry watch, for packages that act on messages some time before
// they expire: ExpiringFrom lists messages in expiry order, and MissedExpiries those whose expiry
// moved to a time before the last listed message.

// An ExpiryCursor is a position in the order in which messages expire: just behind a message. The
// zero ExpiryCursor is before all messages.
type ExpiryCursor struct {
	At   Instant
	Path Path
	Seq  Seq
}

// after returns the lowest alarm that a message of subqueue p can have if it comes after b.
func (b ExpiryCursor) after(p Path) alarm {
	switch {
	case p > b.Path:
		return alarm{at: b.At}
	case p < b.Path:
		return alarm{at: b.At + 1}
	default:
		return alarm{at: b.At, seq: b.Seq + 1}
	}
}

// ExpiringFrom lists up to limit messages after the position `from` that expire at or before `until`,
// in subqueues for which covers returns true. `to` is the position to continue from, and next is when
// the first message that was not listed expires, or zero if there is none. Locked and deferred
// messages and dead letters are not listed, because they do not expire while they are in that
// state.
func (ns *Namespace) ExpiringFrom(from ExpiryCursor, until Instant, limit int, covers func(Path) bool) (rows []Row, to ExpiryCursor, next Instant) {
	var line cursorHeap
	for _, h := range ns.subqueues {
		if h.expiring.len() == 0 || !covers(h.path) {
			continue
		}
		if i, j := h.expiring.from(from.after(h.path)); i < len(h.expiring.chunks) {
			line = append(line, cursor{h: h, chunk: i, index: j, alarm: h.expiring.chunks[i][j]})
		}
	}
	heap.Init(&line)
	to = from
	for len(line) > 0 {
		c := &line[0]
		if c.at > until || len(rows) == limit {
			return rows, to, c.at
		}
		rows = append(rows, ns.row(c.h, c.h.order.at(c.seq)))
		to = ExpiryCursor{At: c.at, Path: c.h.path, Seq: c.seq}
		if c.advance() {
			heap.Fix(&line, 0)
		} else {
			heap.Pop(&line)
		}
	}
	return rows, to, 0
}

// maxMissed is the maximum number of keys that an expiryWatch keeps.
const maxMissed = 4096

// An expiryWatch is the state of the expiry watch: how far messages were listed. The zero
// expiryWatch is inactive: no subqueue refers to it, so that it costs nothing.
type expiryWatch struct {
	seen   Instant         // messages that expire at this time or earlier were listed
	next   Instant         // the soonest expiry that the watcher waits for; zero if the watch is inactive
	reach  time.Duration   // how long before their expiry messages matter
	covers func(Path) bool // the subqueues that matter; nil for none

	missed   []Key // messages that now expire by seen, from number first on
	first    uint64
	count    uint64 // how many were missed so far
	overflow uint64 // number after the last message that missed had no room for; zero if there was room
	changed  bool   // next or missed changed since ExpiryChanged was called
}

// at returns v if it covers the subqueue p, otherwise nil.
func (v *expiryWatch) at(p Path) *expiryWatch {
	if v.covers == nil || !v.covers(p) {
		return nil
	}
	return v
}

// arm is called when message k gets an alarm for its expiry at `at`. If that is before next, it
// becomes the new next or, if ExpiringFrom has listed that time already, k is added to missed. v may
// be nil.
func (v *expiryWatch) arm(at Instant, k Key) {
	switch {
	case v == nil || at >= v.next:
	case at > v.seen:
		v.next, v.changed = at, true
	default:
		v.addMissed(k)
	}
}

// lock is called when message k, which expires at `expires`, is locked until `until`. It adds k to
// missed if the lock may still last when `expires` is less than reach away: the message may then
// expire when the lock ends, without having been listed (TTL-20). v may be nil.
func (v *expiryWatch) lock(expires, until Instant, k Key) {
	if v != nil && expires != 0 && expires.Add(-v.reach) < until {
		v.addMissed(k)
	}
}

func (v *expiryWatch) addMissed(k Key) {
	v.changed = true
	v.count++
	if v.overflow != 0 || len(v.missed) == maxMissed { // everything has to be listed again anyway
		v.overflow = v.count
		return
	}
	v.missed = append(v.missed, k)
}

// A MissedExpiries lists messages that ExpiringFrom does not list in time: their expiry moved to a
// time that was listed before, or their lock may last until shortly before it. They are in the
// order in which that happened. A message may be listed twice, and may have changed since.
type MissedExpiries struct {
	Keys     []Key
	To       uint64 // pass it to WatchExpiry as MissedTo once these messages were handled
	Overflow bool   // there were too many, or the watch was inactive: list everything again
}

// MissedExpiries returns the messages that were missed since MissedTo of the last WatchExpiry. It
// does not remove them.
func (ns *Namespace) MissedExpiries() MissedExpiries {
	v := &ns.expiryWatch
	return MissedExpiries{Keys: slices.Clone(v.missed), To: v.count, Overflow: v.next == 0 || v.overflow != 0}
}

// An ExpiryWatch is the argument of WatchExpiry: which subqueues the caller watches, and up to which
// expiry it has handled messages.
type ExpiryWatch struct {
	Seen     Instant         // everything that expires until then was handled
	Next     Instant         // the next expiry after that, as returned by ExpiringFrom; zero if none
	Reach    time.Duration   // how long before their expiry messages matter
	Covers   func(Path) bool // the subqueues that matter; nil to leave that unchanged. It may be called at any time
	MissedTo uint64          // the field To of the last MissedExpiries that was handled
}

// WatchExpiry begins or continues the expiry watch: from now on, it records messages that
// get an expiry before a.Next; see MissedExpiries and ExpiryChanged. A namespace has one watch.
func (ns *Namespace) WatchExpiry(a ExpiryWatch) {
	v := &ns.expiryWatch
	v.seen, v.next, v.reach = a.Seen, a.Next, a.Reach
	if v.next == 0 {
		v.next = Forever + 1
	}
	v.seen = min(v.seen, v.next-1)
	if a.Covers != nil {
		v.covers = a.Covers
		for _, h := range ns.subqueues {
			h.expiryWatch = v.at(h.path)
		}
	}
	if n := min(a.MissedTo-min(a.MissedTo, v.first), uint64(len(v.missed))); n > 0 {
		v.missed, v.first = slices.Clone(v.missed[n:]), v.first+n
	}
	if a.MissedTo >= v.overflow {
		v.overflow = 0
		if len(v.missed) == 0 {
			v.first = v.count
		}
	}
}

// StopExpiryWatch ends the expiry watch.
func (ns *Namespace) StopExpiryWatch() {
	ns.expiryWatch = expiryWatch{}
	for _, h := range ns.subqueues {
		h.expiryWatch = nil
	}
}

// ExpiryChanged reports whether an expiry before Next was recorded since it was last called.
func (ns *Namespace) ExpiryChanged() bool {
	was := ns.expiryWatch.changed
	ns.expiryWatch.changed = false
	return was
}
