package amqp

import (
	"slices"
	"strings"
	"time"

	"mayfly/web/peers"
)

// mostGone is how many clients are remembered that have gone: their locks
// outlive them.
const mostGone = 256

// part remembers a client that goes. Called with the server's mutex held.
func (s *Server) part(c *conn) {
	if len(s.gone) >= mostGone {
		s.gone = slices.Delete(s.gone, 0, len(s.gone)-mostGone+1)
	}
	s.gone = append(s.gone, gone{c.client(), peers.Client{Container: c.container, Kit: c.kit, Gone: time.Now()}})
}

// gone is a client that is not connected any more.
type gone struct {
	name string
	was  peers.Client
}

// Client implements [peers.Source].
func (s *Server) Client(name string) (peers.Client, bool) {
	if !strings.HasPrefix(name, peers.Prefix) {
		return peers.Client{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var newest *conn
	for c := range s.conns {
		if (newest == nil || c.number > newest.number) && c.client() == name {
			newest = c
		}
	}
	if newest != nil {
		return peers.Client{ID: newest.id, Container: newest.container, Kit: newest.kit}, true
	}
	for _, g := range slices.Backward(s.gone) {
		if g.name == name {
			return g.was, true
		}
	}
	return peers.Client{}, false
}
