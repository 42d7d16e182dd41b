package engine

// A sessionWatch notes when watched sessions get something to receive. Receivers whose
// session's lock has expired watch that session: see [Namespace.WatchSession]. The zero
// value watches nothing. A nil *sessionWatch ignores all calls.
type sessionWatch struct {
	watched map[watchedSession]bool
	changed []watchedSession // since the last call of WatchedSessionsAvailable
}

type watchedSession struct {
	path Path
	id   string
}

// note records that a session of h changed.
func (w *sessionWatch) note(h *subqueue, id string) {
	if w == nil || len(w.watched) == 0 {
		return
	}
	if at := (watchedSession{h.path, id}); w.watched[at] {
		w.changed = append(w.changed, at)
	}
}

// noteAll records that all sessions of h changed.
func (w *sessionWatch) noteAll(h *subqueue) {
	for at := range w.watched {
		if at.path == h.path {
			w.changed = append(w.changed, at)
		}
	}
}

// WatchSession makes WatchedSessionsAvailable report a session as soon as a message of it can be received
// while no receiver holds it, or when its entity is deleted or rejects receivers (SES-20).
// Messages that are ready when the watch begins are not reported: the caller checks the
// session itself. p is written as in [SessionAccepted].
func (ns *Namespace) WatchSession(p Path, id string) {
	if ns.watch.watched == nil {
		ns.watch.watched = map[watchedSession]bool{}
	}
	at := watchedSession{p, id}
	ns.watch.watched[at] = true
	if _, err := ns.attachTo(p); err != nil {
		ns.watch.changed = append(ns.watch.changed, at)
	}
}

// UnwatchSession ends what WatchSession began.
func (ns *Namespace) UnwatchSession(p Path, id string) {
	delete(ns.watch.watched, watchedSession{p, id})
}

// WatchedSessionsAvailable returns the watched sessions that got something to receive since the last call,
// or whose entity was deleted or rejects receivers. A session may be listed twice. A session
// whose first ready message has expired is returned once that has been removed and another
// message can be received.
func (ns *Namespace) WatchedSessionsAvailable(now Instant) (all []SessionAccepted) {
	for _, at := range ns.watch.changed {
		if !ns.watch.watched[at] {
			continue
		}
		if is, err := ns.SessionAvailable(now, at.path, at.id); is || err != nil {
			all = append(all, SessionAccepted{Path: at.path, ID: at.id})
		}
	}
	ns.watch.changed = nil
	return all
}

// SessionAvailable reports whether a session has a message that its next receiver would get,
// as far as its first ready message tells. It returns an error if the session's entity was
// deleted or rejects receivers. It has no effect.
func (ns *Namespace) SessionAvailable(now Instant, p Path, id string) (bool, error) {
	h, err := ns.attachTo(p)
	if err != nil {
		return false, err
	}
	if h.sessions == nil {
		return true, nil // there is nothing to wait for
	}
	s := h.sessions.byID[id]
	return s != nil && s.rank != 0 && Judge(h.terms, h.withSessionLock(s.order.first()), now) == Keep, nil
}
