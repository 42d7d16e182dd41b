package engine

import (
	"fmt"
	"math/big"
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

// WrongDuration is what is said to whoever gave a text as name that is no
// duration.
func WrongDuration(name, text string) string {
	return fmt.Sprintf("The value for '%s' is not a duration: write it as PT1M30S, 90s, 1h30m or 7d, not %q.", name, cut(text, 64))
}

func notDuration(text string) error {
	return fmt.Errorf("%q is not a duration: write it as PT1M30S, 90s, 1h30m or 7d", cut(text, 64))
}

// sumParts adds up numbers with units. In ISO form a "t" stands between days
// and hours, and "m" before it would be months, which have no fixed length.
func sumParts(text, s string, iso bool) (time.Duration, bool, error) {
	units := map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}
	var total exact
	inTime, parts := !iso, 0
	for s != "" {
		if iso && s[0] == 't' {
			if inTime {
				return 0, false, notDuration(text)
			}
			inTime, s = true, s[1:]
			continue
		}
		n := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if n <= 0 {
			return 0, false, notDuration(text)
		}
		unit, size := units[s[n]], 1
		if !iso && strings.HasPrefix(s[n:], "ms") {
			unit, size = time.Millisecond, 2
		}
		if unit == 0 || iso && inTime == (unit >= 24*time.Hour) || !total.add(s[:n], unit) {
			return 0, false, notDuration(text)
		}
		s, parts = s[n+size:], parts+1
	}
	if parts == 0 {
		return 0, false, notDuration(text)
	}
	d, never := total.duration()
	return d, never, nil
}

// parseClock reads [days.]hh:mm:ss[.fraction].
func parseClock(text, s string) (time.Duration, bool, error) {
	fields := strings.Split(s, ":")
	if len(fields) != 3 {
		return 0, false, notDuration(text)
	}
	days := "0"
	if d, h, ok := strings.Cut(fields[0], "."); ok {
		days, fields[0] = d, h
	}
	var total exact
	for i, f := range append([]string{days}, fields...) {
		unit := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}[i]
		digits := "0123456789"
		if unit == time.Second {
			digits += "."
		}
		if strings.Trim(f, digits) != "" || !total.add(f, unit) {
			return 0, false, notDuration(text)
		}
	}
	d, never := total.duration()
	return d, never, nil
}

// exact is a sum of times that loses nothing, so that what FormatDuration
// wrote is read as it was.
type exact struct{ ns big.Rat }

// add takes in number, which consists of digits and points, times unit.
func (e *exact) add(number string, unit time.Duration) bool {
	var n big.Rat
	if _, ok := n.SetString(number); !ok {
		return false
	}
	e.ns.Add(&e.ns, n.Mul(&n, new(big.Rat).SetInt64(int64(unit))))
	return true
}

// duration is the sum to the nearest nanosecond, or never if that does not fit.
func (e *exact) duration() (d time.Duration, never bool) {
	e.ns.Add(&e.ns, big.NewRat(1, 2))
	n := new(big.Int).Quo(e.ns.Num(), e.ns.Denom())
	if !n.IsInt64() {
		return 0, true
	}
	return time.Duration(n.Int64()), false
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
	return strings.ToValidUTF8(s[:n], "") + "…"
}
