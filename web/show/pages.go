// Package show makes the pages of the dashboard from the state of the broker: view models with
// every number, sentence and address, used both by the handler that serves a page and by the
// hub that pushes its parts. It keeps some recent events in memory, see RecentEvents; older ones
// come from the store's history, if it has one, so that pages show the same after a restart.
//
// A page is made in one turn of the broker, so that its numbers agree with each other and with
// the event number it carries. Only expensive summaries may be up to a second older, see
// summaryCache and expiryCache. Viewing never counts as use of an entity (DEC-6).
package show

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/search/suggest"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
	"mayfly/web/auth"
	"mayfly/web/connections"
	"mayfly/web/docs"
	"mayfly/web/exchange"
	"mayfly/web/openapi"
	"mayfly/web/webhook"
)

// Options configure pages.
type Options struct {
	Base     string // base path of the dashboard; empty means the root
	Build    string // of the program, for the script
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
	Jobs       *job.Jobs          // of the broker; nil if there are none
	AlertRules *alert.Rules       // of the broker; nil if there are none
	Webhooks   *webhook.Sender    // of Rules; nil if there are none
	Uploads    *exchange.Uploads  // uploaded files; nil means that uploads are off
	Namespaces NamespaceInfo
	Scenes     *demo.Player  // of the server; nil if there are none
	Docs       *docs.Library // nil if there are no pages
	Logger     *slog.Logger
}

// Pages makes the dashboard's pages. It is safe for concurrent use.
type Pages struct {
	b        *broker.Broker
	o        Options
	table    *Table
	events   *RecentEvents
	suggests *suggest.Suggester
	states   sync.Map // what pages keep, by its type; see State

	apiDocument func() *openapi.Document // built once
}

// Open starts recording events, for pages at the addresses of t. Call Close when done.
func Open(b *broker.Broker, t *Table, o Options) *Pages {
	return &Pages{b: b, o: o, table: t, suggests: suggest.New(b), apiDocument: sync.OnceValue(o.Document), events: startRecent(b, cmp.Or(o.Logger, slog.Default()))}
}

// Close stops recording events and waits until that has ended. Pages can still be opened, but
// do not show new events.
func (p *Pages) Close() { p.events.close() }

// Refreshing is a page that changes with time alone, in ways that browsers cannot compute:
// rates fall, messages move to other buckets of the horizon.
type Refreshing struct {
	view.Page
	Every time.Duration
}

// Refresh returns how long the rendered page stays valid without events.
func (r Refreshing) Refresh() time.Duration { return r.Every }

// A Visitor is the viewer that a page is made for. The context carries the language, as
// package locale does, and what they may see, as package auth does.
type Visitor struct {
	CSRF       string
	Host       string // host name that the visitor uses for the server, without a port; empty if unknown
	Origin     string // the same with scheme and port: http://127.0.0.1:8080; empty if unknown
	Appearance layout.Appearance
	Notice     component.Notice
	User       layout.User // zero means that the server has no sign-in
}

type visitorKey struct{}

// isConfined reports whether the viewer may see only one namespace, and nothing of the whole
// server.
func isConfined(ctx context.Context) bool { return auth.FromContext(ctx).Namespace != "" }

// WithVisitor returns a context for opening pages for v. Pages opened without a visitor
// contain nothing personal and can be shared.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
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
		return r.Get(p, ctx, at)
	}
	page, err := p.Form(ctx, at, FormState{})
	return page, 0, err
}

// historyRetention returns how long history is kept, or zero if that is unknown or there is no
// history.
func (p *Pages) historyRetention() time.Duration {
	if !p.b.HasHistory() {
		return 0
	}
	return p.o.HistoryFor
}

// Route returns the route of at, or nil if there is none.
func (p *Pages) Route(at Address) *Route { return p.table.Route(at) }

// State returns the T of p, which is zero at first: the cache of a page, for all its viewers.
func State[T any](p *Pages) *T {
	kept, _ := p.states.LoadOrStore(reflect.TypeFor[T](), new(T))
	return kept.(*T) //nolint:forcetypeassert // kept by its type
}

// URL returns the address of a place, including the base path.
func (p *Pages) URL(at Address) string { return p.o.Base + at.String() }

// Home returns the address of the overview, including the base path.
func (p *Pages) Home() string { return p.o.Base + "/n/" + url.PathEscape(p.b.Name()) }

// EntityURL returns the address of an entity's page, including the base path; for a
// dead-letter or transfer subqueue, of that tab of its entity.
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
func (p *Pages) MessageURL(k engine.Key) string { return p.Home() + "/m/" + keyText(k) }

// UndoURL returns the address that undoes an action, including the base path.
func (p *Pages) UndoURL(word string) string {
	return p.URL(Address{Namespace: p.b.Name(), Kind: Undo, StringID: word})
}

// A snapshot is what every page learns when it reads the broker.
type snapshot struct {
	event uint64
	now   engine.Instant
}

// read reads the broker in one turn, and waits until events up to then are recorded here.
func (p *Pages) read(ctx context.Context, see func(broker.Reader) error) (snapshot, error) {
	var s snapshot
	err := p.b.Read(ctx, func(r broker.Reader) error {
		s = snapshot{r.N, r.Now}
		return see(r)
	})
	if err != nil {
		return s, err
	}
	p.events.waitFor(ctx, s.event)
	return s, nil
}

// liveShell returns the shell of a live page.
func (p *Pages) liveShell(ctx context.Context, at Address, s snapshot, title string) layout.Shell {
	sh := p.staticShell(ctx, at, title)
	sh.Live = layout.Live{URL: at.String(), N: s.event, Epoch: p.b.Epoch(), Now: s.now.Time(), Build: p.o.Build}
	if is := p.b.ClockState(); is != (broker.ClockState{Rate: 1}) {
		sh.Live.Pace = layout.Pace{Turned: true, Rate: is.Rate, Until: is.Until.Time()}
	}
	return sh
}

// staticShell returns the shell of a page that is not live.
func (p *Pages) staticShell(ctx context.Context, at Address, title string) layout.Shell {
	who, _ := ctx.Value(visitorKey{}).(Visitor)
	sh := layout.Shell{
		Namespace: p.b.Name(), Home: p.Home(), Title: title, Active: p.section(at),
		Appearance: who.Appearance, Settings: p.SettingsURL(), Docs: p.DocsURL(), CSRF: who.CSRF, Notice: who.Notice, User: who.User,
		Back: p.URL(at), Banner: p.banner(ctx), Jobs: p.jobsStatus(),
	}
	p.addNamespaceMenu(&sh)
	p.addSceneBar(ctx, &sh)
	if isConfined(ctx) { // they may not see what belongs to all namespaces
		sh.Namespaces, sh.AllNamespaces, sh.Scenes, sh.Settings = nil, "", "", ""
	}
	return sh
}

// section returns the current section of the navigation.
func (p *Pages) section(at Address) layout.Section {
	switch r := p.Route(at); {
	case r == nil:
		return ""
	case r.Kind != Entity && r.Kind != Session:
		return r.Section
	case at.EntityType == engine.Queue:
		return layout.Queues
	default:
		return layout.Topics
	}
}
