package broker

import (
	"time"

	"mayfly/engine"
)

// A timepiece is what tells a broker what time it is: clock, or Machine.
type timepiece interface {
	// follow has it go on from the instant of the last commit, see clock.follow.
	follow(recorded engine.Instant) (distrusted time.Duration)
	// now is the time. Only the owner asks.
	now() engine.Instant
	// glance is the time for anybody.
	glance() engine.Instant
	// wait is how long a timer takes until it is at; negative or zero: it is; as
	// long as can be: it never will be, as things stand.
	wait(at engine.Instant) time.Duration
	// pace is how fast it runs.
	pace() Pace
	// turned gets a token when wait would answer otherwise than before; nil: never.
	turned() <-chan struct{}
}

// A Pace is how a broker's clock runs.
type Pace struct {
	Rate  int            // seconds of it in a second: 1, but for a Machine
	Until engine.Instant // where it stops by itself; zero: nowhere
}

// Pace is how the broker's clock runs, at a glance.
func (b *Broker) Pace() Pace { return b.clock.pace() }

// Wait is how long a timer takes until the broker's clock is at an instant;
// negative or zero: it is. A clock that stands does not come there, which is as
// long as a timer can take; Stirred has a token when it is turned.
func (b *Broker) Wait(at engine.Instant) time.Duration { return b.clock.wait(at) }
