package route_test

import (
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/views/page/overview"
)

// TestExpirationsOnTheEdge checks that each bucket of the horizon lists as many messages as it
// counts, even if messages expire exactly at its limits or a millisecond before or after.
func TestExpirationsOnTheEdge(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "q", engine.Config{})
		for _, left := range []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 24 * time.Hour} {
			for _, by := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
				w.send("q", engine.Content{TTL: left + by})
			}
		}
		counted := 0
		for _, b := range as[overview.Expirations](w, "/n/default/expirations").Horizon.Buckets {
			x := as[overview.Expirations](w, "/n/default/expirations?within="+b.Key)
			if n := b.Dead + b.Lost; len(x.Board) != n || x.All != n {
				t.Errorf("%s counts %d messages, but lists %d of %d", b.Key, n, len(x.Board), x.All)
			}
			counted += len(x.Board)
		}
		if counted != 12 {
			t.Errorf("%d messages are listed", counted)
		}
	})
}
