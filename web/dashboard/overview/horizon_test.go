package overview

import (
	"testing"
	"time"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
)

// TestStretchesAreAsUrgentAsWhatIsInThem checks that each bucket of the horizon has the same tone
// as the messages at both of its ends, and a name in the viewer's language.
func TestStretchesAreAsUrgentAsWhatIsInThem(t *testing.T) {
	before := time.Duration(0)
	for _, s := range horizonRanges {
		last := s.limit
		if last == 0 {
			last = 365 * 24 * time.Hour
		}
		for _, left := range []time.Duration{before + time.Second, last} {
			if want := (component.Clock{At: time.Unix(0, 0).Add(left), Now: time.Unix(0, 0)}).Tone(t.Context()); s.tone() != want {
				t.Errorf("%s left has the tone %s, and its bucket %s has %s", left, want, s.key, s.tone())
			}
		}
		if got := s.name(locale.With(t.Context(), "cs")); s.key == "15m" && got != "15\u00a0min" {
			t.Errorf("%s has the name %q", s.key, got)
		}
		before = s.limit
	}
}

// TestTypedLength checks that InputDuration formats durations as users type them, which is the same
// in every language.
func TestTypedLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "never", 250 * time.Millisecond: "250ms", 1500 * time.Millisecond: "1.5s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", 90 * time.Minute: "1h30m",
		10 * time.Hour: "10h", 24 * time.Hour: "1d", 36 * time.Hour: "1d12h", 14 * 24 * time.Hour: "14d",
	} {
		if got := pages.InputDuration(d); got != want {
			t.Errorf("%v is typed %s, want %s", d, got, want)
		}
	}
}
