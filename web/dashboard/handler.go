package dashboard

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/token"
	"mayfly/web/connections"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
	"mayfly/web/exchange"
	"mayfly/web/idempotency"
	"mayfly/web/presentation"
	"mayfly/web/proxy"
)

// Options are the settings of a Handler. Broker and Pages are required.
type Options struct {
	Broker        *broker.Broker
	Pages         *pages.Pages
	Clients       connections.Source     // connected clients; zero means none
	Jobs          *job.Jobs              // the broker's jobs, as in Pages; zero means none
	Uploads       *exchange.Uploads      // uploaded files, as in Pages; zero means that none can be uploaded
	Namespaces    *namespaces.Manager    // the server's namespaces, as in Pages; zero means that this is the only one
	Scenes        *demo.Player           // the server's demo scenes, as in Pages; zero means none
	AlertRules    *alert.Rules           // the broker's alert rules, as in Pages; zero means none
	Forms         *origin.Forms          // zero means new ones
	Presentations *presentation.Registry // presentations, as in the hub; zero means none
	Links         Links                  // makes read-only links for presentations; zero means that followers get ordinary links
	Tokens        *token.Registry        // tokens and links of the server; zero means none
	PublicURLs    []string               // the dashboard's addresses for other machines, as URLs
	Safe          bool                   // irreversible deletions are refused for all callers
	Base          string                 // the path the dashboard is served under; empty means the root
	Logger        *slog.Logger           // zero means slog.Default
}

// A Handler serves the dashboard. It is safe for concurrent use.
type Handler struct {
	b             *broker.Broker
	clients       connections.Source
	jobs          *job.Jobs
	uploads       *exchange.Uploads
	namespaces    *namespaces.Manager
	scenes        *demo.Player
	alertRules    *alert.Rules
	pages         *pages.Pages
	forms         *origin.Forms
	presentations *presentation.Registry
	links         Links
	tokens        *token.Registry
	publicURLs    []string
	base          string
	safe          bool
	log           *slog.Logger
	viewTimes     viewTimes
	undos         undoStore
	sessionLocks  sessionLocks
	sentForms     idempotency.Cache[component.Notice] // results of forms that sent messages
	createdTokens idempotency.Cache[token.Key]        // results of forms that made tokens and links
}

// New returns a Handler without routes; see Mount.
func New(o Options) *Handler {
	d := &Handler{b: o.Broker, clients: o.Clients, jobs: o.Jobs, uploads: o.Uploads, namespaces: o.Namespaces, scenes: o.Scenes, alertRules: o.AlertRules, pages: o.Pages, forms: o.Forms, presentations: o.Presentations, links: o.Links, tokens: o.Tokens, publicURLs: o.PublicURLs, base: o.Base, safe: o.Safe, log: cmp.Or(o.Logger, slog.Default())}
	if d.forms == nil {
		d.forms = origin.NewForms()
	}
	return d
}

// prepareContext adds to the request's context, once, the visitor, language, Safe mode and
// permissions that pages depend on. It sets the cookies of the form token and the notice, so it
// must be called before the response begins.
func (d *Handler) prepareContext(c echo.Context) {
	const visited = "ui.visited"
	if c.Get(visited) != nil {
		return
	}
	c.Set(visited, true)
	r := c.Request()
	who := pages.Visitor{CSRF: d.forms.Token(c.Response(), r), Appearance: layout.AppearanceOf(r), Host: (&url.URL{Host: r.Host}).Hostname(), Origin: proxy.Origin(r)}
	if is := auth.FromRequest(r); is.IsKnown() && is.Method != auth.Open {
		who.User = displayedUser(is, d.base)
	}
	if r.Method == http.MethodGet && !wantsFragment(r) {
		if n, ok := d.forms.TakeNotice(c.Response(), r); ok {
			who.Notice.Tone = component.Tone(n.Tone)
			who.Notice.Title, who.Notice.Detail, _ = strings.Cut(n.Text, "\n")
			who.Notice.ServerText, who.Notice.Undo = n.Details, n.Undo
			who.Notice.Transient = who.Notice.Tone == component.Plenty
		}
	}
	ctx := view.WithSafeMode(view.WithBase(locale.With(r.Context(), locale.Requested(r)), d.base), d.SafeMode(r))
	if role := auth.FromRequest(r).Role; role != auth.None { // pages hide nothing from an unknown caller, whose requests are refused anyway
		ctx = view.WithPermissions(ctx, d.Allowed(role))
	}
	locale.SetHeader(c.Response().Header(), locale.Lang(ctx))
	c.SetRequest(r.WithContext(pages.WithVisitor(ctx, who)))
}

// Allowed returns a function that reports whether a role may open an address of a page, including
// the base path. Every role may open addresses outside the dashboard.
func (d *Handler) Allowed(role auth.Role) func(method, href string) bool {
	return func(method, href string) bool {
		at, ok := strings.CutPrefix(href, d.base)
		if !ok || role.Includes(auth.Admin) {
			return true
		}
		r := route.Routes().Match(method, at)
		return r == nil || role.Includes(r.RequiredRole(method))
	}
}

func (d *Handler) redirectHome(c echo.Context) error {
	return c.Redirect(http.StatusFound, d.pages.Home())
}

// address parses the request's address.
func (d *Handler) address(c echo.Context) (pages.Address, error) {
	u := c.Request().URL
	raw := u.EscapedPath()
	if u.RawQuery != "" {
		raw += "?" + u.RawQuery
	}
	return d.pages.Parse(raw)
}

// servePage serves the page of a route.
func (d *Handler) servePage(c echo.Context) error {
	p, _, err := d.openPage(c)
	if err != nil {
		return err
	}
	return d.writeOpened(c, p)
}

// openPage returns the page of the request's address.
func (d *Handler) openPage(c echo.Context) (view.Page, pages.Address, error) {
	d.prepareContext(c)
	at, err := d.address(c)
	if err != nil {
		return nil, at, err
	}
	p, _, err := d.pages.Page(c.Request().Context(), at)
	if live, ok := p.(pages.Refreshing); ok {
		p = live.Page
	}
	return p, at, err
}

// writeOpened writes a page, or only the part of it that the script requested.
func (d *Handler) writeOpened(c echo.Context, p view.Page) error {
	if m, ok := p.(view.Lookup); ok && m.NotFound() {
		return d.writePage(c, http.StatusNotFound, p)
	}
	if m, ok := p.(view.Drawer); ok && wantsFragment(c.Request()) {
		return d.writeComponent(c, http.StatusOK, m.Drawer())
	}
	return d.writePage(c, http.StatusOK, p)
}

// wantsFragment reports whether the script asks for content to show beside or over another page,
// rather than for a page.
func wantsFragment(r *http.Request) bool { return r.URL.Query().Get("drawer") != "" || wantsDialog(r) }

// The script sends dialogHeader with a request for content to show over a page: a confirmation
// form, or the result of that form. A redirect is sent to it in redirectHeader, and the script
// follows it itself.
const (
	dialogHeader   = "Mayfly-Dialog"
	redirectHeader = "Mayfly-Go"
)

func wantsDialog(r *http.Request) bool { return r.Header.Get(dialogHeader) != "" }

// writePage writes a page, or only the part of it that the script shows over another page.
func (d *Handler) writePage(c echo.Context, status int, p view.Page) error {
	if asks, ok := p.(view.Dialog); ok && wantsDialog(c.Request()) {
		return d.writeComponent(c, status, asks.Dialog())
	}
	return d.writeComponent(c, status, p.Full())
}

// redirectInDialog replaces a redirect of the response with redirectHeader. The script then opens
// the target in the window, which also shows the notice.
func redirectInDialog(c echo.Context) {
	w := c.Response()
	w.Before(func() {
		if to := w.Header().Get(echo.HeaderLocation); to != "" && w.Status == http.StatusSeeOther {
			w.Header().Del(echo.HeaderLocation)
			w.Header().Set(redirectHeader, to)
			w.Status = http.StatusNoContent
		}
	})
}

// writeComponent renders f before it begins the response, so that an error can still set the
// status.
func (d *Handler) writeComponent(c echo.Context, status int, f templ.Component) error {
	var b bytes.Buffer
	if err := f.Render(c.Request().Context(), &b); err != nil {
		return err
	}
	return c.HTMLBlob(status, b.Bytes())
}

// writeForm writes the form of an action with the values that the user submitted.
func (d *Handler) writeForm(c echo.Context, status int, at pages.Address, t pages.FormState) error {
	t.Cancel = d.returnURL(c, "")
	p, err := d.pages.Form(c.Request().Context(), at, t)
	if err != nil {
		return err
	}
	return d.writePage(c, status, p)
}

// actor returns the name under which the broker records operations of a request's caller.
func actor(c echo.Context) string {
	if name := auth.FromRequest(c.Request()).Name; name != "" {
		return name
	}
	host := proxy.Address(c.Request())
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsLoopback() {
		return "dashboard"
	}
	return "dashboard " + host
}

// redirectBack redirects to the page that the form came from, else to another address, and leaves a
// notice for that page.
func (d *Handler) redirectBack(c echo.Context, other string, n component.Notice) error {
	return d.redirectWithNotice(c, d.returnURL(c, other), n)
}

func (d *Handler) redirectWithNotice(c echo.Context, to string, n component.Notice) error {
	if n.Tone == "" {
		n.Tone = component.Plenty
	}
	text := n.Title
	if n.Detail != "" {
		text += "\n" + n.Detail
	}
	d.forms.SetNotice(c.Response(), c.Request(), origin.Notice{Tone: string(n.Tone), Text: text, Details: n.ServerText, Undo: n.Undo})
	return c.Redirect(http.StatusSeeOther, to)
}

// returnURL returns the form's return address if it is a page of the dashboard, else `other`. The
// result never leads to another server.
func (d *Handler) returnURL(c echo.Context, other string) string {
	if back, ok := d.pages.ReturnURL(c.Request().PostFormValue("back")); ok {
		return back
	}
	return other
}

// formMemoryFactor is how many bytes of memory one byte of a form takes: raw, unescaped and as a
// value. net/url bounds the number of fields.
const formMemoryFactor = 4

// maxFormSize bounds a form, in bytes: a message of the largest size, escaped, and the other
// fields.
func (d *Handler) maxFormSize() int64 {
	return 3*d.b.Limits().MessageSize + 1<<20
}

// namespaceForm returns a handler that reads a form of a namespace within limits, checks its
// token, and calls `h` with its address and values. It refuses the form if Safe mode forbids the
// action.
func (d *Handler) namespaceForm(r *pages.Route, h func(c echo.Context, at pages.Address, typed url.Values) error) echo.HandlerFunc {
	return d.readForm(func(c echo.Context, typed url.Values) error {
		at, err := d.address(c)
		if err != nil {
			return err
		}
		if err := d.checkSafeMode(c, r, at, typed); err != nil {
			return err
		}
		return h(c, at, typed)
	})
}

// serverForm returns the same kind of handler as namespaceForm, for a form that belongs to no
// namespace.
func (d *Handler) serverForm(r *pages.Route, h func(c echo.Context, typed url.Values) error) echo.HandlerFunc {
	return d.readForm(func(c echo.Context, typed url.Values) error {
		if err := d.checkSafeMode(c, r, pages.Address{}, typed); err != nil {
			return err
		}
		return h(c, typed)
	})
}

func (d *Handler) readForm(h func(c echo.Context, typed url.Values) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		d.prepareContext(c)
		r := c.Request()
		r.Body = origin.ShareOf(r.Context()).CountReads(r.Context(), http.MaxBytesReader(c.Response(), r.Body, d.maxFormSize()), formMemoryFactor)
		if err := r.ParseForm(); err != nil {
			if errors.Is(err, engine.ErrBusy) {
				return err
			}
			if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
				most := locale.T(r.Context(), "ui.form.large", locale.Args{"Most": component.Bytes(r.Context(), big.Limit)})
				return &pages.LocalizedError{Err: echo.ErrStatusRequestEntityTooLarge, Text: most}
			}
			return &pages.LocalizedError{Err: echo.ErrBadRequest, Text: locale.T(r.Context(), "ui.form.unread")}
		}
		if err := d.forms.Check(r); err != nil {
			return err
		}
		if wantsDialog(r) {
			redirectInDialog(c)
		}
		return h(c, r.PostForm)
	}
}
