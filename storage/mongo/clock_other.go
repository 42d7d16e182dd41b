//go:build !linux

package mongo

import "time"

var start = time.Now() //nolint:gochecknoglobals // the origin of sinceBoot

// sinceBoot returns the time since the process started. On these systems the clock may stop while
// the machine sleeps: an owner that sleeps longer than its lease may then believe for a moment
// that it still owns the namespace. Its commits are refused all the same.
func sinceBoot() time.Duration { return time.Since(start) }
