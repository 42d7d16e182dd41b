package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/web/api"
	"mayfly/web/identity"
	"mayfly/web/relay"
)

// A Gate has addresses of its own on the dashboard's port, whatever becomes of
// namespaces: pages to sign in, for instance. It is safe for concurrent use.
type Gate interface {
	// Mount adds them to the root group, once for each namespace and each time that
	// it is opened or stands by.
	Mount(*echo.Group)
	// Needs is the role that one of them takes, by its method and pattern; false: it
	// is none of them. None is for everybody.
	Needs(method, pattern string) (identity.Role, bool)
}

// SignIn is where people who are not known are led, if there is a Gate that has it.
// It is asked for with the address to return to, as to.
const SignIn = "/login"

// plainNeeds are what is of no door.
func plainNeeds() map[string]identity.Role {
	return map[string]identity.Role{
		"GET /healthz": identity.None, "GET /livez": identity.None, "GET /readyz": identity.None, "GET /static/*": identity.None,
		"GET /metrics": identity.Viewer, "GET /grafana.json": identity.Viewer,
		"GET /live": identity.Viewer,
	}
}

// needs is the role that a route takes. What nobody has said anything of is for
// admins.
func (s *Server) needs(ofUI func(method, pattern string) (identity.Role, bool), method, pattern string) identity.Role {
	if role, ok := s.said(ofUI, method, pattern); ok {
		return role
	}
	return identity.Admin
}

// said is the role that a table says that a route takes; false: there is no row.
func (s *Server) said(ofUI func(method, pattern string) (identity.Role, bool), method, pattern string) (identity.Role, bool) {
	if name, ok := strings.CutPrefix(pattern, belowPages); ok && strings.Count(name, "/") == 1 && strings.HasSuffix(name, "/live") {
		pattern = "/live"
	}
	if role, ok := plainNeeds()[method+" "+pattern]; ok {
		return role, true
	}
	for _, g := range s.o.Gates {
		if role, ok := g.Needs(method, pattern); ok {
			return role, true
		}
	}
	if role, ok := api.Needs(method, pattern); ok {
		return role, true
	}
	if ofUI != nil {
		return ofUI(method, pattern)
	}
	return identity.None, false
}

// permitted lets a request go on whose sender may have it, and has the context say
// who that is. What the request does ends when that one is known no longer. It is the
// only place where roles are looked at for an address.
//
// routes are those that are registered: whatever else is asked for does nothing.
func (s *Server) permitted(ofUI func(method, pattern string) (identity.Role, bool), routes func() map[string]bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			needs := identity.Viewer
			if method := strings.Replace(r.Method, http.MethodHead, http.MethodGet, 1); routes()[method+" "+c.Path()] {
				needs = s.needs(ofUI, method, c.Path())
			}
			who, err := s.identify(r)
			if err != nil && needs != identity.None {
				s.forget(c, err)
				if errors.Is(err, identity.ErrNone) {
					err = identity.ErrNobody
				}
				return err
			}
			c.SetRequest(r.WithContext(identity.With(r.Context(), who))) // also for the page that refuses it
			if err := identity.Judge(who, needs); err != nil {
				return err
			}
			if needs != identity.None && who.Within != "" {
				if r.URL.Path == "/" {
					return c.Redirect(http.StatusFound, s.o.Base+belowPages+who.Within)
				}
				if !s.within(who.Within, r.URL.Path) && !s.shown(who, r.URL.Path) {
					return &identity.RoleError{Has: who.Role, Needs: needs, Within: who.Within}
				}
			}
			ctx := identity.With(r.Context(), who)
			if who.Over != nil {
				var stop context.CancelCauseFunc
				ctx, stop = context.WithCancelCause(ctx)
				defer stop(nil)
				ended := ctx.Done()
				go func() { // ends with the request
					select {
					case <-who.Over:
						stop(identity.ErrOver)
					case <-ended:
					}
				}()
			}
			c.SetRequest(r.WithContext(ctx))
			err = next(c)
			if err != nil { // what tells of it is still to be made, when stop has been called
				c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
			}
			return err
		}
	}
}

// identify is who a request is of: what another server has found out that passes it on,
// unless that is open and this one is not.
func (s *Server) identify(r *http.Request) (identity.Who, error) {
	p, passed := relay.Of(r.Context())
	if !passed {
		return s.o.Who.Identify(r) //nolint:wrapcheck // as said
	}
	if !p.Who.Known() || p.Who.Way == identity.Open && !s.o.Who.Open() {
		return identity.Who{}, identity.ErrNone
	}
	return p.Who, nil
}

// within tells whether an address is of that one namespace, and of it alone.
func (s *Server) within(name, at string) bool {
	rest, ok := cutBelow(at, belowPages, name)
	if ok && (rest == "" || rest[0] == '/') {
		return true
	}
	rest, ok = cutBelow(at, belowAPI, name)
	if ok {
		rest, ok = strings.CutPrefix(rest, "/")
	}
	if !ok && s.others.named(name) == s.Space { // what names none is of the server's own
		if at == "/live" {
			return true
		}
		if rest, ok = strings.CutPrefix(at, "/api/v1/"); strings.HasPrefix(rest, "n/") {
			return false
		}
	}
	of, _, _ := strings.Cut(rest, "/")
	return ok && !slices.Contains(ofServer(), of)
}

// cutBelow is what follows a namespace in an address, which may spell it in any case.
func cutBelow(at, below, name string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(at, below)
	if !ok || len(rest) < len(name) || !strings.EqualFold(rest[:len(name)], name) {
		return "", false
	}
	return rest[len(name):], true
}

// shown tells whether whoever follows a presenter by a link may have an address that is
// not of their namespace: pages of the stages that they were led to, and the socket that
// tells where the presenter is, of which the hub gives them nothing else.
func (s *Server) shown(who identity.Who, at string) bool {
	if who.Way != identity.Link {
		return false
	}
	if at == "/live" {
		return true
	}
	rest, ok := strings.CutPrefix(at, belowPages)
	name, _, _ := strings.Cut(rest, "/")
	return ok && s.o.Stage != nil && s.o.Stage(who, name)
}

// ofServer is what the API has, below the address of any namespace, that is not of it
// alone.
func ofServer() []string { return []string{"namespaces", "scenes", "plays", "signed-in"} }

// forget has a browser that looks for a page forget what it was refused for. What its
// pages ask for is still refused: who looked on by a link is not somebody else at once.
func (s *Server) forget(c echo.Context, err error) {
	e, ok := errors.AsType[*identity.Refused](err)
	if ok && e.Cookie != "" && navigates(c.Request()) {
		c.SetCookie(&http.Cookie{Name: e.Cookie, Path: identity.CookiePath(s.o.Base), MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	}
}

// navigates tells whether a browser looks for a page, and no script of one for
// something.
func navigates(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return r.Method == http.MethodGet && r.Header.Get(echo.HeaderUpgrade) == "" && (mode == "" || mode == "navigate") &&
		strings.Contains(r.Header.Get(echo.HeaderAccept), echo.MIMETextHTML)
}

// unknown tells whether an error is that nobody knows who asks.
func unknown(err error) bool {
	_, refused := errors.AsType[*identity.Refused](err)
	return refused || errors.Is(err, identity.ErrNobody) || errors.Is(err, identity.ErrOver)
}

// toSignIn is where a browser is led that looks for a page; empty: it is told that
// nobody knows it.
func (s *Server) toSignIn(err error, r *http.Request) string {
	switch {
	case !errors.Is(err, identity.ErrNobody) && !errors.Is(err, identity.ErrOver), !navigates(r):
		return ""
	}
	for _, g := range s.o.Gates {
		if _, ok := g.Needs(http.MethodGet, SignIn); ok {
			return s.o.Base + SignIn + "?" + url.Values{"to": {s.o.Base + r.URL.RequestURI()}}.Encode()
		}
	}
	return ""
}

// open tells whether the dashboard's port is for everybody.
func (s *Server) open() bool { return s.o.Who.Open() }
