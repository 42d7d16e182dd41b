package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/web/relay"
	"mayfly/web/sas"
)

// Options are how a Server behaves. The zero value is right for a laptop.
type Options struct {
	Logger *slog.Logger // zero: slog.Default
	// IdleTimeOut is how long a peer may be silent, as it is told; one that is for
	// twice as long is cut off. Zero: two minutes.
	IdleTimeOut time.Duration
	SAS         sas.Policy // what becomes of clients that do not show that they may
	// Unsure is set where there may be namespaces that the server does not know of
	// yet: clients that name one which it does not know are to come again, until
	// Known is called.
	Unsure bool
}

// A Server is the AMQP door of namespaces: of its own, which it is the Space of,
// and of those that are added. It is safe for concurrent use.
type Server struct {
	*Space

	log    *slog.Logger
	idle   time.Duration
	policy sas.Policy
	memory memory // of what connections keep of what clients send

	open  context.Context //nolint:containedctx // until the server is closed
	close context.CancelFunc
	ctx   context.Context //nolint:containedctx // the life of its connections
	stop  context.CancelFunc
	wg    sync.WaitGroup // connections

	opening  atomic.Int64 // connections that are not open yet
	refusals refusals

	mu     sync.Mutex        // guards all below, and its spaces
	others map[string]*Space // by name; the server's own too
	over   bool
	unsure bool // as in Options
}

// New makes a server that stands by. Open has it serve; Close ends it.
func New(o Options) *Server {
	ctx, stop := context.WithCancel(context.Background())
	open, closing := context.WithCancel(ctx)
	s := &Server{
		log: cmp.Or(o.Logger, slog.Default()), policy: o.SAS, idle: cmp.Or(o.IdleTimeOut, 2*time.Minute),
		open: open, close: closing, ctx: ctx, stop: stop, unsure: o.Unsure,
	}
	s.Space = newSpace(s)
	s.memory.most.Store(s.limits.memory)
	return s
}

// Serve accepts connections from l until it is closed or the server is, and
// returns why it stopped accepting; nil if the server was closed. They are for the
// namespace of that name, in lower case, whatever host they name, and whether there is
// one or not; if it is empty, for the one that their host names: see [Server.Add].
func (s *Server) Serve(l net.Listener, namespace string) error {
	unbind := context.AfterFunc(s.open, func() { _ = l.Close() }) //nolint:errcheck // it was only listened on
	defer unbind()
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			if s.enter() {
				go func() {
					defer s.wg.Done()
					s.serve(nc, nil, namespace)
				}()
			} else {
				_ = nc.Close()
			}
		case s.open.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept AMQP connections: %w", err)
		default: // too many open files, for example
			s.log.Warn("an AMQP connection was not accepted", "err", err)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-s.open.Done():
				return nil
			}
		}
	}
}

// ServeConn serves one connection, such as one in a WebSocket, and returns when
// it is over. It closes nc. The namespace is as in Serve.
func (s *Server) ServeConn(nc net.Conn, namespace string) {
	if !s.enter() {
		_ = nc.Close()
		return
	}
	defer s.wg.Done()
	s.serve(nc, nil, namespace)
}

// ServePassedOn serves a connection that another server passes on, and returns when it
// is over. It closes nc.
func (s *Server) ServePassedOn(nc *relay.Conn) {
	if !s.enter() {
		_ = nc.Close()
		return
	}
	defer s.wg.Done()
	s.serve(nc, &nc.Passed, "")
}

// enter counts a connection in unless the server is over.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.wg.Add(1)
	return true
}

// parting is how long Close waits after it has cut everything short.
const parting = 2 * time.Second

// Close has every connection be closed with amqp:connection:forced, after which
// clients connect again, and waits until all are. ctx cuts their farewell short:
// Close returns two seconds after its end at the latest, and leaves what the store
// does not answer then to itself.
func (s *Server) Close(ctx context.Context) {
	s.close()
	s.mu.Lock()
	s.over = true
	for _, sp := range s.all() {
		sp.dismiss("The server is going down.")
	}
	s.mu.Unlock()
	cut := context.AfterFunc(ctx, s.stop)
	defer cut()
	ended := make(chan struct{})
	go func() {
		s.wg.Wait()
		s.stop()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	patience := time.NewTimer(parting)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		s.mu.Lock()
		left := 0
		for _, sp := range s.all() {
			left += sp.clients.len()
		}
		s.mu.Unlock()
		s.log.Warn("AMQP connections have not ended; the store may not answer", "connections", left)
	}
}
