package broker

import (
	"sync/atomic"
	"time"

	"mayfly/engine"
)

// futureTolerated is how far ahead of the system's clock the instant of the
// last commit may lie at start for the broker to begin there.
const futureTolerated = time.Minute

// A clock never goes back in a process: it follows the monotonic clock, and
// jumps forward when the system's clock has moved on beyond it, as after a
// machine's sleep. Only the owner moves it on; anybody may glance at it.
type clock struct {
	start  time.Time    // with its monotonic reading
	ahead  atomic.Int64 // a time.Duration
	latest atomic.Int64 // an engine.Instant
}

// startClock begins no earlier than recorded, unless that lies more than a
// minute ahead of the system's clock; then the system's clock wins and
// distrusted tells by how much the record was ahead.
func startClock(recorded engine.Instant) (c *clock, distrusted time.Duration) {
	c = &clock{start: time.Now()}
	system := engine.At(c.start)
	if lead := recorded.Sub(system); lead > futureTolerated {
		return c, lead
	}
	c.latest.Store(int64(max(recorded, system)))
	return c, 0
}

func (c *clock) now() engine.Instant {
	if lag := time.Now().Round(0).Sub(c.steady().Round(0)); lag > time.Millisecond {
		c.ahead.Add(int64(lag))
	}
	now := c.glance()
	c.latest.Store(int64(now))
	return now
}

// glance is what now would say, but for a jump that it has yet to notice.
func (c *clock) glance() engine.Instant {
	return max(engine.Instant(c.latest.Load()), engine.At(c.steady()))
}

func (c *clock) steady() time.Time {
	return c.start.Add(time.Since(c.start)).Add(time.Duration(c.ahead.Load()))
}
