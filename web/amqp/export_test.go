package amqp

import (
	"fmt"
	"weak"
)

// Check returns an error if the indexes of connected clients are inconsistent or have
// stale entries.
func (s *Server) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for name, alike := range s.clients.byName {
		if len(alike) == 0 {
			return fmt.Errorf("no client is called %q, but the index has the name", name)
		}
		for i, c := range alike {
			if n++; c.clientName() != name || s.clients.byID[c.id] != c || i > 0 && c.number < alike[i-1].number {
				return fmt.Errorf("client %s is number %d of %q", c.id, i, name)
			}
		}
	}
	if n != len(s.clients.byID) {
		return fmt.Errorf("%d clients are indexed by name, and %d by id", n, len(s.clients.byID))
	}
	return nil
}

// IncomingBytes returns how many bytes of incomplete messages the server keeps.
func (s *Server) IncomingBytes() int64 { return s.incomingMemory.taken.Load() }

// LinkCost is the cost of a link in the budget.
const LinkCost = linkCost

// LinkBytes returns how many bytes of the budget are taken.
func (s *Server) LinkBytes() int64 { return s.linkBudget.taken.Load() }

// SenderProbes returns a function for each link on which clients receive. It reports whether
// anything still refers to the link.
func (s *Server) SenderProbes() (kept []func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients.byID {
		c.mu.Lock()
		for _, in := range c.sessions {
			for _, l := range in.links {
				if o, ok := l.link.(*sender); ok {
					p := weak.Make(o)
					kept = append(kept, func() bool { return p.Value() != nil })
				}
			}
		}
		c.mu.Unlock()
	}
	return kept
}

// ReservedReplyBytes returns how many bytes are counted for replies that are being made.
func (s *Server) ReservedReplyBytes() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients.byID {
		c.mu.Lock()
		n += c.reservedReplyBytes
		c.mu.Unlock()
	}
	return n
}
