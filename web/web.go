// Package web serves a broker over HTTP, on two ports: the dashboard with the JSON API, and
// the Service Bus REST data plane. It has the route table, the middleware of every request,
// and the graceful stop; the APIs and pages themselves are in the packages below it.
//
// A connection without TLS that begins with AMQP is answered and closed before there
// is a request. Deadlines for the body and the answer (package timeout) and the budget of
// connections (package connlimit) come before everything else. Then the dashboard's
// requests lose its base path. A request passes, in this order:
//
//  1. an id, which is in every answer and every error (X-Request-Id)
//  2. the access log, at debug, when the request has ended
//  3. security headers, so that errors have them too
//  4. recovery: a panic is an error of this one request
//  5. the Host check, against DNS rebinding
//  6. the cross-site check, for requests that may change something
//  7. the WebSocket that carries AMQP, at the same address on every port; not on the
//     dashboard's if people must authenticate there and clients need not
//  8. on the dashboard's port, the caller and its role: see authorize
//  9. its API or page, which limits the body to what it needs before reading it
//
// Errors of 4 to 9 are presented by the API or page of the address: as a problem
// document, as Service Bus' XML, or as a page.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
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
	"mayfly/web/amqp/websocket"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/sas"
	"mayfly/web/connlimit"
	"mayfly/web/loglimit"
	"mayfly/web/proxy"
	"mayfly/web/timeout"
)

// Options are the settings of both ports, whatever namespaces they serve.
type Options struct {
	Logger *slog.Logger // zero means slog.Default
	// Hosts are names by which requests may call the server, beyond loopback's and the
	// listener's own address.
	Hosts []string
	// Origins are the origins of pages that may open AMQP in a WebSocket, beside the server's
	// own, as websocket.CheckOrigin returns them.
	Origins []string
	// Base is the path that the dashboard and its API are served under, such as /mayfly, for a
	// proxy that keeps it in requests. Handlers get requests without it, and write addresses
	// with it. Empty means the root.
	Base string
	// HeaderSize is how many bytes the properties of a message may have together, as in
	// engine.Limits. They may travel in headers. Zero means engine.DefaultLimits.
	HeaderSize int64
	// SAS decides about requests on the admin port without a valid token. The dashboard takes
	// no SAS tokens.
	SAS sas.Policy
	// IsServerName reports whether host, as the audience of a token has it, is a name of this server;
	// see sas.Names. Nil means that only loopback's names are.
	IsServerName func(host string) bool
	// AMQP serves a connection that came inside a WebSocket, at a port of the namespace if
	// that is not empty, and returns when the connection has ended. Zero means that none is
	// accepted.
	AMQP func(nc net.Conn, namespace string)
	// NamespacesIncomplete is set if there may be namespaces that the server does not know yet. Until
	// NamespacesComplete is called, clients that name an unknown namespace on the admin port are asked
	// to retry. If a request on the dashboard's port names an unknown namespace, the server asks other
	// servers whether they have it.
	NamespacesIncomplete bool
	// UnknownHosts decides about requests to hosts that name no namespace. Nil means that they are for
	// the server's own namespace.
	UnknownHosts *sas.UnknownHosts
	// Metrics answers /metrics for all namespaces, whatever their state. Zero means that there
	// are none.
	Metrics http.Handler
	// Auth are the ways to authenticate on the dashboard's port. Zero means that every caller
	// may do everything.
	Auth auth.Sources
	// AuthRoutes have addresses of their own on the dashboard's port.
	AuthRoutes []AuthRoutes
	// TrustedProxies are the proxies whose headers name clients. Zero means none, and such headers
	// are ignored.
	TrustedProxies proxy.Trusted
	// SceneVisible reports whether a link visitor was led by the presenter to the named namespace of
	// a scene. Zero means never.
	SceneVisible func(caller auth.Caller, name string) bool
	// AwaitNamespace waits while the named namespace is being created again with its content, as a
	// scene does to go a step back, or until ctx ends. Nil means that namespaces are never created
	// again.
	AwaitNamespace func(ctx context.Context, name string)
	// AMQPAddress is the address of AMQP, such as "127.0.0.1:5672". A client that speaks AMQP to an
	// HTTP port gets it as a hint. Empty means none.
	AMQPAddress string
	// TLSFault returns why TLS failed on a closed connection, or "" if it did not. Nil means
	// that TLS failures are not logged.
	TLSFault func(nc *tls.Conn) string
}

const (
	headerTimeout = 10 * time.Second // for a request's headers
	idleTimeout   = 2 * time.Minute  // for the next request of a connection
	rebuildWait   = 5 * time.Second  // for a namespace that is created again
)

// A Server serves both ports: for its own namespace, which is the embedded Namespace, and for the
// added ones. The namespaces' handlers may change while it serves: connections stay, and each
// request is answered by the handlers of the moment when it came. The Server does not end AMQP in a
// WebSocket; the AMQP server does. Its methods are safe for concurrent use; Serve is called once.
type Server struct {
	*Namespace

	o                    Options
	dashboard            *http.Server
	admin                *http.Server
	namespaces           namespaceIndex
	remotes              *remoteNamespaces
	namespacesIncomplete atomic.Bool             // as in Options
	noNamespace          func() http.Handler     // for hosts that name no namespace
	outsideBase          func() http.Handler     // for addresses outside the base path
	amqpSocket           http.Handler            // AMQP in a WebSocket; nil if there is none
	bodyBudget           *origin.BodyBudget      // for the bodies of both ports
	repeats              loglimit.Repeats        // log lines about clients
	stop                 context.CancelCauseFunc // ends requests that wait, for instance for a message
}

// New returns a server that stands by and has not been started.
func New(o Options) *Server {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.HeaderSize == 0 {
		o.HeaderSize = engine.DefaultLimits().HeaderSize
	}
	s := &Server{o: o, bodyBudget: origin.NewBodyBudget(), remotes: newRemoteNamespaces()}
	if o.AMQP != nil {
		s.amqpSocket = websocket.NewHandler(func(nc net.Conn, r *http.Request) { o.AMQP(nc, namespaceOfPort(r)) }, o.Origins...)
	}
	s.namespacesIncomplete.Store(o.NamespacesIncomplete)
	s.noNamespace, s.outsideBase = sync.OnceValue(s.newNoNamespace), sync.OnceValue(s.newOutsideBase)
	ctx, stop := context.WithCancelCause(context.Background())
	s.stop = stop
	s.dashboard = s.newServer(ctx, s.serveDashboard, !s.isOpen())
	s.admin = s.newServer(ctx, s.serveAdmin, o.SAS == sas.Enforce)
	s.Namespace = &Namespace{s: s}
	s.StandBy(Standby{})
	return s
}

// newServer returns the server of one port. With `asks`, clients must authenticate there.
func (s *Server) newServer(ctx context.Context, port http.HandlerFunc, asks bool) *http.Server {
	return timeout.Server(&http.Server{
		Handler:           s.trackConnection(answerHead(port), asks),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		// A message's properties may travel in headers, escaped.
		MaxHeaderBytes: int(min(64<<10+4*s.o.HeaderSize, 16<<20)),
		ErrorLog:       slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
		ConnState: func(nc net.Conn, state http.ConnState) {
			markIdle(nc, state)
			s.logTLSFault(nc, state)
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return connlimit.WithConn(ctx, connlimit.Unwrap(c))
		},
		BaseContext: func(l net.Listener) context.Context {
			p, _ := l.(Port) // Serve passes a Port
			ctx := context.WithValue(ctx, hostsKey{}, origin.Hosts{Listener: l.Addr(), Allowed: s.o.Hosts, Certified: p.Names})
			return context.WithValue(ctx, portKey{}, p.Namespace)
		},
	})
}

// logTLSFault logs why TLS failed on a connection that is closed. Clients seldom show the
// reason, so operators look for it in the server's log. The same failure of one client is
// logged once in 30 seconds, as in package amqp.
func (s *Server) logTLSFault(nc net.Conn, state http.ConnState) {
	secure, ok := nc.(*tls.Conn)
	if !ok || state != http.StateClosed || s.o.TLSFault == nil {
		return
	}
	client := nc.RemoteAddr().String()
	if why := s.o.TLSFault(secure); why != "" && s.repeats.First(loglimit.Line{Client: proxy.Host(client), Reason: why}) {
		s.o.Logger.Info("a TLS connection failed", "client", client, "port", nc.LocalAddr().String(), "reason", why)
	}
}

// HeaderSize returns how many bytes the headers of a request may have.
func (s *Server) HeaderSize() int { return s.dashboard.MaxHeaderBytes }

// Dashboard returns the handler of the dashboard's port.
func (s *Server) Dashboard() http.Handler { return s.dashboard.Handler }

// Admin returns the handler of the admin port.
func (s *Server) Admin() http.Handler { return s.admin.Handler }

// A Port is a listener of the admin port with settings of its own.
type Port struct {
	net.Listener
	// Names returns the names of the listener's certificate, if its connections have TLS:
	// requests may call the server by them. It is safe for concurrent use. Nil means no TLS.
	Names func() []string
	// Namespace is the namespace, in lower case, of all requests at this listener, whatever
	// host they name, and whether it exists or not. Empty means that the host decides.
	Namespace   string
	AMQPAddress string // as in Options, for clients of this namespace
}

// Serve accepts connections until Shutdown, and then returns nil. If a listener fails, Serve closes all
// of them and returns the error. The admin port may have several listeners, Ports or others. Serve owns
// all of them.
func (s *Server) Serve(dashboard net.Listener, admin ...net.Listener) error {
	ended := make(chan error, 1+len(admin))
	logged := new(atomic.Int64)
	var all sync.WaitGroup
	serve := func(srv *http.Server, l net.Listener) {
		p, ok := l.(Port)
		if !ok {
			p = Port{Listener: l, AMQPAddress: s.o.AMQPAddress}
		}
		if p.Names == nil {
			p.Listener = &amqpHintListener{p.Listener, s.o.Logger, p.AMQPAddress, logged}
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
	if err != nil { // close the others too
		err = errors.Join(err, s.dashboard.Close(), s.admin.Close())
	}
	all.Wait()
	close(ended)
	for e := range ended {
		err = errors.Join(err, e)
	}
	return err
}

// Shutdown stops accepting, ends requests that wait for messages, lets running requests
// finish, and cuts off those that are still running when ctx ends. The hub closes the sockets
// of live pages.
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

// newDashboardBase returns newBase's Echo for the dashboard's port, with authorize and the routes that
// need no namespace. `ofUI` returns the roles of the other routes.
func (s *Server) newDashboardBase(ofUI func(method, pattern string) (auth.Role, bool)) *echo.Echo {
	e := s.newBase(pagePolicy)
	s.mountWebSocket(e)
	e.Use(s.authorize(sync.OnceValue(func() map[string]auth.Role { // all routes are registered by the first request
		return s.requiredRoles(e, ofUI)
	})))
	s.serverRoutes(e)
	for _, g := range s.o.AuthRoutes {
		g.Mount(e.Group(""))
	}
	return e
}

// mountWebSocket makes e accept AMQP in a WebSocket, unless people must authenticate on the
// dashboard's port and AMQP clients need not.
func (s *Server) mountWebSocket(e *echo.Echo) {
	if s.isOpen() || s.o.SAS == sas.Enforce {
		e.Pre(s.amqpWebSocket)
	}
}

// newBase returns an Echo with the middleware of every request.
func (s *Server) newBase(policy func(*http.Request) string) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Pre(requestID, s.logRequest, securityHeaders(policy), recoverPanic, s.limitBodies, checkHost(s.o.Hosts), checkSite)
	return e
}
