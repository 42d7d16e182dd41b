package engine_test

import (
	"fmt"
	"testing"
	"time"

	"mayfly/engine"
)

func TestForwardingTime(t *testing.T) {
	run(t, rules{
		"FWD-15, IDLE-12, IDLE-13, CONF-4": func(c *clocked) { // a source is never idle, a destination is idle by its own use
			idle := engine.Config{AutoDeleteOnIdle: 10 * time.Minute}
			c.queue("b", idle)
			c.queue("a", engine.Config{AutoDeleteOnIdle: 5 * time.Minute, ForwardTo: "b"})
			c.queue("d", engine.Config{AutoDeleteOnIdle: 5 * time.Minute, ForwardDeadLetteredMessagesTo: "b"}) // forwarding of dead letters does not prevent idleness
			c.queue("u", engine.Config{AutoDeleteOnIdle: 5 * time.Minute})
			c.update("u", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			for _, p := range []engine.Path{"a", "u"} { // the description is kept, but not in force
				c.equal(c.state(p).Config.AutoDeleteOnIdle, 5*time.Minute)
				c.equal(c.state(p).DeletesAt, engine.Instant(0))
			}
			c.equal(c.state("b").Config.AutoDeleteOnIdle, 10*time.Minute)
			c.equal(c.state("d").Config.AutoDeleteOnIdle, 5*time.Minute)
			c.at(9 * time.Minute)
			c.equal(c.exists("d"), false)
			used := c.state("a").LastUsed
			c.sends("a", "m")
			c.equal(c.state("a").LastUsed > used, true)
			c.at(10*time.Minute - time.Second) // a forwarded message counts as a send to the destination
			c.sweep()
			c.at(15 * time.Minute)
			c.equal(c.exists("b"), true)
			c.at(24 * time.Hour)
			c.equal(c.exists("b"), false)
			c.equal(c.exists("a"), true)
			c.equal(c.exists("u"), true)
		},
		"FWD-15, IDLE-12 pinned": func(c *clocked) { // the stored idle time is dropped
			c.queue("b", engine.Config{})
			c.queue("a", engine.Config{AutoDeleteOnIdle: 5 * time.Minute})
			c.must(c.ns.Pin(c.now, "a", ""))
			c.update("a", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Unpin(c.now, "a", "") })
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Pin(c.now, "a", "") })
			c.update("a", func(cfg *engine.Config) { cfg.AutoDeleteOnIdle = 5 * time.Minute }) // kept, but not in force
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Pin(c.now, "a", "") })
		},
		"FWD-15, TTL-18": func(c *clocked) { // nothing expires on a source
			c.queue("b", engine.Config{})
			c.queue("a", engine.Config{DefaultMessageTimeToLive: 5 * second, ForwardTo: "b", Status: engine.StatusReceiveDisabled, DeadLetteringOnMessageExpiration: true})
			c.equal(c.state("a").Config.DefaultMessageTimeToLive, 5*second)
			c.queue("u", engine.Config{DefaultMessageTimeToLive: time.Minute})
			c.update("u", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			c.equal(c.state("u").Config.DefaultMessageTimeToLive, time.Minute)
			c.send("a", engine.Content{MessageID: "m", TTL: second})
			c.send("a", engine.Content{MessageID: "n"})
			c.at(time.Hour)
			c.sweep()
			c.wantCounts("a", engine.Counts{Active: 2, Transfer: 2})
			c.update("a", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.sweep()
			c.wantIDs("b", "m", "n")
			c.equal(c.rows("b")[1].Expires, engine.Instant(0)) // the source's default does not apply
			c.at(time.Hour + second - time.Millisecond)        // but the destination's does
			c.equal(c.receive("b").Content.MessageID(), "m")
			c.receive("b")
		},
		"TTL-18 under a topic": func(c *clocked) {
			c.queue("b", engine.Config{})
			c.topic("t", engine.Config{DefaultMessageTimeToLive: 5 * second})
			s := c.sub("t", "s", engine.Config{ForwardTo: "b", Status: engine.StatusReceiveDisabled})
			c.sends("t", "m")
			c.at(time.Hour)
			c.sweep()
			c.wantIDs(s, "m")
			c.update(s, func(cfg *engine.Config) { cfg.ForwardTo = "" }) // it applies now, and the message expired long ago
			c.update(s, func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.nothing(s)
		},
		"TTL-17": func(c *clocked) { // its time to live starts again, under the ceiling of each entity
			c.queue("b", engine.Config{})
			c.queue("low", engine.Config{DefaultMessageTimeToLive: 4 * second})
			c.queue("a", engine.Config{})
			c.queue("a2", engine.Config{})
			for _, p := range []engine.Path{"a", "a2"} {
				c.send(p, engine.Content{MessageID: "m", TTL: 10 * second})
			}
			c.at(6 * second)
			c.update("a", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			c.update("a2", func(cfg *engine.Config) { cfg.ForwardTo = "low" })
			c.sweep()
			c.equal(c.row("b").Expires, morning.Add(16*second))
			c.equal(c.row("low").Expires, morning.Add(10*second))
			c.at(10*second - time.Millisecond)
			c.release(c.receive("low"))
			c.at(10 * second)
			c.nothing("low")
			c.at(16*second - time.Millisecond)
			c.release(c.receive("b"))
			c.at(16 * second)
			c.nothing("b")
		},
		"TTL-17 lowered": func(c *clocked) { // the copy has the time to live as lowered by an entity (TTL-5)
			c.queue("b", engine.Config{})
			c.topic("t", engine.Config{DefaultMessageTimeToLive: 5 * second})
			c.sub("t", "s", engine.Config{ForwardTo: "b"})
			c.topic("t2", engine.Config{})
			in := c.sub("t2", "s", engine.Config{})
			c.sub("t", "s2", engine.Config{ForwardTo: "t2"})
			c.send("t", engine.Content{MessageID: "m", TTL: time.Hour})
			c.send("t", engine.Content{MessageID: "unset"})
			c.send("t", engine.Content{MessageID: "over", TTL: -1})
			c.sweep()
			for _, p := range []engine.Path{"b", in} {
				var at []engine.Instant
				for _, r := range c.rows(p) {
					at = append(at, r.Expires)
				}
				c.equal(fmt.Sprint(at), fmt.Sprint([]engine.Instant{morning.Add(5 * second), 0})) // TTL-8: the last one expired
			}
		},
		"TTL-17 dead letters": func(c *clocked) { // also from a dead-letter subqueue, where messages do not expire
			c.queue("b", engine.Config{})
			c.queue("a", engine.Config{})
			c.send("a", engine.Content{MessageID: "m", TTL: 10 * second})
			c.kill(c.receive("a"), "bad", "")
			c.at(time.Hour)
			c.update("a", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "b" })
			c.sweep()
			c.equal(c.row("b").Expires, c.now.Add(10*second))
		},
	})
}
