package engine

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
)

// A session consists of the messages with one SessionId in a subqueue whose entity requires
// sessions, their lock and the session's state. It exists as long as it has messages, a lock
// or state, and is never created explicitly (SES-1).
type session struct {
	id    string
	order order        // its messages, by number; FIFO for its receiver (SES-8)
	lock  *sessionLock // nil if it is not locked
	state *sessionState

	prev, next *session // in the line of available sessions, or of those to serve
	rank       int64    // its position there, from 1; zero if it is locked or has no ready message

	deferred, scheduled int32 // deferred messages that are not locked; scheduled messages
}

// A sessionLock covers the locks of a session's messages (SES-5).
type sessionLock struct {
	Lock
	until     Instant
	link      *link // nil if it detached without releasing the session, or before a restart
	locked    order // the session's locked messages; the last of them has the session's deadline
	heapIndex int   // in sessions.locked
	toServe   bool  // whether the session is in sessions.toServe
}

// A sessionState is the state that receivers store in a session for later receivers (SES-11).
type sessionState struct {
	text string
	at   Instant // when it was set
}

func (s *session) empty() bool { return s.order.len() == 0 && s.lock == nil && s.state == nil }

// locked returns how many of its messages are locked.
func (s *session) locked() int {
	if s.lock == nil {
		return 0
	}
	return s.lock.locked.len()
}

// sessions are the sessions of one subqueue, with their indexes.
type sessions struct {
	byID      map[string]*session
	sorted    sortedSessions // the same, in id order
	available sessionLine    // available ones, by rank: by when they became available (SES-2)
	ranks     int64          // the last rank that was assigned, to a session or to a link that waits for one
	locked    lockedSessions
	states    int // sessions with state
	subqueue  *subqueue
	peak      int // the largest len(byID) since it was empty

	accepting []*link     // links waiting for the next session, by rank
	noWait    int         // how many links in accepting have NoWait
	toServe   sessionLine // locked ones that may have messages for their links, in the order of service

	watch *sessionWatch // the namespace's; nil in tests
}

func newSessions(of *subqueue) *sessions { return &sessions{byID: map[string]*session{}, subqueue: of} }

// get returns a session, adding it if it does not exist. The caller then gives the new session a
// message, a lock or a state, or calls update, which removes it.
func (ss *sessions) get(id string) *session {
	s := ss.byID[id]
	if s == nil {
		s = &session{id: string([]byte(id)), order: order{account: &ss.subqueue.account}} // id may be a substring of a message, which the session outlives
		ss.byID[s.id] = s
		ss.sorted.add(s)
		ss.added(s)
	}
	return s
}

// update adds s to the line of available sessions or removes it from there, after a change, and
// removes s altogether if it is empty.
func (ss *sessions) update(s *session) {
	can := s.lock == nil && s.order.ready() > 0
	if can {
		ss.watch.note(ss.subqueue, s.id)
	}
	switch {
	case can && s.rank == 0:
		s.rank = ss.nextRank()
		ss.available.insert(s, nil)
	case !can && s.rank != 0:
		ss.available.remove(s)
		s.rank = 0
	}
	if s.empty() {
		delete(ss.byID, s.id)
		ss.sorted.remove(s)
		ss.removed(s)
	}
}

func (ss *sessions) nextRank() int64 {
	ss.ranks++
	return ss.ranks
}

// addMessage adds a message, and removeMessage removes it.
func (ss *sessions) addMessage(m *message) {
	s := ss.get(m.sessionID())
	s.order.put(m)
	s.order.setReady(m.Seq, m.ready())
	s.count(m, classOf(m.Message), 1)
	ss.update(s)
}

func (ss *sessions) removeMessage(m *message) {
	s := ss.byID[m.sessionID()]
	s.order.drop(m.Seq)
	s.count(m, classOf(m.Message), -1)
	ss.update(s)
}

// changeClass updates the session of a message that has changed its class.
func (ss *sessions) changeClass(m *message, was, will class) {
	s := ss.byID[m.sessionID()]
	s.order.setReady(m.Seq, m.ready())
	s.count(m, was, -1)
	s.count(m, will, 1)
	ss.update(s)
}

// count updates the counts and the locked messages of s when m enters class c, if `by` is 1, or
// leaves it, if `by` is -1.
func (s *session) count(m *message, c class, by int32) {
	switch {
	case c == classDeferred:
		s.deferred += by
	case c == classScheduled:
		s.scheduled += by
	case c == classLocked && by > 0:
		s.lock.locked.put(m)
	case c == classLocked:
		s.lock.locked.drop(m.Seq)
	}
}

// setLock locks s until an instant, or unlocks it if that is zero. Unlock its messages before.
func (ss *sessions) setLock(s *session, until Instant, l Lock) {
	switch {
	case until == 0:
		ss.removeToServe(s)
		heap.Remove(&ss.locked, s.lock.heapIndex)
		s.lock = nil
		ss.subqueue.account.add(-sessionLockMemory)
	case s.lock == nil:
		s.lock = &sessionLock{Lock: l, until: until, locked: order{account: &ss.subqueue.account}}
		ss.subqueue.account.add(sessionLockMemory)
		heap.Push(&ss.locked, s)
	default:
		s.lock.until, s.lock.Lock = until, l
		heap.Fix(&ss.locked, s.lock.heapIndex)
	}
	ss.update(s)
}

// addToServe adds s, which is locked, to the end of the line of sessions to serve.
func (ss *sessions) addToServe(s *session) {
	if !s.lock.toServe {
		s.lock.toServe = true
		ss.toServe.insert(s, nil)
	}
}

// removeToServe undoes addToServe.
func (ss *sessions) removeToServe(s *session) {
	if s.lock.toServe {
		s.lock.toServe = false
		ss.toServe.remove(s)
	}
}

// lockedSessions is a heap of sessions by the end of their locks.
type lockedSessions []*session

// end returns when the first of the locks ends, or zero if there are none.
func (t lockedSessions) end() Instant {
	if len(t) == 0 {
		return 0
	}
	return t[0].lock.until
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (t lockedSessions) Len() int           { return len(t) }
func (t lockedSessions) Less(i, j int) bool { return t[i].lock.until < t[j].lock.until }
func (t lockedSessions) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].lock.heapIndex, t[j].lock.heapIndex = i, j
}

// Push implements heap.Interface.
func (t *lockedSessions) Push(x any) {
	s := x.(*session) //nolint:forcetypeassert // only sessions are pushed
	s.lock.heapIndex = len(*t)
	*t = append(*t, s)
}

// Pop implements heap.Interface.
func (t *lockedSessions) Pop() any {
	last := len(*t) - 1
	s := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return s
}

// restoreLock locks the session of a locked message that is about to be restored. The lock has no
// link and no details, which are not stored (DEC-12). Its deadline is that of the last message
// locked in the session.
func (ss *sessions) restoreLock(m *message) {
	s := ss.get(m.sessionID())
	if s.lock == nil || s.lock.locked.last().Seq < m.Seq {
		ss.setLock(s, m.LockedUntil, Lock{})
	}
}

// The line of available sessions is sorted by rank. A session that becomes available gets the next
// rank. If a step in which a session lost its rank is undone, the session gets that rank back, so
// that the line is as it was.

// A sessionLine is a linked list of sessions.
type sessionLine struct {
	first, last *session
	n           int
}

// insert adds s before another session, or at the end if before is nil.
func (q *sessionLine) insert(s, before *session) {
	s.next, s.prev = before, q.last
	if before != nil {
		s.prev = before.prev
		before.prev = s
	} else {
		q.last = s
	}
	if s.prev == nil {
		q.first = s
	} else {
		s.prev.next = s
	}
	q.n++
}

func (q *sessionLine) remove(s *session) {
	if s.prev == nil {
		q.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		q.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	q.n--
}

// merge inserts sessions whose ranks are mostly lower than those in the line: it walks the
// line up to the last of them.
func (q *sessionLine) merge(all []*session) {
	slices.SortFunc(all, byRank)
	at := q.first
	for _, s := range all {
		for at != nil && at.rank < s.rank {
			at = at.next
		}
		q.insert(s, at)
	}
}

func byRank(a, b *session) int { return cmp.Compare(a.rank, b.rank) }

// rankAvailable sorts the available sessions by their first ready messages, after a load.
func (ss *sessions) rankAvailable() {
	var all []*session
	for s := ss.available.first; s != nil; s = s.next {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(a.order.first().Seq, b.order.first().Seq) })
	ss.available = sessionLine{}
	for _, s := range all {
		s.rank = ss.nextRank()
		ss.available.insert(s, nil)
	}
}

// A sessionRank is the rank that a session had before a step changed it.
type sessionRank struct {
	id   string
	rank int64
}

// sessionRank returns the rank of m's session in the line of h.
func (h *subqueue) sessionRank(m *message) sessionRank {
	if h.sessions == nil {
		return sessionRank{}
	}
	return h.sessions.rankOf(m.sessionID())
}

func (ss *sessions) rankOf(id string) (at sessionRank) {
	if s := ss.byID[id]; s != nil && s.rank != 0 {
		at = sessionRank{s.id, s.rank}
	}
	return at
}

// noteRank records a session's rank before this step, if the step changed it.
func (ns *Namespace) noteRank(h *subqueue, before sessionRank) {
	if before.rank != 0 && h.sessions.rankOf(before.id) != before {
		ns.changes.addUndo(undo{kind: undoRank, h: h, rank: before})
	}
}

// savedRanks are the ranks that sessions had at a savepoint, for undoTo.
type savedRanks map[*sessions]map[string]int64

// save records the rank that a session had. undoTo calls it from the latest change to the earliest,
// so that the earliest rank of a session is kept.
func (r *savedRanks) save(ss *sessions, before sessionRank) {
	if *r == nil {
		*r = savedRanks{}
	}
	if (*r)[ss] == nil {
		(*r)[ss] = map[string]int64{}
	}
	(*r)[ss][before.id] = before.rank
}

// restore gives the sessions their ranks back.
func (r savedRanks) restore() {
	for ss, ranks := range r {
		var all []*session
		for id, rank := range ranks {
			if s := ss.byID[id]; s != nil && s.rank != 0 {
				ss.available.remove(s)
				s.rank = rank
				all = append(all, s)
			}
		}
		ss.available.merge(all)
	}
}

// A sortedSessions is a list of sessions in id order. The zero value is empty.
//
// INVARIANT: no chunk is empty or longer than chunkSize, and the chunks one after the other
// are sorted.
type sortedSessions struct{ chunks [][]*session }

func byID(s *session, id string) int { return cmp.Compare(s.id, id) }

// chunk returns the index of the first chunk that ends with id or a later one, or len(r.chunks)
// if none does.
func (r *sortedSessions) chunk(id string) int {
	i, _ := slices.BinarySearchFunc(r.chunks, id, func(c []*session, id string) int { return byID(c[len(c)-1], id) })
	return i
}

// add inserts a session.
func (r *sortedSessions) add(s *session) {
	i := r.chunk(s.id)
	if i == len(r.chunks) { // after all others: the last chunk is filled, never split
		if i == 0 || len(r.chunks[i-1]) == chunkSize {
			r.chunks = append(r.chunks, []*session{s})
			return
		}
		r.chunks[i-1] = append(r.chunks[i-1], s)
		return
	}
	if c := r.chunks[i]; len(c) == chunkSize {
		const half = chunkSize / 2
		r.chunks = slices.Insert(r.chunks, i+1, slices.Clone(c[half:]))
		r.chunks[i] = slices.Clone(c[:half])
		if byID(c[half-1], s.id) < 0 {
			i++
		}
	}
	at, _ := slices.BinarySearchFunc(r.chunks[i], s.id, byID)
	r.chunks[i] = slices.Insert(r.chunks[i], at, s)
}

// remove removes a session, which must be in r.
func (r *sortedSessions) remove(s *session) {
	i := r.chunk(s.id)
	at, _ := slices.BinarySearchFunc(r.chunks[i], s.id, byID)
	r.chunks[i] = slices.Delete(r.chunks[i], at, at+1)
	switch n := len(r.chunks[i]); {
	case n == 0:
		r.chunks = shrinkSlice(slices.Delete(r.chunks, i, i+1))
	case n < chunkShort && i+1 < len(r.chunks) && n+len(r.chunks[i+1]) <= chunkMerged:
		r.join(i)
	case n < chunkShort && i > 0 && n+len(r.chunks[i-1]) <= chunkMerged:
		r.join(i - 1)
	}
}

// join appends chunk i+1 to chunk i.
func (r *sortedSessions) join(i int) {
	r.chunks[i] = append(r.chunks[i], r.chunks[i+1]...)
	r.chunks = shrinkSlice(slices.Delete(r.chunks, i+1, i+2))
}

// from iterates over the sessions from an id upwards. r must not change during the iteration.
func (r *sortedSessions) from(id string) iter.Seq[*session] {
	return func(yield func(*session) bool) {
		for i := r.chunk(id); i < len(r.chunks); i++ {
			c := r.chunks[i]
			at, _ := slices.BinarySearchFunc(c, id, byID)
			for _, s := range c[at:] {
				if !yield(s) {
					return
				}
			}
		}
	}
}
