package server

import (
	"sync"

	"mayfly/engine/namespaces"
	"mayfly/web/prometheus"
)

// servedMetrics holds the metrics of the namespaces that are served. It is safe for concurrent use.
type servedMetrics struct {
	mu     sync.Mutex
	byName map[string]*prometheus.Served // guarded by mu
}

func (m *servedMetrics) put(name string, s *prometheus.Served) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byName == nil {
		m.byName = map[string]*prometheus.Served{}
	}
	m.byName[name] = s
}

func (m *servedMetrics) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byName, name)
}

// list returns the metrics of all namespaces of a Manager: the server's own, then the others by
// name. here is the address at which people find this server.
func (m *servedMetrics) list(f *namespaces.Manager, here string) (all []prometheus.Namespace) {
	listed := f.List()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range listed {
		is := prometheus.Namespace{Name: n.Name, State: string(n.State), Temporary: n.Temporary, Served: m.byName[n.Name]}
		switch n.State {
		case namespaces.Serving:
			is.Owner = here
		case namespaces.Standby:
			is.Owner = ownerAddress(n.Owner)
		}
		all = append(all, is)
	}
	return all
}
