package mongo

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot is the time that has passed since the machine started, the time in
// which it slept included.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every Linux that Go runs on has this clock
	}
	return time.Duration(t.Nano())
}
