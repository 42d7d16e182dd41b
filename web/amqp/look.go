package amqp

import (
	"cmp"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
	"mayfly/web/peers"
)

// Connections implements [peers.Source]. It holds the mutex of one connection at
// a time, for as long as it takes to walk over its links.
func (sp *Space) Connections(q peers.Query) peers.List {
	sp.s.mu.Lock()
	all := sp.clients.all()
	sp.s.mu.Unlock()
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
func (sp *Space) Connection(id string, links int) (peers.Connection, bool) {
	c := sp.find(id)
	if c == nil {
		return peers.Connection{}, false
	}
	told, _ := c.told("", links)
	return told, true
}

func (sp *Space) find(id string) *conn {
	sp.s.mu.Lock()
	defer sp.s.mu.Unlock()
	return sp.clients.byID[id]
}

// closedByOperator is what a client is told whose connection somebody closes.
const closedByOperator = "An operator closed this connection."

// Disconnect implements [peers.Source]: the connection is closed with
// amqp:connection:forced, after which SDKs connect again.
func (sp *Space) Disconnect(id string) (peers.Connection, bool) {
	c := sp.find(id)
	if c == nil {
		return peers.Connection{}, false
	}
	told, _ := c.told("", 0)
	c.leave(&wire.Error{Condition: wire.CondConnectionForced, Description: closedByOperator})
	return told, true
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

// Properties of a link in which SDKs say what a receiver or a sender is called.
const (
	receiverName     = "com.microsoft:receiver-name"
	clientIdentifier = "com.microsoft:client-identifier"
)

// identifierOf is what a client's program calls the sender or receiver whose link
// it is, the option "identifier" of SDKs. Of a sender, those for JavaScript and
// .NET have it as the address of its source; what Python's has there is the link's
// name over again.
func identifierOf(a *wire.Attach) string {
	for _, name := range []string{receiverName, clientIdentifier} {
		if v, ok := a.Properties.Lookup(name); ok {
			if s, ok := v.Str(); ok && s != "" {
				return printable(s, longestName)
			}
		}
	}
	if a.Role == wire.RoleSender && a.Source != nil {
		if s := a.Source.Address.Or(""); !strings.HasSuffix(s, a.Name) || s == a.Name {
			return printable(s, longestName)
		}
	}
	return ""
}

// told is a link as it is; not ok: it is not attached yet, or serves another.
// Called with the connection's mutex held.
func (a attached) told() (_ peers.Link, ok bool) {
	name := printable(a.name.name, longestName)
	switch l := a.link.(type) {
	case *inlet:
		return peers.Link{
			Name: name, Identifier: a.identifier, Path: l.path, Role: peers.Sender, Since: a.since, Credit: int(l.credit), Messages: l.messages,
		}, l.most > 0
	case *outlet:
		t := peers.Link{
			Name: name, Identifier: a.identifier, Path: l.path, Role: peers.Receiver, Since: a.since, Messages: l.messages,
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
			Name: name, Identifier: a.identifier, Path: l.path, Role: peers.Manager, Since: a.since, Credit: int(l.credit), Messages: l.messages,
		}, l.node != cbs
	default:
		return peers.Link{}, false
	}
}
