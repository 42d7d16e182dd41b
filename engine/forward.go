package engine

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// ForwardsText is what a client is told that wants to receive where messages
// are forwarded from (FWD-5, DLQ-13).
const ForwardsText = "Cannot create a message receiver on an entity with auto-forwarding enabled."

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

// mostHops is how often a message is forwarded at most (FWD-6).
func (ns *Namespace) mostHops() int64 { return min(ns.limits.ForwardHops, math.MaxUint8) }

func (ns *Namespace) madeAllHops(m Message) bool { return int64(m.Hops) >= ns.mostHops() }

// A refusal is why a message is not forwarded, as its dead letter says it.
type refusal struct {
	Extra
	passing bool // the destination may take it another time, as it is
}

// refuses decides whether a message's destination does not take it, and why;
// nothing changes (FWD-3, FWD-6, FWD-7).
func (ns *Namespace) refuses(now Instant, d departure) *refusal {
	h, m, to := d.h, d.m, d.to
	if ns.madeAllHops(m.Message) {
		return &refusal{Extra: Extra{
			Reason: ReasonHops, Stays: true,
			Description: fmt.Sprintf("The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to %d.", ns.mostHops()),
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
	case to.sessionful() && !m.hasSession():
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
