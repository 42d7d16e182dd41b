package engine_test

import (
	"testing"

	"mayfly/engine"
)

// several are settlements of deliveries, all in one way.
func several(o engine.Outcome, all ...engine.Delivery) (out []engine.Settlement) {
	for _, d := range all {
		out = append(out, engine.Settlement{Token: d.Token(), Outcome: o, Path: "q", Client: "receiver"})
	}
	return out
}

// Several deliveries are settled together, or none of them.
func TestSettleAll(t *testing.T) {
	run(t, rules{
		"LOCK-7 all": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			a, b := c.receive("q"), c.receive("q")
			c.must(c.ns.SettleAll(c.now, several(engine.Abandon, b, a)))
			c.step()
			c.wantCounts("q", engine.Counts{Active: 3})
			c.equal(c.receive("q").Message.DeliveryCount, uint32(1))
		},
		"LOCK-7 or none": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			a, b, d := c.receive("q"), c.receive("q"), c.receive("q")
			c.complete(b)
			for _, all := range [][]engine.Delivery{{b, a, d}, {a, b, d}, {a, d, b}, {a, d, a}} {
				c.refused(engine.ErrLockLost, func() error { return c.ns.SettleAll(c.now, several(engine.Complete, all...)) })
			}
			c.wantCounts("q", engine.Counts{Locked: 2})
		},
		"SES-10": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m")
			d := c.take(c.hold("q", "s"))
			c.wantSessionLost(c.ns.SettleAll(c.now, several(engine.Complete, d, d)))
		},
		"TX-3 in a transaction": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.TransactionMessages = 2 })
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			a, b, d := c.receive("q"), c.receive("q"), c.receive("q")
			id := c.declare()
			c.refused(engine.ErrQuota, func() error { return c.ns.SettleAllIn(c.now, id, several(engine.Complete, a, b, d)) })
			c.refused(engine.ErrLockLost, func() error { return c.ns.SettleAllIn(c.now, id, several(engine.Complete, a, a)) })
			c.must(c.settleIn(id, b, engine.Complete))
			c.refused(engine.ErrLockLost, func() error { return c.ns.SettleAllIn(c.now, id, several(engine.Complete, a, b)) })
			c.must(c.ns.SettleAllIn(c.now, id, several(engine.Complete, d)))
			c.commits(id)
			c.wantCounts("q", engine.Counts{Locked: 1})
			c.refused(engine.ErrTransaction, func() error { return c.ns.SettleAllIn(c.now, id, several(engine.Complete, a)) })
		},
	})
}
