// Package web serves a broker over HTTP, on two ports: the dashboard with the
// JSON API, and the Service Bus REST data plane. It has the route table, what
// every request passes on its way, and the graceful stop; the doors themselves
// are in the packages below it.
//
// A connection without TLS that begins with AMQP is answered and closed before there
// is a request. The dashboard's requests lose its base path first. A request passes, in
// this order:
//
//  1. an id, which is in every answer and every error (X-Request-Id)
//  2. the access log, at debug, when all is over
//  3. security headers, so that errors have them too
//  4. recovery: a panic is an error of this one request
//  5. patience: a body must keep arriving, an answer must keep being taken
//  6. the Host check, against DNS rebinding
//  7. the cross-site check, for whatever may change something
//  8. the WebSocket that carries AMQP, at the same address on every port; on the
//     dashboard's not where people are asked who they are and clients are not
//  9. on the dashboard's port, who it is of and whether that one may: see permitted
//  10. its door, which limits the body to what it needs before reading it
//
// Errors of 4 to 10 are presented by the door of the address: as a problem
// document, as Service Bus' XML, or as a page.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/access"
	"mayfly/web/amqp/socket"
	"mayfly/web/identity"
	"mayfly/web/sas"
)

// Options are what both ports are, whatever is behind them.
type Options struct {
	Logger *slog.Logger // zero: slog.Default
	// Hosts are names a request may call the server by, beyond loopback's and
	// the listener's own address.
	Hosts []string
	// Base is the path that the dashboard and its API are served under, for a proxy that
	// passes it on: /mayfly. Doors get requests without it, and give addresses with it.
	// Empty: the root.
	Base string
	// HeaderSize is how many bytes the properties of a message may have
	// together, as in engine.Limits. They may travel in headers. Zero: as in
	// engine.DefaultLimits.
	HeaderSize int64
	// SAS is what becomes of requests on the admin port without a token that is
	// good for them. The dashboard knows no tokens.
	SAS sas.Policy
	// AMQP serves a connection that came inside a WebSocket, at a port of the namespace if
	// that is not empty, and returns when it is over. Zero: none is let in.
	AMQP func(nc net.Conn, namespace string)
	// Unsure is set where there may be namespaces that the server does not know of
	// yet: requests on the admin port that name one which it does not know are to
	// come again, until Known is called. On the dashboard's, other servers are asked.
	Unsure bool
	// Metrics answers /metrics, of all namespaces, whatever becomes of them. Zero:
	// there are none.
	Metrics http.Handler
	// Who are the ways to become known on the dashboard's port. Zero: whoever reaches it
	// may do everything.
	Who identity.Sources
	// Gates have addresses of their own there.
	Gates []Gate
	// Stage tells whether a namespace is that of a scene to which somebody who has a link was
	// led by its presenter. Zero: none is.
	Stage func(who identity.Who, name string) bool
	// AMQPAt is where AMQP is spoken, which a client is told that speaks it to a port
	// of HTTP: "127.0.0.1:5672". Empty: nowhere.
	AMQPAt string
}

const (
	headerPatience = 10 * time.Second // for a request's headers
	idlePatience   = 2 * time.Minute  // for the next request of a connection
)

// A Server is both ports, of its own namespace, which it is the Space of, and of
// those that are added. What it answers with may change while it serves:
// connections stay, and each request is answered by what was there when it
// came. AMQP in a WebSocket is not its own: who serves that ends it. Its methods are safe for concurrent use; Serve is called once.
type Server struct {
	*Space

	o         Options
	dashboard *http.Server
	admin     *http.Server
	others    others
	abroad    *abroad
	unsure    atomic.Bool             // as in Options
	nobody    func() http.Handler     // of hosts that name no namespace
	outside   func() http.Handler     // of what is not below the base path
	socket    http.Handler            // AMQP in a WebSocket; nil: there is none
	room      *access.Room            // for the bodies of both ports
	stop      context.CancelCauseFunc // ends what waits, for instance for a message
}

// New makes a server that stands by, and does not start it.
func New(o Options) *Server {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.HeaderSize == 0 {
		o.HeaderSize = engine.DefaultLimits().HeaderSize
	}
	s := &Server{o: o, room: access.NewRoom(), abroad: newAbroad()}
	if o.AMQP != nil {
		s.socket = socket.NewHandler(func(nc net.Conn, r *http.Request) { o.AMQP(nc, portOf(r)) })
	}
	s.unsure.Store(o.Unsure)
	s.nobody, s.outside = sync.OnceValue(s.newNobody), sync.OnceValue(s.newOutside)
	ctx, stop := context.WithCancelCause(context.Background())
	s.stop = stop
	s.dashboard = s.server(ctx, s.onDashboard)
	s.admin = s.server(ctx, s.onAdmin)
	s.Space = &Space{s: s}
	s.StandBy(Standby{})
	return s
}

func (s *Server) server(ctx context.Context, port http.HandlerFunc) *http.Server {
	return &http.Server{
		Handler:           headless(port),
		ReadHeaderTimeout: headerPatience,
		IdleTimeout:       idlePatience,
		// A message's properties may travel in headers, escaped.
		MaxHeaderBytes: int(min(64<<10+4*s.o.HeaderSize, 16<<20)),
		ErrorLog:       slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
		BaseContext: func(l net.Listener) context.Context {
			p, _ := l.(Port) // as Serve has it
			ctx := context.WithValue(ctx, hostsKey{}, access.Hosts{Listener: l.Addr(), Allowed: s.o.Hosts, Certified: p.Names})
			return context.WithValue(ctx, portKey{}, p.Namespace)
		},
	}
}

// HeaderSize is how many bytes the headers of a request may have.
func (s *Server) HeaderSize() int { return s.dashboard.MaxHeaderBytes }

// Dashboard is the handler of the dashboard's port.
func (s *Server) Dashboard() http.Handler { return s.dashboard.Handler }

// Admin is the handler of the admin port.
func (s *Server) Admin() http.Handler { return s.admin.Handler }

// A Port is a listener at which the admin port's answers are to be had, of which there
// is something to say.
type Port struct {
	net.Listener
	// Names are those that it shows a certificate for, where its connections have TLS:
	// requests may call the server by them. Safe for concurrent use. Nil: there is no TLS.
	Names func() []string
	// Namespace is whose requests are that come here, by its name in lower case, whatever
	// host they name, and whether there is one or not. Empty: that of their host.
	Namespace string
	AMQPAt    string // as in Options, for who wants this namespace
}

// Serve accepts connections until Shutdown, and returns nil then. What the admin
// port answers may be reached at several listeners, Ports or others. It owns all of them.
func (s *Server) Serve(dashboard net.Listener, admin ...net.Listener) error {
	ended := make(chan error, 1+len(admin))
	logged := new(atomic.Int64)
	var all sync.WaitGroup
	serve := func(srv *http.Server, l net.Listener) {
		p, ok := l.(Port)
		if !ok {
			p = Port{Listener: l, AMQPAt: s.o.AMQPAt}
		}
		if p.Names == nil {
			p.Listener = &strays{p.Listener, s.o.Logger, p.AMQPAt, logged}
		}
		err := srv.Serve(p)
		if !errors.Is(err, http.ErrServerClosed) {
			ended <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			return
		}
		ended <- nil
	}
	all.Go(func() { serve(s.dashboard, dashboard) })
	for _, l := range admin {
		all.Go(func() { serve(s.admin, l) })
	}
	err := <-ended
	if err != nil { // the others go too
		err = errors.Join(err, s.dashboard.Close(), s.admin.Close())
	}
	all.Wait()
	close(ended)
	for e := range ended {
		err = errors.Join(err, e)
	}
	return err
}

// Shutdown stops accepting, ends what waits for messages, lets running requests
// finish, and cuts off those that have not when ctx ends. Sockets of live pages
// are their hub's to close.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop(engine.ErrClosed)
	var both sync.WaitGroup
	var errs [2]error
	for i, srv := range []*http.Server{s.dashboard, s.admin} {
		both.Go(func() {
			if err := srv.Shutdown(ctx); err != nil {
				errs[i] = fmt.Errorf("requests were cut off: %w", errors.Join(err, srv.Close()))
			}
		})
	}
	both.Wait()
	return errors.Join(errs[:]...)
}

// pages is base for the dashboard's port, with the addresses that ask for no namespace.
func (s *Server) pages(ofUI func(method, pattern string) (identity.Role, bool)) *echo.Echo {
	e := s.base(pagePolicy)
	s.tunnels(e)
	e.Use(s.permitted(ofUI, sync.OnceValue(func() map[string]bool { // when the first request comes, all are registered
		all := map[string]bool{}
		for _, r := range e.Routes() {
			all[r.Method+" "+r.Path] = true
		}
		return all
	})))
	s.plainRoutes(e)
	for _, g := range s.o.Gates {
		g.Mount(e.Group(""))
	}
	return e
}

// tunnels lets AMQP in on the dashboard's port, if it may come there.
func (s *Server) tunnels(e *echo.Echo) {
	if s.open() || s.o.SAS == sas.Enforce {
		e.Pre(s.tunnelled)
	}
}

// base is an Echo without manners of its own.
func (s *Server) base(policy func(*http.Request) string) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Pre(identify, s.logged, secured(policy), recovered, patient, checkHost(s.o.Hosts), checkSite)
	return e
}
