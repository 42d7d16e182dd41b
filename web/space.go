package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/fleet"
	"mayfly/web/rest"
	"mayfly/web/sas"
)

// A Space is what the server answers for one namespace.
type Space struct {
	s      *Server
	name   string // in addresses; empty: it is the server's own
	behind atomic.Pointer[handlers]
}

// handlers are what requests of the two ports are answered by. They are made when
// the first request needs them: a namespace that nobody asks for costs little.
type handlers struct {
	dashboard, admin func() http.Handler
	open             bool    // a broker answers
	standby          Standby // if not
}

// others are the namespaces beside the server's own, by name.
type others struct {
	mu     sync.RWMutex
	byName map[string]*Space // the server's own too; guarded by mu
}

func (o *others) named(name string) *Space {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.byName[name]
}

// Add has the server answer for one more namespace, by its name in lower case: it
// stands by at first. On the dashboard's port what is below /n/NAME and
// /api/v1/n/NAME is its; on the other, requests to a host called so, and to its Ports.
func (s *Server) Add(name string) *Space {
	sp := &Space{s: s, name: name}
	sp.StandBy(Standby{Namespace: name})
	s.others.put(name, sp)
	s.abroad.forget(name)
	return sp
}

func (o *others) put(name string, sp *Space) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byName == nil {
		o.byName = map[string]*Space{}
	}
	if former := o.byName[name]; former != nil && former != sp {
		former.hangUp()
	}
	o.byName[name] = sp
}

// hangUp ends what is passed on to the owner of a namespace that nobody is to ask any
// more.
func (sp *Space) hangUp() {
	if h := sp.behind.Load(); h != nil && h.standby.Line != nil {
		h.standby.Line.Close()
	}
}

// own has hosts that are called so be the server's own, whatever else a request
// says.
func (sp *Space) own(name string) {
	if sp.name == "" && name != "" {
		sp.s.others.put(strings.ToLower(name), sp)
	}
}

// Remove has the server know of a namespace no more. Requests under way are still
// answered by what was there.
func (s *Server) Remove(name string) {
	s.others.mu.Lock()
	defer s.others.mu.Unlock()
	if sp := s.others.byName[name]; sp != nil {
		sp.hangUp()
	}
	delete(s.others.byName, name)
}

// Open has requests answered by a broker from now on.
func (sp *Space) Open(d Doors) {
	sp.own(d.Broker.Name())
	sp.behind.Store(&handlers{
		dashboard: sync.OnceValue(func() http.Handler { return sp.newDashboard(d) }),
		admin:     sync.OnceValue(func() http.Handler { return sp.s.newAdmin(d) }),
		open:      true,
	})
}

// StandBy has requests answered by what w says from now on. Those under way are
// still the former broker's to answer.
func (sp *Space) StandBy(w Standby) {
	sp.own(w.Namespace)
	w.base = sp.s.o.Base
	sp.behind.Store(&handlers{
		dashboard: sync.OnceValue(func() http.Handler { return sp.s.standbyDashboard(w) }),
		admin:     sync.OnceValue(func() http.Handler { return sp.s.standbyAdmin(w) }),
		standby:   w,
	})
}

// apis are where the namespace's API is.
func (sp *Space) apis(e *echo.Echo, d Doors) (at *echo.Group, also []*echo.Group) {
	if sp.name != "" {
		return e.Group(belowAPI + sp.name), nil
	}
	e.Any(belowAPI+"*", func(c echo.Context) error {
		name, _, _ := strings.Cut(c.Param("*"), "/")
		return &engine.Refusal{Kind: engine.ErrNotFound, SubCode: 40402, Text: fmt.Sprintf("There is no namespace '%s'.", cut(name))}
	})
	return e.Group("/api/v1"), []*echo.Group{e.Group(belowAPI + d.Broker.Name())}
}

// Where what belongs to a namespace is on the dashboard's port.
const (
	belowPages = "/n/"
	belowAPI   = "/api/v1/n/"
	ofAll      = "/namespaces" // pages that are of none of them
)

// anyOpen is the server's own namespace, or while that stands by the first other that
// a broker answers for: where they can be managed, whatever is wrong with one.
func (s *Server) anyOpen() *Space {
	if s.behind.Load().open {
		return s.Space
	}
	s.others.mu.RLock()
	defer s.others.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.others.byName)) {
		if sp := s.others.byName[name]; sp.behind.Load().open {
			return sp
		}
	}
	return s.Space
}

// cut is text that a client has sent, short enough to be told.
func cut(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

func (s *Server) onDashboard(w http.ResponseWriter, r *http.Request) {
	r, ok := s.below(r)
	if !ok {
		s.outside().ServeHTTP(w, r)
		return
	}
	sp, r := s.addressed(r) //nolint:contextcheck // requests bring their own
	sp.behind.Load().dashboard().ServeHTTP(w, r)
}

// addressed is the namespace that a request's address is of, and the request with
// that name as it is kept.
func (s *Server) addressed(r *http.Request) (*Space, *http.Request) {
	at := r.URL.EscapedPath()
	below := belowPages
	if strings.HasPrefix(at, belowAPI) {
		below = belowAPI
	}
	rest, ok := strings.CutPrefix(at, below)
	switch {
	case !ok && (at == ofAll || strings.HasPrefix(at, ofAll+"/")):
		return s.anyOpen(), r
	case !ok:
		return s.Space, r
	}
	name, _, _ := strings.Cut(rest, "/")
	sp := s.others.named(strings.ToLower(name))
	if sp == nil {
		sp = s.learning(strings.ToLower(name))
	}
	if sp == nil {
		sp = s.elsewhere(r, strings.ToLower(name))
	}
	switch {
	case sp == nil, sp == s.Space:
		return s.Space, r
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

// learning answers for a namespace that there may be, as long as the server does not know
// of all: whoever asks for it is to come again. Nil: the server knows of all.
func (s *Server) learning(name string) *Space {
	if as, err := fleet.ParseName(name); !s.unsure.Load() || err != nil || as != name {
		return nil
	}
	sp := &Space{s: s, name: name}
	sp.StandBy(Standby{Namespace: name})
	return sp
}

func (s *Server) onAdmin(w http.ResponseWriter, r *http.Request) {
	sp, err := s.called(r)
	if err != nil {
		s.nobody().ServeHTTP(w, r)
		return
	}
	sp.behind.Load().admin().ServeHTTP(w, r)
}

// newNobody answers requests on the admin port that are for no namespace.
func (s *Server) newNobody() http.Handler {
	e := s.base(adminPolicy)
	e.Pre(s.tunnelled)
	rest.Refuse(e, "", func(r *http.Request) error {
		_, err := s.called(r)
		return cmp.Or(err, errUnsure) // it has just come to be known
	}, s.o.Logger)
	return e
}

// errUnsure is for a host that may name a namespace which the server does not know
// of yet.
var errUnsure error = &engine.Refusal{Kind: engine.ErrBusy, Text: "The server is finding out which namespaces there are."}

// Known has the server take it that it knows of all namespaces: see
// Options.Unsure.
func (s *Server) Known() { s.unsure.Store(false) }

// called is the namespace of the port that a request came to, else the one that a host
// is called by: the one that it names, or its client in TLS, or the one that its token is
// for; else the server's own. The error is for a port, or a host that can mean nothing
// else, of a namespace that there is not.
func (s *Server) called(r *http.Request) (*Space, error) {
	if name := portOf(r); name != "" {
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
		label := fleet.Label(h)
		if sp := s.others.named(label); sp != nil {
			return sp, nil
		}
		switch {
		case label != "" && label != "localhost" && s.unsure.Load():
			return nil, errUnsure
		case fleet.Meant(h):
			return nil, noSpace(label)
		}
	}
	return s.Space, nil
}

// find is the namespace of that name.
func (s *Server) find(name string) (*Space, error) {
	unsure := s.unsure.Load() // before it is looked for, or it might have come in between
	sp := s.others.named(name)
	switch {
	case sp != nil:
		return sp, nil
	case unsure:
		return nil, errUnsure
	default:
		return nil, noSpace(name)
	}
}

func noSpace(name string) error {
	return &engine.Refusal{Kind: fleet.ErrNone, SubCode: 40402, Text: fmt.Sprintf("There is no namespace '%s'.", cut(name))}
}
