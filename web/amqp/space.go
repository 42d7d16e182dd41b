package amqp

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/web/amqp/wire"
	"mayfly/web/peers"
	"mayfly/web/relay"
)

var _ peers.Source = (*Space)(nil)

// A Space is what the server is to one namespace: its broker, which may change
// while it serves, and its clients. Each connection belongs to the broker that
// was there when it came, and ends when that is no longer served.
type Space struct {
	s *Server

	// The rest is guarded by the server's mutex.
	b       *broker.Broker // nil while it stands by
	clients clients
	limits  limits         // of b's namespace; connections keep those that they came under
	why     string         // it stands by
	line    *relay.Line    // to the owner, while it does; nil: nothing is passed on
	passing int            // connections that are passed on
	refusal wire.Condition // what such connections are closed with; empty: they may come again
	came    uint64         // connections, ever
}

func newSpace(s *Server) *Space {
	return &Space{s: s, limits: limitsOf(engine.Limits{}), why: "The server is starting."}
}

// Add has the server serve one more namespace, by its name in lower case: it
// stands by at first. A connection is for the namespace of the port that it came to, see
// [Server.Serve]; else for the one that the host is called by which its client names in
// its open, or else in TLS: see [fleet.Label].
func (s *Server) Add(name string) *Space {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := newSpace(s)
	s.put(name, sp)
	return sp
}

// Own has hosts that are called so be of the server's own namespace, whoever owns that.
func (s *Server) Own(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(strings.ToLower(name), s.Space)
}

// put has a name be one of a namespace. Called with mu held.
func (s *Server) put(name string, sp *Space) {
	if s.others == nil {
		s.others = map[string]*Space{}
	}
	s.others[name] = sp
}

// Find is a namespace by its name in lower case, the server's own too once it was
// open or told by Own; nil: there is none.
func (s *Server) Find(name string) *Space {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.others[name]
}

// Remove has the server know of a namespace no more, and closes its connections
// with why.
func (s *Server) Remove(name, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp := s.others[name]; sp != nil {
		delete(s.others, name)
		sp.b, sp.why, sp.line = nil, why, nil
		sp.dismiss(why)
	}
}

// Known has the server take it that it knows of all namespaces: see
// Options.Unsure.
func (s *Server) Known() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsure = false
}

// spaceOf is the namespace that a host names which a client knows the server by, the
// first of those that names one; else the server's own. A host that can mean
// nothing else is refused if there is none called so.
func (s *Server) spaceOf(hosts ...string) *Space {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hosts {
		label := fleet.Label(h)
		if sp := s.others[label]; sp != nil {
			return sp
		}
		if s.unsure && label != "" && label != "localhost" || fleet.Meant(h) {
			return s.absent(label)
		}
	}
	return s.Space
}

// spaceAt is the namespace of that name, of whose port a client is. Nobody else is to
// serve it.
func (s *Server) spaceAt(name string) *Space {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp := s.others[name]; sp != nil {
		return sp
	}
	return s.absent(name)
}

// absent is what clients are told that want a namespace which the server does not know:
// where there may be one, to come again. Called with mu held.
func (s *Server) absent(name string) *Space {
	sp := newSpace(s)
	if sp.why = "The server is finding out which namespaces there are."; !s.unsure {
		sp.why, sp.refusal = fmt.Sprintf("There is no namespace '%.64s'.", name), wire.CondNotFound
	}
	return sp
}

// all are the server's own namespace and the others. Called with mu held.
func (s *Server) all() []*Space {
	all := []*Space{s.Space}
	for _, sp := range s.others {
		if sp != s.Space {
			all = append(all, sp)
		}
	}
	return all
}

// serverName is what the client of a connection with TLS called the server; empty:
// it did not.
func serverName(nc net.Conn) string {
	if t, ok := nc.(*tls.Conn); ok {
		return t.ConnectionState().ServerName
	}
	return ""
}

// Open has connections that come from now on served by b.
func (sp *Space) Open(b *broker.Broker) {
	s := sp.s
	s.mu.Lock()
	defer s.mu.Unlock()
	sp.b, sp.why, sp.line = b, "", nil
	sp.limits = limitsOf(b.Limits())
	if sp == s.Space {
		s.put(strings.ToLower(b.Name()), sp) // a host that is called so is not somebody else's
		s.memory.most.Store(sp.limits.memory)
	}
}

// limitsNow are those for a connection that comes now.
func (sp *Space) limitsNow() limits {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	return sp.limits
}

// StandBy closes every connection with amqp:connection:forced and why, a sentence
// that names who to ask instead: clients connect again then. Those that come from now
// on are passed on by line once they have sent their open; if it is nil, or the owner
// cannot be reached, they are closed likewise.
func (sp *Space) StandBy(why string, line *relay.Line) {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	sp.b, sp.why, sp.line = nil, why, line
	sp.dismiss(why)
}

// dismiss has every connection leave. Called with mu held.
func (sp *Space) dismiss(why string) {
	for _, c := range sp.clients.byID {
		c.leave(&wire.Error{Condition: wire.CondConnectionForced, Description: why})
	}
}

// join lets a connection in, if there is room for one more.
func (sp *Space) join(c *conn) error {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	switch {
	case sp.s.over:
		return &wire.ProtocolError{Condition: wire.CondConnectionForced, Text: "The server is going down."}
	case sp.b == nil:
		return &wire.ProtocolError{Condition: cmp.Or(sp.refusal, wire.CondConnectionForced), Text: sp.why}
	case sp.clients.len() >= sp.limits.connections:
		return &wire.ProtocolError{Condition: wire.CondResourceLimitExceeded, Text: fmt.Sprintf("There are %d connections, which is the most there may be.", sp.clients.len())}
	}
	c.b = sp.b
	sp.came++
	c.introduce(sp.came, sp.b.Epoch())
	sp.clients.add(c)
	return nil
}

// Busy tells whether there are connections.
func (sp *Space) Busy() bool {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	return sp.clients.len() > 0
}

func (sp *Space) part(c *conn) {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	sp.clients.remove(c, time.Now())
}
