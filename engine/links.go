package engine

import "iter"

// This file is where links stand: each in the lines of its place. What is done
// for some of them does not take longer the more others there are.

// A lineKind is what the links of one line have in common.
type lineKind uint8

const (
	attachedLinks lineKind = iota // all there are
	waitingLinks                  // with credit, or for a session: what keeps an entity from being idle (IDLE-8), and takes one of Limits.Receives
	hastyLinks                    // that do not wait, where there are no sessions
	lineKinds
)

// linkLines are the links of a place. Those of a line stand in the order in which
// they came to it, but for those that wait: one that was given something goes to
// their end.
type linkLines [lineKinds]struct {
	first, last *link
	n           int
}

// A linkSpot is where a link stands in one line.
type linkSpot struct {
	prev, next *link
	in         bool
}

func (l *link) in(k lineKind) bool { return l.spots[k].in }

// enter puts l at the end of a line.
func (q *linkLines) enter(k lineKind, l *link) {
	line := &q[k]
	l.spots[k] = linkSpot{prev: line.last, in: true}
	if line.last != nil {
		line.last.spots[k].next = l
	} else {
		line.first = l
	}
	line.last = l
	line.n++
}

// exit takes l out of a line that it stands in.
func (q *linkLines) exit(k lineKind, l *link) {
	line, at := &q[k], l.spots[k]
	if at.prev != nil {
		at.prev.spots[k].next = at.next
	} else {
		line.first = at.next
	}
	if at.next != nil {
		at.next.spots[k].prev = at.prev
	} else {
		line.last = at.prev
	}
	l.spots[k] = linkSpot{}
	line.n--
}

// all goes through a line. The link that it has come to may leave.
func (q *linkLines) all(k lineKind) iter.Seq[*link] {
	return func(yield func(*link) bool) {
		for l := q[k].first; l != nil; {
			next := l.spots[k].next
			if !yield(l) {
				return
			}
			l = next
		}
	}
}

// admitLink decides whether one more receiver may be attached to h, idle or not.
// One that names a session of which nothing is known begins it, and if it is lost,
// leaves the lock: there are not more of these either.
func (ns *Namespace) admitLink(h *holder, want SessionRequest) error {
	root, most := h.entity.root(), ns.limits.AttachedReceivers
	if int64(root.attached) >= most {
		return refuse(ErrBusy, "'%s' has %d receivers attached, which is the most it may have.", root.Path, root.attached)
	}
	if want.Want == NamedSession && h.sessions != nil && h.sessions.byID[want.ID] == nil && int64(len(h.sessions.taken)) >= most {
		return refuse(ErrBusy, "'%s' has %d sessions locked; no other one can be accepted that has nothing yet.", h.path, len(h.sessions.taken))
	}
	return nil
}

// recount follows what a link wants: one with credit, or that waits for its
// session, holds its entity from being idle.
func (ns *Namespace) recount(l *link) {
	waits := l.in(attachedLinks) && (l.credit > 0 || l.pending())
	switch {
	case waits == l.in(waitingLinks):
	case waits:
		l.holder.links.enter(waitingLinks, l)
		ns.hold(l.holder.entity, 1)
	default:
		l.holder.links.exit(waitingLinks, l)
		ns.hold(l.holder.entity, -1)
	}
}

// hold counts receivers that wait at e and its topic.
func (ns *Namespace) hold(e *entity, by int) {
	for ; e != nil; e = e.topic {
		e.credit += by
	}
}

func (ns *Namespace) join(l *link) {
	h := l.holder
	ns.links[l.ID] = l
	h.links.enter(attachedLinks, l)
	h.entity.root().attached++
	if l.NoWait && h.sessions == nil {
		h.links.enter(hastyLinks, l)
	}
	ns.recount(l)
	ns.enlist(l)
	if h.sessions == nil && l.credit > 0 {
		ns.feed(h)
	}
}

func (ns *Namespace) leave(l *link) {
	h := l.holder
	delete(ns.links, l.ID)
	h.links.exit(attachedLinks, l)
	h.entity.root().attached--
	if l.in(hastyLinks) {
		h.links.exit(hastyLinks, l)
	}
	ns.delist(l)
	ns.recount(l)
}

// part is leave for a link that may have to come back.
func (ns *Namespace) part(l *link) {
	ns.leave(l)
	ns.changes.note(undo{kind: undoOther, h: l.holder, other: func() { ns.join(l) }})
}

// quit is part for a link that ends while its entity stays.
func (ns *Namespace) quit(now Instant, l *link) {
	receiving := l.in(waitingLinks)
	ns.part(l)
	if receiving { // until now
		ns.touch(now, l.holder.entity, "receive", l.Client)
	}
	ns.reconsider(now, l.holder.entity)
}

// end takes all links of h away and has their owners told.
func (ns *Namespace) end(h *holder, why error) {
	for l := range h.links.all(attachedLinks) {
		ns.part(l)
		ns.out.Ended = append(ns.out.Ended, LinkEnded{ID: l.ID, Err: why})
	}
}

// endRefused ends the links that e's present description would refuse.
func (ns *Namespace) endRefused(e *entity) {
	for _, h := range e.holders() {
		if _, err := ns.openForLink(h.path); err != nil {
			ns.end(h, err)
		}
	}
}
