package timeout

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Server sets the deadlines of s for requests that net/http answers without a handler (417,
// OPTIONS *), and wraps s.Handler in Handler. Without a body, or once it was read, net/http
// clears the read deadline itself to notice when the client leaves. ReadHeaderTimeout, which
// must be set, limits the wait for headers. When s shuts down, connections without a request
// are closed at once; s.ConnState must be set before.
func Server(s *http.Server) *http.Server {
	s.ReadTimeout, s.WriteTimeout = s.ReadHeaderTimeout+StallTimeout, StallTimeout
	s.Handler = Handler(s.Handler)
	// Deadlines apply to connections, and one of HTTP/2 carries many requests.
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	closeUnused(s)
	return s
}

// Handler returns a handler that passes requests to `next` and ends those whose client stalls. It must
// be the outermost handler of a server.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &writer{ResponseWriter: w, control: http.NewResponseController(w)}
		if r.Body != nil && r.Body != http.NoBody {
			out.body = newBody(r.Body, out.control)
			r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, out.body))
			r.Body = out.body
		}
		defer out.finish()
		next.ServeHTTP(out, r)
	})
}

// A writer is a ResponseWriter that sets a deadline before each write. Only one goroutine
// may use it.
type writer struct {
	http.ResponseWriter
	control  *http.ResponseController
	body     *body // nil if the request has none
	progress progress
	begun    bool // the header was written
	hijacked bool // the connection was hijacked
}

// maxWrite is how many bytes are written at a time. A write succeeds only if the client reads
// all of them within StallTimeout.
const maxWrite = 16 << 10

// errWriteTimeout is the error of writing an answer that keeps the server waiting for too long.
var errWriteTimeout = fmt.Errorf("the client did not read the answer in time: %w", os.ErrDeadlineExceeded)

func (w *writer) WriteHeader(code int) {
	w.setDeadlines(time.Now()) //nolint:errcheck // the next write returns it
	w.ResponseWriter.WriteHeader(code)
	w.begun = w.begun || code >= http.StatusOK
}

func (w *writer) Write(p []byte) (n int, err error) {
	for {
		piece := p[n:min(n+maxWrite, len(p))]
		err := w.withDeadline(len(piece), func() error {
			k, err := w.ResponseWriter.Write(piece)
			n += k
			return err
		})
		w.begun = true
		if err != nil || n >= len(p) {
			return n, err
		}
	}
}

// FlushError flushes with a deadline, as Write does.
func (w *writer) FlushError() error {
	err := w.withDeadline(0, w.control.Flush)
	w.begun = true
	return err
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() } //nolint:errcheck // http.Flusher returns none

// Hijack implements http.Hijacker. The caller sets the connection's deadlines from then on.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := w.control.Hijack()
	if err == nil {
		w.hijacked = true
		if w.body != nil {
			w.body.release()
		}
	}
	return nc, rw, err
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// withDeadline calls `write`, which writes n bytes or, if n is zero, flushes, with a deadline. The
// error is that of `write`, or errWriteTimeout if the client has used up its time.
func (w *writer) withDeadline(n int, write func() error) error {
	began := time.Now()
	if err := w.setDeadlines(began); err != nil {
		return err
	}
	err := write()
	w.progress.moved(n, time.Since(began))
	return err
}

// setDeadlines sets the deadlines for a write. Until the header is written, that includes the read
// deadline, because net/http reads the rest of the body before it.
func (w *writer) setDeadlines(now time.Time) error {
	if w.body != nil && !w.begun {
		_ = w.body.setDeadline(now) //nolint:errcheck // the connection ends with the answer then
	}
	left := w.progress.left()
	if left <= 0 {
		return errWriteTimeout
	}
	_ = w.control.SetWriteDeadline(now.Add(left)) //nolint:errcheck // without a connection, nothing can stall
	return nil
}

// finish sets the deadlines for net/http's work after the handler: it writes the rest of
// the answer and reads the rest of the body.
func (w *writer) finish() {
	if w.hijacked {
		return
	}
	now := time.Now()
	if w.body != nil {
		w.body.detach(now)
	}
	_ = w.control.SetWriteDeadline(now.Add(max(w.progress.left(), 0))) //nolint:errcheck // without a connection, nothing can stall
}

// WithWriteTimeout returns nc with a deadline of StallTimeout for each write. It is for proxies, whose
// other end sets its own deadlines for reads.
func WithWriteTimeout(nc net.Conn) net.Conn { return &conn{nc} }

type conn struct{ net.Conn }

func (c *conn) Write(p []byte) (n int, err error) {
	for {
		_ = c.SetWriteDeadline(time.Now().Add(StallTimeout)) //nolint:errcheck // the write returns it
		k, err := c.Conn.Write(p[n:min(n+maxWrite, len(p))])
		n += k
		if err != nil || n >= len(p) {
			return n, err
		}
	}
}
