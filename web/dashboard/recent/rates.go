package recent

import (
	"mayfly/engine"
)

// A RateKind is a kind of event whose rate is measured.
type RateKind uint8

// The kinds of rates.
const (
	RateReceived RateKind = iota
	RateCompleted
	RateExpired
	RateDeadLettered
	rateKinds
)

// rateKindOf returns the kind that an event counts towards.
func rateKindOf(e engine.Event) (m RateKind, ok bool) {
	switch e.Kind {
	case engine.EventSent, engine.EventScheduled:
		return RateReceived, e.Reason != "rescheduled"
	case engine.EventCompleted, engine.EventReceived:
		return RateCompleted, true
	case engine.EventExpired:
		return RateExpired, true
	case engine.EventDeadLettered:
		return RateDeadLettered, true
	default:
		return 0, false
	}
}

// eventCounter counts events in the latest intervals of time. Its zero value is not usable, see
// newEventCounter. It is not safe for concurrent use.
type eventCounter struct {
	step      engine.Instant  // milliseconds of an interval
	intervals []countInterval // interval i is at index i % len(intervals)
}

type countInterval struct {
	tick engine.Instant
	n    [rateKinds]uint32
}

func newEventCounter(step engine.Instant, stretches int) *eventCounter {
	return &eventCounter{step: step, intervals: make([]countInterval, stretches)}
}

func (p *eventCounter) add(at engine.Instant, m RateKind) {
	tick := at / p.step
	b := &p.intervals[tick%engine.Instant(len(p.intervals))]
	if b.tick > tick {
		return // too late to count
	}
	if b.tick < tick {
		*b = countInterval{tick: tick}
	}
	b.n[m]++
}

// sum returns the number of events of kind `m` in the last `stretches` intervals up to `now`.
func (p *eventCounter) sum(now engine.Instant, stretches int, m RateKind) (n int) {
	last := now / p.step
	for i := range min(stretches, len(p.intervals)) {
		tick := last - engine.Instant(i)
		if b := p.intervals[tick%engine.Instant(len(p.intervals))]; b.tick == tick {
			n += int(b.n[m])
		}
	}
	return n
}

// line returns the counts of events of kind `m` over time, oldest first. Each point is the sum of
// `stretches` intervals. The group of intervals that contains `now` is incomplete and is left out.
func (p *eventCounter) line(now engine.Instant, stretches int, m RateKind) []float64 {
	points := len(p.intervals)/stretches - 1
	line := make([]float64, points)
	group := engine.Instant(stretches)
	last := now/p.step/group*group - 1 // the last interval of the latest group that is over
	for i := range points {
		for j := range stretches {
			tick := last - engine.Instant(i*stretches+j)
			if b := p.intervals[tick%engine.Instant(len(p.intervals))]; tick >= 0 && b.tick == tick {
				line[points-1-i] += float64(b.n[m])
			}
		}
	}
	return line
}

// depthChange returns by how much an event changes the number of messages in its entity, without dead
// letters.
func depthChange(e engine.Event) int64 {
	switch {
	case e.Kind == engine.EventSent, e.Kind == engine.EventScheduled && e.Reason != "rescheduled":
		return 1
	case e.Path.IsDeadLetter():
		return 0
	}
	switch e.Kind {
	case engine.EventCancelled, engine.EventCompleted, engine.EventReceived, engine.EventDeadLettered,
		engine.EventExpired, engine.EventDeleted, engine.EventMoved, engine.EventForwarded:
		return -1
	case engine.EventPurged:
		return -e.Count
	default:
		return 0
	}
}

// A depthHistory holds the changes of a number in each of the latest intervals. It is not safe
// for concurrent use.
type depthHistory struct {
	latest  engine.Instant // the latest interval
	changes [DepthIntervals]int64
}

// DepthIntervals is how many intervals a depth line has.
const (
	DepthIntervals = 30
	depthInterval  = engine.Instant(20_000) // milliseconds
)

// add adds a change at an instant.
func (t *depthHistory) add(at engine.Instant, by int64) {
	t.moveTo(at / depthInterval)
	if late := t.latest - at/depthInterval; late < DepthIntervals {
		t.changes[DepthIntervals-1-late] += by
	}
}

func (t *depthHistory) moveTo(tick engine.Instant) {
	if tick <= t.latest {
		return
	}
	passed := int(min(tick-t.latest, DepthIntervals))
	copy(t.changes[:], t.changes[passed:])
	clear(t.changes[DepthIntervals-passed:])
	t.latest = tick
}

// line returns the past values of a number that has the value `n` at `now`, oldest first.
func (t *depthHistory) line(now engine.Instant, n int64) []float64 {
	t.moveTo(now / depthInterval)
	line := make([]float64, DepthIntervals+1)
	for i := DepthIntervals; i >= 0; i-- {
		line[i] = float64(max(0, n))
		if i > 0 {
			n -= t.changes[i-1]
		}
	}
	return line
}

// A gauge keeps the latest samples of a number.
type gauge struct {
	values []float64 // oldest first
	limit  int
}

func (g *gauge) add(v float64) {
	if len(g.values) == g.limit {
		copy(g.values, g.values[1:])
		g.values = g.values[:g.limit-1]
	}
	g.values = append(g.values, v)
}
