// Package figures remembers how much went in and out of every entity and how
// deep it was: over the last hour in steps of ten seconds, over the last day in
// steps of five minutes. What happened it is told as events, what is there it is
// told as samples; it asks nobody, and has no clock.
//
//	Recorder      all of it, for a namespace
//	Point         a step of a line
//	Span          the hour or the day
package figures

import (
	"cmp"
	"slices"
	"sync"

	"mayfly/engine"
)

// A Kind is something that is counted.
type Kind int

// What is counted, of messages. A message that is sent to a topic counts there and
// in each subscription that it reaches.
const (
	In      Kind = iota // sent, or forwarded or moved in from elsewhere
	Out                 // completed, or received and deleted; dead letters too
	Expired             // their time ran out, whether they became dead letters or not
	Dead                // became dead letters
	Failed              // deliveries that were abandoned, or whose locks ran out
	kinds
)

// Counts are numbers by Kind.
type Counts [kinds]uint64

// A Depth is how many messages lie in an entity. Locked ones are in no other number
// but Dead, which has the locked dead letters.
type Depth struct{ Active, Locked, Scheduled, Deferred, Dead int64 }

// DepthOf are an entity's counts as a Depth, or a namespace's.
func DepthOf(c engine.Counts) Depth {
	return Depth{Active: c.Active, Locked: c.Locked, Scheduled: c.Scheduled, Deferred: c.Deferred, Dead: c.DeadLetter}
}

// A Sample is how deep an entity is; an empty path is the namespace.
type Sample struct {
	Path  engine.Path
	Depth Depth
}

// mostSteps bounds what is remembered of all entities together, 72 bytes each.
// Beyond that the ten seconds of those are forgotten that nothing happened in for
// longest, then their day; that of the namespace stays.
const mostSteps = 1 << 19

// A Recorder is what is remembered of a namespace and its entities. An entity in
// which nothing happens costs some 300 bytes, the busiest 50 KB, and all steps
// together 40 MB, or up to twice that for a moment. Its methods are safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	most     int
	steps    int // of all entities
	swept    engine.Instant
	all      series
	entities map[string]*series // by folded path
	lost     uint64
}

// series is what is remembered of one entity.
type series struct {
	path    engine.Path
	total   Counts
	told    Counts // of total, what is in steps
	touched bool   // since Touched told of it
	began   engine.Instant
	hour    []step // oldest first; what does not change has no step
	day     []step
}

type step struct {
	at    engine.Instant // where it begins
	n     [kinds]uint32
	depth Depth
}

// New is a Recorder that knows nothing.
func New() *Recorder { return &Recorder{most: mostSteps, entities: map[string]*series{}} }

// Note counts an event.
func (r *Recorder) Note(e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case engine.EventEntityDeleted, engine.EventEntityAutoDeleted:
		r.forget(e.Path)
		return
	case engine.EventEntityCreated:
		r.of(e.Path).began = e.At
		return
	}
	if e.Path == "" || e.Message.Key == 0 && e.Kind != engine.EventPurged {
		return
	}
	s := r.of(e.Path.Entity())
	s.touched = true // also by what is not counted: it may be deeper, or less deep
	count := func(k Kind) {
		s.total[k]++
		r.all.total[k]++
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
	to := r.of(e.To.Entity())
	to.touched = true
	if e.Kind == engine.EventForwarded || e.Kind == engine.EventMoved {
		to.total[In]++
	}
}

// Lose notes that so many events were not seen: what they would have added is
// missing from all counts.
func (r *Recorder) Lose(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += n
	for _, s := range r.entities { // any of them may have changed
		s.touched = true
	}
}

// Lost is how many events were not seen.
func (r *Recorder) Lost() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

func (r *Recorder) of(p engine.Path) *series {
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

// Touched are the entities of which a sample is due. They are to be looked at now:
// what happens from here on has them touched again. Touch those that cannot be.
func (r *Recorder) Touched() (out []engine.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.entities {
		if s.touched {
			out = append(out, s.path)
			s.touched = false
		}
	}
	slices.Sort(out)
	return out
}

// Touch has samples of entities due that could not be looked at.
func (r *Recorder) Touch(all []engine.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range all {
		if s := r.entities[p.Fold()]; s != nil {
			s.touched = true
		}
	}
}

// Forget has an entity forgotten that is not there.
func (r *Recorder) Forget(p engine.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(p)
}

// Sample notes how deep entities are, and ends a step of their lines.
func (r *Recorder) Sample(now engine.Instant, all ...Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range all {
		s := &r.all
		if one.Path != "" {
			s = r.of(one.Path)
		}
		if s.began == 0 {
			s.began = now
		}
		var n [kinds]uint32
		for k := range n {
			n[k] = uint32(s.total[k] - s.told[k])
		}
		s.told = s.total
		before := len(s.hour) + len(s.day)
		s.hour = Hour.note(s.hour, now, n, one.Depth)
		s.day = Day.note(s.day, now, n, one.Depth)
		if s != &r.all {
			r.steps += len(s.hour) + len(s.day) - before
		}
	}
	if now-r.swept >= Day.step() {
		r.swept = now
		r.sweep(now)
	}
	if r.steps > r.most {
		r.shrink()
	}
}

// sweep forgets what is over in entities in which nothing happens.
func (r *Recorder) sweep(now engine.Instant) {
	r.steps = 0
	for _, s := range r.entities {
		s.hour, s.day = Hour.trim(s.hour, now), Day.trim(s.day, now)
		r.steps += len(s.hour) + len(s.day)
	}
}

// shrink forgets of the least busy until a quarter is free.
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
			if r.steps <= r.most/4*3 {
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

// Totals is what was counted since the start, of the namespace if p is empty.
func (r *Recorder) Totals(p engine.Path) Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p == "" {
		return r.all.total
	}
	if s := r.entities[p.Fold()]; s != nil {
		return s.total
	}
	return Counts{}
}
