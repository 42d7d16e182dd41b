package mongo

import "time"

// timed is o with the clock that timers go by, which in a bubble is the bubble's:
// a lease must not run out because the machine is busy.
func timed(o Options) Options {
	began := time.Now()
	o.clock = func() time.Duration { return time.Since(began) }
	return o
}
