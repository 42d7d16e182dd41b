package engine

import (
	"container/heap"
	"slices"
	"time"
)

// This file is for who wants to know of messages some time before their time runs
// out: Nearing walks through them in the order in which they do, and a Vigil has
// it noted which come to be nearer than what was walked through already.

// A Brink is a place in the order in which messages run out: just behind one of
// them. The zero Brink is before all.
type Brink struct {
	At   Instant
	Path Path
	Seq  Seq
}

// after is the first alarm of a place that lies behind b.
func (b Brink) after(p Path) alarm {
	switch {
	case p > b.Path:
		return alarm{at: b.At}
	case p < b.Path:
		return alarm{at: b.At + 1}
	default:
		return alarm{at: b.At, seq: b.Seq + 1}
	}
}

// Nearing lists the messages behind a place whose time runs out by until, at most
// limit, in places that covers agrees to, and where another walk goes on. next is
// when the soonest runs out that was not listed; zero: there is none. A message
// under a lock, a deferred one and a dead letter do not run out.
func (ns *Namespace) Nearing(from Brink, until Instant, limit int, covers func(Path) bool) (rows []Row, to Brink, next Instant) {
	var line soonest
	for _, h := range ns.holders {
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
		to = Brink{At: c.at, Path: c.h.path, Seq: c.seq}
		if c.advance() {
			heap.Fix(&line, 0)
		} else {
			heap.Pop(&line)
		}
	}
	return rows, to, 0
}

// from is where the first alarm from a on stands; behind the last chunk if there
// is none.
func (s *alarms) from(a alarm) (i, j int) {
	if i = s.chunk(a); i == len(s.chunks) {
		return i, 0
	}
	j, _ = slices.BinarySearchFunc(s.chunks[i], a, alarm.compare)
	return i, j
}

// slippedMost bounds the keys that a vigil keeps.
const slippedMost = 4096

// A vigil is what was seen of the order in which messages run out. The zero vigil
// is nobody's: no place has it, so that it costs nothing.
type vigil struct {
	seen   Instant         // what runs out by then was walked through
	next   Instant         // the soonest that somebody waits for; zero: nobody keeps the vigil
	reach  time.Duration   // how long before their end messages are of interest
	covers func(Path) bool // which places are; nil: none

	slipped []Key // what came to run out by seen, from number first on
	first   uint64
	count   uint64 // how many slipped so far
	lost    uint64 // number behind the last one there was no room for; zero: there was
	stirred bool
}

// at is the vigil for those of a place; nil: it is of no interest.
func (v *vigil) at(p Path) *vigil {
	if v.covers == nil || !v.covers(p) {
		return nil
	}
	return v
}

// arm notes that a message has an alarm for its expiry.
func (v *vigil) arm(at Instant, k Key) {
	switch {
	case v == nil || at >= v.next:
	case at > v.seen:
		v.next, v.stirred = at, true
	default:
		v.slip(k)
	}
}

// lock notes a message under a lock that may last beyond the moment from which on
// the end of the message's time is of interest: it runs out without notice when
// the lock ends (TTL-20).
func (v *vigil) lock(expires, until Instant, k Key) {
	if v != nil && expires != 0 && expires.Add(-v.reach) < until {
		v.slip(k)
	}
}

func (v *vigil) slip(k Key) {
	v.stirred = true
	v.count++
	if v.lost != 0 || len(v.slipped) == slippedMost { // then everything is looked at anyway
		v.lost = v.count
		return
	}
	v.slipped = append(v.slipped, k)
}

// A Slip is messages that came to be nearer to their end than what Nearing was
// asked for, in the order in which that happened, or that are locked until then.
// The same may be there twice, and it may be otherwise by now.
type Slip struct {
	Keys []Key
	To   uint64 // what Attend is told once they were looked at
	All  bool   // there were too many, or nobody attended: everything has to be looked at
}

// Slipped is what happened since what Attend was told. Looking takes nothing away.
func (ns *Namespace) Slipped() Slip {
	v := &ns.vigil
	return Slip{Keys: slices.Clone(v.slipped), To: v.count, All: v.next == 0 || v.lost != 0}
}

// A Vigil says how far somebody has seen.
type Vigil struct {
	Seen   Instant         // everything that runs out until then was looked at
	Next   Instant         // and this is the next after, as Nearing said; zero: there is nothing
	Reach  time.Duration   // how long before their end messages are of interest
	Covers func(Path) bool // the places that are; zero: as it was said before. It is called at any time
	To     uint64          // of the Slip that was looked at
}

// Attend begins a vigil, or goes on with it: from now on what comes to run out
// before Next is noted, see Slipped and Stirred. There is one for a namespace.
func (ns *Namespace) Attend(a Vigil) {
	v := &ns.vigil
	v.seen, v.next, v.reach = a.Seen, a.Next, a.Reach
	if v.next == 0 {
		v.next = Forever + 1
	}
	v.seen = min(v.seen, v.next-1)
	if a.Covers != nil {
		v.covers = a.Covers
		for _, h := range ns.holders {
			h.near = v.at(h.path)
		}
	}
	if n := min(a.To-min(a.To, v.first), uint64(len(v.slipped))); n > 0 {
		v.slipped, v.first = slices.Clone(v.slipped[n:]), v.first+n
	}
	if a.To >= v.lost {
		v.lost = 0
		if len(v.slipped) == 0 {
			v.first = v.count
		}
	}
}

// Unattended ends the vigil.
func (ns *Namespace) Unattended() {
	ns.vigil = vigil{}
	for _, h := range ns.holders {
		h.near = nil
	}
}

// Stirred tells, once, whether there is something new for who keeps the vigil.
func (ns *Namespace) Stirred() bool {
	was := ns.vigil.stirred
	ns.vigil.stirred = false
	return was
}

// An Idler is an entity that deletes itself if nobody uses it.
type Idler struct {
	Path      Path
	DeletesAt Instant
}

// Idlers are the entities that delete themselves by until if nobody uses them,
// by path.
func (ns *Namespace) Idlers(until Instant) (all []Idler) {
	for _, e := range ns.sorted() {
		idle := e.Config.InForce().AutoDeleteOnIdle
		if idle == 0 || e.Config.ForwardTo != "" || e.activity().Held() {
			continue
		}
		if at := e.main.meter.LastUsed.Add(idle); at <= until {
			all = append(all, Idler{e.Path, at})
		}
	}
	return all
}
