package engine

import (
	"iter"
	"time"
)

// parkedFor is how long a dead-letter queue leaves a destination alone that did
// not take a message, and how often it looks whether one that will never take
// some has become another.
const parkedFor = time.Second

// outgoing is what a place knows of messages that are to be forwarded from it.
// It is kept whether the place forwards or not.
//
// INVARIANT: held has the ready messages that stay, and beside them only ready
// dead letters that were passed over, which are counted. The place's order has
// no ready bit for these, so that those that may go are found without them.
type outgoing struct {
	held   order   // all of them ready
	passed int     // of held, those that the destination does not take as it is (FWD-8)
	whose  taste   // the destination's when they were passed over
	look   Instant // when to look whether it is another by now; zero or past: at once
	again  Seq     // the next of held that may be tried again; zero: none
	parked Instant // when to try again what the destination did not take (FWD-8); zero or past: at once
}

// A taste is what decides whether a destination ever takes a message. Whoever
// has the same refuses the same.
type taste struct {
	who      HolderID // zero: there is nobody
	sessions bool
	largest  int64
}

func (ns *Namespace) taste(to *entity) taste {
	if to == nil {
		return taste{}
	}
	return taste{to.ID, to.sessionful(), ns.largest(to)}
}

// stays tells whether m is a dead letter that is not forwarded, wherever to.
func (m *message) stays() bool { return m.Extra != nil && m.Extra.Stays }

// withhold takes in a ready message that is not to be found among those that go.
func (o *outgoing) withhold(m *message) {
	o.held.put(m)
	o.held.setReady(m.Seq, true)
}

// leave lets go of m if it is held.
func (o *outgoing) leave(m *message) {
	if o.held.at(m.Seq) == nil {
		return
	}
	o.held.drop(m.Seq)
	if !m.stays() {
		o.passed--
	}
}

// classify has m found where it belongs after it came or changed: among those that
// are ready to go or to be received, or that are held.
func (h *holder) classify(m *message) {
	stays := m.ready() && m.stays()
	h.order.setReady(m.Seq, m.ready() && !stays)
	if stays {
		h.out.withhold(m)
	}
}

// ready is how many messages a receiver might have.
func (h *holder) ready() int { return h.order.ready() + h.out.held.len() }

// first is the oldest message that a receiver might have, nil if there is none.
func (h *holder) first() *message {
	m, held := h.order.first(), h.out.held.first()
	if m == nil || held != nil && held.Seq < m.Seq {
		return held
	}
	return m
}

// readyFrom goes through the messages that a receiver might have, from number
// seq upwards, without a look at others.
func (h *holder) readyFrom(seq Seq) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for m := h.readyAt(seq); m != nil && yield(m); m = h.readyAt(m.Seq + 1) {
		}
	}
}

// readyAt is the first of these.
func (h *holder) readyAt(seq Seq) (first *message) {
	for m := range h.order.readyFrom(seq) {
		first = m
		break
	}
	for m := range h.out.held.from(seq) {
		if first == nil || m.Seq < first.Seq {
			first = m
		}
		break
	}
	return first
}

// relook has everything tried again that was passed over, if the destination is
// another one now, or takes other messages.
func (ns *Namespace) relook(now Instant, h *holder) {
	h.out.look = now.Add(parkedFor)
	if ns.taste(ns.entities[h.destination().Fold()]) != h.out.whose {
		h.out.again = 1
	}
}

// retry lets up to limit of those that were passed over be tried again.
func (h *holder) retry(limit int) (done int) {
	next := Seq(0)
	for m := range h.out.held.from(h.out.again) {
		if done == limit {
			next = m.Seq
			break
		}
		if done++; !m.stays() {
			h.out.leave(m)
			h.order.setReady(m.Seq, true)
		}
	}
	h.out.again = next
	return max(done, 1)
}

// pass leaves m where it is, until the destination is another one: others behind
// it may go.
func (ns *Namespace) pass(now Instant, h *holder, m *message, to *entity) {
	if whose := ns.taste(to); h.out.passed > 0 && whose != h.out.whose {
		h.out.again = 1 // they were passed over because of another
	} else if h.out.passed == 0 {
		h.out.look = now.Add(parkedFor)
	}
	h.out.whose = ns.taste(to)
	h.order.setReady(m.Seq, false)
	h.out.withhold(m)
	h.out.passed++
	ns.reschedule(h)
}
