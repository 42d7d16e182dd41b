package relay

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
)

// Options are what a Relay lets other servers in for. All but the last two are needed.
type Options struct {
	// Name tells the server from all others, as a Place has it.
	Name string
	// HTTP answers a request that another server passes on, about which Of tells.
	HTTP http.Handler
	// AMQP serves a connection, and returns when it is over.
	AMQP func(*Conn)
	// HeaderSize bounds the headers of a request. Zero: as net/http has it.
	HeaderSize int
	Logger     *slog.Logger // zero: slog.Default
}

const (
	headerPatience = 10 * time.Second // for a request's headers, and for who a connection of AMQP is of
	idlePatience   = 2 * time.Minute  // for the next request of a connection
	dialPatience   = 3 * time.Second  // for the owner to let this server in
	deafAfter      = 15 * time.Second // of which nothing came back that shows that something arrived
)

// A Relay is a server's part in passing on. Its methods are safe for concurrent use.
type Relay struct {
	o      Options
	log    *slog.Logger
	server *http.Server
	keys   atomic.Pointer[tls.Config] // nil: the secret is not known yet

	ctx  context.Context //nolint:containedctx // the life of all that is passed on
	stop context.CancelCauseFunc
	all  sync.WaitGroup // what is passed on, at either end, but for requests that the server waits for

	mu   sync.Mutex
	over bool // nothing may begin any more; guarded by mu
}

// New makes a relay that knows no secret yet, and so lets nobody in.
func New(o Options) *Relay {
	r := &Relay{o: o, log: cmp.Or(o.Logger, slog.Default())}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	r.server = &http.Server{
		Handler:           http.HandlerFunc(r.answer),
		ReadHeaderTimeout: headerPatience,
		IdleTimeout:       idlePatience,
		MaxHeaderBytes:    o.HeaderSize,
		ErrorLog:          slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return r.ctx },
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){
			speaksAMQP: func(_ *http.Server, c *tls.Conn, _ http.Handler) { r.carry(c) },
		},
	}
	return r
}

// Know has servers that know the secret be let in from now on, and this one go to them.
func (r *Relay) Know(s Secret) error {
	keys, err := keysOf(s)
	if err != nil {
		return err
	}
	r.keys.Store(keys)
	return nil
}

// Serve lets other servers in until Close, and returns nil then. It owns l.
func (r *Relay) Serve(l net.Listener) error {
	err := r.server.Serve(tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			keys := r.keys.Load()
			switch {
			case keys == nil:
				return nil, errUnknowing
			case !strings.EqualFold(hello.ServerName, r.o.Name):
				return nil, errAnother
			}
			keys = keys.Clone()
			keys.NextProtos = []string{speaksHTTP, speaksAMQP}
			return keys, nil
		},
	}))
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("let other servers in at %s: %w", l.Addr(), err)
	}
	return nil
}

// errAnother is for who wants another server, which had this address or has it on
// another network.
var errAnother = errors.New("another server is wanted")

// errUnknowing is why nothing is passed on at first.
var errUnknowing = errors.New("this server does not know the secret of the store's servers yet")

// Close ends the passing on: requests from other servers may finish until ctx ends,
// everything else is cut off at once. Who serves AMQP has said goodbye before.
func (r *Relay) Close(ctx context.Context) error {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.stop(engine.ErrClosed)
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = fmt.Errorf("what other servers passed on was cut off: %w", errors.Join(err, r.server.Close()))
	}
	r.all.Wait()
	return err
}

// answer answers a request of another server.
func (r *Relay) answer(w http.ResponseWriter, req *http.Request) {
	p, err := decode(req.Header.Get(header))
	if err != nil {
		http.Error(w, "Between servers a request says whom it is of.", http.StatusBadRequest)
		return
	}
	as := req.WithContext(context.WithValue(req.Context(), passedKey{}, p))
	as.Header.Del(header)
	as.RemoteAddr, as.TLS = cmp.Or(p.Client, req.RemoteAddr), nil
	if p.Secure {
		as.TLS = &tls.ConnectionState{HandshakeComplete: true, ServerName: p.ServerName}
	}
	r.o.HTTP.ServeHTTP(w, as)
}

// carry serves a connection of AMQP of another server, which says first whose it is.
func (r *Relay) carry(c *tls.Conn) {
	if !r.enter() {
		return
	}
	defer r.all.Done()
	cut := context.AfterFunc(r.ctx, func() { _ = c.NetConn().Close() }) // whoever uses it hears of it
	defer cut()
	_ = c.SetDeadline(time.Now().Add(headerPatience)) //nolint:errcheck // the read says it
	p, err := readPassed(c)
	if err != nil {
		r.log.Debug("another server does not say what it passes on", "server", c.RemoteAddr(), "err", err)
		return
	}
	_ = c.SetDeadline(time.Time{}) //nolint:errcheck // likewise
	r.o.AMQP(&Conn{Conn: c, Passed: p})
}

// enter counts something in that is passed on, unless all is over.
func (r *Relay) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	r.all.Add(1)
	return true
}
