package broker

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// A glance is the clock, wherever it began: at the system's time, a little ahead of it, where
// it waits, and where the record is not trusted.
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
						t.Errorf("at %v: a glance is %v, the clock %v, before %v", time.Now(), seen, now, before)
					}
					before = seen
					time.Sleep(20 * time.Second)
				}
				if system := engine.At(time.Now()); c.approximate() != system {
					t.Errorf("in the end it is %v, the system's %v", c.approximate(), system)
				}
			})
		})
	}
}

// A take-over, at start or when the store is opened again: the former owner's clock was ahead,
// and what it decided at its instants stays in the past here. That holds up to a minute;
// beyond that, this machine's clock is trusted (see maxClockLead).
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
				for range 2 { // the second one is that of a store opened again
					before := c.now()
					recorded := engine.At(time.Now().Add(tc.lead))
					distrusted := c.startFrom(recorded)
					if (distrusted == 0) != tc.believed {
						t.Fatalf("distrusted by %v", distrusted)
					}
					for range 100 {
						now := c.now()
						if now < before || tc.believed && now < recorded {
							t.Fatalf("it is %v, was %v, and %v was recorded", now, before, recorded)
						}
						before = now
						time.Sleep(time.Second)
					}
					if system := engine.At(time.Now()); c.now() != system {
						t.Errorf("in the end it is %v, the system's %v", c.now(), system)
					}
				}
			})
		})
	}
}
