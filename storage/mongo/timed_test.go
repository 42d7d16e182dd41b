package mongo

import "time"

// timed returns o with a clock of timers, which is the bubble's in a synctest bubble, so that a
// lease does not end because the machine is busy.
func timed(o Options) Options {
	began := time.Now()
	o.clock = func() time.Duration { return time.Since(began) }
	return o
}
