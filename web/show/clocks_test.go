package show_test

import (
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/web/show"
)

func TestClockTime(t *testing.T) {
	now := engine.At(time.Date(2026, 7, 14, 23, 59, 59, 0, time.UTC))
	for in, want := range map[time.Duration]string{
		-23 * time.Hour: "00:59:59",
		0:               "23:59:59",
		time.Second:     "2026-07-15 00:00:00",
		-24 * time.Hour: "2026-07-13 23:59:59",
	} {
		if got := show.ClockTime(now.Add(in), now); got != want {
			t.Errorf("%v from now is %s, want %s", in, got, want)
		}
	}
}
