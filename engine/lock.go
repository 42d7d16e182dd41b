package engine

// A Lock is what is known of a lock beside its end: for people. It is in memory
// only, so of one that began in a former process nothing is known but what
// happened since (DEC-12).
type Lock struct {
	By        string  // who holds it; empty: not known
	Since     Instant // when it began; zero: in a former process
	RenewedAt Instant // when it was renewed last; zero: never
	Renewals  int     // how often it was renewed, in a session with the session (SES-5)
}

// renewed is l after one more renewal.
func (l Lock) renewed(now Instant) Lock {
	l.Renewals, l.RenewedAt = l.Renewals+1, now
	return l
}

// lock is what is known of m's lock; the zero Lock if there is none. In a session
// those of its renewals count that came after m was taken: what h.locks has of m
// is how many there had been by then.
func (h *holder) lock(m *message) Lock {
	if !m.Locked() {
		return Lock{}
	}
	l := h.locks[m.Key]
	if h.sessions == nil {
		return l
	}
	if s := h.sessions.byID[m.sessionID()]; s != nil && s.lock != nil {
		if l.Renewals = s.lock.Renewals - l.Renewals; l.Renewals > 0 {
			l.RenewedAt = s.lock.RenewedAt
		}
	}
	return l
}

// A Holding asks what one client has locked.
type Holding struct {
	Client string
	Paths  []Path // the places to look at, in this order; others are looked over
	Limit  int    // how many messages at most
	Look   int    // the most locked messages to look at, whoever has them
}

// Holding lists the messages that a client has locked, by place and number; all
// is false if there may be more. What nobody has noticed to be over is none of it.
func (ns *Namespace) Holding(now Instant, q Holding) (rows []Row, all bool) {
	looked := 0
	for _, p := range q.Paths {
		h, err := ns.holder(p)
		if err != nil {
			continue // it has gone
		}
		for m := range h.apart[classLocked].from(1) {
			if len(rows) == q.Limit || looked == q.Look {
				return rows, false
			}
			looked++
			if h.locks[m.Key].By == q.Client && !h.present(m).LockedUntil.Passed(now) {
				rows = append(rows, ns.row(h, m))
			}
		}
	}
	return rows, true
}

// begun notes who took m, which is locked now.
func (h *holder) begun(now Instant, m *message, client string) {
	l := Lock{By: client, Since: now}
	if h.sessions != nil {
		l.Renewals = h.sessions.byID[m.sessionID()].lock.Renewals
	}
	h.know(m.Key, l)
}

// know has l be what is known of a lock.
func (h *holder) know(k Key, l Lock) {
	if h.locks == nil {
		h.locks = map[Key]Lock{}
	}
	h.locks[k] = l
}
