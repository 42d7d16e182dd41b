package show

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/peers"
)

const (
	connectionsOnPage = 50
	placesShown       = 3   // entities of a client, in the table
	linksShown        = 500 // of a client, on its page
	longestShown      = 80  // bytes of what clients call themselves
	briefName         = 28  // of that in lists: many call themselves something long and random
	// connectionsFresh is how often what is shown of connections is looked at,
	// while somebody sees it.
	connectionsFresh = 500 * time.Millisecond
)

func (p *Pages) connections(ctx context.Context, at Place) (view.Page, uint64, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	here := p.URL(Place{Namespace: at.Namespace, Kind: Connections})
	m := page.Connections{
		Shell: p.shell(ctx, at, s, locale.T(ctx, "connections.title")), Here: here, Entity: cut(at.Query.Get(page.SearchEntity), 260),
		Start: p.Home() + "#h-connect",
	}
	q := peers.Query{Limit: connectionsOnPage, Links: linksShown}
	if m.Entity != "" {
		m.Clear = here
		if q.Entity, err = engine.ParsePath(m.Entity, p.b.Limits()); err != nil {
			m.Wrong = locale.T(ctx, "connections.wrong", locale.Args{"Name": component.Visible(m.Entity)})
		}
	}
	q.Before, _ = number(at.Query.Get("from"))
	q.Client = at.Query.Get("client")
	var list peers.List
	if p.o.Peers != nil && m.Wrong == "" {
		list = p.o.Peers.Connections(q)
	}
	m.All = list.All
	locks := 0
	for _, c := range list.Connections {
		m.Rows = append(m.Rows, p.connectionRow(c, s.now))
		locks += c.Locks
	}
	m.Lede = p.connectionsLede(ctx, m, q, locks, list.Before != 0)
	if q.Before != 0 {
		m.Pages.First = p.URL(at.with("from", ""))
	}
	if list.Before != 0 {
		m.Pages.Next = p.URL(at.with("from", strconv.FormatUint(list.Before, 10)))
	}
	if m.Pages != (component.Pages{}) {
		m.Pages.Note = locale.N(ctx, "pager.note", list.All, locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	return Refreshing{m, connectionsFresh}, s.n, nil
}

func (p *Pages) connectionsLede(ctx context.Context, m page.Connections, q peers.Query, locks int, more bool) []component.Text {
	n := len(m.Rows)
	if n == 0 {
		return nil
	}
	var lede []component.Text
	switch {
	case q.Entity != "" && more: // how many there are nobody has counted
		return nil
	case q.Entity != "":
		lede = append(lede, strong(locale.N(ctx, "connections.lede.at", n, locale.Args{"Entity": Shown(q.Entity)})), say(". "))
	case q.Client != "":
		lede = append(lede, strong(locale.N(ctx, "connections.lede", n)), say(". "))
	default:
		lede = append(lede, strong(locale.N(ctx, "connections.lede", m.All)), say(". "))
	}
	switch {
	case more || q.Before != 0: // of the others nothing is known
	case locks == 0:
		lede = append(lede, say(locale.T(ctx, "connections.lede.none")))
	case n == 1:
		lede = append(lede, say(locale.N(ctx, "connections.lede.locks.one", locks)))
	default:
		lede = append(lede, say(locale.N(ctx, "connections.lede.locks", locks)))
	}
	return lede
}

// kitName is what a client's library is called: "Go SDK 1.11.0".
func kitName(k peers.Kit) string {
	name := cmp.Or(k.SDK.Name(), k.Product)
	if name != "" && k.Version != "" {
		name += " " + k.Version
	}
	return cut(name, longestShown)
}

func (p *Pages) connectionURL(id string) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Connection, Peer: id})
}

// ClientName is what people are told that a client is called: its program's name if
// that says one, for what SDKs call themselves is drawn at random.
func ClientName(c peers.Connection) string {
	return cut(cmp.Or(c.Application, c.Container, c.Remote), longestShown)
}

func (p *Pages) connectionRow(c peers.Connection, now engine.Instant) page.ConnectionRow {
	r := page.ConnectionRow{
		Key: c.ID, Href: p.connectionURL(c.ID), Name: cut(ClientName(c), briefName), SDK: kitName(c.Kit), Remote: c.Remote, Secure: c.TLS,
		End:   p.URL(Place{Namespace: p.b.Name(), Kind: Connection, Peer: c.ID, Do: "disconnect"}),
		Links: c.Attached, Credit: c.Credit, Unsettled: c.Unsettled, Locks: c.Locks, Since: c.Since, Now: now.Time(),
		In: p.tempo.rate(c.ID+" in", c.Sent, now), Out: p.tempo.rate(c.ID+" out", c.Given, now),
	}
	seen := map[page.LinkPlace]bool{}
	for _, l := range c.Links {
		place := p.linkPlace(l)
		switch {
		case l.Role == peers.Manager || seen[place]:
		case len(r.At) == placesShown:
			r.More++
		default:
			r.At = append(r.At, place)
			seen[place] = true
		}
	}
	return r
}

// linkPlace is the entity that a link is to. A name that there can be none of
// leads nowhere.
func (p *Pages) linkPlace(l peers.Link) page.LinkPlace {
	out := page.LinkPlace{Name: cut(Shown(l.Path), 200), Sends: l.Role == peers.Sender, Manages: l.Role == peers.Manager}
	if _, err := engine.ParsePath(string(l.Path), p.b.Limits()); err == nil {
		out.Href = p.EntityURL(engine.Queue, l.Path)
	}
	return out
}

func (p *Pages) connection(ctx context.Context, at Place) (view.Page, uint64, error) {
	var v clientSight
	var c peers.Connection
	ok := false
	if p.o.Peers != nil {
		c, ok = p.o.Peers.Connection(at.Peer, linksShown)
	}
	s, err := p.look(ctx, func(r broker.Reader) error {
		v = seeClient(r, c)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Connection{All: p.URL(Place{Namespace: at.Namespace, Kind: Connections}), Gone: !ok}
	if !ok {
		m.Shell = p.shell(ctx, at, s, locale.T(ctx, "connections.one"))
		return m, s.n, nil
	}
	m.Shell, m.Row = p.shell(ctx, at, s, ClientName(c)), p.connectionRow(c, s.now)
	m.Container = cut(c.Container, longestShown)
	m.Row.Name = ClientName(c)
	m.Platform, m.WebSocket, m.Heard, m.Sessions = cut(c.Platform, longestShown), c.WebSocket, c.Heard, c.Sessions
	m.FramesIn, m.FramesOut, m.BytesIn, m.BytesOut = c.FramesIn, c.FramesOut, int64(c.BytesIn), int64(c.BytesOut)
	keys := map[string]int{}
	for _, l := range c.Links {
		key := fmt.Sprintf("%d %s %s", l.Since.UnixMicro(), l.Role, l.Name)
		if keys[key]++; keys[key] > 1 {
			key += fmt.Sprint(" ", keys[key])
		}
		r := page.LinkRow{
			Key: key, Place: p.linkPlace(l), Name: l.Name, Identifier: l.Identifier, Waits: l.Waits, Holds: l.Holds, Credit: l.Credit, Ahead: l.Ahead,
			Unsettled: l.Unsettled, Locks: l.Locks, Messages: l.Messages, Since: l.Since, Now: s.now.Time(),
			Rate: p.tempo.rate(c.ID+" "+key, l.Messages, s.now), Kind: linkKind(l),
		}
		e, ok := v.at[l.Path.Entity()]
		if ok {
			r.Place.Href = p.EntityURL(e.Kind, l.Path)
		}
		if l.Holds {
			r.Session = component.SessionName(ctx, l.Session)
			r.SessionHref = p.SessionURL(e.Kind, l.Path, l.Session)
			r.Hold = sessionHold(v.umbrellas[umbrella{l.Path, l.Session}], e, s.now)
		}
		m.Links = append(m.Links, r)
	}
	m.Left = max(0, c.Attached-len(c.Links))
	p.fillHeld(&m, v, s.now)
	return Refreshing{m, connectionsFresh}, s.n, nil
}

func linkKind(l peers.Link) page.LinkKind {
	switch {
	case l.Role == peers.Sender:
		return page.LinkSends
	case l.Role == peers.Manager:
		return page.LinkManages
	case l.Deletes:
		return page.LinkDeletes
	default:
		return page.LinkReceives
	}
}

// askDisconnect asks before a client's connection is closed.
func (p *Pages) askDisconnect(ctx context.Context, at Place, t Typed) (view.Page, error) {
	var c peers.Connection
	ok := false
	if p.o.Peers != nil {
		c, ok = p.o.Peers.Connection(at.Peer, 0)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %w", ErrNoPage, peers.ErrOver)
	}
	return page.Disconnect{
		Shell: p.still(ctx, at, ClientName(c)), Name: ClientName(c), SDK: kitName(c.Kit), To: p.URL(at), Cancel: p.cancel(at, t),
		Links: c.Attached, Locks: c.Locks,
	}, nil
}

// holder is who holds a lock, as people are told, and where that client is shown;
// empty: nowhere. Locks outlive connections.
func (p *Pages) holder(ctx context.Context, actor string) (name, href string) {
	name, href, gone := p.client(ctx, actor)
	if gone {
		name = locale.T(ctx, "holder.gone", locale.Args{"Who": name})
	}
	return name, href
}

// client is who an actor is, as people are told, and where that is shown; empty:
// nowhere. Gone is a client that stayed connected and does not any more.
func (p *Pages) client(ctx context.Context, actor string) (name, href string, gone bool) {
	own, ofWire := cutPrefix(actor)
	if p.o.Peers == nil || !ofWire {
		return hand(ctx, actor), "", false
	}
	c, known := p.o.Peers.Client(actor)
	if !known {
		return own, "", true
	}
	own = cut(cmp.Or(c.Application, own), briefName)
	if sdk := c.SDK.Name(); sdk != "" {
		own += " · " + sdk
	}
	if c.ID == "" {
		return own, "", true
	}
	return own, p.connectionURL(c.ID), false
}

// cutPrefix is what a client that stays connected calls itself.
func cutPrefix(actor string) (name string, ok bool) {
	if len(actor) <= len(peers.Prefix) || actor[:len(peers.Prefix)] != peers.Prefix {
		return "", false
	}
	return cut(actor[len(peers.Prefix):], briefName), true
}

// attached is who is at an entity: its receivers, or its senders.
func (p *Pages) attached(path engine.Path) (receivers, senders []page.Guest, more string) {
	if p.o.Peers == nil {
		return nil, nil, ""
	}
	list := p.o.Peers.Connections(peers.Query{Entity: path, Limit: connectionsOnPage, Links: 16})
	for _, c := range list.Connections {
		g := page.Guest{Name: cut(ClientName(c), briefName), SDK: c.SDK.Name(), Href: p.connectionURL(c.ID)}
		var receives, sends bool
		for _, l := range c.Links {
			receives = receives || l.Role == peers.Receiver && l.At(path)
			sends = sends || l.Role == peers.Sender && l.At(path)
		}
		if receives {
			receivers = append(receivers, g)
		}
		if sends {
			senders = append(senders, g)
		}
	}
	return receivers, senders, p.URL(Place{Namespace: p.b.Name(), Kind: Connections}.with(page.SearchEntity, string(path)))
}
