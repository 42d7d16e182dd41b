package component

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mayfly/views/locale"
)

const day = 24 * time.Hour

// Span writes a running time: 48s, 4m 12s, 2h 05m, 3d 4h. Its width changes
// only where a unit comes or goes. The script writes the same.
func Span(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return strconv.Itoa(s) + "s"
	case s < 3600:
		return strconv.Itoa(s/60) + "m " + two(s%60) + "s"
	case s < 86400:
		return strconv.Itoa(s/3600) + "h " + two(s%3600/60) + "m"
	default:
		return strconv.Itoa(s/86400) + "d " + strconv.Itoa(s%86400/3600) + "h"
	}
}

// Length writes a time somebody chose, without its empty units: 30s, 5m,
// 1h 30m, 7d, 1.5s.
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
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, names := float64(n)/unit, "KMGTP"
	for f >= unit && len(names) > 1 {
		f, names = f/unit, names[1:]
	}
	if f < 10 {
		return fmt.Sprintf("%.1f %cB", f, names[0])
	}
	return fmt.Sprintf("%.0f %cB", f, names[0])
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
		return strconv.FormatFloat(float64(n/100_000)/10, 'f', -1, 64) + "M"
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
