package broker

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
)

// Rates are how fast a Machine runs: seconds of it in a second. Zero stands.
func Rates() []int { return []int{0, 1, 10, 60} }

// A Machine is the clock of a namespace that shows how time passes: it can stand,
// run fast, and leap forward, but never go back. The broker that is opened with
// it, see Options, goes by it in everything that its rules and its deadlines are
// about; how long callers wait and how long a store may take is real time.
//
// Who has no Machine has no way to turn a clock: that of any other namespace is
// not one. It is safe for concurrent use.
type Machine struct {
	mu    sync.Mutex
	since time.Time      // when it was turned last, with its monotonic reading; guarded by mu
	at    engine.Instant // what it said then; likewise
	rate  int            // likewise
	until engine.Instant // where it stops; zero: nowhere; likewise

	stir chan struct{} // holds one token when it was turned
}

// NewMachine is a clock that stands, at the time that it is.
func NewMachine() *Machine {
	now := time.Now()
	return &Machine{since: now, at: engine.At(now), stir: make(chan struct{}, 1)}
}

// read is the time, and has it stand where it was to stop. The caller holds mu.
func (m *Machine) read() engine.Instant {
	now := m.at
	if m.rate > 0 {
		now = m.at.Add(time.Duration(int64(time.Since(m.since)/time.Microsecond)*int64(m.rate)/1000) * time.Millisecond)
	}
	if m.until.Passed(now) {
		now = m.until
		m.at, m.rate, m.until = now, 0, 0
	}
	return now
}

// rest has it go on from now, by another rate. The caller holds mu.
func (m *Machine) rest(now engine.Instant, rate int, until engine.Instant) {
	m.since, m.at, m.rate, m.until = time.Now(), now, rate, until
	select {
	case m.stir <- struct{}{}:
	default:
	}
}

// Now is what it says.
func (m *Machine) Now() engine.Instant { return m.glance() }

// Turn has it run at one of Rates, from now on; engine.ErrArgument is for another.
func (m *Machine) Turn(rate int) error {
	if !slices.Contains(Rates(), rate) {
		return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf("A clock runs at 0, 1, 10 or 60 seconds a second, not at %d.", rate)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rest(m.read(), rate, 0)
	return nil
}

// Glide has it run to an instant in so much real time, and stand there. One that
// has passed already is where it stands.
func (m *Machine) Glide(to engine.Instant, within time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.read()
	way := to.Sub(now)
	if way <= 0 {
		m.rest(now, 0, 0)
		return
	}
	within = max(within, time.Millisecond)
	m.rest(now, int(max(1, (way+within-1)/within)), to)
}

// Leap has it be at an instant at once, if that has not passed, and run on as it
// did.
func (m *Machine) Leap(to engine.Instant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.read()
	if to <= now {
		return
	}
	rate, until := m.rate, m.until
	if until.Passed(to) {
		rate, until = 0, 0
	}
	m.rest(to, rate, until)
}

// follow implements timepiece: what was recorded is believed, as it is by this
// clock.
func (m *Machine) follow(recorded engine.Instant) time.Duration {
	m.Leap(recorded)
	return 0
}

func (m *Machine) now() engine.Instant { return m.glance() }

func (m *Machine) glance() engine.Instant {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read()
}

func (m *Machine) pace() Pace {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read()
	return Pace{Rate: m.rate, Until: m.until}
}

func (m *Machine) wait(at engine.Instant) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := at.Sub(m.read())
	switch {
	case left <= 0:
		return left
	case m.rate == 0, m.until != 0 && at > m.until:
		return math.MaxInt64
	default:
		return left/time.Duration(m.rate) + 1
	}
}

func (m *Machine) turned() <-chan struct{} { return m.stir }
