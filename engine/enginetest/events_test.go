package enginetest

import "mayfly/engine"

// listen tracks the position of every message by events alone, as a live page does, and
// compares it with the model's.
func (x *walk) listen(events []engine.Event) {
	purged := map[string]int64{}
	for _, e := range events {
		path := lower(string(e.Path))
		switch e.Kind {
		case engine.EventEntityCreated:
			x.topics[path] = e.Entity.Kind == engine.Topic
		case engine.EventEntityUpdated, engine.EventRuleAdded, engine.EventRuleRemoved, engine.EventTouched, engine.EventUnmatched, engine.EventDuplicate:
		case engine.EventEntityDeleted, engine.EventEntityAutoDeleted:
			for k, at := range x.positions {
				if at == path || at == path+dlq {
					delete(x.positions, k)
				}
			}
		case engine.EventPurged: // the event has a count, but no keys
			purged[path] += e.Count
		default:
			x.hear(e, path)
		}
	}
	for k, at := range x.positions {
		if x.alive[uint64(k)] == nil && purged[at] > 0 {
			purged[at]--
			delete(x.positions, k)
		}
	}
	for _, m := range x.w.messages {
		if at, ok := x.positions[engine.Key(m.key)]; !ok || at != lower(m.path()) {
			x.failf("by events, %s #%d is at %q", m.path(), m.seq, at)
		}
	}
	if len(x.positions) != len(x.w.messages) {
		x.failf("by events there are %d messages: %v", len(x.positions), x.positions)
	}
}

// hear applies the event of one message to the positions.
func (x *walk) hear(e engine.Event, path string) {
	k := e.Message.Key
	before, known := x.positions[k]
	if isNew := e.Kind == engine.EventSent || e.Kind == engine.EventScheduled && e.Reason != "rescheduled"; isNew == known || known && before != path {
		x.failf("%v of %s #%d, which was at %q", e.Kind, path, e.Message.Seq, before)
	}
	to := lower(string(e.To))
	switch e.Kind {
	case engine.EventSent, engine.EventScheduled:
		x.positions[k] = path
	case engine.EventCompleted, engine.EventReceived, engine.EventExpired, engine.EventDeleted, engine.EventCancelled:
		delete(x.positions, k)
	case engine.EventDeadLettered, engine.EventMoved:
		if x.positions[k] = to; x.topics[to] { // the topic distributed copies
			delete(x.positions, k)
		}
	case engine.EventActivated:
		if x.topics[path] {
			delete(x.positions, k)
		}
	}
}

// resetPositions sets the positions from the model after steps whose events were lost.
func (x *walk) resetPositions() {
	clear(x.positions)
	for _, m := range x.w.messages {
		x.positions[engine.Key(m.key)] = lower(m.path())
	}
	clear(x.topics)
	for _, e := range x.w.entities {
		x.topics[lower(e.path)] = e.kind == 't'
	}
}
