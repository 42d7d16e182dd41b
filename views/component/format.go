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

// unit returns n with the language's abbreviation of a unit of time. Span and Length write each
// part with it.
func unit(ctx context.Context, id, n string) string { return locale.T(ctx, id, locale.Args{"N": n}) }

// SpanWords returns the texts with which scripts write times, by the letter of the unit, with {n}
// in place of the number.
func SpanWords(ctx context.Context) map[string]string {
	const n = "{n}"
	return map[string]string{"d": unit(ctx, "span.d", n), "h": unit(ctx, "span.h", n), "m": unit(ctx, "span.m", n), "s": unit(ctx, "span.s", n)}
}

// Span writes a running time: 48s, 4m 12s, 2h 05m, 3d 4h, in the units of the language. Its
// width changes only when a unit appears or disappears. The script writes the same.
func Span(ctx context.Context, d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return unit(ctx, "span.s", strconv.Itoa(s))
	case s < 3600:
		return unit(ctx, "span.m", strconv.Itoa(s/60)) + " " + unit(ctx, "span.s", twoDigits(s%60))
	case s < 86400:
		return unit(ctx, "span.h", strconv.Itoa(s/3600)) + " " + unit(ctx, "span.m", twoDigits(s%3600/60))
	default:
		return unit(ctx, "span.d", strconv.Itoa(s/86400)) + " " + unit(ctx, "span.h", strconv.Itoa(s%86400/3600))
	}
}

// Length writes a fixed duration, in the units of Span but without empty ones: 30s, 5m, 1h 05m, 7d,
// 1.5s. The script writes the same, to the second. Users type durations in another format, which is
// the same in every language.
func Length(ctx context.Context, d time.Duration) string {
	if d > 0 && d < time.Second {
		return unit(ctx, "span.milli", figure(ctx, float64(d)/float64(time.Millisecond)))
	}
	var parts []string
	add := func(id, n string, pads bool) {
		if pads && len(parts) > 0 && len(n) == 1 {
			n = "0" + n
		}
		parts = append(parts, unit(ctx, id, n))
	}
	for _, u := range []struct {
		id   string
		size time.Duration
		pads bool
	}{{"span.d", day, false}, {"span.h", time.Hour, false}, {"span.m", time.Minute, true}} {
		if n := d / u.size; n > 0 {
			add(u.id, strconv.FormatInt(int64(n), 10), u.pads)
			d -= n * u.size
		}
	}
	if d > 0 || len(parts) == 0 {
		add("span.s", figure(ctx, d.Seconds()), true)
	}
	return strings.Join(parts, " ")
}

// LengthOrNever is Length, but writes "never" for zero.
func LengthOrNever(ctx context.Context, d time.Duration) string {
	if d == 0 {
		return locale.T(ctx, "time.never")
	}
	return Length(ctx, d)
}

// figure writes f with all its digits.
func figure(ctx context.Context, f float64) string {
	_, digits, _ := strings.Cut(strconv.FormatFloat(f, 'f', -1, 64), ".")
	return locale.Decimal(ctx, f, len(digits))
}

// LongSpan writes a running time in words, for screen readers.
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

// ShortCount writes a count in little space: 1,284 and 12,400 in full, then 184k and 2.3M.
func ShortCount(ctx context.Context, n int) string {
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

func twoDigits(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// iso returns an instant in ISO 8601, to the millisecond, or "" for zero.
func iso(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05") }

// English returns the lang attribute for an element with English text of the server, or nil if the
// page is in English too.
func English(ctx context.Context) templ.Attributes {
	if locale.Lang(ctx) == "en" {
		return nil
	}
	return templ.Attributes{"lang": "en"}
}
