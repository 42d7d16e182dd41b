package engine_test

import (
	"strings"
	"testing"

	"mayfly/engine"
)

func TestSchedules(t *testing.T) {
	later := func(id string) engine.Content {
		return engine.Content{MessageID: id, ScheduledFor: morning.Add(10 * second)}
	}
	cancel := func(c *clocked, p engine.Path, seqs ...engine.Seq) error {
		err := c.ns.CancelScheduled(c.now, p, seqs, "")
		c.step()
		return err
	}
	run(t, rules{
		"SCH-1, SCH-8": func(c *clocked) { // a number for each message, in order
			c.queue("q", engine.Config{})
			seqs, err := c.trySend("q", later("a"), later("b"), later("c"))
			c.must(err)
			c.equal(len(seqs) == 3 && seqs[0] == 1 && seqs[2] == 3, true)
			c.wantIDs("q", "a", "b", "c")
			for i, r := range c.rows("q") {
				c.equal(r.Message.Seq, seqs[i])
			}
			c.must(cancel(c, "q", seqs[0], seqs[2]))
			c.wantIDs("q", "b")
		},
		"SCH-8 all or none": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.MessageSize = 1000 })
			c.queue("q", engine.Config{})
			large := later("b")
			large.Subject = strings.Repeat("s", 1000)
			batch := c.submissions(later("a"), large, later("c"))
			c.refused(engine.ErrTooLarge, func() error { _, err := c.ns.Send(c.now, "q", batch, ""); return err })
			c.equal(c.send("q", later("a")), engine.Seq(1))
		},
		"SCH-2": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.pass(hour)
			c.equal(c.send("q", engine.Content{MessageID: "past", ScheduledFor: c.now - 1}), engine.Seq(1))
			c.send("q", engine.Content{MessageID: "now", ScheduledFor: c.now})
			c.wantCounts("q", engine.Counts{Active: 2})
			c.equal(c.rows("q")[0].Message.Seq, engine.Seq(1)) // the first number is its only one
			c.send("q", engine.Content{MessageID: "soon", ScheduledFor: c.now + 1})
			c.wantCounts("q", engine.Counts{Active: 2, Scheduled: 1})
			c.equal(c.rows("q")[0].Message.EnqueuedAt, c.now)
		},
		"SCH-3": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", later("m"))
			c.at(9 * second)
			c.nothing("q")
			c.at(10*second - ms)
			c.nothing("q")
			c.at(10 * second)
			c.release(c.receive("q"))
			c.at(11 * second)
			c.equal(c.receive("q").Message.State, engine.Active)
		},
		"SCH-3 topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.send("t", later("m"))
			c.at(10*second - ms)
			c.nothing(s)
			c.at(10 * second)
			c.equal(c.receive(s).Message.EnqueuedAt, morning.Add(10*second))
		},
		"SCH-3 waiting receiver": func(c *clocked) {
			c.queue("q", engine.Config{})
			link := c.attach("q", 1)
			c.send("q", later("m"))
			c.at(10 * second)
			c.sweep()
			c.equal(len(c.delivered(link)), 1)
		},
		"SCH-5": func(c *clocked) { // the scheduled number is invalid after the activation
			c.queue("q", engine.Config{})
			seq := c.send("q", later("m"))
			c.sends("q", "between")
			c.at(10 * second)
			c.sweep()
			c.equal(c.rows("q")[1].Message.Seq, engine.Seq(3))
			c.equal(c.rows("q")[1].Message.EnqueuedAt, morning.Add(10*second))
			c.refused(engine.ErrMessageNotFound, func() error { return c.ns.CancelScheduled(c.now, "q", []engine.Seq{seq}, "") })
			c.unfetchable("q", seq)
			rows, err := c.ns.Peek(c.now, "q", seq, 1, "")
			c.must(err)
			c.equal(rows[0].Message.Seq, engine.Seq(2))
		},
		"SCH-6": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.pass(second)
			c.send("q", later("m"))
			c.pass(second)
			rows, err := c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			r := rows[0]
			c.equal(r.Message.EnqueuedAt, morning.Add(second))
			c.equal(r.Message.ScheduledFor, morning.Add(10*second))
			c.equal(r.Message.State, engine.Scheduled)
		},
		"SCH-7": func(c *clocked) {
			c.queue("q", engine.Config{})
			seq := c.send("q", later("m"))
			c.refused(engine.ErrMessageNotFound, func() error { return c.ns.CancelScheduled(c.now, "q", []engine.Seq{seq, 99}, "") })
			c.must(cancel(c, "q", seq))
			c.wantCounts("q", engine.Counts{})
			c.wantPeek("q")
			c.wantPeek("q/$DeadLetterQueue")
			c.refused(engine.ErrMessageNotFound, func() error { return c.ns.CancelScheduled(c.now, "q", []engine.Seq{seq}, "") })
			c.sends("q", "active")
			c.refused(engine.ErrMessageNotFound, func() error { return c.ns.CancelScheduled(c.now, "q", []engine.Seq{2}, "") })
			c.refused(engine.ErrNotFound, func() error { return c.ns.CancelScheduled(c.now, "nowhere", []engine.Seq{1}, "") })
		},
		"SCH-7 too late": func(c *clocked) {
			c.queue("q", engine.Config{})
			a, b := c.send("q", later("a")), c.send("q", later("b"))
			c.at(10*second - ms)
			c.must(cancel(c, "q", a))
			c.at(10 * second)
			c.refused(engine.ErrMessageNotFound, func() error { return c.ns.CancelScheduled(c.now, "q", []engine.Seq{b}, "") })
			c.equal(c.receive("q").Content.MessageID(), "b")
		},
		"SCH-7 topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.must(cancel(c, "t", c.send("t", later("m"))))
			c.at(hour)
			c.nothing(s)
			c.wantCounts("t", engine.Counts{})
		},
		"SCH-10": func(c *clocked) { // the rules at its due time apply
			c.topic("t", engine.Config{})
			c.send("t", later("m"))
			before := c.sub("t", "before", engine.Config{})
			gone := c.sub("t", "gone", engine.Config{})
			c.must(c.ns.RemoveRule(c.now, gone, engine.DefaultRule, ""))
			added, err := c.ns.CreateWithRules(c.now, engine.Subscription, "t/Subscriptions/added", engine.Config{}, nil, "")
			c.must(err)
			c.at(10*second - ms)
			c.must(c.ns.AddRule(c.now, added.Path, engine.Rule{Name: "r"}, ""))
			c.at(10 * second)
			c.sweep()
			after := c.sub("t", "after", engine.Config{})
			c.wantIDs(before, "m")
			c.wantIDs(added.Path, "m")
			c.nothing(after)
			c.nothing(gone)
		},
		"SCH-10 nobody": func(c *clocked) {
			c.topic("t", engine.Config{})
			c.send("t", later("m"))
			c.at(10 * second)
			c.sweep()
			c.wantCounts("t", engine.Counts{})
			c.step()
			c.equal(len(c.store.contents)+len(c.store.bodies)+len(c.store.messages), 0)
		},
		"SCH-11": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", later("m"))
			n := c.state("q").Counts
			c.equal(n, engine.Counts{Scheduled: 1})
			c.equal(n.ActiveMessageCount(), int64(0))
			c.equal(n.MessageCount(), int64(1))
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.send("t", later("m"))
			c.wantCounts("t", engine.Counts{Scheduled: 1})
			c.wantCounts(s, engine.Counts{})
			c.at(10 * second)
			c.sweep()
			c.wantCounts("q", engine.Counts{Active: 1})
			c.wantCounts("t", engine.Counts{})
			c.wantCounts(s, engine.Counts{Active: 1})
		},
		"SCH-14": func(c *clocked) {
			c.queue("q", engine.Config{})
			m := later("m")
			m.TTL = 3 * second
			c.send("q", m)
			c.lives("q", 13*second)
		},
		"SCH-17": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", later("m"))
			if c.state("q").SizeInBytes == 0 {
				c.Error("the scheduled message does not count against the quota")
			}
			c.remove("q")
			c.queue("q", engine.Config{})
			c.equal(c.state("q").SizeInBytes, int64(0))
			c.at(hour)
			c.nothing("q")
		},
		"OPS-8 send now": func(c *clocked) {
			c.queue("q", engine.Config{})
			m := later("m")
			m.TTL = minute
			c.send("q", m)
			c.at(second)
			key := c.key("q")
			c.must(c.ns.SendNow(c.now, key, "operator"))
			c.step()
			d := c.receive("q")
			c.equal(d.Message.Seq, engine.Seq(2))
			c.equal(d.Message.EnqueuedAt, morning.Add(second))
			c.equal(d.Expires, morning.Add(second+minute))
			c.refused(engine.ErrMessageNotFound, func() error { return c.ns.SendNow(c.now, key, "") })
		},
		"OPS-8 send now to a topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			seq := c.send("t", later("m"))
			c.must(c.ns.SendNow(c.now, c.key("t"), "operator"))
			c.step()
			c.wantCounts("t", engine.Counts{})
			c.equal(c.receive(s).Message.EnqueuedSeq, seq+1)
		},
		"OPS-8 reschedule": func(c *clocked) {
			c.queue("q", engine.Config{})
			old := c.send("q", later("m"))
			c.at(second)
			key := c.key("q")
			seq, err := c.ns.Reschedule(c.now, key, morning.Add(20*second), "operator")
			c.must(err)
			c.step()
			c.equal(seq, old+1)
			c.equal(c.row("q").Message.EnqueuedAt, morning.Add(second)) // the time of the rescheduling
			for _, at := range []engine.Instant{c.now, c.now - 1} {
				c.refused(engine.ErrOutOfRange, func() error { _, err := c.ns.Reschedule(c.now, key, at, ""); return err })
			}
			c.at(20*second - ms)
			c.nothing("q")
			c.at(20 * second)
			c.receive("q")
			c.refused(engine.ErrMessageNotFound, func() error { _, err := c.ns.Reschedule(c.now, key, morning.Add(hour), ""); return err })
		},
		"OPS-8 reschedule to sooner": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", later("m"))
			_, err := c.ns.Reschedule(c.now, c.key("q"), morning.Add(second), "operator")
			c.must(err)
			c.step()
			c.at(second)
			c.receive("q")
		},
	})
}
