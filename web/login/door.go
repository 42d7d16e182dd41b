package login

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
	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/users"
)

// The addresses.
const (
	SignIn      = "/login"
	SignOut     = "/logout"
	AllSessions = "/sessions"
	endSession  = "/sessions/end"
)

// Options are what a Door is made of. Sessions and Forms are needed.
type Options struct {
	Sessions *Sessions
	Users    *users.File // nil: nobody signs in with a password
	// Changed is called when what users may do has changed. Nil: nobody is to know.
	Changed func()
	Forms   *access.Forms
	// Base is the path that the dashboard is served under. Empty: the root.
	Base string
	// Others are further ways to sign in, in the order that they are shown.
	Others []page.OtherWay
	// Elsewhere is where who has just signed out here may do so in the other place, too, if
	// that is where they signed in; without an address there is none. The error says that
	// the place, which is named, does not say where. Nil: there is no other place.
	Elsewhere func(w http.ResponseWriter, r *http.Request, who identity.Who) (page.OtherWay, error)
	// Remember has what was done be in activity, of who did it: see engine.EventSignedIn and
	// those after it. Nil: it is not.
	Remember func(ctx context.Context, kind engine.EventKind, about, actor string)
	Logger   *slog.Logger
}

// A Door has the pages to sign in. It is safe for concurrent use, and a Gate of
// package web.
type Door struct {
	o      Options
	names  brake
	places brake
	told   brake // failures that are remembered
}

// New makes a door.
func New(o Options) *Door {
	return &Door{
		o:      o,
		names:  brake{burst: 10, every: 20 * time.Second},
		places: brake{burst: 20, every: 5 * time.Second},
		told:   brake{burst: 20, every: time.Minute},
	}
}

// table is every address with the role that it takes.
func (d *Door) table() map[string]struct {
	needs identity.Role
	serve echo.HandlerFunc
} {
	type row = struct {
		needs identity.Role
		serve echo.HandlerFunc
	}
	return map[string]row{
		"GET " + SignIn:      {identity.None, d.ask},
		"POST " + SignIn:     {identity.None, d.signIn},
		"POST " + SignOut:    {identity.None, d.signOut},
		"GET " + AllSessions: {identity.Admin, d.sessions},
		"POST " + endSession: {identity.Admin, d.end},
	}
}

// Mount adds the pages to the root group.
func (d *Door) Mount(g *echo.Group) {
	for at, row := range d.table() {
		method, path, _ := strings.Cut(at, " ")
		g.Add(method, path, row.serve)
	}
}

// Needs is the role that one of them takes.
func (d *Door) Needs(method, pattern string) (identity.Role, bool) {
	row, ok := d.table()[method+" "+pattern]
	return row.needs, ok
}

// Changed is to be called when the file of users has changed: sessions of those who
// are not in it as they were end.
func (d *Door) Changed(ctx context.Context) {
	ended := d.o.Sessions.Hold(ctx, func(name string) ([sha256.Size]byte, bool) {
		u, ok := d.o.Users.Find(name)
		return u.Stamp, ok
	})
	if d.o.Changed != nil {
		d.o.Changed()
	}
	for _, name := range names(ended) {
		d.remember(ctx, engine.EventSignInsEnded, name, "users file")
	}
}

func names(of []Session) (out []string) {
	for _, s := range of {
		if !slices.Contains(out, s.Who.Name) {
			out = append(out, s.Who.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (d *Door) remember(ctx context.Context, kind engine.EventKind, about, actor string) {
	if d.o.Remember != nil {
		d.o.Remember(ctx, kind, about, actor)
	}
}

// context is one in which pages are made for the visitor, and the shell around them.
func (d *Door) visit(c echo.Context, title string) (context.Context, layout.Shell) {
	r := c.Request()
	ctx := locale.With(r.Context(), locale.Asked(r))
	locale.Mark(c.Response().Header(), locale.Lang(ctx))
	shell := layout.Shell{Namespace: r.Host, Home: d.o.Base + "/", Title: locale.T(ctx, title), Looks: layout.LooksAsked(r), CSRF: d.o.Forms.Token(c.Response(), r)}
	if who := identity.Asking(r); who.Known() && who.Way != identity.Open {
		shell.User = layout.User{Name: who.Name, Role: who.Role.String(), Out: d.o.Base + SignOut, Tokens: d.o.Base + layout.TokensAt}
	}
	if n, ok := d.o.Forms.Take(c.Response(), r); ok && r.Method == http.MethodGet {
		shell.Notice = component.Notice{Tone: component.Tone(n.Tone), Title: n.Text}
	}
	return ctx, shell
}

func (d *Door) write(ctx context.Context, c echo.Context, status int, m templ.Component) error {
	var b bytes.Buffer
	if err := m.Render(view.WithBase(ctx, d.o.Base), &b); err != nil {
		return err //nolint:wrapcheck // templ says where
	}
	return c.HTMLBlob(status, b.Bytes())
}

// ask shows the form.
func (d *Door) ask(c echo.Context) error {
	to := d.within(c.QueryParam("to"))
	if who, err := d.o.Sessions.Identify(c.Request()); err == nil && who.Known() {
		return c.Redirect(http.StatusSeeOther, to)
	}
	return d.form(c, http.StatusOK, page.SignIn{To: to})
}

func (d *Door) form(c echo.Context, status int, m page.SignIn) error {
	ctx, shell := d.visit(c, "signin.title")
	m.Shell, m.Action, m.Others = shell, d.o.Base+SignIn, nil
	m.Passwords = d.o.Users != nil
	for _, w := range d.o.Others {
		w.Href += "?" + url.Values{"to": {m.To}}.Encode()
		m.Others = append(m.Others, w)
	}
	if m.Wait > 0 {
		m.Refused = locale.N(ctx, "signin.wait", int(math.Ceil(m.Wait.Seconds())))
	} else if m.Wrong {
		m.Refused = locale.T(ctx, "signin.wrong")
	}
	return d.write(ctx, c, status, m.Full())
}

// mostForm bounds a form, in bytes.
const mostForm = 16 << 10

// posted reads a form within limits, and checks that it is one of ours.
func (d *Door) posted(c echo.Context) (url.Values, error) {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, echo.NewHTTPError(http.StatusRequestEntityTooLarge, "The form is too large.").SetInternal(err)
		}
		return nil, echo.NewHTTPError(http.StatusBadRequest, "The form cannot be read.").SetInternal(err)
	}
	return r.PostForm, d.o.Forms.Check(r) //nolint:wrapcheck // it is shown as it is
}

// signIn begins a session, if the password is that of the name.
func (d *Door) signIn(c echo.Context) error {
	typed, err := d.posted(c)
	if err != nil {
		return err
	}
	r := c.Request()
	m := page.SignIn{Name: strings.TrimSpace(typed.Get(page.AskUser)), To: d.within(typed.Get("to"))}
	if d.o.Users == nil {
		return echo.ErrNotFound
	}
	now, name, from := time.Now(), key(m.Name), place(Address(r))
	if m.Wait = max(d.places.try(from, now), d.names.try(name, now)); m.Wait > 0 {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(m.Wait.Seconds()))))
		return d.form(c, http.StatusTooManyRequests, m)
	}
	u, ok, err := d.o.Users.Check(r.Context(), m.Name, typed.Get(page.AskPassword))
	if err != nil {
		return err //nolint:wrapcheck // it is the context's
	}
	if !ok {
		d.failed(r, m.Name)
		m.Wrong = true
		return d.form(c, http.StatusUnprocessableEntity, m)
	}
	d.places.back(from)
	d.names.back(name)
	who := identity.Who{Name: u.Name, Role: u.Role, Way: identity.Password}
	d.o.Sessions.Begin(c.Response(), r, Start{Who: who, Stamp: u.Stamp})
	if now, _ := d.o.Users.Find(u.Name); now.Stamp != u.Stamp { // the file has changed meanwhile
		d.Changed(r.Context())
	}
	d.SignedIn(r, who, "password")
	return c.Redirect(http.StatusSeeOther, m.To)
}

// Try counts a try to sign in by another way, and says how long there is none for whoever
// sends r.
func (d *Door) Try(r *http.Request) (wait time.Duration) {
	return d.places.try(place(Address(r)), time.Now())
}

// Good takes two tries back: to go elsewhere, and to come back from there as somebody.
func (d *Door) Good(r *http.Request) {
	for range 2 {
		d.places.back(place(Address(r)))
	}
}

// Tell tells whether one more failure is to be told of: some are, where there are many.
func (d *Door) Tell() bool { return d.told.try("", time.Now()) == 0 }

// SignedIn has it remembered that somebody has, with what.
func (d *Door) SignedIn(r *http.Request, who identity.Who, with string) {
	d.remember(r.Context(), engine.EventSignedIn, who.Role.String()+" · "+with+" · "+Address(r), who.Name)
}

// key is a name as tries are counted: short, whatever was typed.
func key(name string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(name)))
	return string(sum[:])
}

// failed tells of a wrong name or password. What was typed as the name is told only where there is such a user: it may be a password.
func (d *Door) failed(r *http.Request, name string) {
	u, _ := d.o.Users.Find(name)
	d.Failed(r, u.Name, "password", nil)
}

// Failed has it remembered that somebody could not sign in, as a user if it is known
// which, with what, and why if that is to be told in the log: some of them, where there
// are many.
func (d *Door) Failed(r *http.Request, name, with string, err error) {
	if !d.Tell() {
		return
	}
	d.o.Logger.Warn("somebody could not sign in", "as", name, "with", with, "from", Address(r), "error", err)
	d.remember(r.Context(), engine.EventSignInFailed, name, "dashboard "+Address(r))
}

// Refuse tells somebody who has come back from another place to sign in why that was
// for nothing, on the page where it can be tried again: name is the other place, said
// what it says, and to where he was to go.
func (d *Door) Refuse(c echo.Context, status int, why, name, said, to string) error {
	id, ok := map[string]string{
		"down": "signin.elsewhere.down", "denied": "signin.elsewhere.denied", "role": "signin.elsewhere.role", "state": "signin.elsewhere.state",
	}[why]
	if !ok {
		id = "signin.elsewhere.doubt"
	}
	ctx := locale.With(c.Request().Context(), locale.Asked(c.Request()))
	return d.form(c, status, page.SignIn{To: to, Refused: locale.T(ctx, id, locale.Args{"Name": name, "Said": said})})
}

// signOut ends the visitor's session, and leads to where it can be ended elsewhere, too.
// Without one there is nothing to end.
func (d *Door) signOut(c echo.Context) error {
	if _, err := d.posted(c); err != nil {
		return err
	}
	r := outlives(c)
	ctx := locale.With(r.Context(), locale.Asked(r))
	said, elsewhere := access.Notice{Tone: string(component.Plenty), Text: locale.T(ctx, "signin.out")}, ""
	if who, err := d.o.Sessions.Identify(r); err == nil {
		d.o.Sessions.End(r.Context(), func(s Session) bool { return s.ID == who.ID })
		d.remember(r.Context(), engine.EventSignedOut, "", who.Name)
		if d.o.Elsewhere != nil {
			there, err := d.o.Elsewhere(c.Response(), r, who)
			if err != nil {
				said = access.Notice{Tone: string(component.Low), Text: locale.T(ctx, "signin.out.down", locale.Args{"Name": there.Label})}
			}
			elsewhere = there.Href
		}
	}
	d.o.Sessions.set(c.Response(), r, "", -1)
	d.o.Forms.Leave(c.Response(), said)
	if elsewhere != "" {
		return d.signedOut(c, elsewhere)
	}
	return c.Redirect(http.StatusSeeOther, d.o.Base+SignIn)
}

// outlives has a request go on that may end the session by which it came: with that ends
// what it let in.
func outlives(c echo.Context) *http.Request {
	c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
	return c.Request()
}

// signedOut is a page that leads to another place at once. A redirect would not do: the
// answer to a form may not lead off this server, by its own policy.
func (d *Door) signedOut(c echo.Context, elsewhere string) error {
	c.SetRequest(c.Request().WithContext(identity.With(c.Request().Context(), identity.Who{})))
	ctx, shell := d.visit(c, "signin.out.title")
	h := c.Response().Header()
	h.Set("Refresh", "0; url="+elsewhere)
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set(echo.HeaderReferrerPolicy, "no-referrer")
	m := page.SignedOut{Shell: shell, Elsewhere: elsewhere, In: d.o.Base + SignIn}
	if u, err := url.Parse(elsewhere); err == nil {
		m.Host = u.Host
	}
	return d.write(ctx, c, http.StatusOK, m.Full())
}

// sessions shows who has signed in.
func (d *Door) sessions(c echo.Context) error {
	ctx, shell := d.visit(c, "signed.title")
	m := page.SignedIn{Shell: shell, End: d.o.Base + endSession, Now: time.Now()}
	mine := identity.Asking(c.Request()).ID
	for _, s := range d.o.Sessions.All() {
		m.Rows = append(m.Rows, page.SignedInRow{
			ID: s.ID, Name: s.Who.Name, Role: s.Who.Role.String(), Way: s.Who.Way.String(), From: s.From, Agent: s.Agent,
			Begun: s.Begun, Seen: s.Seen, Here: s.ID == mine,
		})
		if len(m.Rows) == page.MostSignedIn {
			m.More = len(d.o.Sessions.All()) - len(m.Rows)
			break
		}
	}
	return d.write(ctx, c, http.StatusOK, m.Full())
}

// end ends one session, or all of one user.
func (d *Door) end(c echo.Context) error {
	typed, err := d.posted(c)
	if err != nil {
		return err
	}
	r := outlives(c)
	by := identity.Asking(r)
	id, name := typed.Get(page.AskSignedIn), typed.Get(page.AskAllOf)
	if (id == "") == (name == "") {
		return echo.NewHTTPError(http.StatusBadRequest, "Say which session is to end, or whose.")
	}
	ended := d.o.Sessions.End(r.Context(), func(s Session) bool { return s.ID == id || name != "" && s.Who.Name == name })
	for _, name := range names(ended) {
		d.remember(r.Context(), engine.EventSignInsEnded, name, by.Name)
	}
	ctx := locale.With(r.Context(), locale.Asked(r))
	d.o.Forms.Leave(c.Response(), access.Notice{Tone: string(component.Plenty), Text: locale.N(ctx, "signed.ended", len(ended))})
	return c.Redirect(http.StatusSeeOther, d.o.Base+AllSessions)
}

// Within is an address to return to, if it is one of this server, else its first page.
// Nobody is led anywhere else. base is the path that the dashboard is served under.
func Within(base, to string) string {
	u, err := url.Parse(to)
	switch {
	case err != nil, len(to) > 2000, !strings.HasPrefix(to, "/"), strings.HasPrefix(to, "//"), strings.ContainsAny(to, "\\\r\n\t"),
		u.IsAbs(), u.Host != "", u.User != nil:
		return base + "/"
	}
	at, ok := strings.CutPrefix(u.Path, base)
	switch {
	case !ok, !strings.HasPrefix(at, "/") && at != "",
		base != "" && !strings.HasPrefix(path.Clean(u.Path)+"/", base+"/"), // beside the dashboard there may be others
		at == SignIn, at == SignOut, strings.HasPrefix(at, "/api/"), strings.HasPrefix(at, "//"):
		return base + "/"
	}
	return to
}

func (d *Door) within(to string) string { return Within(d.o.Base, to) }

// Watch does what is to be done while the server runs, until ctx ends.
func (d *Door) Watch(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { d.o.Sessions.Watch(ctx) })
	both.Go(func() { d.o.Sessions.Follow(ctx) })
	if d.o.Users != nil {
		both.Go(func() { d.o.Users.Watch(ctx, func() { d.Changed(ctx) }) })
	}
	both.Wait()
}
