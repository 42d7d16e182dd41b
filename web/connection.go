package web

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"mayfly/web/connlimit"
	"mayfly/web/proxy"
)

// trackConnection sets each request's RemoteAddr to the client's address and reports to the budget
// of connections how the connection is used. With `asks`, clients must authenticate at this port, and
// until they have, their connections are closed first when the budget is used up. On a connection in
// an emergency place, only requests for the server's health are answered.
func (s *Server) trackConnection(next http.Handler, asks bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connlimit.FromContext(r.Context())
		if c != nil {
			r.RemoteAddr = c.RemoteAddr().String() // the PROXY header was read before the request
		}
		r = s.o.TrustedProxies.Request(r)
		if c == nil {
			next.ServeHTTP(w, r)
			return
		}
		if !c.Admit() {
			w.Header().Set("Connection", "close")
			if s.isHealthCheck(r) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Retry-After", "1")
			http.Error(w, c.FullText(), http.StatusServiceUnavailable)
			return
		}
		if at := r.RemoteAddr; at != c.RemoteAddr().String() { // a proxy has connections for many clients
			c.SetClient(proxy.Address(r))
			defer c.SetClient("")
		}
		whole := r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0
		c.Opened(!asks)
		c.Use(whole, true)
		if !whole {
			r.Body = &trackedBody{r.Body, c}
		}
		next.ServeHTTP(w, r)
	})
}

// markIdle records that a connection waits for its next request, if s is http.StateIdle.
func markIdle(nc net.Conn, s http.ConnState) {
	if s == http.StateIdle {
		connlimit.Unwrap(nc).Use(false, false)
	}
}

// isHealthCheck reports whether r asks for the health of the server. The server answers
// such requests even when its budget of connections is used up.
func (s *Server) isHealthCheck(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && slices.Contains(healthPaths, strings.TrimPrefix(r.URL.Path, s.o.Base))
}

// trackedBody is the body of a request. Until all of it has been read, its connection counts
// as unused.
type trackedBody struct {
	io.ReadCloser
	conn *connlimit.Conn
}

func (b *trackedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.conn.Use(true, true)
	}
	return n, err
}
