package broker

import (
	"math"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
)

// ClockRates returns the possible rates of a ManualClock, in seconds of its time per second. Zero
// stops it.
func ClockRates() []int { return []int{0, 1, 10, 60} }

// A ManualClock is the clock of a namespace that demonstrates the passing of time: it can stop,
// run fast, and jump forward, but never go back. A broker that is opened with it, see Options, uses
// it for its rules and deadlines; the timeouts of callers and of the store are in real time.
// Namespaces without a ManualClock use the system's clock, which cannot be adjusted.
//
// A ManualClock is safe for concurrent use.
type ManualClock struct {
	mu    sync.Mutex
	since time.Time      // when it was last adjusted, with its monotonic reading; guarded by mu
	at    engine.Instant // the clock's time at `since`; guarded by mu
	rate  int            // guarded by mu
	until engine.Instant // the time at which the clock will stop; zero if never; guarded by mu

	adjusted chan struct{} // holds one token after an adjustment
}

// NewManualClock returns a stopped clock, set to the present time.
func NewManualClock() *ManualClock {
	now := time.Now()
	return &ManualClock{since: now, at: engine.At(now), adjusted: make(chan struct{}, 1)}
}

// read returns the time, and stops the clock if it has reached m.until. The caller holds mu.
func (m *ManualClock) read() engine.Instant {
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

// setRate sets the clock to `now` and lets it run at a rate until it reaches `until`, or without
// end if `until` is zero. The caller holds mu.
func (m *ManualClock) setRate(now engine.Instant, rate int, until engine.Instant) {
	m.since, m.at, m.rate, m.until = time.Now(), now, rate, until
	select {
	case m.adjusted <- struct{}{}:
	default:
	}
}

// Now returns the clock's time.
func (m *ManualClock) Now() engine.Instant { return m.approximate() }

// SetRate lets the clock run at one of ClockRates from now on. For another rate it returns
// engine.ErrArgument.
func (m *ManualClock) SetRate(rate int) error {
	if !slices.Contains(ClockRates(), rate) {
		return engine.Refuse(engine.ErrArgument, "The speed of a clock must be 0, 1, 10 or 60, not %d.", rate)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setRate(m.read(), rate, 0)
	return nil
}

// RunTo lets the clock run so fast that it reaches an instant in the given real time, and stop
// there. If the instant has passed already, the clock stops at once.
func (m *ManualClock) RunTo(to engine.Instant, within time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.read()
	way := to.Sub(now)
	if way <= 0 {
		m.setRate(now, 0, 0)
		return
	}
	within = max(within, time.Millisecond)
	m.setRate(now, int(max(1, (way+within-1)/within)), to)
}

// JumpTo sets the clock to an instant, unless that has passed. The clock's rate stays the same.
func (m *ManualClock) JumpTo(to engine.Instant) {
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
	m.setRate(to, rate, until)
}

// startFrom implements clockSource. It always continues from recorded, which is a time of this clock.
func (m *ManualClock) startFrom(recorded engine.Instant) time.Duration {
	m.JumpTo(recorded)
	return 0
}

func (m *ManualClock) now() engine.Instant { return m.approximate() }

func (m *ManualClock) approximate() engine.Instant {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read()
}

func (m *ManualClock) state() ClockState {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read()
	return ClockState{Rate: m.rate, Until: m.until}
}

func (m *ManualClock) timeUntil(at engine.Instant) time.Duration {
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

func (m *ManualClock) changed() <-chan struct{} { return m.adjusted }
