package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const ticksPerDay = 24 * 60 * 60 * ticksPerSecond

// timespanText returns ticks in .NET's form: [-][days.]hh:mm:ss[.fraction].
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

// parseTimespan parses .NET's form, ISO 8601 durations such as P1DT1H30M, and the form 1h30m in the
// range of a time.Duration.
func parseTimespan(s string) (ticks int64, ok bool) {
	if strings.Contains(s, ":") {
		return parseClock(s)
	}
	s, minus := strings.CutPrefix(strings.ToLower(s), "-")
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, false
	}
	if rest, iso := strings.CutPrefix(s, "p"); iso {
		return parseISO(rest, minus)
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d%100 != 0 {
		return 0, false
	}
	return within(uint64(d/100), minus)
}

// isoUnits are the units of an ISO 8601 duration, in order. As in .NET, a year or twelve months have
// 365 days and a month has 30 (PROP-15).
var isoUnits = []struct {
	letter byte
	ticks  uint64
	timed  bool // only valid after the T
}{
	{'y', 365 * ticksPerDay, false},
	{'m', 30 * ticksPerDay, false},
	{'w', 7 * ticksPerDay, false},
	{'d', ticksPerDay, false},
	{'h', 60 * 60 * ticksPerSecond, true},
	{'m', 60 * ticksPerSecond, true},
	{'s', ticksPerSecond, true},
}

// parseISO parses the part of an ISO 8601 duration after the P, in lower case. Decimals of seconds
// after the seventh are ignored.
func parseISO(s string, minus bool) (ticks int64, ok bool) {
	var total uint64
	timed, parts, next := false, 0, 0
	for s != "" {
		if s[0] == 't' && !timed && len(s) > 1 {
			timed, s = true, s[1:]
			continue
		}
		end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if end <= 0 {
			return 0, false
		}
		for next < len(isoUnits) && (isoUnits[next].letter != s[end] || isoUnits[next].timed != timed) {
			next++
		}
		if next == len(isoUnits) {
			return 0, false
		}
		unit := isoUnits[next]
		whole, fraction, cut := strings.Cut(s[:end], ".")
		n, err := strconv.ParseUint(whole, 10, 63)
		if err != nil || cut && (unit.letter != 's' || fraction == "" || strings.Contains(fraction, ".")) || n > (math.MaxInt64+1-total)/unit.ticks {
			return 0, false
		}
		if total += n * unit.ticks; unit.letter == 'm' && !timed {
			// 5 more days for each twelve months. This cannot overflow a uint64, since n times 30
			// days is in the range of an int64.
			if total += n / 12 * 5 * ticksPerDay; total > math.MaxInt64+1 {
				return 0, false
			}
		}
		if cut {
			f, err := strconv.ParseUint((fraction + "0000000")[:7], 10, 32)
			if err != nil {
				return 0, false
			}
			total += f
		}
		s, parts, next = s[end+1:], parts+1, next+1
	}
	if parts == 0 || total > math.MaxInt64+1 {
		return 0, false
	}
	return within(total, minus)
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

// within returns a magnitude with a sign as ticks; ok is false if they do not fit.
func within(u uint64, minus bool) (ticks int64, ok bool) {
	if minus {
		return int64(-u), u <= math.MaxInt64+1
	}
	return int64(u), u <= math.MaxInt64
}
