package engine_test

import (
	"testing"
	"time"

	"mayfly/engine"
)

// After a restart, deletion is never early, and at most half a minute late.
func TestIdlenessSurvives(t *testing.T) {
	run(t, rules{
		"IDLE-16, IDLE-17": func(c *clocked) {
			c.queue("q", temporary)
			for _, d := range []time.Duration{3 * second, 9 * second, 4 * minute, 4*minute + 9*second} { // the last use is not stored
				c.at(d)
				_, err := c.ns.Peek(c.now, "q", 1, 1, "")
				c.must(err)
				c.step()
			}
			c.restart()
			c.restart()
			c.at(9*minute + 9*second - ms)
			c.equal(c.exists("q"), true)
			c.at(9*minute + 39*second)
			c.equal(c.exists("q"), false)
		},
		"IDLE-17 down for long": func(c *clocked) {
			c.queue("q", temporary)
			c.at(hour)
			c.restart()
			c.equal(c.exists("q"), false)
		},
		"IDLE-17 pinned": func(c *clocked) {
			c.queue("q", temporary)
			c.must(c.ns.Pin(c.now, "q", ""))
			c.step()
			c.restart()
			c.must(c.ns.Unpin(c.now, "q", ""))
		},
		"IDLE-16": func(c *clocked) { // its receivers get no warning, but an error when it is deleted
			c.queue("q", temporary)
			link := c.attach("q", 0)
			c.at(idle - second)
			c.equal(c.exists("q"), true)
			c.equal(len(c.ended), 0)
			c.at(idle + 30*second)
			c.sweep()
			if c.way != restarted {
				c.wantNotFound(link)
			}
			c.refused(engine.ErrNotFound, func() error { return c.ns.Attach(c.now, engine.Link{ID: 90, Path: "q"}) })
			batch := c.submissions(engine.Content{})
			c.refused(engine.ErrNotFound, func() error { _, err := c.ns.Send(c.now, "q", batch, ""); return err })
		},
	})
	run(t, rules{
		"IDLE-17 open receiver": func(c *clocked) { // its use is stored while it is attached
			c.queue("q", temporary)
			c.attach("q", 1)
			c.at(hour)
			c.restart()
			c.at(hour + idle - 11*second)
			c.equal(c.exists("q"), true)
			c.at(hour + idle + 30*second)
			c.equal(c.exists("q"), false)
		},
	}, swept)
}
