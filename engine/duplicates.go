package engine

import (
	"crypto/sha256"
	"maps"
	"math"
	"slices"
	"time"

	"mayfly/engine/shorten"
)

// DigestOf returns the digest that represents a MessageId in the duplicate history. An empty
// MessageId has the zero Digest and is never a duplicate (DUP-7).
func DigestOf(messageID string) (d Digest) {
	if messageID != "" {
		sum := sha256.Sum256([]byte(messageID))
		copy(d[:], sum[:])
	}
	return d
}

// isSet reports whether d represents a MessageId.
func (d Digest) isSet() bool { return d != Digest{} }

// digest returns the digest of m's present MessageId, which a rule's action may have changed.
func (m *message) digest() Digest { return DigestOf(m.packed().MessageID()) }

// A duplicateHistory holds the MessageIds that an entity with duplicate detection has accepted and
// remembers, even if the messages do not exist any more (DUP-9). They are grouped by time of
// acceptance in maps without pointers, which are dropped as a whole; an id whose window has passed
// is not found, even while its map is kept.
//
// When a window is made longer, ids whose window has passed must not count as duplicates again, so
// floor is set to the beginning of the old window. In the store, floor is a SeenIDs without digests,
// and loading leaves out the ids that were accepted by then.
type duplicateHistory struct {
	generations []*generation // oldest first; none is empty
	floor       Instant       // ids accepted then or earlier are forgotten

	unsaved []SeenIDs // records that the store does not have yet
	dropped uint64    // the store has yet to drop its records up to this number; zero if none
	dirty   bool      // whether the entity is in changes.seen
}

// A generation holds the ids accepted in about a quarter of a window, so that there are at most
// five while the window does not change.
type generation struct {
	from, newest Instant
	through      uint64            // the highest number of its SeenIDs records
	ids          map[Digest]uint32 // when each id was accepted, in milliseconds after `from`
}

// A rememberedID is an accepted id with the values that undo restores.
type rememberedID struct {
	digest   Digest
	newest   Instant // the previous newest of its generation
	after    uint32  // its previous value in the generation, if repeated
	repeated bool    // whether the generation already had the id
}

// maxDigests is the maximum number of digests in one SeenIDs, so that a store can keep it in one
// record.
const maxDigests = 1 << 15

// isDuplicate reports whether a message with this id would be a duplicate at e (DUP-1, DUP-4).
func (e *entity) isDuplicate(now Instant, d Digest) bool {
	if e.seen == nil || !d.isSet() {
		return false
	}
	window := e.Config.DuplicateWindow()
	for _, g := range slices.Backward(e.seen.generations) {
		if g.newest.Add(window).Passed(now) {
			break
		}
		if after, ok := g.ids[d]; ok {
			at := g.from + Instant(after)
			return at > e.seen.floor && !at.Add(window).Passed(now)
		}
	}
	return false
}

// IsDuplicate reports whether a message with this id, sent to a queue or topic now, would be dropped
// as a duplicate.
func (ns *Namespace) IsDuplicate(now Instant, p Path, messageID string) (bool, error) {
	e, err := ns.entity(p)
	if err != nil {
		return false, err
	}
	return e.isDuplicate(now, DigestOf(messageID)), nil
}

// markDuplicates marks the messages of a batch that are duplicates, of messages that e accepted
// before or of earlier ones in the batch (DUP-10). It returns ErrBusy if e has no room to remember
// the ids of the others.
func (ns *Namespace) markDuplicates(now Instant, e *entity, batch []Submission) error {
	if e.seen == nil {
		for i := range batch { // the batch may have been sent to another entity before
			batch[i].duplicate = false
		}
		return nil
	}
	before := map[Digest]bool{}
	for i := range batch {
		s := &batch[i]
		if s.duplicate = before[s.Digest] || e.isDuplicate(now, s.Digest); !s.duplicate && s.Digest.isSet() {
			before[s.Digest] = true
		}
	}
	return ns.admitIDs(now, e, len(before))
}

// admitIDs returns ErrBusy if e would exceed Limits.DuplicateIDs with `more` new ids (§1.5). It does
// not drop older ids to make room, because duplicates of their messages would then be accepted.
func (ns *Namespace) admitIDs(now Instant, e *entity, more int) error {
	if e.seen == nil || more == 0 {
		return nil
	}
	if have := e.countRemembered(now); int64(have)+int64(more) > ns.limits.DuplicateIDs {
		return Refuse(ErrBusy, "'%s' stores %d MessageIds of the last %v for duplicate detection, and the maximum is %d. Retry when some of them are older, or shorten the DuplicateDetectionHistoryTimeWindow.",
			e.Path, have, e.Config.DuplicateWindow(), ns.limits.DuplicateIDs)
	}
	return nil
}

// admitMoved reports whether a message that an operator moves is a duplicate at `to`. It returns
// ErrDuplicate then, unless mv.DropDuplicate is set (OPS-1), and ErrBusy if `to` has no room to
// remember its id.
func (ns *Namespace) admitMoved(now Instant, to *entity, m *message, mv Move) (duplicate bool, err error) {
	d := m.digest()
	switch {
	case !to.isDuplicate(now, d) && d.isSet():
		return false, ns.admitIDs(now, to, 1)
	case !d.isSet() || mv.DropDuplicate:
		return d.isSet(), nil
	default:
		return true, RefuseCode(ErrDuplicate, 40301, "'%s' has received the MessageId '%s' of message #%d within the last %v and would drop the message as a duplicate.",
			to.Path, shorten.To(m.packed().MessageID(), 128), m.Seq, to.Config.DuplicateWindow())
	}
}

// countRemembered returns how many ids count against the limit at now. Generations whose window
// has passed do not count, even if they have not been dropped yet.
func (e *entity) countRemembered(now Instant) (n int) {
	for _, g := range e.seen.generations {
		if !g.newest.Add(e.Config.DuplicateWindow()).Passed(now) {
			n += len(g.ids)
		}
	}
	return n
}

// detectDuplicate reports whether a message with this id is a duplicate at e; if not, it remembers
// the id. Call admitIDs first.
func (ns *Namespace) detectDuplicate(now Instant, e *entity, d Digest) (duplicate bool) {
	if e.isDuplicate(now, d) {
		return true
	}
	ns.rememberID(now, e, d)
	return false
}

// rememberID records that e has accepted an id.
func (ns *Namespace) rememberID(now Instant, e *entity, d Digest) {
	s := e.seen
	if s == nil || !d.isSet() {
		return
	}
	g := s.current(now, e.Config.DuplicateWindow())
	if g == nil {
		ns.forgetIDs(now, e)
		g = s.begin(now)
	}
	after, again := g.ids[d]
	ns.changes.addUndo(undo{kind: undoSeen, h: e.main, seen: rememberedID{d, g.newest, after, again}})
	g.ids[d], g.newest = uint32(now-g.from), now
	if !again {
		ns.account.add(digestEntry)
	}
	if n := len(s.unsaved); n == 0 || s.unsaved[n-1].At != now || len(s.unsaved[n-1].Digests)%maxDigests == 0 {
		s.unsaved = append(s.unsaved, SeenIDs{Subqueue: e.ID, N: uint64(ns.keys.Next()), At: now})
	}
	r := &s.unsaved[len(s.unsaved)-1]
	r.Digests = append(r.Digests, d)
	g.through = r.N
	ns.changes.markSeen(e)
	ns.reschedule(e.main)
}

// current returns the generation for ids accepted at `at`, or nil if a new generation is needed.
func (s *duplicateHistory) current(at Instant, window time.Duration) *generation {
	if len(s.generations) == 0 {
		return nil
	}
	g := s.generations[len(s.generations)-1]
	if at < g.from || at-g.from >= quarter(window) {
		return nil
	}
	return g
}

// quarter returns a quarter of a window, bounded so that the instants of a generation fit 32
// bits.
func quarter(window time.Duration) Instant {
	return max(1, min(Instant(window/4/time.Millisecond), math.MaxUint32))
}

func (s *duplicateHistory) begin(at Instant) *generation {
	g := &generation{from: at, newest: at, ids: map[Digest]uint32{}}
	s.generations = append(s.generations, g)
	return g
}

// undoRemember undoes the last rememberID.
func (ns *Namespace) undoRemember(e *entity, u rememberedID) {
	s := e.seen
	g := s.generations[len(s.generations)-1]
	if g.newest = u.newest; u.repeated {
		g.ids[u.digest] = u.after
	} else {
		ns.account.add(-digestEntry)
		if delete(g.ids, u.digest); len(g.ids) == 0 {
			s.generations = s.generations[:len(s.generations)-1]
		}
	}
	r := &s.unsaved[len(s.unsaved)-1]
	if r.Digests = r.Digests[:len(r.Digests)-1]; len(r.Digests) == 0 {
		s.unsaved = s.unsaved[:len(s.unsaved)-1]
	}
	ns.reschedule(e.main)
}

// dropDuplicate records that a message was accepted at e and dropped (DUP-2). m is the message
// that would have been stored. Only the count is stored.
func (ns *Namespace) dropDuplicate(now Instant, e *entity, m Message, c *content, actor string) {
	next := e.main.meter
	next.Duplicates++
	ns.meter(e.main, next)
	m.Subqueue = e.ID
	ns.event(EventDuplicate, now, &message{Message: m, content: c}, e.main, actor, "")
}

// acceptDuplicate is dropDuplicate for a message that was sent. It returns zero or, for a scheduled
// message, a number that no other message gets, as if the message were stored (SCH-12).
func (ns *Namespace) acceptDuplicate(now Instant, e *entity, s Submission, actor string) Seq {
	m := Message{Key: s.Key, Content: s.Key, EnqueuedAt: now}
	if s.ScheduledFor > now {
		m.State, m.ScheduledFor, m.Seq = Scheduled, s.ScheduledFor, ns.nextSeq(e.main)
		ns.changes.hard = true // no other message may get the number
	}
	ns.dropDuplicate(now, e, m, &content{key: s.Key, packed: s.Content}, actor)
	ns.DiscardStaged([]Submission{s})
	return m.Seq
}

// nextForget returns when the window of e's oldest generation has passed as a whole, or zero if
// e remembers nothing.
func (e *entity) nextForget() Instant {
	if e.seen == nil || len(e.seen.generations) == 0 {
		return 0
	}
	return e.seen.generations[0].newest.Add(e.Config.DuplicateWindow())
}

// forgetIDs drops the generations whose window has passed (DUP-12).
func (ns *Namespace) forgetIDs(now Instant, e *entity) {
	s := e.seen
	kept, dropped, gone := s.generations, s.dropped, int64(0)
	for len(s.generations) > 0 && e.nextForget().Passed(now) {
		s.dropped = s.generations[0].through
		gone += int64(len(s.generations[0].ids))
		s.generations = s.generations[1:]
	}
	if len(kept) == len(s.generations) {
		return
	}
	ns.changes.addUndo(undo{kind: undoOther, h: e.main, other: func() {
		s.generations, s.dropped = kept, dropped
		ns.account.add(gone * digestEntry)
		ns.reschedule(e.main)
	}})
	ns.account.add(-gone * digestEntry)
	s.generations = slices.Clone(s.generations) // so that the dropped ones can be freed
	ns.changes.markSeen(e)
	ns.reschedule(e.main)
}

// extendWindow sets floor to the beginning of the present window if the new description c has a
// longer one, so that ids whose window has passed do not count as duplicates again.
func (ns *Namespace) extendWindow(now Instant, e *entity, c Config) {
	s, was := e.seen, e.Config.DuplicateWindow()
	if s == nil || c.DuplicateWindow() <= was {
		return
	}
	ns.forgetIDs(now, e)
	floor := now - (now.Add(was) - now)
	if len(s.generations) == 0 || s.generations[0].from > floor || floor <= s.floor {
		return
	}
	before := s.floor
	ns.changes.addUndo(undo{kind: undoOther, h: e.main, other: func() {
		s.floor, s.unsaved = before, s.unsaved[:len(s.unsaved)-1]
	}})
	s.floor = floor
	s.unsaved = append(s.unsaved, SeenIDs{Subqueue: e.ID, N: uint64(ns.keys.Next()), At: floor})
	s.generations[len(s.generations)-1].through = s.unsaved[len(s.unsaved)-1].N
	ns.changes.markSeen(e)
}

// restoreSeen adds a SeenIDs from the store.
func (e *entity) restoreSeen(r SeenIDs) {
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
		g.ids[d] = uint32(r.At - g.from)
	}
	g.newest, g.through = max(g.newest, r.At), r.N
}

// forget drops the ids that r, a SeenIDs without digests, declares forgotten.
func (s *duplicateHistory) forget(r SeenIDs) {
	for _, g := range s.generations {
		maps.DeleteFunc(g.ids, func(_ Digest, after uint32) bool { return g.from+Instant(after) <= r.At })
	}
	s.generations = slices.DeleteFunc(s.generations, func(g *generation) bool { return len(g.ids) == 0 })
	if n := len(s.generations); n > 0 {
		s.generations[n-1].through = r.N
	}
}

// restoredSeen is called when all ids of e are restored. It moves generations that were accepted
// after now, by a clock that was ahead, back in time so that they end at now.
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

// len returns how many ids are remembered.
func (s *duplicateHistory) len() (n int) {
	if s != nil {
		for _, g := range s.generations {
			n += len(g.ids)
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

// batchSeen adds to b the records of MessageIds that the store has yet to write or drop.
func (ns *Namespace) batchSeen(b *Batch) {
	for _, e := range ns.changes.seen {
		if ns.subqueues[e.ID] != e.main {
			continue
		}
		s := e.seen
		if s.dropped != 0 {
			b.DropSeen = append(b.DropSeen, SeenIDsThrough{e.ID, s.dropped})
		}
		for _, r := range s.unsaved {
			if r.N > s.dropped {
				b.Seen = append(b.Seen, r)
			}
		}
	}
}

// cleanSeen marks all records of MessageIds as stored.
func (c *changes) cleanSeen() {
	for _, e := range c.seen {
		e.seen.unsaved, e.seen.dropped, e.seen.dirty = nil, 0, false
	}
	clear(c.seen)
	c.seen = c.seen[:0]
}
