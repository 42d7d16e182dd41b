package engine

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"time"
)

// ForwardsText is the error text for attaching a receiver to a subqueue whose messages are
// forwarded (FWD-5, DLQ-13).
const ForwardsText = "Cannot create a message receiver on an entity with auto-forwarding enabled."

// destination returns the path that h's messages are forwarded to, or "" if there is none
// (FWD-1).
func (h *subqueue) destination() Path {
	switch h {
	case h.entity.main:
		return Path(h.entity.Config.ForwardTo)
	case h.entity.dead:
		return Path(h.entity.Config.ForwardDeadLetteredMessagesTo)
	default:
		return ""
	}
}

// forwards reports whether h's messages are forwarded now. Messages that cannot be received
// because of the entity's status are not forwarded either (STAT-7).
func (h *subqueue) forwards() bool {
	return h.destination() != "" && h.entity.Config.Status.receives()
}

// nextForward returns when messages of h are to be forwarded or tried again: 1 if this is due at
// once, and zero if there is nothing to forward.
func (h *subqueue) nextForward() (at Instant) {
	if h.order.ready()+h.forwarding.rejected == 0 || !h.forwards() {
		return 0
	}
	if h.forwarding.retryFrom != 0 {
		return 1
	}
	if h.order.ready() > 0 {
		at = max(1, h.forwarding.retryAt)
	}
	if h.forwarding.rejected > 0 {
		at = earlier(at, max(1, h.forwarding.recheckAt))
	}
	return at
}

// forwardDue forwards the messages of h that are due, oldest first (FWD-11). It makes about limit
// changes at most, and returns how many it made.
func (ns *Namespace) forwardDue(now Instant, h *subqueue, limit int) (done int) {
	for done < limit {
		switch at := h.nextForward(); {
		case at == 0 || !at.Passed(now):
			return done
		case h.forwarding.retryFrom != 0:
			done += h.retry(limit - done)
		case h.forwarding.rejected > 0 && max(1, h.forwarding.recheckAt).Passed(now):
			ns.recheckDestination(now, h)
			done++
		default:
			done += ns.forwardFirst(now, h)
		}
	}
	return done
}

// forwardFirst forwards the first ready message of h to its destination, and returns the number of
// changes. It checks whether the destination accepts the message before it changes anything (FWD-3);
// if not, it dead-letters the message, passes it over, or leaves it for a later try.
func (ns *Namespace) forwardFirst(now Instant, h *subqueue) (done int) {
	m := h.order.first()
	if !ns.applyVerdict(now, h, m) {
		return 1
	}
	if ns.dropsOnly || h.forwarding.lacksMemory && ns.copiesWait() { // skips the cost of evaluating a topic's rules
		ns.deferForwards(now, h)
		return 1
	}
	h.forwarding.lacksMemory = false
	d := ns.prepareForward(now, h, m)
	switch no := ns.forwardRefused(now, d); {
	case no == nil:
		return ns.forwardMessage(now, d)
	case no.lacksMemory:
		ns.deferForwards(now, h)
	case !h.dead: // FWD-7: the dead-letter subqueue of this entity, not the transfer one
		ns.deadLetter(now, h, m, &no.Extra)
	case no.NeverForwarded: // FWD-6
		next, held := m.Message, m.copyExtra()
		held.NeverForwarded, next.Extra = true, held
		ns.put(m, next)
		ns.changes.hard = true
	case no.temporary: // FWD-8
		h.forwarding.retryAt = now.Add(forwardRetryDelay)
		ns.reschedule(h)
	default:
		ns.passOver(now, h, m, d.to)
	}
	return 1
}

// A pendingForward is a message that is to be forwarded.
type pendingForward struct {
	h    *subqueue // where the message is
	m    *message
	to   *entity // nil if it does not exist
	next Message // the message as it leaves h; forwardMessage sets the values at its destination
	id   Digest
	plan *Plan // the results of the destination topic's rules
}

func (ns *Namespace) prepareForward(now Instant, h *subqueue, m *message) pendingForward {
	d := pendingForward{h: h, m: m, to: ns.entities[h.destination().Fold()], next: m.Message}
	d.next.Extra, d.next.EnqueuedAt = h.forwardedExtra(m), now
	d.next.DeliveryCount = 0
	if d.to != nil && d.to.seen != nil && d.to != h.entity { // a message is not a duplicate of itself (PROP-9)
		d.id = m.digest()
	}
	if d.to != nil && d.to.ruleIndex.set != nil {
		if c, err := m.packed().Content(); err == nil { // always nil: Pack wrote the content
			c.Properties = d.next.Properties(c)
			d.plan = d.to.ruleIndex.set.Plan(c)
		}
	}
	return d
}

// forwardMessage moves a message to its destination, as if it were sent there (FWD-9). This does not
// reset the idle clock of the source (IDLE-12). It returns how many changes count against the limit
// of forwardDue: none for a queue if the next batch stores the message anyway, so that a message
// just sent usually reaches its destination before its sender gets an answer.
func (ns *Namespace) forwardMessage(now Instant, d pendingForward) (done int) {
	if !d.m.hasFlag(flagDirty) {
		done = 1
	}
	h, m, to, next := d.h, d.m, d.to, d.next
	duplicate := ns.detectDuplicate(now, to, d.id)
	if next.Seq = 0; !duplicate {
		next.Seq = ns.nextSeq(to.main)
	}
	next.Subqueue, next.ExpiresAt = to.ID, to.main.terms.ownExpiry(now, m.ttl())
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
		return to.main.alarmCost()
	default:
		ns.put(m, next)
	}
	return done
}

// ttl returns the remaining time to live of m: what its sender requested, as lowered by the
// entities it was in (TTL-5, TTL-17).
func (m *message) ttl() time.Duration {
	ttl := m.packed().ttl()
	if ttl > 0 && m.ExpiresAt != 0 {
		if ttl = min(ttl, m.ExpiresAt.Sub(m.EnqueuedAt)); ttl <= 0 {
			return -1 // none of it is left; zero would mean forever
		}
	}
	return ttl
}

// forwardedExtra returns m's Extra after it is forwarded from h, as receivers see it. For a dead
// letter, Source becomes the path of h's entity (DLQ-9).
func (h *subqueue) forwardedExtra(m *message) *Extra {
	old := m.copyExtra()
	x := Extra{Reason: old.Reason, Description: old.Description, Source: old.Source, Properties: old.Properties, Rewritten: old.Rewritten}
	if h.dead {
		x.Source = string(h.entity.Path)
	}
	if x.size() == 0 {
		return nil
	}
	return &x
}

// maxHops returns how often a message may be forwarded (FWD-6).
func (ns *Namespace) maxHops() int64 { return min(ns.limits.ForwardHops, math.MaxUint8) }

func (ns *Namespace) hopsExhausted(m Message) bool { return int64(m.Hops) >= ns.maxHops() }

// A forwardRefusal is the reason why a message is not forwarded: the Extra with which it may be
// dead-lettered, and whether a later try may succeed.
type forwardRefusal struct {
	Extra
	temporary   bool // the destination may accept the same message later
	lacksMemory bool // the destination accepts it as soon as there is memory
}

// forwardRefused returns why a message's destination does not accept it, or nil if it does. It
// changes nothing (FWD-3, FWD-6, FWD-7).
func (ns *Namespace) forwardRefused(now Instant, d pendingForward) *forwardRefusal {
	h, m, to := d.h, d.m, d.to
	if ns.hopsExhausted(m.Message) {
		return &forwardRefusal{Extra: Extra{
			Reason: ReasonHops, NeverForwarded: true,
			Description: fmt.Sprintf("The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to %d.", ns.maxHops()),
		}}
	}
	not := func(passing bool, format string, args ...any) *forwardRefusal {
		text := fmt.Sprintf("Destination '%s' ", h.destination()) + fmt.Sprintf(format, args...)
		return &forwardRefusal{Extra: Extra{Reason: ReasonForwarding, Description: text}, temporary: passing}
	}
	switch {
	case to == nil || to.Kind == Subscription:
		return not(true, "does not exist.")
	case !to.Config.Status.sends(): // STAT-10
		return not(true, "is disabled.")
	case to.requiresSession() && !m.hasSession():
		return &forwardRefusal{Extra: *sessionIDMissing()}
	}
	if most := ns.maxMessageSizeOf(to); m.content.size > most {
		return not(false, "accepts messages of at most %d bytes; this one has %d.", most, m.content.size)
	}
	if to.isDuplicate(now, d.id) { // a duplicate needs no room
		return nil
	}
	copies := to.countCopies(&filterView{packed: m.packed(), m: d.next}, d.plan)
	charge := ns.sizer.chargeOf(m.content.packed, m.content.size, d.next.Extra) * copies
	if to.root() == h.entity.root() {
		charge -= ns.sizer.charge(m)
	}
	ids := 0
	if d.id.isSet() {
		ids = 1
	}
	if err := cmp.Or(ns.admitIDs(now, to, ids), ns.checkQuota(to, charge)); err != nil {
		return not(true, "does not accept the message: %v", err)
	}
	if copies > 1 && ns.copiesWait() { // a single copy replaces the message that is forwarded
		return &forwardRefusal{lacksMemory: true}
	}
	return nil
}

// forwardRetryDelay is how long a dead-letter subqueue waits after its destination did not accept a
// message, and how often it checks whether a destination that will never accept some messages
// has changed.
const forwardRetryDelay = time.Second

// outgoing is the state of forwarding from a subqueue. It is up to date even if the subqueue does
// not forward its messages.
//
// INVARIANT: held contains the ready messages that are never forwarded and the ready dead letters
// that were passed over; rejected counts the latter. The subqueue's order has no ready bit for
// messages in held, so that messages to be forwarded are found without visiting them.
type outgoing struct {
	held        order      // all of them ready
	rejected    int        // how many messages in held were passed over, because the destination rejects them (FWD-8)
	destination forwardKey // the key of the destination that rejected them
	recheckAt   Instant    // when to check whether the destination has changed; zero or past means at once
	retryFrom   Seq        // the number in held from which to try messages again; zero if none
	retryAt     Instant    // when to retry a message that the destination refused for now (FWD-8); zero or past means at once

	lacksMemory bool // whether the last try failed for lack of memory
}

// A forwardKey holds the properties of a destination that decide whether it ever accepts a
// message: destinations with equal keys reject the same messages.
type forwardKey struct {
	destination SubqueueID // zero if the destination does not exist
	sessions    bool
	largest     int64
}

func (ns *Namespace) forwardKey(to *entity) forwardKey {
	if to == nil {
		return forwardKey{}
	}
	return forwardKey{to.ID, to.requiresSession(), ns.maxMessageSizeOf(to)}
}

// neverForwarded reports whether m is a dead letter that is never forwarded.
func (m *message) neverForwarded() bool { return m.Extra != nil && m.Extra.NeverForwarded }

// hold adds a ready message to held.
func (o *outgoing) hold(m *message) {
	o.held.put(m)
	o.held.setReady(m.Seq, true)
}

// unhold removes m from held, if it is there.
func (o *outgoing) unhold(m *message) {
	if o.held.at(m.Seq) == nil {
		return
	}
	o.held.drop(m.Seq)
	if !m.neverForwarded() {
		o.rejected--
	}
}

// classify updates the ready bit of m in h.order after m was added or changed, and adds m to held
// instead if it is ready but never forwarded.
func (h *subqueue) classify(m *message) {
	stays := m.ready() && m.neverForwarded()
	h.order.setReady(m.Seq, m.ready() && !stays)
	if stays {
		h.forwarding.hold(m)
	}
}

// ready returns how many messages a receiver could get.
func (h *subqueue) ready() int { return h.order.ready() + h.forwarding.held.len() }

// first returns the oldest message that a receiver could get, or nil if there is none.
func (h *subqueue) first() *message {
	m, held := h.order.first(), h.forwarding.held.first()
	if m == nil || held != nil && held.Seq < m.Seq {
		return held
	}
	return m
}

// readyFrom iterates over the messages that a receiver could get, from number seq upwards,
// without visiting others.
func (h *subqueue) readyFrom(seq Seq) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for m := h.firstReadyFrom(seq); m != nil && yield(m); m = h.firstReadyFrom(m.Seq + 1) {
		}
	}
}

// firstReadyFrom returns the first message of readyFrom(seq), or nil if there is none.
func (h *subqueue) firstReadyFrom(seq Seq) (first *message) {
	for m := range h.order.readyFrom(seq) {
		first = m
		break
	}
	for m := range h.forwarding.held.from(seq) {
		if first == nil || m.Seq < first.Seq {
			first = m
		}
		break
	}
	return first
}

// recheckDestination schedules all passed-over messages to be tried again if h has another
// destination than the one that rejected them, or if the destination now accepts other messages. It
// also sets the time of the next check.
func (ns *Namespace) recheckDestination(now Instant, h *subqueue) {
	h.forwarding.recheckAt = now.Add(forwardRetryDelay)
	if ns.forwardKey(ns.entities[h.destination().Fold()]) != h.forwarding.destination {
		h.forwarding.retryFrom = 1
	}
}

// retry visits up to limit held messages from retryFrom on, and makes those that were passed over
// ready to be tried again. It returns how many messages it visited, or 1 if there were none.
func (h *subqueue) retry(limit int) (done int) {
	next := Seq(0)
	for m := range h.forwarding.held.from(h.forwarding.retryFrom) {
		if done == limit {
			next = m.Seq
			break
		}
		if done++; !m.neverForwarded() {
			h.forwarding.unhold(m)
			h.order.setReady(m.Seq, true)
		}
	}
	h.forwarding.retryFrom = next
	return max(done, 1)
}

// passOver adds m to held, because its destination `to` rejects it, so that the messages behind it
// can be forwarded. m is tried again when the destination changes.
func (ns *Namespace) passOver(now Instant, h *subqueue, m *message, to *entity) {
	if whose := ns.forwardKey(to); h.forwarding.rejected > 0 && whose != h.forwarding.destination {
		h.forwarding.retryFrom = 1 // the others were passed over because of another destination
	} else if h.forwarding.rejected == 0 {
		h.forwarding.recheckAt = now.Add(forwardRetryDelay)
	}
	h.forwarding.destination = ns.forwardKey(to)
	h.order.setReady(m.Seq, false)
	h.forwarding.hold(m)
	h.forwarding.rejected++
	ns.reschedule(h)
}
