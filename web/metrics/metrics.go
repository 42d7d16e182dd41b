// Package metrics tells what a Prometheus scrapes, in its text format (0.0.4). The
// names stay what they are:
//
//	mayfly_build_info{version,go}                       1
//	mayfly_ready                                        1 while the broker takes messages
//	mayfly_epoch                                        how often the namespace has been opened
//	mayfly_entities{kind}                               queues, topics, subscriptions
//	mayfly_messages{entity,state}                       active, locked, scheduled, deferred, dead
//	mayfly_message_bytes{entity}                        of these, with dead letters
//	mayfly_messages_received_total{entity}              taken from senders, or forwarded or moved in
//	mayfly_messages_completed_total{entity}             completed, or received and deleted
//	mayfly_messages_expired_total{entity}               whose time ran out
//	mayfly_messages_dead_lettered_total{entity}         that became dead letters
//	mayfly_deliveries_failed_total{entity}              abandoned, or whose lock ran out
//	mayfly_events_lost_total                            not seen by the counters above
//	mayfly_commit_seconds                               histogram: how long the store takes to write
//	mayfly_store_bytes                                  on disk, where that can be told
//	mayfly_connections                                  clients connected over AMQP
//	go_goroutines, go_memstats_heap_alloc_bytes, process_start_time_seconds
//
// Counters begin at zero with the process, and one of an entity when it is created.
// Each entity is a label value; of more than Options.Entities, by path, the rest is
// summed under entity="…", whose counters fall when one of these is deleted.
package metrics

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/figures"
	"mayfly/web/peers"
)

// DefaultEntities is how many entities are told one by one.
const DefaultEntities = 1000

// Options are what is told of. Only Broker and Figures are needed.
type Options struct {
	Broker   *broker.Broker
	Figures  *figures.Recorder
	Peers    peers.Source // nil: nobody stays connected
	Entities int          // told one by one; zero: DefaultEntities; negative: none
	Version  string
	Started  time.Time                     // zero: not told
	Store    func() (bytes int64, ok bool) // nil: nobody knows
}

// Handler answers GET with the metrics of now. While the broker cannot be asked it
// is 503.
func Handler(o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		if err := o.write(r.Context(), &b); err != nil {
			http.Error(w, "the broker cannot be asked: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(b.Bytes()) //nolint:errcheck // a client that has gone away is not ours to report
	})
}

func (o Options) write(ctx context.Context, b *bytes.Buffer) error {
	var states []engine.EntityState
	if err := o.Broker.Read(ctx, func(r broker.Reader) error { states = r.States(0); return nil }); err != nil {
		return fmt.Errorf("look at all entities: %w", err)
	}
	e := &encoder{b: b}
	e.one("mayfly_build_info", gauge, "Which build this is.", 1, "version", o.Version, "go", runtime.Version())
	e.one("mayfly_ready", gauge, "1 while the broker takes messages.", o.ready())
	e.one("mayfly_epoch", gauge, "How often the namespace has been opened.", float64(o.Broker.Epoch()))
	o.entities(e, states)
	e.one("mayfly_events_lost_total", counter, "Events that the counters of messages did not see.", float64(o.Figures.Lost()))
	o.commits(e)
	if o.Store != nil {
		if n, ok := o.Store(); ok {
			e.one("mayfly_store_bytes", gauge, "What the store takes on disk.", float64(n))
		}
	}
	if o.Peers != nil {
		e.one("mayfly_connections", gauge, "Clients connected over AMQP.", float64(o.Peers.Connections(peers.Query{Limit: 1}).All))
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	e.one("go_goroutines", gauge, "Goroutines that exist.", float64(runtime.NumGoroutine()))
	e.one("go_memstats_heap_alloc_bytes", gauge, "Heap bytes in use.", float64(m.HeapAlloc))
	if !o.Started.IsZero() {
		e.one("process_start_time_seconds", gauge, "When the process began, in seconds since 1970.", float64(o.Started.UnixMilli())/1000)
	}
	return nil
}

func (o Options) ready() float64 {
	h := o.Broker.Health()
	select {
	case <-o.Broker.Done():
		return 0
	default:
	}
	if h.Reopening != "" || h.ReadOnly != "" {
		return 0
	}
	return 1
}

// rest is the label of entities that are not told one by one.
const rest = "…"

// told is what is said of one entity, or of the rest.
type told struct {
	name   string
	depth  figures.Depth
	bytes  int64
	counts figures.Counts
}

func (o Options) told(states []engine.EntityState) (out []told) {
	most := max(0, cmp.Or(o.Entities, DefaultEntities))
	for i, s := range states {
		c, d := o.Figures.Totals(s.Path), figures.DepthOf(s.Counts)
		if i <= most {
			out = append(out, told{name: string(s.Path)})
		}
		t := &out[len(out)-1]
		if i >= most {
			t.name = rest
		}
		t.bytes += s.Bytes
		for k := range c {
			t.counts[k] += c[k]
		}
		t.depth = figures.Depth{
			Active: t.depth.Active + d.Active, Locked: t.depth.Locked + d.Locked, Scheduled: t.depth.Scheduled + d.Scheduled,
			Deferred: t.depth.Deferred + d.Deferred, Dead: t.depth.Dead + d.Dead,
		}
	}
	return out
}

func (o Options) entities(e *encoder, states []engine.EntityState) {
	kinds := map[engine.EntityKind]int{}
	for _, s := range states {
		kinds[s.Kind]++
	}
	e.head("mayfly_entities", gauge, "Entities there are.")
	for _, k := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
		e.sample("mayfly_entities", float64(kinds[k]), "kind", k.String())
	}
	all := o.told(states)
	e.head("mayfly_messages", gauge, "Messages by state; locked ones are in no other.")
	for _, t := range all {
		for _, s := range []struct {
			state string
			n     int64
		}{{"active", t.depth.Active}, {"locked", t.depth.Locked}, {"scheduled", t.depth.Scheduled}, {"deferred", t.depth.Deferred}, {"dead", t.depth.Dead}} {
			e.sample("mayfly_messages", float64(s.n), "entity", t.name, "state", s.state)
		}
	}
	e.head("mayfly_message_bytes", gauge, "Bytes of messages, dead letters included.")
	for _, t := range all {
		e.sample("mayfly_message_bytes", float64(t.bytes), "entity", t.name)
	}
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
		for _, t := range all {
			e.sample(f.name, float64(t.counts[f.kind]), "entity", t.name)
		}
	}
}

func (o Options) commits(e *encoder) {
	c, bounds := o.Broker.Commits(), broker.CommitBounds()
	const name = "mayfly_commit_seconds"
	e.head(name, histogram, "How long the store takes to write.")
	for i, n := range c.Within {
		le := "+Inf"
		if i < len(bounds) {
			le = number(bounds[i].Seconds())
		}
		e.sample(name+"_bucket", float64(n), "le", le)
	}
	e.sample(name+"_sum", c.Total.Seconds())
	e.sample(name+"_count", float64(c.Within[len(c.Within)-1]))
}
