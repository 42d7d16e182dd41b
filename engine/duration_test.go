package engine_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

func TestPROP_15(t *testing.T) {
	for text, want := range map[string]string{"P0Y0M0DT0H30M0S": "PT30M", "P1Y": "P365D", "P1M": "P30D", "P14M": "P425D"} {
		for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
			p, _ := engine.LookupProperty(kind, "DefaultMessageTimeToLive")
			var c engine.Config
			if err := p.Set(&c, engine.DefaultLimits(), kind, text); err != nil || p.Text(c) != want {
				t.Errorf("%s of a %s is %s, want %s: %v", text, kind, p.Text(c), want, err)
			}
		}
	}
}

func TestParseDuration(t *testing.T) {
	const never, bad = -1, -2
	day := 24 * time.Hour
	for in, want := range map[string]time.Duration{
		// ISO 8601
		"PT1M": time.Minute, "PT1M30S": 90 * time.Second, "P14D": 14 * day, "P1DT2H3M4.5S": 26*time.Hour + 3*time.Minute + 4500*time.Millisecond,
		"pt5s": 5 * time.Second, "P2W": 14 * day, "PT0S": 0, "PT0.001S": time.Millisecond, "PT36H": 36 * time.Hour, " PT1M ": time.Minute,
		"P": bad, "PT": bad, "PT1D": bad, "PT1": bad, "P1": bad, "PTT1S": bad, "PT1.2.3S": bad, "-PT1S": bad, "PT-1S": bad, "P1H": bad,
		// PROP-15: years and months
		"P0Y0M0DT0H30M0S": 30 * time.Minute, "P1Y": 365 * day, "P1M": 30 * day, "P12M": 365 * day, "P13M": 395 * day, "P1Y1M1DT1M": 396*day + time.Minute,
		"P11M": 330 * day, "P2Y": 730 * day, "P0Y": 0, "P0M": 0, "p1y": 365 * day, "P1YT0S": 365 * day, "P300Y": never, "P4000M": never, "P999999999999Y": never,
		"P1.5Y": bad, "P1.5M": bad, "PT1Y": bad, "P1YM": bad, "PY": bad, "1y": bad, "P-1M": bad,
		// short form
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "2w": 14 * day, "250ms": 250 * time.Millisecond, "1.5h": 90 * time.Minute, "0s": 0,
		"": bad, "5": bad, "s": bad, "5x": bad, "-5s": bad, "5 s": bad, ".s": bad, "1e3s": bad,
		// .NET
		"00:01:30": 90 * time.Second, "14.00:00:00": 14 * day, "1.02:03:04.5": 26*time.Hour + 3*time.Minute + 4500*time.Millisecond, "00:00:00": 0,
		"00:00:00.0010000": time.Millisecond, "01:30": bad, "1:2:3:4": bad, ":::": bad, "-00:00:01": bad, "a:b:c": bad, "1..2:3:4": bad,
		// TTL-10: never
		"never": never, "NEVER": never, "max": never, engine.MaxDurationText: never, "10675199.02:48:05.4775807": never, "P999999999D": never,
		"P106751DT23H47M16.854775807S": math.MaxInt64, "9223372036.854775807s": math.MaxInt64, "9223372036.854775808s": never, "9223372037s": never, "106752.00:00:00": never,
		"P106751D": 106751 * day, "106751.00:00:00": 106751 * day, "P106751DT23H47M16S": math.MaxInt64 / time.Second * time.Second,
		strings.Repeat("1", 65) + "s": bad, strings.Repeat("9", 60) + "s": never, "\xff": bad, "PT1S\x00": bad,
	} {
		d, isNever, err := engine.ParseDuration(in)
		switch {
		case want == bad:
			if err == nil {
				t.Errorf("%q is %v, %v", in, d, isNever)
			}
		case err != nil || isNever != (want == never) || !isNever && d != want || isNever && d != 0:
			t.Errorf("%q is %v, %v, %v", in, d, isNever, err)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: engine.MaxDurationText, -1: engine.MaxDurationText,
		time.Minute: "PT1M", 90 * time.Second: "PT1M30S", 24 * time.Hour: "P1D", 36*time.Hour + time.Millisecond: "P1DT12H0.001S",
		1: "PT0.000000001S", 59*time.Second + 999_999_999: "PT59.999999999S",
	} {
		if got := engine.FormatDuration(d); got != want {
			t.Errorf("%d is %s; want %s", d, got, want)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"PT1M30S", "P14D", "1h30m", "14.00:00:00", "never", engine.MaxDurationText, "9223372036.854775808s", "P106751DT23H47M16.9S", "1w1w"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, never, err := engine.ParseDuration(s)
		switch {
		case err != nil && (d != 0 || never), never && d != 0, d < 0:
			t.Fatalf("%q is %v, %v, %v", s, d, never, err)
		case err != nil || d == 0:
			return
		}
		if again, never, err := engine.ParseDuration(engine.FormatDuration(d)); again != d || never || err != nil {
			t.Fatalf("%q is %d, formatted as %s, which is parsed as %d, %v, %v", s, d, engine.FormatDuration(d), again, never, err)
		}
	})
}

func TestInstant(t *testing.T) {
	const at engine.Instant = 1_800_000_000_000
	for name, tc := range map[string]struct{ got, want engine.Instant }{
		"a whole millisecond":         {at.Add(time.Millisecond), at + 1},
		"rounded up":                  {at.Add(1), at + 1},
		"and up":                      {at.Add(time.Millisecond + 1), at + 2},
		"nothing":                     {at.Add(0), at},
		"back":                        {at.Add(-time.Second), at - 1000},
		"TTL-10 saturates":            {engine.Forever.Add(1), engine.Forever},
		"TTL-10 saturates from afar":  {(engine.Forever - 10).Add(math.MaxInt64), engine.Forever},
		"TTL-10 the longest there is": {at.Add(math.MaxInt64), at + math.MaxInt64/1_000_000 + 1},
		"cut to milliseconds":         {engine.At(time.UnixMicro(1_999)), 1},
		"of no time":                  {engine.At(time.Time{}), 0},
		"there and back":              {engine.At(at.Time()), at},
		"the end of time":             {engine.At(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)), engine.Forever},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %d; want %d", name, tc.got, tc.want)
		}
	}
	if !engine.Instant(0).Time().IsZero() || at.Time().Location() != time.UTC {
		t.Error("Instant(0).Time() is not zero, or a time is not in UTC")
	}
	for name, tc := range map[string]struct{ got, want time.Duration }{
		"difference":                    {at.Sub(at - 5), 5 * time.Millisecond},
		"TTL-10 a difference saturates": {engine.Forever.Sub(at), math.MaxInt64},
		"TTL-10 and the other way":      {at.Sub(engine.Forever), math.MinInt64},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %d; want %d", name, tc.got, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		deadline, now engine.Instant
		want          bool
	}{
		"DEC-1 a moment early": {at, at - 1, false},
		"DEC-1 on the dot":     {at, at, true},
		"DEC-1 later":          {at, at + 1, true},
		"never":                {0, at, false},
	} {
		if got := tc.deadline.Passed(tc.now); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
