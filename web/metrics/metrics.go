// Package metrics tells what a Prometheus scrapes, in its text format (0.0.4). The
// names stay what they are:
//
//	mayfly_build_info{version,go}                           1
//	mayfly_namespaces{state}                                serving, opening, standby, failing
//	mayfly_owner{namespace,owner}                           1, by the address of the server that owns it
//	mayfly_ready{namespace}                                 1 while its broker takes messages
//	mayfly_epoch{namespace}                                 how often the namespace has been opened
//	mayfly_entities{namespace,kind}                         queues, topics, subscriptions
//	mayfly_messages{namespace,entity,state}                 active, locked, scheduled, deferred, dead
//	mayfly_message_bytes{namespace,entity}                  of these, with dead letters
//	mayfly_messages_received_total{namespace,entity}        taken from senders, or forwarded or moved in
//	mayfly_messages_completed_total{namespace,entity}       completed, or received and deleted
//	mayfly_messages_expired_total{namespace,entity}         whose time ran out
//	mayfly_messages_dead_lettered_total{namespace,entity}   that became dead letters
//	mayfly_deliveries_failed_total{namespace,entity}        abandoned, or whose lock ran out
//	mayfly_events_lost_total{namespace}                     not seen by the counters above
//	mayfly_commit_seconds{namespace}                        histogram: how long the store takes to write
//	mayfly_store_bytes{namespace}                           on disk, where that can be told
//	mayfly_connections{namespace}                           clients connected over AMQP
//	go_goroutines, go_memstats_heap_alloc_bytes, process_start_time_seconds
//
// Every namespace of the server has the label, its own too. Of one that is not
// served here, or does not answer within two seconds, there is mayfly_ready alone.
// Temporary ones, whose names come and go, are summed under namespace="…", without
// mayfly_ready, mayfly_epoch and mayfly_commit_seconds; what is summed falls when one
// goes.
//
// Counters begin at zero when the namespace is opened here, and one of an entity
// when it is created. Each entity is a label value; of more than Options.Entities,
// over all namespaces in their order, the rest of each is summed under entity="…",
// whose counters fall when one of these is deleted.
package metrics

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
	"mayfly/web/figures"
	"mayfly/web/peers"
)

// DefaultEntities is how many entities are told one by one.
const DefaultEntities = 1000

// patience bounds how long a broker is waited for.
const patience = 2 * time.Second

// Options are what is told of. Only Namespaces is needed.
type Options struct {
	// Namespaces are those of the server, in the order in which they are told; safe
	// for concurrent use.
	Namespaces func() []Namespace
	Entities   int // told one by one; zero: DefaultEntities; negative: none
	Version    string
	Started    time.Time // zero: not told
}

// A Namespace is one of the server's.
type Namespace struct {
	Name      string
	State     string // as fleet.State has it
	Owner     string // where the server is that owns it; empty: nobody knows
	Temporary bool
	Served    *Served // nil: it is not served here
}

// Served is what there is to tell of a namespace. Only Broker and Figures are needed.
type Served struct {
	Broker  *broker.Broker
	Figures *figures.Recorder
	Peers   peers.Source                  // nil: nobody stays connected
	Store   func() (bytes int64, ok bool) // nil: nobody knows
}

// Handler answers GET with the metrics of now.
func Handler(o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		o.write(r.Context(), &b)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(b.Bytes()) //nolint:errcheck // a client that has gone away is not ours to report
	})
}

func (o Options) write(ctx context.Context, b *bytes.Buffer) {
	all := o.Namespaces()
	spaces := o.looked(ctx, all)
	e := &encoder{b: b}
	e.one("mayfly_build_info", "Which build this is.", 1, "version", o.Version, "go", runtime.Version())
	namespaces(e, all)
	e.head("mayfly_owner", gauge, "Which server owns the namespace, as far as this one knows.")
	for _, n := range all {
		if n.Owner != "" && !n.Temporary {
			e.sample("mayfly_owner", 1, "namespace", n.Name, "owner", n.Owner)
		}
	}
	e.head("mayfly_ready", gauge, "1 while the broker takes messages, here.")
	for _, s := range spaces {
		if s.name != rest {
			e.sample("mayfly_ready", s.ready, "namespace", s.name)
		}
	}
	seen := slices.DeleteFunc(slices.Clone(spaces), func(s *space) bool { return !s.seen })
	e.each(seen, "mayfly_epoch", gauge, "How often the namespace has been opened.", func(s *space) (float64, bool) { return s.epoch, s.name != rest })
	entities(e, seen)
	e.each(seen, "mayfly_events_lost_total", counter, "Events that the counters of messages did not see.", func(s *space) (float64, bool) { return s.lost, true })
	commits(e, seen)
	e.each(seen, "mayfly_store_bytes", gauge, "What the store takes on disk.", func(s *space) (float64, bool) { return s.bytes, s.sized })
	e.each(seen, "mayfly_connections", gauge, "Clients connected over AMQP.", func(s *space) (float64, bool) { return s.clients, s.peered })
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	e.one("go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	e.one("go_memstats_heap_alloc_bytes", "Heap bytes in use.", float64(m.HeapAlloc))
	if !o.Started.IsZero() {
		e.one("process_start_time_seconds", "When the process began, in seconds since 1970.", float64(o.Started.UnixMilli())/1000)
	}
}

// namespaces tells how many there are, by state.
func namespaces(e *encoder, all []Namespace) {
	e.head("mayfly_namespaces", gauge, "Namespaces of the server, temporary ones too.")
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

// rest is the label of what is not told one by one.
const rest = "…"

// A space is what is said of one namespace, or of the temporary ones together.
type space struct {
	name  string
	seen  bool // there is more to say than whether it is ready
	ready float64
	epoch float64
	kinds map[engine.EntityKind]int
	told  []told
	lost  float64

	commits        broker.Commits
	bytes, clients float64
	sized, peered  bool
}

// told is what is said of one entity, or of the rest.
type told struct {
	name   string
	depth  figures.Depth
	bytes  int64
	counts figures.Counts
}

func (t *told) add(u told) {
	t.bytes += u.bytes
	for k := range t.counts {
		t.counts[k] += u.counts[k]
	}
	t.depth = figures.Depth{
		Active: t.depth.Active + u.depth.Active, Locked: t.depth.Locked + u.depth.Locked, Scheduled: t.depth.Scheduled + u.depth.Scheduled,
		Deferred: t.depth.Deferred + u.depth.Deferred, Dead: t.depth.Dead + u.depth.Dead,
	}
}

// looked looks at all namespaces, at once, and sums what is not told one by one.
func (o Options) looked(ctx context.Context, all []Namespace) (spaces []*space) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	each := make([]*space, len(all))
	var wait sync.WaitGroup
	for i, n := range all {
		each[i] = &space{name: n.Name}
		if n.Served != nil {
			wait.Go(func() { each[i].look(ctx, n.Served) })
		}
	}
	wait.Wait()
	left, together := max(0, cmp.Or(o.Entities, DefaultEntities)), &space{name: rest, kinds: map[engine.EntityKind]int{}}
	for i, n := range all {
		s := each[i]
		if !n.Temporary {
			s.told = fold(s.told, left)
			left = max(0, left-len(s.told))
			spaces = append(spaces, s)
			continue
		}
		s.told = fold(s.told, 0)
		together.add(s)
	}
	if together.seen {
		spaces = append(spaces, together)
	}
	return spaces
}

// fold sums all but the first most.
func fold(all []told, most int) []told {
	if len(all) <= most {
		return all
	}
	sum := told{name: rest}
	for _, t := range all[most:] {
		sum.add(t)
	}
	return append(all[:most:most], sum)
}

// add adds what is said of a temporary one.
func (s *space) add(t *space) {
	if !t.seen {
		return
	}
	s.seen = true
	for k, n := range t.kinds {
		s.kinds[k] += n
	}
	s.told = fold(append(s.told, t.told...), 0)
	s.lost, s.clients, s.peered = s.lost+t.lost, s.clients+t.clients, s.peered || t.peered
}

// look fills in what there is to say.
func (s *space) look(ctx context.Context, of *Served) {
	var states []engine.EntityState
	if err := of.Broker.Read(ctx, func(r broker.Reader) error { states = r.States(0); return nil }); err != nil {
		return // it has ended, or does not answer
	}
	s.seen, s.ready, s.epoch, s.lost = true, ready(of.Broker), float64(of.Broker.Epoch()), float64(of.Figures.Lost())
	s.kinds, s.commits = map[engine.EntityKind]int{}, of.Broker.Commits()
	for _, e := range states {
		s.kinds[e.Kind]++
		s.told = append(s.told, told{string(e.Path), figures.DepthOf(e.Counts), e.Bytes, of.Figures.Totals(e.Path)})
	}
	if of.Store != nil {
		n, ok := of.Store()
		s.bytes, s.sized = float64(n), ok
	}
	if of.Peers != nil {
		s.clients, s.peered = float64(of.Peers.Connections(peers.Query{Limit: 1}).All), true
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

// each is a metric with one sample for each namespace of which there is one.
func (e *encoder) each(spaces []*space, name string, k kind, help string, of func(*space) (float64, bool)) {
	begun := false
	for _, s := range spaces {
		v, ok := of(s)
		if ok && !begun {
			e.head(name, k, help)
			begun = true
		}
		if ok {
			e.sample(name, v, "namespace", s.name)
		}
	}
}

func entities(e *encoder, spaces []*space) {
	e.head("mayfly_entities", gauge, "Entities there are.")
	for _, s := range spaces {
		for _, k := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
			e.sample("mayfly_entities", float64(s.kinds[k]), "namespace", s.name, "kind", k.String())
		}
	}
	all := func(write func(told, ...string)) {
		for _, s := range spaces {
			for _, t := range s.told {
				write(t, "namespace", s.name, "entity", t.name)
			}
		}
	}
	e.head("mayfly_messages", gauge, "Messages by state; locked ones are in no other.")
	all(func(t told, labels ...string) {
		for _, s := range []struct {
			state string
			n     int64
		}{{"active", t.depth.Active}, {"locked", t.depth.Locked}, {"scheduled", t.depth.Scheduled}, {"deferred", t.depth.Deferred}, {"dead", t.depth.Dead}} {
			e.sample("mayfly_messages", float64(s.n), append(labels, "state", s.state)...)
		}
	})
	e.head("mayfly_message_bytes", gauge, "Bytes of messages, dead letters included.")
	all(func(t told, labels ...string) { e.sample("mayfly_message_bytes", float64(t.bytes), labels...) })
	for _, f := range []struct {
		name, help string
		kind       figures.Kind
	}{
		{"mayfly_messages_received_total", "Messages taken from senders, or forwarded or moved in.", figures.In},
		{"mayfly_messages_completed_total", "Messages completed, or received and deleted.", figures.Out},
		{"mayfly_messages_expired_total", "Messages whose time ran out.", figures.Expired},
		{"mayfly_messages_dead_lettered_total", "Messages that became dead letters.", figures.Dead},
		{"mayfly_deliveries_failed_total", "Deliveries abandoned, or whose lock ran out.", figures.Failed},
	} {
		e.head(f.name, counter, f.help)
		all(func(t told, labels ...string) { e.sample(f.name, float64(t.counts[f.kind]), labels...) })
	}
}

func commits(e *encoder, spaces []*space) {
	const name = "mayfly_commit_seconds"
	bounds := broker.CommitBounds()
	e.head(name, histogram, "How long the store takes to write.")
	for _, s := range spaces {
		if s.name == rest {
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
