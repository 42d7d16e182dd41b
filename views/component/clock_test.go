package component

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/view"
)

var noon = time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)

func html(ctx context.Context, t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestToneFollowsTheTimeLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		clock Clock
		want  Tone
	}{
		"never":                      {Clock{Now: noon}, Never},
		"a fifth and a second":       {Clock{At: noon.Add(61 * time.Second), Of: 5 * time.Minute, Now: noon}, Plenty},
		"a fifth and a moment":       {Clock{At: noon.Add(time.Minute + time.Millisecond), Of: 5 * time.Minute, Now: noon}, Plenty},
		"a fifth":                    {Clock{At: noon.Add(60 * time.Second), Of: 5 * time.Minute, Now: noon}, Low},
		"a twentieth and a second":   {Clock{At: noon.Add(16 * time.Second), Of: 5 * time.Minute, Now: noon}, Low},
		"a twentieth":                {Clock{At: noon.Add(15 * time.Second), Of: 5 * time.Minute, Now: noon}, Critical},
		"11 s of half a minute":      {Clock{At: noon.Add(11 * time.Second), Of: 30 * time.Second, Now: noon}, Plenty},
		"10 s of half a minute":      {Clock{At: noon.Add(10 * time.Second), Of: 30 * time.Second, Now: noon}, Low},
		"5 s of half a minute":       {Clock{At: noon.Add(5 * time.Second), Of: 30 * time.Second, Now: noon}, Critical},
		"a day of a fortnight":       {Clock{At: noon.Add(24 * time.Hour), Of: 14 * 24 * time.Hour, Now: noon}, Plenty},
		"an hour of a fortnight":     {Clock{At: noon.Add(time.Hour), Of: 14 * 24 * time.Hour, Now: noon}, Low},
		"6 minutes of a fortnight":   {Clock{At: noon.Add(6 * time.Minute), Of: 14 * 24 * time.Hour, Now: noon}, Low},
		"5 minutes of a fortnight":   {Clock{At: noon.Add(5 * time.Minute), Of: 14 * 24 * time.Hour, Now: noon}, Critical},
		"over":                       {Clock{At: noon, Of: 5 * time.Minute, Now: noon}, Critical},
		"fixed, whatever is left":    {Clock{At: noon, Of: time.Minute, Now: noon, As: Lock}, Lock},
		"of nothing, which is over":  {Clock{At: noon, Now: noon}, Critical},
		"left, of an unknown length": {Clock{At: noon.Add(61 * time.Second), Now: noon}, Plenty},
		"little of an unknown one":   {Clock{At: noon.Add(time.Minute), Now: noon}, Low},
	} {
		if got := tc.clock.Tone(t.Context()); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestToneIsTheSameEverywhere checks that the remaining time of a message has the same tone and
// limits in every component: in a row, on the board and its rows, on the card of a deferred
// message, and large on the message's own page.
func TestToneIsTheSameEverywhere(t *testing.T) {
	for _, left := range []time.Duration{time.Second, 5 * time.Minute, 6 * time.Minute, 24 * time.Minute, 25 * time.Minute, time.Hour} {
		c := Clock{At: noon.Add(left), Of: 2 * time.Hour, Now: noon}
		want := `data-tone="` + string(Urgency(left, c.Of)) + `"`
		for name, piece := range map[string]templ.Component{
			"row": TTL(c, LockInfo{}), "board": Flaps(c), "passport": LargeTTL(c, LockInfo{}, ExpiryOutcome{}), "bay": DeferredCard(DeferredMessage{Key: "1", Clock: c, Now: noon}),
			"departure": BoardRow(ExpiringMessage{Key: "1", Clock: c}),
		} {
			got := html(t.Context(), t, piece)
			if !strings.Contains(got, want) || !strings.Contains(got, `data-crit="300"`) || !strings.Contains(got, `data-low="1440"`) {
				t.Errorf("%s left in a %s: %s is missing, or the limits differ, in %s", left, name, want, got)
			}
		}
	}
}

func TestClocksCountToZeroAndStayThere(t *testing.T) {
	for name, tc := range map[string]struct {
		left time.Duration
		want string
	}{
		"a moment":          {time.Millisecond, "1s"},
		"a second":          {time.Second, "1s"},
		"a second and some": {1001 * time.Millisecond, "2s"},
		"none":              {0, "expiring…"},
		"less than none":    {-time.Hour, "expiring…"},
	} {
		c := Clock{At: noon.Add(tc.left), Of: time.Minute, Now: noon}
		if got := c.reading(t.Context()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestStandingStillOnlyTheStateShows(t *testing.T) {
	pieces := func(now time.Time) map[string]templ.Component {
		c := Clock{At: noon.Add(70 * time.Second), Of: 5 * time.Minute, Now: now}
		hold := LockInfo{Until: noon.Add(30 * time.Second), Of: time.Minute}
		return map[string]templ.Component{
			"ring":      TTL(c, hold),
			"flaps":     Flaps(c),
			"hourglass": Hourglass(c, IdleRunning),
			"past":      Ago(noon.Add(-time.Minute), now),
			"row":       BoardRow(ExpiringMessage{Key: "1", Clock: c}),
			"bay":       DeferredCard(DeferredMessage{Key: "1", Clock: c, Hold: hold, When: noon.Add(-time.Minute), Now: now}),
		}
	}
	still := view.WithFrozenClocks(t.Context())
	later := pieces(noon.Add(65 * time.Second))
	for name, c := range pieces(noon) {
		if a, b := html(still, t, c), html(still, t, later[name]); a != b {
			t.Errorf("%s changes as time passes:\n%s\n%s", name, a, b)
		}
		if a, b := html(t.Context(), t, c), html(t.Context(), t, later[name]); a == b {
			t.Errorf("%s does not show the time: %s", name, a)
		}
	}
}

func TestNeverIsNotAnInstant(t *testing.T) {
	got := html(t.Context(), t, TTL(Clock{Now: noon}, LockInfo{}))
	if !strings.Contains(got, "never") || strings.Contains(got, "<time") {
		t.Errorf("without an end, the page shows %s", got)
	}
}
