package recent

import (
	"slices"

	"mayfly/engine"
)

// messageEvents keeps the latest events of all messages together, in a ring. Each entry refers to the
// previous one of its bucket, and a message always has the same bucket. It is not safe for
// concurrent use.
type messageEvents struct {
	ring    []messageEvent // entry i, from 1, is at index (i-1) % limit
	limit   uint64
	n       uint64   // number of the latest entry
	buckets []uint64 // number of the latest entry of each bucket; zero means none
}

type messageEvent struct {
	EventRecord
	previous uint64 // number of the bucket's previous entry; zero means none
}

func newMessageEvents(most int) messageEvents {
	return messageEvents{limit: uint64(most), buckets: make([]uint64, most)}
}

// bucket returns the bucket of a message. Messages sent one after another have different ones.
func (l *messageEvents) bucket(k engine.Key) *uint64 { return &l.buckets[uint64(k)%l.limit] }

func (l *messageEvents) add(t EventRecord) {
	l.n++
	b := l.bucket(t.Key)
	e := messageEvent{t, *b}
	*b = l.n
	if l.n <= l.limit {
		l.ring = append(l.ring, e)
		return
	}
	l.ring[(l.n-1)%l.limit] = e
}

// of returns the entries of one message, oldest first.
func (l *messageEvents) of(k engine.Key) (out []EventRecord) {
	for i := *l.bucket(k); i > 0 && i+l.limit > l.n; {
		e := l.ring[(i-1)%l.limit]
		if e.Key == k {
			out = append(out, e.EventRecord)
		}
		i = e.previous
	}
	slices.Reverse(out)
	return out
}

// eventsWithContent returns the entries of an instant whose messages have this content, in order.
func (l *messageEvents) eventsWithContent(content engine.Key, at engine.Instant) (out []EventRecord) {
	for i := max(l.n, l.limit) - l.limit + 1; i <= l.n; i++ {
		if e := &l.ring[(i-1)%l.limit]; e.Content == content && e.At == at {
			out = append(out, e.EventRecord)
		}
	}
	return out
}

// removedMessages keeps the last events of removed messages, so that their pages stay available
// for a while. It is bounded by number and bytes.
type removedMessages struct {
	byKey map[engine.Key]engine.Event
	order []engine.Key // oldest first
	bytes int
}

func newRemovedMessages() removedMessages {
	return removedMessages{byKey: map[engine.Key]engine.Event{}}
}

func (d *removedMessages) add(e engine.Event) {
	k := e.Message.Key
	if _, ok := d.byKey[k]; ok {
		return
	}
	d.byKey[k], d.order, d.bytes = e, append(d.order, k), d.bytes+len(e.Content)
	for len(d.order) > maxRemovedMessages || d.bytes > maxRemovedBytes {
		d.bytes -= len(d.byKey[d.order[0]].Content)
		delete(d.byKey, d.order[0])
		d.order = d.order[1:]
	}
}

func (d *removedMessages) get(k engine.Key) (engine.Event, bool) {
	e, ok := d.byKey[k]
	return e, ok
}
