package engine

import (
	"math"
	"time"
)

// An Instant is a moment in UTC with the broker's precision, milliseconds
// since the Unix epoch. Zero means never or unset. All comparisons are
// half-open: at its deadline a thing has passed (DEC-1).
type Instant int64

// Forever is the last instant that can be written on the wire,
// 9999-12-31T23:59:59.999Z; additions stop there (TTL-10).
const Forever Instant = 253402300799999

// At cuts t to the broker's precision. The zero time gives the zero Instant.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMilli())
}

// Time is i as a UTC time; the zero time for the zero Instant.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(i)).UTC()
}

// Add is the instant d later, rounded up to a millisecond so that a positive
// duration never vanishes; it saturates at Forever.
func (i Instant) Add(d time.Duration) Instant {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 && ms < math.MaxInt64 {
		ms++
	}
	if ms > 0 && i > Forever-Instant(ms) {
		return Forever
	}
	return i + Instant(ms)
}

// Sub is how long after o the instant i is; it saturates at the longest
// duration, 292 years.
func (i Instant) Sub(o Instant) time.Duration {
	switch ms := int64(i - o); {
	case ms > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64
	case ms < math.MinInt64/int64(time.Millisecond):
		return math.MinInt64
	default:
		return time.Duration(ms) * time.Millisecond
	}
}

// Passed tells whether the deadline i has come at now. A zero deadline never
// comes.
func (i Instant) Passed(now Instant) bool { return i != 0 && now >= i }

// earlier is the sooner of two deadlines, of which zero is never.
func earlier(a, b Instant) Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
