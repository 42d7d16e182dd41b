package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/engine"
	"mayfly/web/connlimit"
	"mayfly/web/timeout"
)

// Options configure a Relay. All but the last two are required.
type Options struct {
	// Name is the server's name, as in its Endpoint.
	Name string
	// HTTP answers a forwarded request. ClientFromContext describes its client.
	HTTP http.Handler
	// AMQP serves a forwarded connection, and returns when it has ended.
	AMQP func(*Conn)
	// HeaderSize bounds the headers of a request, in bytes. Zero means net/http's
	// default.
	HeaderSize int
	Logger     *slog.Logger // nil means slog.Default
}

const (
	headerTimeout = 10 * time.Second // for a request's headers, or the ClientInfo of an AMQP connection
	idleTimeout   = 2 * time.Minute  // until the next request of a connection
	dialTimeout   = 3 * time.Second  // for the owner to accept a connection
	ackTimeout    = 15 * time.Second // without an acknowledgement of sent bytes
)

// A Relay is a server's end of forwarding. Its methods are safe for concurrent use.
type Relay struct {
	o         Options
	log       *slog.Logger
	server    *http.Server
	tlsConfig atomic.Pointer[tls.Config] // nil until SetSecret is called

	ctx     context.Context //nolint:containedctx // ends when the relay is closed
	stop    context.CancelCauseFunc
	running sync.WaitGroup // counts what is being forwarded, at either end, except for requests that server waits for

	mu     sync.Mutex
	closed bool // nothing may begin any more; guarded by mu
}

// New returns a relay without a secret, which rejects all servers until SetSecret is called.
func New(o Options) *Relay {
	r := &Relay{o: o, log: cmp.Or(o.Logger, slog.Default())}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	r.server = timeout.Server(&http.Server{
		Handler:           http.HandlerFunc(r.serveHTTP),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    o.HeaderSize,
		ErrorLog:          slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return r.ctx },
		ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateActive { // in TLS the other server has proved that it knows the secret
				limited := connlimit.Unwrap(c)
				limited.Admit() // a connection that is not admitted is cut when its emergency place expires
				limited.Exempt()
			}
		},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){
			protocolAMQP: func(_ *http.Server, c *tls.Conn, _ http.Handler) { r.serveAMQP(c) },
		},
	})
	return r
}

// SetSecret sets the secret. From then on the relay accepts servers that know it, and connects
// to them.
func (r *Relay) SetSecret(s Secret) error {
	keys, err := tlsConfigOf(s)
	if err != nil {
		return err
	}
	r.tlsConfig.Store(keys)
	return nil
}

// Serve accepts other servers until Close, and then returns nil. It owns l.
func (r *Relay) Serve(l net.Listener) error {
	err := r.server.Serve(tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			keys := r.tlsConfig.Load()
			switch {
			case keys == nil:
				return nil, errNoSecret
			case !strings.EqualFold(hello.ServerName, r.o.Name):
				return nil, errWrongServer
			}
			keys = keys.Clone()
			keys.NextProtos = []string{protocolHTTP, protocolAMQP}
			return keys, nil
		},
	}))
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("accept connections of other servers at %s: %w", l.Addr(), err)
	}
	return nil
}

// errWrongServer rejects a connection that is meant for another server, which had this address
// earlier or has it on another network.
var errWrongServer = errors.New("this is not the intended server")

// errNoSecret is the error while the secret is not set.
var errNoSecret = errors.New("this server does not have the shared secret of the store's servers yet")

// Close stops forwarding. Requests from other servers may finish until ctx ends;
// everything else is cut off at once. The caller has already closed the AMQP connections
// with an error frame.
func (r *Relay) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(engine.ErrClosed)
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = fmt.Errorf("requests forwarded by other servers were cut off: %w", errors.Join(err, r.server.Close()))
	}
	r.running.Wait()
	return err
}

// serveHTTP answers a forwarded request.
func (r *Relay) serveHTTP(w http.ResponseWriter, req *http.Request) {
	p, err := decode(req.Header.Get(infoHeader))
	if err != nil {
		http.Error(w, "A forwarded request must have client information.", http.StatusBadRequest)
		return
	}
	as := req.WithContext(context.WithValue(req.Context(), clientInfoKey{}, p))
	as.Header.Del(infoHeader)
	as.RemoteAddr, as.TLS = cmp.Or(p.Client, req.RemoteAddr), nil
	if p.Secure {
		as.TLS = &tls.ConnectionState{HandshakeComplete: true, ServerName: p.ServerName}
	}
	r.o.HTTP.ServeHTTP(w, as)
}

// serveAMQP serves an AMQP connection that another server forwards. A ClientInfo precedes its
// bytes.
func (r *Relay) serveAMQP(c *tls.Conn) {
	if !r.begin() {
		return
	}
	defer r.running.Done()
	cut := context.AfterFunc(r.ctx, func() { _ = c.NetConn().Close() }) // its reader and writer get the error
	defer cut()
	_ = c.SetDeadline(time.Now().Add(headerTimeout)) //nolint:errcheck // the read returns the error
	p, err := readClientInfo(c)
	if err != nil {
		r.log.Debug("a connection from another server was rejected: its client information cannot be read", "server", c.RemoteAddr(), "err", err)
		return
	}
	_ = c.SetDeadline(time.Time{}) //nolint:errcheck // the next read returns the error
	r.o.AMQP(&Conn{Conn: c, Client: p})
}

// begin counts one forwarded request or connection in r.running. It reports false after Close.
func (r *Relay) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.running.Add(1)
	return true
}
