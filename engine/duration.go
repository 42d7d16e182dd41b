package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxDurationText is how Service Bus writes "never" (TTL-10): the largest
// .NET TimeSpan. In a Config never is the zero duration.
const MaxDurationText = "P10675199DT2H48M5.4775807S"

// ParseDuration reads a duration as ISO 8601 (PT1M30S, P14D), as people write
// it (90s, 1h30m, 7d) or as .NET does (00:01:30, 14.00:00:00). "never", "max"
// and anything too long for a time.Duration give never = true. Negative and
// empty texts are errors; zero is a valid duration.
func ParseDuration(text string) (d time.Duration, never bool, err error) {
	s := strings.TrimSpace(text)
	if s == "" || len(s) > 64 {
		return 0, false, fmt.Errorf("%q is not a duration", cut(text, 64))
	}
	switch low := strings.ToLower(s); {
	case low == "never" || low == "max":
		return 0, true, nil
	case low[0] == 'p':
		return sumParts(text, low[1:], true)
	case strings.Contains(low, ":"):
		return parseClock(text, low)
	default:
		return sumParts(text, low, false)
	}
}

// sumParts adds up numbers with units. In ISO form a "t" stands between days
// and hours, and "m" before it would be months, which have no fixed length.
func sumParts(text, s string, iso bool) (time.Duration, bool, error) {
	bad := fmt.Errorf("%q is not a duration: write it as PT1M30S, 90s, 1h30m or 7d", cut(text, 64))
	units := map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}
	var seconds float64
	var exact time.Duration
	inTime, parts := !iso, 0
	for s != "" {
		if iso && s[0] == 't' {
			if inTime {
				return 0, false, bad
			}
			inTime, s = true, s[1:]
			continue
		}
		n := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if n <= 0 {
			return 0, false, bad
		}
		number, err := strconv.ParseFloat(s[:n], 64)
		if err != nil {
			return 0, false, bad
		}
		unit, size := units[s[n]], 1
		if !iso && strings.HasPrefix(s[n:], "ms") {
			unit, size = time.Millisecond, 2
		}
		if unit == 0 || iso && inTime == (unit >= 24*time.Hour) {
			return 0, false, bad
		}
		seconds += number * unit.Seconds()
		exact += time.Duration(math.Round(number * float64(unit)))
		s, parts = s[n+size:], parts+1
	}
	if parts == 0 {
		return 0, false, bad
	}
	if seconds > math.MaxInt64/float64(time.Second) {
		return 0, true, nil
	}
	return exact, false, nil
}

// parseClock reads [days.]hh:mm:ss[.fraction].
func parseClock(text, s string) (time.Duration, bool, error) {
	bad := fmt.Errorf("%q is not a duration: write it as PT1M30S, 90s, 1h30m or 7d", cut(text, 64))
	fields := strings.Split(s, ":")
	if len(fields) != 3 {
		return 0, false, bad
	}
	days := "0"
	if d, h, ok := strings.Cut(fields[0], "."); ok {
		days, fields[0] = d, h
	}
	total := 0.0
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		f := append([]string{days}, fields...)[i]
		if f == "" || strings.Trim(f, "0123456789.") != "" {
			return 0, false, bad
		}
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return 0, false, bad
		}
		total += v * unit.Seconds()
	}
	if total > math.MaxInt64/float64(time.Second) {
		return 0, true, nil
	}
	return time.Duration(math.Round(total * float64(time.Second))), false, nil
}

// FormatDuration writes d in ISO 8601 with hours, minutes and seconds below a
// day, and never as Service Bus does.
func FormatDuration(d time.Duration) string {
	if d <= 0 {
		return MaxDurationText
	}
	var b strings.Builder
	b.WriteByte('P')
	if days := d / (24 * time.Hour); days > 0 {
		fmt.Fprintf(&b, "%dD", days)
		d -= days * 24 * time.Hour
	}
	if d == 0 {
		return b.String()
	}
	b.WriteByte('T')
	if h := d / time.Hour; h > 0 {
		fmt.Fprintf(&b, "%dH", h)
		d -= h * time.Hour
	}
	if m := d / time.Minute; m > 0 {
		fmt.Fprintf(&b, "%dM", m)
		d -= m * time.Minute
	}
	if d > 0 {
		b.WriteString(strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "S")
	}
	return b.String()
}

// cut shortens what somebody typed for use in an error.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
