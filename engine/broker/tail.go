package broker

import "mayfly/engine"

// A tail is how far the one reader has come that hands events to the history.
// The log counts what that reader misses: only the log knows whether what it
// lets go would have been handed over at all. Guarded by Log.mu.
type tail struct {
	on     bool
	taken  uint64 // number of the last event that was taken, or missed
	missed gap
	mark   uint64        // the event that the reader waits for; zero: none
	marked chan struct{} // closed when it is there, or the log has ended
}

// A gap is events that the history was not given: n and at are of the last.
type gap struct {
	n     uint64
	at    engine.Instant
	count int64
}

func (g *gap) add(o gap) {
	g.count += o.count
	if o.n > g.n {
		g.n, g.at = o.n, o.at
	}
}

// wanted tells whether the history is handed an event. What operators did it
// has got already, with the batch. That a lock was renewed, a session's too,
// changes neither where a message is nor what becomes of it, and a slow handler
// does it for hours.
func wanted(e *engine.Event) bool {
	return !e.Audit && e.Kind != engine.EventRenewed && e.Kind != engine.EventSessionRenewed
}

// evicted notes that the log does not have e any more.
func (t *tail) evicted(e *engine.Event) {
	if !t.on || e.N <= t.taken {
		return
	}
	t.taken = e.N
	if wanted(e) {
		t.missed.add(gap{e.N, e.At, 1})
	}
}

// look wakes the reader if what it waits for is there.
func (t *tail) look(last uint64) {
	if t.mark != 0 && t.mark <= last {
		t.end()
	}
}

func (t *tail) end() {
	if t.mark != 0 {
		t.mark = 0
		close(t.marked)
	}
}

// follow begins to count what is not taken.
func (l *Log) follow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail.on, l.tail.taken = true, l.last
}

// await is closed when so many events can be taken, or when the log has ended.
// Only what was asked for last is answered.
func (l *Log) await(n uint64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.tail
	t.end()
	t.mark, t.marked = t.taken+n, make(chan struct{})
	done := t.marked
	if t.look(l.last); l.closed {
		t.end()
	}
	return done
}

// take shows the events that follow what was taken before, most of them at the
// most, until see has had enough; what it sees must not be changed, and not be
// looked at later. missed is what went before it could be taken, more whether
// there are others by now, closed whether there will be no others.
func (l *Log) take(most int, see func(*engine.Event) (enough bool)) (missed gap, more, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.tail
	missed, t.missed = t.missed, gap{}
	for n := 0; n < most && t.taken < l.last; n++ {
		t.taken++
		if see(l.at(t.taken)) {
			break
		}
	}
	return missed, t.taken < l.last, l.closed
}

// back shows up to most of the events before number n, newest first, each with
// the number of the last that was taken, until see has had enough; what it sees
// must not be changed, and not be looked at later. It returns the number of the
// last that was shown; zero: there are no others, or see has had enough.
func (l *Log) back(n uint64, most int, see func(e *engine.Event, taken uint64) (enough bool)) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n = min(n, l.last+1); most > 0; most-- {
		if n--; n < l.first || see(l.at(n), l.tail.taken) {
			return 0
		}
	}
	return n
}

// contentMost is how many bytes of what its sender wrote the history keeps with
// the last event of a message.
const contentMost = 4 << 10

// remembered is e as the history keeps it: with what the sender wrote only when
// the message leaves, since until then the message itself tells.
func remembered(e engine.Event) engine.Event {
	switch e.Kind {
	case engine.EventCompleted, engine.EventReceived, engine.EventExpired, engine.EventDeleted, engine.EventCancelled,
		engine.EventDuplicate, engine.EventUnmatched:
		e.Content = e.Content.Within(contentMost)
	default:
		e.Content = ""
	}
	return e
}

// routine tells whether an event is one of those that message after message makes
// where all is well: what it goes through from being sent to being done with, and
// what its session does on the way. The rest are what only some do, or what
// somebody ought to know of.
func routine(k engine.EventKind) bool {
	switch k {
	case engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventForwarded, engine.EventDuplicate, engine.EventUnmatched,
		engine.EventLocked, engine.EventRenewed, engine.EventReleased, engine.EventCompleted, engine.EventReceived,
		engine.EventSessionTaken, engine.EventSessionClosed, engine.EventSessionState, engine.EventSessionRenewed:
		return true
	default:
		return false
	}
}
