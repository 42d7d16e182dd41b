package show

import (
	"slices"

	"mayfly/engine"
)

// graveyard is how many graves are kept of what deleted itself, and as many of
// what was deleted.
const graveyard = 100

// A churchyard keeps the events with which entities went that are no more,
// oldest first. Not safe for concurrent use.
type churchyard struct{ graves []engine.PastEvent }

// bury adds a grave, by kind separately, so that a storm of deletions by hand
// does not make room among what deleted itself. A subscription that went with
// its topic lies in the topic's grave.
func (c *churchyard) bury(e engine.PastEvent) {
	if c.wentWithTopic(e.Event) {
		return
	}
	kept := 0
	for _, g := range c.graves {
		if g.Kind == e.Kind {
			kept++
		}
	}
	if kept >= graveyard {
		oldest := slices.IndexFunc(c.graves, func(g engine.PastEvent) bool { return g.Kind == e.Kind })
		c.graves = slices.Delete(c.graves, oldest, oldest+1)
	}
	c.graves = append(c.graves, e)
}

// older puts graves before those there are, as far as there is room.
func (c *churchyard) older(all []engine.PastEvent) {
	later := c.graves
	c.graves = nil
	for _, g := range all {
		c.bury(g)
	}
	for _, g := range later {
		c.bury(g)
	}
}

func (c *churchyard) wentWithTopic(e engine.Event) bool {
	topic, _, ok := e.Path.Subscription()
	return ok && slices.ContainsFunc(c.graves, func(g engine.PastEvent) bool {
		return g.At == e.At && g.Path.Fold() == engine.Path(topic).Fold()
	})
}

// open takes away the graves of what exists again.
func (c *churchyard) open(exists func(engine.PastEvent) bool) {
	c.graves = slices.DeleteFunc(c.graves, exists)
}

// deletedItself are the entities that did, latest first.
func (c *churchyard) deletedItself() (out []engine.PastEvent) {
	for _, g := range slices.Backward(c.graves) {
		if g.Kind == engine.EventEntityAutoDeleted {
			out = append(out, g)
		}
	}
	return out
}

// of is the event with which an entity went.
func (c *churchyard) of(p engine.Path) (engine.PastEvent, bool) {
	for _, g := range slices.Backward(c.graves) {
		if found, ok := liesIn(p, g); ok {
			return found, true
		}
	}
	return engine.PastEvent{}, false
}

// liesIn is a grave as that of p, which lies there itself or with its topic.
func liesIn(p engine.Path, g engine.PastEvent) (engine.PastEvent, bool) {
	if g.Path.Fold() == p.Fold() {
		return g, true
	}
	for _, sub := range g.Subs {
		if sub.Path.Fold() == p.Fold() {
			e := engine.Event{N: g.N, Kind: g.Kind, At: g.At, Path: sub.Path, Actor: g.Actor, Entity: &sub}
			return engine.PastEvent{Epoch: g.Epoch, Event: e}, true
		}
	}
	return engine.PastEvent{}, false
}

// deletedItself are the entities that did and have not come back, latest first,
// at most a hundred.
func (r *Recent) deletedItself() []engine.PastEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.yard.deletedItself()
}

// grave is the event with which an entity went that is no more.
func (r *Recent) grave(p engine.Path) (engine.PastEvent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.yard.of(p)
}

// Tombstone is the event, by the epoch and number in its address, with which an
// entity deleted itself; give it to the broker's Restore.
func (p *Pages) Tombstone(epoch, n uint64) (engine.Event, bool) {
	for _, g := range p.recent.deletedItself() {
		if g.Epoch == epoch && g.N == n {
			return g.Event, true
		}
	}
	return engine.Event{}, false
}
