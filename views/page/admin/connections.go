package admin

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Connections is the page of connected clients.
type Connections struct {
	Shell  layout.Shell
	Lede   []component.Text
	Rows   []ConnectionRow
	Entity string // only clients with links to it are shown; empty means all
	Clear  string // address without this filter
	Wrong  string // error of Entity; empty means none
	All    int    // number of connections, whatever the filter
	Pages  component.Pages
	Here   string // address of the page, for the form
	Start  string // address of the connection strings; empty means none
}

// ConnectionRow is a connected client in the list.
type ConnectionRow struct {
	Key     string
	Href    string
	End     string // address that disconnects the client
	Name    string // the name that it gives itself, else its address
	SDK     string // "Python SDK 7.14.3"; for other clients, the product name they report
	Remote  string
	Secure  bool
	Targets []page.LinkTarget // the first entities of its links
	More    int               // links that are not among these

	Links, Credit, Unsettled, Locks int

	In, Out Rate // messages per second, from the client and to it
	Since   time.Time
	Now     time.Time
}

// A Rate is a number per second. It is not Known until it has been measured.
type Rate struct {
	N     float64
	Known bool
}

func (r Rate) text(ctx context.Context) string {
	if !r.Known {
		return locale.T(ctx, "connections.measuring")
	}
	return page.Figure(ctx, r.N)
}

// SearchEntity is the query parameter that filters clients by entity.
const SearchEntity = "entity"

// Full returns the whole page.
func (m Connections) Full() templ.Component { return connections(m) }

// Watches returns NoEntity: connections have no events, so no event updates the page. It is read
// again at intervals while it is open.
func (m Connections) Watches() []string { return []string{page.NoEntity} }

// Parts returns the live parts of the page.
func (m Connections) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("lede", component.Lede(m.Lede)),
		page.List("rows", m.Rows, func(r ConnectionRow) view.Row { return view.Row{Key: r.Key, Content: connectionRow(r)} }),
		page.Slot("empty", connectionsEmpty(m)),
		page.Slot("pages", page.Pager(m.Pages)),
	)
}

// Connection is the page of a client that is or was connected.
type Connection struct {
	Shell layout.Shell
	All   string // address of all connections
	Gone  bool   // the connection is closed; then the following fields are empty
	Row   ConnectionRow

	Container string // container id; empty means none
	Platform  string
	WebSocket bool
	LastFrame time.Time
	Sessions  int // of AMQP

	FramesIn, FramesOut uint64
	BytesIn, BytesOut   int64

	WaitingForMemory int   // receivers that wait for memory
	Memory           int64 // bytes held for its links and unsettled deliveries

	Links []LinkRow
	Left  int // links that are not shown

	Locked     []LockedRow // messages that it has locked
	MoreLocked bool        // there may be more
}

// LockedRow is a message that a client has locked.
type LockedRow struct {
	Key    string
	Href   string
	Number int64
	What   string          // subject or id; empty if it has neither
	Entity page.LinkTarget // the entity it is in
	Hold   component.LockInfo
	Now    time.Time
}

// LinkRow is a link of a client in the list.
type LinkRow struct {
	Key        string
	Target     page.LinkTarget
	Kind       LinkKind
	Name       string // given by the client
	Identifier string // name of the sender or receiver in its program; empty means none

	WaitsForMemory  bool               // waits for memory
	WaitsForSession bool               // waits for a session
	HasSession      bool               // holds a session
	Hold            component.LockInfo // lock on that session; zero if unknown
	Session         string             // session id, as shown
	SessionHref     string

	Credit, Prefetched, Unsettled, Locks int

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
	LinkDeletes  LinkKind = "deletes" // receive-and-delete mode
	LinkSends    LinkKind = "sends"
	LinkManages  LinkKind = "manages"
)

// words returns the text id of the kind.
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

// Full returns the whole page.
func (m Connection) Full() templ.Component { return connection(m) }

// NotFound reports whether the connection is closed.
func (m Connection) NotFound() bool { return m.Gone }

// Watches returns NoEntity: links have no events, so no event updates the page. It is read again at
// intervals while it is open.
func (m Connection) Watches() []string { return []string{page.NoEntity} }

// Parts returns the live parts of the page.
func (m Connection) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("over", connectionOver(m)),
		page.Slot("facts", connectionFacts(m)),
		page.List("links", m.Links, func(r LinkRow) view.Row { return view.Row{Key: r.Key, Content: linkRow(r)} }),
		page.Slot("empty", linksEmpty(m)),
		page.List("held", m.Locked, func(r LockedRow) view.Row { return view.Row{Key: r.Key, Content: lockedRow(r)} }),
		page.Slot("held-more", lockedMore(m)),
	)
}

// ConfirmDisconnect asks to confirm closing a client's connection. It is not live.
type ConfirmDisconnect struct {
	Shell  layout.Shell
	Name   string // of the client
	SDK    string
	To     string // the address it posts to
	Cancel string // target of Cancel
	Links  int
	Locks  int
}

// Full returns the whole page.
func (m ConfirmDisconnect) Full() templ.Component { return confirmDisconnect(m) }

// Dialog returns the form of the page.
func (m ConfirmDisconnect) Dialog() templ.Component { return confirmDisconnectForm(m) }

// Watches returns nil, because the page is not live.
func (m ConfirmDisconnect) Watches() []string { return nil }

// Parts returns the shell's parts: the confirmation form is not live.
func (m ConfirmDisconnect) Parts() []view.Part { return m.Shell.Parts() }

var connectionColumns = []page.Heading{
	{Name: "connections.client", Class: "name"},
	{Name: "connections.at", Class: ""},
	{Name: "connections.credit", Class: "num opt"},
	{Name: "connections.unsettled", Class: "num"},
	{Name: "connections.locks", Class: "num"},
	{Name: "connections.in", Class: "num"},
	{Name: "connections.out", Class: "num"},
	{Name: "connections.since", Class: "opt"},
	{Name: "connections.do", Class: "menu"},
}

var linkColumns = []page.Heading{
	{Name: "connections.link", Class: "name"},
	{Name: "connections.session", Class: ""},
	{Name: "connections.credit", Class: "num"},
	{Name: "connections.ahead", Class: "num opt"},
	{Name: "connections.unsettled", Class: "num"},
	{Name: "connections.locks", Class: "num"},
	{Name: "connections.messages", Class: "num"},
	{Name: "connections.rate", Class: "num"},
	{Name: "connections.attached", Class: "opt"},
}

var heldColumns = []page.Heading{
	{Name: "connections.held.what", Class: "name"},
	{Name: "connections.held.at", Class: ""},
	{Name: "column.lock", Class: ""},
	{Name: "connections.held.since", Class: ""},
}

func (m Connection) name(ctx context.Context) string {
	if m.Gone {
		return locale.T(ctx, "connections.one")
	}
	return m.Row.Name
}

// way returns how the client is connected.
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
