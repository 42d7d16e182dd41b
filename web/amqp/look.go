package amqp

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
	"unicode"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
	"mayfly/web/peers"
)

var _ peers.Source = (*Server)(nil)

// record is what a connection remembers of itself to be told of. It is guarded
// by the connection's mutex, but for what is set before it runs.
type record struct {
	number    uint64 // in the order of coming
	id        string
	since     time.Time
	container string
	kit       peers.Kit
	tls       bool
	websocket bool

	latest time.Time // when anything was heard
	peers.Traffic
}

// passed counts the messages of a link.
type passed struct{ messages uint64 }

const (
	longestName = 128 // bytes of what a client calls itself, or a link, that are kept
	longestKit  = 160 // of what it says about its library
)

// introduce fills in what is known of a connection when it is open.
func (c *conn) introduce(number, epoch uint64) {
	c.record = record{
		number: number, id: fmt.Sprintf("%d-%d", epoch, number), since: time.Now(), latest: time.Now(),
		container: printable(c.peer.container, longestName), kit: kitOf(c.peer.properties),
	}
	for nc := c.nc; nc != nil; {
		if _, ok := nc.(*tls.Conn); ok {
			c.tls = true
		} else if _, ok := nc.(interface{ NetConn() net.Conn }); ok {
			c.websocket = true
		}
		in, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		nc = in.NetConn()
	}
}

// client is how people are told whose connection it is.
func (c *conn) client() string { return peers.Prefix + cmp.Or(c.container, c.nc.RemoteAddr().String()) }

// printable is what a client wrote, as far as it can be shown and kept.
func printable(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
}

// heardFrame counts a frame of the client. Called with mu held.
func (c *conn) heardFrame(f wire.Frame) {
	c.FramesIn++
	c.BytesIn += uint64(len(f.Body)) + 8
}

// writing counts frames on their way to the client. Called with mu held.
func (c *conn) writing(frames []byte) {
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

// kitOf is what a client's open says of its library. The SDKs are known by their
// product and their user agent:
//
//	Go          MSGolangClient               azsdk-go-azservicebus/v1.11.0
//	Python      azure-servicebus             azsdk-python-servicebus/7.14.3 …
//	JavaScript  MSJSClient                   azsdk-js-azureservicebus/7.9.5 …
//	Java        azure-messaging-servicebus   azsdk-java-azure-messaging-servicebus/7.17.20 …
//	.NET        Azure.Messaging.ServiceBus   azsdk-net-Azure.Messaging.ServiceBus/7.20.1 …
func kitOf(all value.Properties) peers.Kit {
	text := func(name string) string {
		v, ok := all.Lookup(name)
		if !ok {
			return ""
		}
		s, ok := v.Str()
		if !ok {
			return ""
		}
		return strings.TrimSpace(printable(s, longestKit))
	}
	k := peers.Kit{Product: text("product"), Version: strings.TrimPrefix(text("version"), "v")}
	agent := text("user-agent")
	if at := strings.Index(agent, "azsdk-"); at > 0 { // "orders-worker azsdk-go-…"
		k.Application, agent = strings.TrimSpace(agent[:at]), agent[at:]
	}
	said := strings.ToLower(k.Product + " " + agent)
	for _, known := range []struct {
		sdk peers.SDK
		by  []string
	}{
		{peers.Go, []string{"msgolangclient", "azsdk-go-"}},
		{peers.Python, []string{"azsdk-python-", "azure-servicebus ", "python-servicebus"}},
		{peers.JavaScript, []string{"msjsclient", "azsdk-js-"}},
		{peers.Java, []string{"azure-messaging-servicebus", "azsdk-java-"}},
		{peers.DotNET, []string{"azsdk-net-", "azure.messaging.servicebus", "msgnet", "microsoft.azure.amqp"}},
	} {
		if slices.ContainsFunc(known.by, func(word string) bool { return strings.Contains(said, word) }) {
			k.SDK = known.sdk
			break
		}
	}
	if k.Version == "" { // "azsdk-go-azservicebus/v1.11.0 (…)"
		if _, rest, ok := strings.Cut(agent, "/"); ok {
			rest, _, _ = strings.Cut(rest, " ")
			k.Version = strings.TrimPrefix(rest, "v")
		}
	}
	platform := []string{text("framework"), text("platform")}
	k.Platform = strings.Join(slices.DeleteFunc(platform, func(s string) bool { return s == "" }), " · ")
	return k
}

// Connections implements [peers.Source]. It holds the mutex of one connection at
// a time, for as long as it takes to walk over its links.
func (s *Server) Connections(q peers.Query) peers.List {
	s.mu.Lock()
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	out := peers.List{All: len(all)}
	slices.SortFunc(all, func(a, b *conn) int { return cmp.Compare(b.number, a.number) })
	for _, c := range all {
		if q.Before != 0 && c.number >= q.Before || q.Client != "" && c.client() != q.Client {
			continue
		}
		told, at := c.told(q.Entity, q.Links)
		if !at {
			continue
		}
		if q.Limit > 0 && len(out.Connections) == q.Limit {
			return out
		}
		out.Connections = append(out.Connections, told)
		out.Before = c.number
	}
	out.Before = 0 // these are all
	return out
}

// Connection implements [peers.Source].
func (s *Server) Connection(id string, links int) (peers.Connection, bool) {
	c := s.find(id)
	if c == nil {
		return peers.Connection{}, false
	}
	told, _ := c.told("", links)
	return told, true
}

func (s *Server) find(id string) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.id == id {
			return c
		}
	}
	return nil
}

// closedByOperator is what a client is told whose connection somebody closes.
const closedByOperator = "An operator closed this connection."

// Disconnect implements [peers.Source]: the connection is closed with
// amqp:connection:forced, after which SDKs connect again.
func (s *Server) Disconnect(id string) (peers.Connection, bool) {
	c := s.find(id)
	if c == nil {
		return peers.Connection{}, false
	}
	told, _ := c.told("", 0)
	c.leave(&wire.Error{Condition: wire.CondConnectionForced, Description: closedByOperator})
	return told, true
}

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

// told is a connection as it is, with its first links: those at an entity first,
// if that is not empty; at tells whether there are any there.
func (c *conn) told(entity engine.Path, links int) (_ peers.Connection, at bool) {
	out := peers.Connection{
		ID: c.id, Client: c.client(), Kit: c.kit, Container: c.container, Remote: c.nc.RemoteAddr().String(),
		TLS: c.tls, WebSocket: c.websocket, Since: c.since,
	}
	c.mu.Lock()
	out.Heard, out.Sessions, out.Traffic = c.latest, len(c.sessions), c.Traffic
	at = entity == ""
	var first, then []peers.Link
	for _, s := range c.sessions {
		for _, l := range s.links {
			told, ok := l.told()
			if !ok {
				continue
			}
			out.Add(told)
			if entity != "" && told.Role != peers.Manager && told.At(entity) {
				at = true
				first = append(first, told)
			} else if links > 0 {
				then = append(then, told)
			}
		}
	}
	c.mu.Unlock()
	for _, some := range [][]peers.Link{first, then} {
		slices.SortFunc(some, func(a, b peers.Link) int {
			return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Name, b.Name), strings.Compare(string(a.Role), string(b.Role)))
		})
	}
	first = append(first, then...)
	out.Links = first[:min(len(first), links):min(len(first), links)]
	return out, at
}

// told is a link as it is; not ok: it is not attached yet, or serves another.
// Called with the connection's mutex held.
func (a attached) told() (_ peers.Link, ok bool) {
	name := printable(a.name.name, longestName)
	switch l := a.link.(type) {
	case *inlet:
		return peers.Link{
			Name: name, Path: l.path, Role: peers.Sender, Since: a.since, Credit: int(l.credit), Messages: l.messages,
		}, l.most > 0
	case *outlet:
		t := peers.Link{
			Name: name, Path: l.path, Role: peers.Receiver, Since: a.since, Messages: l.messages,
			Deletes: l.mode == engine.ReceiveAndDelete, Waits: l.answer != nil,
			Session: l.session.ID, Holds: l.session.LockedUntil != 0,
			Credit: int(l.credit), Ahead: len(l.queue), Unsettled: l.unsettled,
		}
		if !t.Deletes {
			t.Locks = t.Unsettled + t.Ahead
		}
		return t, l.broker != nil
	case *requests:
		return peers.Link{
			Name: name, Path: l.path, Role: peers.Manager, Since: a.since, Credit: int(l.credit), Messages: l.messages,
		}, l.node != cbs
	default:
		return peers.Link{}, false
	}
}
