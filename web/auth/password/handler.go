package password

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/users"
)

// The addresses.
const (
	SignInPath     = "/login"
	SignOutPath    = "/logout"
	SessionsPath   = "/sessions"
	endSessionPath = "/sessions/end"
)

// Options are the settings of a Handler. Sessions and Forms are required.
type Options struct {
	Sessions *Sessions
	Users    *users.File // nil if passwords are not used
	// RightsChanged is called when users' rights have changed. Nil means that it is not.
	RightsChanged func()
	Forms         *origin.Forms
	// Base is the path that the dashboard is served under. Empty means the root.
	Base string
	// OtherSignIns are further ways to sign in, in the order in which they are shown.
	OtherSignIns []page.SignInProvider
	// ProviderSignOut returns where a user who has just signed out here can also sign out of the
	// provider with which they signed in; the address is empty if there is none. An error
	// means that the provider, which the result names, could not be asked. Nil means that
	// there is no provider.
	ProviderSignOut func(w http.ResponseWriter, r *http.Request, caller auth.Caller) (page.SignInProvider, error)
	// RecordAudit records an operation and its actor in activity: see engine.EventSignedIn and
	// the kinds after it. Nil means that nothing is recorded.
	RecordAudit func(ctx context.Context, kind engine.EventKind, about, actor string)
	Logger      *slog.Logger
}

// A Handler serves the pages to sign in. It is an AuthRoutes of package web, and safe for concurrent
// use.
type Handler struct {
	o          Options
	limiter    *signInLimiter
	failureLog throttle         // limits the failures that are logged
	routes     map[string]route // by method and path
}

// A route is a page to sign in or its form.
type route struct {
	role  auth.Role // the role that it requires
	serve echo.HandlerFunc
}

// New returns a Handler.
func New(o Options) *Handler {
	d := &Handler{
		o:          o,
		limiter:    newSignInLimiter(),
		failureLog: throttle{burst: 20, interval: time.Minute},
	}
	d.routes = map[string]route{
		"GET " + SignInPath:      {auth.None, d.signInPage},
		"POST " + SignInPath:     {auth.None, d.signIn},
		"POST " + SignOutPath:    {auth.None, d.signOut},
		"GET " + SessionsPath:    {auth.Admin, d.sessions},
		"POST " + endSessionPath: {auth.Admin, d.endSessions},
	}
	return d
}

// Mount adds the pages to the root group.
func (d *Handler) Mount(g *echo.Group) {
	for at, r := range d.routes {
		method, path, _ := strings.Cut(at, " ")
		g.Add(method, path, r.serve)
	}
}

// RequiredRole returns the role of a route.
func (d *Handler) RequiredRole(method, pattern string) (auth.Role, bool) {
	r, ok := d.routes[method+" "+pattern]
	return r.role, ok
}

// UsersChanged must be called when the file of users has changed: it ends the sessions of users
// whose line has changed or was removed.
func (d *Handler) UsersChanged(ctx context.Context) {
	ended := d.o.Sessions.Recheck(ctx, func(name string) ([sha256.Size]byte, bool) {
		u, ok := d.o.Users.Find(name)
		return u.Stamp, ok
	})
	if d.o.RightsChanged != nil {
		d.o.RightsChanged()
	}
	for _, name := range names(ended) {
		d.recordAudit(ctx, engine.EventSignInsEnded, name, "users file")
	}
}

func names(of []Session) (out []string) {
	for _, s := range of {
		if !slices.Contains(out, s.Caller.Name) {
			out = append(out, s.Caller.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (d *Handler) recordAudit(ctx context.Context, kind engine.EventKind, about, actor string) {
	if d.o.RecordAudit != nil {
		d.o.RecordAudit(ctx, kind, about, actor)
	}
}

// visit returns a context to render pages for the visitor, and the shell around them.
func (d *Handler) visit(c echo.Context, title string) (context.Context, layout.Shell) {
	r := c.Request()
	ctx := locale.With(r.Context(), locale.Requested(r))
	locale.SetHeader(c.Response().Header(), locale.Lang(ctx))
	shell := layout.Shell{Namespace: r.Host, Home: d.o.Base + "/", Title: locale.T(ctx, title), Appearance: layout.AppearanceOf(r), CSRF: d.o.Forms.Token(c.Response(), r)}
	if caller := auth.FromRequest(r); caller.IsKnown() && caller.Method != auth.Open {
		shell.User = layout.User{Name: caller.Name, Role: caller.Role.String(), SignOut: d.o.Base + SignOutPath, Tokens: d.o.Base + layout.TokensPath}
	}
	if n, ok := d.o.Forms.TakeNotice(c.Response(), r); ok && r.Method == http.MethodGet {
		shell.Notice = component.Notice{Tone: component.Tone(n.Tone), Title: n.Text}
	}
	return ctx, shell
}

func (d *Handler) render(ctx context.Context, c echo.Context, status int, m templ.Component) error {
	var b bytes.Buffer
	if err := m.Render(view.WithBase(ctx, d.o.Base), &b); err != nil {
		return err
	}
	return c.HTMLBlob(status, b.Bytes())
}

// signInPage shows the sign-in form.
func (d *Handler) signInPage(c echo.Context) error {
	to := d.returnPath(c.QueryParam("to"))
	if caller, err := d.o.Sessions.Identify(c.Request()); err == nil && caller.IsKnown() {
		return c.Redirect(http.StatusSeeOther, to)
	}
	return d.renderSignIn(c, http.StatusOK, page.SignIn{To: to})
}

func (d *Handler) renderSignIn(c echo.Context, status int, m page.SignIn) error {
	ctx, shell := d.visit(c, "signin.title")
	m.Shell, m.Action, m.Others = shell, d.o.Base+SignInPath, nil
	m.Passwords = d.o.Users != nil
	for _, w := range d.o.OtherSignIns {
		w.Href += "?" + url.Values{"to": {m.To}}.Encode()
		m.Others = append(m.Others, w)
	}
	if m.Wait > 0 {
		m.Refused = locale.N(ctx, "signin.wait", int(math.Ceil(m.Wait.Seconds())))
	} else if m.Wrong {
		m.Refused = locale.T(ctx, "signin.wrong")
	}
	return d.render(ctx, c, status, m.Full())
}

// maxForm bounds a form, in bytes.
const maxForm = 16 << 10

// readForm reads a form within limits, and checks its token.
func (d *Handler) readForm(c echo.Context) (url.Values, error) {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, echo.NewHTTPError(http.StatusRequestEntityTooLarge, "The form is too large.").SetInternal(err)
		}
		return nil, echo.NewHTTPError(http.StatusBadRequest, "The form cannot be read.").SetInternal(err)
	}
	return r.PostForm, d.o.Forms.Check(r)
}

// signIn begins a session if the name and the password match.
func (d *Handler) signIn(c echo.Context) error {
	typed, err := d.readForm(c)
	if err != nil {
		return err
	}
	r := c.Request()
	m := page.SignIn{Name: strings.TrimSpace(typed.Get(page.FieldUser)), To: d.returnPath(typed.Get("to"))}
	if d.o.Users == nil {
		return echo.ErrNotFound
	}
	known, _ := d.o.Users.Find(m.Name)
	asked := d.limiter.newAttempt(r, m.Name, known)
	if m.Wait = asked.admit(time.Now()); m.Wait > 0 {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(m.Wait.Seconds()))))
		return d.renderSignIn(c, http.StatusTooManyRequests, m)
	}
	u, ok, err := d.o.Users.Check(r.Context(), m.Name, typed.Get(page.FieldPassword))
	if err != nil {
		return err
	}
	if !ok {
		d.failed(r, m.Name)
		m.Wrong = true
		return d.renderSignIn(c, http.StatusUnprocessableEntity, m)
	}
	asked.address.stamp = u.Stamp
	asked.succeeded(time.Now())
	by, _ := userMarkKey(u)
	d.markBrowser(c.Response(), r, by, u.Name)
	caller := auth.Caller{Name: u.Name, Role: u.Role, Method: auth.Password}
	d.o.Sessions.Begin(c.Response(), r, Start{Caller: caller, Stamp: u.Stamp})
	if now, _ := d.o.Users.Find(u.Name); now.Stamp != u.Stamp { // the file has changed in the meantime
		d.UsersChanged(r.Context())
	}
	d.SignedIn(r, caller, "password")
	return c.Redirect(http.StatusSeeOther, m.To)
}

// Throttle counts a try to sign in with an OpenID provider and returns how long the client must
// wait. A browser that has signed in that way before has tries of its own. Wrong passwords
// from the same address do not count.
func (d *Handler) Throttle(r *http.Request) (wait time.Duration) {
	now := time.Now()
	if line := browserID(r, d.providerMarkKey(), ""); line != "" {
		if wait = d.limiter.browsers.try(line, now); wait == 0 {
			return 0
		}
	}
	if other := d.limiter.oidcAddresses.try(addressKey(ClientAddress(r)), now); wait == 0 || other < wait {
		return other
	}
	return wait
}

// Succeeded gives two tries back after a successful sign-in, one for the redirect to the
// provider and one for the return, and marks the browser.
func (d *Handler) Succeeded(w http.ResponseWriter, r *http.Request) {
	b, key := &d.limiter.oidcAddresses, addressKey(ClientAddress(r))
	if line := browserID(r, d.providerMarkKey(), ""); line != "" {
		b, key = &d.limiter.browsers, line
	}
	for range 2 {
		b.giveBack(key)
	}
	d.markBrowser(w, r, d.providerMarkKey(), "")
}

// providerMarkKey returns the key that signs the marks of browsers that have signed in with an
// OpenID provider. It is valid as long as the tokens of forms are.
func (d *Handler) providerMarkKey() []byte {
	return d.o.Forms.Key("browsers that have signed in elsewhere")
}

// ShouldLog reports whether one more failure is to be logged: if there are many, only some are.
func (d *Handler) ShouldLog() bool { return d.failureLog.try("", time.Now()) == 0 }

// SignedIn records in activity that a user has signed in, and how.
func (d *Handler) SignedIn(r *http.Request, caller auth.Caller, with string) {
	d.recordAudit(r.Context(), engine.EventSignedIn, caller.Role.String()+" · "+with+" · "+ClientAddress(r), caller.Name)
}

// nameKey returns the key by which a throttle counts the tries of a name: its hash, in any case.
func nameKey(name string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(name)))
	return string(sum[:])
}

// failed logs a wrong name or password. It logs the name only if such a user exists: otherwise
// it may be a password that was typed into the wrong field.
func (d *Handler) failed(r *http.Request, name string) {
	u, _ := d.o.Users.Find(name)
	d.Failed(r, u.Name, "password", nil)
}

// Failed logs a failed sign-in and records it in activity: the user's name if it is known, the
// method, and the reason. If there are many failures, only some are logged.
func (d *Handler) Failed(r *http.Request, name, with string, err error) {
	if !d.ShouldLog() {
		return
	}
	d.o.Logger.Warn("a sign-in failed", "user", name, "method", with, "client", ClientAddress(r), "err", err)
	d.recordAudit(r.Context(), engine.EventSignInFailed, name, "dashboard "+ClientAddress(r))
}

// ShowFailure shows the sign-in page with the reason why signing in with a provider failed. `why` is
// a key of failureTexts or "doubt", `name` the provider's name, `reason` its own explanation, and
// `to` the page that the user asked for.
func (d *Handler) ShowFailure(c echo.Context, status int, why, name, reason, to string) error {
	id, ok := failureTexts[why]
	if !ok {
		id = "signin.elsewhere.doubt"
	}
	ctx := locale.With(c.Request().Context(), locale.Requested(c.Request()))
	return d.renderSignIn(c, status, page.SignIn{To: to, Refused: locale.T(ctx, id, locale.Args{"Name": name, "Said": reason})})
}

// failureTexts are the text ids of the reasons why signing in with a provider fails.
var failureTexts = map[string]string{
	"down": "signin.elsewhere.down", "denied": "signin.elsewhere.denied", "role": "signin.elsewhere.role", "state": "signin.elsewhere.state",
}

// signOut ends the visitor's session, and redirects to the provider's sign-out, if there is
// one. Without a session there is nothing to end.
func (d *Handler) signOut(c echo.Context) error {
	if _, err := d.readForm(c); err != nil {
		return err
	}
	r := detach(c)
	ctx := locale.With(r.Context(), locale.Requested(r))
	notice, elsewhere := origin.Notice{Tone: string(component.Plenty), Text: locale.T(ctx, "signin.out")}, ""
	if caller, err := d.o.Sessions.Identify(r); err == nil {
		d.o.Sessions.End(r.Context(), func(s Session) bool { return s.ID == caller.ID })
		d.recordAudit(r.Context(), engine.EventSignedOut, "", caller.Name)
		if d.o.ProviderSignOut != nil {
			there, err := d.o.ProviderSignOut(c.Response(), r, caller)
			if err != nil {
				notice = origin.Notice{Tone: string(component.Low), Text: locale.T(ctx, "signin.out.down", locale.Args{"Name": there.Label})}
			}
			elsewhere = there.Href
		}
	}
	d.o.Sessions.setCookie(c.Response(), r, "", -1)
	d.o.Forms.SetNotice(c.Response(), r, notice)
	if elsewhere != "" {
		return d.signedOut(c, elsewhere)
	}
	return c.Redirect(http.StatusSeeOther, d.o.Base+SignInPath)
}

// detach detaches a request from its session, which it may end: ending a session cancels its
// requests.
func detach(c echo.Context) *http.Request {
	c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
	return c.Request()
}

// signedOut shows a page that leads to the provider at once. A redirect would not do: the
// page's policy allows the answer to a form to lead only to this server.
func (d *Handler) signedOut(c echo.Context, elsewhere string) error {
	c.SetRequest(c.Request().WithContext(auth.WithCaller(c.Request().Context(), auth.Caller{})))
	ctx, shell := d.visit(c, "signin.out.title")
	h := c.Response().Header()
	h.Set("Refresh", "0; url="+elsewhere)
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set(echo.HeaderReferrerPolicy, "no-referrer")
	m := page.SignedOut{Shell: shell, Elsewhere: elsewhere, In: d.o.Base + SignInPath}
	if u, err := url.Parse(elsewhere); err == nil {
		m.Host = u.Host
	}
	return d.render(ctx, c, http.StatusOK, m.Full())
}

// sessions lists the sessions.
func (d *Handler) sessions(c echo.Context) error {
	ctx, shell := d.visit(c, "signed.title")
	m := page.SignInSessions{Shell: shell, End: d.o.Base + endSessionPath, Now: time.Now()}
	mine := auth.FromRequest(c.Request()).ID
	for _, s := range d.o.Sessions.All() {
		m.Rows = append(m.Rows, page.SignInSessionRow{
			ID: s.ID, Name: s.Caller.Name, Role: s.Caller.Role.String(), Method: s.Caller.Method.String(), From: s.Address, Agent: s.Agent,
			Started: s.Started, Seen: s.LastSeen, Here: s.ID == mine,
		})
		if len(m.Rows) == page.MaxSignInSessions {
			m.More = len(d.o.Sessions.All()) - len(m.Rows)
			break
		}
	}
	return d.render(ctx, c, http.StatusOK, m.Full())
}

// endSessions ends one session, or all of one user.
func (d *Handler) endSessions(c echo.Context) error {
	typed, err := d.readForm(c)
	if err != nil {
		return err
	}
	r := detach(c)
	by := auth.FromRequest(r)
	id, name := typed.Get(page.FieldSignInSession), typed.Get(page.FieldAllOfUser)
	if (id == "") == (name == "") {
		return echo.NewHTTPError(http.StatusBadRequest, "Name the session to end, or the user whose sessions to end.")
	}
	ended := d.o.Sessions.End(r.Context(), func(s Session) bool { return s.ID == id || name != "" && s.Caller.Name == name })
	for _, name := range names(ended) {
		d.recordAudit(r.Context(), engine.EventSignInsEnded, name, by.Name)
	}
	ctx := locale.With(r.Context(), locale.Requested(r))
	d.o.Forms.SetNotice(c.Response(), r, origin.Notice{Tone: string(component.Plenty), Text: locale.N(ctx, "signed.ended", len(ended))})
	return c.Redirect(http.StatusSeeOther, d.o.Base+SessionsPath)
}

// ReturnPath returns `to` if it is an address below `base`, the path that the dashboard is served
// under, else the address of the first page. The result never leads to another server.
func ReturnPath(base, to string) string {
	u, err := url.Parse(to)
	switch {
	case err != nil, len(to) > 2000, !strings.HasPrefix(to, "/"), strings.HasPrefix(to, "//"), strings.ContainsAny(to, "\\\r\n\t"),
		u.IsAbs(), u.Host != "", u.User != nil:
		return base + "/"
	}
	at, ok := strings.CutPrefix(u.Path, base)
	switch {
	case !ok, !strings.HasPrefix(at, "/") && at != "",
		base != "" && !strings.HasPrefix(path.Clean(u.Path)+"/", base+"/"), // the host may have others beside the dashboard
		at == SignInPath, at == SignOutPath, strings.HasPrefix(at, "/api/"), strings.HasPrefix(at, "//"):
		return base + "/"
	}
	return to
}

func (d *Handler) returnPath(to string) string { return ReturnPath(d.o.Base, to) }

// Run ends expired sessions, follows the note store and watches the file of users, until ctx ends.
func (d *Handler) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { d.o.Sessions.Watch(ctx) })
	both.Go(func() { d.o.Sessions.Follow(ctx) })
	if d.o.Users != nil {
		both.Go(func() { d.o.Users.Watch(ctx, func() { d.UsersChanged(ctx) }) })
	}
	both.Wait()
}
