package pages

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/engine/search/suggest"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
	"mayfly/web/auth"
	"mayfly/web/connections"
	"mayfly/web/dashboard/recent"
	"mayfly/web/docs"
	"mayfly/web/exchange"
	"mayfly/web/openapi"
	"mayfly/web/webhook"
)

// Options configure pages.
type Options struct {
	Base     string // base path of the dashboard; empty means the root
	Build    string // build of the program, sent to the script of live pages
	StoredIn string // where messages are stored, for display; empty means in memory
	API      string // address of the JSON API, without a trailing slash; empty means no shell commands
	REST     string // address of the REST API, without a trailing slash; empty means no shell commands
	// Connection and AdminConnection are the connection strings for SDKs on this machine, for
	// messages and for administration; empty means none.
	Connection, AdminConnection string
	// RequiresKeys is set if the server requires tokens of clients: then connection strings contain
	// the word KEY in place of a key.
	RequiresKeys bool
	// Document returns the JSON API's OpenAPI document, built by each call; nil if there is no
	// reference page.
	Document func() *openapi.Document
	Curl     string // shell command that sends a message even if there is no queue; empty means one for REST
	// HistoryFor is how long the store's history is kept, for display; zero if not shown.
	HistoryFor time.Duration
	Clients    connections.Source // connected clients; nil means none
	Jobs       *job.Jobs          // the broker's jobs; nil if there are none
	AlertRules *alert.Rules       // the broker's alert rules; nil if there are none
	Webhooks   *webhook.Sender    // sends the alerts of AlertRules; nil if there are none
	Uploads    *exchange.Uploads  // uploaded files; nil means that uploads are off
	Namespaces NamespaceInfo
	Scenes     *demo.Player  // the server's demo scenes; nil if there are none
	Docs       *docs.Library // the documentation; nil if there is none
	Logger     *slog.Logger
}

// Pages makes the dashboard's pages. It is safe for concurrent use.
type Pages struct {
	Broker   *broker.Broker
	Options  Options
	table    *Table
	Events   *recent.Events
	Suggests *suggest.Suggester
	states   sync.Map // caches of pages, by type; see State

	APIDocument func() *openapi.Document // built once
}

// Open starts recording events, for pages at the addresses of t. Call Close when done.
func Open(b *broker.Broker, t *Table, o Options) *Pages {
	return &Pages{Broker: b, Options: o, table: t, Suggests: suggest.New(b), APIDocument: sync.OnceValue(o.Document), Events: recent.Start(b, cmp.Or(o.Logger, slog.Default()))}
}

// Close stops recording events and waits until that has ended. Pages can still be opened, but
// do not show new events.
func (p *Pages) Close() { p.Events.Close() }

// Refreshing is a page that changes with time alone, in ways that browsers cannot compute:
// rates fall, messages move to other buckets of the horizon.
type Refreshing struct {
	view.Page
	Every time.Duration
}

// Refresh returns how long the rendered page stays valid without events.
func (r Refreshing) Refresh() time.Duration { return r.Every }

// A Visitor is the viewer that a page is made for. The context also carries the viewer's language
// (see package locale) and access (see package auth).
type Visitor struct {
	CSRF       string
	Host       string // host name that the visitor uses for the server, without a port; empty if unknown
	Origin     string // the same with scheme and port: http://127.0.0.1:8080; empty if unknown
	Appearance layout.Appearance
	Notice     component.Notice
	User       layout.User // zero means that the server has no sign-in
}

// A VisitorKey is the key of the Visitor in a context.
type VisitorKey struct{}

// IsConfined reports whether the viewer may see only one namespace, and nothing of the whole
// server.
func IsConfined(ctx context.Context) bool { return auth.FromContext(ctx).Namespace != "" }

// WithVisitor returns a context for opening pages for v. Pages opened without a visitor
// contain nothing personal and can be shared.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, VisitorKey{}, v)
}

// Open returns the page at an address without the base path. The page includes every event up
// to n. The error is ErrPageNotFound for an invalid address, and engine.ErrNotFound or
// engine.ErrMessageNotFound if the entity or message does not exist and nothing is recorded of
// it.
func (p *Pages) Open(ctx context.Context, raw string) (page view.Page, n uint64, err error) {
	at, err := p.Parse(raw)
	if err != nil {
		return nil, 0, err
	}
	return p.Page(ctx, at)
}

// Topic returns the canonical address of a live page, without the base path. The error is
// ErrPageNotFound for an invalid address and for pages that are not live, such as forms and
// searches.
func (p *Pages) Topic(raw string) (string, error) {
	at, err := p.Parse(raw)
	if err != nil {
		return "", err
	}
	if !p.Route(at).Live {
		return "", fmt.Errorf("%w that is kept up to date: %q", ErrPageNotFound, shorten.To(raw, 80))
	}
	return at.String(), nil
}

// Page returns the page of an address.
func (p *Pages) Page(ctx context.Context, at Address) (view.Page, uint64, error) {
	if r := p.Route(at); r != nil && r.Get != nil {
		return r.Get(ctx, p, at)
	}
	page, err := p.Form(ctx, at, FormState{})
	return page, 0, err
}

// HistoryRetention returns how long history is kept, or zero if that is unknown or there is no
// history.
func (p *Pages) HistoryRetention() time.Duration {
	if !p.Broker.HasHistory() {
		return 0
	}
	return p.Options.HistoryFor
}

// Route returns the route of at, or nil if there is none.
func (p *Pages) Route(at Address) *Route { return p.table.Route(at) }

// State returns the value of type T that p keeps, which is zero at first. Pages keep caches there
// that all their viewers share.
func State[T any](p *Pages) *T {
	kept, _ := p.states.LoadOrStore(reflect.TypeFor[T](), new(T))
	return kept.(*T) //nolint:forcetypeassert // kept by its type
}

// URL returns at as text, including the base path.
func (p *Pages) URL(at Address) string { return p.Options.Base + at.String() }

// Home returns the address of the overview, including the base path.
func (p *Pages) Home() string { return p.Options.Base + "/n/" + url.PathEscape(p.Broker.Name()) }

// EntityURL returns the address of an entity's page, including the base path. For a dead-letter or
// transfer subqueue it is the address of the corresponding tab of its entity.
func (p *Pages) EntityURL(kind engine.EntityKind, path engine.Path) string {
	switch {
	case path.IsTransfer():
		return p.Home() + entityAddress(kind, path.Entity()) + "?tab=transfer"
	case path.IsDeadLetter():
		return p.Home() + entityAddress(kind, path.Entity()) + "?tab=dead-letter"
	}
	return p.Home() + entityAddress(kind, path.Entity())
}

// MessageURL returns the address of a message's page, including the base path.
func (p *Pages) MessageURL(k engine.Key) string { return p.Home() + "/m/" + KeyText(k) }

// UndoURL returns the address that undoes an action, including the base path.
func (p *Pages) UndoURL(word string) string {
	return p.URL(Address{Namespace: p.Broker.Name(), Kind: Undo, StringID: word})
}

// A Snapshot identifies a state that a page has read: the number of the last event in it, and the
// broker's time.
type Snapshot struct {
	Event uint64
	Now   engine.Instant
}

// Read calls see in one turn of the broker, and then waits until p.Events has recorded all events
// up to that turn.
func (p *Pages) Read(ctx context.Context, see func(broker.Reader) error) (Snapshot, error) {
	var s Snapshot
	err := p.Broker.Read(ctx, func(r broker.Reader) error {
		s = Snapshot{r.N, r.Now}
		return see(r)
	})
	if err != nil {
		return s, err
	}
	p.Events.WaitFor(ctx, s.Event)
	return s, nil
}

// WithVisitorHost returns a connection string with the host name that this visitor uses: from another
// machine the server is not localhost.
func (p *Pages) WithVisitorHost(ctx context.Context, s string) string {
	who, _ := ctx.Value(VisitorKey{}).(Visitor)
	if who.Host == "" || who.Host == "localhost" {
		return s
	}
	named := !strings.Contains(s, "sb://localhost") // the host name in s selects a namespace
	if ip, err := netip.ParseAddr(who.Host); err == nil && (ip.IsLoopback() || named) {
		return s
	}
	host := who.Host
	switch {
	case strings.HasSuffix(host, ".localhost"):
		return s
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	if named {
		return strings.Replace(s, ".localhost", "."+host, 1)
	}
	return strings.Replace(s, "sb://localhost", "sb://"+host, 1)
}

// AutoDeletion returns the event that automatically deleted an entity, by the epoch and number in
// its address, for the broker's RestoreEntity.
func (p *Pages) AutoDeletion(epoch, n uint64) (engine.Event, bool) {
	for _, g := range p.Events.AutoDeleted() {
		if g.Epoch == epoch && g.N == n {
			return g.Event, true
		}
	}
	return engine.Event{}, false
}

// NamespaceInfo is what pages need to know of the server's namespaces.
type NamespaceInfo struct {
	Namespaces *namespaces.Manager // nil if there is only this namespace, and no page of namespaces
	// Connections returns the connection strings of a namespace, for messages and for
	// administration; nil if unknown.
	Connections func(name string) (messages, admin string)
	// StoredIn returns where a namespace is stored; empty means in memory.
	StoredIn func(namespaces.Spec) string
	// MovedTo returns where the data of a removed namespace is moved; empty means that it is
	// deleted.
	MovedTo func(namespaces.Spec) string
	// Clients returns the connected clients of a namespace; nil if unknown.
	Clients func(name string) connections.Source
}
