package relay

import (
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
	"mayfly/web/identity"
)

// ErrUnsure says that the owner was asked, and did not answer: whether it has done what
// was asked is not known.
var ErrUnsure = errors.New("whether the owner has done it is not known")

// errHungUp is the cause where a line was closed.
var errHungUp = errors.New("the namespace has another owner now")

// A Line leads to the server that owns a namespace. Make it with Relay.Line, and close
// it when that server does not own it any more. Its methods are safe for concurrent use.
type Line struct {
	r         *Relay
	namespace string
	to        Place
	ctx       context.Context //nolint:containedctx // until it is closed
	stop      context.CancelCauseFunc
	proxy     httputil.ReverseProxy
	good      atomic.Int32 // which of the addresses led there last
}

// Line leads to the relay at a place, for a namespace. It does not go there yet.
func (r *Relay) Line(namespace string, to Place) *Line {
	l := &Line{r: r, namespace: namespace, to: to}
	l.ctx, l.stop = context.WithCancelCause(r.ctx)
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx, speaksHTTP) },
		// As many as ask at a time stay, for a while shorter than the owner's patience.
		MaxIdleConnsPerHost: 64, IdleConnTimeout: idlePatience * 3 / 4,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
	context.AfterFunc(l.ctx, t.CloseIdleConnections)
	l.proxy = httputil.ReverseProxy{
		Transport: t, FlushInterval: -1, Rewrite: l.rewrite, ErrorHandler: note,
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
	return l
}

// Close ends the line: what is under way on it ends, in a way after which clients come
// again.
func (l *Line) Close() { l.stop(errHungUp) }

// For is a line to the same server, for another namespace.
func (l *Line) For(namespace string) *Line { return l.r.Line(namespace, l.to) }

// To is where it leads to.
func (l *Line) To() Place { return l.to }

// dial has the owner let this server in.
func (l *Line) dial(ctx context.Context, speaks string) (net.Conn, error) {
	keys := l.r.keys.Load()
	switch {
	case l.ctx.Err() != nil:
		return nil, context.Cause(l.ctx) //nolint:contextcheck // it is over, whatever the other is
	case keys == nil:
		return nil, errUnknowing
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	keys = keys.Clone()
	keys.NextProtos, keys.ServerName = []string{speaks}, l.to.Name
	first := l.good.Load()
	var errs []error
	for i := range l.to.Addresses {
		at := (int(first) + i) % len(l.to.Addresses)
		nc, err := dialOne(ctx, keys, l.to.Addresses[at])
		if err == nil {
			l.good.Store(int32(at)) //nolint:gosec // there are a few
			return nc, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("reach the owner of the namespace %s: %w", l.namespace, errors.Join(errs...))
}

// dialOne tries one address for as long as it leaves time for another.
func dialOne(ctx context.Context, keys *tls.Config, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialPatience/2)
	defer cancel()
	d := tls.Dialer{Config: keys, NetDialer: &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: deafAfter / 3, Interval: deafAfter / 3, Count: 2},
		Control:         giveUpAfter(deafAfter),
	}}
	return d.DialContext(ctx, "tcp", address) //nolint:wrapcheck // whoever dials says where
}

// A failure is why a request could not be passed on, and whether the owner may have
// heard of it.
type failure struct {
	err   error
	asked atomic.Bool
}

type failureKey struct{}

func note(_ http.ResponseWriter, r *http.Request, err error) {
	if f, ok := r.Context().Value(failureKey{}).(*failure); ok {
		f.err = err
	}
}

// Pass has the owner answer a request. After an error nothing was written yet; if it is
// not ErrUnsure, the owner has not heard of the request. An answer that breaks off in
// the middle ends with http.ErrAbortHandler, as a panic.
func (l *Line) Pass(w http.ResponseWriter, r *http.Request, port Port) error {
	if !l.r.enter() {
		return engine.ErrClosed
	}
	defer l.r.all.Done()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	cut := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) }) //nolint:contextcheck // two lives, of which the shorter counts
	defer cut()
	var f failure
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { f.asked.Store(true) }})
	ctx = context.WithValue(context.WithValue(ctx, failureKey{}, &f), portKey{}, port)
	own := w.Header().Clone()
	clear(w.Header()) // the owner says it all
	l.proxy.ServeHTTP(&finally{w}, r.WithContext(ctx))
	if f.err == nil && l.ctx.Err() != nil {
		// The owner may have taken the end of this for its client's, and have ended an
		// answer as if it were whole.
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
	l.r.log.Debug("a request was not passed on", "namespace", l.namespace, "owner", l.to.String(), "path", r.URL.Path, "err", f.err)
	if f.asked.Load() {
		return fmt.Errorf("%w: %w", ErrUnsure, f.err)
	}
	return f.err
}

// mostAsked is how much of an answer Ask reads.
const mostAsked = 4 << 10

// Ask asks the owner something of its own, at an address of the dashboard's port.
func (l *Line) Ask(ctx context.Context, at string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.to.Name+at, http.NoBody)
	if err != nil {
		return 0, "", fmt.Errorf("ask the owner of the namespace %s: %w", l.namespace, err)
	}
	r.Host = "localhost"
	told, err := Passed{Namespace: l.namespace, Port: Dashboard}.encode()
	if err != nil {
		return 0, "", fmt.Errorf("ask the owner of the namespace %s: %w", l.namespace, err)
	}
	r.Header.Set(header, told)
	w, err := l.proxy.Transport.RoundTrip(r)
	if err != nil {
		return 0, "", fmt.Errorf("ask the owner of the namespace %s: %w", l.namespace, err)
	}
	defer w.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(w.Body, mostAsked))
	if err != nil {
		return 0, "", fmt.Errorf("ask the owner of the namespace %s: %w", l.namespace, err)
	}
	return w.StatusCode, string(raw), nil
}

type portKey struct{}

// rewrite makes the request to the owner: the client's own, and a header that says
// whose it is.
func (l *Line) rewrite(p *httputil.ProxyRequest) {
	port, _ := p.In.Context().Value(portKey{}).(Port)
	is := Passed{Namespace: l.namespace, Port: port, Client: p.In.RemoteAddr, Who: identity.Asking(p.In)}
	if p.In.TLS != nil {
		is.Secure, is.ServerName = true, p.In.TLS.ServerName
	}
	text, err := is.encode()
	if err != nil {
		panic(err) // a struct of texts
	}
	p.Out.URL.Scheme, p.Out.URL.Host, p.Out.URL.RawQuery = "http", l.to.Name, p.In.URL.RawQuery
	p.Out.Host = p.In.Host
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} { // of whoever is before this server
		if v, ok := p.In.Header[h]; ok {
			p.Out.Header[h] = v
		}
	}
	p.Out.Header.Set(header, text)
}

// finally is a writer for answers alone: what comes before them is between the client
// and this server.
type finally struct{ http.ResponseWriter }

func (w *finally) WriteHeader(code int) {
	if code >= http.StatusOK || code == http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(code)
	}
}

// Unwrap lets http.ResponseController find what it needs below.
func (w *finally) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Open has the owner take a connection of AMQP, whose bytes from the client's open on
// are then to be written to it: see Join. The namespace is filled in.
func (l *Line) Open(ctx context.Context, p Passed) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cut := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) }) //nolint:contextcheck // two lives, of which the shorter counts
	defer cut()
	nc, err := l.dial(ctx, speaksAMQP)
	if err != nil {
		return nil, err
	}
	p.Namespace = l.namespace
	told, err := p.appendTo(nil)
	if err == nil {
		_ = nc.SetWriteDeadline(time.Now().Add(dialPatience)) //nolint:errcheck // the write says it
		_, err = nc.Write(told)
	}
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	_ = nc.SetWriteDeadline(time.Time{}) //nolint:errcheck // likewise
	return nc, nil
}

// lingering is how long a client has to take the last of what the owner said, and
// mostIgnored how many bytes it may say meanwhile.
const (
	lingering   = 2 * time.Second
	mostIgnored = 64 << 10
)

// transfer carries bytes one way, until either end is over.
func transfer(to io.Writer, from io.Reader) {
	const size = 16 << 10                                                                        // as much as TLS takes at a time
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, size)) //nolint:errcheck // whatever ends it, it is over
}

// Join carries bytes between a client and the owner until either ends or the line is
// closed, and closes both.
func (l *Line) Join(client, owner net.Conn) {
	if l.r.enter() {
		defer l.r.all.Done()
		cut := context.AfterFunc(l.ctx, func() {
			_ = client.Close() // whoever uses them hears of it
			_ = owner.Close()
		})
		defer cut()
		var said sync.WaitGroup
		said.Go(func() {
			transfer(owner, client)
			_ = owner.Close()
			// Were it closed while something of the client's is on its way, the client
			// might never read the last of what the owner said.
			_, _ = io.CopyN(io.Discard, client, mostIgnored) //nolint:errcheck // whatever ends it, it is over
		})
		transfer(client, owner)
		_ = client.SetDeadline(time.Now().Add(lingering)) //nolint:errcheck // it is read until then, or until it has closed
		said.Wait()
	}
	_ = client.Close()
	_ = owner.Close()
}
