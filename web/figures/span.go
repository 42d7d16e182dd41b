package figures

import (
	"slices"
	"time"

	"mayfly/engine"
)

// A Span is how far a line goes back.
type Span int

// The spans.
const (
	Hour Span = iota // in steps of ten seconds
	Day              // in steps of five minutes
)

// Step is the length of a step of s.
func (s Span) Step() time.Duration {
	if s == Day {
		return 5 * time.Minute
	}
	return 10 * time.Second
}

// Points is how many steps s has.
func (s Span) Points() int {
	if s == Day {
		return 288
	}
	return 360
}

func (s Span) step() engine.Instant { return engine.Instant(s.Step().Milliseconds()) }

// A Point is one step of a line.
type Point struct {
	At    engine.Instant // where it begins
	Known bool           // nothing was counted before the entity, or the server, was there
	// Counts are those of the step; Depth is how deep it was at its end.
	Counts Counts
	Depth  Depth
}

// Line is how it went in an entity, of the namespace if p is empty: the steps of a
// span, oldest first, ending with the one that now is in.
func (r *Recorder) Line(p engine.Path, s Span, now engine.Instant) []Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := &r.all
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

// note adds a sample to steps, where it changes anything.
func (s Span) note(steps []step, now engine.Instant, n [kinds]uint32, d Depth) []step {
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

// trim leaves out what is over, but for the last step, which says how deep it was.
func (s Span) trim(steps []step, now engine.Instant) []step {
	from := now - engine.Instant(s.Points())*s.step()
	over := 0
	for over+1 < len(steps) && steps[over+1].at <= from {
		over++
	}
	if over < 16 && over < len(steps)/2 { // not every new one has the others moved
		return steps
	}
	return slices.Delete(steps, 0, over)
}
