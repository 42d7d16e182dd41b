package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mayfly/engine"
)

func TestSessionState(t *testing.T) {
	run(t, rules{
		"SES-11": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m")
			l := c.hold("q", "s")
			c.wantState(l, "", false)
			c.must(c.setState(l, "half\x00way\xff"))
			c.wantState(l, "half\x00way\xff", true)
			c.complete(c.take(l))
			c.lose(l, engine.DetachedByClient)
			c.wantCounts("q", engine.Counts{})
			l = c.hold("q", "s") // the state outlives the session's messages
			c.wantState(l, "half\x00way\xff", true)
			c.must(c.ns.SetSessionState(c.now, l, nil))
			c.step()
			c.wantState(l, "", false)
			c.equal(len(c.store.sessions), 0)
			c.must(c.ns.SetSessionState(c.now, l, nil)) // clearing a missing state is no error
			c.must(c.setState(l, ""))                   // an empty state is a state
			c.wantState(l, "", true)
			c.must(c.ns.SetSessionState(c.now, l, nil))
			c.lose(l, engine.DetachedByClient)
			c.equal(c.state("q").Sessions, engine.SessionCounts{})
		},
		"SES-11 holder": func(c *clocked) { // only the holder can read and set the state
			c.queue("q", sessionful)
			c.queue("plain", engine.Config{})
			w := c.wait("q")
			c.refused(engine.ErrNotAllowed, func() error { return c.setState(w, "x") })
			c.refused(engine.ErrNotAllowed, func() error { _, _, err := c.ns.SessionState(c.now, w); return err })
			p := c.attach("plain", 0)
			c.refused(engine.ErrNotAllowed, func() error { return c.setState(p, "x") })
			l := c.hold("q", "s")
			c.lose(l, engine.DetachedByClient)
			c.refused(engine.ErrSessionLockLost, func() error { return c.setState(l, "x") })
		},
		"SES-11 size": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.EntitySize, l.SessionStateSize, l.SessionStates = 20, 10, 2 })
			c.queue("q", sessionful)
			l, m, n := c.hold("q", "s"), c.hold("q", "t"), c.hold("q", "u")
			c.refused(engine.ErrTooLarge, func() error { return c.setState(l, strings.Repeat("x", 11)) })
			c.must(c.setState(l, strings.Repeat("x", 10)))
			c.must(c.setState(m, strings.Repeat("x", 9)))
			c.equal(c.state("q").SizeInBytes, int64(19))
			c.refused(engine.ErrQuota, func() error { return c.setState(n, "x") }) // the third state exceeds the quota
			c.must(c.setState(l, "x"))
			c.must(c.setState(m, strings.Repeat("x", 10)))
			c.refused(engine.ErrQuota, func() error {
				_, err := c.trySend("q", engine.Content{SessionID: "a long one"})
				return err
			})
			c.must(c.setState(l, strings.Repeat("y", 10)))
			c.equal(c.state("q").SizeInBytes, int64(20))
			c.must(c.ns.SetSessionState(c.now, l, nil))
			c.must(c.setState(n, "x"))
			c.equal(c.state("q").SizeInBytes, int64(11))
		},
		"SES-11 full": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.EntitySize = 10 })
			c.topic("t", engine.Config{})
			l := c.hold(c.sub("t", "s", sessionful), "s")
			c.refused(engine.ErrQuota, func() error { return c.setState(l, strings.Repeat("x", 11)) })
			c.must(c.setState(l, strings.Repeat("x", 10)))
			c.equal(c.state("t").SizeInBytes, int64(10)) // the size counts at the topic, like everything in a subscription
			c.refused(engine.ErrQuota, func() error { return c.ns.SetSessionStateAt(c.now, "t/Subscriptions/s", "other", new("x"), "") })
		},
		"SES-12": func(c *clocked) {
			c.queue("q", sessionful)
			for _, id := range []string{"b", "c", "a"} {
				c.say("q", id, id)
			}
			c.equal(fmt.Sprint(c.sessionIDs("q", 0, 0, 2), c.sessionIDs("q", 0, 2, 2), c.sessionIDs("q", 0, 3, 2)), "[a b] [c] []")
			l, d := c.hold("q", "b"), c.hold("q", "d")
			m := c.take(l)
			c.equal(fmt.Sprint(c.sessionIDs("q", 0, 0, 9)), "[a b c]") // the session is listed also while a message is locked
			c.setAside(m)
			c.send("q", engine.Content{SessionID: "later", ScheduledFor: c.now.Add(hour)})
			c.equal(fmt.Sprint(c.sessionIDs("q", 0, 0, 9)), "[a c]")
			c.must(c.setState(l, "x"))
			c.equal(fmt.Sprint(c.sessionIDs("q", 0, 0, 9)), "[a b c]") // a state is sufficient (sdk-demands 12)
			c.pass(ms)
			c.must(c.setState(d, "y"))
			c.equal(fmt.Sprint(c.sessionIDs("q", morning-1, 0, 9)), "[b d]")
			c.equal(fmt.Sprint(c.sessionIDs("q", morning, 0, 9)), "[d]") // changed after that time
			c.equal(fmt.Sprint(c.sessionIDs("q", morning+1, 0, 9)), "[]")
			c.equal(fmt.Sprint(c.sessionIDs("q", morning-1, 1, 1)), "[d]")
			c.must(c.ns.SetSessionState(c.now, d, nil))
			c.equal(fmt.Sprint(c.sessionIDs("q", morning-1, 0, 9)), "[b]")
			list := func(p engine.Path, skip, top int) func() error {
				return func() error { return c.ns.ListSessions(c.now, &engine.SessionList{Path: p, Skip: skip, Top: top}, 9) }
			}
			c.refused(engine.ErrOutOfRange, list("q", 0, 0))
			c.refused(engine.ErrOutOfRange, list("q", -1, 1))
			c.queue("plain", engine.Config{})
			c.refused(engine.ErrNotAllowed, list("plain", 0, 1))
			c.refused(engine.ErrNotAllowed, list("q/$DeadLetterQueue", 0, 1))
			c.refused(engine.ErrNotFound, list("nowhere", 0, 1))
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.refused(engine.ErrDisabled, list("q", 0, 1))
		},
		"SES-12 many": func(c *clocked) { // a page has no more sessions than a client may request
			c.queue("q", sessionful)
			for i := range 1001 {
				c.must(c.ns.SetSessionStateAt(c.now, "q", fmt.Sprintf("%04d", i), new("state"), ""))
			}
			list := func(skip, top int) engine.SessionList {
				l := engine.SessionList{Path: "q", ChangedSince: morning - 1, Skip: skip, Top: top}
				c.must(c.ns.ListSessions(c.now, &l, 5000))
				c.equal(l.Done, true)
				return l
			}
			c.equal(len(list(0, 1000).IDs), 1000)
			c.equal(len(list(0, 1<<30).IDs), 1000)
			c.equal(fmt.Sprint(list(1000, 1<<30).IDs), "[1000]")
		},
		"SES-12 slices": func(c *clocked) { // each slice examines that many sessions, whether they match or not
			c.queue("q", sessionful)
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				c.send("q", engine.Content{SessionID: id, ScheduledFor: c.now.Add(hour)})
			}
			c.say("q", "f", "m")
			c.say("q", "g", "m")
			l := engine.SessionList{Path: "q", Skip: 1, Top: 5}
			var from []string
			for !l.Done {
				c.must(c.ns.ListSessions(c.now, &l, 3))
				from = append(from, l.From)
				if len(from) == 1 { // the session is removed before its turn
					c.must(c.ns.CancelScheduled(c.now, "q", []engine.Seq{4}, ""))
				}
				c.step()
			}
			c.equal(fmt.Sprint(l.IDs, from), "[g] [d d]")
		},
		"SES-12 use": func(c *clocked) { // a list counts as use, like browsing (IDLE-2); viewing does not (IDLE-7)
			short := sessionful
			short.AutoDeleteOnIdle = 5 * minute
			c.queue("q", short)
			c.at(minute)
			c.sessionIDs("q", 0, 0, 1)
			c.at(2 * minute)
			_, err := c.ns.SessionRows("q", "", 9)
			c.must(err)
			c.equal(c.state("q").LastUsed, morning.Add(minute))
		},
		"rows": func(c *clocked) {
			c.queue("q", sessionful)
			for _, id := range []string{"b", "c", "a"} {
				c.say("q", id, id+"1", id+"2", id+"3")
				c.pass(second)
			}
			c.send("q", engine.Content{SessionID: "b", ScheduledFor: c.now.Add(hour)})
			l := c.hold("q", "b")
			c.setAside(c.take(l))
			c.take(l)
			c.must(c.setState(l, "four"))
			rows, err := c.ns.SessionRows("q", "a1", 2)
			c.must(err)
			at := morning.Add(3 * second)
			c.equal(len(rows), 2)
			c.equal(rows[0], engine.SessionRow{
				ID: "b", Active: 1, Locked: 1, Deferred: 1, Scheduled: 1, LockedUntil: at.Add(minute), Lock: engine.Lock{By: "receiver", Since: at}, Attached: true,
				StateSet: true, StateSize: 4, ChangedAt: at, OldestAt: morning, NextSeq: 3,
			})
			c.equal(rows[1], engine.SessionRow{ID: "c", Active: 3, OldestAt: morning.Add(second), NextSeq: 4})
			all, err := c.ns.SessionRows("q", "", 99)
			c.must(err)
			c.equal(len(all), 3)
			c.equal(c.state("q").Sessions, engine.SessionCounts{Known: 3, Available: 2, Locked: 1, WithState: 1})
			b := "b"
			in := func(session string, class engine.Class) (seqs []engine.Seq) {
				look := engine.Browse{Path: "q", Session: &session, Class: class, Limit: 9}
				if session == "any" {
					look.Session = nil
				}
				rows, err := c.ns.Browse(look)
				c.must(err)
				for _, r := range rows {
					seqs = append(seqs, r.Message.Seq)
				}
				return seqs
			}
			c.equal(fmt.Sprint(in("b", engine.ClassAll), in("b", engine.ClassActive), in("b", engine.ClassLocked)), "[1 2 3 10] [3] [2]")
			c.equal(fmt.Sprint(in("nobody", engine.ClassAll), in("nobody", engine.ClassLocked), in("a", engine.ClassLocked)), "[] [] []")
			c.equal(fmt.Sprint(in("any", engine.ClassActive), in("any", engine.ClassLocked), in("any", engine.ClassDeferred), in("any", engine.ClassScheduled)), "[3 4 5 6 7 8 9] [2] [1] [10]")
			for _, class := range []engine.Class{engine.ClassDeferred, engine.ClassScheduled} { // there is no index for these
				_, err = c.ns.Browse(engine.Browse{Path: "q", Session: &b, Class: class, Limit: 9})
				c.equal(errors.Is(err, engine.ErrArgument), true)
			}
			_, err = c.ns.Browse(engine.Browse{Path: "q/$DeadLetterQueue", Session: &b, Limit: 9})
			c.equal(errors.Is(err, engine.ErrNotAllowed), true)
		},
	}, asked, swept)
}

func TestSessionOperators(t *testing.T) {
	run(t, rules{
		"OPS-6": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2")
			l := c.hold("q", "s")
			c.take(l)
			c.must(c.ns.BreakSession(c.now, "q", "s", "operator"))
			c.step()
			c.wantEnded(l)
			c.equal(c.count("q", "m1"), uint32(1))
			c.equal(c.count("q", "m2"), uint32(0))
			last := c.events[len(c.events)-1]
			c.equal(fmt.Sprint(last.Kind, last.Session, last.Actor, last.Audit), "session-lostsoperatortrue")
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.BreakSession(c.now, "q", "s", "operator") })
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.BreakSession(c.now, "q", "nobody", "operator") })
			c.refused(engine.ErrNotFound, func() error { return c.ns.BreakSession(c.now, "nowhere", "s", "operator") })
			c.hold("q", "s")
			c.at(minute)
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.BreakSession(c.now, "q", "s", "operator") }) // the session's lock has expired already
		},
		"OPS-6 message": func(c *clocked) { // breaking one message's lock does not end the session's
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2")
			l := c.hold("q", "s")
			d := c.take(l)
			c.must(c.ns.BreakLock(c.now, d.Message.Key, "operator"))
			c.step()
			again := c.take(l)
			c.equal(again.Content.MessageID(), "m1")
			c.equal(again.Message.DeliveryCount, uint32(1))
			c.take(l)
			c.at(10 * second)
			from := len(c.events)
			until, err := c.ns.RenewLockFor(c.now, again.Message.Key, "operator") // SES-5: of all messages locked in it
			c.must(err)
			c.step()
			c.equal(until, c.now.Add(minute))
			c.equal(c.about("q", "s").LockedUntil, until)
			c.equal(c.about("q", "s").Lock.By, "receiver")
			var reasons []string // the renewal has one event of the session and one of the chosen message
			for _, e := range c.events[from:] {
				reasons = append(reasons, fmt.Sprint(e.Kind, " ", e.Session, e.Content.MessageID(), " ", e.Actor, " ", e.Audit))
			}
			c.equal(fmt.Sprint(reasons), "[session-renewed s operator false renewed m1 operator true]")
		},
		"SES-11 two writers": func(c *clocked) { // of two writers that saw the same state, the second gets an error (OPS-11)
			c.queue("q", sessionful)
			set := func(seen engine.SessionStateTag, state *string) error {
				err := c.ns.SetSessionStateIf(c.now, "q", "s", seen, state, "operator")
				c.step()
				return err
			}
			none := engine.TagSessionState(nil)
			c.equal(none == engine.TagSessionState(new("")), false)
			c.refused(engine.ErrChanged, func() error { return set(engine.TagSessionState(new("gone")), new("one")) })
			c.must(set(none, new("one")))
			c.refused(engine.ErrChanged, func() error { return set(none, new("two")) })
			c.refused(engine.ErrChanged, func() error { return set(none, nil) })
			c.refused(engine.ErrChanged, func() error { return set("", new("two")) })
			c.refused(engine.ErrNotFound, func() error { return c.ns.SetSessionStateIf(c.now, "nowhere", "s", none, nil, "") })
			text, _, err := c.ns.SessionStateAt("q", "s")
			c.must(err)
			c.equal(text, "one")
			c.must(set(engine.TagSessionState(new("one")), new("")))
			c.refused(engine.ErrChanged, func() error { return set(none, nil) })
			c.must(set(engine.TagSessionState(new("")), nil))
			c.must(set(none, new("three")))
		},
		"SES-11 by hand": func(c *clocked) {
			c.queue("q", sessionful)
			l := c.hold("q", "held")
			for _, id := range []string{"held", "nobody's"} {
				c.must(c.ns.SetSessionStateAt(c.now, "q", id, new("by hand"), "operator"))
				c.step()
				last := c.events[len(c.events)-1]
				c.equal(fmt.Sprint(last.Kind, last.Session, last.Actor, last.Reason, last.Audit), "session-state"+id+"operatorsettrue")
				text, set, err := c.ns.SessionStateAt("q", id)
				c.must(err)
				c.equal(fmt.Sprint(text, set), "by handtrue")
			}
			c.wantState(l, "by hand", true)
			c.must(c.ns.SetSessionStateAt(c.now, "q", "held", nil, "operator"))
			c.equal(c.events[len(c.events)-1].Session, "nobody's")
			c.step()
			c.equal(c.events[len(c.events)-1].Reason, "cleared")
			_, set, err := c.ns.SessionStateAt("q", "held")
			c.must(err)
			c.equal(set, false)
			c.queue("plain", engine.Config{})
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.SetSessionStateAt(c.now, "plain", "s", new("x"), "") })
			c.refused(engine.ErrArgument, func() error {
				return c.ns.SetSessionStateAt(c.now, "q", strings.Repeat("x", 129), new("x"), "")
			})
			c.must(c.ns.SetSessionStateAt(c.now, "q", "", new("x"), "")) // the empty id is valid
			c.equal(c.about("q", "").StateSize, 1)
			c.refused(engine.ErrNotAllowed, func() error { _, _, err := c.ns.SessionStateAt("plain", "s"); return err })
		},
		"OPS-10": func(c *clocked) { // a message is moved into a session queue
			c.queue("q", engine.Config{})
			c.queue("s", sessionful)
			c.sends("q", "without")
			c.say("q", "x", "with")
			rows := c.rows("q")
			c.wantRefused(engine.ErrNotAllowed, engine.NoSessionIDText, func() error {
				_, err := c.ns.Move(c.now, engine.Move{Key: rows[0].Message.Key, To: "s"}, "")
				return err
			})
			c.move(engine.Move{Key: rows[1].Message.Key, To: "s"})
			l := c.hold("s", "x")
			d := c.take(l)
			c.kill(d, "", "")
			c.move(engine.Move{Key: d.Message.Key}) // OPS-1: and back to its source
			c.equal(c.take(l).Content.MessageID(), "with")
		},
		"OPS-7": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "locked", "m")
			c.say("q", "t", "m")
			c.take(c.hold("q", "s"))
			pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassActive})
			c.must(err)
			c.must(c.ns.PurgeSlice(c.now, &pg, 100, "operator"))
			c.step()
			c.equal(fmt.Sprint(pg.Removed, pg.Skipped), "2 1")
			c.equal(c.state("q").Sessions, engine.SessionCounts{Known: 1, Locked: 1})
		},
		"BDEL-4": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "locked", "m")
			c.say("q", "t", "m")
			c.take(c.hold("q", "s"))
			n, err := c.ns.BatchDelete(c.now, "q", 10, c.now, "")
			c.must(err)
			c.step()
			c.equal(n, 2)
		},
		"BDEL-8": func(c *clocked) { // a receiver deletes messages of its own session
			c.queue("q", sessionful)
			for i := range 10 {
				c.say("q", "one", fmt.Sprint("one ", i))
				if i < 5 {
					c.say("q", "two", fmt.Sprint("two ", i))
				}
			}
			one, two := c.hold("q", "one"), c.hold("q", "two")
			c.take(one)
			c.must(c.ns.Credit(c.now, one, 1))
			c.step()
			d, err := c.ns.BeginSessionBatchDelete(c.now, one, 100, c.now)
			c.must(err)
			c.say("q", "one", "late")
			for range 9 { // in slices, which skip other sessions' messages
				c.must(c.ns.BatchDeleteSlice(c.now, &d, 3))
				c.step()
			}
			c.equal(d.Deleted, 8) // two are locked
			c.equal(c.state("q").Counts.Active, int64(6))
			c.equal(c.state("q").Counts.Locked, int64(2))
			d, err = c.ns.BeginSessionBatchDelete(c.now, two, 2, c.now)
			c.must(err)
			c.must(c.ns.BatchDeleteSlice(c.now, &d, 100))
			c.step()
			c.equal(d.Deleted, 2) // as many as were requested
			c.wantIDs("q", "one 0", "one 1", "two 2", "two 3", "two 4", "late")
			// Without the session's lock a batch delete neither begins nor continues.
			d, err = c.ns.BeginSessionBatchDelete(c.now, two, 100, c.now)
			c.must(err)
			c.at(minute)
			c.wantSessionLost(c.ns.BatchDeleteSlice(c.now, &d, 100))
			_, err = c.ns.BeginSessionBatchDelete(c.now, one, 100, c.now)
			c.wantSessionLost(err)
			c.wantIDs("q", "one 0", "one 1", "two 2", "two 3", "two 4", "late")
		},
	}, asked, swept)
}
