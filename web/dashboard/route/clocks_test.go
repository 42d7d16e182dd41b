package route_test

import (
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
)

func TestClockTime(t *testing.T) {
	now := engine.At(time.Date(2026, 7, 14, 23, 59, 59, 0, time.UTC))
	for in, want := range map[time.Duration][2]string{
		-23 * time.Hour: {"00:59:59", "00:59:59"},
		0:               {"23:59:59", "23:59:59"},
		time.Second:     {"2026-07-15 00:00:00", "2026/7/15 00:00:00"},
		-24 * time.Hour: {"2026-07-13 23:59:59", "2026/7/13 23:59:59"},
	} {
		for i, tag := range []string{"en", "zh-CN"} {
			if got := pages.ClockTime(locale.With(t.Context(), tag), now.Add(in), now); got != want[i] {
				t.Errorf("%v from now is %s in %s, want %s", in, got, tag, want[i])
			}
		}
	}
}
