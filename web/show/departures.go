package show

import (
	"mayfly/engine"
	"mayfly/views/component"
)

// departure is a message on a board. It is never in a topic: what waits there
// is scheduled, and runs out only after.
func (p *Pages) departure(r engine.Row, now engine.Instant) component.Departure {
	return component.Departure{
		Key: keyText(r.Message.Key), Href: p.MessageURL(r.Message.Key),
		Clock: ttlClock(r, now), Subject: calledBriefly(r.Content, r.Message.Seq), ID: besideSubject(r.Content),
		Entity: Shown(r.Path), At: p.EntityURL(engine.Queue, r.Path), Fate: fate(r.Path, r.KeepsDead),
		Tries: int(r.Message.DeliveryCount), Max: int(r.Deliveries),
	}
}

// besideSubject is the message id, unless the message is called by it.
func besideSubject(c engine.Packed) string {
	if c.Subject() == "" {
		return ""
	}
	return cut(c.MessageID(), 80)
}

func (p *Pages) departures(rows []engine.Row, now engine.Instant) []component.Departure {
	out := make([]component.Departure, 0, len(rows))
	for _, r := range rows {
		out = append(out, p.departure(r, now))
	}
	return out
}
