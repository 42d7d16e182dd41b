package engine

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Mode is how a receiver takes messages (LOCK-1).
type Mode uint8

// The modes.
const (
	PeekLock         Mode = iota
	ReceiveAndDelete      // removed when delivered; the batch that removes it is durable first (LOCK-2)
	PeekOnly              // a copy of each message in turn, in any state (PEEK-12)
)

// A LinkID identifies a receiver attached to an entity. The caller chooses it and never
// reuses it.
type LinkID uint64

// A Link is a receiver. Attached receivers are state of the engine, because idleness,
// disabling and deletion depend on them; they are not stored.
type Link struct {
	ID            LinkID
	Path          Path
	Mode          Mode
	Client        string // name of the client, for people
	SingleMessage bool   // the link ends after it got a message; ignored with sessions
	NoWait        bool   // the link ends when there is no message or, with ErrTimeout, no session
	Transaction   TxID   // the transaction to receive in, which Attach refuses (TX-1); zero for none

	Session  SessionRequest   // for an entity that requires sessions
	Selector *MessageSelector // selects the messages that it gets (LOCK-16); nil for all
}

type link struct {
	Link
	subqueue  *subqueue
	credit    int
	served    bool           // whether the link got a message
	took      *string        // the id of the session that it got; nil if none yet
	session   *session       // the session itself, while the link is attached
	rank      int64          // its rank among the links that wait for a session; zero if it never waited
	index     *selectorIndex // the index of its selector, while the link is attached; nil if none
	waitTurn  int64          // increases with each link that begins to wait at its subqueue
	next      Seq            // of a browsing link: the number from which to deliver messages next
	positions [lineKinds]linePosition
}

// A Delivery is a message delivered to a link.
type Delivery struct {
	Link          LinkID
	Path          Path // the subqueue that it was in
	Message       Message
	Content       Packed
	Expires       Instant // computed from the message and its entity's default (TTL-14); zero if never
	Deleted       bool    // received and deleted: it is not locked
	SessionLocked bool    // locked with its session, which may be renewed: the lock has no deadline of its own (SES-5)
	Peeked        bool    // a copy: the receiver has no lock (PEEK-1)
	Body          []byte  // if available; otherwise read it from the store, while Pin holds it
	Pin           BodyPin // pass it to ReleaseBody, once
}

// Token returns the delivery's lock token.
func (d Delivery) Token() LockToken { return d.Message.Token() }

// Locked reports whether the receiver has a lock on the message, which it can settle.
func (d Delivery) Locked() bool { return !d.Deleted && !d.Peeked }

// TTL returns the effective time to live, as a receiver sees it (TTL-5); zero means never.
func (d Delivery) TTL() time.Duration {
	if d.Expires == 0 {
		return 0
	}
	return d.Expires.Sub(d.Message.EnqueuedAt)
}

// LinkEnded reports that the engine ended a link, and why.
type LinkEnded struct {
	ID          LinkID
	Err         error
	LostSession SessionAccepted // the session whose lock it lost, if that is why (SES-6)
}

// DetachReason is how a link ends.
type DetachReason uint8

// The ways in which a link ends. Its locks stay until their deadline in both cases (DEC-5,
// LOCK-13), except for a session's, which is released at once when the client closes the link
// (SES-7).
const (
	DetachedByClient DetachReason = iota
	DetachedLost
)

// Attach adds a receiver without credit. It counts as use of the entity. A receiver that
// names its session gets it at once, or ErrSessionLocked; one that asks for the next session
// waits for it, and gets it in Effects.Accepted (SES-2). A client that has waited long enough
// detaches the receiver (SES-3). The error is ErrBusy if Limits.AttachedReceivers are
// attached, and for receivers that wait for a session also if Limits.Receives are waiting.
func (ns *Namespace) Attach(now Instant, l Link) error {
	if l.Transaction != 0 {
		return ns.receiveInTxError(now, l.Transaction)
	}
	h, err := ns.attachTo(l.Path)
	if err == nil {
		err = cmp.Or(ns.admitReceiver(now, h, l), ns.admitSelector(h, l), ns.admitLink(h, l))
	}
	if err != nil {
		return err
	}
	in := &link{Link: l, subqueue: h}
	if in.awaitsSession() {
		if err := ns.admitWaiting(h); err != nil {
			return err
		}
	}
	ns.addLink(in)
	ns.changes.addUndo(undo{kind: undoOther, h: h, other: func() { ns.removeLink(in) }})
	ns.accessed(now, h.entity, "receive", l.Client)
	if l.Session.Want == NamedSession && l.Mode != PeekOnly {
		if s := h.sessions.byID[l.Session.ID]; s != nil && s.lock != nil { // its lock has expired
			ns.loseSession(now, h, s, "")
		}
		ns.acceptSession(now, h, in, l.Session.ID)
	}
	return nil
}

// admitReceiver checks whether l may be attached to h with the session that it requests, or without
// one.
func (ns *Namespace) admitReceiver(now Instant, h *subqueue, l Link) error {
	if l.Mode == PeekOnly {
		return ns.admitPeekLink(h, l.Session)
	}
	return ns.admitSession(now, h, l.Session)
}

// admitWaiting checks whether one more receiver may wait at h, with credit or for its session
// (§1.5). Receivers with a session, or attached without waiting, do not count.
func (ns *Namespace) admitWaiting(h *subqueue) error {
	if root := h.entity.root(); int64(root.credit) >= ns.limits.Receives {
		return Refuse(ErrBusy, "'%s' already has %d waiting receivers, the maximum. Retry when one of them has received a message.", root.Path, root.credit)
	}
	return nil
}

// receiveFrom returns the subqueue to receive from, or an error where receiving is disabled
// (§1.4).
func (ns *Namespace) receiveFrom(p Path) (*subqueue, error) {
	h, err := ns.receivable(p)
	if err != nil {
		return nil, err
	}
	e := h.entity
	if !e.Config.Status.receives() {
		return nil, receiveDisabled(h)
	}
	return h, nil
}

// attachTo is receiveFrom for attaching receivers. It also returns an error if the subqueue
// forwards its messages (FWD-5, DLQ-13).
func (ns *Namespace) attachTo(p Path) (*subqueue, error) {
	h, err := ns.receiveFrom(p)
	if err == nil && h.destination() != "" {
		return nil, Refuse(ErrNotAllowed, "%s", ForwardsText)
	}
	return h, err
}

func receiveDisabled(h *subqueue) error {
	return Refuse(ErrDisabled, "Messaging entity '%s' is currently disabled for Receive operations.", h.path)
}

// Credit lets a link take n more messages; Match delivers them. A link with credit keeps its
// entity from being idle (IDLE-8). The error is ErrBusy if the link would begin to wait while
// Limits.Receives are waiting, a topic's subscriptions summed, and ErrOutOfRange if n is
// negative or the credit would exceed what a client can express.
func (ns *Namespace) Credit(now Instant, id LinkID, n int) error {
	l := ns.links[id]
	if l == nil {
		return Refuse(ErrNotFound, "The receiver %d does not exist.", id)
	}
	if n < 0 || int64(n) > maxCredit-int64(l.credit) {
		return Refuse(ErrOutOfRange, "The credit of a receiver must be 0 to %d messages. It is %d, and %d cannot be added.", int64(maxCredit), l.credit, n)
	}
	if l.session != nil && l.session.lock.until.Passed(now) {
		return sessionLockLost()
	}
	if n > 0 && !l.waits() {
		if err := ns.admitWaiting(l.subqueue); err != nil {
			return err
		}
	}
	ns.noteCredit(l)
	l.setCredit(ns, l.credit+n)
	if l.session != nil {
		ns.offer(l.subqueue, l.session)
	}
	ns.requestMatch(l.subqueue)
	ns.touch(now, l.subqueue.entity, "receive", l.Client)
	return nil
}

// maxCredit is the largest credit in an AMQP flow.
const maxCredit = math.MaxUint32

// Drain removes the credit that a link has left, and reports whether the link has none now. It
// removes nothing while there may be a message for the link that Match has not delivered yet: call
// it again after the next Match (LOCK-14). It returns true for an unknown link.
func (ns *Namespace) Drain(now Instant, id LinkID) (drained bool) {
	l := ns.links[id]
	if l == nil || l.credit == 0 {
		return true
	}
	h := l.subqueue
	if h.due(now) || ns.canServe(l) {
		ns.requestMatch(h) // changes that are due have not requested one
		return false
	}
	ns.noteCredit(l)
	l.setCredit(ns, 0)
	ns.touch(now, h.entity, "receive", l.Client)
	return true
}

// Withdraw removes up to n of the credit that a link has left, at once, and returns how much
// it removed. It returns zero for an unknown link and for one whose session's lock has
// expired.
func (ns *Namespace) Withdraw(now Instant, id LinkID, n int) (taken int) {
	l := ns.links[id]
	if l == nil || l.credit == 0 || n <= 0 || l.session != nil && l.session.lock.until.Passed(now) {
		return 0
	}
	taken = min(n, l.credit)
	ns.noteCredit(l)
	l.setCredit(ns, l.credit-taken)
	if l.credit == 0 {
		ns.touch(now, l.subqueue.entity, "receive", l.Client)
	}
	return taken
}

// canServe reports whether there is, or may be, a message for l, which has credit.
func (ns *Namespace) canServe(l *link) bool {
	switch {
	case l.Mode == PeekOnly:
		return l.nextToPeek() != nil
	case l.index != nil:
		return l.index.mayMatch(l.subqueue)
	case l.subqueue.sessions == nil:
		return l.subqueue.ready() > 0
	}
	return l.session != nil && ns.canServeSession(l.session)
}

// noteCredit records the state of a link for undo, before it changes.
func (ns *Namespace) noteCredit(l *link) {
	ns.changes.addUndo(undo{kind: undoCredit, link: l, credit: l.credit, served: l.served, next: l.next})
}

// setCredit sets l's credit, and updates whether l waits. No other function changes a link's credit.
func (l *link) setCredit(ns *Namespace, n int) {
	l.credit = n
	ns.updateWaiting(l)
}

// Detach ends a link. If the link holds a session, `how` decides whether the session is released; see
// DetachReason. Unknown ids are ignored: the link may have ended already.
func (ns *Namespace) Detach(now Instant, id LinkID, how DetachReason) {
	l := ns.links[id]
	if l == nil {
		return
	}
	s := l.session
	ns.endLink(now, l)
	switch {
	case s == nil || how == DetachedLost:
	case s.lock.until.Passed(now): // too late to release it
		ns.loseSession(now, l.subqueue, s, "")
	default:
		ns.releaseSession(now, l.subqueue, s, l.Client)
	}
}

// Match delivers ready messages to links with credit, one to each in rotation. If there are
// more messages, or more changes that are due, than one step may handle, it continues at the
// next call; NextDue includes that.
func (ns *Namespace) Match(now Instant) {
	todo := ns.needMatch
	ns.needMatch = nil
	most := len(ns.effects.Deliveries) + maxDeliveriesPerStep
	for i, h := range todo {
		if len(ns.effects.Deliveries) >= most {
			ns.needMatch = slices.Concat(todo[i:], ns.needMatch)
			return
		}
		h.needsMatch = false
		if ns.subqueues[h.id] == h && h.links[peekingLinks].n > 0 {
			ns.peekLinks(now, h, len(ns.effects.Deliveries)+(most-len(ns.effects.Deliveries)+1)/2) // the rest is for other receivers
		}
		switch {
		case ns.subqueues[h.id] != h:
		case h.sessions != nil:
			ns.matchSessions(now, h, most)
		default:
			ns.serveLinks(now, h, most)
		}
	}
}

// maxDeliveriesPerStep is the maximum number of messages that a Match delivers, however large the
// credit.
const maxDeliveriesPerStep = 4096

// serveLinks delivers messages to the waiting links of h in turn, until `most` deliveries wait to be
// flushed. It then ends the links with SingleMessage that got one and, if no message is left for
// them, the links with NoWait.
func (ns *Namespace) serveLinks(now Instant, h *subqueue, most int) {
	var served []*link // links with SingleMessage
	looks := maxDuePerStep
	h.catchUpSelectors(&looks)
	for q := h.waitingLines(); q.Len() > 0; {
		if len(ns.effects.Deliveries) >= most {
			ns.requestMatch(h)
			break
		}
		m := ns.nextDeliverable(now, h)
		if m == nil {
			break
		}
		line := (*q)[0]
		if line.index != nil {
			m = ns.nextMatch(now, h, line.index, &looks)
		}
		if m == nil { // the links of this line keep their positions in it
			q.removeFirst()
			continue
		}
		l := line.first()
		if l.SingleMessage && !l.served {
			served = append(served, l)
		}
		ns.deliverToLink(now, h, l, m)
		if l.waits() { // the other links are next
			l.stopWaiting()
			l.beginWaiting()
		}
		q.firstServed()
	}
	if looks <= 0 {
		h.selectorsBehind = true
		ns.requestMatch(h)
	}
	for _, l := range served {
		ns.releaseLink(now, l)
	}
	if !h.needsMatch {
		for l := range h.links.all(noWaitLinks) {
			ns.releaseLink(now, l)
		}
	}
}

// releaseLink detaches a link with SingleMessage or NoWait, and reports its end to its owner.
func (ns *Namespace) releaseLink(now Instant, l *link) {
	ns.Detach(now, l.ID, DetachedByClient)
	ns.effects.Ended = append(ns.effects.Ended, LinkEnded{ID: l.ID})
}

// deliverToLink delivers m to a link with credit.
func (ns *Namespace) deliverToLink(now Instant, h *subqueue, l *link, m *message) {
	d := ns.takeMessage(now, h, m, l.Mode, l.Client)
	d.Link = l.ID
	ns.noteCredit(l)
	l.setCredit(ns, l.credit-1)
	l.served = true
	if l.credit == 0 {
		ns.touch(now, h.entity, "receive", l.Client)
	}
	ns.effects.Deliveries = append(ns.effects.Deliveries, d)
}

// nextDeliverable returns the oldest deliverable message of h (SEQ-7), or nil if there is none or
// the work for one step is done. On the way it makes the changes that are due (TTL-19, TTL-31,
// PROP-11).
func (ns *Namespace) nextDeliverable(now Instant, h *subqueue) *message {
	// First end expired locks and activate scheduled messages, also those of h's topic, because an
	// older message may be among them (SEQ-8).
	if !ns.catchUp(now, h) {
		ns.requestMatch(h)
		return nil
	}
	for range maxDuePerStep {
		m := h.first()
		if m == nil || ns.applyVerdict(now, h, m) {
			return m
		}
	}
	ns.requestMatch(h)
	return nil
}

// due reports whether catchUp has work: at h, or at its topic, whose scheduled messages are
// distributed to h.
func (h *subqueue) due(now Instant) bool {
	t := h.entity.topic
	return t != nil && t.main.pendingDue(now) || h.pendingDue(now)
}

// catchUp is settlePending for h and its topic, and reports whether all due work is done.
func (ns *Namespace) catchUp(now Instant, h *subqueue) (all bool) {
	if t := h.entity.topic; t != nil && !ns.settlePending(now, t.main) {
		return false
	}
	return ns.settlePending(now, h)
}

// settlePending ends locks that have expired and activates scheduled messages that are due. It
// returns false if it has to continue in another step.
func (ns *Namespace) settlePending(now Instant, h *subqueue) (all bool) {
	for work := 0; h.pendingDue(now) && !ns.schedulesWait(h); {
		if work >= maxDuePerStep {
			return false
		}
		if a, ok := h.pending.first(); ok && a.at.Passed(now) {
			ns.applyVerdict(now, h, h.order.at(a.seq))
			work += h.alarmCost()
		} else {
			work += ns.expireSessionLocks(now, h, maxDuePerStep-work)
		}
	}
	return true
}

// pendingDue reports whether settlePending has work.
func (h *subqueue) pendingDue(now Instant) bool {
	a, ok := h.pending.first()
	return ok && a.at.Passed(now) || h.sessions != nil && h.sessions.locked.end().Passed(now)
}

// maxDuePerStep bounds the work of one receive on messages that it does not deliver.
const maxDuePerStep = 1024
