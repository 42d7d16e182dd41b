package locale

import (
	"strings"
	"testing"
	"time"
)

// TestMoment checks the format of dates in each language, with days and months of one digit and of
// two.
func TestMoment(t *testing.T) {
	first, last := time.Date(2026, 2, 1, 3, 4, 5, 0, time.UTC), time.Date(2026, 11, 25, 13, 5, 41, 0, time.UTC)
	for tag, want := range map[string][2]string{
		"en":    {"2026-02-01 03:04:05", "2026-11-25 13:05:41"},
		"pt-PT": {"01/02/2026 03:04:05", "25/11/2026 13:05:41"},
		"pt-BR": {"01/02/2026 03:04:05", "25/11/2026 13:05:41"},
		"cs":    {"1. 2. 2026 03:04:05", "25. 11. 2026 13:05:41"},
		"zh-CN": {"2026/2/1 03:04:05", "2026/11/25 13:05:41"},
	} {
		ctx := With(t.Context(), tag)
		for i, at := range []time.Time{first, last} {
			date, clock, _ := strings.Cut(DateTime(ctx, at.In(time.FixedZone("", 7*3600))), " ")
			if got := strings.ReplaceAll(date, "\u00a0", " ") + " " + clock; got != want[i] {
				t.Errorf("%s: %s, want %s", tag, got, want[i])
			}
			if date != Date(ctx, at) {
				t.Errorf("%s: %q has the date %q", tag, DateTime(ctx, at), Date(ctx, at))
			}
		}
	}
	for _, l := range Languages() {
		if dates[l.Tag] == "" {
			t.Errorf("the test has no date in %s", l.Name)
		}
	}
}
