package engine_test

import (
	"fmt"
	"testing"

	"mayfly/engine"
)

// TestSessionLocksOfMany tests what a session's lock costs when its receiver has many messages
// locked, and what remains of the lock after a restart.
func TestSessionLocksOfMany(t *testing.T) {
	// several sends n messages to a session and returns a receiver that has locked them.
	several := func(c *clocked, n int) (l engine.LinkID, all []engine.Delivery) {
		c.queue("q", sessionful)
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprint("m", i+1)
		}
		c.say("q", "s", ids...)
		l = c.hold("q", "s")
		for range n {
			all = append(all, c.take(l))
		}
		return l, all
	}
	renew := func(c *clocked, l engine.LinkID) {
		_, err := c.ns.RenewSession(c.now, l)
		c.must(err)
	}
	run(t, rules{
		"SES-5 one event": func(c *clocked) { // a renewal has one event and one message to store, however many are locked
			l, _ := several(c, 5)
			c.at(10 * second)
			before := len(c.events)
			renew(c, l)
			fx := c.ns.Flush(c.now, true)
			c.equal(len(fx.Batch.Messages), 1)
			c.equal(len(fx.Events), 1)
			c.equal(fmt.Sprint(fx.Events[0].Kind, fx.Events[0].Session, fx.Events[0].Actor), "session-renewedsreceiver")
			c.must(c.store.commit(fx.Batch))
			c.ns.Seal(true)
			for _, r := range c.rows("q") {
				c.equal(r.Message.LockedUntil, morning.Add(70*second))
				one, err := c.ns.Message(r.Message.Key)
				c.must(err)
				c.equal(one.Message.LockedUntil, morning.Add(70*second))
			}
			c.equal(len(c.events), before)
		},
		"SES-5, DEC-12": func(c *clocked) { // the lock survives whichever messages were settled since
			for _, settled := range [][]int{{}, {3}, {0}, {3, 2}, {0, 3}, {0, 1, 2}} {
				l, all := several(c, 4)
				from := c.now
				c.pass(10 * second)
				renew(c, l)
				c.step()
				for _, i := range settled {
					c.complete(all[i])
				}
				c.restart()
				c.equal(c.about("q", "s").LockedUntil, from.Add(70*second))
				c.equal(c.about("q", "s").Locked, int64(4-len(settled)))
				c.pass(60*second - ms)
				c.equal(c.about("q", "s").Locked, int64(4-len(settled)))
				c.pass(ms)
				again, id := c.next("q")
				c.equal(id, "s")
				for range 4 - len(settled) {
					c.equal(c.take(again).Message.DeliveryCount, uint32(1))
				}
				c.lose(again, engine.DetachedByClient)
				c.remove("q")
			}
		},
		"SES-5, DEC-12 abandoned": func(c *clocked) { // the lock survives although the last locked message was abandoned and locked again
			l, all := several(c, 3)
			c.at(10 * second)
			renew(c, l)
			c.must(c.settle(all[2], engine.Abandon))
			c.step()
			c.at(20 * second)
			renew(c, l)
			c.equal(c.take(l).Message.LockedUntil, morning.Add(80*second))
			c.must(c.settle(all[0], engine.Defer))
			c.step()
			c.restart()
			c.equal(c.about("q", "s").LockedUntil, morning.Add(80*second))
		},
		"SES-5, PROP-10, DEC-12": func(c *clocked) { // a renewal that makes the lock end earlier does so after a restart too
			l, _ := several(c, 3)
			c.update("q", func(cfg *engine.Config) { cfg.LockDuration = 5 * second })
			c.at(10 * second)
			renew(c, l)
			c.step()
			c.restart()
			c.equal(c.about("q", "s").LockedUntil, morning.Add(15*second))
			c.at(15 * second)
			c.hold("q", "s")
			c.equal(c.count("q", "m1"), uint32(1))
		},
		"SES-8": func(c *clocked) { // a receiver gets messages up to a limit, and then as many as it settles
			c.limit(func(l *engine.Limits) { l.SessionLocks = 2 })
			l, all := several(c, 2)
			c.say("q", "s", "m3", "m4", "m5")
			before := len(c.inbox)
			c.must(c.ns.Credit(c.now, l, 5))
			c.step()
			c.step()
			c.equal(len(c.inbox), before)
			for i, how := range []engine.Outcome{engine.Complete, engine.Defer, engine.DeadLetter} {
				c.must(c.settle(all[i], how))
				c.step()
				c.equal(len(c.inbox), before+i+1)
				all = append(all, c.inbox[before+i])
			}
			c.equal(fmt.Sprint(all[4].Content.MessageID(), " ", c.about("q", "s").Locked), "m5 2")
			c.pass(minute)
			c.sweep()
			c.wantEnded(l)
			c.equal(c.about("q", "s").Active, int64(2))
			again := c.hold("q", "s")
			c.say("q", "s", "m6")
			c.must(c.ns.Credit(c.now, again, 9))
			c.step()
			c.equal(c.about("q", "s").Locked, int64(2))
		},
		"§1.5 receives, SES-17": func(c *clocked) { // idle receivers of sessions do not count; those that wait for messages or for a session do
			c.limit(func(l *engine.Limits) { l.Receives = 2 })
			c.topic("t", engine.Config{})
			s, plain := c.sub("t", "s", sessionful), c.sub("t", "plain", engine.Config{})
			a, b, d := c.hold(s, "a"), c.hold(s, "b"), c.hold(s, "d")
			busy := func(do func() error) {
				c.Helper()
				c.refused(engine.ErrBusy, do)
				c.step()
			}
			wait := func() error { _, err := c.attachSession(s, next, engine.Link{}); return err }
			c.must(c.ns.Credit(c.now, a, 1))
			c.must(wait())
			busy(wait)
			busy(func() error { return c.ns.Credit(c.now, b, 1) })
			c.must(c.ns.Credit(c.now, a, 1)) // it waits already
			c.must(c.ns.Credit(c.now, b, 0))
			other := c.attach(plain, 0)
			busy(func() error { return c.ns.Credit(c.now, other, 1) })
			c.hold(s, "e") // a receiver that names its session does not wait
			c.send("t", engine.Content{SessionID: "new"})
			c.must(c.ns.Credit(c.now, other, 2)) // the waiting receiver has its session
			c.step()
			busy(func() error { return c.ns.Credit(c.now, d, 1) })
			c.equal(c.ns.Drain(c.now, a), true)
			c.must(c.ns.Credit(c.now, d, 1))
		},
		"SES-6, DC-2": func(c *clocked) { // more messages than one step unlocks
			const n = 150
			l, _ := several(c, n)
			c.at(minute - ms)
			c.sweep()
			c.equal(c.about("q", "s").Locked, int64(n))
			c.now = morning.Add(minute)
			c.ns.Sweep(c.now, 1)
			if left := c.about("q", "s").Locked; left < n-70 || left == n {
				c.Errorf("%d of %d messages are locked after one slice", left, n)
			}
			c.refused(engine.ErrSessionLockLost, func() error { _, err := c.ns.RenewSession(c.now, l); return err })
			c.step()
			c.sweep()
			c.wantEnded(l)
			c.equal(c.about("q", "s"), engine.SessionRow{ID: "s", Active: n, OldestAt: morning, NextSeq: 1})
			c.equal(c.count("q", "m150"), uint32(1))
		},
	}, asked)
}
