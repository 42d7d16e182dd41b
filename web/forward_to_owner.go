package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
	"mayfly/web/rest"
)

// forward forwards requests to the namespace's owner, except for the routes that every server
// answers itself. This server also answers a request that another server has forwarded, and one
// that did not reach the owner, which the client may retry. If the owner received a request but did
// not answer, the client gets an error which states that the outcome is unknown.
func (s *Server) forward(w Standby, port cluster.Port) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if _, passed := cluster.ClientFromContext(r.Context()); w.Forwarder == nil || passed || port == cluster.Dashboard && !isCatchAll(c.Path()) {
				return next(c)
			}
			err := w.Forwarder.Forward(c.Response(), r, s.tokenHosts(w, r, port))
			switch {
			case err == nil || c.Response().Committed:
				return nil
			case !errors.Is(err, cluster.ErrOutcomeUnknown), r.Method == http.MethodGet, r.Method == http.MethodHead, r.Method == http.MethodOptions:
				return next(c)
			}
			is := w // w is shared by all requests
			is.unanswered = true
			if port == cluster.Dashboard && !strings.HasPrefix(r.URL.Path, "/api/") {
				return is.page(c)
			}
			return &standbyError{is}
		}
	}
}

// tokenHosts returns the client information that the owner of a namespace needs to check the tokens
// of r: the names of this server that the tokens contain, and Own.
func (s *Server) tokenHosts(w Standby, r *http.Request, port cluster.Port) cluster.ClientInfo {
	var hosts []string
	for _, header := range rest.TokenHeaders() {
		if t, err := sas.Parse(r.Header.Get(header)); err == nil {
			hosts = append(hosts, t.Host())
		}
	}
	return cluster.ClientInfo{Port: port, Hosts: sas.Names{IsServer: s.o.IsServerName}.Served(hosts...), Own: !w.notOwn || namespaceOfPort(r) != ""}
}

// isCatchAll reports whether a route of the dashboard's port is a catch-all for addresses that this
// server does not serve while it stands by.
func isCatchAll(pattern string) bool {
	switch pattern {
	case "", "/*", "/api/*", "/api/v1/*", "/live":
		return true
	default:
		return false
	}
}

// ForwardedHandler answers the requests that other servers forward, for the namespace that they name.
// If the server does not know that namespace yet, the answer asks for a retry.
func (s *Server) ForwardedHandler() http.Handler {
	unknown := s.newBase(pagePolicy)
	unknown.HTTPErrorHandler = s.textError
	unknown.Any("/*", func(c echo.Context) error {
		setRetryAfter(c)
		return c.String(http.StatusServiceUnavailable, "This server has not loaded the namespace yet.\n")
	})
	return answerHead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := cluster.ClientFromContext(r.Context())
		sp := s.namespaces.get(strings.ToLower(p.Namespace))
		switch {
		case !ok || sp == nil:
			unknown.ServeHTTP(w, r)
		case p.Port == cluster.Admin:
			sp.handlers.Load().admin().ServeHTTP(w, r)
		default:
			sp.handlers.Load().dashboard().ServeHTTP(w, r)
		}
	}))
}
