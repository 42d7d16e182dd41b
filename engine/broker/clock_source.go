package broker

import (
	"time"

	"mayfly/engine"
)

// A clockSource is a broker's clock: a systemClock or a ManualClock.
type clockSource interface {
	// startFrom continues from the instant of the last commit; see systemClock.startFrom.
	startFrom(recorded engine.Instant) (distrusted time.Duration)
	// now returns the time. Only the owner calls it.
	now() engine.Instant
	// approximate returns the time, for any goroutine.
	approximate() engine.Instant
	// timeUntil returns how long to wait until the clock reaches an instant: zero or negative if it
	// has, the longest duration if the clock is stopped or will stop before.
	timeUntil(at engine.Instant) time.Duration
	// state returns how fast the clock runs.
	state() ClockState
	// changed gets a token when the result of timeUntil has changed. It is nil if that never
	// happens.
	changed() <-chan struct{}
}

// A ClockState says how fast a broker's clock runs.
type ClockState struct {
	Rate  int            // seconds of clock time per second: 1, except for a ManualClock
	Until engine.Instant // the instant at which the clock will stop by itself; zero means never
}

// ClockState returns how fast the broker's clock runs, without waiting for the owner.
func (b *Broker) ClockState() ClockState { return b.clock.state() }

// TimeUntil returns how long to wait until the broker's clock reaches an instant: zero or negative
// if it has. For a stopped clock, which never gets there, it is the longest possible duration.
func (b *Broker) TimeUntil(at engine.Instant) time.Duration { return b.clock.timeUntil(at) }
