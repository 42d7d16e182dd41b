package broker

import (
	"sync/atomic"
	"time"

	"mayfly/engine"
)

// maxClockLead is how far the instant of the last commit may lie ahead of the system's
// clock, when the store is opened, for the broker's clock to begin there.
const maxClockLead = time.Minute

// A systemClock never goes back while the process runs: it follows the monotonic clock, and jumps
// forward when the system's clock is ahead of it, as after a machine's sleep. Only the owner calls
// now, which advances it; any goroutine may call approximate.
type systemClock struct {
	start  time.Time    // with its monotonic reading
	offset atomic.Int64 // a time.Duration
	latest atomic.Int64 // an engine.Instant
}

func newSystemClock() *systemClock { return &systemClock{start: time.Now()} }

// startFrom continues from recorded, the instant of the last commit, by this machine's clock or
// by that of the server that owned the namespace before: if recorded is ahead, the clock waits
// there until the system's clock has caught up. If it is more than a minute ahead, startFrom uses
// the system's clock and returns the difference as distrusted.
func (c *systemClock) startFrom(recorded engine.Instant) (distrusted time.Duration) {
	now := c.now()
	if lead := recorded.Sub(engine.At(c.monotonic())); lead > maxClockLead {
		return lead
	}
	c.latest.Store(int64(max(recorded, now)))
	return 0
}

func (c *systemClock) now() engine.Instant {
	if lag := time.Now().Round(0).Sub(c.monotonic().Round(0)); lag > time.Millisecond {
		c.offset.Add(int64(lag))
	}
	now := c.approximate()
	c.latest.Store(int64(now))
	return now
}

// approximate returns the time, but misses a jump that now has not noticed yet.
func (c *systemClock) approximate() engine.Instant {
	return max(engine.Instant(c.latest.Load()), engine.At(c.monotonic()))
}

func (c *systemClock) monotonic() time.Time {
	return c.start.Add(time.Since(c.start)).Add(time.Duration(c.offset.Load()))
}

func (c *systemClock) timeUntil(at engine.Instant) time.Duration { return at.Sub(c.approximate()) }

func (c *systemClock) state() ClockState { return ClockState{Rate: 1} }

func (c *systemClock) changed() <-chan struct{} { return nil }
