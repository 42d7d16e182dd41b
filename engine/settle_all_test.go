package engine_test

import (
	"slices"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

// several returns settlements of these deliveries with one outcome.
func several(o engine.Outcome, all ...engine.Delivery) (out []engine.Settlement) {
	for _, d := range all {
		out = append(out, engine.Settlement{Token: d.Token(), Outcome: o, Path: "q", Client: "receiver"})
	}
	return out
}

// SettleAll settles all deliveries or none.
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
		"LOCK-7 or none, whatever was done by then": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "a", "b", "c", "d", "e")
			var all []engine.Settlement
			for o := engine.Complete; o <= engine.Release; o++ {
				s := several(o, c.receive("q"))[0]
				s.Modify = value.Properties{{Name: "by", Value: value.OfString("me")}}
				all = append(all, s)
			}
			gone := all[0]
			gone.Token[0]++
			happened := len(c.events)
			c.refused(engine.ErrLockLost, func() error { return c.ns.SettleAll(c.now, append(slices.Clip(all), gone)) })
			c.equal(len(c.events), happened)
			c.must(c.ns.SettleAll(c.now, all))
			c.step()
			c.wantCounts("q", engine.Counts{Active: 1, DeadLetter: 3})
		},
		"TX-2 a refusal is no first operation": func(c *clocked) {
			c.queue("q", engine.Config{LockDuration: 5 * time.Minute})
			c.sends("q", "a", "b")
			a, b := c.receive("q"), c.receive("q")
			c.complete(b)
			id := c.declare()
			c.refused(engine.ErrLockLost, func() error { return c.ns.SettleAllInTx(c.now, id, several(engine.Complete, a, b)) })
			c.now = c.now.Add(c.limits.TransactionTime)
			c.must(c.ns.SettleAllInTx(c.now, id, several(engine.Complete, a)))
			c.commits(id)
			c.wantCounts("q", engine.Counts{})
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
			c.refused(engine.ErrQuota, func() error { return c.ns.SettleAllInTx(c.now, id, several(engine.Complete, a, b, d)) })
			c.refused(engine.ErrLockLost, func() error { return c.ns.SettleAllInTx(c.now, id, several(engine.Complete, a, a)) })
			c.must(c.settleIn(id, b, engine.Complete))
			c.refused(engine.ErrLockLost, func() error { return c.ns.SettleAllInTx(c.now, id, several(engine.Complete, a, b)) })
			c.must(c.ns.SettleAllInTx(c.now, id, several(engine.Complete, d)))
			c.commits(id)
			c.wantCounts("q", engine.Counts{Locked: 1})
			c.refused(engine.ErrTransaction, func() error { return c.ns.SettleAllInTx(c.now, id, several(engine.Complete, a)) })
		},
	})
}
