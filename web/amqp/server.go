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

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/wire"
	"mayfly/web/sas"
)

// Options are how a Server behaves. The zero value is right for a laptop.
type Options struct {
	Logger *slog.Logger // zero: slog.Default
	// IdleTimeOut is how long a peer may be silent, as it is told; one that is for
	// twice as long is cut off. Zero: two minutes.
	IdleTimeOut time.Duration
	SAS         sas.Policy // what becomes of clients that do not show that they may
}

// A Server is the AMQP door of a broker, which may change while it serves: each
// connection belongs to the broker that was there when it came, and ends when
// that is no longer served. It is safe for concurrent use.
type Server struct {
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

	mu      sync.Mutex
	b       *broker.Broker // nil while it stands by
	clients clients
	limits  limits // of b's namespace; connections keep those that they came under
	why     string // it does
	came    uint64 // connections, ever
	over    bool
}

// New makes a server that stands by. Open has it serve; Close ends it.
func New(o Options) *Server {
	ctx, stop := context.WithCancel(context.Background())
	open, closing := context.WithCancel(ctx)
	s := &Server{
		log: cmp.Or(o.Logger, slog.Default()), policy: o.SAS, limits: limitsOf(engine.Limits{}), idle: cmp.Or(o.IdleTimeOut, 2*time.Minute),
		open: open, close: closing, ctx: ctx, stop: stop, why: "The server is starting.",
	}
	s.memory.most.Store(s.limits.memory)
	return s
}

// Open has connections that come from now on served by b.
func (s *Server) Open(b *broker.Broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b, s.why = b, ""
	s.limits = limitsOf(b.Limits())
	s.memory.most.Store(s.limits.memory)
}

// limitsNow are those for a connection that comes now.
func (s *Server) limitsNow() limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limits
}

// StandBy closes every connection, and those that come from now on once they are
// open, with amqp:connection:forced and why, a sentence that names who to ask
// instead: clients connect again then.
func (s *Server) StandBy(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b, s.why = nil, why
	s.dismiss(why)
}

// dismiss has every connection leave. Called with mu held.
func (s *Server) dismiss(why string) {
	for _, c := range s.clients.byID {
		c.leave(&wire.Error{Condition: wire.CondConnectionForced, Description: why})
	}
}

// Serve accepts connections from l until it is closed or the server is, and
// returns why it stopped accepting; nil if the server was closed.
func (s *Server) Serve(l net.Listener) error {
	unbind := context.AfterFunc(s.open, func() { _ = l.Close() }) //nolint:errcheck // it was only listened on
	defer unbind()
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			if s.enter() {
				go func() {
					defer s.wg.Done()
					s.serve(nc)
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
// it is over. It closes nc.
func (s *Server) ServeConn(nc net.Conn) {
	if !s.enter() {
		_ = nc.Close()
		return
	}
	defer s.wg.Done()
	s.serve(nc)
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
	s.dismiss("The server is going down.")
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
		left := s.clients.len()
		s.mu.Unlock()
		s.log.Warn("AMQP connections have not ended; the store may not answer", "connections", left)
	}
}

// add lets a connection in, if there is room for one more.
func (s *Server) add(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return &wire.ProtocolError{Condition: wire.CondConnectionForced, Text: "The server is going down."}
	case s.b == nil:
		return &wire.ProtocolError{Condition: wire.CondConnectionForced, Text: s.why}
	case s.clients.len() >= s.limits.connections:
		return &wire.ProtocolError{Condition: wire.CondResourceLimitExceeded, Text: fmt.Sprintf("There are %d connections, which is the most there may be.", s.clients.len())}
	}
	c.b = s.b
	s.came++
	c.introduce(s.came, s.b.Epoch())
	s.clients.add(c)
	return nil
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients.remove(c, time.Now())
}
