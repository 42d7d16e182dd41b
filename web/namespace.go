package web

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/namespaces"
	"mayfly/engine/shorten"
	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
	"mayfly/web/rest"
)

// A Namespace serves the requests for one namespace.
type Namespace struct {
	s        *Server
	name     string // in addresses; empty for the server's own
	handlers atomic.Pointer[handlers]
}

// handlers answer the requests of the two ports. They are created by the first request that
// needs them, so an unused namespace costs little.
type handlers struct {
	dashboard, admin func() http.Handler
	serving          bool    // a broker answers
	standby          Standby // if serving is false
}

// namespaceIndex are the namespaces of the server, by name.
type namespaceIndex struct {
	mu     sync.RWMutex
	byName map[string]*Namespace // the server's own too; guarded by mu
}

func (o *namespaceIndex) get(name string) *Namespace {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.byName[name]
}

// AddNamespace registers one more namespace, by its name in lower case. It stands by at first. It gets
// the requests below /n/NAME and /api/v1/n/NAME on the dashboard's port, and on the admin port
// the requests to a host of that name and to its Ports.
func (s *Server) AddNamespace(name string) *Namespace {
	sp := &Namespace{s: s, name: name}
	sp.StandBy(Standby{Namespace: name})
	s.namespaces.add(name, sp)
	s.remotes.forget(name)
	return sp
}

func (o *namespaceIndex) add(name string, sp *Namespace) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byName == nil {
		o.byName = map[string]*Namespace{}
	}
	if former := o.byName[name]; former != nil && former != sp {
		former.closeForwarder()
	}
	o.byName[name] = sp
}

// closeForwarder closes the Forwarder to the owner of a namespace that no longer needs it.
func (sp *Namespace) closeForwarder() {
	if h := sp.handlers.Load(); h != nil && h.standby.Forwarder != nil {
		h.standby.Forwarder.Close()
	}
}

// registerOwn registers sp under the given name if it is the server's own namespace, so that requests
// to hosts of that name are for it. It does nothing for other namespaces, or if the name is empty.
func (sp *Namespace) registerOwn(name string) {
	if sp.name == "" && name != "" {
		sp.s.namespaces.add(strings.ToLower(name), sp)
	}
}

// RemoveNamespace removes a namespace. Running requests are still answered by its broker, but those
// that are being forwarded to its owner end with an error.
func (s *Server) RemoveNamespace(name string) {
	s.namespaces.mu.Lock()
	defer s.namespaces.mu.Unlock()
	if sp := s.namespaces.byName[name]; sp != nil {
		sp.closeForwarder()
	}
	delete(s.namespaces.byName, name)
}

// Open makes d's broker answer all further requests.
func (sp *Namespace) Open(d Services) {
	sp.registerOwn(d.Broker.Name())
	sp.handlers.Store(&handlers{
		dashboard: sync.OnceValue(func() http.Handler { return sp.newDashboard(d) }),
		admin:     sync.OnceValue(func() http.Handler { return sp.newAdmin(d) }),
		serving:   true,
	})
}

// StandBy makes the server answer all further requests as w describes. Requests that are
// already running are still answered by the former broker.
func (sp *Namespace) StandBy(w Standby) {
	sp.registerOwn(w.Namespace)
	w.base, w.notOwn = sp.s.o.Base, sp.name != ""
	sp.handlers.Store(&handlers{
		dashboard: sync.OnceValue(func() http.Handler { return sp.s.standbyDashboard(w) }),
		admin:     sync.OnceValue(func() http.Handler { return sp.s.standbyAdmin(w) }),
		standby:   w,
	})
}

// apiGroups returns the group at which the namespace's API is mounted. The API of the server's own
// namespace is also mounted at the groups `also`.
func (sp *Namespace) apiGroups(e *echo.Echo, d Services) (at *echo.Group, also []*echo.Group) {
	if sp.name != "" {
		return e.Group(apiPrefix + sp.name), nil
	}
	e.Any(apiPrefix+"*", func(c echo.Context) error {
		name, _, _ := strings.Cut(c.Param("*"), "/")
		return engine.RefuseCode(engine.ErrNotFound, 40402, "The namespace '%s' does not exist.", shorten.Quote(name))
	})
	return e.Group("/api/v1"), []*echo.Group{e.Group(apiPrefix + d.Broker.Name())}
}

// The addresses of a namespace on the dashboard's port.
const (
	pagesPrefix       = "/n/"
	apiPrefix         = "/api/v1/n/"
	allNamespacesPath = "/namespaces" // pages that belong to no namespace
)

// firstServing returns the server's own namespace or, while that is on standby, the first other one
// that a broker serves: namespaces can be managed there even if one of them has failed.
func (s *Server) firstServing() *Namespace {
	if s.handlers.Load().serving {
		return s.Namespace
	}
	s.namespaces.mu.RLock()
	defer s.namespaces.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.namespaces.byName)) {
		if sp := s.namespaces.byName[name]; sp.handlers.Load().serving {
			return sp
		}
	}
	return s.Namespace
}

func (s *Server) serveDashboard(w http.ResponseWriter, r *http.Request) {
	r, ok := s.stripBase(r)
	if !ok {
		s.outsideBase().ServeHTTP(w, r)
		return
	}
	sp, r := s.resolveAddress(r)
	sp.handlers.Load().dashboard().ServeHTTP(w, r)
}

// resolveAddress returns the namespace that a request's address names, and the request with the
// name in its canonical spelling. If the address names none, or one that does not exist, it returns
// the server's own namespace.
func (s *Server) resolveAddress(r *http.Request) (*Namespace, *http.Request) {
	at := r.URL.EscapedPath()
	below := pagesPrefix
	if strings.HasPrefix(at, apiPrefix) {
		below = apiPrefix
	}
	rest, ok := strings.CutPrefix(at, below)
	switch {
	case !ok && (at == allNamespacesPath || strings.HasPrefix(at, allNamespacesPath+"/")):
		return s.firstServing(), r
	case !ok:
		return s.Namespace, r
	}
	name, _, _ := strings.Cut(rest, "/")
	s.awaitNamespace(r.Context(), strings.ToLower(name))
	sp := s.namespaces.get(strings.ToLower(name))
	if sp == nil {
		sp = s.undiscovered(strings.ToLower(name)) //nolint:contextcheck // requests bring their own
	}
	if sp == nil {
		sp = s.findRemote(r, strings.ToLower(name))
	}
	switch {
	case sp == nil, sp == s.Namespace:
		return s.Namespace, r
	case sp.name == name:
		return sp, r
	}
	// Nothing up to the name's end is escaped.
	u, same := *r.URL, *r
	u.Path = below + sp.name + u.Path[len(below)+len(name):]
	if u.RawPath != "" {
		u.RawPath = below + sp.name + u.RawPath[len(below)+len(name):]
	}
	same.URL = &u
	return sp, &same
}

// awaitNamespace waits a while for a namespace that is being created again, so that its pages are not
// missing, or without content, in the meantime.
func (s *Server) awaitNamespace(ctx context.Context, name string) {
	if s.o.AwaitNamespace == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rebuildWait)
	defer cancel()
	s.o.AwaitNamespace(ctx, name)
}

// undiscovered returns a standby for a namespace that may exist, as long as the server does not
// know all namespaces; its clients are asked to retry. It returns nil once the server knows
// them all.
func (s *Server) undiscovered(name string) *Namespace {
	if as, err := namespaces.ParseName(name); !s.namespacesIncomplete.Load() || err != nil || as != name {
		return nil
	}
	sp := &Namespace{s: s, name: name}
	sp.StandBy(Standby{Namespace: name})
	return sp
}

func (s *Server) serveAdmin(w http.ResponseWriter, r *http.Request) {
	sp, err := s.resolveHost(r)
	if err != nil {
		s.noNamespace().ServeHTTP(w, r)
		return
	}
	sp.handlers.Load().admin().ServeHTTP(w, r)
}

// newNoNamespace returns the handler of requests on the admin port that name no namespace.
func (s *Server) newNoNamespace() http.Handler {
	e := s.newBase(adminPolicy)
	e.Pre(s.amqpWebSocket)
	rest.Refuse(e, "", func(r *http.Request) error {
		_, err := s.resolveHost(r)
		return cmp.Or(err, errNamespacesIncomplete) // it was registered just now
	}, s.o.Logger)
	return e
}

// errNamespacesIncomplete is the error for a host that may name a namespace which the server does not know
// yet.
var errNamespacesIncomplete error = engine.Refuse(engine.ErrBusy, "The server is still loading its namespaces.")

// NamespacesComplete records that the server knows all namespaces now; see
// Options.NamespacesIncomplete.
func (s *Server) NamespacesComplete() { s.namespacesIncomplete.Store(false) }

// resolveHost returns the namespace of the port that a request came to, else the one named by its
// host, its TLS server name or its token's audience, else the server's own. It returns an
// error if the port's namespace does not exist, if a host can only mean a namespace that does
// not exist, and for a host that Options.UnknownHosts refuses.
func (s *Server) resolveHost(r *http.Request) (*Namespace, error) {
	if name := namespaceOfPort(r); name != "" {
		return s.find(name)
	}
	hosts := []string{r.Host}
	if r.TLS != nil {
		hosts = append(hosts, r.TLS.ServerName)
	}
	if t, err := sas.Parse(r.Header.Get(echo.HeaderAuthorization)); err == nil {
		hosts = append(hosts, t.Host())
	}
	for _, h := range hosts {
		label := namespaces.HostLabel(h)
		if sp := s.namespaces.get(label); sp != nil {
			return sp, nil
		}
		switch {
		case label != "" && label != "localhost" && s.namespacesIncomplete.Load():
			return nil, errNamespacesIncomplete
		case namespaces.IsNamespaceHost(h):
			return nil, errNoNamespace(label)
		}
	}
	if s.o.UnknownHosts.Refuses(hosts...) {
		return nil, errNoNamespace(namespaces.HostLabel(cmp.Or(hosts...)))
	}
	return s.Namespace, nil
}

// tokenNames returns the hosts that name the namespace in the tokens of r.
func (sp *Namespace) tokenNames(namespace string, r *http.Request) sas.Names {
	s := sp.s
	n := sas.Names{
		Namespace: namespace, Own: sp == s.Namespace || namespaceOfPort(r) != "", IsServer: s.o.IsServerName,
		IsOther: func(label string) bool { other := s.namespaces.get(label); return other != nil && other != sp },
	}
	if p, passed := cluster.ClientFromContext(r.Context()); passed {
		return n.ForwardedFrom(p.Own, p.Hosts)
	}
	return n
}

// find returns the namespace of that name.
func (s *Server) find(name string) (*Namespace, error) {
	unsure := s.namespacesIncomplete.Load() // read before the look-up, because the namespace may be added in between
	sp := s.namespaces.get(name)
	switch {
	case sp != nil:
		return sp, nil
	case unsure:
		return nil, errNamespacesIncomplete
	default:
		return nil, errNoNamespace(name)
	}
}

func errNoNamespace(name string) error {
	return engine.RefuseCode(namespaces.ErrNoNamespace, 40402, "The namespace '%s' does not exist.", shorten.Quote(name))
}
