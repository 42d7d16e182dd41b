package main

import (
	"sync"

	"mayfly/engine/fleet"
	"mayfly/web/metrics"
)

// measured is what there is to measure of the namespaces that are served. It is
// safe for concurrent use.
type measured struct {
	mu     sync.Mutex
	byName map[string]*metrics.Served // guarded by mu
}

func (m *measured) put(name string, s *metrics.Served) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byName == nil {
		m.byName = map[string]*metrics.Served{}
	}
	m.byName[name] = s
}

func (m *measured) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byName, name)
}

// of is what there is to tell of a fleet's namespaces: the server's own, then the
// others by name. here is where others find this server.
func (m *measured) of(f *fleet.Fleet, here string) (all []metrics.Namespace) {
	listed := f.List()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range listed {
		is := metrics.Namespace{Name: n.Name, State: string(n.State), Temporary: n.Temporary, Served: m.byName[n.Name]}
		switch n.State {
		case fleet.Serving:
			is.Owner = here
		case fleet.Standby:
			is.Owner = nameOf(n.Owner)
		}
		all = append(all, is)
	}
	return all
}
