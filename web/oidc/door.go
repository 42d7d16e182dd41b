package oidc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/web/identity"
)

// The addresses that browsers are sent between. The provider has to know the second.
const (
	SignIn = "/login/openid"
	Back   = "/login/openid/back"
)

// A Door has them. It is a web.Gate.
type Door struct {
	Provider *Provider
	// At is where browsers reach the server: http://host:8080. Empty: as each says.
	At string
	// Called is what somebody is called here whom the provider calls so.
	Called func(name string) string
	// Begin starts a session of who has signed in.
	Begin func(w http.ResponseWriter, r *http.Request, who identity.Who)
	// Within is an address to return to, if it is one of this server's.
	Within func(to string) string
	// Try counts one more try to sign in of whoever sends a request, and says how long there
	// is none; Good takes two of them back, which came to a sign-in. Zero: nobody counts.
	Try  func(r *http.Request) (wait time.Duration)
	Good func(r *http.Request)
	// Tell tells whether one more sign-in that came to nothing is to be logged and
	// remembered. Zero: all are.
	Tell func() bool
	// Remember has what was done be in activity.
	Remember func(ctx context.Context, what, actor string)
}

// Mount adds the addresses to g.
func (d *Door) Mount(g *echo.Group) {
	g.GET(SignIn, d.counted(d.begin))
	g.GET(Back, d.counted(d.finish))
}

// Needs is the role that one of them takes: none.
func (d *Door) Needs(method, pattern string) (identity.Role, bool) {
	return identity.None, method == http.MethodGet && (pattern == SignIn || pattern == Back)
}

// at is where the provider sends people back to.
func (d *Door) at(r *http.Request) string {
	if d.At != "" {
		return d.At + Back
	}
	u := url.URL{Scheme: "http", Host: r.Host, Path: Back}
	if r.TLS != nil || strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https") {
		u.Scheme = "https"
	}
	return u.String()
}

// counted refuses those who try too often.
func (d *Door) counted(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if d.Try == nil {
			return h(c)
		}
		if wait := d.Try(c.Request()); wait > 0 {
			in := int(math.Ceil(wait.Seconds()))
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(in))
			return echo.NewHTTPError(http.StatusTooManyRequests, fmt.Sprintf("Too many tries to sign in. The next is in %d s.", in))
		}
		return h(c)
	}
}

// led is in the address of a browser that comes from another name of the server.
const led = "led"

// elsewhere is where a browser is to begin that calls the server otherwise than the
// provider does, which sends it back where it would not have its cookie. Empty: it calls
// it so, or a proxy has it seem otherwise, as it was led here.
func (d *Door) elsewhere(r *http.Request) string {
	u, err := url.Parse(d.At)
	if err != nil || u.Host == "" || strings.EqualFold(u.Host, r.Host) || r.URL.Query().Has(led) {
		return ""
	}
	return d.At + SignIn + "?" + url.Values{"to": {d.Within(r.URL.Query().Get("to"))}, led: {""}}.Encode()
}

// begin sends a browser to the provider.
func (d *Door) begin(c echo.Context) error {
	if at := d.elsewhere(c.Request()); at != "" {
		return c.Redirect(http.StatusSeeOther, at)
	}
	to, err := d.Provider.Begin(c.Response(), c.Request(), d.at(c.Request()), d.Within(c.QueryParam("to")))
	if err != nil {
		return d.told(c, err)
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// finish takes one that comes back, and leads it to where it was to go.
func (d *Door) finish(c echo.Context) error {
	r := c.Request()
	who, err := d.Provider.Finish(c.Response(), r)
	if err != nil {
		return d.told(c, err)
	}
	if d.Good != nil {
		d.Good(r)
	}
	who.Name = d.Called(who.Name)
	d.Begin(c.Response(), r, identity.Who{Name: who.Name, Subject: who.Subject, Role: who.Role, Way: identity.OIDC})
	d.Remember(r.Context(), "signed in with "+d.Provider.Title()+" as "+who.Role.String(), who.Name)
	c.Response().Header().Set(echo.HeaderReferrerPolicy, "no-referrer")
	return c.Redirect(http.StatusSeeOther, d.Within(who.Back))
}

// told is what somebody is told of a sign-in that came to nothing. The log has the rest.
func (d *Door) told(c echo.Context, err error) error {
	if d.Tell == nil || d.Tell() {
		ctx, from := c.Request().Context(), c.Request().RemoteAddr
		if host, _, err := net.SplitHostPort(from); err == nil {
			from = host
		}
		d.Provider.c.Logger.WarnContext(ctx, "somebody could not sign in", "with", d.Provider.Title(), "from", from, "error", err)
		d.Remember(ctx, "could not sign in with "+d.Provider.Title(), "dashboard "+from)
	}
	name, code, text := d.Provider.Title(), http.StatusForbidden, ""
	switch denial, denied := errors.AsType[*Denial](err); {
	case denied:
		text = name + " does not sign you in: " + plain(denial.Error(), 200)
	case errors.Is(err, ErrDown):
		code, text = http.StatusServiceUnavailable, name+" does not answer as it should. Try again in a moment; the server's log says more."
	case errors.Is(err, ErrNoRole):
		text = name + " knows you, but you have no role here. Whoever runs this server can give you one."
	case errors.Is(err, ErrState):
		text = "This sign-in was not begun in this browser, or too long ago, or another one was begun meanwhile. Sign in again."
	default:
		text = "What " + name + " says of you cannot be trusted. The server's log says why."
	}
	return echo.NewHTTPError(code, text).SetInternal(err)
}
