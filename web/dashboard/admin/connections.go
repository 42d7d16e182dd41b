package admin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/admin"
	"mayfly/views/page/entity"
	"mayfly/views/view"
	"mayfly/web/connections"
	"mayfly/web/dashboard/pages"
)

const (
	connectionsOnPage = 50
	maxClientEntities = 3   // entities shown per client in the table
	maxLinks          = 500 // links shown on the page of a client
	maxNameBytes      = 80  // bytes of the names that clients give themselves
	maxShortName      = 28  // bytes of such a name in a list, as many names are long and random
	// connectionsRefresh is how often connections are read again while a viewer has a page with
	// them open.
	connectionsRefresh = 500 * time.Millisecond
)

// Connections returns the page of connected clients.
func Connections(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	here := p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Connections})
	m := admin.Connections{
		Shell: p.LiveShell(ctx, at, s, locale.T(ctx, "connections.title")), Here: here, Entity: shorten.To(at.Query.Get(admin.SearchEntity), 260),
		Start: p.Home() + "#h-connect",
	}
	q := connections.Query{Limit: connectionsOnPage, Links: maxLinks}
	if m.Entity != "" {
		m.Clear = here
		if q.Entity, err = engine.ParsePath(m.Entity, p.Broker.Limits()); err != nil {
			m.Wrong = locale.T(ctx, "connections.wrong", locale.Args{"Name": component.ShowInvisible(m.Entity)})
		}
	}
	q.Before, _ = pages.ParseNumber(at.Query.Get("from"))
	q.Client = at.Query.Get("client")
	var list connections.List
	if p.Options.Clients != nil && m.Wrong == "" {
		list = p.Options.Clients.Connections(q)
	}
	m.All = list.Total
	locks := 0
	for _, c := range list.Connections {
		m.Rows = append(m.Rows, connectionRow(p, c, s.Now))
		locks += c.Locks
	}
	m.Lede = connectionsLede(ctx, m, q, locks, list.Before != 0)
	if q.Before != 0 {
		m.Pages.First = p.URL(at.WithQuery("from", ""))
	}
	if list.Before != 0 {
		m.Pages.Next = p.URL(at.WithQuery("from", strconv.FormatUint(list.Before, 10)))
	}
	if m.Pages != (component.Pages{}) {
		m.Pages.Note = locale.N(ctx, "pager.note", list.Total, locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	return pages.Refreshing{Page: m, Every: connectionsRefresh}, s.Event, nil
}

func connectionsLede(ctx context.Context, m admin.Connections, q connections.Query, locks int, more bool) []component.Text {
	n := len(m.Rows)
	if n == 0 {
		return nil
	}
	var lede []component.Text
	switch {
	case q.Entity != "" && more: // the number of all clients at the entity is unknown
		return nil
	case q.Entity != "":
		lede = append(lede, pages.StrongText(locale.N(ctx, "connections.lede.at", n, locale.Args{"Entity": pages.DisplayPath(q.Entity)})), pages.PlainText(". "))
	case q.Client != "":
		lede = append(lede, pages.StrongText(locale.N(ctx, "connections.lede", n)), pages.PlainText(". "))
	default:
		lede = append(lede, pages.StrongText(locale.N(ctx, "connections.lede", m.All)), pages.PlainText(". "))
	}
	switch {
	case more || q.Before != 0: // the locks of clients on other pages are unknown
	case locks == 0:
		lede = append(lede, pages.PlainText(locale.T(ctx, "connections.lede.none")))
	case n == 1:
		lede = append(lede, pages.PlainText(locale.N(ctx, "connections.lede.locks.one", locks)))
	default:
		lede = append(lede, pages.PlainText(locale.N(ctx, "connections.lede.locks", locks)))
	}
	return lede
}

// sdkName returns the name of a client's library: "Go SDK 1.11.0".
func sdkName(k connections.Library) string {
	name := cmp.Or(k.SDK.Name(), k.Product)
	if name != "" && k.Version != "" {
		name += " " + k.Version
	}
	return shorten.To(name, maxNameBytes)
}

func connectionURL(p *pages.Pages, id string) string {
	return p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Connection, StringID: id})
}

// ClientName returns the name shown for a client: its program's name if it gives one, because
// SDKs draw container names at random.
func ClientName(c connections.Connection) string {
	return shorten.To(cmp.Or(c.Application, c.Container, c.Remote), maxNameBytes)
}

func connectionRow(p *pages.Pages, c connections.Connection, now engine.Instant) admin.ConnectionRow {
	r := admin.ConnectionRow{
		Key: c.ID, Href: connectionURL(p, c.ID), Name: shorten.To(ClientName(c), maxShortName), SDK: sdkName(c.Library), Remote: c.Remote, Secure: c.TLS,
		End:   p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Connection, StringID: c.ID, Action: "disconnect"}),
		Links: c.Attached, Credit: c.Credit, Unsettled: c.Unsettled, Locks: c.Locks, Since: c.Since, Now: now.Time(),
		In: pages.State[pages.RateTracker](p).Rate(c.ID+" in", c.Sent, now), Out: pages.State[pages.RateTracker](p).Rate(c.ID+" out", c.Delivered, now),
	}
	seen := map[page.LinkTarget]bool{}
	for _, l := range c.Links {
		place := linkTarget(p, l)
		switch {
		case l.Role == connections.Manager || seen[place]:
		case len(r.Targets) == maxClientEntities:
			r.More++
		default:
			r.Targets = append(r.Targets, place)
			seen[place] = true
		}
	}
	return r
}

// linkTarget returns the entity of a link. An invalid name has no address.
func linkTarget(p *pages.Pages, l connections.Link) page.LinkTarget {
	out := page.LinkTarget{Name: shorten.To(pages.DisplayPath(l.Path), 200), Sends: l.Role == connections.Sender, Manages: l.Role == connections.Manager}
	if _, err := engine.ParsePath(string(l.Path), p.Broker.Limits()); err == nil {
		out.Href = p.EntityURL(engine.Queue, l.Path)
	}
	return out
}

// Connection returns the page of a connected client.
func Connection(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	var v clientSnapshot
	var c connections.Connection
	ok := false
	if p.Options.Clients != nil {
		c, ok = p.Options.Clients.Connection(at.StringID, maxLinks)
	}
	s, err := p.Read(ctx, func(r broker.Reader) error {
		v = readClient(r, c)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m := admin.Connection{All: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Connections}), Gone: !ok}
	if !ok {
		m.Shell = p.LiveShell(ctx, at, s, locale.T(ctx, "connections.one"))
		return m, s.Event, nil
	}
	m.Shell, m.Row = p.LiveShell(ctx, at, s, ClientName(c)), connectionRow(p, c, s.Now)
	m.Container = shorten.To(c.Container, maxNameBytes)
	m.Row.Name = ClientName(c)
	m.Platform, m.WebSocket, m.LastFrame, m.Sessions = shorten.To(c.Platform, maxNameBytes), c.WebSocket, c.LastReceived, c.Sessions
	m.FramesIn, m.FramesOut, m.BytesIn, m.BytesOut = c.FramesIn, c.FramesOut, int64(c.BytesIn), int64(c.BytesOut)
	m.WaitingForMemory, m.Memory = c.Starved, c.Memory
	keys := map[string]int{}
	for _, l := range c.Links {
		key := fmt.Sprintf("%d %s %s", l.Since.UnixMicro(), l.Role, l.Name)
		if keys[key]++; keys[key] > 1 {
			key += fmt.Sprint(" ", keys[key])
		}
		r := admin.LinkRow{
			Key: key, Target: linkTarget(p, l), Name: l.Name, Identifier: l.Identifier, WaitsForSession: l.WaitsForSession, WaitsForMemory: l.Starved, HasSession: l.HoldsSession, Credit: l.Credit, Prefetched: l.Buffered,
			Unsettled: l.Unsettled, Locks: l.Locks, Messages: l.Messages, Since: l.Since, Now: s.Now.Time(),
			Rate: pages.State[pages.RateTracker](p).Rate(c.ID+" "+key, l.Messages, s.Now), Kind: linkKind(l),
		}
		e, ok := v.entities[l.Path.Entity()]
		if ok {
			r.Target.Href = p.EntityURL(e.Kind, l.Path)
		}
		if l.HoldsSession {
			r.Session = component.SessionName(ctx, l.Session)
			r.SessionHref = p.SessionURL(e.Kind, l.Path, l.Session)
			r.Hold = SessionLock(v.sessions[sessionRef{l.Path, l.Session}], e, s.Now)
		}
		m.Links = append(m.Links, r)
	}
	m.Left = max(0, c.Attached-len(c.Links))
	fillLocks(p, &m, v, s.Now)
	return pages.Refreshing{Page: m, Every: connectionsRefresh}, s.Event, nil
}

func linkKind(l connections.Link) admin.LinkKind {
	switch {
	case l.Role == connections.Sender:
		return admin.LinkSends
	case l.Role == connections.Manager:
		return admin.LinkManages
	case l.ReceiveAndDelete:
		return admin.LinkDeletes
	default:
		return admin.LinkReceives
	}
}

// ConfirmDisconnect asks to confirm closing a client's connection.
func ConfirmDisconnect(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	var c connections.Connection
	ok := false
	if p.Options.Clients != nil {
		c, ok = p.Options.Clients.Connection(at.StringID, 0)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %w", pages.ErrPageNotFound, connections.ErrClosed)
	}
	return admin.ConfirmDisconnect{
		Shell: p.StaticShell(ctx, at, ClientName(c)), Name: ClientName(c), SDK: sdkName(c.Library), To: p.URL(at), Cancel: p.CancelURL(at, t),
		Links: c.Attached, Locks: c.Locks,
	}, nil
}

// LockHolder returns the name shown for the holder of a lock, and the address of its page if it is
// connected. The name says so if the client has disconnected, because a lock outlives its
// connection.
func LockHolder(ctx context.Context, p *pages.Pages, actor string) (name, href string) {
	name, href, gone := ClientOf(ctx, p, actor)
	if gone {
		name = locale.T(ctx, "holder.gone", locale.Args{"Who": name})
	}
	return name, href
}

// ClientOf returns the name shown for an actor, and the address of its page if it has one. gone
// is true for a client that has disconnected.
func ClientOf(ctx context.Context, p *pages.Pages, actor string) (name, href string, gone bool) {
	own, ofWire := nameFromActor(actor)
	if p.Options.Clients == nil || !ofWire {
		return pages.ActorName(ctx, actor), "", false
	}
	c, known := p.Options.Clients.Client(actor)
	if !known {
		return own, "", true
	}
	own = shorten.To(cmp.Or(c.Application, own), maxShortName)
	if sdk := c.SDK.Name(); sdk != "" {
		own += " · " + sdk
	}
	if c.ID == "" {
		return own, "", true
	}
	return own, connectionURL(p, c.ID), false
}

// nameFromActor returns the name that an AMQP client gives itself, which follows
// connections.Prefix in its actor. ok is false for any other actor.
func nameFromActor(actor string) (name string, ok bool) {
	if len(actor) <= len(connections.Prefix) || actor[:len(connections.Prefix)] != connections.Prefix {
		return "", false
	}
	return shorten.To(actor[len(connections.Prefix):], maxShortName), true
}

// EntityClients returns some of the clients with links to an entity: its receivers and its
// senders. `more` is the address of the page that lists all of them.
func EntityClients(p *pages.Pages, path engine.Path) (receivers, senders []entity.Client, more string) {
	if p.Options.Clients == nil {
		return nil, nil, ""
	}
	list := p.Options.Clients.Connections(connections.Query{Entity: path, Limit: connectionsOnPage, Links: 16})
	for _, c := range list.Connections {
		g := entity.Client{Name: shorten.To(ClientName(c), maxShortName), SDK: c.SDK.Name(), Href: connectionURL(p, c.ID)}
		var receives, sends bool
		for _, l := range c.Links {
			receives = receives || l.Role == connections.Receiver && l.ConcernsEntity(path)
			sends = sends || l.Role == connections.Sender && l.ConcernsEntity(path)
		}
		if receives {
			receivers = append(receivers, g)
		}
		if sends {
			senders = append(senders, g)
		}
	}
	return receivers, senders, p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Connections}.WithQuery(admin.SearchEntity, string(path)))
}
