package engine

import "container/heap"

// A session is the messages of one SessionId in a place whose entity requires
// sessions, and what is known beside them. It is there as long as it has
// messages, a lock or state: no session is ever created by anybody (SES-1).
type session struct {
	id    string
	order order        // its messages, by number; FIFO for whoever holds it (SES-8)
	lock  *sessionLock // nil: nobody holds it
	state *sessionState

	prev, next *session // in the line of available ones, or that of those to be fed
	rank       int64    // its place there, from 1; zero: it cannot be had, or has no ready message

	deferred, scheduled int32 // messages set aside and not locked; messages waiting for their time
}

// A sessionLock is the umbrella over the locks of a session's messages (SES-5).
type sessionLock struct {
	Lock
	until  Instant
	link   *link // nil: it left without giving the session back, or in a former process
	locked order // the session's locked messages; the last of them has the session's deadline
	place  int   // in sessions.taken
	fed    bool  // it is in sessions.fed, until the lock ends
}

// A sessionState is what receivers leave for each other (SES-11).
type sessionState struct {
	text string
	at   Instant // when it was set
}

func (s *session) empty() bool { return s.order.len() == 0 && s.lock == nil && s.state == nil }

// locked is how many of its messages are.
func (s *session) locked() int {
	if s.lock == nil {
		return 0
	}
	return s.lock.locked.len()
}

// sessions are those of one place, with their indexes.
type sessions struct {
	byID   map[string]*session
	byName roll        // the same, in order
	free   sessionLine // that can be had, by rank: by when that began (SES-2)
	ranks  int64       // the last rank that was given, to a session or to a link that waits for one
	taken  takenSessions
	states int // sessions with state

	accepting []*link     // that wait for the next session, by rank
	impatient int         // of these, that do not wait
	fed       sessionLine // held ones that may have something for their links, the next one first
}

func newSessions() *sessions { return &sessions{byID: map[string]*session{}} }

// get finds a session or begins one; whoever asks gives it something to be there
// for, or calls review.
func (ss *sessions) get(id string) *session {
	s := ss.byID[id]
	if s == nil {
		s = &session{id: string([]byte(id))} // id may be a piece of a message, which it outlives
		ss.byID[s.id] = s
		ss.byName.add(s)
	}
	return s
}

// review puts s where it belongs after something about it has changed.
func (ss *sessions) review(s *session) {
	switch can := s.lock == nil && s.order.ready() > 0; {
	case can && s.rank == 0:
		s.rank = ss.nextRank()
		ss.free.insert(s, nil)
	case !can && s.rank != 0:
		ss.free.remove(s)
		s.rank = 0
	}
	if s.empty() {
		delete(ss.byID, s.id)
		ss.byName.remove(s)
	}
}

func (ss *sessions) nextRank() int64 {
	ss.ranks++
	return ss.ranks
}

// enter takes a message in, and exit lets go of it.
func (ss *sessions) enter(m *message) {
	s := ss.get(m.sessionID())
	s.order.put(m)
	s.order.setReady(m.Seq, m.ready())
	s.count(m, classOf(m.Message), 1)
	ss.review(s)
}

func (ss *sessions) exit(m *message) {
	s := ss.byID[m.sessionID()]
	s.order.drop(m.Seq)
	s.count(m, classOf(m.Message), -1)
	ss.review(s)
}

// change follows a message that has changed its class.
func (ss *sessions) change(m *message, was, will class) {
	s := ss.byID[m.sessionID()]
	s.order.setReady(m.Seq, m.ready())
	s.count(m, was, -1)
	s.count(m, will, 1)
	ss.review(s)
}

// count notes one message more of a class, or one less.
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

// setLock has s be held until an instant, zero for no longer. Its messages are
// unlocked before that.
func (ss *sessions) setLock(s *session, until Instant, l Lock) {
	switch {
	case until == 0:
		ss.unfeed(s)
		heap.Remove(&ss.taken, s.lock.place)
		s.lock = nil
	case s.lock == nil:
		s.lock = &sessionLock{Lock: l, until: until}
		heap.Push(&ss.taken, s)
	default:
		s.lock.until, s.lock.Lock = until, l
		heap.Fix(&ss.taken, s.lock.place)
	}
	ss.review(s)
}

// feed has s, which is held, be looked at behind the others that are to be.
func (ss *sessions) feed(s *session) {
	if !s.lock.fed {
		s.lock.fed = true
		ss.fed.insert(s, nil)
	}
}

// unfeed is feed taken back.
func (ss *sessions) unfeed(s *session) {
	if s.lock.fed {
		s.lock.fed = false
		ss.fed.remove(s)
	}
}

// takenSessions is a heap of sessions by the end of their locks.
type takenSessions []*session

// end is when the first of them ends; zero: there are none.
func (t takenSessions) end() Instant {
	if len(t) == 0 {
		return 0
	}
	return t[0].lock.until
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (t takenSessions) Len() int           { return len(t) }
func (t takenSessions) Less(i, j int) bool { return t[i].lock.until < t[j].lock.until }
func (t takenSessions) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].lock.place, t[j].lock.place = i, j
}

// Push implements heap.Interface.
func (t *takenSessions) Push(x any) {
	s := x.(*session) //nolint:forcetypeassert // heap hands back what was pushed
	s.lock.place = len(*t)
	*t = append(*t, s)
}

// Pop implements heap.Interface.
func (t *takenSessions) Pop() any {
	last := len(*t) - 1
	s := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return s
}

// retake has the session of a locked message that is about to come in be held by
// nobody known: all that is left of its lock after a load (DEC-12). Its deadline
// is that of the last message locked in it (see carry).
func (ss *sessions) retake(m *message) {
	s := ss.get(m.sessionID())
	if s.lock == nil || s.lock.locked.last().Seq < m.Seq {
		ss.setLock(s, m.LockedUntil, Lock{})
	}
}
