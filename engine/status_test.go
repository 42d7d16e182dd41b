package engine_test

import (
	"errors"
	"testing"
	"time"

	"mayfly/engine"
)

func TestAccessedTimes(t *testing.T) {
	run(t, rules{
		"RT-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.at(second)
			c.sends("q", "m")
			c.receive("q")
			s := c.state("q")
			c.equal(s.CreatedAt, morning)
			c.equal(s.UpdatedAt, morning)
			c.update("q", func(cfg *engine.Config) { cfg.UserMetadata = "x" })
			s = c.state("q")
			c.equal(s.CreatedAt, morning)
			c.equal(s.UpdatedAt, morning.Add(second))
		},
		"RT-2": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.equal(c.state("q").AccessedAt, engine.Instant(0))
			c.topic("t", engine.Config{})
			c.equal(c.state("t").AccessedAt, engine.Instant(0))
			c.at(time.Millisecond)
			s := c.sub("t", "s", engine.Config{})
			c.equal(c.state(s).AccessedAt, c.now)   // of a subscription that was created now
			c.equal(c.state("t").AccessedAt, c.now) // and of its topic
			c.at(second)
			c.send("t", engine.Content{ScheduledFor: c.now.Add(minute)}) // scheduling is sending
			c.equal(c.state("t").AccessedAt, c.now)
			c.update("q", func(cfg *engine.Config) { cfg.UserMetadata = "x" })
			_, err := c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			c.equal(c.state("q").AccessedAt, engine.Instant(0))
			c.sends("q", "m")
			c.equal(c.state("q").AccessedAt, c.now)
			c.at(time.Hour)
			c.attach("q", 0)
			c.equal(c.state("q").AccessedAt, c.now)
		},
		"RT-3": func(c *clocked) {
			c.queue("q", engine.Config{})
			var sizes int64
			for _, m := range []engine.Content{{MessageID: "active"}, {MessageID: "dead"}, {MessageID: "scheduled", ScheduledFor: c.now + 1000}} {
				s := c.submissions(m)
				sizes += s[0].Size()
				_, err := c.ns.Send(c.now, "q", s, "")
				c.must(err)
				c.step()
				c.equal(c.state("q").SizeInBytes, sizes)
			}
			c.kill(c.receive("q"), "four", "")
			c.equal(c.state("q").SizeInBytes, sizes+4)
			s, err := engine.Submit(engine.Content{}, make([]byte, 1024), 0, c.keys.Next(), c.limits)
			c.must(err)
			_, err = c.ns.Send(c.now, "q", []engine.Submission{s}, "")
			c.must(err)
			c.step()
			grown := c.state("q").SizeInBytes - sizes - 4
			if grown < 1024 || grown > 1024+100 || grown != s.Size() {
				c.Errorf("1 KB takes %d bytes", grown)
			}
			c.restart()
			c.equal(c.state("q").SizeInBytes, sizes+4+grown)
			c.grab("q/$DeadLetterQueue")
			c.grab("q")
			c.grab("q")
			c.must(c.ns.CancelScheduled(c.now, "q", []engine.Seq{3}, ""))
			c.equal(c.state("q").SizeInBytes, int64(0))
		},
		"RT-4": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "dead", "active")
			c.send("q", engine.Content{ScheduledFor: c.now + 1000})
			c.kill(c.receive("q"), "", "")
			c.equal(c.state("q").Counts.MessageCount(), int64(3))
		},
		"RT-5": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sub("t", "u", engine.Config{})
			c.sends("t", "m")
			c.send("t", engine.Content{ScheduledFor: c.now + 1000})
			c.equal(c.state("t").Subscriptions, 2)
			c.wantCounts("t", engine.Counts{Scheduled: 1})
			c.wantCounts(s, engine.Counts{Active: 1})
			c.kill(c.receive(s), "", "")
			c.wantCounts("t", engine.Counts{Scheduled: 1})
			c.wantCounts(s, engine.Counts{DeadLetter: 1})
		},
		"RT-6, CNT-3": func(c *clocked) { // exact at once, summed over all subqueues
			c.queue("q", engine.Config{})
			for i := range 5 {
				c.sends("q", "m")
				c.equal(c.state("q").Counts.Active, int64(i+1))
			}
			c.receive("q")
			c.kill(c.receive("q"), "", "")
			c.wantCounts("q", engine.Counts{Active: 3, Locked: 1, DeadLetter: 1})
			total, entities := c.ns.Totals()
			c.equal(total, engine.Counts{Active: 3, Locked: 1, DeadLetter: 1})
			c.equal(entities, 1)
		},
		"§15 queue and subscription": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			for to, p := range map[engine.Path]engine.Path{"q": "q", "t": s} {
				c.sends(to, "dead", "dead", "deferred", "locked", "active")
				later := engine.Seq(0)
				if p == to {
					later = 1
					c.send(to, engine.Content{ScheduledFor: c.now + 1000})
				}
				c.kill(c.receive(p), "", "")
				c.kill(c.receive(p), "", "")
				c.setAside(c.receive(p))
				c.receive(p)
				c.receive(p.DeadLetter())
				n := c.state(p).Counts
				c.equal(n.ActiveMessageCount(), int64(3))
				c.equal(n.DeadLetter, int64(2))
				c.equal(n.Scheduled, int64(later))
				c.equal(n.MessageCount(), int64(5+later))
			}
		},
		"§15 topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			c.sub("t", "s", engine.Config{})
			c.sends("t", "m")
			c.send("t", engine.Content{ScheduledFor: c.now + 1000})
			n := c.state("t").Counts
			c.equal(n.ActiveMessageCount(), int64(0))
			c.equal(n.DeadLetter, int64(0))
			c.equal(n.Scheduled, int64(1))
		},
		"CNT-2": func(c *clocked) { // reading counts is no use
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(2 * second)
			used, held := c.state("q").LastUsed, c.row("q")
			for range 3 {
				c.ns.Totals()
				c.ns.States(0)
				c.state("q")
				c.step()
			}
			c.equal(c.state("q").LastUsed, used)
			c.equal(c.row("q").Message, held.Message)
			c.equal(held.Message.LockedUntil, morning.Add(minute))
			c.equal(held.Message.DeliveryCount, uint32(0))
			c.complete(d)
		},
	})
}

func TestStatus(t *testing.T) {
	with := func(s engine.Status) engine.Config { return engine.Config{Status: s} }
	for _, tc := range []struct {
		rule         string
		status       engine.Status
		sends, takes bool
	}{
		{"§1.4 Active", engine.StatusActive, true, true},
		{"§1.4, STAT-1, STAT-2, STAT-7 Disabled", engine.StatusDisabled, false, false},
		{"§1.4, STAT-2, STAT-8 SendDisabled", engine.StatusSendDisabled, false, true},
		{"§1.4, STAT-2, STAT-7 ReceiveDisabled", engine.StatusReceiveDisabled, true, false},
	} {
		run(t, rules{tc.rule: func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c", "d")
			a, b := c.receive("q"), c.receive("q")
			deferred := c.setAside(c.receive("q"))
			c.update("q", func(cfg *engine.Config) { cfg.Status = tc.status })
			c.must(c.ns.Touch(c.now, "q", "")) // STAT-5
			check := func(ok bool, word string, step func() error) {
				c.Helper()
				if ok {
					c.must(step())
					c.step()
					return
				}
				c.refused(engine.ErrDisabled, func() error {
					err := step()
					if err == nil || err.Error() != "Messaging entity 'q' is currently disabled for "+word+" operations." {
						c.Errorf("the error is %v", err)
					}
					return err
				})
			}
			check(tc.sends, "Send", func() error {
				_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{MessageID: "e"}), "")
				return err
			})
			check(tc.takes, "Receive", func() error { return c.ns.Attach(c.now, engine.Link{ID: 90, Path: "q"}) })
			check(tc.takes, "Receive", func() error { _, err := c.ns.Peek(c.now, "q", 1, 1, ""); return err })
			check(tc.takes, "Receive", func() error { _, err := c.ns.BatchDelete(c.now, "q", 1, c.now-1, ""); return err })
			check(tc.takes, "Receive", func() error {
				_, err := c.ns.ReceiveDeferred(c.now, "q", []engine.Seq{deferred}, engine.PeekLock, "")
				return err
			})
			check(tc.takes, "Receive", func() error { _, err := c.ns.RenewLock(c.now, b.Token(), "", ""); return err })
			if !tc.takes {
				for _, o := range []engine.Outcome{engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release} {
					check(false, "Receive", func() error { return c.ns.Settle(c.now, engine.Settlement{Token: a.Token(), Outcome: o}) })
				}
			}
			check(tc.takes, "Receive", func() error { return c.ns.Settle(c.now, engine.Settlement{Token: a.Token()}) })
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.complete(b)
		}})
	}
	run(t, rules{
		"§1.4, STAT-2 topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			p := c.sub("t", "s", engine.Config{})
			for _, s := range []engine.Status{engine.StatusDisabled, engine.StatusSendDisabled} {
				c.update("t", func(cfg *engine.Config) { cfg.Status = s })
				batch := c.submissions(engine.Content{})
				c.refused(engine.ErrDisabled, func() error {
					_, err := c.ns.Send(c.now, "t", batch, "")
					if err == nil || err.Error() != "Messaging entity 't' is currently disabled for Send operations." {
						c.Errorf("the error is %v", err)
					}
					return err
				})
			}
			c.update("t", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.sends("t", "m")
			c.complete(c.receive(p))
		},
		"STAT-2 link": func(c *clocked) { // an attached receiver is ended with an error
			c.queue("q", engine.Config{})
			c.attach("q", 1)
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusSendDisabled })
			c.equal(len(c.ended), 0)
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusReceiveDisabled })
			if len(c.ended) != 1 || !errors.Is(c.ended[0].Err, engine.ErrDisabled) {
				c.Errorf("ended are %+v", c.ended)
			}
			c.sends("q", "m")
			c.wantCounts("q", engine.Counts{Active: 1})
		},
		"STAT-3": func(c *clocked) { // a disabled subscription still gets copies
			for _, s := range []engine.Status{engine.StatusDisabled, engine.StatusReceiveDisabled} {
				c.topic("t", engine.Config{})
				p := c.sub("t", "s", with(s))
				c.sends("t", "m")
				c.refused(engine.ErrDisabled, func() error { return c.ns.Attach(c.now, engine.Link{ID: 90, Path: p}) })
				c.update(p, func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
				c.equal(c.receive(p).Content.MessageID(), "m")
				c.remove("t")
			}
		},
		"STAT-4": func(c *clocked) {
			c.topic("t", engine.Config{})
			p := c.sub("t", "s", engine.Config{})
			c.sends("t", "m")
			c.update("t", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.refused(engine.ErrDisabled, func() error { _, err := c.ns.Send(c.now, "t", c.submissions(engine.Content{}), ""); return err })
			c.complete(c.receive(p))
		},
		"STAT-5": func(c *clocked) { // entities can be viewed, changed and deleted in every status
			for _, s := range []engine.Status{engine.StatusActive, engine.StatusDisabled, engine.StatusSendDisabled, engine.StatusReceiveDisabled} {
				c.queue("q", with(s))
				c.equal(c.state("q").Config.Status, s)
				c.update("q", func(cfg *engine.Config) { cfg.UserMetadata = "x" })
				c.equal(c.state("q").Config, engine.Config{Status: s, UserMetadata: "x"})
				c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
				c.sends("q", "m")
				c.update("q", func(cfg *engine.Config) { cfg.Status = s })
				c.remove("q")
				c.equal(c.exists("q"), false)
			}
		},
		"STAT-6": func(c *clocked) { // time has its effects even where sending and receiving are disabled
			c.topic("t", engine.Config{})
			p := c.sub("t", "s", keeping)
			c.send("t", engine.Content{MessageID: "live", ScheduledFor: morning.Add(second)})
			c.send("t", engine.Content{MessageID: "short", TTL: second})
			c.update("t", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.update(p, func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.at(second)
			c.sweep()
			c.wantCounts(p, engine.Counts{Active: 1, DeadLetter: 1})
			c.update(p, func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.equal(c.receive(p).Content.MessageID(), "live")
		},
		"STAT-6 queue": func(c *clocked) { // locks expire too
			c.queue("q", keeping)
			c.sends("q", "locked")
			c.receive("q")
			c.send("q", engine.Content{MessageID: "live", ScheduledFor: morning.Add(minute)})
			c.send("q", engine.Content{MessageID: "short", TTL: second})
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.at(minute - ms)
			c.sweep()
			c.wantCounts("q", engine.Counts{Locked: 1, Scheduled: 1, DeadLetter: 1})
			c.at(minute)
			c.sweep()
			c.wantCounts("q", engine.Counts{Active: 2, DeadLetter: 1})
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.equal(c.receive("q").Content.MessageID(), "locked")
			c.equal(c.receive("q").Content.MessageID(), "live")
		},
		"STAT-8": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			seq := c.send("q", engine.Content{ScheduledFor: c.now + 1000})
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusSendDisabled })
			c.must(c.ns.CancelScheduled(c.now, "q", []engine.Seq{seq}, ""))
			rows, err := c.ns.Peek(c.now, "q", 1, 10, "")
			c.must(err)
			c.equal(len(rows), 1)
			c.complete(c.receive("q"))
		},
		"STAT-9": func(c *clocked) {
			c.topic("t", engine.Config{})
			p := c.sub("t", "s", engine.Config{})
			for _, disabled := range []engine.Path{"t", p} {
				c.update(disabled, func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
				c.refused(engine.ErrDisabled, func() error { return c.ns.AddRule(c.now, p, engine.Rule{Name: "r"}, "") })
				c.refused(engine.ErrDisabled, func() error { return c.ns.RemoveRule(c.now, p, engine.DefaultRule, "") })
				if disabled == "t" {
					c.equal(len(c.state(c.sub("t", "u", engine.Config{})).Rules), 1)
				}
				c.update(disabled, func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			}
			c.must(c.ns.AddRule(c.now, p, engine.Rule{Name: "r"}, ""))
		},
	})
}
