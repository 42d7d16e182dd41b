package mongo

import "mayfly/engine"

// This file loads what a namespace remembers beside its messages: the state of
// sessions, and what was seen.

func (l *loader) sessions() error {
	if err := l.from.each(sessions, func(d docHead, r engine.Record) error {
		v, ok := r.(engine.Session)
		if _, changed := l.w.sessions[sessionID(v)]; !ok || changed {
			return nil
		}
		l.forsake(v.Holder, d.v)
		return l.say(v, l.claimed[v.Holder])
	}); err != nil {
		return err
	}
	for id, c := range l.w.sessions {
		if err := l.say(c.s, !c.gone && l.claimed[id.Holder]); err != nil {
			return err
		}
	}
	return nil
}

// forsake notes a holder that nobody will ever claim.
func (l *loader) forsake(h engine.HolderID, v version) {
	if l.forsaken(h, v) {
		note(&l.found.holders, h)
	}
}

func note(in *map[engine.HolderID]bool, h engine.HolderID) {
	if *in == nil {
		*in = map[engine.HolderID]bool{}
	}
	(*in)[h] = true
}

// seen yields what was seen in the order of commits, which is that of its
// numbers: documents and what the window has are merged. What is in both is there
// once, and what came after the window's end is not.
func (l *loader) seen() error {
	gone := map[engine.HolderID]forgettings{}
	if err := l.from.forgotten(func(d forgottenDoc) error {
		h := engine.HolderID(d.Holder)
		gone[h] = d.forgettings()
		l.forsake(h, d.Head.V)
		return nil
	}); err != nil {
		return err
	}
	rows := map[engine.HolderID][]seenRow{} // of the window, not yielded yet
	for h, c := range l.w.seen {
		rows[h] = c.rows
		for _, d := range c.drops {
			gone[h] = gone[h].and(d)
		}
	}
	// before yields the rows of a holder up to a document, that one too.
	before := func(h engine.HolderID, at version, n uint64) (met bool, err error) {
		for len(rows[h]) > 0 && !met {
			r := rows[h][0]
			if r.at > at || r.at == at && r.v.N > n {
				break
			}
			rows[h], met = rows[h][1:], r.at == at && r.v.N == n
			if err := l.say(r.v, l.claimed[h]); err != nil {
				return met, err
			}
		}
		return met, nil
	}
	if err := l.from.each(seen, func(d docHead, rec engine.Record) error {
		v, ok := rec.(engine.Seen)
		if !ok {
			return nil
		}
		_, at, n, err := seenIn(d.id)
		if err != nil {
			return err
		}
		l.forsake(v.Holder, at)
		if gone[v.Holder].cover(at, n) {
			note(&l.found.outdated, v.Holder)
			return nil
		}
		if l.last != 0 && at > l.last {
			return nil
		}
		met, err := before(v.Holder, at, n)
		if err != nil || met {
			return err
		}
		return l.say(v, l.claimed[v.Holder])
	}); err != nil {
		return err
	}
	for h, left := range rows {
		for _, r := range left {
			if err := l.say(r.v, l.claimed[h]); err != nil {
				return err
			}
		}
	}
	return nil
}
