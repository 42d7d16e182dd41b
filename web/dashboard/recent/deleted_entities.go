package recent

import (
	"slices"

	"mayfly/engine"
)

// MaxDeletedEntities is how many automatic deletions of entities are kept, and how many deletions
// by request.
const MaxDeletedEntities = 100

// A deletedEntities keeps the events that deleted entities, oldest first. It is not safe for
// concurrent use.
type deletedEntities struct{ events []engine.HistoryEvent }

// add adds an event. The limit is per kind, so that many deletions by request do not displace
// automatic ones. A subscription deleted with its topic is covered by the topic's event.
func (c *deletedEntities) add(e engine.HistoryEvent) {
	if c.deletedWithTopic(e.Event) {
		return
	}
	kept := 0
	for _, g := range c.events {
		if g.Kind == e.Kind {
			kept++
		}
	}
	if kept >= MaxDeletedEntities {
		oldest := slices.IndexFunc(c.events, func(g engine.HistoryEvent) bool { return g.Kind == e.Kind })
		c.events = slices.Delete(c.events, oldest, oldest+1)
	}
	c.events = append(c.events, e)
}

// addOlder adds earlier events, as far as there is room.
func (c *deletedEntities) addOlder(all []engine.HistoryEvent) {
	later := c.events
	c.events = nil
	for _, g := range all {
		c.add(g)
	}
	for _, g := range later {
		c.add(g)
	}
}

func (c *deletedEntities) deletedWithTopic(e engine.Event) bool {
	topic, _, ok := e.Path.Subscription()
	return ok && slices.ContainsFunc(c.events, func(g engine.HistoryEvent) bool {
		return g.At == e.At && g.Path.Fold() == engine.Path(topic).Fold()
	})
}

// removeExisting removes the events of entities that exist again.
func (c *deletedEntities) removeExisting(exists func(engine.HistoryEvent) bool) {
	c.events = slices.DeleteFunc(c.events, exists)
}

// autoDeleted returns the automatic deletions, latest first.
func (c *deletedEntities) autoDeleted() (out []engine.HistoryEvent) {
	for _, g := range slices.Backward(c.events) {
		if g.Kind == engine.EventEntityAutoDeleted {
			out = append(out, g)
		}
	}
	return out
}

// of returns the event that deleted the entity p.
func (c *deletedEntities) of(p engine.Path) (engine.HistoryEvent, bool) {
	for _, g := range slices.Backward(c.events) {
		if found, ok := DeletionFor(p, g); ok {
			return found, true
		}
	}
	return engine.HistoryEvent{}, false
}

// DeletionFor returns g as the deletion of p, if g deleted p itself or its topic.
func DeletionFor(p engine.Path, g engine.HistoryEvent) (engine.HistoryEvent, bool) {
	if g.Path.Fold() == p.Fold() {
		return g, true
	}
	for _, sub := range g.Subscriptions {
		if sub.Path.Fold() == p.Fold() {
			e := engine.Event{N: g.N, Kind: g.Kind, At: g.At, Path: sub.Path, Actor: g.Actor, Entity: &sub}
			return engine.HistoryEvent{Epoch: g.Epoch, Event: e}, true
		}
	}
	return engine.HistoryEvent{}, false
}

// AutoDeleted returns the automatic deletions of entities that have not been created again,
// latest first, at most MaxDeletedEntities.
func (r *Events) AutoDeleted() []engine.HistoryEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deleted.autoDeleted()
}

// Deletion returns the event that deleted an entity.
func (r *Events) Deletion(p engine.Path) (engine.HistoryEvent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deleted.of(p)
}
