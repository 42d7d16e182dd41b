package stats

import (
	"slices"
	"time"

	"mayfly/engine"
)

// A Span is the period that a chart covers.
type Span int

// The spans.
const (
	Hour Span = iota // in steps of ten seconds
	Day              // in steps of five minutes
)

// Step returns the length of a step.
func (s Span) Step() time.Duration {
	if s == Day {
		return 5 * time.Minute
	}
	return 10 * time.Second
}

// Points returns the number of steps in the span.
func (s Span) Points() int {
	if s == Day {
		return 288
	}
	return 360
}

func (s Span) step() engine.Instant { return engine.Instant(s.Step().Milliseconds()) }

// A Point is one step of a chart.
type Point struct {
	At    engine.Instant // start of the step
	Known bool           // false before the entity was created or the server was started
	// Counts are the counts in the step; Depth is the depth at its end.
	Counts Counts
	Depth  Depth
}

// Points returns the history of an entity, or of the namespace if p is empty: the steps of s,
// oldest first. The last one is the step that contains now.
func (r *Recorder) Points(p engine.Path, s Span, now engine.Instant) []Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := &r.namespace
	if p != "" {
		of = r.entities[p.Fold()]
	}
	out := make([]Point, s.Points())
	first := now/s.step() - engine.Instant(len(out)-1)
	for i := range out {
		out[i].At = (first + engine.Instant(i)) * s.step()
	}
	if of == nil || of.began == 0 {
		return out
	}
	steps := of.hour
	if s == Day {
		steps = of.day
	}
	depth, next := Depth{}, 0
	for i := range out {
		p := &out[i]
		p.Known = p.At+s.step() > of.began
		for ; next < len(steps) && steps[next].at <= p.At; next++ {
			depth = steps[next].depth
			if steps[next].at == p.At {
				for k, n := range steps[next].n {
					p.Counts[k] = uint64(n)
				}
			}
		}
		p.Depth = depth
	}
	return out
}

// addSample adds a sample to steps, unless it has no counts and the same depth as the last step.
func (s Span) addSample(steps []step, now engine.Instant, n [kinds]uint32, d Depth) []step {
	at := now / s.step() * s.step()
	last := len(steps) - 1
	switch {
	case last >= 0 && steps[last].at >= at:
		for k := range n {
			steps[last].n[k] += n[k]
		}
		steps[last].depth = d
		return steps
	case last >= 0 && steps[last].depth == d && n == [kinds]uint32{}:
		return steps
	}
	return append(s.trim(steps, now), step{at: at, n: n, depth: d})
}

// trim drops the steps before the span, except the last of them, which has the depth at its start.
func (s Span) trim(steps []step, now engine.Instant) []step {
	from := now - engine.Instant(s.Points())*s.step()
	over := 0
	for over+1 < len(steps) && steps[over+1].at <= from {
		over++
	}
	if over < 16 && over < len(steps)/2 { // so that steps are not moved each time
		return steps
	}
	return slices.Delete(steps, 0, over)
}
