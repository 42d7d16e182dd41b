package broker

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// A glance is the clock, wherever it began: where the system's is, a little
// ahead of it, where it waits, and where the record is not believed.
func TestGlance(t *testing.T) {
	for name, lead := range map[string]time.Duration{"behind": -time.Hour, "ahead": 30 * time.Second, "far ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				c.follow(engine.At(time.Now().Add(lead)))
				before := engine.Instant(0)
				for range 4 {
					seen := c.glance()
					if now := c.now(); seen != now || now < before {
						t.Errorf("at %v: a glance is %v, the clock %v, before %v", time.Now(), seen, now, before)
					}
					before = seen
					time.Sleep(20 * time.Second)
				}
				if system := engine.At(time.Now()); c.glance() != system {
					t.Errorf("in the end it is %v, the system's %v", c.glance(), system)
				}
			})
		})
	}
}
