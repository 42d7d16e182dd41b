package page

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Connections is the page of clients that stay connected.
type Connections struct {
	Shell  layout.Shell
	Lede   []component.Text
	Rows   []ConnectionRow
	Entity string // only clients at it are shown; empty: all
	Clear  string // address without that
	Wrong  string // why the entity cannot be looked for; empty: it can
	All    int    // connections there are, whatever is shown
	Pages  component.Pages
	Here   string // the page's own address, for the form
	Start  string // where connection strings are; empty: nowhere
}

// ConnectionRow is one client that stays connected.
type ConnectionRow struct {
	Key    string
	Href   string
	End    string // address that disconnects it
	Name   string // what it calls itself, else its address
	SDK    string // "Python SDK 7.14.3"; what it says its product is, if it is none of these
	Remote string
	Secure bool
	At     []LinkPlace // the first entities that it has links to
	More   int         // links that are not among these

	Links, Credit, Unsettled, Locks int

	In, Out Rate // messages a second, from the client and to it
	Since   time.Time
	Now     time.Time
}

// A LinkPlace is an entity that a client has a link to, and what it does there.
type LinkPlace struct {
	Name, Href string
	Sends      bool
	Manages    bool // it asks for its $management
}

// A Rate is a number a second; not Known: it is being measured.
type Rate struct {
	N     float64
	Known bool
}

func (r Rate) text(ctx context.Context) string {
	if !r.Known {
		return locale.T(ctx, "connections.measuring")
	}
	return figure(ctx, r.N)
}

// SearchEntity is the name under which an address says of which entity clients
// are shown.
const SearchEntity = "entity"

// Full is the page.
func (m Connections) Full() templ.Component { return connections(m) }

// Watches is none: connections come and go without an event.
func (m Connections) Watches() []string { return []string{noEntity} }

// noEntity is what no entity is called, so that no event concerns it.
const noEntity = "$connections"

// Parts is what is live in the page.
func (m Connections) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("lede", component.Lede(m.Lede)),
		list("rows", m.Rows, func(r ConnectionRow) view.Row { return view.Row{Key: r.Key, Content: connectionRow(r)} }),
		slot("empty", connectionsEmpty(m)),
		slot("pages", pager(m.Pages)),
	)
}

// Connection is the page of one client that stays connected, or did.
type Connection struct {
	Shell layout.Shell
	All   string // address of all connections
	Gone  bool   // it is over; what follows is then empty
	Row   ConnectionRow

	Container string // what the library calls the connection; empty: nothing
	Platform  string
	WebSocket bool
	Heard     time.Time
	Sessions  int // of AMQP

	FramesIn, FramesOut uint64
	BytesIn, BytesOut   int64

	Links []LinkRow
	Left  int // links that are not shown

	Held     []HeldRow // messages that it has locked
	HeldMore bool      // there may be more
}

// HeldRow is a message that a client has locked.
type HeldRow struct {
	Key    string
	Href   string
	Number int64
	What   string    // the message's subject or id; empty: it has none
	Place  LinkPlace // where it is
	Hold   component.Hold
	Now    time.Time
}

// LinkRow is one end of a client at an entity.
type LinkRow struct {
	Key        string
	Place      LinkPlace
	Kind       LinkKind
	Name       string // the client's own name for it
	Identifier string // what its program calls the sender or receiver; empty: nothing

	Waits       bool           // for a session
	Holds       bool           // a session
	Hold        component.Hold // the lock on that; zero: not known
	Session     string         // as it is written
	SessionHref string

	Credit, Ahead, Unsettled, Locks int

	Messages uint64
	Rate     Rate
	Since    time.Time
	Now      time.Time
}

// A LinkKind is what a client does on a link.
type LinkKind string

// The kinds of links.
const (
	LinkReceives LinkKind = "receives"
	LinkDeletes  LinkKind = "deletes" // it receives and deletes
	LinkSends    LinkKind = "sends"
	LinkManages  LinkKind = "manages"
)

// words is the id of what the kind is called.
func (k LinkKind) words() string {
	switch k {
	case LinkDeletes:
		return "connections.kind.deletes"
	case LinkSends:
		return "connections.kind.sends"
	case LinkManages:
		return "connections.kind.manages"
	default:
		return "connections.kind.receives"
	}
}

// Full is the page.
func (m Connection) Full() templ.Component { return connection(m) }

// Watches is none: links come and go without an event.
func (m Connection) Watches() []string { return []string{noEntity} }

// Parts is what is live in the page.
func (m Connection) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("over", connectionOver(m)),
		slot("facts", connectionFacts(m)),
		list("links", m.Links, func(r LinkRow) view.Row { return view.Row{Key: r.Key, Content: linkRow(r)} }),
		slot("empty", linksEmpty(m)),
		list("held", m.Held, func(r HeldRow) view.Row { return view.Row{Key: r.Key, Content: heldRow(r)} }),
		slot("held-more", heldMore(m)),
	)
}

// Disconnect asks before a client's connection is closed. It stands still.
type Disconnect struct {
	Shell  layout.Shell
	Name   string // of the client
	SDK    string
	To     string // the address it posts to
	Cancel string // where Cancel leads
	Links  int
	Locks  int
}

// Full is the page.
func (m Disconnect) Full() templ.Component { return disconnect(m) }

// Asks is the form of the page.
func (m Disconnect) Asks() templ.Component { return disconnectForm(m) }

// Watches is none.
func (m Disconnect) Watches() []string { return nil }

// Parts is the shell's: the question stands still.
func (m Disconnect) Parts() []view.Part { return m.Shell.Parts() }

func connectionColumns() []heading {
	return []heading{
		{name: "connections.client", class: "name"},
		{name: "connections.at", class: ""},
		{name: "connections.credit", class: "num opt"},
		{name: "connections.unsettled", class: "num"},
		{name: "connections.locks", class: "num"},
		{name: "connections.in", class: "num"},
		{name: "connections.out", class: "num"},
		{name: "connections.since", class: "opt"},
		{name: "connections.do", class: "menu"},
	}
}

func linkColumns() []heading {
	return []heading{
		{name: "connections.link", class: "name"},
		{name: "connections.session", class: ""},
		{name: "connections.credit", class: "num"},
		{name: "connections.ahead", class: "num opt"},
		{name: "connections.unsettled", class: "num"},
		{name: "connections.locks", class: "num"},
		{name: "connections.messages", class: "num"},
		{name: "connections.rate", class: "num"},
		{name: "connections.attached", class: "opt"},
	}
}

func heldColumns() []heading {
	return []heading{
		{name: "connections.held.what", class: "name"},
		{name: "connections.held.at", class: ""},
		{name: "column.lock", class: ""},
		{name: "connections.held.since", class: ""},
	}
}

func (m Connection) name(ctx context.Context) string {
	if m.Gone {
		return locale.T(ctx, "connections.one")
	}
	return m.Row.Name
}

// way is how the client's bytes come.
func (m Connection) way(ctx context.Context) string {
	way := "AMQP"
	if m.WebSocket {
		way = locale.T(ctx, "connections.websocket")
	}
	if m.Row.Secure {
		way += " · " + locale.T(ctx, "connections.tls")
	}
	return way
}
