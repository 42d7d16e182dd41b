//go:build !linux

package mongo

import "time"

var start = time.Now() //nolint:gochecknoglobals // a clock begins somewhere

// sinceBoot is the time that has passed since some moment. On these systems it
// may stand still while the machine sleeps: an owner that sleeps longer than
// its lease may then think for a moment that it still is one. What it commits
// is refused all the same.
func sinceBoot() time.Duration { return time.Since(start) }
