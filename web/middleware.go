package web

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/web/amqp/websocket"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/token"
	"mayfly/web/cluster"
	"mayfly/web/connlimit"
	"mayfly/web/proxy"
)

// hostsKey is the context key of the origin.Hosts of a request's listener, and portKey that of the
// namespace whose port it is.
type (
	hostsKey struct{}
	portKey  struct{}
)

// namespaceOfPort returns the namespace whose port a request came to, or "" for a port of all
// namespaces.
func namespaceOfPort(r *http.Request) string {
	name, _ := r.Context().Value(portKey{}).(string)
	return name
}

// requestID gives the request an id, a GUID, which clients quote when they report a problem. An
// id from the client is ignored, because it need not be unique.
func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails, by its contract
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		id := fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		return next(c)
	}
}

// logRequest logs a request after it has sent the answer to its error, if there is one, so that the
// log has the status that was sent. If an error comes after the answer has begun, it cuts the
// connection, because a broken answer must not look complete.
func (s *Server) logRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, began := c.Request(), time.Now()
		err := next(c)
		begun := c.Response().Committed
		gone := connlimit.FromContext(r.Context()).Evicted() // the client cannot get an answer
		if err != nil && !gone {
			c.Error(err)
		}
		s.o.Logger.DebugContext(r.Context(), "request", "method", r.Method, "path", redactPath(r.URL.Path), "status", c.Response().Status,
			"bytes", c.Response().Size, "took", time.Since(began), "remote", r.RemoteAddr,
			"id", c.Response().Header().Get(echo.HeaderXRequestID), "err", err)
		if err != nil && (begun || gone) {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

// redactPath returns path with secrets removed.
func redactPath(path string) string {
	if strings.HasPrefix(path, token.LinkPath) {
		return token.LinkPath + "…"
	}
	return path
}

// securityHeaders sets the headers that restrict what browsers may do with the answer.
func securityHeaders(policy func(*http.Request) string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			h := c.Response().Header()
			h.Set(echo.HeaderContentSecurityPolicy, policy(c.Request()))
			h.Set(echo.HeaderXContentTypeOptions, "nosniff")
			// Not no-referrer: with it forms would be posted with "Origin: null".
			h.Set(echo.HeaderReferrerPolicy, "same-origin")
			h.Set("Cross-Origin-Opener-Policy", "same-origin")
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
			h.Set(echo.HeaderCacheControl, "no-store")
			return next(c)
		}
	}
}

// adminPolicy returns a content security policy that allows nothing, because the admin port is not for
// browsers.
func adminPolicy(*http.Request) string {
	return "default-src 'none'; frame-ancestors 'none'; sandbox"
}

// pagePolicy returns a content security policy that allows pages only the server's own resources. It
// contains the socket's address, because some browsers do not count that as 'self'.
func pagePolicy(r *http.Request) string {
	sockets := ""
	if host := r.Host; host != "" && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") == "" {
		sockets = " ws://" + host + " wss://" + host
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'" + sockets +
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// recoverPanic turns a panic into an error. It passes on http.ErrAbortHandler, which cuts the
// connection on purpose.
func recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler:
				panic(r)
			default:
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}

func checkHost(allowed []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if _, passed := cluster.ClientFromContext(c.Request().Context()); passed {
				return next(c) // the server that forwarded the request has checked its host
			}
			hosts, ok := c.Request().Context().Value(hostsKey{}).(origin.Hosts)
			if !ok { // served by a listener that Serve did not open
				hosts = origin.Hosts{Allowed: allowed}
			}
			if err := hosts.Check(c.Request()); err != nil {
				return err
			}
			return next(c)
		}
	}
}

func checkSite(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := origin.CrossSite(c.Request()); err != nil {
			return err
		}
		return next(c)
	}
}

// amqpWebSocket serves AMQP that comes inside a WebSocket. The AMQP server itself reports that
// this server stands by.
func (s *Server) amqpWebSocket(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.amqpSocket == nil || !websocket.IsPath(c.Request().URL.Path) {
			return next(c)
		}
		s.amqpSocket.ServeHTTP(c.Response(), c.Request())
		return nil
	}
}

// answerHead answers HEAD wherever GET is answered. The HTTP server leaves the body out, because
// it still sees the original method.
func answerHead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			asked := *r
			asked.Method = http.MethodGet
			r = &asked
		}
		next.ServeHTTP(w, r)
	})
}

// limitBodies gives each request a share of the budget for bodies, and frees that share after the
// request. The share counts towards the client's address. If a trusted proxy sent the request and
// names no client, it counts towards no address, because many clients may use that proxy.
func (s *Server) limitBodies(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := proxy.Address(c.Request())
		if s.o.TrustedProxies.Has(address) {
			address = ""
		}
		share := s.bodyBudget.NewShare(proxy.Network(address))
		defer share.Release()
		c.SetRequest(c.Request().WithContext(origin.WithShare(c.Request().Context(), share)))
		return next(c)
	}
}
