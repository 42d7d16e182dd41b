package mongo

import "mayfly/engine"

// This file loads session states and the MessageIds of duplicate detection.

func (l *loader) sessions() error {
	if err := l.from.each(sessions, func(d docHead, r engine.Record) error {
		v, ok := r.(engine.SessionRecord)
		if _, changed := l.w.sessions[sessionID(v)]; !ok || changed {
			return nil
		}
		l.addUnclaimed(v.Subqueue, d.v)
		return l.emit(v, l.claimed[v.Subqueue])
	}); err != nil {
		return err
	}
	for id, c := range l.w.sessions {
		if err := l.emit(c.s, !c.gone && l.claimed[id.Subqueue]); err != nil {
			return err
		}
	}
	return nil
}

// addUnclaimed adds a subqueue to the garbage if no entity will ever claim it.
func (l *loader) addUnclaimed(h engine.SubqueueID, v version) {
	if l.isUnclaimed(h, v) {
		addToSet(&l.garbage.unclaimed, h)
	}
}

func addToSet(in *map[engine.SubqueueID]bool, h engine.SubqueueID) {
	if *in == nil {
		*in = map[engine.SubqueueID]bool{}
	}
	(*in)[h] = true
}

// seen yields the remembered MessageIds in the order of commits, which is that of their
// numbers. It merges the documents with those of the window: it yields rows in both once, and
// skips those committed after the window's end.
func (l *loader) seen() error {
	gone := map[engine.SubqueueID]seenDrops{}
	if err := l.from.forgotten(func(d seenDropsDoc) error {
		h := engine.SubqueueID(d.Holder)
		gone[h] = d.seenDrops()
		l.addUnclaimed(h, d.Head.V)
		return nil
	}); err != nil {
		return err
	}
	rows := map[engine.SubqueueID][]seenRow{} // of the window, not yet yielded
	for h, c := range l.w.seen {
		rows[h] = c.added
		for _, d := range c.drops {
			gone[h] = gone[h].with(d)
		}
	}
	// before yields the window's rows of an entity up to and including the row of the document
	// with the version `at` and the number n. It reports whether the window had that row.
	before := func(h engine.SubqueueID, at version, n uint64) (met bool, err error) {
		for len(rows[h]) > 0 && !met {
			r := rows[h][0]
			if r.at > at || r.at == at && r.v.N > n {
				break
			}
			rows[h], met = rows[h][1:], r.at == at && r.v.N == n
			if err := l.emit(r.v, l.claimed[h]); err != nil {
				return met, err
			}
		}
		return met, nil
	}
	if err := l.from.each(seen, func(d docHead, rec engine.Record) error {
		v, ok := rec.(engine.SeenIDs)
		if !ok {
			return nil
		}
		_, at, n, err := parseSeenID(d.id)
		if err != nil {
			return err
		}
		l.addUnclaimed(v.Subqueue, at)
		if gone[v.Subqueue].covers(at, n) {
			addToSet(&l.garbage.seen, v.Subqueue)
			return nil
		}
		if l.last != 0 && at > l.last {
			return nil
		}
		met, err := before(v.Subqueue, at, n)
		if err != nil || met {
			return err
		}
		return l.emit(v, l.claimed[v.Subqueue])
	}); err != nil {
		return err
	}
	for h, left := range rows {
		for _, r := range left {
			if err := l.emit(r.v, l.claimed[h]); err != nil {
				return err
			}
		}
	}
	return nil
}
