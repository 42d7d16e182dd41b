package show

import (
	"slices"

	"mayfly/engine"
)

// lives keeps what happened to messages, the latest entries of all of them
// together: a ring in which each entry knows the one before it in its bucket, and
// a message is always in the same bucket. Not safe for concurrent use.
type lives struct {
	ring    []lived // entry i, from 1, stands at (i-1) % most
	most    uint64
	n       uint64   // the latest entry
	buckets []uint64 // the latest entry of each; zero: there was none
}

type lived struct {
	trace
	before uint64 // the bucket's entry before; zero: there was none
}

func newLives(most int) lives {
	return lives{most: uint64(most), buckets: make([]uint64, most)}
}

// bucket is where the entries of a message are; messages sent one after another
// are in different ones.
func (l *lives) bucket(k engine.Key) *uint64 { return &l.buckets[uint64(k)%l.most] }

func (l *lives) add(t trace) {
	l.n++
	b := l.bucket(t.key)
	e := lived{t, *b}
	*b = l.n
	if l.n <= l.most {
		l.ring = append(l.ring, e)
		return
	}
	l.ring[(l.n-1)%l.most] = e
}

// of is what happened to one message, oldest first.
func (l *lives) of(k engine.Key) (out []trace) {
	for i := *l.bucket(k); i > 0 && i+l.most > l.n; {
		e := l.ring[(i-1)%l.most]
		if e.key == k {
			out = append(out, e.trace)
		}
		i = e.before
	}
	slices.Reverse(out)
	return out
}

// sharing are the entries of an instant whose messages have a content, in order.
func (l *lives) sharing(content engine.Key, at engine.Instant) (out []trace) {
	for i := max(l.n, l.most) - l.most + 1; i <= l.n; i++ {
		if e := &l.ring[(i-1)%l.most]; e.sent == content && e.at == at {
			out = append(out, e.trace)
		}
	}
	return out
}

// departedOnes keeps the last events of messages that are no more, so that
// their pages survive them for a while; bounded by number and bytes.
type departedOnes struct {
	byKey map[engine.Key]engine.Event
	order []engine.Key // oldest first
	bytes int
}

func newDepartedOnes() departedOnes {
	return departedOnes{byKey: map[engine.Key]engine.Event{}}
}

func (d *departedOnes) add(e engine.Event) {
	k := e.Message.Key
	if _, ok := d.byKey[k]; ok {
		return
	}
	d.byKey[k], d.order, d.bytes = e, append(d.order, k), d.bytes+len(e.Content)
	for len(d.order) > goneMessages || d.bytes > goneBytes {
		d.bytes -= len(d.byKey[d.order[0]].Content)
		delete(d.byKey, d.order[0])
		d.order = d.order[1:]
	}
}

func (d *departedOnes) get(k engine.Key) (engine.Event, bool) {
	e, ok := d.byKey[k]
	return e, ok
}
