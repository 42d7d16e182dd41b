// Package peerstest is clients that are not there, for tests of whoever shows
// them.
package peerstest

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mayfly/web/peers"
)

// A Source is a list of connections, numbered by their ids: "1-5" is the fifth.
// Its zero value is empty and ready.
type Source struct {
	mu   sync.Mutex
	all  []peers.Connection
	gone map[string]peers.Client
}

var _ peers.Source = (*Source)(nil)

// Add has a client come, and its sum be that of its links.
func (s *Source) Add(c peers.Connection) {
	for _, l := range c.Links {
		c.Sum.Add(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, c)
}

// Change has one be another.
func (s *Source) Change(id string, change func(*peers.Connection)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.all {
		if s.all[i].ID == id {
			change(&s.all[i])
		}
	}
}

// number is the second of an id's; of what is none it is zero.
func number(id string) uint64 {
	_, text, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Connections implements [peers.Source].
func (s *Source) Connections(q peers.Query) (out peers.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out.All = len(s.all)
	for _, c := range slices.Backward(s.all) {
		at := slices.IndexFunc(c.Links, func(l peers.Link) bool { return l.Role != peers.Manager && l.At(q.Entity) })
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

// Connection implements [peers.Source].
func (s *Source) Connection(id string, links int) (peers.Connection, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		if c.ID == id {
			c.Links = c.Links[:min(len(c.Links), links)]
			return c, true
		}
	}
	return peers.Connection{}, false
}

// Client implements [peers.Source].
func (s *Source) Client(name string) (peers.Client, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range slices.Backward(s.all) {
		if c.Client == name {
			return peers.Client{ID: c.ID, Container: c.Container, Kit: c.Kit}, true
		}
	}
	was, ok := s.gone[name]
	return was, ok
}

// Disconnect implements [peers.Source]: the client is gone at once.
func (s *Source) Disconnect(id string) (peers.Connection, bool) {
	c, ok := s.Connection(id, 0)
	if !ok {
		return c, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(c peers.Connection) bool { return c.ID == id })
	if s.gone == nil {
		s.gone = map[string]peers.Client{}
	}
	s.gone[c.Client] = peers.Client{Container: c.Container, Kit: c.Kit, Gone: time.Now()}
	return c, true
}
