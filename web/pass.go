package web

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/web/access"
	"mayfly/web/amqp/socket"
	"mayfly/web/keys"
	"mayfly/web/relay"
)

// hostsKey is where a request's context has the access.Hosts of its listener, and portKey
// whose port that is.
type (
	hostsKey struct{}
	portKey  struct{}
)

// portOf is the namespace whose port a request came to; empty: it is one of all.
func portOf(r *http.Request) string {
	name, _ := r.Context().Value(portKey{}).(string)
	return name
}

// identify gives the request an id, a GUID, which clients quote when something
// went wrong. One that the client sent is not taken: it could be any.
func identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails, by its contract
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		id := fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		return next(c)
	}
}

// logged presents the error, if there is one, so that the log has the status
// that was sent. An answer that had begun by then is cut off: one that breaks off must
// not look whole.
func (s *Server) logged(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, began := c.Request(), time.Now()
		err := next(c)
		begun := c.Response().Committed
		if err != nil {
			c.Error(err)
		}
		s.o.Logger.DebugContext(r.Context(), "request", "method", r.Method, "path", loggable(r.URL.Path), "status", c.Response().Status,
			"bytes", c.Response().Size, "took", time.Since(began), "remote", r.RemoteAddr,
			"id", c.Response().Header().Get(echo.HeaderXRequestID), "err", err)
		if err != nil && begun {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

// loggable is a path without what nobody may know who reads the log.
func loggable(path string) string {
	if strings.HasPrefix(path, keys.LinkPath) {
		return keys.LinkPath + "…"
	}
	return path
}

// secured tells browsers what they may do with the answer, which is little.
func secured(policy func(*http.Request) string) echo.MiddlewareFunc {
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

// adminPolicy allows nothing: what is there is not for browsers.
func adminPolicy(*http.Request) string {
	return "default-src 'none'; frame-ancestors 'none'; sandbox"
}

// pagePolicy allows pages what is ours. The socket's address is written out,
// because not every browser counts it to 'self'.
func pagePolicy(r *http.Request) string {
	sockets := ""
	if host := r.Host; host != "" && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") == "" {
		sockets = " ws://" + host + " wss://" + host
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'" + sockets +
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// recovered turns a panic into an error. http.ErrAbortHandler, which cuts the
// connection on purpose, goes on.
func recovered(next echo.HandlerFunc) echo.HandlerFunc {
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
			if _, passed := relay.Of(c.Request().Context()); passed {
				return next(c) // the server that its client has named looked
			}
			hosts, ok := c.Request().Context().Value(hostsKey{}).(access.Hosts)
			if !ok { // served by somebody else's listener
				hosts = access.Hosts{Allowed: allowed}
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
		if err := access.CrossSite(c.Request()); err != nil {
			return err
		}
		return next(c)
	}
}

// tunnelled lets AMQP in that comes inside a WebSocket. It is for whoever serves
// AMQP to say that this server stands by.
func (s *Server) tunnelled(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.socket == nil || !socket.At(c.Request().URL.Path) {
			return next(c)
		}
		s.socket.ServeHTTP(c.Response(), c.Request())
		return nil
	}
}

// headless answers HEAD wherever GET is answered. The HTTP server leaves the
// body out, by the request as it came.
func headless(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			asked := *r
			asked.Method = http.MethodGet
			r = &asked
		}
		next.ServeHTTP(w, r)
	})
}

// stalled is how long a client may neither send what it announced nor take what
// it asked for. Waiting for a message is no stalling: nobody owes anything then.
const stalled = 30 * time.Second

// patient cuts off clients that stall. A body has a deadline before anybody
// reads it: what no door wants, the HTTP server reads on before it answers.
func patient(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		w, r := c.Response(), c.Request()
		control := http.NewResponseController(w.Writer)
		w.Writer = &slowWriter{ResponseWriter: w.Writer, control: control}
		if r.Body != nil && r.Body != http.NoBody {
			body := &slowBody{ReadCloser: r.Body, control: control}
			body.wait()
			r.Body = body
		}
		return next(c)
	}
}

// A slowBody allows every read its time.
type slowBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *slowBody) Read(p []byte) (int, error) {
	b.wait()
	n, err := b.ReadCloser.Read(p)
	if err != nil { // the end: from now on the connection may be silent
		_ = b.control.SetReadDeadline(time.Time{}) //nolint:errcheck // likewise
	}
	return n, err //nolint:wrapcheck // a reader passes on what it gets
}

func (b *slowBody) wait() {
	_ = b.control.SetReadDeadline(time.Now().Add(stalled)) //nolint:errcheck // where there is no connection, nothing can stall
}

// A slowWriter allows every write its time.
type slowWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *slowWriter) WriteHeader(code int) {
	w.wait()
	w.ResponseWriter.WriteHeader(code)
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.wait()
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // a writer passes on what it gets
}

func (w *slowWriter) wait() {
	_ = w.control.SetWriteDeadline(time.Now().Add(stalled)) //nolint:errcheck // where there is no connection, nothing can stall
}

// Unwrap lets http.ResponseController find what it needs below.
func (w *slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
