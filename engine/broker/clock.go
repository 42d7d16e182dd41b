package broker

import (
	"time"

	"mayfly/engine"
)

// futureTolerated is how far ahead of the system's clock the instant of the
// last commit may lie at start for the broker to begin there.
const futureTolerated = time.Minute

// A clock never goes back in a process: it follows the monotonic clock, and
// jumps forward when the system's clock has moved on beyond it, as after a
// machine's sleep.
type clock struct {
	start  time.Time // with its monotonic reading
	ahead  time.Duration
	latest engine.Instant
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
	c.latest = max(recorded, system)
	return c, 0
}

func (c *clock) now() engine.Instant {
	steady := c.start.Add(time.Since(c.start)).Add(c.ahead)
	if lag := time.Now().Round(0).Sub(steady.Round(0)); lag > time.Millisecond {
		c.ahead += lag
		steady = steady.Add(lag)
	}
	c.latest = max(c.latest, engine.At(steady))
	return c.latest
}
