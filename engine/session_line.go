package engine

import (
	"cmp"
	"slices"
)

// This file is who is next: available sessions stand in line by their ranks. A
// session that becomes available gets the next rank; one that has lost its rank
// by a step that is undone gets that one back, so that the line is as it was.

// sessionLine is sessions in the order of their ranks.
type sessionLine struct {
	first, last *session
	n           int
}

// insert puts s before another one; nil: at the end.
func (q *sessionLine) insert(s, before *session) {
	s.next, s.prev = before, q.last
	if before != nil {
		s.prev = before.prev
		before.prev = s
	} else {
		q.last = s
	}
	if s.prev == nil {
		q.first = s
	} else {
		s.prev.next = s
	}
	q.n++
}

func (q *sessionLine) remove(s *session) {
	if s.prev == nil {
		q.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		q.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	q.n--
}

// merge puts sessions in whose ranks are lower than those of most: one walk
// along the line, up to the last of them.
func (q *sessionLine) merge(all []*session) {
	slices.SortFunc(all, byRank)
	at := q.first
	for _, s := range all {
		for at != nil && at.rank < s.rank {
			at = at.next
		}
		q.insert(s, at)
	}
}

func byRank(a, b *session) int { return cmp.Compare(a.rank, b.rank) }

// line has the available sessions be in the order of their first ready messages,
// after a load.
func (ss *sessions) line() {
	var all []*session
	for s := ss.free.first; s != nil; s = s.next {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(a.order.first().Seq, b.order.first().Seq) })
	ss.free = sessionLine{}
	for _, s := range all {
		s.rank = ss.nextRank()
		ss.free.insert(s, nil)
	}
}

// A standing is the rank that a session had before a step changed it.
type standing struct {
	id   string
	rank int64
}

// standing is where the session of m is in the line of h.
func (h *holder) standing(m *message) standing {
	if h.sessions == nil {
		return standing{}
	}
	return h.sessions.standing(m.sessionID())
}

func (ss *sessions) standing(id string) (at standing) {
	if s := ss.byID[id]; s != nil && s.rank != 0 {
		at = standing{s.id, s.rank}
	}
	return at
}

// stood notes that a session had another place in line before this step.
func (ns *Namespace) stood(h *holder, before standing) {
	if before.rank != 0 && h.sessions.standing(before.id) != before {
		ns.changes.note(undo{kind: undoRank, h: h, stood: before})
	}
}

// ranks are those that sessions had at a savepoint, for undoTo.
type ranks map[*sessions]map[string]int64

// had is told of standings backwards: the earliest counts.
func (r *ranks) had(ss *sessions, before standing) {
	if *r == nil {
		*r = ranks{}
	}
	if (*r)[ss] == nil {
		(*r)[ss] = map[string]int64{}
	}
	(*r)[ss][before.id] = before.rank
}

// restore gives them their ranks back.
func (r ranks) restore() {
	for ss, ranks := range r {
		var all []*session
		for id, rank := range ranks {
			if s := ss.byID[id]; s != nil && s.rank != 0 {
				ss.free.remove(s)
				s.rank = rank
				all = append(all, s)
			}
		}
		ss.free.merge(all)
	}
}
