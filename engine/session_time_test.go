package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"mayfly/engine"
)

func TestSessionLocks(t *testing.T) {
	run(t, rules{
		"SES-5": func(c *clocked) {
			c.queue("q", engine.Config{RequiresSession: true, LockDuration: 30 * second})
			c.say("q", "s", "m1", "m2", "m3")
			l := c.hold("q", "s")
			d1 := c.take(l)
			c.at(10 * second)
			d2 := c.take(l)
			c.equal(d1.Message.LockedUntil, morning.Add(30*second))
			c.equal(d2.Message.LockedUntil, morning.Add(30*second)) // the messages' locks end with the session's
			c.at(30*second - ms)
			until, err := c.ns.RenewSession(c.now, l)
			c.must(err)
			c.step()
			c.equal(until, c.now.Add(30*second)) // a full period from now (LOCK-5)
			for _, r := range c.rows("q")[:2] {
				c.equal(r.Message.LockedUntil, until)
			}
			c.equal(c.take(l).Message.LockedUntil, until)
			c.equal(c.about("q", "s").LockedUntil, until)
			c.at(60*second - 2*ms)
			c.complete(d1)
			c.equal(c.count("q", "m2"), uint32(0))
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.renew(d2); return err }) // the message has no lock of its own to renew
			c.at(60*second - ms)
			c.wantSessionLost(c.settle(d2, engine.Complete))
		},
		"SES-5 new lock duration": func(c *clocked) { // PROP-10
			c.queue("q", sessionful)
			l := c.hold("q", "s")
			c.say("q", "s", "m")
			c.update("q", func(cfg *engine.Config) { cfg.LockDuration = 5 * second })
			c.equal(c.take(l).Message.LockedUntil, morning.Add(minute))
			until, err := c.ns.RenewSession(c.now, l)
			c.must(err)
			c.equal(until, c.now.Add(5*second))
		},
		"SES-6, DC-2": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2", "m3")
			l := c.hold("q", "s")
			d := c.take(l)
			c.take(l)
			c.must(c.setState(l, "kept"))
			c.at(minute - ms)
			c.wantState(l, "kept", true)
			c.equal(c.count("q", "m1"), uint32(0))
			c.at(minute)
			c.wantSessionLost(c.settle(d, engine.Complete))
			c.wantSessionLost(c.setState(l, "more"))
			_, err := c.ns.RenewSession(c.now, l)
			c.wantSessionLost(err)
			_, _, err = c.ns.SessionState(c.now, l)
			c.wantSessionLost(err)
			_, err = c.ns.ReceiveDeferredInSession(c.now, l, nil, engine.PeekLock)
			c.wantSessionLost(err)
			if err := c.ns.Credit(c.now, l, 1); err == nil {
				c.Error("a receiver that lost its session can still receive")
			}
			again, id := c.next("q")
			c.equal(id, "s")
			c.wantEnded(l)
			c.equal(c.take(again).Message.DeliveryCount, uint32(1))
			c.equal(c.take(again).Message.DeliveryCount, uint32(1))
			c.equal(c.take(again).Message.DeliveryCount, uint32(0)) // no receiver got it before
			c.wantState(again, "kept", true)
			c.equal(fmt.Sprint(c.happened()), "[session-locked s receiver session-state s receiverset session-lost s receiver session-locked s receiver]")
		},
		"SES-20": func(c *clocked) { // watched sessions are reported when they become available, but not for undone steps
			c.queue("q", sessionful)
			available := func() (ids []string) {
				c.Helper()
				for _, a := range c.ns.WatchedSessionsAvailable(c.now) {
					ids = append(ids, string(a.Path)+" "+a.ID)
				}
				return ids
			}
			l := c.hold("q", "s")
			c.must(c.setState(l, "kept"))
			c.lose(l, engine.DetachedByClient)
			c.ns.WatchSession("q", "s")
			c.say("q", "other", "m")
			c.equal(fmt.Sprint(available()), "[]")
			failed := errors.New("taken back")
			if err := c.ns.Atomically(func() error {
				_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{SessionID: "s"}), "")
				return cmp.Or(err, failed)
			}); !errors.Is(err, failed) {
				c.Error(err)
			}
			c.equal(fmt.Sprint(available()), "[]")
			c.say("q", "s", "m")
			c.equal(fmt.Sprint(available()), "[q s]")
			c.equal(fmt.Sprint(available()), "[]")
			c.ns.UnwatchSession("q", "s")
			c.say("q", "s", "m")
			c.equal(fmt.Sprint(available()), "[]")
			c.send("q", engine.Content{SessionID: "e", TTL: second}) // an expired message does not count
			c.ns.WatchSession("q", "e")
			c.now = c.now.Add(2 * second)
			c.send("q", engine.Content{SessionID: "e"})
			c.equal(fmt.Sprint(available()), "[]")
			is, err := c.ns.SessionAvailable(c.now, "q", "e")
			c.must(err)
			c.equal(is, false)
			c.sweep()
			c.equal(fmt.Sprint(available()), "[q e]")
			c.ns.WatchSession("gone", "s")
			c.equal(fmt.Sprint(available()), "[gone s]")
		},
		"SES-6 empty": func(c *clocked) { // the lock of a session without messages
			c.queue("q", sessionful)
			l := c.hold("q", "s")
			c.at(minute - ms)
			_, err := c.ns.RenewSession(c.now, l)
			c.must(err)
			c.at(2*minute - 2*ms)
			c.sweep()
			c.equal(c.end(l) == nil, true)
			c.at(2*minute - ms)
			c.sweep()
			c.wantEnded(l)
			c.equal(c.state("q").Sessions, engine.SessionCounts{}) // the session no longer exists
		},
		"SES-6 credit": func(c *clocked) { // a receiver with credit that loses its session
			c.queue("q", sessionful)
			l := c.hold("q", "s")
			c.must(c.ns.Credit(c.now, l, 1))
			c.at(minute)
			c.say("q", "s", "m")
			c.equal(len(c.delivered(l)), 0)
			c.wantEnded(l)
			c.equal(c.about("q", "s"), engine.SessionRow{ID: "s", Active: 1, OldestAt: c.now, NextSeq: 1})
		},
		"SES-7, DC-3": func(c *clocked) {
			c.queue("q", engine.Config{RequiresSession: true, MaxDeliveryCount: 1})
			c.say("q", "s", "m1", "m2")
			for range 3 {
				l := c.hold("q", "s")
				d := c.take(l)
				c.equal(d.Content.MessageID(), "m1")
				c.take(l)
				c.lose(l, engine.DetachedByClient)
				c.wantCounts("q", engine.Counts{Active: 2})
				c.equal(c.count("q", "m1")+c.count("q", "m2"), uint32(0))
				c.wantSessionLost(c.settle(d, engine.Complete))
				c.equal(c.end(l) == nil, true)
			}
			c.equal(fmt.Sprint(c.happened()[:2]), "[session-locked s receiver session-closed s receiver]")
		},
		"SES-7 too late": func(c *clocked) { // an expired lock cannot be released
			c.queue("q", sessionful)
			c.say("q", "s", "m1")
			l := c.hold("q", "s")
			c.take(l)
			c.at(minute)
			c.lose(l, engine.DetachedByClient)
			c.equal(c.count("q", "m1"), uint32(1))
		},
		"SES-7 waiting": func(c *clocked) { // a waiting receiver gets the session at once
			c.queue("q", sessionful)
			c.say("q", "s", "m1")
			l := c.hold("q", "s")
			c.take(l)
			w := c.wait("q")
			c.must(c.ns.Credit(c.now, w, 1))
			c.step()
			c.lose(l, engine.DetachedByClient)
			_, ok := c.granted(w)
			c.equal(ok, true)
			c.equal(fmt.Sprint(c.delivered(w)), "[m1]")
		},
		"DEC-5": func(c *clocked) { // LOCK-13: a lost link keeps its locks
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2")
			l := c.hold("q", "s")
			d1, _ := c.take(l), c.take(l)
			c.lose(l, engine.DetachedLost)
			c.equal(c.about("q", "s").Attached, false)
			_, err := c.ns.RenewSession(c.now, l)
			c.wantSessionLost(err)
			c.at(minute - ms)
			c.refused(engine.ErrSessionLocked, func() error { _, err := c.tryHold("q", "s"); return err })
			c.complete(d1) // by its token, from another client (LOCK-8)
			c.at(minute)
			c.equal(c.take(c.hold("q", "s")).Message.DeliveryCount, uint32(1))
		},
		"SES-16": func(c *clocked) { // TTL-22, DC-4 within a session
			keep := sessionful
			keep.DeadLetteringOnMessageExpiration, keep.MaxDeliveryCount = true, 2
			c.queue("q", keep)
			c.send("q", engine.Content{MessageID: "short", SessionID: "s", TTL: 30 * second})
			c.say("q", "s", "worn", "later")
			l := c.hold("q", "s")
			short, worn := c.take(l), c.take(l)
			c.abandon(worn)
			worn = c.take(l)
			c.at(30 * second)
			c.abandon(short) // the message has expired
			c.abandon(worn)  // the message has failed twice
			c.equal(c.take(l).Content.MessageID(), "later")
			c.wantIDs("q/$DeadLetterQueue", "short", "worn")
			rows := c.rows("q/$DeadLetterQueue")
			c.equal(rows[0].Message.Extra.Reason, engine.ReasonExpired)
			c.equal(rows[1].Message.Extra.Reason, engine.ReasonMaxDeliveryCount)
			c.equal(c.about("q", "s").Locked, int64(1))
		},
		"SES-16 lock": func(c *clocked) { // the same when the session's lock expires
			keep := sessionful
			keep.DeadLetteringOnMessageExpiration, keep.MaxDeliveryCount = true, 1
			c.queue("q", keep)
			c.send("q", engine.Content{MessageID: "short", SessionID: "s", TTL: 30 * second})
			c.say("q", "s", "worn", "later")
			l := c.hold("q", "s")
			c.take(l)
			c.take(l)
			c.at(minute - ms) // a lock outlives the time to live (TTL-20)
			c.equal(len(c.rows("q/$DeadLetterQueue")), 0)
			c.at(minute)
			_, id := c.next("q")
			c.equal(id, "s")
			c.wantIDs("q/$DeadLetterQueue", "short", "worn")
			c.wantIDs("q", "later")
		},
		"SES-16 next": func(c *clocked) { // TTL-19: a session whose messages have all expired is not available
			c.queue("q", sessionful)
			c.send("q", engine.Content{MessageID: "a", SessionID: "short", TTL: second})
			c.say("q", "long", "b")
			c.at(second - ms)
			l, id := c.next("q")
			c.equal(id, "short")
			c.lose(l, engine.DetachedByClient)
			c.at(second)
			for _, want := range []string{"long", ""} {
				_, id := c.next("q")
				c.equal(id, want)
			}
			c.equal(c.state("q").Sessions, engine.SessionCounts{Known: 1, Locked: 1})
		},
		"SES-16 scheduled": func(c *clocked) { // SCH-3
			c.queue("q", sessionful)
			c.send("q", engine.Content{MessageID: "later", SessionID: "s", ScheduledFor: morning.Add(second)})
			w := c.wait("q")
			c.equal(c.about("q", "s"), engine.SessionRow{ID: "s", Scheduled: 1, OldestAt: morning})
			c.send("q", engine.Content{MessageID: "still later", SessionID: "s", ScheduledFor: morning.Add(2 * second)})
			c.at(second - ms)
			c.must(c.ns.Credit(c.now, w, 0)) // it asks again, because there may be no sweeper
			c.step()
			_, ok := c.granted(w)
			c.equal(ok, false)
			c.at(second)
			c.must(c.ns.Credit(c.now, w, 0))
			c.step()
			_, ok = c.granted(w)
			c.equal(ok, true)
			c.equal(c.take(w).Message.Seq, engine.Seq(3))
			c.at(2*second - ms)
			c.empty(w)
			c.at(2 * second)
			c.equal(c.take(w).Message.Seq, engine.Seq(4))
		},
		"DEF-14": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2")
			c.say("q", "other", "m3")
			l, other := c.hold("q", "s"), c.hold("q", "other")
			seq, foreign := c.setAside(c.take(l)), c.setAside(c.take(other))
			c.equal(c.take(l).Content.MessageID(), "m2") // DEF-2
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.tryFetch("q", seq); return err })
			fetch := func(l engine.LinkID, seqs ...engine.Seq) ([]engine.Delivery, error) {
				ds, err := c.ns.ReceiveDeferredInSession(c.now, l, seqs, engine.PeekLock)
				c.step()
				for _, d := range ds {
					c.taken(d)
				}
				return ds, err
			}
			for _, seqs := range [][]engine.Seq{{foreign}, {seq, foreign}, {seq, seq}} {
				c.refused(engine.ErrMessageNotFound, func() error { _, err := fetch(l, seqs...); return err })
			}
			c.equal(c.about("q", "s").Deferred, int64(1))
			c.at(10 * second)
			ds, err := fetch(l, seq)
			c.must(err)
			c.equal(ds[0].Message.LockedUntil, morning.Add(minute)) // SES-5
			c.equal(ds[0].Content.MessageID(), "m1")
			c.abandon(ds[0]) // still deferred (DEF-8)
			c.empty(l)
			ds, err = fetch(l, seq)
			c.must(err)
			c.complete(ds[0])
			dead := c.attach("q/$DeadLetterQueue", 0)
			c.refused(engine.ErrNotAllowed, func() error {
				_, err := c.ns.ReceiveDeferredInSession(c.now, dead, nil, engine.PeekLock)
				return err
			})
			c.lose(other, engine.DetachedByClient)
			_, err = c.ns.ReceiveDeferredInSession(c.now, other, []engine.Seq{foreign}, engine.PeekLock)
			c.wantSessionLost(err)
		},
		"STAT-7": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m")
			l, w := c.hold("q", "s"), c.wait("q")
			d := c.take(l)
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusReceiveDisabled })
			for _, id := range []engine.LinkID{l, w} {
				if e := c.end(id); e == nil || e.Err == nil {
					c.Errorf("link %d was not ended: %v", id, e)
				}
			}
			c.refused(engine.ErrDisabled, func() error { return c.settle(d, engine.Complete) })
			c.refused(engine.ErrDisabled, func() error { _, err := c.tryHold("q", "x"); return err })
			c.equal(c.about("q", "s").LockedUntil, morning.Add(minute)) // like any existing lock
			c.at(minute)
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.equal(c.take(c.hold("q", "s")).Message.DeliveryCount, uint32(1))
		},
		"PROP-14": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m")
			l, w := c.hold("q", "s"), c.wait("q")
			c.must(c.setState(l, "kept"))
			c.remove("q")
			for _, id := range []engine.LinkID{l, w} {
				if c.end(id) == nil {
					c.Errorf("link %d was not ended", id)
				}
			}
			c.equal(len(c.store.sessions), 0)
			c.queue("q", sessionful)
			c.wantState(c.hold("q", "s"), "", false)
		},
		"LOCK-2 in a session": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2")
			l, err := c.attachSession("q", named("s"), engine.Link{Mode: engine.ReceiveAndDelete})
			c.must(err)
			d := c.take(l)
			c.equal(d.Deleted, true)
			c.wantIDs("q", "m2")
			c.lose(l, engine.DetachedByClient)
			c.wantIDs("q", "m2")
		},
	}, asked, swept)
}

// IDLE-8: waiting for a session counts as receiving; holding one does not.
func TestSessionsAndIdleness(t *testing.T) {
	run(t, rules{
		"IDLE-8": func(c *clocked) {
			short := sessionful
			short.AutoDeleteOnIdle = 5 * minute
			c.queue("q", short)
			c.topic("t", engine.Config{AutoDeleteOnIdle: 5 * minute})
			s := c.sub("t", "s", short)
			w, v := c.wait("q"), c.wait(s)
			c.equal(c.state("q").KeptAlive, true)
			c.at(15 * minute)
			c.equal(c.exists("q"), true)
			c.equal(c.exists(s), true)
			c.lose(w, engine.DetachedByClient)
			c.lose(v, engine.DetachedByClient)
			c.equal(c.state("q").KeptAlive, false)
			c.at(20*minute - ms)
			c.equal(c.exists("q") && c.exists(s) && c.exists("t"), true)
			c.at(20 * minute)
			c.equal(c.exists("q") || c.exists(s) || c.exists("t"), false)
		},
		"IDLE-8 granted": func(c *clocked) {
			short := sessionful
			short.AutoDeleteOnIdle = 5 * minute
			c.queue("q", short)
			w := c.wait("q")
			c.at(minute)
			c.say("q", "s", "m")
			_, ok := c.granted(w)
			c.equal(ok, true)
			c.equal(c.state("q").KeptAlive, false)
			c.must(c.ns.Credit(c.now, w, 2)) // it receives one message and waits for another
			c.step()
			c.equal(c.state("q").KeptAlive, true)
			c.drain(w)
			c.equal(c.state("q").KeptAlive, false)
			c.at(6*minute - ms)
			c.equal(c.exists("q"), true)
			c.at(7 * minute) // its receiver ended when the lock was lost, which is no use
			c.equal(c.exists("q"), false)
		},
	}, asked, swept)
}

// DEC-12: after a restart a session is locked by an unknown client for as long as its messages
// are, and their tokens are valid. A session without a locked message is available.
func TestSessionsAfterRestart(t *testing.T) {
	run(t, rules{
		"DEC-12": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2", "m3")
			c.say("q", "t", "m4")
			c.say("q", "r", "m5")
			l, held := c.hold("q", "s"), c.hold("q", "t")
			c.take(held)
			c.at(10 * second)
			_, err := c.ns.RenewSession(c.now, l)
			c.must(err)
			d1, _ := c.take(l), c.take(l)
			c.hold("q", "r")
			c.restart()
			c.equal(c.about("q", "s"), engine.SessionRow{ID: "s", Active: 1, Locked: 2, LockedUntil: morning.Add(70 * second), OldestAt: morning, NextSeq: 3})
			c.equal(c.state("q").Sessions, engine.SessionCounts{Known: 3, Available: 1, Locked: 2})
			c.refused(engine.ErrSessionLocked, func() error { _, err := c.tryHold("q", "s"); return err })
			r, id := c.next("q")
			c.equal(id, "r")
			c.complete(c.take(r))
			c.lose(r, engine.DetachedByClient)
			c.complete(d1)
			c.at(70*second - ms)
			_, id = c.next("q")
			c.equal(id, "t")
			c.at(70 * second)
			l, id = c.next("q")
			c.equal(id, "s")
			c.equal(c.take(l).Message.DeliveryCount, uint32(1))
		},
		"DEC-12 order": func(c *clocked) { // in the order of their oldest messages
			c.queue("q", sessionful)
			for _, id := range []string{"c", "a", "b", "a", "c"} {
				c.say("q", id, id)
			}
			l := c.hold("q", "c")
			c.complete(c.take(l))
			c.lose(l, engine.DetachedByClient)
			c.restart()
			for _, want := range []string{"a", "b", "c", ""} {
				_, id := c.next("q")
				c.equal(id, want)
			}
		},
		"SES-11 restart": func(c *clocked) {
			c.queue("q", sessionful)
			c.queue("other", sessionful)
			l, m := c.hold("q", "s"), c.hold("q", "t")
			c.must(c.setState(l, "a\x00b"))
			c.must(c.setState(m, ""))
			c.must(c.setState(c.hold("q", "u"), "cleared"))
			c.must(c.ns.SetSessionStateAt(c.now, "q", "u", nil, ""))
			c.must(c.setState(c.hold("other", "s"), "gone"))
			c.pass(2 * minute)
			c.remove("other")
			c.store.sessions[engine.SessionID{Subqueue: 99, ID: "s"}] = engine.SessionRecord{Subqueue: 99, ID: "s", State: "of nobody"}
			before := c.state("q").Bytes
			c.restart()
			c.equal(before, int64(3))
			c.equal(c.state("q").Bytes, before)
			c.wantState(c.hold("q", "s"), "a\x00b", true)
			c.wantState(c.hold("q", "t"), "", true)
			c.wantState(c.hold("q", "u"), "", false)
			c.equal(c.about("q", "s").ChangedAt, morning)
			c.equal(c.state("q").Sessions, engine.SessionCounts{Known: 3, Locked: 3, WithState: 2})
		},
	}, asked)
}
