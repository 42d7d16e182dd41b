package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine/namespaces"
	"mayfly/web/cluster"
)

// How long the server remembers that another server has a namespace (remoteTTL), and that no server
// has it (missingTTL).
const (
	remoteTTL  = 5 * time.Second
	missingTTL = time.Second
)

// maxMissing is how many names the server remembers that no other server has.
const maxMissing = 100

// remoteNamespaces finds namespaces that only other servers know: temporary ones, such as a
// scene's, which are in no catalogue, and ones created just now. It asks every server to which this
// one forwards requests.
type remoteNamespaces struct {
	asking chan struct{} // holds one: the request that asks

	mu      sync.Mutex
	found   map[string]*remoteNamespace // by name; guarded by mu
	missing map[string]time.Time        // when no server had it; guarded by mu
}

// remoteNamespace is a namespace that another server has.
type remoteNamespace struct {
	sp        *Namespace
	lastAsked time.Time // when it was last asked for
}

func newRemoteNamespaces() *remoteNamespaces {
	return &remoteNamespaces{asking: make(chan struct{}, 1), found: map[string]*remoteNamespace{}, missing: map[string]time.Time{}}
}

// cached returns the namespace that another server was found to have, or nil if none had it, and
// true. It returns false if it does not know, so that the servers must be asked.
func (a *remoteNamespaces) cached(name string, now time.Time) (sp *Namespace, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.found[name]; f != nil && now.Sub(f.lastAsked) < remoteTTL {
		return f.sp, true
	}
	at, ok := a.missing[name]
	return nil, ok && now.Sub(at) < missingTTL
}

// findRemote returns a namespace that another server has and this one does not know, or nil if
// there is none.
func (s *Server) findRemote(r *http.Request, name string) *Namespace {
	ctx := r.Context()
	if _, passed := cluster.ClientFromContext(ctx); passed || !s.o.NamespacesIncomplete {
		return nil
	}
	if as, err := namespaces.ParseName(name); err != nil || as != name {
		return nil
	}
	a := s.remotes
	if sp, ok := a.cached(name, time.Now()); ok {
		return sp
	}
	select {
	case a.asking <- struct{}{}:
		defer func() { <-a.asking }()
	case <-ctx.Done():
		return nil
	}
	if sp, ok := a.cached(name, time.Now()); ok { // another request has asked
		return sp
	}
	w, ok := s.askServers(ctx, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.found[name]
	switch {
	case !ok && ctx.Err() != nil: // unknown
	case !ok:
		if f != nil {
			f.sp.closeForwarder()
			delete(a.found, name)
		}
		if len(a.missing) >= maxMissing {
			clear(a.missing)
		}
		a.missing[name] = time.Now()
	case f != nil && f.sp.handlers.Load().standby.Forwarder.Endpoint().String() == w.Forwarder.Endpoint().String():
		f.lastAsked = time.Now()
		return f.sp
	default:
		if f != nil {
			f.sp.closeForwarder()
		}
		delete(a.missing, name)
		w.Namespace, w.Forwarder = name, w.Forwarder.ForNamespace(name)
		sp := &Namespace{s: s, name: name}
		sp.StandBy(w) //nolint:contextcheck // requests bring their own
		a.found[name] = &remoteNamespace{sp: sp, lastAsked: time.Now()}
		return sp
	}
	return nil
}

// askServers asks all servers that this one forwards to, at the same time, whether they have a
// namespace. It returns a Standby with a Forwarder to one that has, or false if none has.
func (s *Server) askServers(ctx context.Context, name string) (w Standby, ok bool) {
	var all []Standby
	s.namespaces.mu.RLock()
	for _, sp := range s.namespaces.byName {
		if is := sp.handlers.Load().standby; is.Forwarder != nil && !slices.ContainsFunc(all, func(w Standby) bool { return w.Forwarder.Endpoint().String() == is.Forwarder.Endpoint().String() }) {
			all = append(all, is)
		}
	}
	s.namespaces.mu.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	has := make([]bool, len(all))
	var asking sync.WaitGroup
	for i, is := range all {
		asking.Go(func() {
			status, text, err := is.Forwarder.Get(ctx, readyPath+"?namespace="+url.QueryEscape(name))
			// A 503 also means that the other server has the namespace, unless it is only standing by
			// for it.
			has[i] = err == nil && (status == http.StatusOK || status == http.StatusServiceUnavailable && !strings.HasPrefix(text, standingBy))
		})
	}
	asking.Wait()
	if i := slices.Index(has, true); i >= 0 {
		return all[i], true
	}
	return w, false
}

// forget removes a namespace that this server knows from now on, and closes its Forwarder.
func (a *remoteNamespaces) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.found[name]; f != nil {
		f.sp.closeForwarder()
		delete(a.found, name)
	}
	delete(a.missing, name)
}
