package engine

import (
	"fmt"
	"slices"
)

// INVARIANT: a link is at the place it names, in the lines it belongs to; links are
// counted at the root entity, those that wait at their entity and its topic; and a
// place with a ready message and a link with credit is hungry.
func (ns *Namespace) checkLinks() error {
	n := 0
	waits, attached := map[*entity]int{}, map[*entity]int{}
	for _, h := range ns.holders {
		if err := ns.checkLines(h); err != nil {
			return err
		}
		n += h.links[attachedLinks].n
		attached[h.entity.root()] += h.links[attachedLinks].n
		for e := h.entity; e != nil; e = e.topic {
			waits[e] += h.links[waitingLinks].n
		}
		if h.sessions != nil {
			if err := ns.checkSessionLinks(h); err != nil {
				return err
			}
		} else if h.links[waitingLinks].n > 0 && h.ready() > 0 && !h.hungry {
			return broken(h.path, "%d messages are ready, a link has credit, and nothing will bring them together", h.ready())
		}
		if h.hungry != slices.Contains(ns.hungry, h) {
			return broken(h.path, "hungry is %v", h.hungry)
		}
	}
	if n != len(ns.links) {
		return fmt.Errorf("%d links are known and %d are at a place", len(ns.links), n)
	}
	for _, e := range ns.entities {
		if e.credit != waits[e] || e.attached != attached[e] {
			return broken(e.Path, "%d links are counted, %d with credit; there are %d and %d", e.attached, e.credit, attached[e], waits[e])
		}
	}
	return nil
}

// checkLines compares the lines of h with what its links belong to.
func (ns *Namespace) checkLines(h *holder) error {
	var there [lineKinds]int
	for k := range h.links {
		line, before := &h.links[k], (*link)(nil)
		for l := line.first; l != nil; before, l = l, l.spots[k].next {
			if !l.spots[k].in || l.spots[k].prev != before || ns.links[l.ID] != l || l.holder != h {
				return broken(h.path, "link %d of %q is in line %d", l.ID, l.holder.path, k)
			}
			there[k]++
		}
		if line.last != before || line.n != there[k] {
			return broken(h.path, "line %d counts %d links, there are %d", k, line.n, there[k])
		}
	}
	var want [lineKinds]int
	for l := range h.links.all(attachedLinks) {
		for k, belongs := range [lineKinds]bool{true, l.credit > 0 || l.pending(), l.NoWait && h.sessions == nil} {
			if l.spots[k].in != belongs || l.credit < 0 {
				return broken(h.path, "link %d with credit %d is in line %d: %v", l.ID, l.credit, k, l.spots[k].in)
			}
			if belongs {
				want[k]++
			}
		}
	}
	if want != there {
		return broken(h.path, "%v links belong in its lines, there are %v", want, there)
	}
	return nil
}
