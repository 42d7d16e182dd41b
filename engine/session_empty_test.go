package engine_test

import (
	"testing"

	"mayfly/engine"
)

// The empty text is a valid session id, which differs from having none.
func TestEmptySessionID(t *testing.T) {
	nameless := func(id string) engine.Content { return engine.Content{MessageID: id, EmptySessionID: true} }
	run(t, rules{
		"SES-1 empty": func(c *clocked) {
			c.queue("q", sessionful)
			c.send("q", nameless("1"))
			c.say("q", "a", "a1")
			c.send("q", nameless("2"))
			l, id := c.next("q")
			c.equal(id, "")
			c.equal(c.about("q", "").Lock.By, "receiver")
			c.equal(c.take(l).Content.MessageID()+c.take(l).Content.MessageID(), "12")
			c.equal(c.about("q", "").Locked, int64(2))
			c.refused(engine.ErrSessionLocked, func() error { _, err := c.tryHold("q", ""); return err })
			c.restart() // locks from before the restart remain
			c.equal(c.about("q", "").Locked, int64(2))
			c.pass(minute)
			c.sweep()
			c.equal(c.take(c.hold("q", "")).Message.DeliveryCount, uint32(1))
		},
		"SES-2 empty": func(c *clocked) { // a receiver that got this session does not wait for another
			c.queue("q", sessionful)
			l := c.wait("q")
			c.send("q", nameless("1"))
			a, ok := c.granted(l)
			c.equal(ok, true)
			c.equal(a.ID, "")
			c.say("q", "b", "b1")
			_, id := c.next("q")
			c.equal(id, "b")
			c.lose(l, engine.DetachedByClient)
			c.equal(c.about("q", "").LockedUntil, engine.Instant(0))
		},
		"MSG-9 empty": func(c *clocked) {
			c.queue("q", sessionful)
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.trySend("q", engine.Content{MessageID: "none"}); return err })
			c.send("q", engine.Content{MessageID: "scheduled", EmptySessionID: true, ScheduledFor: c.now.Add(second)})
			c.pass(second)
			c.sweep()
			c.equal(c.take(c.hold("q", "")).Content.MessageID(), "scheduled")
		},
		"MSG-10 empty": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", sessionful)
			c.send("t", nameless("m"))
			c.wantIDs(s, "m")
			c.wantIDs(s.DeadLetter())
			c.equal(len(c.sessionIDs(s, 0, 0, 10)), 1)
		},
		"PEEK-5 empty": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "a", "a1")
			c.send("q", nameless("1"))
			rows, err := c.ns.PeekSession(c.now, "q", "", 1, 10, "")
			c.must(err)
			c.equal(len(rows), 1)
			c.equal(rows[0].Content.MessageID(), "1")
		},
		"FWD-4 empty": func(c *clocked) {
			c.queue("to", sessionful)
			c.queue("from", engine.Config{ForwardTo: "to"})
			c.send("from", nameless("m"))
			c.sweep()
			c.equal(c.take(c.hold("to", "")).Content.MessageID(), "m")
		},
		"OPS-10 empty": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.queue("s", sessionful)
			c.send("q", nameless("m"))
			_, err := c.ns.Move(c.now, engine.Move{Key: c.row("q").Message.Key, To: "s"}, "operator")
			c.must(err)
			c.step()
			c.equal(c.take(c.hold("s", "")).Content.MessageID(), "m")
		},
		"ACT-5 empty": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", sessionful)
			rule := func(action string) {
				c.must(c.ns.ReplaceRule(c.now, s, engine.Rule{Name: "$Default", Filter: sql("sys.SessionId = ''"), Action: action}, ""))
			}
			rule("SET sys.SessionId = sys.SessionId + 'x'")
			c.send("t", nameless("m"))
			c.equal(c.take(c.hold(s, "x")).Content.HasSessionID(), true)
			rule("SET sys.SessionId = NULL")
			c.send("t", nameless("none"))
			c.wantIDs(s.DeadLetter(), "none")
			rule("SET sys.Label = 'n'")
			c.send("t", nameless("kept"))
			c.equal(c.take(c.hold(s, "")).Content.MessageID(), "kept")
			c.sends("t", "not matched")
			c.wantCounts(s, engine.Counts{Locked: 2, DeadLetter: 1})
		},
	}, asked, swept)
}
