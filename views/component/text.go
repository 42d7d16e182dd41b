package component

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/locale"
)

const day = 24 * time.Hour

// Span writes a running time: 48s, 4m 12s, 2h 05m, 3d 4h, or as the language has
// it. Its width changes only where a unit comes or goes. The script writes the same,
// with SpanWords.
func Span(ctx context.Context, d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return locale.T(ctx, "span.s", locale.Args{"A": s})
	case s < 3600:
		return locale.T(ctx, "span.ms", locale.Args{"A": s / 60, "B": two(s % 60)})
	case s < 86400:
		return locale.T(ctx, "span.hm", locale.Args{"A": s / 3600, "B": two(s % 3600 / 60)})
	default:
		return locale.T(ctx, "span.dh", locale.Args{"A": s / 86400, "B": s % 86400 / 3600})
	}
}

// SpanWords are how scripts write a running time: by its units, with {a} and {b} in
// the places of the numbers.
func SpanWords(ctx context.Context) map[string]string {
	words := map[string]string{}
	for unit, id := range map[string]string{
		"s": "span.s", "m": "span.m", "ms": "span.ms", "h": "span.h", "hm": "span.hm", "dh": "span.dh",
	} {
		words[unit] = locale.T(ctx, id, locale.Args{"A": "{a}", "B": "{b}"})
	}
	return words
}

// Length writes a time somebody chose, without its empty units: 30s, 5m,
// 1h 30m, 7d, 1.5s. That is how it is typed, in every language.
func Length(d time.Duration) string {
	if d <= 0 {
		return "0s"
	}
	if d < time.Second {
		return d.String()
	}
	var parts []string
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}} {
		if n := d / u.size; n > 0 {
			parts = append(parts, strconv.FormatInt(int64(n), 10)+u.name)
			d -= n * u.size
		}
	}
	if d > 0 {
		parts = append(parts, strconv.FormatFloat(d.Seconds(), 'f', -1, 64)+"s")
	}
	return strings.Join(parts, " ")
}

// LongSpan writes a running time in words, for those who listen.
func LongSpan(ctx context.Context, d time.Duration) string {
	s := int(d / time.Second)
	var words []string
	add := func(text string, n int) {
		if n > 0 {
			words = append(words, text)
		}
	}
	days, hours, minutes, rest := s/86400, s%86400/3600, s%3600/60, s%60
	add(locale.N(ctx, "unit.day", days), days)
	add(locale.N(ctx, "unit.hour", hours), hours)
	if days == 0 {
		add(locale.N(ctx, "unit.minute", minutes), minutes)
	}
	if days == 0 && hours == 0 {
		add(locale.N(ctx, "unit.second", rest), rest)
	}
	if len(words) == 0 {
		return locale.N(ctx, "unit.second", 0)
	}
	return strings.Join(words, " ")
}

// Bytes writes a size: 640 B, 1.4 KB, 12 MB.
func Bytes(ctx context.Context, n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, names := float64(n)/unit, "KMGTP"
	for f >= unit && len(names) > 1 {
		f, names = f/unit, names[1:]
	}
	if f < 10 {
		return locale.Decimal(ctx, f, 1) + " " + names[:1] + "B"
	}
	return locale.Decimal(ctx, f, 0) + " " + names[:1] + "B"
}

// Short writes a count in little room: 1,284 and 12,400 in full, then 184k
// and 2.3M.
func Short(ctx context.Context, n int) string {
	switch {
	case n < 100_000:
		return locale.Number(ctx, n)
	case n < 1_000_000:
		return strconv.Itoa(n/1000) + "k"
	default:
		if n/100_000%10 == 0 {
			return locale.Number(ctx, n/1_000_000) + "M"
		}
		return locale.Decimal(ctx, float64(n/100_000)/10, 1) + "M"
	}
}

func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// iso is an instant as machines read it, to the millisecond; empty for none.
func iso(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05") }

// English is the language of what the server says in its own words, for an element of a
// page in another one.
func English(ctx context.Context) templ.Attributes {
	if locale.Lang(ctx) == "en" {
		return nil
	}
	return templ.Attributes{"lang": "en"}
}
