package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/web/relay"
)

// passOn has the owner of a namespace answer what is asked of this server, but for
// what this server has an answer to whoever owns the namespace. What another server has
// passed on is answered here, and so is what the owner cannot be asked: who comes again
// may find it. Where the owner may have done what it has not answered, that is said.
func passOn(w Standby, port relay.Port) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if _, passed := relay.Of(r.Context()); w.Line == nil || passed || port == relay.Dashboard && !ofOwner(c.Path()) {
				return next(c)
			}
			err := w.Line.Pass(c.Response(), r, port)
			switch {
			case err == nil || c.Response().Committed:
				return nil
			case !errors.Is(err, relay.ErrUnsure), r.Method == http.MethodGet, r.Method == http.MethodHead, r.Method == http.MethodOptions:
				return next(c)
			}
			is := w // w is of every request
			is.unsure = true
			if port == relay.Dashboard && !strings.HasPrefix(r.URL.Path, "/api/") {
				return is.page(c)
			}
			return &standbyError{is}
		}
	}
}

// ofOwner tells whether a route of the dashboard's port is one of those for all that
// this server knows nothing of while it stands by.
func ofOwner(pattern string) bool {
	switch pattern {
	case "", "/*", "/api/*", "/api/v1/*", "/live":
		return true
	default:
		return false
	}
}

// PassedOn answers what other servers pass on, for the namespace that they name. Where
// the server does not know that yet, it is to come again.
func (s *Server) PassedOn() http.Handler {
	unknown := s.base(pagePolicy)
	unknown.HTTPErrorHandler = s.plainError
	unknown.Any("/*", func(c echo.Context) error {
		again(c)
		return c.String(http.StatusServiceUnavailable, "This server does not know of the namespace yet.\n")
	})
	return headless(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := relay.Of(r.Context())
		sp := s.others.named(strings.ToLower(p.Namespace))
		switch {
		case !ok || sp == nil:
			unknown.ServeHTTP(w, r)
		case p.Port == relay.Admin:
			sp.behind.Load().admin().ServeHTTP(w, r)
		default:
			sp.behind.Load().dashboard().ServeHTTP(w, r)
		}
	}))
}
