package broker

import (
	"time"

	"mayfly/engine"
)

// A clockSource is a broker's clock: clock, or ManualClock.
type clockSource interface {
	// startFrom continues from the instant of the last commit; see clock.follow.
	startFrom(recorded engine.Instant) (distrusted time.Duration)
	// now returns the time. Only the owner calls it.
	now() engine.Instant
	// approximate returns the time, for any goroutine.
	approximate() engine.Instant
	// timeUntil returns how long a timer takes until the clock is at an instant: zero or negative
	// if it is, the longest duration if it never will be as things stand.
	timeUntil(at engine.Instant) time.Duration
	// state returns how fast it runs.
	state() ClockState
	// changed gets a token when the result of timeUntil has changed. It is nil if that never
	// happens.
	changed() <-chan struct{}
}

// A ClockState is how a broker's clock runs.
type ClockState struct {
	Rate  int            // seconds of its time per second: 1, except for a ManualClock
	Until engine.Instant // where it stops by itself; zero means nowhere
}

// ClockState returns how the broker's clock runs, without waiting for the owner.
func (b *Broker) ClockState() ClockState { return b.clock.state() }

// TimeUntil returns how long a timer takes until the broker's clock is at an instant: zero or
// negative if it is. For a stopped clock, which never gets there, it is the longest duration of
// a timer.
func (b *Broker) TimeUntil(at engine.Instant) time.Duration { return b.clock.timeUntil(at) }
