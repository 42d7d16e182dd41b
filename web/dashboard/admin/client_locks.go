package admin

import (
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/page/admin"
	"mayfly/web/connections"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// maxClientLocks is how many locked messages the page of a client lists.
const maxClientLocks = 50

// A clientSnapshot is the broker's state that a client's page needs.
type clientSnapshot struct {
	entities map[engine.Path]engine.EntityState // entities where the client has links or locks
	sessions map[sessionRef]engine.SessionRow   // sessions that the client has locked
	locked   []engine.Row
	complete bool // locked has all messages that the client has locked
}

// A sessionRef identifies a session.
type sessionRef struct {
	path engine.Path
	id   string
}

// readClient reads the locks of a client and the entities of its links.
func readClient(r broker.Reader, c connections.Connection) clientSnapshot {
	v := clientSnapshot{entities: map[engine.Path]engine.EntityState{}, sessions: map[sessionRef]engine.SessionRow{}, complete: true}
	if c.Client != "" {
		v.locked, v.complete = r.LockedBy(c.LockedQuery(r.SubqueuesWith(engine.ClassLocked), maxClientLocks))
	}
	note := func(p engine.Path) {
		if _, ok := v.entities[p.Entity()]; ok {
			return
		}
		if e, err := r.State(p.Entity()); err == nil {
			v.entities[p.Entity()] = e
		}
	}
	for _, l := range c.Links {
		note(l.Path)
		if !l.HoldsSession {
			continue
		}
		if row, ok, err := r.SessionRow(l.Path, l.Session); err == nil && ok {
			v.sessions[sessionRef{l.Path, l.Session}] = row
		}
	}
	for _, row := range v.locked {
		note(row.Path)
	}
	return v
}

// fillLocks adds the messages that the client has locked.
func fillLocks(p *pages.Pages, m *admin.Connection, v clientSnapshot, now engine.Instant) {
	m.MoreLocked = !v.complete
	for _, row := range v.locked {
		e := v.entities[row.Path.Entity()]
		m.Locked = append(m.Locked, admin.LockedRow{
			Key: pages.KeyText(row.Message.Key), Href: p.MessageURL(row.Message.Key), Number: int64(row.Message.Seq),
			What: recent.ShortName(row.Content, row.Message.Seq), Hold: pages.MessageLock(row, now, e.Config.LockTime()), Now: now.Time(),
			Entity: page.LinkTarget{Name: shorten.To(pages.DisplayPath(row.Path), 200), Href: p.EntityURL(e.Kind, row.Path)},
		})
	}
}

// SessionLock returns the lock of a session for display.
func SessionLock(row engine.SessionRow, e engine.EntityState, now engine.Instant) component.LockInfo {
	return pages.LockState(row.Lock, row.LockedUntil, now, e.Config.LockTime())
}
