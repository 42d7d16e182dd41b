package engine_test

import (
	"fmt"
	"testing"

	"mayfly/engine"
)

// TestLinks tests how many receivers can be attached, and in which order they are served.
func TestLinks(t *testing.T) {
	few := func(c *clocked) { c.limit(func(l *engine.Limits) { l.AttachedReceivers = 2 }) }
	run(t, rules{
		"§1.5 with sessions": func(c *clocked) { // a link that holds a session is attached, and the session's lock remains when the link is lost
			few(c)
			c.queue("q", sessionful)
			a, b := c.hold("q", "a"), c.hold("q", "b")
			third := func(want engine.SessionRequest) func() error {
				return func() error {
					return c.ns.Attach(c.now, engine.Link{ID: 1000, Path: "q", Session: want})
				}
			}
			c.refused(engine.ErrBusy, third(named("c")))
			c.refused(engine.ErrBusy, third(next))
			c.refused(engine.ErrSessionLocked, third(named("a")))
			c.lose(a, engine.DetachedLost)
			c.refused(engine.ErrBusy, third(named("c")))
			c.say("q", "d", "m1")
			d := c.hold("q", "d") // the session has a message
			c.lose(d, engine.DetachedByClient)
			c.lose(b, engine.DetachedByClient)
			e := c.hold("q", "e")
			c.refused(engine.ErrBusy, third(named("c")))
			c.lose(e, engine.DetachedLost)
			c.pass(minute)
			c.sweep()
			c.hold("q", "a")
		},
		"§1.5 one and all": func(c *clocked) { // the receivers of a topic's subscriptions are summed, those of others are not
			few(c)
			c.topic("t", engine.Config{})
			c.queue("q", engine.Config{})
			s, o := c.sub("t", "s", engine.Config{}), c.sub("t", "o", sessionful)
			c.attach(s, 0)
			c.hold(o, "a")
			c.refused(engine.ErrBusy, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1000, Path: s}) })
			c.attach("q", 0)
			c.remove(o) // its receivers are detached too
			again := c.attach(s, 0)
			c.refused(engine.ErrBusy, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1000, Path: s}) })
			c.detach(again, engine.DetachedByClient)
			c.attach(s, 0)
		},
		"in rotation": func(c *clocked) { // one message to each; a receiver that got one goes to the end
			c.queue("q", engine.Config{})
			a, idle, b := c.attach("q", 3), c.attach("q", 0), c.attach("q", 3)
			c.sends("q", "m1", "m2", "m3")
			late := c.attach("q", 3)
			c.sends("q", "m4", "m5", "m6", "m7")
			c.equal(fmt.Sprint(c.delivered(a), c.delivered(b), c.delivered(late), c.delivered(idle)), "[m1 m3 m5] [m2 m4 m7] [m6] []")
		},
		"once and at once": func(c *clocked) { // receivers with SingleMessage or NoWait end, the others stay
			c.queue("q", engine.Config{})
			c.sends("q", "m1", "m2", "m3")
			stays := c.attach("q", 0)
			open := func(id engine.LinkID, credit int, l engine.Link) {
				l.ID, l.Path = id, "q"
				c.must(c.ns.Attach(c.now, l))
				c.must(c.ns.Credit(c.now, id, credit))
			}
			open(101, 2, engine.Link{SingleMessage: true})
			open(102, 5, engine.Link{SingleMessage: true, NoWait: true})
			open(103, 1, engine.Link{SingleMessage: true})
			open(104, 1, engine.Link{NoWait: true})
			open(105, 1, engine.Link{SingleMessage: true})
			c.step()
			c.equal(fmt.Sprint(c.delivered(101), c.delivered(102), c.delivered(103), c.delivered(104)), "[m1] [m2] [m3] []")
			var ended []engine.LinkID
			for _, e := range c.ended {
				c.must(e.Err)
				ended = append(ended, e.ID)
			}
			c.equal(fmt.Sprint(ended), "[101 102 103 104]")
			c.must(c.ns.Credit(c.now, stays, 1))
			c.sends("q", "m4", "m5")
			c.equal(fmt.Sprint(c.delivered(105), c.delivered(stays)), "[m4] [m5]")
			c.equal(len(c.ended), 5)
		},
	}, asked)
}
