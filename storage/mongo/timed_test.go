package mongo

import "time"

// timed returns o with the clock of timers, which is the bubble's inside a synctest bubble: a
// lease must not end because the machine is busy.
func timed(o Options) Options {
	began := time.Now()
	o.clock = func() time.Duration { return time.Since(began) }
	return o
}
