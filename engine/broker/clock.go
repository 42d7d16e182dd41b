package broker

import (
	"sync/atomic"
	"time"

	"mayfly/engine"
)

// futureTolerated is how far ahead of the system's clock the instant of the
// last commit may lie when the store is opened for the broker to begin there.
const futureTolerated = time.Minute

// A clock never goes back in a process: it follows the monotonic clock, and
// jumps forward when the system's clock has moved on beyond it, as after a
// machine's sleep. Only the owner moves it on; anybody may glance at it.
type clock struct {
	start  time.Time    // with its monotonic reading
	ahead  atomic.Int64 // a time.Duration
	latest atomic.Int64 // an engine.Instant
}

func newClock() *clock { return &clock{start: time.Now()} }

// follow has the clock go on from recorded, the instant of the last commit, by
// this machine's clock or by that of the server that owned the namespace before:
// where recorded lies ahead, the clock waits there until the system's has come
// as far. If that is more than a minute, the system's clock wins, and distrusted
// tells by how much the record was ahead.
func (c *clock) follow(recorded engine.Instant) (distrusted time.Duration) {
	now := c.now()
	if lead := recorded.Sub(engine.At(c.steady())); lead > futureTolerated {
		return lead
	}
	c.latest.Store(int64(max(recorded, now)))
	return 0
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

func (c *clock) wait(at engine.Instant) time.Duration { return at.Sub(c.glance()) }

func (c *clock) pace() Pace { return Pace{Rate: 1} }

func (c *clock) turned() <-chan struct{} { return nil }
