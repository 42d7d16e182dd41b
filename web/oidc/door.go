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

	"mayfly/web/identity"
)

// The addresses that browsers are sent between. The provider has to know the second, as
// the one that people come back to from signing in and from signing out.
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
	// Begin starts a session of who has signed in, which lasts no longer than Lasts, and has
	// that be known.
	Begin func(w http.ResponseWriter, r *http.Request, who identity.Who)
	Lasts time.Duration
	// Within is an address to return to, if it is one of this server's.
	Within func(to string) string
	// Try counts one more try to sign in of whoever sends a request, and says how long there
	// is none; Good takes two of them back, which came to a sign-in. Zero: nobody counts.
	Try  func(r *http.Request) (wait time.Duration)
	Good func(r *http.Request)
	// Failed has it be known that somebody could not sign in with the provider, and why;
	// name is who that is, if the provider knows.
	Failed func(r *http.Request, name, with string, why error)
	// Refuse tells somebody so. Why is down, denied, role, state, or doubt where the
	// provider cannot be trusted; name is what people know it by, said its reason, the text
	// of a stranger, and to where they were to go.
	Refuse func(c echo.Context, status int, why, name, said, to string) error
	// SignOut is the address where people sign out here, and Out where somebody is led who
	// comes back from doing so at the provider.
	SignOut, Out string
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
	u := url.URL{Scheme: "http", Host: r.Host, Path: d.Provider.c.Base + Back}
	if safe(r) {
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
	back := d.Within(c.QueryParam("to"))
	to, err := d.Provider.Begin(c.Response(), c.Request(), d.at(c.Request()), back)
	if err != nil {
		return d.told(c, err, Person{Back: back})
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// finish takes one that comes back, and leads it to where it was to go.
func (d *Door) finish(c echo.Context) error {
	r := c.Request()
	c.Response().Header().Set(echo.HeaderReferrerPolicy, "no-referrer")
	if q := r.URL.Query(); q.Get("state") == signedOut && !q.Has("code") && !q.Has("error") {
		return c.Redirect(http.StatusSeeOther, d.Out)
	}
	who, err := d.Provider.Finish(c.Response(), r)
	if err != nil {
		return d.told(c, err, who)
	}
	if d.Good != nil {
		d.Good(r)
	}
	d.Begin(c.Response(), r, identity.Who{Name: d.Called(who.Name), Subject: who.Subject, Role: who.Role, Way: identity.OIDC})
	d.keepHint(c.Response(), r, who.Hint)
	return c.Redirect(http.StatusSeeOther, d.Within(who.Back))
}

// told is what somebody is told of a sign-in that came to nothing. The log has the rest.
func (d *Door) told(c echo.Context, err error, who Person) error {
	d.Failed(c.Request(), who.Name, d.Provider.Title(), err)
	status, why, said := http.StatusForbidden, "doubt", ""
	switch denial, denied := errors.AsType[*Denial](err); {
	case denied:
		why, said = "denied", plain(denial.Error(), 200)
	case errors.Is(err, ErrDown):
		status, why = http.StatusServiceUnavailable, "down"
	case errors.Is(err, ErrNoRole):
		why = "role"
	case errors.Is(err, ErrState):
		why = "state"
	}
	return d.Refuse(c, status, why, d.Provider.Title(), said, d.Within(who.Back))
}
