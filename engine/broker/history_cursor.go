package broker

import "mayfly/engine"

// A historyCursor is the position of the historyWriter in the log. The log counts the events that
// the writer misses, since only the log can see whether an event that it drops would have been
// recorded. Guarded by Log.mu.
type historyCursor struct {
	active  bool
	taken   uint64 // number of the last event that was taken, or missed
	missed  gap
	awaited uint64        // number of the event that the reader waits for; zero if none
	reached chan struct{} // closed when that event exists, or the log has ended
}

// A gap counts events that are missing from the history; n and at are those of the last one.
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

// isRecorded reports whether the historyWriter hands an event to the history. Audited events are in
// the history already, with their batch. Renewals of locks and sessions are left out, because they
// do not affect where a message goes, and a slow handler may renew for hours.
func isRecorded(e *engine.Event) bool {
	return !e.Audit && e.Kind != engine.EventRenewed && e.Kind != engine.EventSessionRenewed
}

// evicted notes that the log has dropped e.
func (t *historyCursor) evicted(e *engine.Event) {
	if !t.active || e.N <= t.taken {
		return
	}
	t.taken = e.N
	if isRecorded(e) {
		t.missed.add(gap{e.N, e.At, 1})
	}
}

// wakeReader wakes the reader if the event it waits for exists.
func (t *historyCursor) wakeReader(last uint64) {
	if t.awaited != 0 && t.awaited <= last {
		t.end()
	}
}

func (t *historyCursor) end() {
	if t.awaited != 0 {
		t.awaited = 0
		close(t.reached)
	}
}

// startCursor sets the cursor to the end of the log and activates it.
func (l *Log) startCursor() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursor.active, l.cursor.taken = true, l.last
}

// waitFor returns a channel that is closed when n events can be taken, or when the log has
// ended. A new call closes the channel of the previous one.
func (l *Log) waitFor(n uint64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.cursor
	t.end()
	t.awaited, t.reached = t.taken+n, make(chan struct{})
	done := t.reached
	if t.wakeReader(l.last); l.closed {
		t.end()
	}
	return done
}

// takeNext takes the next events, up to `most`, and calls `see` with each until `see` returns true.
// `see` must neither change nor keep an event. missed counts the events that were dropped before
// they could be taken; more reports whether the log has further events, closed whether it has
// ended.
func (l *Log) takeNext(most int, see func(*engine.Event) (enough bool)) (missed gap, more, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.cursor
	missed, t.missed = t.missed, gap{}
	for n := 0; n < most && t.taken < l.last; n++ {
		t.taken++
		if see(l.at(t.taken)) {
			break
		}
	}
	return missed, t.taken < l.last, l.closed
}

// scanBack calls `see` with the events before number n, newest first and up to `most`, until `see`
// returns true. The parameter taken of `see` is the number of the last event that takeNext took.
// `see` must neither change nor keep an event. scanBack returns the number of the last event passed
// to `see`, or zero if the log has no older event or `see` returned true.
func (l *Log) scanBack(n uint64, most int, see func(e *engine.Event, taken uint64) (enough bool)) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n = min(n, l.last+1); most > 0; most-- {
		if n--; n < l.first || see(l.at(n), l.cursor.taken) {
			return 0
		}
	}
	return n
}

// maxHistoryContent is how many bytes of the sender's content the history keeps with the last event
// of a message.
const maxHistoryContent = 4 << 10

// historyEvent returns e as the history keeps it: the sender's content is included only in a
// message's last event, since until then the message itself has it.
func historyEvent(e engine.Event) engine.Event {
	switch e.Kind {
	case engine.EventCompleted, engine.EventReceived, engine.EventExpired, engine.EventDeleted, engine.EventCancelled,
		engine.EventDuplicate, engine.EventUnmatched:
		e.Content = e.Content.Truncate(maxHistoryContent)
	default:
		e.Content = ""
	}
	return e
}

// isRoutine reports whether an event is one that every message and its session have when all is
// well, from being sent to being completed. The others happen to only some, or deserve an
// operator's attention.
func isRoutine(k engine.EventKind) bool {
	switch k {
	case engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventForwarded, engine.EventDuplicate, engine.EventUnmatched,
		engine.EventLocked, engine.EventRenewed, engine.EventReleased, engine.EventCompleted, engine.EventReceived,
		engine.EventSessionLocked, engine.EventSessionClosed, engine.EventSessionState, engine.EventSessionRenewed:
		return true
	default:
		return false
	}
}
