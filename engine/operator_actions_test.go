package engine_test

import (
	"slices"
	"testing"

	"mayfly/engine"
)

func (c *clocked) batchDelete(p engine.Path, count int, before engine.Instant) int {
	c.Helper()
	n, err := c.ns.BatchDelete(c.now, p, count, before, "receiver")
	c.must(err)
	c.step()
	return n
}

func TestBatchDelete(t *testing.T) {
	run(t, rules{
		"BDEL-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.equal(c.batchDelete("q", 10, c.now), 0)
			c.sends("q", "a", "b", "c")
			c.equal(c.batchDelete("q", 10, c.now), 3)
			c.wantCounts("q", engine.Counts{})
		},
		"BDEL-2": func(c *clocked) { // the oldest messages, up to and including the instant, without dead letters
			c.queue("q", keeping)
			for _, id := range []string{"a", "b", "c"} {
				c.sends("q", id)
				c.pass(second)
			}
			c.equal(c.batchDelete("q", 10, morning.Add(second)-1), 1)
			c.wantIDs("q", "b", "c")
			c.equal(c.batchDelete("q", 10, morning.Add(second)), 1)
			c.wantIDs("q", "c")
			c.sends("q", "d")
			c.equal(c.batchDelete("q", 1, c.now), 1)
			c.wantIDs("q", "d")
			c.equal(len(c.rows("q/$DeadLetterQueue")), 0)
		},
		"BDEL-3": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.BatchDelete = 3 })
			c.queue("q", engine.Config{})
			c.sends("q", "a")
			for _, n := range []int{0, -1, 4} {
				c.refused(engine.ErrOutOfRange, func() error { _, err := c.ns.BatchDelete(c.now, "q", n, c.now, ""); return err })
			}
			c.equal(c.batchDelete("q", 3, c.now), 1)
		},
		"BDEL-3 by default": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a")
			c.refused(engine.ErrOutOfRange, func() error { _, err := c.ns.BatchDelete(c.now, "q", 501, c.now, ""); return err })
			c.equal(c.batchDelete("q", 500, c.now), 1)
			c.equal(profile(c.T, "premium").BatchDelete, int64(4000))
		},
		"BDEL-4, DEF-16": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "locked", "deferred", "a", "b")
			c.send("q", engine.Content{MessageID: "scheduled", ScheduledFor: c.now + 1_000_000})
			c.receive("q")
			c.setAside(c.receive("q"))
			c.equal(c.batchDelete("q", 10, c.now), 2)
			c.wantIDs("q", "locked", "deferred", "scheduled")
		},
		"BDEL-4 lock that ran out": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a")
			c.receive("q")
			c.at(minute)
			c.equal(c.batchDelete("q", 10, c.now), 1)
		},
		"BDEL-4 expired": func(c *clocked) { // the expired message is dead-lettered first
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			c.sends("q", "m")
			c.at(second)
			c.equal(c.batchDelete("q", 10, c.now), 1)
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"BDEL-5": func(c *clocked) { // messages up to the instant; those that arrive meanwhile stay
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			start := c.now
			c.pass(ms)
			for total := 0; ; c.sends("q", "meanwhile") {
				n := c.batchDelete("q", 1, start)
				if n == 0 {
					c.equal(total, 3)
					break
				}
				total += n
			}
			c.equal(c.state("q").Counts.Active, int64(3))
		},
		"BDEL-4, BDEL-5 in slices": func(c *clocked) { // however many messages do not qualify, a slice visits only a few
			c.queue("q", engine.Config{})
			c.sends("q", "locked")
			c.receive("q")
			for range 20 { // messages that expire meanwhile do not end the delete
				c.send("q", engine.Content{TTL: 15 * second})
			}
			c.sends("q", "a", "b", "c")
			c.pass(10 * second)
			c.sends("q", "late", "later")
			d, err := c.ns.BeginBatchDelete(c.now, "q", 22, morning.Add(5*second), "receiver")
			c.must(err)
			c.pass(10 * second)
			c.sends("q", "latest")
			slices, did := 0, 0
			for ; !d.Done; slices++ {
				before := c.state("q").Counts
				c.must(c.ns.BatchDeleteSlice(c.now, &d, 3))
				c.step()
				if n := before.Active + before.Locked - c.state("q").Counts.Active - c.state("q").Counts.Locked; n > 3 {
					c.Errorf("a slice of 3 removed %d", n)
				}
				did = d.Deleted
			}
			if slices < 2 {
				c.Errorf("it took %d slices", slices)
			}
			c.equal(did, 3)
			c.wantIDs("q", "locked", "late", "later", "latest")
			c.remove("q")
			d.Done = false
			c.refused(engine.ErrNotFound, func() error { return c.ns.BatchDeleteSlice(c.now, &d, 3) })
		},
		"BDEL-5 in the future": func(c *clocked) { // whatever the instant, messages that arrive after the delete began stay
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			d, err := c.ns.BeginBatchDelete(c.now, "q", 10, c.now.Add(hour), "receiver")
			c.must(err)
			c.sends("q", "late")
			c.must(c.ns.BatchDeleteSlice(c.now, &d, 10))
			c.step()
			c.equal(d.Done, true)
			c.wantIDs("q", "late")
		},
		"BDEL-5 dead letters": func(c *clocked) { // a message dead-lettered after the delete began stays, although it keeps its sequence number
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c", "d", "e")
			a, b, late, later := c.receive("q"), c.receive("q"), c.receive("q"), c.receive("q")
			c.kill(a, "", "")
			c.kill(later, "", "")
			d, err := c.ns.BeginBatchDelete(c.now, "q/$DeadLetterQueue", 10, c.now.Add(hour), "receiver")
			c.must(err)
			c.kill(b, "", "") // at the instant at which the delete began
			c.must(c.ns.BatchDeleteSlice(c.now, &d, 1))
			c.pass(ms)
			c.kill(late, "", "")
			for !d.Done {
				c.must(c.ns.BatchDeleteSlice(c.now, &d, 1))
				c.step()
			}
			c.equal(d.Deleted, 3)
			c.wantIDs("q/$DeadLetterQueue", "c")
			c.equal(c.batchDelete("q/$DeadLetterQueue", 10, c.now), 1) // the next delete removes it
		},
		"BDEL-6": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "dead", "alive")
			c.kill(c.receive("q"), "", "")
			c.equal(c.batchDelete("q/$DeadLetterQueue", 10, c.now), 1)
			c.wantCounts("q", engine.Counts{Active: 1})
			c.topic("t", engine.Config{})
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.BatchDelete(c.now, "t", 1, c.now, ""); return err })
		},
		"BDEL-7": func(c *clocked) {
			c.queue("q", temporary)
			c.at(4 * minute)
			c.equal(c.batchDelete("q", 1, c.now), 0) // even if there are no messages
			c.at(9*minute - ms)
			c.equal(c.exists("q"), true)
			c.at(9*minute + 10*second)
			c.equal(c.exists("q"), false)
		},
	})
}

func TestPurge(t *testing.T) {
	begin := func(c *clocked, p engine.Path, classes ...engine.Class) engine.Purge {
		c.Helper()
		pg, err := c.ns.BeginPurge(c.now, p, classes)
		c.must(err)
		return pg
	}
	finish := func(c *clocked, pg engine.Purge, slice int) engine.Purge {
		c.Helper()
		for !pg.Done {
			before := pg.Removed
			c.must(c.ns.PurgeSlice(c.now, &pg, slice, "operator"))
			if pg.Removed-before > int64(slice) {
				c.Fatalf("a slice of %d removed %d", slice, pg.Removed-before)
			}
			c.step()
		}
		return pg
	}
	mixed := func(c *clocked) {
		c.queue("q", engine.Config{})
		c.sends("q", "locked", "deferred", "a", "b")
		c.send("q", engine.Content{MessageID: "scheduled", ScheduledFor: c.now + 1_000_000})
		c.receive("q")
		c.setAside(c.receive("q"))
	}
	for name, tc := range map[string]struct {
		classes []engine.Class
		stay    []string
	}{
		"OPS-7 active":    {[]engine.Class{engine.ClassActive}, []string{"locked", "deferred", "scheduled"}},
		"OPS-7 deferred":  {[]engine.Class{engine.ClassDeferred}, []string{"locked", "a", "b", "scheduled"}},
		"OPS-7 scheduled": {[]engine.Class{engine.ClassScheduled}, []string{"locked", "deferred", "a", "b"}},
		"OPS-7 all":       {[]engine.Class{engine.ClassActive, engine.ClassDeferred, engine.ClassScheduled}, []string{"locked"}},
		"OPS-7 nothing":   {nil, []string{"locked", "deferred", "a", "b", "scheduled"}},
	} {
		run(t, rules{name: func(c *clocked) {
			for _, slice := range []int{1, 2, 100} {
				mixed(c)
				pg := finish(c, begin(c, "q", tc.classes...), slice)
				c.wantIDs("q", tc.stay...)
				c.equal(pg.Removed, int64(5-len(tc.stay)))
				c.equal(pg.Skipped, int64(1))
				c.remove("q")
			}
		}})
	}
	run(t, rules{
		"OPS-7 later ones": func(c *clocked) { // messages that arrived after the purge began stay
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			pg := begin(c, "q", engine.ClassActive)
			c.sends("q", "later")
			c.equal(finish(c, pg, 1).Removed, int64(2))
			c.wantIDs("q", "later")
		},
		"OPS-7 dead letters": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "old", "young")
			young := c.receive("q")
			c.kill(c.receive("q"), "", "")
			c.pass(ms)
			pg := begin(c, "q/$DeadLetterQueue", engine.ClassActive)
			c.pass(ms)
			c.kill(young, "", "") // it has a lower number, but was dead-lettered later
			finish(c, pg, 10)
			c.wantIDs("q/$DeadLetterQueue", "old")
		},
		"OPS-7 lock that ran out": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.receive("q")
			c.at(minute)
			pg := finish(c, begin(c, "q", engine.ClassActive), 10)
			c.equal(pg.Removed, int64(1))
			c.equal(pg.Skipped, int64(0))
		},
		"OPS-7 nowhere": func(c *clocked) {
			c.refused(engine.ErrNotFound, func() error { _, err := c.ns.BeginPurge(c.now, "q", nil); return err })
			c.queue("q", engine.Config{})
			pg := begin(c, "q", engine.ClassActive)
			c.remove("q")
			c.refused(engine.ErrNotFound, func() error { return c.ns.PurgeSlice(c.now, &pg, 10, "") })
		},
		"OPS-7 topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			c.send("t", engine.Content{ScheduledFor: c.now + 1_000_000})
			c.equal(finish(c, begin(c, "t", engine.ClassScheduled), 10).Removed, int64(1))
			c.wantCounts("t", engine.Counts{})
		},
	})
}

func TestOperators(t *testing.T) {
	const dead = engine.Path("q/$DeadLetterQueue")
	one := func(c *clocked) engine.Key {
		c.queue("q", engine.Config{DefaultMessageTimeToLive: minute, DeadLetteringOnMessageExpiration: true})
		c.sends("q", "m")
		return c.key("q")
	}
	run(t, rules{
		"OPS-3 past the ceiling": func(c *clocked) {
			k := one(c)
			c.must(c.ns.Extend(c.now, k, morning.Add(hour), "operator"))
			c.step()
			c.lives("q", hour)
		},
		"OPS-3 cut": func(c *clocked) {
			k := one(c)
			c.must(c.ns.Extend(c.now, k, morning.Add(second), "operator"))
			c.step()
			c.lives("q", second)
		},
		"OPS-3 now": func(c *clocked) {
			k := one(c)
			c.at(second)
			c.refused(engine.ErrOutOfRange, func() error { return c.ns.Extend(c.now, k, c.now-1, "") })
			c.refused(engine.ErrOutOfRange, func() error { return c.ns.Extend(c.now, k, 0, "") })
			c.must(c.ns.Extend(c.now, k, c.now, "operator"))
			c.step()
			c.nothing("q")
		},
		"OPS-3 locked": func(c *clocked) {
			k := one(c)
			d := c.receive("q")
			c.must(c.ns.Extend(c.now, k, morning.Add(hour), "operator"))
			c.step()
			c.at(minute - ms)
			c.abandon(d)
			c.lives("q", hour)
		},
		"OPS-3 deferred": func(c *clocked) { // even after it has expired, because it was not requested
			k := one(c)
			seq := c.setAside(c.receive("q"))
			c.at(2 * minute)
			c.must(c.ns.Extend(c.now, k, morning.Add(hour), "operator"))
			c.step()
			c.at(hour - ms)
			c.release(c.fetch("q", seq))
			c.at(hour)
			c.unfetchable("q", seq)
		},
		"OPS-3 refusals": func(c *clocked) {
			k := one(c)
			c.kill(c.receive("q"), "", "")
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Extend(c.now, k, c.now+1, "") })
			c.send("q", engine.Content{ScheduledFor: c.now + 1000})
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Extend(c.now, c.key("q"), c.now+1, "") })
			c.refused(engine.ErrMessageNotFound, func() error { return c.ns.Extend(c.now, 99, c.now+1, "") })
		},
		"OPS-3 too late": func(c *clocked) {
			k := one(c)
			c.at(minute)
			if err := c.ns.Extend(c.now, k, c.now+1, ""); err == nil {
				c.Error("an expired message was extended")
			}
			c.step()
			c.nothing("q")
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"OPS-4": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			c.setAside(c.receive("q"))
			k := c.rows("q")[0].Message.Key
			c.must(c.ns.ReturnToActive(c.now, k, "operator"))
			c.step()
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.ReturnToActive(c.now, k, "") })
			d := c.receive("q")
			c.equal(d.Content.MessageID(), "a")
			c.equal(d.Message.DeliveryCount, uint32(1))
			c.equal(d.Message.Seq, engine.Seq(1))
		},
		"OPS-4 locked": func(c *clocked) {
			k := one(c)
			seq := c.setAside(c.receive("q"))
			c.fetch("q", seq)
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.ReturnToActive(c.now, k, "") })
		},
		"OPS-4 expired": func(c *clocked) { // the message is active again, and expires
			k := one(c)
			c.setAside(c.receive("q"))
			c.at(minute)
			c.must(c.ns.ReturnToActive(c.now, k, "operator"))
			c.step()
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"OPS-5 dead-letter": func(c *clocked) {
			k := one(c)
			c.must(c.ns.DeadLetterMessage(c.now, k, "Mine", "because", "operator"))
			c.step()
			r := c.wantDead("q", "Mine", "because")
			c.equal(r.Message.DeliveryCount, uint32(0))
			c.equal(r.Message.Extra.By, "operator")
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.DeadLetterMessage(c.now, k, "", "", "") })
		},
		"OPS-5 delete": func(c *clocked) {
			k := one(c)
			c.must(c.ns.DeleteMessage(c.now, k, "operator"))
			c.step()
			c.wantCounts("q", engine.Counts{})
			c.refused(engine.ErrMessageNotFound, func() error { return c.ns.DeleteMessage(c.now, k, "") })
		},
		"OPS-5 delete a dead letter": func(c *clocked) {
			k := one(c)
			c.kill(c.receive("q"), "", "")
			c.must(c.ns.DeleteMessage(c.now, k, "operator"))
			c.step()
			c.wantCounts("q", engine.Counts{})
		},
		"OPS-5 delete a deferred or scheduled one": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.setAside(c.receive("q"))
			c.send("q", engine.Content{ScheduledFor: c.now + 1000})
			for _, r := range c.rows("q") {
				c.must(c.ns.DeleteMessage(c.now, r.Message.Key, "operator"))
			}
			c.step()
			c.wantCounts("q", engine.Counts{})
			c.equal(c.events[len(c.events)-1].Kind, engine.EventCancelled)
		},
		"OPS-5 locked": func(c *clocked) {
			k := one(c)
			c.receive("q")
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.DeadLetterMessage(c.now, k, "", "", "") })
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.DeleteMessage(c.now, k, "") })
			c.must(c.ns.BreakLock(c.now, k, "operator"))
			c.must(c.ns.DeleteMessage(c.now, k, "operator"))
		},
		"OPS-5 lock that ran out": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			k := c.key("q")
			c.receive("q")
			c.at(minute)
			c.must(c.ns.DeleteMessage(c.now, k, "operator"))
		},
		"OPS-6 break": func(c *clocked) {
			k := one(c)
			d := c.receive("q")
			c.must(c.ns.BreakLock(c.now, k, "operator"))
			c.step()
			c.equal(c.row("q").Message.DeliveryCount, uint32(1))
			c.wantLockLost(c.settle(d, engine.Complete))
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.BreakLock(c.now, k, "") })
			c.receive("q")
		},
		"OPS-6 break the last one": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "m")
			c.receive("q")
			c.must(c.ns.BreakLock(c.now, c.key("q"), "operator"))
			c.step()
			c.wantDead("q", engine.ReasonMaxDeliveryCount, "Message could not be consumed after 1 delivery attempts.")
		},
		"OPS-6 renew": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			k := c.key("q")
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.RenewLockFor(c.now, k, ""); return err })
			d := c.receive("q")
			c.at(minute - ms)
			until, err := c.ns.RenewLockFor(c.now, k, "operator")
			c.must(err)
			c.step()
			c.equal(until, c.now.Add(minute))
			c.at(2*minute - 2*ms)
			c.complete(d)
		},
		"OPS-11": func(c *clocked) { // the event names the actor
			k := one(c)
			c.must(c.ns.DeadLetterMessage(c.now, k, "", "", "operator"))
			c.step()
			if !slices.ContainsFunc(c.events, func(e engine.Event) bool {
				return e.Kind == engine.EventDeadLettered && e.Actor == "operator" && e.Path == "q" && e.To == dead
			}) {
				c.Errorf("the events are %+v", c.events)
			}
		},
	})
}
