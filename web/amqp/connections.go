package amqp

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"
	"unicode"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
	"mayfly/web/connections"
)

// Connections implements [connections.Source]. It locks one connection at a time, while it
// walks over that connection's links.
func (sp *Namespace) Connections(q connections.Query) connections.List {
	sp.s.mu.Lock()
	all := sp.clients.all()
	sp.s.mu.Unlock()
	out := connections.List{Total: len(all)}
	slices.SortFunc(all, func(a, b *conn) int { return cmp.Compare(b.number, a.number) })
	for _, c := range all {
		if q.Before != 0 && c.number >= q.Before || q.Client != "" && c.clientName() != q.Client {
			continue
		}
		info, at := c.describe(q.Entity, q.Links)
		if !at {
			continue
		}
		if q.Limit > 0 && len(out.Connections) == q.Limit {
			return out
		}
		out.Connections = append(out.Connections, info)
		out.Before = c.number
	}
	out.Before = 0 // no connections are left
	return out
}

// Connection implements [connections.Source].
func (sp *Namespace) Connection(id string, links int) (connections.Connection, bool) {
	c := sp.find(id)
	if c == nil {
		return connections.Connection{}, false
	}
	info, _ := c.describe("", links)
	return info, true
}

func (sp *Namespace) find(id string) *conn {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	return sp.clients.byID[id]
}

// closedByOperator is the error text for a client whose connection an operator closes.
const closedByOperator = "An operator closed this connection."

// Disconnect implements [connections.Source]: it closes the connection with
// amqp:connection:forced, after which SDKs connect again.
func (sp *Namespace) Disconnect(id string) (connections.Connection, bool) {
	c := sp.find(id)
	if c == nil {
		return connections.Connection{}, false
	}
	info, _ := c.describe("", 0)
	c.closeWithError(&wire.Error{Condition: wire.CondConnectionForced, Description: closedByOperator})
	return info, true
}

// describe describes a connection with at most the given number of its links, those at `entity`
// first. `at` reports whether any link is at `entity`. It is also true if `entity` is empty.
func (c *conn) describe(entity engine.Path, links int) (_ connections.Connection, at bool) {
	out := connections.Connection{
		ID: c.id, Client: c.clientName(), Library: c.library, Container: c.container, Remote: c.nc.RemoteAddr().String(),
		TLS: c.tls, WebSocket: c.websocket, Since: c.since,
	}
	c.mu.Lock()
	out.Memory = c.linkUsage.bytes
	out.LastReceived, out.Sessions, out.Traffic = c.lastReceived, len(c.sessions), c.Traffic
	at = entity == ""
	var first, then []connections.Link
	for _, s := range c.sessions {
		for _, l := range s.links {
			info, ok := l.describe()
			if !ok {
				continue
			}
			out.Add(info)
			if entity != "" && info.Role != connections.Manager && info.ConcernsEntity(entity) {
				at = true
				first = append(first, info)
			} else if links > 0 {
				then = append(then, info)
			}
		}
	}
	c.mu.Unlock()
	for _, some := range [][]connections.Link{first, then} {
		slices.SortFunc(some, func(a, b connections.Link) int {
			return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Name, b.Name), strings.Compare(string(a.Role), string(b.Role)))
		})
	}
	first = append(first, then...)
	out.Links = first[:min(len(first), links):min(len(first), links)]
	return out, at
}

// Link properties in which SDKs send the identifier of a receiver or a sender.
const (
	receiverName     = "com.microsoft:receiver-name"
	clientIdentifier = "com.microsoft:client-identifier"
)

// identifierOf returns the identifier that a client gave its sender or receiver in the option
// "identifier" of its SDK, or an empty string. For a sender, the SDKs for JavaScript and .NET send
// it as the address of the source. In Python's SDK that address ends with the link's name and is no
// identifier.
func identifierOf(a *wire.Attach) string {
	for _, name := range []string{receiverName, clientIdentifier} {
		if v, ok := a.Properties.Lookup(name); ok {
			if s, ok := v.Str(); ok && s != "" {
				return printable(s, maxNameLength)
			}
		}
	}
	if a.Role == wire.RoleSender && a.Source != nil {
		if s := a.Source.Address.Or(""); !strings.HasSuffix(s, a.Name) || s == a.Name {
			return printable(s, maxNameLength)
		}
	}
	return ""
}

// describe describes a link. It reports false if the link has not been attached yet, or if it
// neither sends to an entity, receives from one, nor carries requests to the $management of one.
func (a attachedLink) describe() (_ connections.Link, ok bool) {
	name := printable(a.name.name, maxNameLength)
	switch l := a.link.(type) {
	case *receiver:
		return connections.Link{
			Name: name, Identifier: a.identifier, Path: l.path, Role: connections.Sender, Since: a.since, Credit: int(l.credit), Messages: l.messages,
		}, l.maxMessageSize > 0
	case *sender:
		t := connections.Link{
			Name: name, Identifier: a.identifier, Path: l.path, Role: connections.Receiver, Since: a.since, Messages: l.messages,
			ReceiveAndDelete: l.mode == engine.ReceiveAndDelete, WaitsForSession: l.pendingAttach != nil, Starved: l.waitsForMemory,
			Session: l.acceptedSession.ID, HoldsSession: l.acceptedSession.LockedUntil != 0,
			Credit: int(l.credit), Buffered: len(l.queue), Unsettled: l.unsettledCount,
		}
		if l.mode == engine.PeekLock {
			t.Locks = t.Unsettled + t.Buffered
		}
		return t, l.brokerLink != nil
	case *requestLink:
		return connections.Link{
			Name: name, Identifier: a.identifier, Path: l.path, Role: connections.Manager, Since: a.since, Credit: int(l.credit), Messages: l.messages,
		}, l.node != cbsAddress
	default:
		return connections.Link{}, false
	}
}

// clients are the connected clients and those that disconnected recently. The zero value is empty.
// They are guarded by the server's mutex.
//
// INVARIANT: byID and byName have the same connections.
type clients struct {
	byID         map[string]*conn
	byName       map[string][]*conn   // by the name in locks and events; the latest last
	disconnected []disconnectedClient // at most maxDisconnected, the latest last
}

// A disconnectedClient describes a client that has disconnected.
type disconnectedClient struct {
	name string
	was  connections.Client
}

// maxDisconnected is the maximum number of disconnected clients to remember. Their locks may
// outlive their connections.
const maxDisconnected = 256

func (l *clients) len() int { return len(l.byID) }

// all returns the connected clients in no particular order.
func (l *clients) all() []*conn { return slices.Collect(maps.Values(l.byID)) }

// add adds c, whose connectionInfo is set.
func (l *clients) add(c *conn) {
	if l.byID == nil {
		l.byID, l.byName = map[string]*conn{}, map[string][]*conn{}
	}
	name := c.clientName()
	l.byID[c.id] = c
	l.byName[name] = append(l.byName[name], c)
}

// remove removes c from the connected clients and adds it to the disconnected ones, of which it
// drops the oldest above maxDisconnected.
func (l *clients) remove(c *conn, now time.Time) {
	name := c.clientName()
	delete(l.byID, c.id)
	alike := l.byName[name]
	if alike = slices.DeleteFunc(alike, func(other *conn) bool { return other == c }); len(alike) > 0 {
		l.byName[name] = alike
	} else {
		delete(l.byName, name)
	}
	if len(l.disconnected) >= maxDisconnected {
		l.disconnected = slices.Delete(l.disconnected, 0, len(l.disconnected)-maxDisconnected+1)
	}
	l.disconnected = append(l.disconnected, disconnectedClient{name, connections.Client{Container: c.container, Library: c.library, DisconnectedAt: now}})
}

// find returns the client with this name that connected last, or else the one that
// disconnected last.
func (l *clients) find(name string) (connections.Client, bool) {
	if alike := l.byName[name]; len(alike) > 0 {
		c := alike[len(alike)-1]
		return connections.Client{ID: c.id, Container: c.container, Library: c.library}, true
	}
	for _, g := range slices.Backward(l.disconnected) {
		if g.name == name {
			return g.was, true
		}
	}
	return connections.Client{}, false
}

// Client implements [connections.Source]. Its cost does not depend on the number of clients,
// because it is called for each row of a page.
func (sp *Namespace) Client(name string) (connections.Client, bool) {
	if !strings.HasPrefix(name, connections.Prefix) {
		return connections.Client{}, false
	}
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	return sp.clients.find(name)
}

// connectionInfo is the description of a connection for the dashboard. It is guarded by the
// connection's mutex, except for fields that are set before it runs.
type connectionInfo struct {
	number    uint64 // numbers the namespace's connections in the order in which they were opened
	id        string
	since     time.Time
	container string
	library   connections.Library
	tls       bool
	websocket bool

	lastReceived time.Time // when the last frame arrived
	connections.Traffic
}

// messageCount counts the messages of a link.
type messageCount struct{ messages uint64 }

const (
	maxNameLength  = 128 // bytes of a client's or link's name that are kept
	maxLibraryText = 160 // bytes of the description of its library that are kept
)

// initInfo sets the connectionInfo of a connection that has been opened.
func (c *conn) initInfo(number, epoch uint64) {
	c.connectionInfo = connectionInfo{
		number: number, id: fmt.Sprintf("%d-%d", epoch, number), since: time.Now(), lastReceived: time.Now(),
		container: c.peer.container, library: libraryOf(c.peer.properties),
	}
	c.peer.properties = nil
	c.tls, c.websocket = c.transport()
}

// transport reports whether the client uses TLS and a WebSocket.
func (c *conn) transport() (secure, websocket bool) {
	if c.forwarded != nil {
		return c.forwarded.Secure, c.forwarded.WebSocket
	}
	for nc := c.nc; nc != nil; {
		in, wraps := nc.(interface{ NetConn() net.Conn })
		if _, ok := nc.(*tls.Conn); ok {
			secure = true
		} else if _, ok := nc.(interface{ WebSocket() }); ok {
			websocket = true
		}
		if !wraps {
			break
		}
		nc = in.NetConn()
	}
	return secure, websocket
}

// clientName returns the name of the connection's client in locks, events and the dashboard.
func (c *conn) clientName() string {
	return connections.Prefix + cmp.Or(c.container, c.nc.RemoteAddr().String())
}

// printable returns the printable characters of the first `most` bytes of a client's text.
func printable(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.Clone(strings.Map(func(r rune) rune { // a copy, because s would keep its whole frame in memory
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s))
}

// countFrameIn counts a frame of the client. Called with mu held.
func (c *conn) countFrameIn(f wire.Frame) {
	c.FramesIn++
	c.BytesIn += uint64(len(f.Body)) + 8
}

// countFramesOut counts frames on their way to the client. Called with mu held.
func (c *conn) countFramesOut(frames []byte) {
	c.BytesOut += uint64(len(frames))
	for len(frames) >= 8 {
		n := int(frames[0])<<24 | int(frames[1])<<16 | int(frames[2])<<8 | int(frames[3])
		if n < 8 || n > len(frames) {
			return
		}
		c.FramesOut++
		frames = frames[n:]
	}
}
