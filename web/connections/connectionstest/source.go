// Package connectionstest provides fake connections for tests of code that shows them.
package connectionstest

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mayfly/web/connections"
)

// A Source is a list of connections, numbered by their ids: "1-5" is the fifth. The zero value
// is empty and ready to use.
type Source struct {
	mu   sync.Mutex
	all  []connections.Connection
	gone map[string]connections.Client
}

var _ connections.Source = (*Source)(nil)

// Add adds a connection, and sets its Totals to those of its links.
func (s *Source) Add(c connections.Connection) {
	for _, l := range c.Links {
		c.Totals.Add(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, c)
}

// Change calls change with the connection that has this id, if there is one.
func (s *Source) Change(id string, change func(*connections.Connection)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.all {
		if s.all[i].ID == id {
			change(&s.all[i])
		}
	}
}

// number returns the number after the hyphen of an id, or zero if there is none.
func number(id string) uint64 {
	_, text, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Connections implements [connections.Source].
func (s *Source) Connections(q connections.Query) (out connections.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Total = len(s.all)
	for _, c := range slices.Backward(s.all) {
		at := slices.IndexFunc(c.Links, func(l connections.Link) bool { return l.Role != connections.Manager && l.ConcernsEntity(q.Entity) })
		if q.Before != 0 && number(c.ID) >= q.Before || q.Entity != "" && at < 0 || q.Client != "" && c.Client != q.Client {
			continue
		}
		if q.Limit > 0 && len(out.Connections) == q.Limit {
			out.Before = number(out.Connections[q.Limit-1].ID)
			return out
		}
		c.Links = c.Links[:min(len(c.Links), q.Links)]
		out.Connections = append(out.Connections, c)
	}
	return out
}

// Connection implements [connections.Source].
func (s *Source) Connection(id string, links int) (connections.Connection, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		if c.ID == id {
			c.Links = c.Links[:min(len(c.Links), links)]
			return c, true
		}
	}
	return connections.Connection{}, false
}

// Client implements [connections.Source].
func (s *Source) Client(name string) (connections.Client, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range slices.Backward(s.all) {
		if c.Client == name {
			return connections.Client{ID: c.ID, Container: c.Container, Library: c.Library}, true
		}
	}
	was, ok := s.gone[name]
	return was, ok
}

// Disconnect implements [connections.Source]. The connection ends at once.
func (s *Source) Disconnect(id string) (connections.Connection, bool) {
	c, ok := s.Connection(id, 0)
	if !ok {
		return c, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(c connections.Connection) bool { return c.ID == id })
	if s.gone == nil {
		s.gone = map[string]connections.Client{}
	}
	s.gone[c.Client] = connections.Client{Container: c.Container, Library: c.Library, DisconnectedAt: time.Now()}
	return c, true
}
