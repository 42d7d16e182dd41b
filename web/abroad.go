package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine/fleet"
	"mayfly/web/relay"
)

// How long it is believed that another server has a namespace, and that none has.
const (
	abroadFor  = 5 * time.Second
	nowhereFor = time.Second
)

// mostNowhere is how many names it is remembered of that nobody has them.
const mostNowhere = 100

// abroad finds namespaces that this server does not know of at those that it passes on
// to: temporary ones, a scene's for instance, which are in no catalogue, and those that
// were made just now. Of each server that one is asked for.
type abroad struct {
	turn chan struct{} // holds one: who asks

	mu      sync.Mutex
	found   map[string]*found    // by name; guarded by mu
	nowhere map[string]time.Time // when that was so; guarded by mu
}

// found is where a namespace is.
type found struct {
	sp *Space
	at time.Time // it was asked for last
}

func newAbroad() *abroad {
	return &abroad{turn: make(chan struct{}, 1), found: map[string]*found{}, nowhere: map[string]time.Time{}}
}

// known is what is remembered of a name; not ok: it is to be asked for.
func (a *abroad) known(name string, now time.Time) (sp *Space, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.found[name]; f != nil && now.Sub(f.at) < abroadFor {
		return f.sp, true
	}
	at, ok := a.nowhere[name]
	return nil, ok && now.Sub(at) < nowhereFor
}

// elsewhere is a namespace that another server has and this one does not know of; nil:
// there is none.
func (s *Server) elsewhere(r *http.Request, name string) *Space {
	ctx := r.Context()
	if _, passed := relay.Of(ctx); passed || !s.o.Unsure {
		return nil
	}
	if as, err := fleet.ParseName(name); err != nil || as != name {
		return nil
	}
	a := s.abroad
	if sp, ok := a.known(name, time.Now()); ok {
		return sp
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil
	}
	if sp, ok := a.known(name, time.Now()); ok { // somebody else has asked
		return sp
	}
	w, ok := s.askFor(ctx, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.found[name]
	switch {
	case !ok && ctx.Err() != nil: // nobody knows
	case !ok:
		if f != nil {
			f.sp.hangUp()
			delete(a.found, name)
		}
		if len(a.nowhere) >= mostNowhere {
			clear(a.nowhere)
		}
		a.nowhere[name] = time.Now()
	case f != nil && f.sp.behind.Load().standby.Line.To().String() == w.Line.To().String():
		f.at = time.Now()
		return f.sp
	default:
		if f != nil {
			f.sp.hangUp()
		}
		delete(a.nowhere, name)
		w.Namespace, w.Line = name, w.Line.For(name)
		sp := &Space{s: s, name: name}
		sp.StandBy(w) //nolint:contextcheck // requests bring their own
		a.found[name] = &found{sp: sp, at: time.Now()}
		return sp
	}
	return nil
}

// askFor asks all servers that this one passes on to for a namespace, at the same time.
func (s *Server) askFor(ctx context.Context, name string) (w Standby, ok bool) {
	var all []Standby
	s.others.mu.RLock()
	for _, sp := range s.others.byName {
		if is := sp.behind.Load().standby; is.Line != nil && !slices.ContainsFunc(all, func(w Standby) bool { return w.Line.To().String() == is.Line.To().String() }) {
			all = append(all, is)
		}
	}
	s.others.mu.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	has := make([]bool, len(all))
	var asking sync.WaitGroup
	for i, is := range all {
		asking.Go(func() {
			status, text, err := is.Line.Ask(ctx, "/readyz?namespace="+url.QueryEscape(name))
			// One that it does not own itself is not looked for there.
			has[i] = err == nil && (status == http.StatusOK || status == http.StatusServiceUnavailable && !strings.HasPrefix(text, standingBy))
		})
	}
	asking.Wait()
	if i := slices.Index(has, true); i >= 0 {
		return all[i], true
	}
	return w, false
}

// forget has a namespace be this server's to know from now on.
func (a *abroad) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.found[name]; f != nil {
		f.sp.hangUp()
		delete(a.found, name)
	}
	delete(a.nowhere, name)
}
