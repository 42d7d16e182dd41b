package engine

import (
	"fmt"
	"slices"
)

// INVARIANT: an entity remembers ids exactly if it detects duplicates, each at
// an instant of its generation; the generations are in order and none is empty;
// what the store has not heard of is remembered, and waits for it.
func (ns *Namespace) checkSeen() error {
	waiting := map[*entity]bool{}
	for _, e := range ns.changes.seen {
		if !e.seen.dirty || waiting[e] {
			return broken(e.Path, "what it has seen waits for the store twice, or is not dirty")
		}
		waiting[e] = true
	}
	for _, e := range ns.entities {
		s := e.seen
		switch wanted := e.Config.RequiresDuplicateDetection && e.Kind != Subscription; {
		case wanted != (s != nil):
			return broken(e.Path, "it detects duplicates: %v, and remembers: %v", wanted, s != nil)
		case s == nil:
			continue
		case s.dirty != waiting[e], !s.dirty && len(s.fresh) > 0, !s.dirty && s.dropped != 0:
			return broken(e.Path, "dirty is %v, waiting %v, with %d new and %d dropped", s.dirty, waiting[e], len(s.fresh), s.dropped)
		}
		if err := s.fault(); err != nil {
			return broken(e.Path, "%v", err)
		}
	}
	return nil
}

func (s *sightings) fault() error {
	var before generation
	for i, g := range s.generations {
		if len(g.after) == 0 || g.from > g.newest || g.newest < before.newest || g.through <= before.through {
			return fmt.Errorf("generation %d has %d ids from %d to %d, up to number %d; the one before ends at %d with %d", i, len(g.after), g.from, g.newest, g.through, before.newest, before.through)
		}
		latest := g.from
		for _, after := range g.after {
			latest = max(latest, g.from+Instant(after))
		}
		if latest != g.newest {
			return fmt.Errorf("the newest id of generation %d is of %d, not %d", i, latest, g.newest)
		}
		before = *g
	}
	last := uint64(0)
	for _, r := range s.fresh {
		if r.N <= last {
			return fmt.Errorf("what was seen has number %d after %d", r.N, last)
		}
		last = r.N
		if len(r.Digests) == 0 && r.At > s.floor {
			return fmt.Errorf("all of %d is forgotten, not only of %d", r.At, s.floor)
		}
		for _, d := range r.Digests {
			if r.N > s.dropped && !slices.ContainsFunc(s.generations, func(g *generation) bool {
				after, ok := g.after[d]
				return ok && g.from+Instant(after) >= r.At
			}) {
				return fmt.Errorf("an id of %d waits for the store and is not remembered", r.At)
			}
		}
	}
	return nil
}
