// Package stats records how many messages were sent to and received from every entity, and how
// many it held: for the last hour in steps of ten seconds, for the last day in steps of five
// minutes. Its caller passes events and samples of depths to it; it reads nothing itself and has
// no clock.
//
//	Recorder      the statistics of a namespace
//	Point         one step of a chart
//	Span          the period of a chart: an hour or a day
package stats

import (
	"cmp"
	"slices"
	"sync"

	"mayfly/engine"
)

// A Kind is a kind of count.
type Kind int

// The kinds of counts, all of messages. A message sent to a topic counts in the topic and in
// each subscription that it reaches.
const (
	In      Kind = iota // sent, or forwarded or moved in from elsewhere
	Out                 // completed, or received and deleted, dead letters included
	Expired             // expired, whether they became dead letters or not
	Dead                // became dead letters
	Failed              // deliveries that were abandoned or whose locks expired
	kinds
)

// Counts are counts by Kind.
type Counts [kinds]uint64

// A Depth is how many messages an entity holds, by state. A locked message counts only in
// Locked; a locked dead letter only in Dead.
type Depth struct{ Active, Locked, Scheduled, Deferred, Dead int64 }

// DepthOf converts the counts of an entity or a namespace to a Depth.
func DepthOf(c engine.Counts) Depth {
	return Depth{Active: c.Active, Locked: c.Locked, Scheduled: c.Scheduled, Deferred: c.Deferred, Dead: c.DeadLetter}
}

// A Sample is the depth of an entity, or of the namespace if Path is empty.
type Sample struct {
	Path  engine.Path
	Depth Depth
}

// maxSteps bounds the steps kept for all entities together, 72 bytes each. Beyond it, the hours of
// the entities that have been idle for longest are dropped, then their days. The namespace's own
// steps are kept.
const maxSteps = 1 << 19

// A Recorder holds the counts and depths of a namespace and its entities. An idle entity costs
// some 300 bytes, the busiest 50 KB, and all steps together 40 MB, or up to twice that for a
// moment. Its methods are safe for concurrent use.
type Recorder struct {
	mu        sync.Mutex
	maxSteps  int
	steps     int // number of steps of all entities
	swept     engine.Instant
	namespace series
	entities  map[string]*series // by folded path
	lost      uint64
}

// series holds the steps of one entity.
type series struct {
	path     engine.Path
	total    Counts
	recorded Counts // the part of total that is in steps
	due      bool   // there were events since the last call of TakeDue
	began    engine.Instant
	hour     []step // oldest first; there is no step where nothing changed
	day      []step
}

type step struct {
	at    engine.Instant // start of the step
	n     [kinds]uint32
	depth Depth
}

// New returns an empty Recorder.
func New() *Recorder { return &Recorder{maxSteps: maxSteps, entities: map[string]*series{}} }

// Record counts an event.
func (r *Recorder) Record(e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case engine.EventEntityDeleted, engine.EventEntityAutoDeleted:
		r.forget(e.Path)
		return
	case engine.EventEntityCreated:
		r.seriesOf(e.Path).began = e.At
		return
	}
	if e.Path == "" || e.Message.Key == 0 && e.Kind != engine.EventPurged {
		return
	}
	s := r.seriesOf(e.Path.Entity())
	s.due = true // also by events that are not counted: the depth may have changed
	count := func(k Kind) {
		s.total[k]++
		r.namespace.total[k]++
	}
	switch e.Kind {
	case engine.EventSent, engine.EventScheduled:
		if e.Reason != "rescheduled" {
			count(In)
		}
	case engine.EventCompleted, engine.EventReceived:
		count(Out)
	case engine.EventExpired:
		count(Expired)
	case engine.EventDeadLettered:
		count(Dead)
		if e.Reason == engine.ReasonExpired {
			count(Expired)
		}
	case engine.EventAbandoned, engine.EventLockLost:
		count(Failed)
	}
	if e.To == "" {
		return
	}
	to := r.seriesOf(e.To.Entity())
	to.due = true
	if e.Kind == engine.EventForwarded || e.Kind == engine.EventMoved {
		to.total[In]++
	}
}

// AddLost records that n events were lost, so that they are missing from all counts.
func (r *Recorder) AddLost(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += n
	for _, s := range r.entities { // any entity may have changed
		s.due = true
	}
}

// Lost returns the number of lost events.
func (r *Recorder) Lost() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

func (r *Recorder) seriesOf(p engine.Path) *series {
	key := p.Fold()
	s := r.entities[key]
	if s == nil {
		s = &series{path: p}
		r.entities[key] = s
	}
	return s
}

func (r *Recorder) forget(p engine.Path) {
	if s := r.entities[p.Fold()]; s != nil {
		r.steps -= len(s.hour) + len(s.day)
		delete(r.entities, p.Fold())
	}
}

// TakeDue returns the entities that need a sample, and marks them as not due. The caller samples
// them at once, since later events mark them as due again, and passes those that it could not
// sample to MarkDue.
func (r *Recorder) TakeDue() (out []engine.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.entities {
		if s.due {
			out = append(out, s.path)
			s.due = false
		}
	}
	slices.Sort(out)
	return out
}

// MarkDue marks entities as due.
func (r *Recorder) MarkDue(all []engine.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range all {
		if s := r.entities[p.Fold()]; s != nil {
			s.due = true
		}
	}
}

// Forget drops the counts and steps of an entity that the caller has found not to exist.
func (r *Recorder) Forget(p engine.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(p)
}

// Sample records depths, and the counts of these entities since their last samples.
func (r *Recorder) Sample(now engine.Instant, all ...Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range all {
		s := &r.namespace
		if one.Path != "" {
			s = r.seriesOf(one.Path)
		}
		if s.began == 0 {
			s.began = now
		}
		var n [kinds]uint32
		for k := range n {
			n[k] = uint32(s.total[k] - s.recorded[k])
		}
		s.recorded = s.total
		before := len(s.hour) + len(s.day)
		s.hour = Hour.addSample(s.hour, now, n, one.Depth)
		s.day = Day.addSample(s.day, now, n, one.Depth)
		if s != &r.namespace {
			r.steps += len(s.hour) + len(s.day) - before
		}
	}
	if now-r.swept >= Day.step() {
		r.swept = now
		r.sweep(now)
	}
	if r.steps > r.maxSteps {
		r.shrink()
	}
}

// sweep drops the steps of all entities that are older than their spans. Without it, entities that
// are idle, and thus not sampled, would keep them.
func (r *Recorder) sweep(now engine.Instant) {
	r.steps = 0
	for _, s := range r.entities {
		s.hour, s.day = Hour.trim(s.hour, now), Day.trim(s.day, now)
		r.steps += len(s.hour) + len(s.day)
	}
}

// shrink drops the steps, except the last, of the entities that have been idle for longest, first
// those of the hour and then those of the day, until a quarter of maxSteps is free.
func (r *Recorder) shrink() {
	all := make([]*series, 0, len(r.entities))
	for _, s := range r.entities {
		if len(s.day) > 0 {
			all = append(all, s)
		}
	}
	last := func(s *series) engine.Instant { return s.day[len(s.day)-1].at }
	slices.SortFunc(all, func(a, b *series) int { return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.path, b.path)) })
	for _, lines := range []func(*series) *[]step{func(s *series) *[]step { return &s.hour }, func(s *series) *[]step { return &s.day }} {
		for _, s := range all {
			if r.steps <= r.maxSteps/4*3 {
				return
			}
			l := lines(s)
			if len(*l) > 1 {
				r.steps -= len(*l) - 1
				*l = []step{(*l)[len(*l)-1]}
			}
		}
	}
}

// Totals returns the counts of an entity since the start, or of the namespace if p is empty.
func (r *Recorder) Totals(p engine.Path) Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p == "" {
		return r.namespace.total
	}
	if s := r.entities[p.Fold()]; s != nil {
		return s.total
	}
	return Counts{}
}
