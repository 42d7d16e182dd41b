package broker

import (
	"context"
	"slices"
	"sync"

	"mayfly/engine"
)

// A Log holds the latest events, bounded by their number and by the bytes of their content.
// Appending never waits for a reader: a reader that falls behind gets the number of events that it
// lost. A Log is safe for concurrent use.
type Log struct {
	mu        sync.Mutex
	ring      []engine.Event // event n is at n % len; grows on demand
	maxEvents int            // most events to keep
	maxBytes  int64          // most bytes to keep
	size      int64          // bytes kept
	last      uint64         // number of the newest event
	first     uint64         // number of the oldest one kept; last+1 if there is none
	appended  chan struct{}  // closed when something is appended
	closed    bool
	cursor    historyCursor
}

func newLog(size int, most int64) *Log {
	return &Log{ring: make([]engine.Event, min(size, initialRingSize)), maxEvents: size, maxBytes: most, first: 1, appended: make(chan struct{})}
}

// initialRingSize is the number of events for which a new Log has room. It is small, since there may
// be many unused namespaces.
const initialRingSize = 128

// grow doubles the room, up to maxEvents, and reports whether it did.
func (l *Log) grow() (more bool) {
	if len(l.ring) == l.maxEvents {
		return false
	}
	ring := make([]engine.Event, min(2*len(l.ring), l.maxEvents))
	for n := l.first; n <= l.last; n++ {
		ring[n%uint64(len(ring))] = *l.at(n)
	}
	l.ring = ring
	return true
}

// append numbers events and adds them to the log.
func (l *Log) append(events []engine.Event) {
	if len(events) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		if l.last+1 == l.first+uint64(len(l.ring)) && !l.grow() {
			l.evict()
		}
		l.last++
		e.N = l.last
		*l.at(e.N) = e
		l.size += eventSize(&e)
	}
	for l.size > l.maxBytes && l.first < l.last {
		l.evict()
	}
	close(l.appended)
	l.appended = make(chan struct{})
	l.cursor.wakeReader(l.last)
}

func (l *Log) at(n uint64) *engine.Event { return &l.ring[n%uint64(len(l.ring))] }

// evict drops the oldest event.
func (l *Log) evict() {
	e := l.at(l.first)
	l.cursor.evicted(e)
	l.size -= eventSize(e)
	*e = engine.Event{}
	l.first++
}

// eventSize returns about how many bytes an event holds beyond its own fields.
func eventSize(e *engine.Event) int64 {
	const described = 512 // bytes of an entity or a rule, roughly
	return int64(len(e.Content)) + described*int64(len(e.Rules)+len(e.Subscriptions))
}

// Last returns the number of the newest event.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// maxEventsPerRead bounds the events that one After returns, so that a reader that is far
// behind does not copy the whole ring at once.
const maxEventsPerRead = 4096

// After returns the events that follow number n, at most maxEventsPerRead, and waits for at least
// one. lost is the number of events between number n and the first returned one, which the log no
// longer has. The error is the cause of ctx, or engine.ErrClosed.
func (l *Log) After(ctx context.Context, n uint64) (events []engine.Event, lost uint64, err error) {
	return l.Next(ctx, n, nil)
}

// Next is After for continuous readers: the result reuses the memory of `into`.
func (l *Log) Next(ctx context.Context, n uint64, into []engine.Event) (events []engine.Event, lost uint64, err error) {
	for {
		l.mu.Lock()
		if n < l.last {
			if n+1 < l.first {
				lost, n = l.first-n-1, l.first-1
			}
			last := min(l.last, n+maxEventsPerRead)
			events = slices.Grow(into[:0], int(last-n))
			for i := n + 1; i <= last; i++ {
				events = append(events, *l.at(i))
			}
			l.mu.Unlock()
			return events, lost, nil
		}
		more, closed := l.appended, l.closed
		l.mu.Unlock()
		if closed {
			return nil, 0, engine.ErrClosed
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// Recent returns the latest n events, or fewer if fewer are kept, oldest first.
func (l *Log) Recent(n int) (events []engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.first
	if span := uint64(n); l.last >= span && l.last-span+1 > from {
		from = l.last - span + 1
	}
	for i := from; i <= l.last; i++ {
		events = append(events, *l.at(i))
	}
	return events
}

func (l *Log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.appended)
		l.appended = make(chan struct{})
		l.cursor.end()
	}
}
