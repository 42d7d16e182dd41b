package broker_test

import (
	"context"
	"slices"
	"strconv"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A sight is a message that a reader saw, and a seen is a session that it saw.
type (
	sight struct {
		seq      engine.Seq
		id       int
		session  string
		spot     spot
		deferred bool
		count    uint32
		locked   bool
	}
	seen struct {
		id             string
		held, attached bool
		state          string
	}
)

// look reads everything in a queue and its dead-letter queue at one moment.
func (c *client) look(ctx context.Context, at *desk) answer {
	d := c.operation(looking, at)
	err := c.Read(ctx, func(r broker.Reader) error {
		d.sights, d.seen = nil, nil
		for _, s := range []spot{inQueue, inDead} {
			rows, err := r.Browse(engine.Browse{Path: at.at(s), Limit: mostOperations})
			if err != nil {
				return err
			}
			for _, row := range rows {
				d.sights = append(d.sights, c.sight(row, s))
			}
		}
		return c.seeSessions(r, at, d)
	})
	return c.ends(d, err)
}

func (c *client) sight(r engine.Row, s spot) sight {
	content, err := r.Content.Content()
	if err != nil {
		c.Error(err)
	}
	id, err := strconv.Atoi(content.MessageID)
	if err != nil {
		c.Error(err)
	}
	m := r.Message
	return sight{m.Seq, id, content.SessionID, s, m.State == engine.Deferred, m.DeliveryCount, m.Locked()}
}

// seeSessions adds the state of sessions to d, a look.
func (c *client) seeSessions(r broker.Reader, at *desk, d *operation) error {
	if !at.sessions {
		return nil
	}
	rows, err := r.SessionRows(at.path, "", mostOperations)
	if err != nil {
		return err
	}
	for _, row := range rows {
		s := seen{id: row.ID, held: row.LockedUntil != 0, attached: row.Attached}
		state, set, err := r.SessionStateAt(at.path, row.ID)
		if err != nil {
			return err
		}
		if set {
			s.state = "=" + state
		}
		d.seen = append(d.seen, s)
	}
	return nil
}

// look compares v with everything that a reader saw at one moment.
func (v *version) look(d *operation) bool {
	seen := 0
	ok := v.each(func(l *letter) bool {
		for _, s := range d.sights {
			if s.seq == l.seq {
				seen++
				return s.id == l.id && s.session == l.session && l.where(func(f fate) bool {
					return f.spot == s.spot && f.deferred == s.deferred && f.count == s.count && f.locked() == s.locked
				})
			}
		}
		return l.where(func(f fate) bool { return f.spot == gone })
	})
	return ok && seen == len(d.sights) && v.lookSessions(d)
}

// lookSessions compares v with the sessions that a reader saw.
func (v *version) lookSessions(d *operation) bool {
	ids := v.ids()
	for _, s := range d.seen {
		ids = append(ids, s.id)
	}
	for _, id := range ids {
		saw := seen{id: id, state: unset}
		if at := slices.IndexFunc(d.seen, func(s seen) bool { return s.id == id }); at >= 0 {
			saw = d.seen[at]
		}
		s := v.session(id)
		ok := s.held(func(h int) bool { return saw.held == (h != nobody) && saw.attached == (h > 0) })
		if !ok || !slices.Contains(s.states, saw.state) {
			return false
		}
		s.states = []string{saw.state}
	}
	return true
}
