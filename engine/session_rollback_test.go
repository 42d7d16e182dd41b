package engine_test

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

// A refused step has no effect: receivers that waited for a session wait again, in the same order,
// and receivers that held a session still hold it.
func TestSessionRollback(t *testing.T) {
	undone := func(c *clocked, do func()) {
		before := c.picture()
		do()
		c.ns.Match(c.now)
		c.ns.Flush(c.now, true)
		c.ns.Rollback()
		c.must(c.ns.Check())
		if diff := gocmp.Diff(before, c.picture()); diff != "" {
			c.Fatal(diff)
		}
		c.step()
	}
	run(t, rules{
		"granted": func(c *clocked) { // SES-2
			c.queue("q", sessionful)
			for _, id := range []string{"a", "b", "c"} {
				c.say("q", id, id)
			}
			undone(c, func() {
				for i := range engine.LinkID(2) {
					c.must(c.ns.Attach(c.now, engine.Link{ID: 90 + i, Path: "q", Session: next}))
				}
			})
			for _, want := range []string{"a", "b", "c", ""} {
				_, id := c.next("q")
				c.equal(id, want)
			}
		},
		"granted, SES-2 in line": func(c *clocked) { // each session returns to its position in the order, wherever it was and for whatever reason it left
			c.queue("q", sessionful)
			for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
				c.say("q", id, id)
			}
			held := c.hold("q", "f")
			undone(c, func() {
				for i, id := range []string{"c", "e"} {
					c.must(c.ns.Attach(c.now, engine.Link{ID: engine.LinkID(90 + i), Path: "q", Session: named(id)}))
				}
				c.ns.Detach(c.now, held, engine.DetachedByClient) // f becomes available after the others
				n, err := c.ns.BatchDelete(c.now, "q", 2, c.now, "")
				c.must(err)
				c.equal(n, 2) // sessions a and b
				for _, id := range []string{"b", "g", "a"} {
					_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{SessionID: id}), "")
					c.must(err)
				}
				c.must(c.ns.Attach(c.now, engine.Link{ID: 92, Path: "q", Session: named("b")})) // b was in the order twice
				c.must(c.ns.DeadLetterMessage(c.now, c.rows("q")[1].Message.Key, "", "", ""))   // session d has no message now
			})
			line, err := c.ns.AvailableSessions("q", 9)
			c.must(err)
			c.equal(fmt.Sprint(line), "[a b c d e]")
		},
		"waiting in the middle": func(c *clocked) { // a link that has left returns to its position
			c.queue("q", sessionful)
			first, second, third := c.wait("q"), c.wait("q"), c.wait("q")
			undone(c, func() { c.ns.Detach(c.now, second, engine.DetachedByClient) })
			for _, l := range []engine.LinkID{first, second, third} {
				c.say("q", fmt.Sprint(l), "m")
				_, ok := c.granted(l)
				c.equal(ok, true)
			}
		},
		"waiting": func(c *clocked) { // the link that has waited longest is first again
			c.queue("q", sessionful)
			v, w := c.wait("q"), c.wait("q")
			undone(c, func() {
				_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{SessionID: "s"}), "")
				c.must(err)
			})
			c.equal(c.state("q").Sessions, engine.SessionCounts{})
			c.say("q", "s", "m")
			_, ok := c.granted(v)
			c.equal(ok, true)
			_, ok = c.granted(w)
			c.equal(ok, false)
		},
		"given back": func(c *clocked) { // SES-7
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2")
			l := c.hold("q", "s")
			d := c.take(l)
			c.must(c.setState(l, "kept"))
			before := c.about("q", "s")
			undone(c, func() {
				c.ns.Detach(c.now, l, engine.DetachedByClient)
				c.must(c.ns.SetSessionStateAt(c.now, "q", "s", nil, ""))
				c.must(c.ns.SetSessionStateAt(c.now, "q", "t", new("new"), ""))
			})
			c.equal(c.about("q", "s"), before)
			c.equal(c.about("q", "t"), engine.SessionRow{})
			c.wantState(l, "kept", true)
			c.complete(d)
			c.equal(c.take(l).Content.MessageID(), "m2")
			c.restart()
			c.wantIDs("q", "m2")
			text, _, err := c.ns.SessionStateAt("q", "s")
			c.must(err)
			c.equal(text, "kept")
		},
		"lost": func(c *clocked) { // SES-6
			c.queue("q", sessionful)
			c.say("q", "s", "m1")
			l := c.hold("q", "s")
			c.take(l)
			before := c.about("q", "s")
			undone(c, func() {
				c.must(c.ns.BreakSession(c.now, "q", "s", ""))
				c.must(c.ns.Attach(c.now, engine.Link{ID: 90, Path: "q", Session: named("s")}))
				_, err := c.ns.RenewSession(c.now+1, 90)
				c.must(err)
			})
			c.equal(c.about("q", "s"), before)
			c.equal(c.end(l) == nil, true)
			until, err := c.ns.RenewSession(c.now, l)
			c.must(err)
			c.equal(until, c.now.Add(minute))
		},
		"deleted": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m1")
			l := c.hold("q", "s")
			w := c.wait("q")
			undone(c, func() { c.must(c.ns.Delete(c.now, "q", "")) })
			c.equal(c.take(l).Content.MessageID(), "m1")
			c.say("q", "t", "m2")
			a, _ := c.granted(w)
			c.equal(a.ID, "t")
		},
	}, asked)
}
