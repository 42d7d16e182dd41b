package engine

import (
	"iter"
)

// This file maintains the lines of links at each subqueue. How long it takes to find the links of
// one line does not depend on the number of other links.

// A lineKind is the kind of a line of links.
type lineKind uint8

const (
	attachedLinks lineKind = iota // all links
	waitingLinks                  // with credit, or waiting for a session: they keep an entity from being idle (IDLE-8) and count against Limits.Receives; those with a selector are in the line of its index
	peekingLinks                  // links that only browse, with credit; counted in the same way
	noWaitLinks                   // links that do not wait (NoWait), at subqueues without sessions
	lineKinds
)

// linkLines are the lines of a subqueue's links. Each line is in the order of arrival, but a
// waiting link moves to the end when it gets a message.
type linkLines [lineKinds]struct {
	first, last *link
	n           int
}

// A linePosition is the position of a link in one line.
type linePosition struct {
	prev, next *link
	in         bool
}

func (l *link) in(k lineKind) bool { return l.positions[k].in }

// waiting returns the kind of line that l is in while it waits.
func (l *link) waiting() lineKind {
	if l.Mode == PeekOnly {
		return peekingLinks
	}
	return waitingLinks
}

// lines returns the lines that l waits in: those of its selector's index or of its subqueue.
func (l *link) lines() *linkLines {
	if l.index != nil {
		return &l.index.lines
	}
	return &l.subqueue.links
}

// beginWaiting adds l to the end of the line in which it waits, and stopWaiting removes it.
func (l *link) beginWaiting() {
	h := l.subqueue
	h.turns++
	l.waitTurn = h.turns
	l.lines().add(l.waiting(), l)
	if l.index != nil {
		h.selecting++
	}
}

func (l *link) stopWaiting() {
	l.lines().remove(l.waiting(), l)
	if l.index != nil {
		l.subqueue.selecting--
	}
}

func (l *link) waits() bool { return l.in(l.waiting()) }

// add adds l to the end of a line.
func (q *linkLines) add(k lineKind, l *link) {
	line := &q[k]
	l.positions[k] = linePosition{prev: line.last, in: true}
	if line.last != nil {
		line.last.positions[k].next = l
	} else {
		line.first = l
	}
	line.last = l
	line.n++
}

// remove removes l from a line that it is in.
func (q *linkLines) remove(k lineKind, l *link) {
	line, at := &q[k], l.positions[k]
	if at.prev != nil {
		at.prev.positions[k].next = at.next
	} else {
		line.first = at.next
	}
	if at.next != nil {
		at.next.positions[k].prev = at.prev
	} else {
		line.last = at.prev
	}
	l.positions[k] = linePosition{}
	line.n--
}

// all iterates over a line. The link that was yielded may be removed during the iteration.
func (q *linkLines) all(k lineKind) iter.Seq[*link] {
	return func(yield func(*link) bool) {
		for l := q[k].first; l != nil; {
			next := l.positions[k].next
			if !yield(l) {
				return
			}
			l = next
		}
	}
}

// admitLink checks whether one more receiver may be attached to h, idle or not. A link that
// names a session without messages and state creates it, and if the link is lost, the
// session's lock remains: the number of locked sessions is limited too.
func (ns *Namespace) admitLink(h *subqueue, l Link) error {
	want := l.Session
	root, most := h.entity.root(), ns.limits.AttachedReceivers
	if int64(root.attached) >= most {
		return Refuse(ErrBusy, "'%s' already has %d receivers attached, the maximum. Detach one first.", root.Path, root.attached)
	}
	if want.Want == NamedSession && l.Mode != PeekOnly && h.sessions != nil && h.sessions.byID[want.ID] == nil && int64(len(h.sessions.locked)) >= most {
		return Refuse(ErrBusy, "'%s' already has %d sessions locked, the maximum. A session without messages cannot be accepted until one is released.", h.path, len(h.sessions.locked))
	}
	return nil
}

// updateWaiting adds l to its line of waiting links, or removes it, according to whether l has credit
// or waits for a session. A waiting link keeps its entity from being idle.
func (ns *Namespace) updateWaiting(l *link) {
	waits := l.in(attachedLinks) && (l.credit > 0 || l.awaitsSession())
	switch {
	case waits == l.waits():
	case waits:
		l.beginWaiting()
		ns.addWaiting(l.subqueue.entity, 1)
	default:
		l.stopWaiting()
		ns.addWaiting(l.subqueue.entity, -1)
	}
}

// addWaiting adds to the number of waiting receivers of e and its topic.
func (ns *Namespace) addWaiting(e *entity, by int) {
	for ; e != nil; e = e.topic {
		e.credit += by
	}
}

func (ns *Namespace) addLink(l *link) {
	h := l.subqueue
	ns.links[l.ID] = l
	h.links.add(attachedLinks, l)
	h.entity.root().attached++
	l.joinIndex()
	if l.NoWait && h.sessions == nil {
		h.links.add(noWaitLinks, l)
	}
	ns.updateWaiting(l)
	ns.enlist(l)
	if (h.sessions == nil || l.Mode == PeekOnly) && l.credit > 0 {
		ns.requestMatch(h)
	}
}

func (ns *Namespace) removeLink(l *link) {
	h := l.subqueue
	delete(ns.links, l.ID)
	h.links.remove(attachedLinks, l)
	h.entity.root().attached--
	if l.in(noWaitLinks) {
		h.links.remove(noWaitLinks, l)
	}
	ns.delist(l)
	ns.updateWaiting(l)
	l.leaveIndex()
}

// removeLinkUndoable is removeLink for a step that may be undone.
func (ns *Namespace) removeLinkUndoable(l *link) {
	ns.removeLink(l)
	ns.changes.addUndo(undo{kind: undoOther, h: l.subqueue, other: func() { ns.addLink(l) }})
}

// endLink removes l, and resets the idle clock of its entity if l was waiting until now.
func (ns *Namespace) endLink(now Instant, l *link) {
	receiving := l.waits()
	ns.removeLinkUndoable(l)
	if receiving {
		ns.touch(now, l.subqueue.entity, "receive", l.Client)
	}
	ns.setIdleAlarm(now, l.subqueue.entity)
}

// endLinks removes all links of h and reports that to their owners.
func (ns *Namespace) endLinks(h *subqueue, why error) {
	ns.watch.noteAll(h)
	for l := range h.links.all(attachedLinks) {
		ns.removeLinkUndoable(l)
		ns.effects.Ended = append(ns.effects.Ended, LinkEnded{ID: l.ID, Err: why})
	}
}

// endRefusedLinks ends the links that e's present description would reject.
func (ns *Namespace) endRefusedLinks(e *entity) {
	for _, h := range e.subqueues() {
		if _, err := ns.attachTo(h.path); err != nil {
			ns.endLinks(h, err)
		}
	}
}

// The rest of this file implements receivers that only browse messages (PEEK-12).

// nextToPeek returns the next message that a browsing receiver has not been shown, in any state,
// or nil if there is none now.
func (l *link) nextToPeek() *message {
	all := &l.subqueue.order
	if l.Session.Want == NamedSession {
		all, _ = l.subqueue.sessions.orders(l.Session.ID)
	}
	for m := range all.from(l.next) {
		return m
	}
	return nil
}

// peekLinks delivers to the browsing receivers of h the messages that they have not seen, until
// `most` deliveries wait to be flushed or it has visited maxDuePerStep messages. The receiver at
// which it stops then moves to the end of the line.
func (ns *Namespace) peekLinks(now Instant, h *subqueue, most int) {
	looks := maxDuePerStep
	for l := range h.links.all(peekingLinks) {
		noted := false
		for m := l.nextToPeek(); m != nil && l.credit > 0; m = l.nextToPeek() {
			if looks == 0 || len(ns.effects.Deliveries) >= most {
				l.stopWaiting()
				l.beginWaiting()
				ns.requestMatch(h)
				return
			}
			looks--
			if !noted { // for undo: l.next changes below, even if the selector skips m
				noted = true
				ns.noteCredit(l)
			}
			if l.Selector == nil || l.Selector.selects(candidate(m)) {
				ns.peekMessage(now, h, l, m)
			}
			l.next = m.Seq + 1
		}
	}
}

// peekMessage delivers a copy of m to a browsing link (PEEK-1).
func (ns *Namespace) peekMessage(now Instant, h *subqueue, l *link, m *message) {
	m.content.pins++
	ns.changes.addUndo(undo{kind: undoPin, pinned: m.content})
	l.setCredit(ns, l.credit-1)
	if l.credit == 0 {
		ns.touch(now, h.entity, "peek", l.Client)
	}
	ns.effects.Deliveries = append(ns.effects.Deliveries, Delivery{
		Link: l.ID, Path: h.path, Message: h.withSessionLock(m), Content: m.packed(), Expires: h.terms.ExpiresAt(m.Message),
		Peeked: true, Body: ns.changes.bodies[m.content], Pin: BodyPin{m.content},
	})
}

// admitPeekLink checks whether a browsing receiver may be attached to h, as far as sessions
// matter: it locks no session (PEEK-5).
func (ns *Namespace) admitPeekLink(h *subqueue, want SessionRequest) error {
	switch {
	case want.Want == NoSession:
		return nil
	case h.sessions == nil:
		return RefuseCode(ErrNotAllowed, 40301, "%s", SessionReceiverText)
	case want.Want == NextSession:
		return Refuse(ErrNotImplemented, "The messages of the next available session cannot be browsed. Name the session, or browse without one.")
	}
	return ns.checkSessionID(want.ID)
}

// awaitsSession reports whether l waits for its session. That keeps its entity from being idle, as
// credit does (IDLE-8).
func (l *link) awaitsSession() bool { return l.Session.Want == NextSession && l.took == nil }

// noWaitCount returns how much l adds to sessions.noWait while it waits for a session.
func (l *link) noWaitCount() int {
	if l.NoWait {
		return 1
	}
	return 0
}

func (l *link) bind(s *session) { l.session, s.lock.link = s, l }

func (l *link) unbind() { l.session.lock.link, l.session = nil, nil }
