package show

import "mayfly/engine"

// A meter is something that is counted by its rate.
type meter uint8

const (
	metIn meter = iota
	metOut
	metExpired
	metDead
	meters
)

// meterOf says what an event adds to.
func meterOf(e engine.Event) (m meter, ok bool) {
	switch e.Kind {
	case engine.EventSent, engine.EventScheduled:
		return metIn, e.Reason != "rescheduled"
	case engine.EventCompleted, engine.EventReceived:
		return metOut, true
	case engine.EventExpired:
		return metExpired, true
	case engine.EventDeadLettered:
		return metDead, true
	default:
		return 0, false
	}
}

// pulse counts events by stretch of time, the latest stretches only. Its zero
// value is not usable; see newPulse. Not safe for concurrent use.
type pulse struct {
	step  engine.Instant // milliseconds of one stretch
	beats []beat         // stretch i stands at i % len
}

type beat struct {
	tick engine.Instant
	n    [meters]uint32
}

func newPulse(step engine.Instant, stretches int) *pulse {
	return &pulse{step: step, beats: make([]beat, stretches)}
}

func (p *pulse) add(at engine.Instant, m meter) {
	tick := at / p.step
	b := &p.beats[tick%engine.Instant(len(p.beats))]
	if b.tick > tick {
		return // too late to count
	}
	if b.tick < tick {
		*b = beat{tick: tick}
	}
	b.n[m]++
}

// sum is how many there were in the last stretches up to now.
func (p *pulse) sum(now engine.Instant, stretches int, m meter) (n int) {
	last := now / p.step
	for i := range min(stretches, len(p.beats)) {
		tick := last - engine.Instant(i)
		if b := p.beats[tick%engine.Instant(len(p.beats))]; b.tick == tick {
			n += int(b.n[m])
		}
	}
	return n
}

// line is how it went, oldest first: points of as many stretches each, ending
// with the last that is over.
func (p *pulse) line(now engine.Instant, stretches int, m meter) []float64 {
	points := len(p.beats)/stretches - 1
	line := make([]float64, points)
	group := engine.Instant(stretches)
	last := now/p.step/group*group - 1 // of the latest group that is over
	for i := range points {
		for j := range stretches {
			tick := last - engine.Instant(i*stretches+j)
			if b := p.beats[tick%engine.Instant(len(p.beats))]; tick >= 0 && b.tick == tick {
				line[points-1-i] += float64(b.n[m])
			}
		}
	}
	return line
}

// net is by how many messages an event changes what lies in its entity, dead
// letters aside.
func net(e engine.Event) int64 {
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

// A tide is by how much a number changed in each of the latest stretches of
// time. Not safe for concurrent use.
type tide struct {
	latest engine.Instant // the latest stretch
	by     [tideStretches]int64
}

const (
	tideStretches = 30
	tideStretch   = engine.Instant(20_000) // milliseconds
)

// add counts a change, and moves on to its stretch.
func (t *tide) add(at engine.Instant, by int64) {
	t.moveTo(at / tideStretch)
	if late := t.latest - at/tideStretch; late < tideStretches {
		t.by[tideStretches-1-late] += by
	}
}

func (t *tide) moveTo(tick engine.Instant) {
	if tick <= t.latest {
		return
	}
	passed := int(min(tick-t.latest, tideStretches))
	copy(t.by[:], t.by[passed:])
	clear(t.by[tideStretches-passed:])
	t.latest = tick
}

// line is how the number went that is n now, oldest first.
func (t *tide) line(now engine.Instant, n int64) []float64 {
	t.moveTo(now / tideStretch)
	line := make([]float64, tideStretches+1)
	for i := tideStretches; i >= 0; i-- {
		line[i] = float64(max(0, n))
		if i > 0 {
			n -= t.by[i-1]
		}
	}
	return line
}

// A gauge keeps what a number was, one value for each sample.
type gauge struct {
	values []float64 // oldest first
	most   int
}

func (g *gauge) add(v float64) {
	if len(g.values) == g.most {
		copy(g.values, g.values[1:])
		g.values = g.values[:g.most-1]
	}
	g.values = append(g.values, v)
}
