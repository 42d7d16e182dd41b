package show

import (
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page"
	"mayfly/web/peers"
)

// heldShown is how many of the messages that a client has locked its page lists.
const heldShown = 50

// A clientSight is what the page of a client sees of the broker.
type clientSight struct {
	at        map[engine.Path]engine.EntityState // entities where it has links or locks
	umbrellas map[umbrella]engine.SessionRow     // the sessions that it holds
	held      []engine.Row
	all       bool // held are all
}

// An umbrella names a session.
type umbrella struct {
	path engine.Path
	id   string
}

// seeClient takes what a client has locked as it is.
func seeClient(r broker.Reader, c peers.Connection) clientSight {
	v := clientSight{at: map[engine.Path]engine.EntityState{}, umbrellas: map[umbrella]engine.SessionRow{}, all: true}
	if c.Client != "" {
		v.held, v.all = r.Holding(c.Holding(r.Rooms(engine.ClassLocked), heldShown))
	}
	note := func(p engine.Path) {
		if _, ok := v.at[p.Entity()]; ok {
			return
		}
		if e, err := r.State(p.Entity()); err == nil {
			v.at[p.Entity()] = e
		}
	}
	for _, l := range c.Links {
		note(l.Path)
		if !l.Holds {
			continue
		}
		if row, ok, err := r.SessionRow(l.Path, l.Session); err == nil && ok {
			v.umbrellas[umbrella{l.Path, l.Session}] = row
		}
	}
	for _, row := range v.held {
		note(row.Path)
	}
	return v
}

// fillHeld adds the messages that the client has locked.
func (p *Pages) fillHeld(m *page.Connection, v clientSight, now engine.Instant) {
	m.HeldMore = !v.all
	for _, row := range v.held {
		e := v.at[row.Path.Entity()]
		m.Held = append(m.Held, page.HeldRow{
			Key: keyText(row.Message.Key), Href: p.MessageURL(row.Message.Key), Number: int64(row.Message.Seq),
			What: calledBriefly(row.Content, row.Message.Seq), Hold: hold(row, now, e.Config.LockFor()), Now: now.Time(),
			Place: page.LinkPlace{Name: cut(Shown(row.Path), 200), Href: p.EntityURL(e.Kind, row.Path)},
		})
	}
}
