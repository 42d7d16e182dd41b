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
	"mayfly/web/auth"
	"mayfly/web/cluster"
	"mayfly/web/connlimit"
	"mayfly/web/docs"
)

// An AuthRoutes has addresses of its own on the dashboard's port, independent of namespaces: pages to
// sign in, for instance. It is safe for concurrent use.
type AuthRoutes interface {
	// Mount adds its routes to the root group. It is called for each namespace, each time that
	// the namespace is opened or stands by.
	Mount(*echo.Group)
	// RequiredRole returns the role that one of its routes requires, by method and pattern, and
	// false if the route is not its own. None means that everyone has access.
	RequiredRole(method, pattern string) (auth.Role, bool)
}

// SignInPath is the page to which unknown visitors are sent, if an AuthRoutes serves it. The query
// parameter "to" is the address to return to.
const SignInPath = "/login"

// serverRoles are the roles of the routes that belong to no API or page, except health checks.
var serverRoles = map[string]auth.Role{
	"GET /static/*": auth.None,
	"GET /metrics":  auth.Viewer, "GET /grafana.json": auth.Viewer,
	"GET /live": auth.Viewer,
}

// requiredRoles returns the roles that the registered routes of e require, by method and pattern.
func (s *Server) requiredRoles(e *echo.Echo, ofUI func(method, pattern string) (auth.Role, bool)) map[string]auth.Role {
	all := map[string]auth.Role{}
	for _, r := range e.Routes() {
		all[r.Method+" "+r.Path] = s.requiredRole(ofUI, r.Method, r.Path)
	}
	return all
}

// requiredRole returns the role that a route requires. A route that is in no table requires an admin.
func (s *Server) requiredRole(ofUI func(method, pattern string) (auth.Role, bool), method, pattern string) auth.Role {
	if role, ok := s.lookupRole(ofUI, method, pattern); ok {
		return role
	}
	return auth.Admin
}

// lookupRole returns the role of a route from the tables; false means that no table has it.
func (s *Server) lookupRole(ofUI func(method, pattern string) (auth.Role, bool), method, pattern string) (auth.Role, bool) {
	if name, ok := strings.CutPrefix(pattern, pagesPrefix); ok && strings.Count(name, "/") == 1 && strings.HasSuffix(name, "/live") {
		pattern = "/live"
	}
	if method == http.MethodGet && slices.Contains(healthPaths, pattern) {
		return auth.None, true
	}
	if role, ok := serverRoles[method+" "+pattern]; ok {
		return role, true
	}
	for _, g := range s.o.AuthRoutes {
		if role, ok := g.RequiredRole(method, pattern); ok {
			return role, true
		}
	}
	if role, ok := api.RequiredRole(method, pattern); ok {
		return role, true
	}
	if ofUI != nil {
		return ofUI(method, pattern)
	}
	return auth.None, false
}

// authorize rejects requests whose caller lacks the route's role, and puts the caller in the
// context. The context is cancelled when the caller's access ends. It is the only place where
// roles are checked for an address.
//
// `roles` returns the roles of the registered routes. Requests to no route change nothing, and require
// a viewer.
func (s *Server) authorize(roles func() map[string]auth.Role) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			needs, ok := roles()[strings.Replace(r.Method, http.MethodHead, http.MethodGet, 1)+" "+c.Path()]
			if !ok {
				needs = auth.Viewer
			}
			caller, err := s.identifyCaller(r)
			if err == nil && caller.IsKnown() {
				connlimit.FromContext(r.Context()).Authenticated()
			}
			if err != nil && needs != auth.None {
				s.dropRefusedCookie(c, err)
				if errors.Is(err, auth.ErrNoCredential) {
					err = auth.ErrUnauthenticated
				}
				return err
			}
			c.SetRequest(r.WithContext(auth.WithCaller(r.Context(), caller))) // also for the error page
			if err := auth.Authorize(caller, needs); err != nil {
				return err
			}
			if needs != auth.None && caller.Namespace != "" {
				if r.URL.Path == "/" {
					return c.Redirect(http.StatusFound, s.o.Base+pagesPrefix+caller.Namespace)
				}
				if !s.belongsTo(caller.Namespace, r.URL.Path) && !s.mayFollow(caller, r.URL.Path) {
					return &auth.RoleError{Has: caller.Role, Needs: needs, Namespace: caller.Namespace}
				}
			}
			ctx := auth.WithCaller(r.Context(), caller)
			if caller.Done != nil {
				var stop context.CancelCauseFunc
				ctx, stop = context.WithCancelCause(ctx)
				defer stop(nil)
				ended := ctx.Done()
				go func() { // ends with the request
					select {
					case <-caller.Done:
						stop(auth.ErrSignedOut)
					case <-ended:
					}
				}()
			}
			c.SetRequest(r.WithContext(ctx))
			err = next(c)
			if err != nil { // the error's answer is rendered after stop
				c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
			}
			return err
		}
	}
}

// identifyCaller returns the caller of a request. For a forwarded request that is the caller which
// the forwarding server identified, unless that server is open and this one is not.
func (s *Server) identifyCaller(r *http.Request) (auth.Caller, error) {
	p, passed := cluster.ClientFromContext(r.Context())
	if !passed {
		return s.o.Auth.Identify(r)
	}
	if !p.Caller.IsKnown() || p.Caller.Method == auth.Open && !s.o.Auth.IsOpen() {
		return auth.Caller{}, auth.ErrNoCredential
	}
	return p.Caller, nil
}

// belongsTo reports whether the address `at` is below the addresses of the named namespace, or is one
// of the documentation.
func (s *Server) belongsTo(name, at string) bool {
	if at == docs.At || strings.HasPrefix(at, docs.At+"/") { // the same for all
		return true
	}
	rest, ok := cutNamespace(at, pagesPrefix, name)
	if ok && (rest == "" || rest[0] == '/') {
		return true
	}
	rest, ok = cutNamespace(at, apiPrefix, name)
	if ok {
		rest, ok = strings.CutPrefix(rest, "/")
	}
	if !ok && s.namespaces.get(name) == s.Namespace { // an address without a namespace belongs to the server's own
		if at == "/live" {
			return true
		}
		if rest, ok = strings.CutPrefix(at, "/api/v1/"); strings.HasPrefix(rest, "n/") {
			return false
		}
	}
	of, _, _ := strings.Cut(rest, "/")
	return ok && !slices.Contains(serverPaths, of)
}

// cutNamespace returns the part of the address `at` after the prefix `below` and the namespace's
// name, which may be in any case. It reports whether the address begins with both.
func cutNamespace(at, below, name string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(at, below)
	if !ok || len(rest) < len(name) || !strings.EqualFold(rest[:len(name)], name) {
		return "", false
	}
	return rest[len(name):], true
}

// mayFollow reports whether a link visitor may use the address `at` outside the link's namespace. The
// visitor may open pages of the scenes to which the presenter led, and the socket /live, on which
// the hub sends link visitors only where the presenter is.
func (s *Server) mayFollow(caller auth.Caller, at string) bool {
	if caller.Method != auth.Link {
		return false
	}
	if at == "/live" {
		return true
	}
	rest, ok := strings.CutPrefix(at, pagesPrefix)
	name, _, _ := strings.Cut(rest, "/")
	return ok && s.o.SceneVisible != nil && s.o.SceneVisible(caller, name)
}

// serverPaths lists the API's paths that are below every namespace's address but concern the whole
// server.
var serverPaths = []string{
	"namespaces", "scenes", "playbacks", "signed-in",
}

// dropRefusedCookie removes the browser's refused cookie when it navigates to a page. A page's own
// requests are still refused: a visitor by a link does not become another caller in the middle
// of a page.
func (s *Server) dropRefusedCookie(c echo.Context, err error) {
	e, ok := errors.AsType[*auth.CredentialError](err)
	if ok && e.Cookie != "" && isNavigation(c.Request()) {
		auth.SetCookie(c.Response(), c.Request(), &http.Cookie{Name: e.Cookie, Path: auth.CookiePath(s.o.Base), MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	}
}

// isNavigation reports whether a browser asks for a page, rather than a script for data.
func isNavigation(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return r.Method == http.MethodGet && r.Header.Get(echo.HeaderUpgrade) == "" && (mode == "" || mode == "navigate") &&
		strings.Contains(r.Header.Get(echo.HeaderAccept), echo.MIMETextHTML)
}

// isUnauthenticated reports whether an error means that the caller is unknown.
func isUnauthenticated(err error) bool {
	_, refused := errors.AsType[*auth.CredentialError](err)
	return refused || errors.Is(err, auth.ErrUnauthenticated) || errors.Is(err, auth.ErrSignedOut)
}

// signInURL returns the sign-in address for a browser that asks for a page, or "" if the
// browser gets the error instead.
func (s *Server) signInURL(err error, r *http.Request) string {
	switch {
	case !errors.Is(err, auth.ErrUnauthenticated) && !errors.Is(err, auth.ErrSignedOut), !isNavigation(r):
		return ""
	}
	for _, g := range s.o.AuthRoutes {
		if _, ok := g.RequiredRole(http.MethodGet, SignInPath); ok {
			return s.o.Base + SignInPath + "?" + url.Values{"to": {s.o.Base + r.URL.RequestURI()}}.Encode()
		}
	}
	return ""
}

// isOpen reports whether the dashboard's port is open to everybody.
func (s *Server) isOpen() bool { return s.o.Auth.IsOpen() }
