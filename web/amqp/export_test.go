package amqp

import (
	"fmt"
	"weak"
)

// Check is an error if the indexes of who is connected do not have the same, or
// more than there are.
func (s *Server) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for name, alike := range s.clients.byName {
		if len(alike) == 0 {
			return fmt.Errorf("nobody is called %q, and that is kept", name)
		}
		for i, c := range alike {
			if n++; c.client() != name || s.clients.byID[c.id] != c || i > 0 && c.number < alike[i-1].number {
				return fmt.Errorf("%s is number %d of %q", c.id, i, name)
			}
		}
	}
	if n != len(s.clients.byID) {
		return fmt.Errorf("%d have names, and %d ids", n, len(s.clients.byID))
	}
	return nil
}

// Kept is how many bytes the server keeps of messages that have come in part.
func (s *Server) Kept() int64 { return s.memory.taken.Load() }

// Receivers tells of each link that clients receive on now whether anything refers
// to it, whenever that is asked.
func (s *Server) Receivers() (kept []func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients.byID {
		c.mu.Lock()
		for _, in := range c.sessions {
			for _, l := range in.links {
				if o, ok := l.link.(*outlet); ok {
					p := weak.Make(o)
					kept = append(kept, func() bool { return p.Value() != nil })
				}
			}
		}
		c.mu.Unlock()
	}
	return kept
}

// Making is how many bytes are counted for answers that are being made.
func (s *Server) Making() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients.byID {
		c.mu.Lock()
		n += c.making
		c.mu.Unlock()
	}
	return n
}
