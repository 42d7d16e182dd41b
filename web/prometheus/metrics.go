// Package prometheus serves Prometheus metrics in the text format (0.0.4). The names are stable:
//
//	mayfly_build_info{version,go}                           1
//	mayfly_namespaces{state}                                serving, opening, standby, failing
//	mayfly_namespace_owner{namespace,owner}                 1, by the address of the server that owns it
//	mayfly_namespace_ready{namespace}                       1 while its broker takes messages
//	mayfly_namespace_epoch{namespace}                       number of times the namespace has been opened
//	mayfly_entities{namespace,kind}                         queues, topics, subscriptions
//	mayfly_messages{namespace,entity,state}                 active, locked, scheduled, deferred, dead-letter
//	mayfly_message_bytes{namespace,entity}                  size of these, dead letters included
//	mayfly_messages_incoming_total{namespace,entity}        taken from senders, or forwarded or moved in
//	mayfly_messages_completed_total{namespace,entity}       completed, or received and deleted
//	mayfly_messages_expired_total{namespace,entity}         expired
//	mayfly_messages_dead_lettered_total{namespace,entity}   dead-lettered
//	mayfly_deliveries_failed_total{namespace,entity}        abandoned, or lock expired
//	mayfly_events_missed_total{namespace}                   missed by the counters above
//	mayfly_store_commit_seconds{namespace}                  histogram: how long the store takes to write
//	mayfly_store_bytes{namespace}                           on disk, if the store reports it
//	mayfly_amqp_connections{namespace}                      clients connected over AMQP
//	mayfly_open_connections{stage}                          at all ports, by stage
//	mayfly_open_connections_limit                           the maximum (--max-connections)
//	mayfly_connections_closed_total{reason}                 closed for a newer one, or refused
//	mayfly_memory_bytes                                     memory of the messages, sessions and entities of all namespaces
//	mayfly_memory_limit_bytes                               their limit; 0: none
//	go_goroutines, go_memstats_heap_alloc_bytes, process_start_time_seconds
//
// Every metric of a namespace has its name as a label, also on a server with one namespace. A
// namespace that is not served here, or does not answer within two seconds, has only
// mayfly_namespace_ready. Temporary namespaces, whose names come and go, are summed under
// namespace="…", without mayfly_namespace_ready, mayfly_namespace_epoch and
// mayfly_store_commit_seconds; the sums fall when one of them is removed.
//
// Counters start at zero when the namespace is opened here, those of an entity when it is
// created. Each entity is a label value. Beyond Options.Entities, counted over all namespaces
// in their order, the remaining entities of each namespace are summed under entity="…", whose
// counters fall when one of these entities is deleted.
package prometheus

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/stats"
	"mayfly/web/connections"
	"mayfly/web/connlimit"
)

// DefaultEntities is the default number of entities with metrics of their own.
const DefaultEntities = 1000

// brokerTimeout bounds the wait for a broker.
const brokerTimeout = 2 * time.Second

// Options configure the handler. Only Namespaces is required.
type Options struct {
	// Namespaces returns the server's namespaces, in the order in which they are reported. It
	// must be safe for concurrent use.
	Namespaces func() []Namespace
	Entities   int // with metrics of their own; zero means DefaultEntities; negative means none
	Version    string
	Started    time.Time      // zero if not reported
	Memory     *engine.Memory // of all namespaces; nil if not reported
	// Connections returns the counts of the process's connections. Nil means they are not
	// reported.
	Connections func() connlimit.Counts
}

// A Namespace is one of the server's namespaces.
type Namespace struct {
	Name      string
	State     string // a namespaces.State
	Owner     string // address of the server that owns it; empty if unknown
	Temporary bool
	Served    *Served // nil if not served here
}

// Served has the sources of a namespace's metrics. Only Broker and Stats are required.
type Served struct {
	Broker  *broker.Broker
	Stats   *stats.Recorder
	Clients connections.Source            // nil means that there are none
	Store   func() (bytes int64, ok bool) // nil means that the size is unknown
}

// Handler answers GET with the current metrics.
func Handler(o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		o.write(r.Context(), &b)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(b.Bytes()) //nolint:errcheck // the client may have gone away
	})
}

func (o Options) write(ctx context.Context, b *bytes.Buffer) {
	all := o.Namespaces()
	metrics := o.readAll(ctx, all)
	e := &encoder{b: b}
	e.single("mayfly_build_info", "Which build this is.", 1, "version", o.Version, "go", runtime.Version())
	namespaces(e, all)
	e.begin("mayfly_namespace_owner", gauge, "Which server owns the namespace, as far as this one knows.")
	for _, n := range all {
		if n.Owner != "" && !n.Temporary {
			e.sample("mayfly_namespace_owner", 1, "namespace", n.Name, "owner", n.Owner)
		}
	}
	e.begin("mayfly_namespace_ready", gauge, "1 while the broker takes messages, here.")
	for _, s := range metrics {
		if s.name != restLabel {
			e.sample("mayfly_namespace_ready", s.ready, "namespace", s.name)
		}
	}
	seen := slices.DeleteFunc(slices.Clone(metrics), func(s *namespaceMetrics) bool { return !s.answered })
	e.each(seen, "mayfly_namespace_epoch", gauge, "How often the namespace has been opened.", func(s *namespaceMetrics) (float64, bool) { return s.epoch, s.name != restLabel })
	entities(e, seen)
	e.each(seen, "mayfly_events_missed_total", counter, "Events that the counters of messages did not see.", func(s *namespaceMetrics) (float64, bool) { return s.lost, true })
	commits(e, seen)
	e.each(seen, "mayfly_store_bytes", gauge, "What the store takes on disk.", func(s *namespaceMetrics) (float64, bool) { return s.bytes, s.hasBytes })
	e.each(seen, "mayfly_amqp_connections", gauge, "Clients connected over AMQP.", func(s *namespaceMetrics) (float64, bool) { return s.clients, s.hasClients })
	if o.Connections != nil {
		openConnections(e, o.Connections())
	}
	if o.Memory != nil {
		e.single("mayfly_memory_bytes", "Memory of messages, sessions and entities, of all namespaces.", float64(o.Memory.Used()))
		e.single("mayfly_memory_limit_bytes", "Memory at which sends are refused; 0: no limit.", float64(o.Memory.Limit()))
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	e.single("go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	e.single("go_memstats_heap_alloc_bytes", "Heap bytes in use.", float64(m.HeapAlloc))
	if !o.Started.IsZero() {
		e.single("process_start_time_seconds", "When the process began, in seconds since 1970.", float64(o.Started.UnixMilli())/1000)
	}
}

// openConnections writes the metrics of the process's connections.
func openConnections(e *encoder, c connlimit.Counts) {
	e.begin("mayfly_open_connections", gauge, "Open connections at all ports, by stage.")
	for stage, n := range c.Open {
		e.sample("mayfly_open_connections", float64(n), "stage", connlimit.Stage(stage).String())
	}
	if c.Max > 0 {
		e.single("mayfly_open_connections_limit", "Most connections that may be open at all ports.", float64(c.Max))
	}
	e.begin("mayfly_connections_closed_total", counter, "Connections that were closed for a newer one or refused.")
	for why, n := range c.Closed {
		e.sample("mayfly_connections_closed_total", float64(n), "reason", connlimit.Reason(why).String())
	}
}

// namespaces writes the number of namespaces by state.
func namespaces(e *encoder, all []Namespace) {
	e.begin("mayfly_namespaces", gauge, "Namespaces of the server, temporary ones too.")
	for _, state := range []string{"serving", "opening", "standby", "failing"} {
		n := 0
		for _, s := range all {
			if s.State == state {
				n++
			}
		}
		e.sample("mayfly_namespaces", float64(n), "state", state)
	}
}

// restLabel is the label of the namespaces or entities that are summed.
const restLabel = "…"

// A namespaceMetrics holds the metrics of one namespace, or the sums over the temporary ones.
type namespaceMetrics struct {
	name     string
	answered bool // the broker answered: there is more to report than mayfly_namespace_ready
	ready    float64
	epoch    float64
	kinds    map[engine.EntityKind]int
	entities []entityMetrics
	lost     float64

	commits              broker.Commits
	bytes, clients       float64
	hasBytes, hasClients bool
}

// entityMetrics holds the metrics of one entity, or the sums over the rest.
type entityMetrics struct {
	name   string
	depth  stats.Depth
	bytes  int64
	counts stats.Counts
}

func (t *entityMetrics) add(u entityMetrics) {
	t.bytes += u.bytes
	for k := range t.counts {
		t.counts[k] += u.counts[k]
	}
	t.depth = stats.Depth{
		Active: t.depth.Active + u.depth.Active, Locked: t.depth.Locked + u.depth.Locked, Scheduled: t.depth.Scheduled + u.depth.Scheduled,
		Deferred: t.depth.Deferred + u.depth.Deferred, Dead: t.depth.Dead + u.depth.Dead,
	}
}

// readAll reads all namespaces at once, and sums those that are not reported one by one.
func (o Options) readAll(ctx context.Context, all []Namespace) (metrics []*namespaceMetrics) {
	ctx, cancel := context.WithTimeout(ctx, brokerTimeout)
	defer cancel()
	each := make([]*namespaceMetrics, len(all))
	var wait sync.WaitGroup
	for i, n := range all {
		each[i] = &namespaceMetrics{name: n.Name}
		if n.Served != nil {
			wait.Go(func() { each[i].read(ctx, n.Served) })
		}
	}
	wait.Wait()
	left, together := max(0, cmp.Or(o.Entities, DefaultEntities)), &namespaceMetrics{name: restLabel, kinds: map[engine.EntityKind]int{}}
	for i, n := range all {
		s := each[i]
		if !n.Temporary {
			s.entities = sumRest(s.entities, left)
			left = max(0, left-len(s.entities))
			metrics = append(metrics, s)
			continue
		}
		s.entities = sumRest(s.entities, 0)
		together.add(s)
	}
	if together.answered {
		metrics = append(metrics, together)
	}
	return metrics
}

// sumRest returns the first `most` elements of `all`, followed by one with the sums over the rest, if
// there are more.
func sumRest(all []entityMetrics, most int) []entityMetrics {
	if len(all) <= most {
		return all
	}
	sum := entityMetrics{name: restLabel}
	for _, t := range all[most:] {
		sum.add(t)
	}
	return append(all[:most:most], sum)
}

// add adds the metrics t of a temporary namespace to the sums in s.
func (s *namespaceMetrics) add(t *namespaceMetrics) {
	if !t.answered {
		return
	}
	s.answered = true
	for k, n := range t.kinds {
		s.kinds[k] += n
	}
	s.entities = sumRest(append(s.entities, t.entities...), 0)
	s.lost, s.clients, s.hasClients = s.lost+t.lost, s.clients+t.clients, s.hasClients || t.hasClients
}

// read reads the metrics of a namespace. If its broker does not answer, s stays as it is.
func (s *namespaceMetrics) read(ctx context.Context, of *Served) {
	var states []engine.EntityState
	if err := of.Broker.Read(ctx, func(r broker.Reader) error { states = r.States(0); return nil }); err != nil {
		return // it is closed or does not answer
	}
	s.answered, s.ready, s.epoch, s.lost = true, ready(of.Broker), float64(of.Broker.Epoch()), float64(of.Stats.Lost())
	s.kinds, s.commits = map[engine.EntityKind]int{}, of.Broker.Commits()
	for _, e := range states {
		s.kinds[e.Kind]++
		s.entities = append(s.entities, entityMetrics{string(e.Path), stats.DepthOf(e.Counts), e.Bytes, of.Stats.Totals(e.Path)})
	}
	if of.Store != nil {
		n, ok := of.Store()
		s.bytes, s.hasBytes = float64(n), ok
	}
	if of.Clients != nil {
		s.clients, s.hasClients = float64(of.Clients.Connections(connections.Query{Limit: 1}).Total), true
	}
}

func ready(b *broker.Broker) float64 {
	h := b.Health()
	select {
	case <-b.Done():
		return 0
	default:
	}
	if h.Reopening != "" || h.ReadOnly != "" {
		return 0
	}
	return 1
}

// each writes a metric with one sample for each namespace for which `of` returns a value and true.
func (e *encoder) each(metrics []*namespaceMetrics, name string, k kind, help string, of func(*namespaceMetrics) (float64, bool)) {
	begun := false
	for _, s := range metrics {
		v, ok := of(s)
		if ok && !begun {
			e.begin(name, k, help)
			begun = true
		}
		if ok {
			e.sample(name, v, "namespace", s.name)
		}
	}
}

func entities(e *encoder, metrics []*namespaceMetrics) {
	e.begin("mayfly_entities", gauge, "Entities there are.")
	for _, s := range metrics {
		for _, k := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
			e.sample("mayfly_entities", float64(s.kinds[k]), "namespace", s.name, "kind", k.String())
		}
	}
	all := func(write func(entityMetrics, ...string)) {
		for _, s := range metrics {
			for _, t := range s.entities {
				write(t, "namespace", s.name, "entity", t.name)
			}
		}
	}
	e.begin("mayfly_messages", gauge, "Messages by state; locked ones are in no other.")
	all(func(t entityMetrics, labels ...string) {
		for _, s := range []struct {
			state string
			n     int64
		}{{"active", t.depth.Active}, {"locked", t.depth.Locked}, {"scheduled", t.depth.Scheduled}, {"deferred", t.depth.Deferred}, {"dead-letter", t.depth.Dead}} {
			e.sample("mayfly_messages", float64(s.n), append(labels, "state", s.state)...)
		}
	})
	e.begin("mayfly_message_bytes", gauge, "Bytes of messages, dead letters included.")
	all(func(t entityMetrics, labels ...string) { e.sample("mayfly_message_bytes", float64(t.bytes), labels...) })
	for _, f := range []struct {
		name, help string
		kind       stats.Kind
	}{
		{"mayfly_messages_incoming_total", "Messages taken from senders, or forwarded or moved in.", stats.In},
		{"mayfly_messages_completed_total", "Messages completed, or received and deleted.", stats.Out},
		{"mayfly_messages_expired_total", "Messages whose time ran out.", stats.Expired},
		{"mayfly_messages_dead_lettered_total", "Messages that became dead letters.", stats.Dead},
		{"mayfly_deliveries_failed_total", "Deliveries abandoned, or whose lock ran out.", stats.Failed},
	} {
		e.begin(f.name, counter, f.help)
		all(func(t entityMetrics, labels ...string) { e.sample(f.name, float64(t.counts[f.kind]), labels...) })
	}
}

func commits(e *encoder, metrics []*namespaceMetrics) {
	const name = "mayfly_store_commit_seconds"
	bounds := broker.CommitBounds()
	e.begin(name, histogram, "How long the store takes to write.")
	for _, s := range metrics {
		if s.name == restLabel {
			continue
		}
		for i, n := range s.commits.Within {
			le := "+Inf"
			if i < len(bounds) {
				le = number(bounds[i].Seconds())
			}
			e.sample(name+"_bucket", float64(n), "namespace", s.name, "le", le)
		}
		e.sample(name+"_sum", s.commits.Total.Seconds(), "namespace", s.name)
		e.sample(name+"_count", float64(s.commits.Within[len(s.commits.Within)-1]), "namespace", s.name)
	}
}
