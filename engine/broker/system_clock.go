package broker

import (
	"sync/atomic"
	"time"

	"mayfly/engine"
)

// maxClockLead is how far the instant of the last commit may lie ahead of the system's
// clock, when the store is opened, for the broker's clock to begin there.
const maxClockLead = time.Minute

// A systemClock never goes back in a process: it follows the monotonic clock, and jumps forward when
// the system's clock has moved on beyond it, as after a machine's sleep. Only the owner
// advances it; any goroutine may glance at it.
type systemClock struct {
	start  time.Time    // with its monotonic reading
	offset atomic.Int64 // a time.Duration
	latest atomic.Int64 // an engine.Instant
}

func newSystemClock() *systemClock { return &systemClock{start: time.Now()} }

// startFrom continues from recorded, the instant of the last commit, by this machine's clock or
// by that of the server that owned the namespace before: where recorded lies ahead, the clock
// waits there until the system's has caught up. If it lies more than a minute ahead, the
// system's clock wins, and distrusted is by how much.
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

// approximate returns the time of now, without a jump that now has yet to notice.
func (c *systemClock) approximate() engine.Instant {
	return max(engine.Instant(c.latest.Load()), engine.At(c.monotonic()))
}

func (c *systemClock) monotonic() time.Time {
	return c.start.Add(time.Since(c.start)).Add(time.Duration(c.offset.Load()))
}

func (c *systemClock) timeUntil(at engine.Instant) time.Duration { return at.Sub(c.approximate()) }

func (c *systemClock) state() ClockState { return ClockState{Rate: 1} }

func (c *systemClock) changed() <-chan struct{} { return nil }
