package oidc

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/web/auth"
	"mayfly/web/proxy"
)

// The addresses that browsers are sent between. The provider must have the second registered
// as the redirect URI for signing in and for signing out.
const (
	SignInPath   = "/login/openid"
	CallbackPath = "/login/openid/back"
)

// A Handler serves the sign-in and sign-out addresses. It is a web.AuthRoutes.
type Handler struct {
	Provider *Provider
	// PublicURL is the address at which browsers reach the server: http://host:8080. Empty means the
	// host of each request.
	PublicURL string
	// UserName returns the name that the provider's user has in Mayfly.
	UserName func(name string) string
	// StartSession starts a session of a user who has signed in, which lasts no longer than SessionLifetime,
	// and records it.
	StartSession    func(w http.ResponseWriter, r *http.Request, caller auth.Caller)
	SessionLifetime time.Duration
	// ReturnPath returns `to` if it is an address of this server, else the address of its first
	// page.
	ReturnPath func(to string) string
	// Throttle counts one more try to sign in and returns how long the client must wait.
	// Succeeded gives two tries back after a successful sign-in. Nil means that tries are not
	// counted.
	Throttle  func(r *http.Request) (wait time.Duration)
	Succeeded func(w http.ResponseWriter, r *http.Request)
	// Failed records a failed sign-in: the user's name, which is empty if it is unknown, the
	// provider's name and the error.
	Failed func(r *http.Request, name, with string, why error)
	// ShowFailure shows a failed sign-in to the user. Its parameter `why` is down, denied, role or
	// state, or doubt if the provider cannot be trusted; `name` is the provider's name, `reason` its
	// explanation, which is untrusted text, and `to` the page that the user asked for.
	ShowFailure func(c echo.Context, status int, why, name, reason, to string) error
	// SignOutPath is the address where users sign out here, and SignedOutPath the page for users who come
	// back from signing out at the provider.
	SignOutPath, SignedOutPath string
}

// Mount adds the routes to g.
func (d *Handler) Mount(g *echo.Group) {
	g.GET(SignInPath, d.throttled(d.begin))
	g.GET(CallbackPath, d.throttled(d.finish))
}

// RequiredRole returns the role of the handler's routes, which is none.
func (d *Handler) RequiredRole(method, pattern string) (auth.Role, bool) {
	return auth.None, method == http.MethodGet && (pattern == SignInPath || pattern == CallbackPath)
}

// redirectURI returns the address to which the provider redirects browsers.
func (d *Handler) redirectURI(r *http.Request) string {
	if d.PublicURL != "" {
		return d.PublicURL + CallbackPath
	}
	u := url.URL{Scheme: "http", Host: r.Host, Path: d.Provider.c.Base + CallbackPath}
	if proxy.Secure(r) {
		u.Scheme = "https"
	}
	return u.String()
}

// throttled refuses clients that try too often.
func (d *Handler) throttled(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if d.Throttle == nil {
			return h(c)
		}
		if wait := d.Throttle(c.Request()); wait > 0 {
			in := int(math.Ceil(wait.Seconds()))
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(in))
			return echo.NewHTTPError(http.StatusTooManyRequests, fmt.Sprintf("Too many sign-in attempts. Try again in %d s.", in))
		}
		return h(c)
	}
}

// redirectedParam is the query parameter of a browser that was redirected from another name of the server.
const redirectedParam = "led"

// canonicalURL returns the address at which a browser must begin if it uses another name of the
// server than the provider's redirect does: otherwise the cookie would be missing after the
// redirect. It returns "" if the names match, or if the browser was already redirected and a proxy
// changes the host.
func (d *Handler) canonicalURL(r *http.Request) string {
	u, err := url.Parse(d.PublicURL)
	if err != nil || u.Host == "" || strings.EqualFold(u.Host, r.Host) || r.URL.Query().Has(redirectedParam) {
		return ""
	}
	return d.PublicURL + SignInPath + "?" + url.Values{"to": {d.ReturnPath(r.URL.Query().Get("to"))}, redirectedParam: {""}}.Encode()
}

// begin redirects a browser to the provider.
func (d *Handler) begin(c echo.Context) error {
	if at := d.canonicalURL(c.Request()); at != "" {
		return c.Redirect(http.StatusSeeOther, at)
	}
	back := d.ReturnPath(c.QueryParam("to"))
	to, err := d.Provider.Begin(c.Response(), c.Request(), d.redirectURI(c.Request()), back)
	if err != nil {
		return d.showError(c, err, User{ReturnTo: back})
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// finish handles a browser that comes back from the provider, and redirects it to the page
// that it asked for.
func (d *Handler) finish(c echo.Context) error {
	r := c.Request()
	c.Response().Header().Set(echo.HeaderReferrerPolicy, "no-referrer")
	if q := r.URL.Query(); q.Get("state") == signedOutState && !q.Has("code") && !q.Has("error") {
		return c.Redirect(http.StatusSeeOther, d.SignedOutPath)
	}
	user, err := d.Provider.Finish(c.Response(), r)
	if err != nil {
		return d.showError(c, err, user)
	}
	if d.Succeeded != nil {
		d.Succeeded(c.Response(), r)
	}
	d.StartSession(c.Response(), r, auth.Caller{Name: d.UserName(user.Name), Subject: user.Subject, Role: user.Role, Method: auth.OIDC})
	d.keepHint(c.Response(), r, user.Hint)
	return c.Redirect(http.StatusSeeOther, d.ReturnPath(user.ReturnTo))
}

// showError shows why a sign-in failed. The log has the details.
func (d *Handler) showError(c echo.Context, err error, user User) error {
	d.Failed(c.Request(), user.Name, d.Provider.Title(), err)
	status, why, reason := http.StatusForbidden, "doubt", ""
	switch denial, denied := errors.AsType[*Denial](err); {
	case denied:
		why, reason = "denied", cleanText(denial.Error(), 200)
	case errors.Is(err, ErrUnavailable):
		status, why = http.StatusServiceUnavailable, "down"
	case errors.Is(err, ErrNoRole):
		why = "role"
	case errors.Is(err, ErrState):
		why = "state"
	}
	return d.ShowFailure(c, status, why, d.Provider.Title(), reason, d.ReturnPath(user.ReturnTo))
}
