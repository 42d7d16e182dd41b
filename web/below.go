package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// below is a request as doors get it, without the base path; not ok: it is for nothing
// that is there, and as it came.
func (s *Server) below(r *http.Request) (*http.Request, bool) {
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
		raw, ok = cut(r.URL.RawPath) // nothing of the base path is to be escaped
	}
	if !ok {
		return r, false
	}
	u, same := *r.URL, *r
	u.Path, u.RawPath = at, raw
	same.URL = &u
	return &same, true
}

// newOutside answers what is not below the base path. AMQP in a WebSocket is: where it
// is, the SDKs say. So is whether the process is alive, which whoever keeps it asks
// without knowing of the base path.
func (s *Server) newOutside() http.Handler {
	e := s.base(pagePolicy)
	s.tunnels(e)
	e.HTTPErrorHandler = s.plainError
	e.GET("/healthz", alive)
	e.GET("/livez", alive)
	e.GET("/", func(c echo.Context) error { return c.Redirect(http.StatusFound, s.o.Base+"/") })
	e.Any("/*", func(c echo.Context) error {
		return c.String(http.StatusNotFound, fmt.Sprintf("There is nothing here: the dashboard and its API are below %s/.\n", s.o.Base))
	})
	return e
}
