package engine_test

import (
	"testing"

	"mayfly/engine"
)

func TestDeferral(t *testing.T) {
	run(t, rules{
		"DEF-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.release(d)
			c.wantLockLost(c.settle(d, engine.Defer))
			c.setAside(c.receive("q"))
			c.wantCounts("q", engine.Counts{Deferred: 1})
			c.equal(c.row("q").Message.State, engine.Deferred)
			c.equal(c.row("q").Message.Locked(), false)
		},
		"DEF-2": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			link := c.attach("q", 1)
			c.must(c.settle(c.inbox[0], engine.Defer))
			c.must(c.ns.Credit(c.now, link, 1))
			c.step()
			c.nothing("q")
			c.pass(hour)
			c.nothing("q")
			c.equal(len(c.delivered(link)), 1) // nor by a receiver that waits
		},
		"DEF-3, DEF-4, DEF-15": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			c.setAside(c.receive("q"))
			c.equal(len(c.rows("q/$DeadLetterQueue")), 0)
			rows, err := c.ns.Peek(c.now, "q", 1, 10, "")
			c.must(err)
			c.equal(len(rows) == 2 && rows[0].Message.State == engine.Deferred && rows[0].Message.Seq == 1, true)
			d := c.fetch("q", rows[0].Message.Seq) // the sequence number was lost, and is found by browsing
			c.equal(d.Content.MessageID(), "a")
			c.equal(d.Message.Seq, engine.Seq(1))
			c.abandon(d)
			c.equal(c.rows("q")[0].Message.Seq, engine.Seq(1))
		},
		"DEF-5": func(c *clocked) { // by any client that has the number
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			link := c.attach("q", 1)
			seq := c.setAside(c.inbox[0])
			c.detach(link, engine.DetachedByClient)
			c.pass(second)
			c.equal(c.fetch("q", seq).Content.MessageID(), "m")
		},
		"DEF-6": func(c *clocked) {
			c.queue("q", engine.Config{LockDuration: 7 * second})
			c.sends("q", "a", "b")
			a, b := c.setAside(c.receive("q")), c.setAside(c.receive("q"))
			d := c.fetch("q", a)
			c.equal(d.Message.LockedUntil, c.now.Add(7*second))
			ds, err := c.ns.ReceiveDeferred(c.now, "q", []engine.Seq{b}, engine.ReceiveAndDelete, "")
			c.must(err)
			c.step()
			c.taken(ds[0])
			c.equal(ds[0].Deleted, true)
			c.wantCounts("q", engine.Counts{Locked: 1})
			c.wantLockLost(c.settle(ds[0], engine.Complete))
		},
		"DEF-7": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "good", "locked", "active")
			c.send("q", engine.Content{ScheduledFor: c.now + 1_000_000})
			good, locked := c.setAside(c.receive("q")), c.setAside(c.receive("q"))
			c.fetch("q", locked)
			for _, bad := range []engine.Seq{locked, 3, 4, 99, 0, -1, good} {
				c.unfetchable("q", good, bad)
			}
			c.wantCounts("q", engine.Counts{Active: 1, Locked: 1, Deferred: 1, Scheduled: 1})
			ds, err := c.tryFetch("q")
			c.must(err)
			c.equal(len(ds), 0)
			c.fetch("q", good)
		},
		"DEF-8": func(c *clocked) { // the message is still deferred after the lock has expired
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			seq := c.setAside(c.receive("q"))
			c.abandon(c.fetch("q", seq))
			c.nothing("q")
			c.fetch("q", seq)
			c.pass(minute)
			c.nothing("q")
			d := c.fetch("q", seq)
			c.equal(d.Message.State, engine.Deferred)
			c.equal(d.Message.DeliveryCount, uint32(3))
			c.complete(d)
		},
		"DEF-9, DEF-10": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: minute})
			seq := c.setAside(c.receive("q"))
			c.at(minute - ms)
			c.abandon(c.fetch("q", seq))
			c.at(minute)
			c.sweep()
			c.wantCounts("q", engine.Counts{Deferred: 1})
			c.unfetchable("q", seq)
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"DEF-9 flag off": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: minute})
			c.sends("q", "m")
			seq := c.setAside(c.receive("q"))
			c.at(minute)
			c.unfetchable("q", seq)
			c.wantCounts("q", engine.Counts{})
		},
		"DEF-9 one of two": func(c *clocked) { // the other one is not locked
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: minute})
			c.sends("q", "m")
			expired, other := c.setAside(c.receive("q")), c.setAside(c.receive("q"))
			c.at(minute)
			c.unfetchable("q", other, expired)
			c.wantCounts("q", engine.Counts{Deferred: 1, DeadLetter: 1})
		},
		"DEF-9 fetched in time": func(c *clocked) { // the lock outlives the expiry (TTL-20); abandoned, the message stays
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: minute})
			seq := c.setAside(c.receive("q"))
			c.at(minute - ms)
			d := c.fetch("q", seq)
			c.at(minute + second)
			c.abandon(d)
			c.wantCounts("q", engine.Counts{Deferred: 1})
			c.unfetchable("q", seq)
			c.wantCounts("q", engine.Counts{DeadLetter: 1})
		},
		"DEF-11": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: minute})
			c.send("q", engine.Content{TTL: minute})
			c.at(30 * second)
			seq, other := c.setAside(c.receive("q")), c.setAside(c.receive("q"))
			c.at(minute - ms)
			c.release(c.fetch("q", other))
			c.at(minute)
			c.unfetchable("q", other)
			c.at(61 * second)
			c.unfetchable("q", seq)
			c.wantCounts("q", engine.Counts{DeadLetter: 2})
		},
		"DEF-12": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 2})
			c.sends("q", "m")
			seq := c.setAside(c.receive("q"))
			c.must(c.settle(c.fetch("q", seq), engine.Defer))
			c.wantDead("q", engine.ReasonMaxDeliveryCount, "Message could not be consumed after 2 delivery attempts.")
		},
		"DEF-12 lock loss": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 2})
			c.sends("q", "m")
			seq := c.setAside(c.receive("q"))
			c.fetch("q", seq)
			c.at(minute)
			c.unfetchable("q", seq)
			c.wantDead("q", engine.ReasonMaxDeliveryCount, "Message could not be consumed after 2 delivery attempts.")
		},
		"DEF-13": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "deferred", "locked", "active")
			c.setAside(c.receive("q"))
			c.receive("q")
			c.equal(c.state("q").Counts.ActiveMessageCount(), int64(3))
			c.equal(c.state("q").Counts.Deferred, int64(1))
		},
		"DEF-16": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "deferred", "active")
			seq := c.setAside(c.receive("q"))
			n, err := c.ns.BatchDelete(c.now, "q", 10, c.now, "")
			c.must(err)
			c.step()
			c.equal(n, 1)
			c.wantIDs("q", "deferred")
			c.release(c.fetch("q", seq))
			pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassDeferred}) // a purge of deferred messages removes it
			c.must(err)
			c.must(c.ns.PurgeSlice(c.now, &pg, 10, ""))
			c.step()
			c.wantCounts("q", engine.Counts{})
		},
	})
}
