package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const ticksPerDay = 24 * 60 * 60 * ticksPerSecond

// timespanText writes ticks as .NET does: [-][days.]hh:mm:ss[.fraction].
func timespanText(n int64) string {
	var b strings.Builder
	// The smallest int64 has no positive counterpart, but a uint64 holds it.
	u := uint64(n)
	if n < 0 {
		b.WriteByte('-')
		u = -u
	}
	if days := u / ticksPerDay; days > 0 {
		fmt.Fprintf(&b, "%d.", days)
	}
	s := u % ticksPerDay / ticksPerSecond
	fmt.Fprintf(&b, "%02d:%02d:%02d", s/3600, s/60%60, s%60)
	if f := u % ticksPerSecond; f > 0 {
		b.WriteString("." + strings.TrimRight(fmt.Sprintf("%07d", f), "0"))
	}
	return b.String()
}

// parseTimespan reads .NET's form exactly, and the forms 1h30m and P1DT1H30M
// as far as a time.Duration goes.
func parseTimespan(s string) (ticks int64, ok bool) {
	if strings.Contains(s, ":") {
		return parseClock(s)
	}
	s, minus := strings.CutPrefix(strings.ToLower(s), "-")
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, false
	}
	var days uint64
	if rest, iso := strings.CutPrefix(s, "p"); iso {
		date, clock, timed := strings.Cut(rest, "t")
		if d, found := strings.CutSuffix(date, "d"); found {
			var err error
			if days, err = strconv.ParseUint(d, 10, 24); err != nil {
				return 0, false
			}
		} else if date != "" || !timed {
			return 0, false
		}
		if s = clock; !timed {
			s = "0s"
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d%100 != 0 {
		return 0, false
	}
	return within(days*ticksPerDay+uint64(d/100), minus)
}

func parseClock(s string) (ticks int64, ok bool) {
	s, minus := strings.CutPrefix(s, "-")
	fields := strings.Split(s, ":")
	if len(fields) != 3 {
		return 0, false
	}
	days := "0"
	if d, h, found := strings.Cut(fields[0], "."); found {
		days, fields[0] = d, h
	}
	seconds, fraction, found := strings.Cut(fields[2], ".")
	if found && fraction == "" || len(fraction) > 7 {
		return 0, false
	}
	var total uint64
	for _, part := range []struct {
		digits    string
		less, one uint64
	}{
		{days, 1 << 24, ticksPerDay},
		{fields[0], 24, 60 * 60 * ticksPerSecond},
		{fields[1], 60, 60 * ticksPerSecond},
		{seconds, 60, ticksPerSecond},
		{(fraction + "0000000")[:7], ticksPerSecond, 1},
	} {
		n, err := strconv.ParseUint(part.digits, 10, 32)
		if err != nil || n >= part.less {
			return 0, false
		}
		total += n * part.one // at most 2^24 days, which a uint64 holds
	}
	return within(total, minus)
}

// within turns a magnitude and a sign into ticks.
func within(u uint64, minus bool) (ticks int64, ok bool) {
	if minus {
		return int64(-u), u <= math.MaxInt64+1
	}
	return int64(u), u <= math.MaxInt64
}
