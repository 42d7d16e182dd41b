package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// stripBase returns a request as routes expect it, without the base path. If ok is false, the
// address is not below the base path and the request is returned unchanged.
func (s *Server) stripBase(r *http.Request) (*http.Request, bool) {
	base := s.o.Base
	if base == "" {
		return r, true
	}
	cut := func(at string) (string, bool) {
		rest, ok := strings.CutPrefix(at, base)
		if ok && rest == "" {
			rest = "/"
		}
		return rest, ok && rest[0] == '/'
	}
	at, ok := cut(r.URL.Path)
	raw := ""
	if ok && r.URL.RawPath != "" {
		raw, ok = cut(r.URL.RawPath) // the base path needs no escaping
	}
	if !ok {
		return r, false
	}
	u, same := *r.URL, *r
	u.Path, u.RawPath = at, raw
	same.URL = &u
	return &same, true
}

// newOutsideBase returns the handler of requests outside the base path. It also serves AMQP in a
// WebSocket, because the SDKs choose its address, and the liveness checks, because a process manager
// does not know the base path.
func (s *Server) newOutsideBase() http.Handler {
	e := s.newBase(pagePolicy)
	s.mountWebSocket(e)
	e.HTTPErrorHandler = s.textError
	for _, path := range alivePaths {
		e.GET(path, alive)
	}
	e.GET("/", func(c echo.Context) error { return c.Redirect(http.StatusFound, s.o.Base+"/") })
	e.Any("/*", func(c echo.Context) error {
		return c.String(http.StatusNotFound, fmt.Sprintf("Nothing is served at this address. The dashboard and its API are below %s/.\n", s.o.Base))
	})
	return e
}
