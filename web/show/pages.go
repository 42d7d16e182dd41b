// Package show turns the state of the broker into the pages of the dashboard:
// view models with every number, sentence and address in them, for the handler
// that serves a page and the hub that pushes its parts alike. It also remembers
// a little of what happened, see Recent; the rest it asks the history for, if
// the store has one: what a page can tell is then the same after a restart.
//
// A page is made in one turn of the broker, so that its numbers agree with each
// other and with the event number it carries. Only what takes long to sum up is
// up to a second older, see deaths and board. Looking never counts as use of an
// entity (DEC-6).
package show

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/rescue"
	"mayfly/engine/scene"
	"mayfly/engine/suggest"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
	"mayfly/web/hook"
	"mayfly/web/identity"
	"mayfly/web/intake"
	"mayfly/web/openapi"
	"mayfly/web/peers"
)

// Options are what pages say beside the broker's state.
type Options struct {
	Base  string // the path the dashboard is served under; empty: the root
	Build string // of the program, for the script
	Data  string // where messages are kept, for people; empty: in memory
	API   string // the address of the JSON API, without a slash at the end; empty: no lines for the shell
	REST  string // the address of the REST door, without a slash at the end; empty: no lines for the shell
	// Connection and AdminConnection are what SDKs on this machine are given, for
	// messages and for entities; empty: nothing.
	Connection, AdminConnection string
	// Keyed is set where tokens of clients are asked for: the word KEY stands in
	// connection strings for a key.
	Keyed bool
	// Document is what the JSON API says of itself, made anew by each call; nil: it
	// is not explained.
	Document func() *openapi.Document
	Curl     string // a line for the shell that sends a message though no queue is there; empty: one for REST
	// HistoryFor is how long the store's history is kept, for people; zero: they
	// are not told.
	HistoryFor time.Duration
	Peers      peers.Source  // clients that stay connected; nil: there are none
	Jobs       *job.Jobs     // of the broker; nil: there are none
	Rules      *rescue.Rules // of the broker; nil: there are none
	Hooks      *hook.Sender  // of Rules; nil: there are none
	Shelf      *intake.Shelf // files that were sent; nil: none can be
	Spaces     Spaces
	Scenes     *scene.Stages // of the server; nil: there are none
	Logger     *slog.Logger
}

// Pages makes the dashboard's pages. It is safe for concurrent use.
type Pages struct {
	b        *broker.Broker
	o        Options
	recent   *Recent
	morgue   morgue
	board    board
	found    findings
	lately   chronicles
	sources  sources
	tempo    tempo
	inside   glimpses
	suggests *suggest.Source

	described func() *openapi.Document // once
}

// Start begins to remember what happens. Close ends it.
func Start(b *broker.Broker, o Options) *Pages {
	return &Pages{b: b, o: o, suggests: suggest.New(b), described: sync.OnceValue(o.Document), recent: follow(b, cmp.Or(o.Logger, slog.Default()))}
}

// Close ends the following of events and waits for it. Pages can still be
// opened; they learn of nothing new.
func (p *Pages) Close() { p.recent.close() }

// A Visitor is who a page is made for, beside the language, which the context
// carries as package locale does, and what they may see, which it carries as package
// identity does.
type Visitor struct {
	CSRF   string
	Host   string // by which the visitor reaches the server, without a port; empty: not known
	Origin string // likewise with scheme and port: http://127.0.0.1:8080; empty: not known
	Looks  layout.Looks
	Notice component.Notice
	User   layout.User // zero: the server does not ask who it is
}

type visitorKey struct{}

// within tells whether a page is for somebody who may see one namespace alone, and
// nothing that is of all or of none.
func within(ctx context.Context) bool { return identity.Of(ctx).Within != "" }

// WithVisitor returns a context that pages are opened for v with. Pages opened
// without a visitor are nobody's, and can be shared.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
}

// Open makes the page at an address without the base path. The page includes
// every event up to n. It is ErrNoPage if the address names nothing there could
// be, engine.ErrNotFound or engine.ErrMessageNotFound if the thing is not there
// and nothing is remembered of it.
func (p *Pages) Open(ctx context.Context, raw string) (page view.Page, n uint64, err error) {
	at, err := p.Parse(raw)
	if err != nil {
		return nil, 0, err
	}
	return p.At(ctx, at)
}

// Topic is the one address of a page that is kept up to date, without the base
// path, however raw is written. It is ErrNoPage for what is no page, and for
// forms and searches, which stay as they are.
func (p *Pages) Topic(raw string) (string, error) {
	at, err := p.Parse(raw)
	if err != nil {
		return "", err
	}
	if at.Do != "" || at.Kind == Search || at.Kind == Reference || at.Kind == GoTo || at.Kind == Import {
		return "", fmt.Errorf("%w that is kept up to date: %q", ErrNoPage, cut(raw, 80))
	}
	return at.String(), nil
}

// Parse is Parse for this broker's namespace.
func (p *Pages) Parse(raw string) (Place, error) {
	at, err := Parse(raw, p.b.Limits())
	if err == nil && !strings.EqualFold(at.Namespace, p.b.Name()) {
		return Place{}, fmt.Errorf("%w: the namespace here is %q", ErrNoPage, p.b.Name())
	}
	at.Namespace = p.b.Name()
	return at, err
}

// At makes the page at a place.
func (p *Pages) At(ctx context.Context, at Place) (view.Page, uint64, error) {
	if at.Do != "" {
		return p.form(ctx, at)
	}
	switch at.Kind {
	case Overview:
		return p.overview(ctx, at)
	case Expirations:
		return p.expirations(ctx, at)
	case Queues, Topics:
		return p.entities(ctx, at)
	case Metrics:
		return p.metrics(ctx, at)
	case Temporary:
		return p.temporary(ctx, at)
	case Deferred:
		return p.deferred(ctx, at)
	case Entity:
		return p.entity(ctx, at)
	case Message:
		return p.message(ctx, at)
	case Activity:
		return p.activity(ctx, at)
	case Lab:
		return p.lab(ctx, at)
	case Connections:
		return p.connections(ctx, at)
	case Connection:
		return p.connection(ctx, at)
	case Access:
		return p.access(ctx, at)
	case Session:
		return p.session(ctx, at)
	case Search:
		return p.search(ctx, at)
	case Reference:
		return p.reference(ctx, at)
	case Import:
		page, err := p.Import(ctx, at, Typed{})
		return page, 0, err
	case Templates:
		return p.templates(ctx, at)
	case GoTo:
		return p.goTo(ctx, at)
	case Jobs:
		return p.jobs(ctx, at)
	case Job:
		return p.job(ctx, at)
	case Alerts:
		return p.alerts(ctx, at)
	case Alert:
		return p.alert(ctx, at)
	case Views:
		return p.views(ctx, at)
	case DeadGroups:
		return p.deadGroups(ctx, at)
	default:
		return nil, 0, ErrNoPage
	}
}

// kept is how long the past of things is known; zero: not told, or there is no
// history.
func (p *Pages) kept() time.Duration {
	if !p.b.HasHistory() {
		return 0
	}
	return p.o.HistoryFor
}

// URL is the address of a place, base path included.
func (p *Pages) URL(at Place) string { return p.o.Base + at.String() }

// Home is the address of the overview, base path included.
func (p *Pages) Home() string { return p.o.Base + "/n/" + url.PathEscape(p.b.Name()) }

// EntityURL is the address of an entity's page, base path included; of a
// dead-letter queue or a transfer one, that tab of its entity.
func (p *Pages) EntityURL(kind engine.EntityKind, path engine.Path) string {
	switch {
	case path.IsTransfer():
		return p.Home() + entityAddress(kind, path.Entity()) + "?tab=transfer"
	case path.IsDeadLetter():
		return p.Home() + entityAddress(kind, path.Entity()) + "?tab=dead-letter"
	}
	return p.Home() + entityAddress(kind, path.Entity())
}

// MessageURL is the address of a message's page, base path included.
func (p *Pages) MessageURL(k engine.Key) string { return p.Home() + "/m/" + keyText(k) }

// UndoURL is where what has just been done is taken back, base path included.
func (p *Pages) UndoURL(word string) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Undo, Peer: word})
}

// A sight is what every page learns from the broker when it looks.
type sight struct {
	n   uint64
	now engine.Instant
}

// look reads the broker in one turn, and waits until what happened up to then
// is remembered too.
func (p *Pages) look(ctx context.Context, see func(broker.Reader) error) (sight, error) {
	var s sight
	err := p.b.Read(ctx, func(r broker.Reader) error {
		s = sight{r.N, r.Now}
		return see(r)
	})
	if err != nil {
		return s, err //nolint:wrapcheck // the caller asked for just this
	}
	p.recent.reach(ctx, s.n)
	return s, nil
}

// shell is what stands around a live page.
func (p *Pages) shell(ctx context.Context, at Place, s sight, title string) layout.Shell {
	sh := p.still(ctx, at, title)
	sh.Live = layout.Live{URL: at.String(), N: s.n, Epoch: p.b.Epoch(), Now: s.now.Time(), Build: p.o.Build}
	if is := p.b.Pace(); is != (broker.Pace{Rate: 1}) {
		sh.Live.Pace = layout.Pace{Turned: true, Rate: is.Rate, Until: is.Until.Time()}
	}
	return sh
}

// still is what stands around a page that does not change by itself.
func (p *Pages) still(ctx context.Context, at Place, title string) layout.Shell {
	who, _ := ctx.Value(visitorKey{}).(Visitor)
	sh := layout.Shell{
		Namespace: p.b.Name(), Home: p.Home(), Title: title, Active: at.section(),
		Looks: who.Looks, Settings: p.SettingsURL(), CSRF: who.CSRF, Notice: who.Notice, User: who.User,
		Back: p.URL(at), Banner: p.banner(ctx), Jobs: p.going(),
	}
	p.others(&sh)
	p.stage(ctx, &sh)
	if within(ctx) { // what is of all namespaces is not theirs
		sh.Spaces, sh.AllSpaces, sh.Scenes, sh.Settings = nil, "", "", ""
	}
	return sh
}

// section is where the rail stands.
func (p Place) section() layout.Section {
	switch p.Kind {
	case Overview, Metrics, Reference:
		return layout.Overview
	case Expirations:
		return layout.Expirations
	case Queues:
		return layout.Queues
	case Topics, Lab:
		return layout.Topics
	case Temporary:
		return layout.Temporary
	case Deferred:
		return layout.Deferred
	case Search:
		return layout.Search
	case Activity:
		return layout.Activity
	case Connections, Connection:
		return layout.Connected
	case Access:
		return layout.Access
	case Entity, Session:
		if p.Entity == engine.Queue {
			return layout.Queues
		}
		return layout.Topics
	default:
		return ""
	}
}
