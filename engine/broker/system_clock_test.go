package broker

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// The approximate time equals the clock's, whether the clock began behind the system's time, a
// little ahead of it, so that it waits, or so far ahead that the recorded time is not trusted.
func TestGlance(t *testing.T) {
	for name, lead := range map[string]time.Duration{"behind": -time.Hour, "ahead": 30 * time.Second, "far ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSystemClock()
				c.startFrom(engine.At(time.Now().Add(lead)))
				before := engine.Instant(0)
				for range 4 {
					seen := c.approximate()
					if now := c.now(); seen != now || now < before {
						t.Errorf("at %v: the approximate time is %v, the clock's %v, before %v", time.Now(), seen, now, before)
					}
					before = seen
					time.Sleep(20 * time.Second)
				}
				if system := engine.At(time.Now()); c.approximate() != system {
					t.Errorf("in the end the approximate time is %v, the system's %v", c.approximate(), system)
				}
			})
		})
	}
}

// At a take-over, at start or when the store is opened again, the former owner's clock may have
// been ahead. What it decided stays in the past here, if its lead was at most a minute. Beyond
// that, this machine's clock is trusted (see maxClockLead).
func TestClockAfterATakeOver(t *testing.T) {
	for name, tc := range map[string]struct {
		lead     time.Duration
		believed bool
	}{
		"behind":             {-time.Hour, true},
		"ahead":              {30 * time.Second, true},
		"a minute ahead":     {time.Minute, true},
		"more than a minute": {time.Minute + time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSystemClock()
				for range 2 { // the second round is a store that is opened again
					before := c.now()
					recorded := engine.At(time.Now().Add(tc.lead))
					distrusted := c.startFrom(recorded)
					if (distrusted == 0) != tc.believed {
						t.Fatalf("distrusted by %v", distrusted)
					}
					for range 100 {
						now := c.now()
						if now < before || tc.believed && now < recorded {
							t.Fatalf("the time is %v, was %v, and %v was recorded", now, before, recorded)
						}
						before = now
						time.Sleep(time.Second)
					}
					if system := engine.At(time.Now()); c.now() != system {
						t.Errorf("in the end the time is %v, the system's %v", c.now(), system)
					}
				}
			})
		})
	}
}
