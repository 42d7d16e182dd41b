package cluster

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/engine"
	"mayfly/web/auth"
	"mayfly/web/proxy"
	"mayfly/web/timeout"
)

// ErrOutcomeUnknown means that the owner received the request and did not answer, so it may or
// may not have executed it.
var ErrOutcomeUnknown = errors.New("the owner may or may not have executed the request")

// errOwnerChanged is the cancellation cause of a closed Forwarder.
var errOwnerChanged = errors.New("the namespace's owner has changed")

// A Forwarder forwards to the server that owns a namespace. Make it with Relay.Forwarder, and close
// it when that server loses the namespace. Its methods are safe for concurrent use.
type Forwarder struct {
	r         *Relay
	namespace string
	endpoint  Endpoint
	ctx       context.Context //nolint:containedctx // ends when the Forwarder is closed
	stop      context.CancelCauseFunc
	proxy     httputil.ReverseProxy
	lastGood  atomic.Int32 // index of the address that worked last
}

// Forwarder returns a Forwarder for namespace to the relay at an endpoint. It does not connect yet.
func (r *Relay) Forwarder(namespace string, to Endpoint) *Forwarder {
	l := &Forwarder{r: r, namespace: namespace, endpoint: to}
	l.ctx, l.stop = context.WithCancelCause(r.ctx)
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx, protocolHTTP) },
		// Idle connections are kept for as many concurrent requests, for less time than the owner
		// keeps them.
		MaxIdleConnsPerHost: 64, IdleConnTimeout: idleTimeout * 3 / 4,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
	context.AfterFunc(l.ctx, t.CloseIdleConnections)
	l.proxy = httputil.ReverseProxy{
		Transport: t, FlushInterval: -1, Rewrite: l.rewrite, ErrorHandler: recordFailure,
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
	return l
}

// Close closes the Forwarder. Its requests and connections end with an error after which clients
// try again.
func (l *Forwarder) Close() { l.stop(errOwnerChanged) }

// ForNamespace returns a Forwarder to the same server for another namespace.
func (l *Forwarder) ForNamespace(namespace string) *Forwarder {
	return l.r.Forwarder(namespace, l.endpoint)
}

// Endpoint returns the endpoint of the server that l forwards to.
func (l *Forwarder) Endpoint() Endpoint { return l.endpoint }

// dial connects to the owner, trying the address that worked last first.
func (l *Forwarder) dial(ctx context.Context, speaks string) (net.Conn, error) {
	keys := l.r.tlsConfig.Load()
	switch {
	case l.ctx.Err() != nil:
		return nil, context.Cause(l.ctx) //nolint:contextcheck // the line is closed, whatever ctx is
	case keys == nil:
		return nil, errNoSecret
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	keys = keys.Clone()
	keys.NextProtos, keys.ServerName = []string{speaks}, l.endpoint.Name
	first := l.lastGood.Load()
	var errs []error
	for i := range l.endpoint.Addresses {
		at := (int(first) + i) % len(l.endpoint.Addresses)
		nc, err := dialOne(ctx, keys, l.endpoint.Addresses[at])
		if err == nil {
			l.lastGood.Store(int32(at))
			return nc, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("reach the owner of the namespace %s: %w", l.namespace, errors.Join(errs...))
}

// dialOne tries one address. It leaves half of dialTimeout for another one.
func dialOne(ctx context.Context, keys *tls.Config, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout/2)
	defer cancel()
	d := tls.Dialer{Config: keys, NetDialer: &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: ackTimeout / 3, Interval: ackTimeout / 3, Count: 2},
		Control:         ackTimeoutControl(ackTimeout),
	}}
	return d.DialContext(ctx, "tcp", address)
}

// A failure is why a request was not forwarded, and whether the owner may have received
// it.
type failure struct {
	err   error
	asked atomic.Bool
}

type failureKey struct{}

func recordFailure(_ http.ResponseWriter, r *http.Request, err error) {
	if f, ok := r.Context().Value(failureKey{}).(*failure); ok {
		f.err = err
	}
}

// Forward forwards a request to the owner and writes the owner's answer to w. The caller sets Port,
// Hosts and Own of the client information `is`; Forward fills in the rest. After an error nothing has
// been written to w, and unless the error is ErrOutcomeUnknown, the owner has not received the
// request. If the answer breaks off in the middle, Forward panics with http.ErrAbortHandler.
func (l *Forwarder) Forward(w http.ResponseWriter, r *http.Request, is ClientInfo) error {
	if !l.r.begin() {
		return engine.ErrClosed
	}
	defer l.r.running.Done()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	cut := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) }) //nolint:contextcheck // ends with the shorter of two contexts
	defer cut()
	var f failure
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { f.asked.Store(true) }})
	ctx = context.WithValue(context.WithValue(ctx, failureKey{}, &f), outgoingKey{}, is)
	timeout.Stream(r) // the owner sets the time limits
	own := w.Header().Clone()
	clear(w.Header()) // the owner sets all headers
	l.proxy.ServeHTTP(&finalWriter{w}, r.WithContext(ctx))
	if f.err == nil && l.ctx.Err() != nil {
		// The owner may have taken this for a disconnect of its client, and have ended an answer as
		// if it were complete.
		panic(http.ErrAbortHandler)
	}
	if f.err == nil {
		return nil
	}
	clear(w.Header())
	maps.Copy(w.Header(), own)
	if cause := context.Cause(ctx); cause != nil {
		f.err = cause
	}
	l.r.log.Debug("a request was not forwarded", "namespace", l.namespace, "owner", l.endpoint.String(), "path", r.URL.Path, "err", f.err)
	if f.asked.Load() {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, f.err)
	}
	return f.err
}

// maxGetBody is how many bytes of an answer Get reads.
const maxGetBody = 4 << 10

// Get sends a GET request of this server's own to the owner's dashboard port, for the path `at`. It
// returns the status and the first maxGetBody bytes of the answer.
func (l *Forwarder) Get(ctx context.Context, at string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.endpoint.Name+at, http.NoBody)
	if err != nil {
		return 0, "", fmt.Errorf("ask the owner of the namespace %s: %w", l.namespace, err)
	}
	r.Host = "localhost"
	info, err := ClientInfo{Namespace: l.namespace, Port: Dashboard}.encode()
	if err != nil {
		return 0, "", fmt.Errorf("ask the owner of the namespace %s: %w", l.namespace, err)
	}
	r.Header.Set(infoHeader, info)
	w, err := l.proxy.Transport.RoundTrip(r)
	if err != nil {
		return 0, "", fmt.Errorf("ask the owner of the namespace %s: %w", l.namespace, err)
	}
	defer w.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(w.Body, maxGetBody))
	if err != nil {
		return 0, "", fmt.Errorf("ask the owner of the namespace %s: %w", l.namespace, err)
	}
	return w.StatusCode, string(raw), nil
}

type outgoingKey struct{}

// rewrite turns the client's request into the request to the owner, with a header that describes
// the client.
func (l *Forwarder) rewrite(p *httputil.ProxyRequest) {
	is, _ := p.In.Context().Value(outgoingKey{}).(ClientInfo)
	is.Namespace, is.Client, is.Caller, is.Secure = l.namespace, p.In.RemoteAddr, auth.FromRequest(p.In), proxy.Secure(p.In)
	if p.In.TLS != nil {
		is.ServerName = p.In.TLS.ServerName
	}
	text, err := is.encode()
	if err != nil {
		panic(err) // a struct of strings always encodes
	}
	p.Out.URL.Scheme, p.Out.URL.Host, p.Out.URL.RawQuery = "http", l.endpoint.Name, p.In.URL.RawQuery
	p.Out.Host = p.In.Host
	p.Out.Header.Set(infoHeader, text)
}

// finalWriter is a ResponseWriter that drops the owner's informational responses (1xx), because they
// concern only the connection between the servers.
type finalWriter struct{ http.ResponseWriter }

func (w *finalWriter) WriteHeader(code int) {
	if code >= http.StatusOK || code == http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(code)
	}
}

// Hijack implements http.Hijacker, for WebSockets. It sets deadlines for writes: the
// owner disconnects a client that stops reading, and this end must not wait for that
// client any longer.
func (w *finalWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	nc = timeout.WithWriteTimeout(nc)
	rw.Writer.Reset(nc)
	return nc, rw, nil
}

// Unwrap gives http.ResponseController the wrapped writer.
func (w *finalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// OpenAMQP connects to the owner for the AMQP client that p describes, and sets p's namespace. The
// caller then joins the client's connection with the returned one by Join, beginning with the client's
// open.
func (l *Forwarder) OpenAMQP(ctx context.Context, p ClientInfo) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cut := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) }) //nolint:contextcheck // ends with the shorter of two contexts
	defer cut()
	nc, err := l.dial(ctx, protocolAMQP)
	if err != nil {
		return nil, err
	}
	p.Namespace = l.namespace
	info, err := p.appendTo(nil)
	if err == nil {
		_ = nc.SetWriteDeadline(time.Now().Add(dialTimeout)) //nolint:errcheck // the write returns the error
		_, err = nc.Write(info)
	}
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	_ = nc.SetWriteDeadline(time.Time{}) //nolint:errcheck // the next write returns the error
	return nc, nil
}

// lingerTimeout is how long a client has to read the last bytes from the owner, and
// maxIgnored how many bytes it may send meanwhile.
const (
	lingerTimeout = 2 * time.Second
	maxIgnored    = 64 << 10
)

// copyOneWay copies bytes one way until either end closes.
func copyOneWay(to io.Writer, from io.Reader) {
	const size = 16 << 10                                                                        // the size of a TLS record
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, size)) //nolint:errcheck // any error ends the connection
}

// Join copies bytes between a client and the owner until either ends or the Forwarder is closed,
// and closes both.
func (l *Forwarder) Join(client, owner net.Conn) {
	if l.r.begin() {
		defer l.r.running.Done()
		cut := context.AfterFunc(l.ctx, func() {
			_ = client.Close() // the copying goroutines get the error
			_ = owner.Close()
		})
		defer cut()
		var sending sync.WaitGroup
		sending.Go(func() {
			copyOneWay(owner, client)
			_ = owner.Close()
			// If the connection were closed while bytes of the client are on their way, the
			// client might never read the last bytes from the owner.
			_, _ = io.CopyN(io.Discard, client, maxIgnored) //nolint:errcheck // any error ends the connection
		})
		copyOneWay(timeout.WithWriteTimeout(client), owner)
		_ = client.SetDeadline(time.Now().Add(lingerTimeout)) //nolint:errcheck // it is read until then, or until the client closes it
		sending.Wait()
	}
	_ = client.Close()
	_ = owner.Close()
}
