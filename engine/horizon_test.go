package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"mayfly/engine"
)

func TestHorizon(t *testing.T) {
	run(t, rules{
		"spans": func(c *clocked) {
			c.queue("lost", engine.Config{})
			c.queue("kept", keeping)
			for _, p := range []engine.Path{"lost", "kept"} {
				c.send(p, engine.Content{MessageID: "first", TTL: second})
				c.send(p, engine.Content{MessageID: "edge", TTL: minute})
				c.send(p, engine.Content{MessageID: "late", TTL: hour})
				c.send(p, engine.Content{MessageID: "scheduled", TTL: second, ScheduledFor: c.now + 5})
				c.sends(p, "forever")
			}
			edges := []engine.Instant{morning.Add(minute), morning.Add(hour) + 1}
			one := func(n int64) engine.HorizonSpan { return engine.HorizonSpan{Lost: n} }
			c.equal(slices.Equal(c.ns.Horizon("lost", edges), []engine.HorizonSpan{one(1), one(2), one(0)}), true)
			c.equal(slices.Equal(c.ns.Horizon("", edges), []engine.HorizonSpan{{Lost: 1, DeadLettered: 1}, {Lost: 2, DeadLettered: 2}, {}}), true)
			c.receive("lost") // a locked message does not expire
			c.equal(c.ns.Horizon("lost", edges)[0], one(0))
			c.equal(slices.Equal(c.ns.Horizon("nowhere", edges), []engine.HorizonSpan{{}, {}, {}}), true)
		},
		"next": func(c *clocked) {
			c.queue("a", engine.Config{DefaultMessageTimeToLive: 3 * second})
			c.queue("b", engine.Config{})
			c.sends("a", "a3", "second a3")
			c.send("a", engine.Content{MessageID: "a1", TTL: second})
			c.send("b", engine.Content{MessageID: "b2", TTL: 2 * second})
			c.send("b", engine.Content{MessageID: "b3", TTL: 3 * second})
			c.sends("b", "never")
			ids := func(n int) (ids []string) {
				for _, r := range c.ns.Expiring(n) {
					ids = append(ids, r.Content.MessageID())
				}
				return ids
			}
			c.equal(fmt.Sprint(ids(10)), "[a1 b2 a3 second a3 b3]")
			c.equal(fmt.Sprint(ids(2)), "[a1 b2]")
			c.equal(len(ids(0)), 0)
			c.equal(c.state("a").NextExpiry, morning.Add(second))
			c.equal(c.state("b").NextExpiry, morning.Add(2*second))
		},
	}, asked, swept)
}
