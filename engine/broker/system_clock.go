package broker

import (
	"sync/atomic"
	"time"

	"mayfly/engine"
)

// maxClockLead is how far ahead of the system's clock the instant of the last commit may be when
// the store is opened. If it is further ahead, the broker uses the system's clock.
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

// startFrom sets the clock to the system's time or to `recorded`, the instant of the last commit,
// whichever is later. The last commit may be ahead, because another server with another clock may
// have made it: then the clock stands still until the system's clock has caught up. If it is ahead
// by more than maxClockLead, startFrom uses the system's time and returns the difference.
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
