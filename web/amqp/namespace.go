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
	"mayfly/engine/namespaces"
	"mayfly/web/amqp/wire"
	"mayfly/web/cluster"
	"mayfly/web/connections"
	"mayfly/web/connlimit"
)

var _ connections.Source = (*Namespace)(nil)

// A Namespace is one namespace of a server: its broker, which may change, and its clients. Each
// connection uses the broker that the namespace had when it was opened, and ends when that broker
// is no longer served.
type Namespace struct {
	s *Server

	// The fields below are guarded by the server's mutex.
	b                *broker.Broker // nil while the namespace stands by
	clients          clients
	limitGroup       *connlimit.Group   // its connections in the process's budget; immutable
	limits           limits             // of b; a connection keeps the limits with which it was opened
	standbyReason    string             // why the namespace stands by
	forwarder        *cluster.Forwarder // to the owner, while the namespace stands by; nil if nothing is forwarded
	forwardedCount   int                // number of connections being forwarded
	standbyCondition wire.Condition     // condition with which new connections are closed while it stands by; empty if they may try again
	connectionCount  uint64             // number of connections so far
}

func newNamespace(s *Server) *Namespace {
	return &Namespace{s: s, limitGroup: s.connections.NewGroup(), limits: limitsOf(engine.Limits{}), standbyReason: "The server is starting."}
}

// Add adds a namespace with this name, in lower case. It stands by at first. A connection is for
// the namespace of its port, see [Server.Serve], or else for the one named by the host in the
// client's open, or else for the one named by the server name in TLS: see [namespaces.HostLabel].
func (s *Server) Add(name string) *Namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := newNamespace(s)
	s.registerNamespace(name, sp)
	return sp
}

// AddOwnName makes name a name of the server's own namespace, whichever server owns that namespace.
func (s *Server) AddOwnName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registerNamespace(strings.ToLower(name), s.Namespace)
}

// registerNamespace registers a name of a namespace. Called with mu held.
func (s *Server) registerNamespace(name string, sp *Namespace) {
	if s.namespaces == nil {
		s.namespaces = map[string]*Namespace{}
	}
	s.namespaces[name] = sp
}

// Find returns a namespace by its name in lower case, or nil. It finds the server's own namespace
// only after Open or AddOwnName has been called.
func (s *Server) Find(name string) *Namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.namespaces[name]
}

// Remove removes a namespace and closes its connections with why.
func (s *Server) Remove(name, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp := s.namespaces[name]; sp != nil {
		delete(s.namespaces, name)
		sp.b, sp.standbyReason, sp.forwarder = nil, why, nil
		sp.closeConnections(why)
	}
}

// NamespacesComplete declares that the server knows all namespaces: see Options.NamespacesIncomplete.
func (s *Server) NamespacesComplete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespacesIncomplete = false
}

// namespaceByHost returns the namespace named by the first of hosts that names one, or else the
// server's own. If there is no such namespace, a host that can only name a namespace is refused,
// and Options.Unnamed decides about others.
func (s *Server) namespaceByHost(hosts ...string) *Namespace {
	switch sp := s.lookUpHosts(hosts...); {
	case sp != nil:
		return sp
	case s.unnamed.Refuses(hosts...):
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.unknownNamespace(namespaces.HostLabel(cmp.Or(hosts...)))
	default:
		return s.Namespace
	}
}

// lookUpHosts returns the namespace named by the first of hosts that names one, or a Namespace that
// refuses clients if it does not exist. It returns nil if none of hosts names a
// namespace.
func (s *Server) lookUpHosts(hosts ...string) *Namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hosts {
		label := namespaces.HostLabel(h)
		if sp := s.namespaces[label]; sp != nil {
			return sp
		}
		if s.namespacesIncomplete && label != "" && label != "localhost" || namespaces.IsNamespaceHost(h) {
			return s.unknownNamespace(label)
		}
	}
	return nil
}

// namespaceByName returns the namespace of a port, or a Namespace that refuses clients if it does not
// exist.
func (s *Server) namespaceByName(name string) *Namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp := s.namespaces[name]; sp != nil {
		return sp
	}
	return s.unknownNamespace(name)
}

// unknownNamespace returns a Namespace that refuses clients of a namespace that the server does not
// know. If the server has not loaded all namespaces yet, such clients are asked to try again.
// Called with mu held.
func (s *Server) unknownNamespace(name string) *Namespace {
	sp := newNamespace(s)
	if sp.standbyReason = "The server is still loading its namespaces."; !s.namespacesIncomplete {
		sp.standbyReason, sp.standbyCondition = fmt.Sprintf("The namespace '%.64s' does not exist.", name), wire.CondNotFound
	}
	return sp
}

// allNamespaces returns the server's own namespace and the others. Called with mu held.
func (s *Server) allNamespaces() []*Namespace {
	all := []*Namespace{s.Namespace}
	for _, sp := range s.namespaces {
		if sp != s.Namespace {
			all = append(all, sp)
		}
	}
	return all
}

// serverName returns the server name that the client of a TLS connection sent, or the
// empty string.
func serverName(nc net.Conn) string {
	if t, ok := nc.(*tls.Conn); ok {
		return t.ConnectionState().ServerName
	}
	return ""
}

// Open serves new connections with b.
func (sp *Namespace) Open(b *broker.Broker) {
	s := sp.s
	s.mu.Lock()
	defer s.mu.Unlock()
	sp.b, sp.standbyReason, sp.forwarder = b, "", nil
	sp.limits = limitsOf(b.Limits())
	if sp == s.Namespace {
		s.registerNamespace(strings.ToLower(b.Name()), sp) // so that a host with this name means this namespace
		s.incomingMemory.maxBytes.Store(sp.limits.incompleteBytes)
		s.linkBudget.maxBytes.Store(sp.limits.linkBytes)
	}
}

// currentLimits returns the limits for a new connection.
func (sp *Namespace) currentLimits() limits {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	return sp.limits
}

// StandBy closes every connection with amqp:connection:forced and why, a sentence that
// names the server to ask instead. Clients then connect again. New connections are
// forwarded by forwarder after their open. If forwarder is nil, or the owner cannot be reached,
// they are closed in the same way.
func (sp *Namespace) StandBy(why string, forwarder *cluster.Forwarder) {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	sp.b, sp.standbyReason, sp.forwarder = nil, why, forwarder
	sp.closeConnections(why)
}

// closeConnections closes every connection. Called with mu held.
func (sp *Namespace) closeConnections(why string) {
	for _, c := range sp.clients.byID {
		c.closeWithError(&wire.Error{Condition: wire.CondConnectionForced, Description: why})
	}
}

// admitConnection adds a connection to the namespace, if the limit allows one more or another
// connection can be closed for it.
func (sp *Namespace) admitConnection(c *conn) error {
	room := sp.limitGroup.Join(c.connLimit, sp.currentLimits().connections)
	err := sp.addConnection(c, room)
	if err != nil {
		sp.limitGroup.Leave(c.connLimit)
	}
	return err
}

func (sp *Namespace) addConnection(c *conn, room bool) error {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	switch {
	case sp.s.closed:
		return &wire.ProtocolError{Condition: wire.CondConnectionForced, Text: "The server is shutting down."}
	case sp.b == nil:
		return &wire.ProtocolError{Condition: cmp.Or(sp.standbyCondition, wire.CondConnectionForced), Text: sp.standbyReason}
	case !room:
		return &wire.ProtocolError{Condition: wire.CondResourceLimitExceeded, Text: fmt.Sprintf("The namespace has reached its limit of %d connections (--limit connections), and all are in use.", sp.limits.connections)}
	}
	c.b = sp.b
	sp.connectionCount++
	c.initInfo(sp.connectionCount, sp.b.Epoch())
	sp.clients.add(c)
	return nil
}

// HasConnections reports whether the namespace has connections.
func (sp *Namespace) HasConnections() bool {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	return sp.clients.len() > 0
}

func (sp *Namespace) removeConnection(c *conn) {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	sp.clients.remove(c, time.Now())
	sp.limitGroup.Leave(c.connLimit)
}
