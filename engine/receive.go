package engine

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Mode says how a receiver takes messages (LOCK-1).
type Mode uint8

// The modes.
const (
	PeekLock         Mode = iota
	ReceiveAndDelete      // gone when it is handed out; the batch that says so is durable first (LOCK-2)
)

// A LinkID names a receiver attached to an entity; the caller chooses it and
// never uses it twice.
type LinkID uint64

// A Link is a receiver. Attached receivers are state of the engine, because
// idleness, disabling and deletion must know of them; they are not remembered.
type Link struct {
	ID     LinkID
	Path   Path
	Mode   Mode
	Client string // for people: who this is
	Once   bool   // it ends by itself when it was given something; of no meaning with sessions
	NoWait bool   // it ends by itself when there is nothing to be had; with sessions, when there is none, with ErrTimeout
	In     TxID   // of a transaction: refused, receiving is none of its operations (TX-1); zero: of none

	Session SessionRequest // where sessions are required
}

type link struct {
	Link
	holder  *holder
	credit  int
	served  bool     // it has been given something
	took    *string  // the session that it was given; nil: none yet
	session *session // the same, while the link is attached
	rank    int64    // in the line of those that wait for a session; zero: it never did
	spots   [lineKinds]linkSpot
}

// A Delivery is a message handed to a link.
type Delivery struct {
	Link    LinkID
	Path    Path // where it was
	Message Message
	Content Packed
	Expires Instant // computed, the entity's default included (TTL-14); zero: never
	Deleted bool    // received and deleted: there is no lock
	Body    []byte  // if it is at hand; otherwise read it from the store, while Pin holds it
	Pin     Pin     // give it to Taken, once
}

// Token is the delivery's lock token.
func (d Delivery) Token() LockToken { return d.Message.Token() }

// TTL is the effective time to live, as a receiver sees it (TTL-5); zero: never.
func (d Delivery) TTL() time.Duration {
	if d.Expires == 0 {
		return 0
	}
	return d.Expires.Sub(d.Message.EnqueuedAt)
}

// LinkEnded says that a link was ended by the engine, and why.
type LinkEnded struct {
	ID   LinkID
	Err  error
	Lost SessionAccepted // the session whose lock it held, if that is why (SES-6)
}

// Closed says how a link ends.
type Closed uint8

// The ways of ending a link. Either way its locks stay until their deadline
// (DEC-5, LOCK-13), but for a session's, which a client that closes gives back
// at once (SES-7).
const (
	ByClient Closed = iota
	Lost
)

// Attach opens a receiver without credit. It counts as use of the entity. One
// that names its session has it at once, or is refused with ErrSessionLocked; one
// that wants the next waits for it, and is told in Effects.Accepted (SES-2).
// Whoever waits in vain for long enough detaches it (SES-3). As many as may wait
// (Limits.Receives) are ErrBusy for those that wait for their session at once, and
// as many as may be attached at all (Limits.AttachedReceivers) for all.
func (ns *Namespace) Attach(now Instant, l Link) error {
	if l.In != 0 {
		return ns.refuseIn(now, l.In)
	}
	h, err := ns.openForLink(l.Path)
	if err == nil {
		err = cmp.Or(ns.admitSession(now, h, l.Session), ns.admitLink(h, l.Session))
	}
	if err != nil {
		return err
	}
	in := &link{Link: l, holder: h}
	if in.pending() {
		if err := ns.admitWaiting(h); err != nil {
			return err
		}
	}
	ns.join(in)
	ns.changes.note(undo{kind: undoOther, h: h, other: func() { ns.leave(in) }})
	ns.accessed(now, h.entity, "receive", l.Client)
	if l.Session.Want == NamedSession {
		if s := h.sessions.byID[l.Session.ID]; s != nil && s.lock != nil { // it has run out
			ns.loseSession(now, h, s, "")
		}
		ns.grant(now, h, in, l.Session.ID)
	}
	return nil
}

// admitWaiting decides whether one more receiver may wait at h: with credit, or
// for its session (§1.5). Those that only hold a session, or are attached, do not.
func (ns *Namespace) admitWaiting(h *holder) error {
	if root := h.entity.root(); int64(root.credit) >= ns.limits.Receives {
		return refuse(ErrBusy, "'%s' has %d receivers waiting, which is the most it may have.", root.Path, root.credit)
	}
	return nil
}

// openFor finds the place to receive from and refuses where receiving is
// closed (§1.4).
func (ns *Namespace) openFor(p Path) (*holder, error) {
	h, err := ns.receivable(p)
	if err != nil {
		return nil, err
	}
	e := h.entity
	if !e.Config.Status.receives() {
		return nil, disabledReceive(h)
	}
	return h, nil
}

// openForLink is openFor for receivers, of which a place that forwards has none
// (FWD-5, DLQ-13).
func (ns *Namespace) openForLink(p Path) (*holder, error) {
	h, err := ns.openFor(p)
	if err == nil && h.destination() != "" {
		return nil, refuse(ErrNotAllowed, "%s", ForwardsText)
	}
	return h, err
}

func disabledReceive(h *holder) error {
	return refuse(ErrDisabled, "Messaging entity '%s' is currently disabled for Receive operations.", h.path)
}

// Credit lets a link take n more messages; they come as deliveries of Match. A
// link with credit keeps its entity from being idle (IDLE-8). One that begins to
// wait by it is refused with ErrBusy if as many as may do so wait there, a topic's
// subscriptions counted together. A negative n is ErrOutOfRange, and so is what
// would be more than a client can say at once.
func (ns *Namespace) Credit(now Instant, id LinkID, n int) error {
	l := ns.links[id]
	if l == nil {
		return refuse(ErrNotFound, "There is no receiver %d.", id)
	}
	if n < 0 || int64(n) > maxCredit-int64(l.credit) {
		return refuse(ErrOutOfRange, "A receiver has credit for 0 to %d messages; it has %d, and %d cannot be added.", int64(maxCredit), l.credit, n)
	}
	if l.session != nil && l.session.lock.until.Passed(now) {
		return sessionLockLost()
	}
	if n > 0 && !l.in(waitingLinks) {
		if err := ns.admitWaiting(l.holder); err != nil {
			return err
		}
	}
	ns.changes.note(undo{kind: undoCredit, link: l, credit: l.credit, served: l.served})
	l.setCredit(ns, l.credit+n)
	if l.session != nil {
		ns.offer(l.holder, l.session)
	}
	ns.feed(l.holder)
	ns.touch(now, l.holder.entity, "receive", l.Client)
	return nil
}

// maxCredit is the largest number in a flow.
const maxCredit = math.MaxUint32

// Drain takes back the credit that a link has left, and tells whether it could:
// as long as there may be something for it that Match has not come to, it is to
// be asked again after the next one (LOCK-14). Nothing is left of a link that is
// not known.
func (ns *Namespace) Drain(now Instant, id LinkID) (drained bool) {
	l := ns.links[id]
	if l == nil || l.credit == 0 {
		return true
	}
	h := l.holder
	if h.due(now) || ns.canServe(l) {
		ns.feed(h) // time alone does not
		return false
	}
	ns.changes.note(undo{kind: undoCredit, link: l, credit: l.credit, served: l.served})
	l.setCredit(ns, 0)
	ns.touch(now, h.entity, "receive", l.Client)
	return true
}

// Withdraw takes back n of the credit that a link has left, or what there is of
// it, at once, and returns how much that was; nothing is left of a link that is
// not known, or whose session's lock has run out.
func (ns *Namespace) Withdraw(now Instant, id LinkID, n int) (taken int) {
	l := ns.links[id]
	if l == nil || l.credit == 0 || n <= 0 || l.session != nil && l.session.lock.until.Passed(now) {
		return 0
	}
	taken = min(n, l.credit)
	ns.changes.note(undo{kind: undoCredit, link: l, credit: l.credit, served: l.served})
	l.setCredit(ns, l.credit-taken)
	if l.credit == 0 {
		ns.touch(now, l.holder.entity, "receive", l.Client)
	}
	return taken
}

// canServe tells whether something is ready that l, which has credit, could have.
func (ns *Namespace) canServe(l *link) bool {
	if l.holder.sessions == nil {
		return l.holder.ready() > 0
	}
	return l.session != nil && ns.serves(l.session)
}

// setCredit is the one place where a link's credit changes.
func (l *link) setCredit(ns *Namespace, n int) {
	l.credit = n
	ns.recount(l)
}

// Detach ends a link. Unknown ids are ignored: it may have been ended already.
func (ns *Namespace) Detach(now Instant, id LinkID, how Closed) {
	l := ns.links[id]
	if l == nil {
		return
	}
	s := l.session
	ns.quit(now, l)
	switch {
	case s == nil || how == Lost:
	case s.lock.until.Passed(now): // too late to give it back
		ns.loseSession(now, l.holder, s, "")
	default:
		ns.giveBack(now, l.holder, s, l.Client)
	}
}

// Match hands ready messages to links with credit, one to each in rotation. If
// there are more of them than one step may hand out, or it met more that time
// had changed than one step may settle, it goes on at the next call; NextDue
// says so.
func (ns *Namespace) Match(now Instant) {
	todo := ns.hungry
	ns.hungry = nil
	most := len(ns.out.Deliveries) + maxHandedOut
	for i, h := range todo {
		if len(ns.out.Deliveries) >= most {
			ns.hungry = slices.Concat(todo[i:], ns.hungry)
			return
		}
		h.hungry = false
		switch {
		case ns.holders[h.id] != h:
		case h.sessions != nil:
			ns.matchSessions(now, h, most)
		default:
			ns.feedLinks(now, h, most)
		}
	}
}

// maxHandedOut bounds what one Match hands out, whatever credit there is.
const maxHandedOut = 4096

// feedLinks serves h's links until most deliveries wait to be flushed, and ends
// those that wanted only what was there.
func (ns *Namespace) feedLinks(now Instant, h *holder, most int) {
	var served []*link // that wanted something once
	for l := h.links[waitingLinks].first; l != nil; l = h.links[waitingLinks].first {
		if len(ns.out.Deliveries) >= most {
			ns.feed(h)
			break
		}
		m := ns.head(now, h)
		if m == nil {
			break
		}
		if l.Once && !l.served {
			served = append(served, l)
		}
		ns.handOut(now, h, l, m)
		if l.in(waitingLinks) { // now the others
			h.links.exit(waitingLinks, l)
			h.links.enter(waitingLinks, l)
		}
	}
	for _, l := range served {
		ns.release(now, l)
	}
	if h.hungry {
		return
	}
	for l := range h.links.all(hastyLinks) {
		ns.release(now, l)
	}
}

// release ends a link that has what it wanted, or that there is nothing for.
func (ns *Namespace) release(now Instant, l *link) {
	ns.Detach(now, l.ID, ByClient)
	ns.out.Ended = append(ns.out.Ended, LinkEnded{ID: l.ID})
}

// handOut gives m to a link with credit.
func (ns *Namespace) handOut(now Instant, h *holder, l *link, m *message) {
	d := ns.take(now, h, m, l.Mode, l.Client)
	d.Link = l.ID
	ns.changes.note(undo{kind: undoCredit, link: l, credit: l.credit, served: l.served})
	l.setCredit(ns, l.credit-1)
	l.served = true
	if l.credit == 0 {
		ns.touch(now, h.entity, "receive", l.Client)
	}
	ns.out.Deliveries = append(ns.out.Deliveries, d)
}

// head is the oldest deliverable message of h (SEQ-7). What it meets on the
// way that time has changed, it settles (TTL-19, TTL-31, PROP-11).
func (ns *Namespace) head(now Instant, h *holder) *message {
	// Locks that have run out and schedules that have come, its topic's too,
	// first and all of them: an older message may be among them (SEQ-8).
	if !ns.catchUp(now, h) {
		ns.feed(h)
		return nil
	}
	for range maxDueInStep {
		m := h.first()
		if m == nil || ns.settleDue(now, h, m) {
			return m
		}
	}
	ns.feed(h)
	return nil
}

// due tells whether there is something for catchUp: of h, or of its topic, whose
// scheduled messages come to h.
func (h *holder) due(now Instant) bool {
	t := h.entity.topic
	return t != nil && t.main.pendingDue(now) || h.pendingDue(now)
}

// catchUp is settlePending for h and its topic, and tells whether none is due any
// more.
func (ns *Namespace) catchUp(now Instant, h *holder) (all bool) {
	if t := h.entity.topic; t != nil && !ns.settlePending(now, t.main) {
		return false
	}
	return ns.settlePending(now, h)
}

// settlePending acts on locks that have run out and schedules that have come,
// and tells whether none is left.
func (ns *Namespace) settlePending(now Instant, h *holder) (all bool) {
	for work := 0; h.pendingDue(now); {
		if work >= maxDueInStep {
			return false
		}
		if a, ok := h.pending.first(); ok && a.at.Passed(now) {
			ns.settleDue(now, h, h.order.at(a.seq))
			work += h.worth()
		} else {
			work += ns.loseDue(now, h, maxDueInStep-work)
		}
	}
	return true
}

// pendingDue tells whether there is something for settlePending.
func (h *holder) pendingDue(now Instant) bool {
	a, ok := h.pending.first()
	return ok && a.at.Passed(now) || h.sessions != nil && h.sessions.taken.end().Passed(now)
}

// maxDueInStep bounds what one receive does for messages it does not get.
const maxDueInStep = 1024
