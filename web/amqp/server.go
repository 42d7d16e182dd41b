package amqp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
	"mayfly/web/connlimit"
	"mayfly/web/loglimit"
)

// Options configure a Server. The zero value has usable defaults.
type Options struct {
	Logger *slog.Logger // nil means slog.Default
	// IdleTimeOut is the idle time-out that the server announces. A peer that is silent
	// for twice as long is disconnected. Zero means two minutes.
	IdleTimeOut time.Duration
	SAS         sas.Policy // whether clients without a sufficient token are refused
	// Names reports whether host, as written in the audience of a token, is a name of this server;
	// see sas.Names. Nil means that only loopback's names are.
	Names func(host string) bool
	// Connections is the budget of the listeners given to Serve. Nil means a budget
	// without bounds.
	Connections *connlimit.Budget
	// NamespacesIncomplete is set if there may be namespaces that the server does not know yet. Until
	// NamespacesComplete is called, clients that name an unknown one are asked to try again.
	NamespacesIncomplete bool
	// Unnamed decides about hosts that name no namespace. Nil means they name the
	// server's own.
	Unnamed *sas.UnknownHosts
	// TLSFault returns the reason why TLS failed on a closed connection, or "" if it did not fail.
	// Nil means TLS failures are not logged.
	TLSFault func(nc *tls.Conn) string
}

// A Server serves namespaces over AMQP: its own, whose Namespace it embeds, and those that
// are added. It is safe for concurrent use.
type Server struct {
	*Namespace

	log            *slog.Logger
	idle           time.Duration
	policy         sas.Policy
	names          func(host string) bool
	incomingMemory incomingMemory // bytes of incomplete messages and of messages that wait for the broker
	linkBudget     linkBudget     // memory of links, sessions and deliveries

	openContext context.Context //nolint:containedctx // ends when the server begins to close
	beginClose  context.CancelFunc
	ctx         context.Context //nolint:containedctx // ends with the last connection
	stop        context.CancelFunc
	wg          sync.WaitGroup // connections

	connections *connlimit.Budget
	unnamed     *sas.UnknownHosts      // as in Options
	repeats     loglimit.Repeats       // of log lines about clients
	tlsFault    func(*tls.Conn) string // Options.TLSFault

	mu                   sync.Mutex            // guards the fields below, and those of the namespaces
	namespaces           map[string]*Namespace // by name; includes the server's own after Open or AddOwnName
	closed               bool
	namespacesIncomplete bool // as in Options
}

// New returns a server whose namespace stands by. Open starts serving it, and Close ends
// the server.
func New(o Options) *Server {
	ctx, stop := context.WithCancel(context.Background())
	open, closing := context.WithCancel(ctx)
	s := &Server{
		log: cmp.Or(o.Logger, slog.Default()), policy: o.SAS, names: o.Names, idle: cmp.Or(o.IdleTimeOut, 2*time.Minute),
		openContext: open, beginClose: closing, ctx: ctx, stop: stop, namespacesIncomplete: o.NamespacesIncomplete, unnamed: o.Unnamed, tlsFault: o.TLSFault, connections: o.Connections,
	}
	if s.connections == nil {
		s.connections = connlimit.New(connlimit.Options{Logger: s.log})
	}
	s.Namespace = newNamespace(s)
	s.incomingMemory.maxBytes.Store(s.limits.incompleteBytes)
	s.linkBudget.maxBytes.Store(s.limits.linkBytes)
	return s
}

// Serve accepts connections from l until l or the server is closed. It returns nil if the server
// was closed, and otherwise the error that stopped it. With a namespace, a name in lower case, all
// connections are for that namespace, whatever host they name and whether the namespace exists or
// not. Otherwise each is for the namespace that its host names: see [Server.Add].
func (s *Server) Serve(l net.Listener, namespace string) error {
	unbind := context.AfterFunc(s.openContext, func() { _ = l.Close() }) //nolint:errcheck // it was only used to listen
	defer unbind()
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			if s.countConnection() {
				go func() {
					defer s.wg.Done()
					s.serve(nc, nil, namespace)
				}()
			} else {
				_ = nc.Close()
			}
		case s.openContext.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept AMQP connections: %w", err)
		default: // for example, too many open files
			s.log.Warn("an AMQP connection was not accepted", "err", err)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-s.openContext.Done():
				return nil
			}
		}
	}
}

// ServeConn serves one connection, such as one in a WebSocket, and returns when it has
// ended. It closes nc. namespace is as in Serve.
func (s *Server) ServeConn(nc net.Conn, namespace string) {
	if !s.countConnection() {
		_ = nc.Close()
		return
	}
	defer s.wg.Done()
	s.serve(nc, nil, namespace)
}

// ServeForwarded serves a connection that another server forwards, and returns when it has
// ended. It closes nc.
func (s *Server) ServeForwarded(nc *cluster.Conn) {
	if !s.countConnection() {
		_ = nc.Close()
		return
	}
	defer s.wg.Done()
	s.serve(nc, &nc.Client, "")
}

// countConnection counts a connection, or reports false if the server is closed.
func (s *Server) countConnection() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

// closeGracePeriod is how long Close waits after it has cut all connections.
const closeGracePeriod = 2 * time.Second

// Close closes every connection with amqp:connection:forced, after which clients connect
// again, and waits until all have ended. When ctx ends, it cuts the remaining ones. It
// returns at most two seconds later, even if the store has not answered.
func (s *Server) Close(ctx context.Context) {
	s.beginClose()
	s.mu.Lock()
	s.closed = true
	for _, sp := range s.allNamespaces() {
		sp.closeConnections("The server is shutting down.")
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
	patience := time.NewTimer(closeGracePeriod)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		s.mu.Lock()
		left := 0
		for _, sp := range s.allNamespaces() {
			left += sp.clients.len()
		}
		s.mu.Unlock()
		s.log.Warn("AMQP connections are still open after the shutdown; the store may not be answering", "connections", left)
	}
}
