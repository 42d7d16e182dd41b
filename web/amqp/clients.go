package amqp

import (
	"maps"
	"slices"
	"strings"
	"time"

	"mayfly/web/peers"
)

// clients are who is connected, and who was lately. Their zero value is nobody.
// They are guarded by the server's mutex.
//
// INVARIANT: byID and byName have the same connections.
type clients struct {
	byID   map[string]*conn
	byName map[string][]*conn // as locks and events name them; the latest last
	gone   []gone             // who left, the latest last
}

// gone is a client that is not connected any more.
type gone struct {
	name string
	was  peers.Client
}

// mostGone is how many clients are remembered that have gone: their locks
// outlive them.
const mostGone = 256

func (l *clients) len() int { return len(l.byID) }

// all are those who are connected, in no order.
func (l *clients) all() []*conn { return slices.Collect(maps.Values(l.byID)) }

// add has c, which has been introduced, be one of them.
func (l *clients) add(c *conn) {
	if l.byID == nil {
		l.byID, l.byName = map[string]*conn{}, map[string][]*conn{}
	}
	name := c.client()
	l.byID[c.id] = c
	l.byName[name] = append(l.byName[name], c)
}

// remove has c be one who was.
func (l *clients) remove(c *conn, now time.Time) {
	name := c.client()
	delete(l.byID, c.id)
	alike := l.byName[name]
	if alike = slices.DeleteFunc(alike, func(other *conn) bool { return other == c }); len(alike) > 0 {
		l.byName[name] = alike
	} else {
		delete(l.byName, name)
	}
	if len(l.gone) >= mostGone {
		l.gone = slices.Delete(l.gone, 0, len(l.gone)-mostGone+1)
	}
	l.gone = append(l.gone, gone{name, peers.Client{Container: c.container, Kit: c.kit, Gone: now}})
}

// named is who is called so: the latest who came, or else the latest who left.
func (l *clients) named(name string) (peers.Client, bool) {
	if alike := l.byName[name]; len(alike) > 0 {
		c := alike[len(alike)-1]
		return peers.Client{ID: c.id, Container: c.container, Kit: c.kit}, true
	}
	for _, g := range slices.Backward(l.gone) {
		if g.name == name {
			return g.was, true
		}
	}
	return peers.Client{}, false
}

// Client implements [peers.Source]. How many others are connected does not matter
// to how long it takes: it is asked for each row of a page.
func (sp *Space) Client(name string) (peers.Client, bool) {
	if !strings.HasPrefix(name, peers.Prefix) {
		return peers.Client{}, false
	}
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	return sp.clients.named(name)
}
