package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// checkLinks checks that a link is at the subqueue it names, in the lines it belongs to; links are
// counted at the root entity, those that wait at their entity and its topic; and a subqueue
// with a ready message and a link with credit needs a match.
func (ns *Namespace) checkLinks() error {
	n := 0
	waits, attached := map[*entity]int{}, map[*entity]int{}
	for _, h := range ns.subqueues {
		if err := ns.checkLines(h); err != nil {
			return err
		}
		n += h.links[attachedLinks].n
		attached[h.entity.root()] += h.links[attachedLinks].n
		for e := h.entity; e != nil; e = e.topic {
			waits[e] += h.links[waitingLinks].n + h.links[peekingLinks].n + h.selecting
		}
		if h.sessions != nil {
			if err := ns.checkSessionLinks(h); err != nil {
				return err
			}
		}
		if err := ns.checkServing(h); err != nil {
			return err
		}
		if h.needsMatch != slices.Contains(ns.needMatch, h) {
			return invariantError(h.path, "needsMatch is %v", h.needsMatch)
		}
	}
	if n != len(ns.links) {
		return fmt.Errorf("%d links are known and %d are at a place", len(ns.links), n)
	}
	for _, e := range ns.entities {
		if e.credit != waits[e] || e.attached != attached[e] {
			return invariantError(e.Path, "%d links are counted, %d with credit; there are %d and %d", e.attached, e.credit, attached[e], waits[e])
		}
	}
	return nil
}

// checkLines checks that the lines of h, and of the selectors there, contain the links that belong
// in them.
func (ns *Namespace) checkLines(h *subqueue) error {
	there, err := ns.checkLinesOf(h, &h.links, nil)
	if err != nil {
		return err
	}
	selecting := 0
	for _, s := range h.selectors {
		n, err := ns.checkLinesOf(h, &s.lines, s)
		if err != nil {
			return err
		}
		selecting += n[waitingLinks]
	}
	var want [lineKinds]int
	wantSelecting := 0
	for l := range h.links.all(attachedLinks) {
		waits := l.credit > 0 || l.awaitsSession()
		for k, belongs := range [lineKinds]bool{true, waits && l.Mode != PeekOnly, waits && l.Mode == PeekOnly, l.NoWait && h.sessions == nil} {
			if l.positions[k].in != belongs || l.credit < 0 {
				return invariantError(h.path, "link %d with credit %d is in line %d: %v", l.ID, l.credit, k, l.positions[k].in)
			}
			switch {
			case belongs && lineKind(k) == waitingLinks && l.index != nil:
				wantSelecting++
			case belongs:
				want[k]++
			}
		}
	}
	if want != there || selecting != wantSelecting || h.selecting != selecting {
		return invariantError(h.path, "%v links belong in its lines and %d in those of selectors, there are %v and %d; %d are counted", want, wantSelecting, there, selecting, h.selecting)
	}
	return nil
}

// checkLinesOf checks the lines of h, or those of the selector index s at h if s is not nil, and
// returns the number of links in each.
func (ns *Namespace) checkLinesOf(h *subqueue, lines *linkLines, s *selectorIndex) (there [lineKinds]int, err error) {
	for k := range lines {
		line, before := &lines[k], (*link)(nil)
		for l := line.first; l != nil; before, l = l, l.positions[k].next {
			if !l.positions[k].in || l.positions[k].prev != before || ns.links[l.ID] != l || l.subqueue != h {
				return there, invariantError(h.path, "link %d of %q is in line %d", l.ID, l.subqueue.path, k)
			}
			if lineKind(k) == waitingLinks && (l.index != s || before != nil && before.waitTurn >= l.waitTurn) {
				return there, invariantError(h.path, "link %d stands in the line of another selector, or before its turn", l.ID)
			}
			there[k]++
		}
		if line.last != before || line.n != there[k] {
			return there, invariantError(h.path, "line %d counts %d links, there are %d", k, line.n, there[k])
		}
	}
	return there, nil
}

// checkServing returns an error if the selector indexes at h do not agree with its links and messages,
// or if a link with credit may get a message but h does not need a match.
func (ns *Namespace) checkServing(h *subqueue) error {
	links := map[string]int{}
	for l := range h.links.all(attachedLinks) {
		if l.index != nil {
			links[l.index.Text]++
		}
		if s := l.index; (s != nil) != (l.Selector != nil && l.Mode != PeekOnly) || s != nil && h.selectors[s.Text] != s {
			return invariantError(h.path, "link %d does not have the index of its selector", l.ID)
		}
		if (h.sessions == nil || l.Mode == PeekOnly) && l.credit > 0 && ns.canServe(l) && !h.needsMatch {
			return invariantError(h.path, "there may be messages for link %d, which has credit, and nothing will bring them together", l.ID)
		}
	}
	if len(links) != len(h.selectors) {
		return invariantError(h.path, "%d selectors are known, %d links have one", len(h.selectors), len(links))
	}
	for text, s := range h.selectors {
		if s.links != links[text] {
			return invariantError(h.path, "selector %q counts %d links, there are %d", text, s.links, links[text])
		}
		if err := checkIndex(h, s); err != nil {
			return err
		}
	}
	return nil
}

// checkIndex compares a selector's index with the messages of h.
func checkIndex(h *subqueue, s *selectorIndex) error {
	matched, changed := 0, 0
	for m := range h.order.from(0) {
		switch {
		case !m.ready():
		case s.matched.at(m.Seq) == m && s.changed.at(m.Seq) == nil && s.selects(candidate(m)):
			matched++
		case m.Seq >= s.next:
		case s.changed.at(m.Seq) == m && s.matched.at(m.Seq) == nil:
			changed++
		case s.selects(candidate(m)):
			return invariantError(h.path, "selector %q does not know of #%d", s.Text, m.Seq)
		}
	}
	if s.matched.len() != matched || s.matched.ready() != matched || s.changed.len() != changed || s.changed.ready() != changed {
		return invariantError(h.path, "selector %q counts %d messages and %d that changed, there are %d and %d", s.Text, s.matched.len(), s.changed.len(), matched, changed)
	}
	return nil
}

// checkSessions checks that sessions are a function of the messages in their subqueue, their locks
// and their states; a session with none of these does not exist. The last message locked in a
// session has the session lock's deadline.
func (ns *Namespace) checkSessions(h *subqueue) error {
	if (h.sessions != nil) != (h.entity.requiresSession() && !h.dead) {
		return invariantError(h.path, "there are sessions: %v", h.sessions != nil)
	}
	if h.sessions == nil {
		return nil
	}
	want := map[string]*session{}
	for m := range h.order.from(0) {
		id := m.sessionID()
		s := want[id]
		if s == nil {
			s = &session{id: id, lock: &sessionLock{}}
			want[id] = s
		}
		s.order.put(m)
		s.order.setReady(m.Seq, m.ready())
		s.count(m, classOf(m.Message), 1)
	}
	states := 0
	for id, s := range h.sessions.byID {
		w := want[id]
		if w == nil {
			w = &session{id: id, lock: &sessionLock{}}
		}
		delete(want, id)
		if err := s.verify(w); err != nil {
			return invariantError(h.path, "session %q: %v", id, err)
		}
		if s.state != nil {
			states++
		}
	}
	for id := range want {
		return invariantError(h.path, "there are messages of the session %q, which is not known", id)
	}
	if states != h.sessions.states {
		return invariantError(h.path, "%d sessions with state are counted, %d are there", h.sessions.states, states)
	}
	if err := h.sessions.verify(); err != nil {
		return invariantError(h.path, "%v", err)
	}
	return nil
}

// verify returns an error if s differs from w, which is computed from its messages.
func (s *session) verify(w *session) error {
	lock := s.lock
	if lock == nil {
		lock = &sessionLock{}
	}
	for _, o := range [...]struct{ have, want *order }{{&s.order, &w.order}, {&lock.locked, &w.lock.locked}} {
		if err := o.have.verify(); err != nil {
			return err
		}
		if o.have.len() != o.want.len() || o.have.ready() != o.want.ready() {
			return fmt.Errorf("%d messages, %d ready; there are %d and %d", o.have.len(), o.have.ready(), o.want.len(), o.want.ready())
		}
		for m := range o.want.from(0) {
			if o.have.at(m.Seq) != m {
				return fmt.Errorf("#%d is missing", m.Seq)
			}
		}
	}
	if m := lock.locked.last(); m != nil && m.LockedUntil != lock.until {
		return fmt.Errorf("#%d is locked until %d, the session until %d", m.Seq, m.LockedUntil, lock.until)
	}
	switch {
	case s.id != w.id || s.order.first() != w.order.first():
		return fmt.Errorf("it is %q, and another message is the first", s.id)
	case s.deferred != w.deferred || s.scheduled != w.scheduled:
		return fmt.Errorf("%d deferred and %d scheduled messages are counted, %d and %d are there", s.deferred, s.scheduled, w.deferred, w.scheduled)
	case s.empty():
		return fmt.Errorf("there is nothing to it")
	case (s.rank != 0) != (s.lock == nil && s.order.ready() > 0):
		return fmt.Errorf("its rank is %d, with %d ready", s.rank, s.order.ready())
	}
	return nil
}

// verify checks that available sessions are in line by rank, locked ones in a heap by the end of
// their lock, and all of them in id order.
func (ss *sessions) verify() error {
	var line int
	var before *session
	for s := ss.available.first; s != nil; before, s = s, s.next {
		if s.rank == 0 || s.rank > ss.ranks || ss.byID[s.id] != s || s.prev != before || before != nil && before.rank >= s.rank {
			return fmt.Errorf("session %q stands in line and is not available, or not in order", s.id)
		}
		line++
	}
	available := 0
	for _, s := range ss.byID {
		if s.rank != 0 {
			available++
		}
		if s.lock != nil && (s.lock.heapIndex >= len(ss.locked) || ss.locked[s.lock.heapIndex] != s) {
			return fmt.Errorf("session %q is locked, and not at its place", s.id)
		}
	}
	if line != available || line != ss.available.n || ss.available.last != before {
		return fmt.Errorf("%d sessions stand in line, %d are counted, %d are available", line, ss.available.n, available)
	}
	for i, s := range ss.locked {
		if s.lock == nil || ss.byID[s.id] != s || i > 0 && ss.locked[(i-1)/2].lock.until > s.lock.until {
			return fmt.Errorf("session %q at place %d is not locked, or not in order", s.id, i)
		}
	}
	n, last := 0, ""
	for i, c := range ss.sorted.chunks {
		if len(c) == 0 || len(c) > chunkSize {
			return fmt.Errorf("chunk %d of the roll has %d", i, len(c))
		}
		for _, s := range c {
			if ss.byID[s.id] != s || n > 0 && s.id <= last {
				return fmt.Errorf("session %q is out of order", s.id)
			}
			n, last = n+1, s.id
		}
	}
	if n != len(ss.byID) {
		return fmt.Errorf("%d sessions are in order, %d are known", n, len(ss.byID))
	}
	return nil
}

// checkSessionLinks checks that a session that is locked for a link is that link's session; a link
// that waits for a session is in line once; and where a link could get a session or a message, the
// subqueue needs a match and the session is in the line of sessions to serve.
func (ns *Namespace) checkSessionLinks(h *subqueue) error {
	ss := h.sessions
	waiting, impatient := 0, 0
	for l := range h.links.all(attachedLinks) {
		switch {
		case l.Mode == PeekOnly:
			if l.session != nil {
				return invariantError(h.path, "link %d only looks, and has the session %q", l.ID, l.session.id)
			}
		case l.session != nil && (l.took == nil || ss.byID[*l.took] != l.session || l.session.lock == nil || l.session.lock.link != l):
			return invariantError(h.path, "link %d has the session %q, which does not have it", l.ID, l.session.id)
		case l.session == nil && !l.awaitsSession():
			return invariantError(h.path, "link %d neither has a session nor waits for one", l.ID)
		case l.session == nil:
			waiting++
			impatient += l.noWaitCount()
			if !slices.Contains(ss.accepting, l) {
				return invariantError(h.path, "link %d waits for a session and is not in line", l.ID)
			}
		}
	}
	if !slices.IsSortedFunc(ss.accepting, func(a, b *link) int { return cmp.Compare(a.rank, b.rank) }) {
		return invariantError(h.path, "the links that wait for a session are not in order")
	}
	if waiting != len(ss.accepting) || impatient != ss.noWait {
		return invariantError(h.path, "%d links stand in line, %d of them will not wait; %d and %d should", len(ss.accepting), ss.noWait, waiting, impatient)
	}
	if waiting > 0 && (ss.available.first != nil || impatient > 0) && !h.needsMatch {
		return invariantError(h.path, "%d sessions are available, %d links wait, and nothing will bring them together", ss.available.n, waiting)
	}
	toServe := map[*session]bool{}
	for s, before := ss.toServe.first, (*session)(nil); s != nil; before, s = s, s.next {
		if s.lock == nil || !s.lock.toServe || ss.byID[s.id] != s || s.prev != before {
			return invariantError(h.path, "session %q is in the line of sessions to serve, and is not one", s.id)
		}
		toServe[s] = true
	}
	if len(toServe) != ss.toServe.n {
		return invariantError(h.path, "%d sessions are to be served, %d are counted", len(toServe), ss.toServe.n)
	}
	for _, s := range ss.locked {
		l := s.lock.link
		switch {
		case l != nil && (ns.links[l.ID] != l || l.session != s):
			return invariantError(h.path, "session %q has a link that does not have it", s.id)
		case s.lock.toServe != toServe[s]:
			return invariantError(h.path, "session %q is to be served and not in line", s.id)
		case ns.canServeSession(s) && (!s.lock.toServe || !h.needsMatch):
			return invariantError(h.path, "session %q has messages, its link credit, and nothing will bring them together", s.id)
		}
	}
	return nil
}
