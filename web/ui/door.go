package ui

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/engine/job"
	"mayfly/engine/rescue"
	"mayfly/engine/scene"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/intake"
	"mayfly/web/keys"
	"mayfly/web/once"
	"mayfly/web/peers"
	"mayfly/web/show"
	"mayfly/web/talk"
)

// Options are what a door is made of. Broker and Pages are needed.
type Options struct {
	Broker *broker.Broker
	Pages  *show.Pages
	Peers  peers.Source  // clients that stay connected; zero: there are none
	Jobs   *job.Jobs     // of Broker, as Pages has them; zero: there are none
	Shelf  *intake.Shelf // files that were sent, as Pages has it; zero: none can be
	Fleet  *fleet.Fleet  // the server's namespaces, as Pages has them; zero: there is this one
	Scenes *scene.Stages // of the server, as Pages has them; zero: there are none
	Rules  *rescue.Rules // of Broker, as Pages has them; zero: there are none
	Forms  *access.Forms // zero: new ones
	Hall   *talk.Hall    // who shows pages to whom, as the hub has it; zero: nobody does
	Links  Links         // by which people look and do nothing else; zero: there are none, and whoever follows may do what all may
	Keys   *keys.Ring    // tokens and links of the server; zero: there are none
	Abroad []string      // where the dashboard listens for other machines, as URLs
	Safe   bool          // what does away with something is refused, whoever asks
	Base   string        // the path the dashboard is served under; empty: the root
	Logger *slog.Logger  // zero: slog.Default
}

// A Door is the dashboard's. It is safe for concurrent use.
type Door struct {
	b      *broker.Broker
	peers  peers.Source
	jobs   *job.Jobs
	shelf  *intake.Shelf
	fleet  *fleet.Fleet
	scenes *scene.Stages
	rescue *rescue.Rules
	pages  *show.Pages
	forms  *access.Forms
	hall   *talk.Hall
	links  Links
	keys   *keys.Ring
	abroad []string
	base   string
	safe   bool
	log    *slog.Logger
	views  views
	undos  undos
	held   holdings
	sends  once.Memory[component.Notice] // what became of forms that sent messages
	made   once.Memory[keys.Key]         // likewise, that made tokens and links
}

// New makes a door; Mount opens it.
func New(o Options) *Door {
	d := &Door{b: o.Broker, peers: o.Peers, jobs: o.Jobs, shelf: o.Shelf, fleet: o.Fleet, scenes: o.Scenes, rescue: o.Rules, pages: o.Pages, forms: o.Forms, hall: o.Hall, links: o.Links, keys: o.Keys, abroad: o.Abroad, base: o.Base, safe: o.Safe, log: cmp.Or(o.Logger, slog.Default())}
	if d.forms == nil {
		d.forms = access.NewForms()
	}
	return d
}

// Mount adds every address of the dashboard to g: requests come without the base path.
func (d *Door) Mount(g *echo.Group) {
	for _, at := range []string{"/", "/n"} {
		g.GET(at, d.home)
	}
	g.GET("/docs/api", func(c echo.Context) error { return c.Redirect(http.StatusFound, d.pages.Home()+"/api") })
	for _, at := range []string{
		"", "/expirations", "/temporary", "/metrics", "/deferred", "/queues", "/topics", "/queues/new", "/topics/new", "/t/:topic/new",
		"/activity", "/search", "/go", "/lab", "/connections", "/connections/:id", "/connections/:id/disconnect",
		"/access", "/access/new", "/access/renew", "/access/remove", "/jobs", "/jobs/new", "/jobs/:id",
		"/alerts", "/alerts/new", "/alerts/:id", "/alerts/:id/edit", "/alerts/:id/remove",
		"/api", "/views", "/views/edit", "/views/delete", "/dead-letters",
		"/templates", "/templates/remove", "/import",
	} {
		g.GET("/n/:ns"+at, d.page)
	}
	d.mountNamespaces(g)
	g.POST("/n/:ns/language", d.sent(d.setLanguage))
	g.GET(layout.SettingsAt, d.settings)
	g.POST(layout.SettingsAt, d.sent(d.setSettings))
	d.mountScenes(g)
	d.mountTalks(g)
	d.mountTokens(g)
	g.GET("/n/:ns/activity/export", d.export)
	g.GET("/n/:ns/definitions", d.definitions)
	g.GET("/n/:ns/access/keys", d.hideKeys)
	g.GET("/n/:ns/lab/new", d.catch)
	g.GET("/n/:ns/alerts/toasts", d.toasts)
	g.POST("/n/:ns/import", d.takeFile)
	g.GET("/n/:ns/definitions/import", d.askDefinitions)
	g.POST("/n/:ns/definitions/import", d.define)
	for at, h := range map[string]handler{
		"/queues": d.create, "/topics": d.create, "/t/:topic/new": d.create,
		"/undo/:word": d.undo, "/safe": d.setSafe,
		"/starter": d.starter, "/tombstones/:id/restore": d.restore, "/lab": d.tryAll,
		"/connections/:id/disconnect": d.disconnect,
		"/views/edit":                 d.editView, "/views/delete": d.deleteView,
		"/jobs/new": d.startJob, "/jobs/:id/cancel": d.onJob, "/jobs/:id/resume": d.onJob, "/jobs/:id/undo": d.onJob,
		"/import/start":     d.startImport,
		"/templates/rename": d.renameTemplate, "/templates/remove": d.removeTemplate,
		"/alerts/new": d.addAlert, "/alerts/try": d.tryAlert, "/alerts/:id/edit": d.editAlert, "/alerts/:id/try": d.tryAlert,
		"/alerts/:id/remove": d.onAlert, "/alerts/:id/on": d.onAlert, "/alerts/:id/off": d.onAlert, "/alerts/:id/test": d.onAlert,
		"/access/new": d.addAccess, "/access/keys": d.showKeys, "/access/renew": d.renewKey, "/access/remove": d.removeAccess,
	} {
		g.POST("/n/:ns"+at, d.post(h))
	}
	for do := range bulks() {
		g.POST("/n/:ns/"+do, d.post(d.bulk))
	}
	for _, entity := range []string{"/n/:ns/q/:queue", "/n/:ns/t/:topic", "/n/:ns/t/:topic/s/:sub"} {
		d.mountEntity(g, entity)
	}
	d.mountMessage(g, "/n/:ns/m/:key")
}

func (d *Door) mountEntity(g *echo.Group, at string) {
	for _, ask := range []string{
		"", "/edit", "/delete", "/send", "/import", "/purge", "/resubmit", "/status", "/session", "/rules/new", "/rules/edit", "/rules/try",
	} {
		g.GET(at+ask, d.page)
	}
	for do, h := range map[string]handler{
		"/edit": d.edit, "/delete": d.deleteEntity, "/send": d.send, "/import/start": d.startImport, "/receive": d.receive, "/purge": d.purge,
		"/touch": d.touch, "/pin": d.pin, "/unpin": d.unpin, "/resubmit": d.resubmitAll,
		"/status": d.setStatus, "/session/receive": d.receiveFrom, "/session/release": d.releaseSession,
		"/session/break": d.breakSession, "/session/state": d.setState, "/session/clear": d.setState,
		"/rules/add": d.addRule, "/rules/remove": d.removeRule,
		"/rules/new": d.newRule, "/rules/edit": d.editRule, "/rules/try": d.tryRule,
	} {
		g.POST(at+do, d.post(h))
	}
	g.POST(at+"/import", d.takeFile)
	for do := range bulks() {
		g.POST(at+"/"+do, d.post(d.bulk))
	}
}

func (d *Door) mountMessage(g *echo.Group, at string) {
	g.GET(at+"/body", d.body)
	for _, ask := range []string{"", "/delete", "/dead-letter", "/cancel", "/extend", "/reschedule", "/resubmit", "/edit"} {
		g.GET(at+ask, d.page)
	}
	for do, h := range map[string]handler{
		"/complete": d.settle, "/abandon": d.settle, "/defer": d.settle, "/dead-letter": d.deadLetter,
		"/delete": d.deleteMessage, "/cancel": d.deleteMessage, "/resubmit": d.resubmit, "/resubmit-copy": d.resubmit, "/edit": d.rewrite,
		"/send-now": d.sendNow, "/reschedule": d.reschedule, "/extend": d.extend, "/return": d.returnToActive,
		"/fetch": d.fetch, "/break-lock": d.breakLock, "/renew": d.renew,
	} {
		g.POST(at+do, d.post(h))
	}
}

// visit gives the request a context in which pages are made for this visitor,
// once. The token and the notice are cookies, so this comes before the answer
// begins.
func (d *Door) visit(c echo.Context) {
	const visited = "ui.visited"
	if c.Get(visited) != nil {
		return
	}
	c.Set(visited, true)
	r := c.Request()
	who := show.Visitor{CSRF: d.forms.Token(c.Response(), r), Looks: layout.LooksAsked(r), Host: (&url.URL{Host: r.Host}).Hostname(), Origin: origin(r)}
	if is := identity.Asking(r); is.Known() && is.Way != identity.Open {
		who.User = userOf(is, d.base)
	}
	if r.Method == http.MethodGet && !beside(r) {
		if n, ok := d.forms.Take(c.Response(), r); ok {
			who.Notice.Tone = component.Tone(n.Tone)
			who.Notice.Title, who.Notice.Detail, _ = strings.Cut(n.Text, "\n")
			who.Notice.Said, who.Notice.Undo = n.Said, n.Undo
			who.Notice.Passes = who.Notice.Tone == component.Plenty
		}
	}
	ctx := view.WithSafety(view.WithBase(locale.With(r.Context(), locale.Asked(r)), d.base), d.Safety(r))
	if role := identity.Asking(r).Role; role != identity.None { // nobody is shown as anybody is: nothing is done for them
		ctx = view.WithMay(ctx, d.May(role))
	}
	locale.Mark(c.Response().Header(), locale.Lang(ctx))
	c.SetRequest(r.WithContext(show.WithVisitor(ctx, who)))
}

// May is what a role may have of the dashboard, by method and address.
func (d *Door) May(role identity.Role) func(method, href string) bool {
	return func(method, href string) bool { return May(role, d.base, method, href) }
}

// origin is how the visitor reaches the server, as far as can be known.
func origin(r *http.Request) string {
	if r.TLS != nil || strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https") {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (d *Door) home(c echo.Context) error { return c.Redirect(http.StatusFound, d.pages.Home()) }

// place is what the request's address names.
func (d *Door) place(c echo.Context) (show.Place, error) {
	u := c.Request().URL
	raw := u.EscapedPath()
	if u.RawQuery != "" {
		raw += "?" + u.RawQuery
	}
	return d.pages.Parse(raw) //nolint:wrapcheck // it says what it is about
}

// page serves whatever is looked at.
func (d *Door) page(c echo.Context) error {
	d.visit(c)
	at, err := d.place(c)
	if err != nil {
		return err
	}
	p, _, err := d.pages.At(c.Request().Context(), at)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if live, ok := p.(show.Refreshing); ok {
		p = live.Page
	}
	status := http.StatusOK
	switch m := p.(type) {
	case page.Entity:
		if m.Idle.Clock.Of > 0 {
			d.looked(c, at)
		}
	case page.Message:
		if m.Missing {
			status = http.StatusNotFound
		} else if beside(c.Request()) {
			return d.write(c, status, m.Drawer())
		}
	case page.GoTo:
		if beside(c.Request()) {
			return d.write(c, status, m.Found())
		}
	case page.Connection:
		if m.Gone {
			status = http.StatusNotFound
		}
	case page.Session:
		if beside(c.Request()) {
			return d.write(c, status, m.Drawer())
		}
	case page.ViewForm:
		if beside(c.Request()) {
			return d.write(c, status, m.Drawer())
		}
	}
	return d.show(c, status, p)
}

// beside says whether the script asks for what it shows beside another page,
// and not for a page.
func beside(r *http.Request) bool { return r.URL.Query().Get("drawer") != "" || over(r) }

// The script asks with overHeader for what it shows over a page: the form of one
// that asks, or what became of that form. Where this leads elsewhere it is told so
// by goHeader, and goes there itself.
const (
	overHeader = "Mayfly-Dialog"
	goHeader   = "Mayfly-Go"
)

func over(r *http.Request) bool { return r.Header.Get(overHeader) != "" }

// show answers with a page, or with what the script shows of it over another.
func (d *Door) show(c echo.Context, status int, p view.Page) error {
	if asks, ok := p.(view.Asker); ok && over(c.Request()) {
		return d.write(c, status, asks.Asks())
	}
	return d.write(c, status, p.Full())
}

// handOver has the script follow a redirect: the page that it leads to is for the
// window, and what was left for that page too.
func handOver(c echo.Context) {
	w := c.Response()
	w.Before(func() {
		if to := w.Header().Get(echo.HeaderLocation); to != "" && w.Status == http.StatusSeeOther {
			w.Header().Del(echo.HeaderLocation)
			w.Header().Set(goHeader, to)
			w.Status = http.StatusNoContent
		}
	})
}

// write renders before it answers, so that a failure still has its status.
func (d *Door) write(c echo.Context, status int, f templ.Component) error {
	var b bytes.Buffer
	if err := f.Render(c.Request().Context(), &b); err != nil {
		return err //nolint:wrapcheck // templ says where
	}
	return c.HTMLBlob(status, b.Bytes())
}

// form answers with a form, filled in as it was sent.
func (d *Door) form(c echo.Context, status int, at show.Place, t show.Typed) error {
	t.Cancel = d.backOr(c, "")
	p, err := d.pages.Form(c.Request().Context(), at, t)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.show(c, status, p)
}

// actor is who the broker is told does it.
func actor(c echo.Context) string {
	if name := identity.Asking(c.Request()).Name; name != "" {
		return name
	}
	host, _, err := net.SplitHostPort(c.Request().RemoteAddr)
	if err != nil {
		return "dashboard"
	}
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsLoopback() {
		return "dashboard"
	}
	return "dashboard " + host
}

// done redirects to where the form came from, else to another address, and
// leaves a word for the page there.
func (d *Door) done(c echo.Context, other string, n component.Notice) error {
	return d.goTo(c, d.backOr(c, other), n)
}

func (d *Door) goTo(c echo.Context, to string, n component.Notice) error {
	if n.Tone == "" {
		n.Tone = component.Plenty
	}
	text := n.Title
	if n.Detail != "" {
		text += "\n" + n.Detail
	}
	d.forms.Leave(c.Response(), access.Notice{Tone: string(n.Tone), Text: text, Said: n.Said, Undo: n.Undo})
	return c.Redirect(http.StatusSeeOther, to)
}

// backOr is the address a form says it came from, if it is one of ours that is
// looked at, else other. Nobody is led anywhere else.
func (d *Door) backOr(c echo.Context, other string) string {
	back := c.Request().PostFormValue("back")
	raw, ok := strings.CutPrefix(back, d.base)
	if !ok || back == "" {
		return other
	}
	if beside := []string{layout.SettingsAt, "/scenes", "/namespaces", layout.TokensAt, layout.TokensAt + "/new", layout.TokensAt + "/link"}; slices.Contains(beside, raw) {
		return back // of no namespace
	}
	if u, err := url.Parse(raw); err != nil || u.IsAbs() || u.Host != "" {
		return other
	}
	at, err := d.pages.Parse(raw)
	if err != nil || at.Do != "" {
		return other
	}
	return d.pages.URL(at)
}

// A handler acts on a form that was sent from a page of ours.
type handler func(c echo.Context, at show.Place, typed url.Values) error

// sentMost bounds a form, in bytes: a message of the largest size, escaped, and
// what stands beside it.
func (d *Door) sentMost() int64 {
	return 3*d.b.Limits().MessageSize + 1<<20
}

// post reads a form within limits, and checks that it is one of ours.
func (d *Door) post(h handler) echo.HandlerFunc {
	return d.sent(func(c echo.Context, typed url.Values) error {
		at, err := d.place(c)
		if err != nil {
			return err
		}
		if err := d.spare(c, at, typed); err != nil {
			return err
		}
		return h(c, at, typed)
	})
}

// sent is post for a form that is of no namespace.
func (d *Door) sent(h func(c echo.Context, typed url.Values) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		d.visit(c)
		r := c.Request()
		r.Body = http.MaxBytesReader(c.Response(), r.Body, d.sentMost())
		if err := r.ParseForm(); err != nil {
			if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
				most := locale.T(r.Context(), "ui.form.large", locale.Args{"Most": component.Bytes(r.Context(), big.Limit)})
				return &show.Refusal{Kind: echo.ErrStatusRequestEntityTooLarge, Text: most}
			}
			return &show.Refusal{Kind: echo.ErrBadRequest, Text: locale.T(r.Context(), "ui.form.unread")}
		}
		if err := d.forms.Check(r); err != nil {
			return err //nolint:wrapcheck // it is shown as it is
		}
		if over(r) {
			handOver(c)
		}
		return h(c, r.PostForm)
	}
}
