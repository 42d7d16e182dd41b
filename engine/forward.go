package engine

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"time"
)

// ForwardsText is what a client is told that wants to receive where messages
// are forwarded from (FWD-5, DLQ-13).
const ForwardsText = "Cannot create a message receiver on an entity with auto-forwarding enabled."

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

// hold takes in a ready message that is not to be found among those that go.
func (o *outgoing) hold(m *message) {
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

// sort has m found where it belongs after it came or changed: among those that
// are ready to go or to be received, or that are held.
func (h *holder) sort(m *message) {
	stays := m.ready() && m.stays()
	h.order.setReady(m.Seq, m.ready() && !stays)
	if stays {
		h.out.hold(m)
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

// destination is where h's messages are forwarded to; empty: nowhere (FWD-1).
func (h *holder) destination() Path {
	switch h {
	case h.entity.main:
		return Path(h.entity.Config.ForwardTo)
	case h.entity.dead:
		return Path(h.entity.Config.ForwardDeadLetteredMessagesTo)
	default:
		return ""
	}
}

// forwards tells whether h's messages are forwarded now. What cannot be received
// because of the entity's status is not forwarded either (STAT-7).
func (h *holder) forwards() bool {
	return h.destination() != "" && h.entity.Config.Status.receives()
}

// nextForward is when there is something to be forwarded from h, or to be looked
// at whether it is; zero: never.
func (h *holder) nextForward() (at Instant) {
	if h.order.ready()+h.out.passed == 0 || !h.forwards() {
		return 0
	}
	if h.out.again != 0 {
		return 1
	}
	if h.order.ready() > 0 {
		at = max(1, h.out.parked)
	}
	if h.out.passed > 0 {
		at = earlier(at, max(1, h.out.look))
	}
	return at
}

// forwardDue forwards what is to be by now, oldest first (FWD-11), and returns
// how many changes that took, about limit at the most.
func (ns *Namespace) forwardDue(now Instant, h *holder, limit int) (done int) {
	for done < limit {
		switch at := h.nextForward(); {
		case at == 0 || !at.Passed(now):
			return done
		case h.out.again != 0:
			done += h.retry(limit - done)
		case h.out.passed > 0 && max(1, h.out.look).Passed(now):
			ns.relook(now, h)
			done++
		default:
			done += ns.forward(now, h)
		}
	}
	return done
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
	h.out.hold(m)
	h.out.passed++
	ns.reschedule(h)
}

// forward makes one hop from h, or decides that it is not made: it is one step,
// and what refuses is known before anything changes (FWD-3). It returns how many
// changes that took.
func (ns *Namespace) forward(now Instant, h *holder) (done int) {
	m := h.order.first()
	if !ns.settleDue(now, h, m) {
		return 1
	}
	d := ns.departing(now, h, m)
	switch no := ns.refuses(now, d); {
	case no == nil:
		return ns.hop(now, d)
	case !h.dead: // FWD-7: here, not in the transfer dead-letter queue
		ns.deadLetter(now, h, m, &no.Extra)
	case no.Stays: // FWD-6
		next, held := m.Message, m.extra()
		held.Stays, next.Extra = true, held
		ns.put(m, next)
		ns.changes.hard = true
	case no.passing: // FWD-8
		h.out.parked = now.Add(parkedFor)
		ns.reschedule(h)
	default:
		ns.pass(now, h, m, d.to)
	}
	return 1
}

// A departure is a message that is to be forwarded.
type departure struct {
	h    *holder // where it is
	m    *message
	to   *entity // nil: there is none of that name
	next Message // as it leaves; not as it arrives
	id   Digest
	plan *Plan // what a topic's rules say of it
}

func (ns *Namespace) departing(now Instant, h *holder, m *message) departure {
	d := departure{h: h, m: m, to: ns.entities[h.destination().Fold()], next: m.Message}
	d.next.Extra, d.next.EnqueuedAt = h.leaving(m), now
	d.next.DeliveryCount = 0
	if d.to != nil && d.to.seen != nil {
		d.id = m.digest()
	}
	if d.to != nil && d.to.selector.set != nil {
		if c, err := m.packed().Content(); err == nil { // nobody but Pack writes them
			c.Properties = d.next.Properties(c)
			d.plan = d.to.selector.set.Plan(c)
		}
	}
	return d
}

// hop moves a message to the entity that it is forwarded to, as if it were sent
// there (FWD-9). For the source it is no use (IDLE-12). It is no further change
// if the message is on its way to the store anyway, so that as a rule what was
// just sent is where it is forwarded to before its sender is answered.
func (ns *Namespace) hop(now Instant, d departure) (done int) {
	if !d.m.is(dirty) {
		done = 1
	}
	h, m, to, next := d.h, d.m, d.to, d.next
	duplicate := ns.detect(now, to, d.id)
	if next.Seq = 0; !duplicate {
		next.Seq = ns.nextSeq(to.main)
	}
	next.Holder, next.ExpiresAt = to.ID, to.main.terms.ownExpiry(now, m.ttl())
	next.Hops++
	ns.changes.hard = true
	ns.accessed(now, to, "send", "")
	ev := ns.event(EventForwarded, now, m, h, "", "")
	ev.To, ev.Message = to.Path, next
	switch {
	case duplicate:
		ns.dropDuplicate(now, to, next, m.content, "")
		ns.drop(m)
	case to.Kind == Topic:
		next.Key = ns.keys.Next()
		ns.fanOut(now, to, next, m.content, "", d.plan)
		ns.drop(m)
		return to.main.worth()
	default:
		ns.put(m, next)
	}
	return done
}

// ttl is the time to live that m carries on: what its sender asked for, as the
// entities it was in have lowered it (TTL-5, TTL-17).
func (m *message) ttl() time.Duration {
	ttl := m.content.packed.ttl()
	if ttl > 0 && m.ExpiresAt != 0 {
		if ttl = min(ttl, m.ExpiresAt.Sub(m.EnqueuedAt)); ttl <= 0 {
			return -1 // nothing is left of it; zero would be for ever
		}
	}
	return ttl
}

// leaving is the Extra that m has after it was forwarded from h: what receivers
// see of it. A dead letter says from then on where it died (DLQ-9).
func (h *holder) leaving(m *message) *Extra {
	old := m.extra()
	x := Extra{Reason: old.Reason, Description: old.Description, Source: old.Source, Properties: old.Properties, Rewritten: old.Rewritten}
	if h.dead {
		x.Source = string(h.entity.Path)
	}
	if x.size() == 0 {
		return nil
	}
	return &x
}

// A refusal is why a message is not forwarded, as its dead letter says it.
type refusal struct {
	Extra
	passing bool // the destination may take it another time, as it is
}

// refuses decides whether a message's destination does not take it, and why;
// nothing changes (FWD-3, FWD-6, FWD-7).
func (ns *Namespace) refuses(now Instant, d departure) *refusal {
	h, m, to := d.h, d.m, d.to
	if hops := min(ns.limits.ForwardHops, math.MaxUint8); int64(m.Hops) >= hops {
		return &refusal{Extra: Extra{
			Reason: ReasonHops, Stays: true,
			Description: fmt.Sprintf("The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to %d.", hops),
		}}
	}
	not := func(passing bool, format string, args ...any) *refusal {
		text := fmt.Sprintf("Destination '%s' ", h.destination()) + fmt.Sprintf(format, args...)
		return &refusal{Extra: Extra{Reason: ReasonForwarding, Description: text}, passing: passing}
	}
	switch {
	case to == nil || to.Kind == Subscription:
		return not(true, "does not exist.")
	case !to.Config.Status.sends(): // STAT-10
		return not(true, "is disabled.")
	case to.sessionful() && m.sessionID() == "":
		return &refusal{Extra: *withoutSession()}
	}
	if most := ns.largest(to); m.content.size > most {
		return not(false, "takes messages of at most %d bytes; this one has %d.", most, m.content.size)
	}
	if to.saw(now, d.id) { // it needs no room
		return nil
	}
	more := (m.content.size + d.next.Extra.size()) * to.copies(&glance{packed: m.packed(), m: d.next}, d.plan)
	if to.root() == h.entity.root() {
		more -= m.size()
	}
	ids := 0
	if d.id.known() {
		ids = 1
	}
	if err := cmp.Or(ns.admitIDs(now, to, ids), ns.full(to, more)); err != nil {
		return not(true, "does not take the message: %v", err)
	}
	return nil
}
