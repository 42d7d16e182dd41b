package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"mayfly/engine"
)

func ruleNames(s engine.EntityState) (names []string) {
	for _, r := range s.Rules {
		names = append(names, r.Name)
	}
	return names
}

func TestSubscriptions(t *testing.T) {
	run(t, rules{
		"FILT-1": func(c *clocked) {
			c.topic("t", engine.Config{})
			c.sends("t", "before")
			s := c.sub("t", "s", engine.Config{})
			c.nothing(s)
			c.sends("t", "after")
			c.equal(c.receive(s).Content.MessageID(), "after")
		},
		"FILT-2": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.equal(fmt.Sprint(ruleNames(c.state(s))), "[$Default]")
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "B"}, ""))
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "a"}, ""))
			c.pass(second)
			c.equal(fmt.Sprint(ruleNames(c.state(s))), "[$Default a B]")
		},
		"FILT-2 with rules of its own": func(c *clocked) {
			c.topic("t", engine.Config{})
			_, err := c.ns.CreateWithRules(c.now, engine.Subscription, "t/Subscriptions/s", engine.Config{}, []engine.Rule{{Name: "r"}}, "")
			c.must(err)
			c.pass(second)
			c.equal(fmt.Sprint(ruleNames(c.state("t/Subscriptions/s"))), "[r]")
		},
		"FILT-3": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.must(c.ns.RemoveRule(c.now, s, "$DEFAULT", ""))
			_, err := c.ns.CreateWithRules(c.now, engine.Subscription, "t/Subscriptions/u", engine.Config{}, nil, "")
			c.must(err)
			c.pass(second)
			c.sends("t", "m")
			c.nothing(s)
			c.nothing("t/Subscriptions/u")
		},
		"FILT-4": func(c *clocked) { // several matching rules make one copy
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			for _, name := range []string{"a", "b"} {
				c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: name}, ""))
			}
			c.pass(second)
			c.sends("t", "m")
			c.wantCounts(s, engine.Counts{Active: 1})
			c.must(c.ns.RemoveRule(c.now, s, "a", ""))
			c.sends("t", "m")
			c.wantCounts(s, engine.Counts{Active: 2})
		},
		"FILT-6": func(c *clocked) {
			c.topic("t", engine.Config{})
			c.equal(c.send("t", engine.Content{}), engine.Seq(1))
			c.equal(c.send("t", engine.Content{}), engine.Seq(2))
			c.wantCounts("t", engine.Counts{})
			c.equal(c.state("t").SizeInBytes, int64(0))
			c.step()
			c.equal(len(c.store.messages)+len(c.store.contents)+len(c.store.bodies), 0)
		},
		"FILT-7": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "r"}, ""))
			c.step()
			c.refused(engine.ErrExists, func() error { return c.ns.AddRule(c.now, s, engine.Rule{Name: "R"}, "") })
			c.refused(engine.ErrNotFound, func() error { return c.ns.RemoveRule(c.now, s, "other", "") })
			c.refused(engine.ErrNotFound, func() error { return c.ns.AddRule(c.now, "t/Subscriptions/none", engine.Rule{Name: "r"}, "") })
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.AddRule(c.now, "t", engine.Rule{Name: "r"}, "") })
			c.refused(engine.ErrExists, func() error {
				_, err := c.ns.CreateWithRules(c.now, engine.Subscription, "t/Subscriptions/u", engine.Config{}, []engine.Rule{{Name: "r"}, {Name: "R"}}, "")
				return err
			})
			c.refused(engine.ErrArgument, func() error { return c.ns.AddRule(c.now, s, engine.Rule{Name: "a/b"}, "") })
			c.refused(engine.ErrNotAllowed, func() error {
				_, err := c.ns.CreateWithRules(c.now, engine.Queue, "q", engine.Config{}, []engine.Rule{{Name: "r"}}, "")
				return err
			})
		},
		"FILT-8": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "kept")
			c.must(c.ns.RemoveRule(c.now, s, engine.DefaultRule, ""))
			c.sends("t", "passed")
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "r"}, ""))
			c.sends("t", "taken")
			c.wantIDs(s, "kept", "taken")
		},
		"FILT-9": func(c *clocked) { // a copy is a message of its own
			c.topic("t", engine.Config{})
			a := c.sub("t", "a", engine.Config{LockDuration: 10 * second, DefaultMessageTimeToLive: minute})
			b := c.sub("t", "b", engine.Config{DeadLetteringOnMessageExpiration: true})
			c.sends("t", "first")
			c.grab(b)
			c.send("t", engine.Content{MessageID: "m", TTL: hour})
			da, db := c.receive(a), c.receive(b)
			c.abandon(da)
			c.complete(c.receive(a))
			da = c.receive(a)
			c.equal(da.Content, db.Content)
			c.equal(da.Message.Key == db.Message.Key, false)
			c.equal(da.Message.LockedUntil, c.now.Add(10*second))
			c.equal(db.Message.LockedUntil, c.now.Add(minute))
			c.equal(da.TTL(), minute)
			c.equal(db.TTL(), hour)
			c.complete(da)
			c.wantCounts(b, engine.Counts{Locked: 1})
			c.kill(db, "", "")
			c.wantCounts(a, engine.Counts{})
			c.wantCounts(b, engine.Counts{DeadLetter: 1})
			c.pass(second)
			c.grab(b.DeadLetter()) // the content lives as long as its last copy
			c.step()
			c.equal(len(c.store.contents)+len(c.store.bodies), 0)
		},
		"FILT-10": func(c *clocked) { // all copies or none
			c.topic("t", engine.Config{})
			a, b := c.sub("t", "a", engine.Config{}), c.sub("t", "b", engine.Config{})
			_, err := c.ns.Send(c.now, "t", c.submissions(engine.Content{}), "")
			c.must(err)
			c.equal(len(c.ns.Flush(c.now, true).Batch.Messages), 2) // in one batch
			c.ns.Rollback()
			c.step()
			c.wantCounts(a, engine.Counts{})
			c.wantCounts(b, engine.Counts{})
			c.equal(len(c.store.messages), 0)
		},
		"FILT-10 full": func(c *clocked) { // there is room for one copy of two
			c.limit(func(l *engine.Limits) { l.EntitySize = 500 })
			c.topic("t", engine.Config{})
			a := c.sub("t", "a", engine.Config{})
			c.sub("t", "b", engine.Config{})
			batch := c.submissions(engine.Content{Subject: strings.Repeat("s", 300)})
			c.refused(engine.ErrQuota, func() error { _, err := c.ns.Send(c.now, "t", batch, ""); return err })
			c.remove(a)
			c.send("t", engine.Content{Subject: strings.Repeat("s", 300)})
		},
		"order": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			_, err := c.trySend("t", engine.Content{MessageID: "a"}, engine.Content{MessageID: "b"})
			c.must(err)
			c.sends("t", "c")
			c.wantIDs(s, "a", "b", "c")
		},
		"listed": func(c *clocked) { // by path, whose case does not matter
			c.topic("t", engine.Config{})
			for _, name := range []string{"b", "C", "a"} {
				c.sub("t", name, engine.Config{})
			}
			var paths []string
			for _, s := range c.ns.States(engine.Subscription) {
				paths = append(paths, s.Path.Name())
			}
			c.equal(fmt.Sprint(paths), "[a b C]")
		},
	})
}

// IDLE-11, PROP-14: everything in a topic is deleted with it.
func TestTopicRemoved(t *testing.T) {
	run(t, rules{
		"recreated": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "old")
			c.remove("t")
			c.refused(engine.ErrNotFound, func() error {
				_, err := c.ns.Create(c.now, engine.Subscription, s, engine.Config{}, "")
				return err
			})
			c.topic("t", engine.Config{})
			c.sub("t", "s", engine.Config{})
			c.pass(second)
			c.nothing(s)
		},
	})
}
