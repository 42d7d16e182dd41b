package broker

import (
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
)

// A log is bounded by number and by bytes, keeps the newest event whatever its size, and
// reports how many a reader lost.
func TestLogIsBounded(t *testing.T) {
	l := newLog(8, 1000)
	add := func(sizes ...int) {
		for _, n := range sizes {
			l.append([]engine.Event{{Kind: engine.EventSent, Content: engine.Packed(strings.Repeat("x", n))}})
		}
	}
	expect := func(first, last, lost uint64) {
		t.Helper()
		events, gone, err := l.After(t.Context(), 0)
		if err != nil || events[0].N != first || events[len(events)-1].N != last || gone != lost || uint64(len(events)) != last-first+1 {
			t.Fatalf("got %d to %d, %d lost, %v", events[0].N, events[len(events)-1].N, gone, err)
		}
		size := int64(0)
		for _, e := range events {
			size += eventSize(&e)
		}
		if size != l.size {
			t.Fatalf("the log's events have %d bytes, counted as %d", size, l.size)
		}
		held := 0
		for _, e := range l.ring {
			held += len(e.Content)
		}
		if int64(held) > size {
			t.Fatalf("%d bytes of dropped events are still held", int64(held)-size)
		}
	}
	add(10, 10, 10, 10, 10, 10, 10, 10)
	expect(1, 8, 0)
	add(10)
	expect(2, 9, 1)
	add(990)
	expect(9, 10, 8)
	add(5000)
	expect(11, 11, 10)
	add(1, 2)
	expect(12, 13, 11)
}

// Events that the follower misses are counted, except those it would have skipped.
func TestTail(t *testing.T) {
	l := newLog(4, 1<<20)
	l.append([]engine.Event{{Kind: engine.EventStarted}}) // before the log has a follower
	l.startCursor()
	select {
	case <-l.waitFor(1):
		t.Fatal("an empty log has events to take")
	default:
	}
	at := func(k engine.EventKind, at engine.Instant, audit bool) engine.Event {
		return engine.Event{Kind: k, At: at, Audit: audit}
	}
	l.append([]engine.Event{
		at(engine.EventSent, 1, false), at(engine.EventRenewed, 2, false), at(engine.EventSent, 3, false), at(engine.EventEntityCreated, 4, true),
		at(engine.EventSent, 5, false), at(engine.EventSent, 6, false), at(engine.EventSent, 7, false), at(engine.EventSent, 8, false),
	})
	select {
	case <-l.waitFor(4):
	default:
		t.Fatal("there are no events to take, want four")
	}
	var numbers []uint64
	take := func(most int) (missed gap, more, closed bool) {
		numbers = nil
		return l.takeNext(most, func(e *engine.Event) bool {
			numbers = append(numbers, e.N)
			return len(numbers) == 3
		})
	}
	missed, more, closed := take(4)
	if want := (gap{n: 4, at: 3, count: 2}); missed != want || !more || closed {
		t.Fatalf("missed %+v, more %v, closed %v; want %+v and more", missed, more, closed, want)
	}
	if want := []uint64{6, 7, 8}; !slices.Equal(numbers, want) {
		t.Fatalf("got %v", numbers)
	}
	waits := l.waitFor(2)
	select {
	case <-waits:
		t.Fatal("a batch is full after one event")
	default:
	}
	l.close()
	<-waits
	if missed, more, closed = take(3); !slices.Equal(numbers, []uint64{9}) || missed != (gap{}) || more || !closed {
		t.Fatalf("at the end: %v, %+v, %v, %v", numbers, missed, more, closed)
	}
	<-l.waitFor(1)
}

// A gap made of several parts has the number and time of its latest event, in whatever order the
// parts are added.
func TestGap(t *testing.T) {
	a, b := gap{n: 4, at: 40, count: 2}, gap{n: 9, at: 90, count: 5}
	for _, parts := range [][]gap{{a, b}, {b, a}, {a, b, {}}} {
		var g gap
		for _, p := range parts {
			g.add(p)
		}
		if want := (gap{n: 9, at: 90, count: 7}); g != want {
			t.Errorf("%+v make %+v", parts, g)
		}
	}
}
