package engine

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"mayfly/engine/shorten"
)

// An Instant is a moment in UTC with the broker's precision, in milliseconds since the Unix
// epoch. Zero means never or unset. All comparisons are half-open: a deadline has passed at
// its own instant (DEC-1).
type Instant int64

// Forever is the last instant that the wire can express, 9999-12-31T23:59:59.999Z; additions
// stop there (TTL-10).
const Forever Instant = 253402300799999

// At truncates t to the broker's precision. The zero time gives the zero Instant.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMilli())
}

// Time returns i as a UTC time, or the zero time for the zero Instant.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(i)).UTC()
}

// Add returns the instant d later, rounded up to a millisecond so that a positive duration
// never vanishes. It saturates at Forever.
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

// Sub returns the duration from o to i. It saturates at the longest duration, 292 years.
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

// Passed reports whether the deadline i has passed at now. A zero deadline never passes.
func (i Instant) Passed(now Instant) bool { return i != 0 && now >= i }

// earlier returns the sooner of two deadlines. A zero deadline means never.
func earlier(a, b Instant) Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// MaxDurationText is how Service Bus writes "never" (TTL-10): the largest .NET TimeSpan. In a
// Config, never is the zero duration.
const MaxDurationText = "P10675199DT2H48M5.4775807S"

// ParseDuration parses a duration in the form of XML Schema (PT1M30S, P14D, P0Y0M0DT0H30M0S),
// in short form (90s, 1h30m, 7d) or in that of .NET (00:01:30, 14.00:00:00). Years and months
// have the lengths that .NET's XmlConvert gives them: a month 30 days, a year or twelve
// months 365. "never", "max" and anything too long for a time.Duration return never = true.
// Negative and empty texts are errors; zero is a valid duration (PROP-15).
func ParseDuration(text string) (d time.Duration, never bool, err error) {
	s := strings.TrimSpace(text)
	if s == "" || len(s) > 64 {
		return 0, false, fmt.Errorf("%q is not a duration", shorten.To(text, 64))
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

// DurationErrorText returns the error text for `text`, a value of the property `name` that is not a
// duration.
func DurationErrorText(name, text string) string {
	return fmt.Sprintf("The value for '%s' is not a duration: write it as PT1M30S, 90s, 1h30m or 7d, not %q.", name, shorten.To(text, 64))
}

func durationError(text string) error {
	return fmt.Errorf("%q is not a duration: write it as PT1M30S, 90s, 1h30m or 7d", shorten.To(text, 64))
}

// sumParts adds up the numbers with units in s; `text` is the whole input, for errors. If iso is set,
// s is in the form of XML Schema: a "t" stands between days and hours, and an "m" before it means
// months.
func sumParts(text, s string, iso bool) (time.Duration, bool, error) {
	units := map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}
	var total exactDuration
	inTime, parts := !iso, 0
	for s != "" {
		if iso && s[0] == 't' {
			if inTime {
				return 0, false, durationError(text)
			}
			inTime, s = true, s[1:]
			continue
		}
		n := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if n <= 0 {
			return 0, false, durationError(text)
		}
		unit, size := units[s[n]], 1
		if iso && !inTime && (s[n] == 'y' || s[n] == 'm') {
			if !total.addMonths(s[:n], s[n] == 'y') {
				return 0, false, durationError(text)
			}
			s, parts = s[n+size:], parts+1
			continue
		}
		if !iso && strings.HasPrefix(s[n:], "ms") {
			unit, size = time.Millisecond, 2
		}
		if unit == 0 || iso && inTime == (unit >= 24*time.Hour) || !total.add(s[:n], unit) {
			return 0, false, durationError(text)
		}
		s, parts = s[n+size:], parts+1
	}
	if parts == 0 {
		return 0, false, durationError(text)
	}
	d, never := total.duration()
	return d, never, nil
}

// parseClock parses s in the form [days.]hh:mm:ss[.fraction]; `text` is the whole input, for errors.
func parseClock(text, s string) (time.Duration, bool, error) {
	fields := strings.Split(s, ":")
	if len(fields) != 3 {
		return 0, false, durationError(text)
	}
	days := "0"
	if d, h, ok := strings.Cut(fields[0], "."); ok {
		days, fields[0] = d, h
	}
	var total exactDuration
	for i, f := range append([]string{days}, fields...) {
		unit := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}[i]
		digits := "0123456789"
		if unit == time.Second {
			digits += "."
		}
		if strings.Trim(f, digits) != "" || !total.add(f, unit) {
			return 0, false, durationError(text)
		}
	}
	d, never := total.duration()
	return d, never, nil
}

// An exactDuration is a lossless sum of durations, so that ParseDuration returns exactly the
// duration that FormatDuration formatted.
type exactDuration struct {
	ns     big.Rat
	months big.Int // twelve for each year
}

// addMonths adds a number of months, or of years, and reports whether it is a whole number.
func (e *exactDuration) addMonths(number string, years bool) bool {
	n, ok := new(big.Int).SetString(number, 10)
	if !ok {
		return false
	}
	if years {
		n.Mul(n, big.NewInt(12))
	}
	e.months.Add(&e.months, n)
	return true
}

// add adds number times unit, and reports whether number, which consists of digits and points, is
// valid.
func (e *exactDuration) add(number string, unit time.Duration) bool {
	var n big.Rat
	if _, ok := n.SetString(number); !ok {
		return false
	}
	e.ns.Add(&e.ns, n.Mul(&n, new(big.Rat).SetInt64(int64(unit))))
	return true
}

// duration returns the sum to the nearest nanosecond, or never if it does not fit.
func (e *exactDuration) duration() (d time.Duration, never bool) {
	years, months := new(big.Int).DivMod(&e.months, big.NewInt(12), new(big.Int))
	days := years.Add(years.Mul(years, big.NewInt(365)), months.Mul(months, big.NewInt(30)))
	e.ns.Add(&e.ns, new(big.Rat).SetInt(days.Mul(days, big.NewInt(int64(24*time.Hour)))))
	e.ns.Add(&e.ns, big.NewRat(1, 2))
	n := new(big.Int).Quo(e.ns.Num(), e.ns.Denom())
	if !n.IsInt64() {
		return 0, true
	}
	return time.Duration(n.Int64()), false
}

// FormatDuration formats d in ISO 8601, with hours, minutes and seconds below a day, and zero
// or less, which means never, as MaxDurationText.
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
