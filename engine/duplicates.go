package engine

import (
	"crypto/sha256"
	"maps"
	"math"
	"slices"
	"time"
)

// DigestOf stands for a MessageId in the history of duplicates; the zero Digest
// for a missing one, which is never a duplicate (DUP-7).
func DigestOf(messageID string) (d Digest) {
	if messageID != "" {
		sum := sha256.Sum256([]byte(messageID))
		copy(d[:], sum[:])
	}
	return d
}

// known tells whether d stands for a MessageId.
func (d Digest) known() bool { return d != Digest{} }

// digest stands for the MessageId that m has by now.
func (m *message) digest() Digest { return DigestOf(m.packed().MessageID()) }

// sightings are the MessageIds that an entity with duplicate detection has
// accepted and remembers, whatever has become of the messages (DUP-9). They are
// kept by the time of their acceptance, in maps without pointers that are let go
// as a whole; what is still in one and has had its window is not found.
//
// A window that becomes longer would bring ids back whose own has passed: floor
// keeps them away. The store has it as a Seen without digests; at a load they are
// left out.
type sightings struct {
	generations []*generation // oldest first; none is empty
	floor       Instant       // what was accepted then or earlier is forgotten

	fresh   []Seen // what the store has not heard of
	dropped uint64 // the store has yet to drop those up to this number; zero: none
	dirty   bool   // in changes.seen
}

// A generation is what was accepted in about a quarter of a window, so that
// there are at most five while the window stays as it is.
type generation struct {
	from, newest Instant
	through      uint64            // no Seen of it has a higher number
	after        map[Digest]uint32 // milliseconds after from
}

// A sighting is what undo needs to know of one id that was accepted.
type sighting struct {
	digest Digest
	newest Instant // of its generation, before
	after  uint32  // where it stood in that before, if it did
	again  bool
}

// digestsMost bounds one Seen, so that a store can keep it in one piece.
const digestsMost = 1 << 15

// saw tells whether a message with this id would be a duplicate at e (DUP-1,
// DUP-4).
func (e *entity) saw(now Instant, d Digest) bool {
	if e.seen == nil || !d.known() {
		return false
	}
	window := e.Config.DuplicateWindow()
	for _, g := range slices.Backward(e.seen.generations) {
		if g.newest.Add(window).Passed(now) {
			break
		}
		if after, ok := g.after[d]; ok {
			at := g.from + Instant(after)
			return at > e.seen.floor && !at.Add(window).Passed(now)
		}
	}
	return false
}

// Seen tells whether a message with this id, sent to a queue or topic now,
// would be dropped as a duplicate.
func (ns *Namespace) Seen(now Instant, p Path, messageID string) (bool, error) {
	e, err := ns.entity(p)
	if err != nil {
		return false, err
	}
	return e.saw(now, DigestOf(messageID)), nil
}

// markDuplicates decides which of a batch are duplicates, of what e has seen or
// of one before them (DUP-10), and refuses it if e may not remember the others.
func (ns *Namespace) markDuplicates(now Instant, e *entity, batch []Submission) error {
	if e.seen == nil {
		for i := range batch { // it may have come to another entity before
			batch[i].duplicate = false
		}
		return nil
	}
	before := map[Digest]bool{}
	for i := range batch {
		s := &batch[i]
		if s.duplicate = before[s.Digest] || e.saw(now, s.Digest); !s.duplicate && s.Digest.known() {
			before[s.Digest] = true
		}
	}
	return ns.admitIDs(now, e, len(before))
}

// admitIDs refuses to remember more ids than e may (§1.5): a duplicate that is
// not known as one would be worse.
func (ns *Namespace) admitIDs(now Instant, e *entity, more int) error {
	if e.seen == nil || more == 0 {
		return nil
	}
	if have := e.remembered(now); int64(have)+int64(more) > ns.limits.DuplicateIDs {
		return refuse(ErrBusy, "'%s' remembers %d MessageIds of the last %v to detect duplicates and may remember %d. Send again when some of them are older, or with a shorter DuplicateDetectionHistoryTimeWindow.",
			e.Path, have, e.Config.DuplicateWindow(), ns.limits.DuplicateIDs)
	}
	return nil
}

// admitMoved is for what an operator moves to a place: a duplicate there is
// refused, unless the operator knows and wants it dropped (OPS-1).
func (ns *Namespace) admitMoved(now Instant, to *entity, m *message, mv Move) (duplicate bool, err error) {
	d := m.digest()
	switch {
	case !to.saw(now, d) && d.known():
		return false, ns.admitIDs(now, to, 1)
	case !d.known() || mv.DropDuplicate:
		return d.known(), nil
	default:
		return true, refuseCode(ErrDuplicate, 40301, "'%s' has seen the MessageId '%s' of message #%d within the last %v and would drop the message as a duplicate.",
			to.Path, cut(m.packed().MessageID(), 128), m.Seq, to.Config.DuplicateWindow())
	}
}

// remembered is how many ids take room at now, whether or not they have been
// let go by then.
func (e *entity) remembered(now Instant) (n int) {
	for _, g := range e.seen.generations {
		if !g.newest.Add(e.Config.DuplicateWindow()).Passed(now) {
			n += len(g.after)
		}
	}
	return n
}

// detect tells whether a message with this id is a duplicate at e; if not, e has
// seen it now. Ask admitIDs first.
func (ns *Namespace) detect(now Instant, e *entity, d Digest) (duplicate bool) {
	if e.saw(now, d) {
		return true
	}
	ns.remember(now, e, d)
	return false
}

// remember notes that e has accepted an id.
func (ns *Namespace) remember(now Instant, e *entity, d Digest) {
	s := e.seen
	if s == nil || !d.known() {
		return
	}
	g := s.current(now, e.Config.DuplicateWindow())
	if g == nil {
		ns.lapse(now, e)
		g = s.begin(now)
	}
	after, again := g.after[d]
	ns.changes.note(undo{kind: undoSeen, h: e.main, seen: sighting{d, g.newest, after, again}})
	g.after[d], g.newest = uint32(now-g.from), now
	if n := len(s.fresh); n == 0 || s.fresh[n-1].At != now || len(s.fresh[n-1].Digests)%digestsMost == 0 {
		s.fresh = append(s.fresh, Seen{Holder: e.ID, N: uint64(ns.keys.Next()), At: now})
	}
	r := &s.fresh[len(s.fresh)-1]
	r.Digests = append(r.Digests, d)
	g.through = r.N
	ns.changes.markSeen(e)
	ns.reschedule(e.main)
}

// current is the generation for what is accepted at an instant; nil: a new one.
func (s *sightings) current(at Instant, window time.Duration) *generation {
	if len(s.generations) == 0 {
		return nil
	}
	g := s.generations[len(s.generations)-1]
	if at < g.from || at-g.from >= quarter(window) {
		return nil
	}
	return g
}

// quarter of a window, so that the instants of a generation fit 32 bits.
func quarter(window time.Duration) Instant {
	return max(1, min(Instant(window/4/time.Millisecond), math.MaxUint32))
}

func (s *sightings) begin(at Instant) *generation {
	g := &generation{from: at, newest: at, after: map[Digest]uint32{}}
	s.generations = append(s.generations, g)
	return g
}

// forgetID takes back what remember did last.
func (ns *Namespace) forgetID(e *entity, u sighting) {
	s := e.seen
	g := s.generations[len(s.generations)-1]
	if g.newest = u.newest; u.again {
		g.after[u.digest] = u.after
	} else if delete(g.after, u.digest); len(g.after) == 0 {
		s.generations = s.generations[:len(s.generations)-1]
	}
	r := &s.fresh[len(s.fresh)-1]
	if r.Digests = r.Digests[:len(r.Digests)-1]; len(r.Digests) == 0 {
		s.fresh = s.fresh[:len(s.fresh)-1]
	}
	ns.reschedule(e.main)
}

// dropDuplicate notes that a message was accepted at e and dropped (DUP-2); m is
// what it would have been. Nothing of it is stored but the count.
func (ns *Namespace) dropDuplicate(now Instant, e *entity, m Message, c *content, actor string) {
	next := e.main.meter
	next.Duplicates++
	ns.meter(e.main, next)
	m.Holder = e.ID
	ns.event(EventDuplicate, now, &message{Message: m, content: c}, e.main, actor, "")
}

// acceptDuplicate is dropDuplicate for what was sent. A scheduled message gets a
// number that nothing has, as if it could be cancelled by it (SCH-12).
func (ns *Namespace) acceptDuplicate(now Instant, e *entity, s Submission, actor string) Seq {
	m := Message{Key: s.Key, Content: s.Key, EnqueuedAt: now}
	if s.ScheduledFor > now {
		m.State, m.ScheduledFor, m.Seq = Scheduled, s.ScheduledFor, ns.nextSeq(e.main)
		ns.changes.hard = true // nobody else may get it
	}
	ns.dropDuplicate(now, e, m, &content{key: s.Key, packed: s.Content}, actor)
	ns.Discard([]Submission{s})
	return m.Seq
}

// lapseAt is when the oldest of what e remembers has had its window, as a whole.
func (e *entity) lapseAt() Instant {
	if e.seen == nil || len(e.seen.generations) == 0 {
		return 0
	}
	return e.seen.generations[0].newest.Add(e.Config.DuplicateWindow())
}

// lapse lets go of what has had its window (DUP-12).
func (ns *Namespace) lapse(now Instant, e *entity) {
	s := e.seen
	kept, dropped := s.generations, s.dropped
	for len(s.generations) > 0 && e.lapseAt().Passed(now) {
		s.dropped = s.generations[0].through
		s.generations = s.generations[1:]
	}
	if len(kept) == len(s.generations) {
		return
	}
	ns.changes.note(undo{kind: undoOther, h: e.main, other: func() {
		s.generations, s.dropped = kept, dropped
		ns.reschedule(e.main)
	}})
	s.generations = slices.Clone(s.generations) // the others are not held any more
	ns.changes.markSeen(e)
	ns.reschedule(e.main)
}

// lengthen keeps what has had its window from coming back under a longer one.
func (ns *Namespace) lengthen(now Instant, e *entity, c Config) {
	s, was := e.seen, e.Config.DuplicateWindow()
	if s == nil || c.DuplicateWindow() <= was {
		return
	}
	ns.lapse(now, e)
	floor := now - (now.Add(was) - now)
	if len(s.generations) == 0 || s.generations[0].from > floor || floor <= s.floor {
		return
	}
	before := s.floor
	ns.changes.note(undo{kind: undoOther, h: e.main, other: func() {
		s.floor, s.fresh = before, s.fresh[:len(s.fresh)-1]
	}})
	s.floor = floor
	s.fresh = append(s.fresh, Seen{Holder: e.ID, N: uint64(ns.keys.Next()), At: floor})
	s.generations[len(s.generations)-1].through = s.fresh[len(s.fresh)-1].N
	ns.changes.markSeen(e)
}

// restoreSeen takes in what the store remembers.
func (e *entity) restoreSeen(r Seen) {
	s := e.seen
	if s == nil {
		return
	}
	if len(r.Digests) == 0 {
		s.forget(r)
		return
	}
	g := s.current(r.At, e.Config.DuplicateWindow())
	if g == nil {
		g = s.begin(r.At)
	}
	for _, d := range r.Digests {
		g.after[d] = uint32(r.At - g.from)
	}
	g.newest, g.through = max(g.newest, r.At), r.N
}

// forget is what a Seen without digests says of those before it.
func (s *sightings) forget(r Seen) {
	for _, g := range s.generations {
		maps.DeleteFunc(g.after, func(_ Digest, after uint32) bool { return g.from+Instant(after) <= r.At })
	}
	s.generations = slices.DeleteFunc(s.generations, func(g *generation) bool { return len(g.after) == 0 })
	if n := len(s.generations); n > 0 {
		s.generations[n-1].through = r.N
	}
}

// restoredSeen ends a load. What was accepted in the future, by a clock that is
// not believed any more, counts as accepted now.
func (e *entity) restoredSeen(now Instant) {
	if e.seen == nil {
		return
	}
	for _, g := range e.seen.generations {
		if ahead := g.newest - now; ahead > 0 {
			g.from, g.newest = g.from-ahead, now
		}
	}
}

// len is how many ids are remembered.
func (s *sightings) len() (n int) {
	if s != nil {
		for _, g := range s.generations {
			n += len(g.after)
		}
	}
	return n
}

func (c *changes) markSeen(e *entity) {
	if !e.seen.dirty {
		e.seen.dirty = true
		c.seen = append(c.seen, e)
	}
}

// batchSeen puts what the store has not heard of into b.
func (ns *Namespace) batchSeen(b *Batch) {
	for _, e := range ns.changes.seen {
		if ns.holders[e.ID] != e.main {
			continue
		}
		s := e.seen
		if s.dropped != 0 {
			b.DropSeen = append(b.DropSeen, SeenThrough{e.ID, s.dropped})
		}
		for _, r := range s.fresh {
			if r.N > s.dropped {
				b.Seen = append(b.Seen, r)
			}
		}
	}
}

// cleanSeen says that the store has it all.
func (c *changes) cleanSeen() {
	for _, e := range c.seen {
		e.seen.fresh, e.seen.dropped, e.seen.dirty = nil, 0, false
	}
	clear(c.seen)
	c.seen = c.seen[:0]
}
