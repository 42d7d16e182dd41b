package engine_test

import (
	"fmt"
	"testing"
	"time"

	"mayfly/engine"
)

func TestForwardingHops(t *testing.T) {
	run(t, rules{
		"FWD-6, §6.2#5, CONF-25": func(c *clocked) { // four hops; there is no fifth
			c.chain("q1", "q2", "q3", "q4", "q5", "q6")
			c.update("q5", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "q1" })
			c.sends("q1", "m")
			c.sweep()
			c.pass(time.Hour)
			c.sweep()
			r := c.wantDead("q5", hops, "The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to 4.")
			c.equal(r.Message.Hops, uint8(4))
			for _, p := range []engine.Path{"q1", "q2", "q3", "q4", "q6"} {
				c.wantCounts(p, engine.Counts{})
			}
			c.wantCounts("q5", engine.Counts{DeadLetter: 1})
			c.restart() // the message also stays after a restart
			c.sweep()
			c.wantCounts("q5", engine.Counts{DeadLetter: 1})
			c.sends("q2", "shorter") // four hops are one less than five
			c.sweep()
			c.wantIDs("q6", "shorter")
		},
		"FWD-6 round": func(c *clocked) { // a cycle ends
			c.queue("a", engine.Config{})
			c.queue("b", engine.Config{ForwardTo: "a"})
			c.update("a", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			c.sends("a", "even")
			c.sends("b", "odd")
			c.sweep()
			c.wantIDs("a/$DeadLetterQueue", "even")
			c.wantIDs("b/$DeadLetterQueue", "odd")
			c.wantDead("a", hops, "The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to 4.")
		},
		"FWD-6 own topic": func(c *clocked) { // a subscription that forwards to its own topic
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{ForwardTo: "t"})
			other := c.sub("t", "other", engine.Config{})
			c.sends("t", "m")
			c.sweep()
			c.wantCounts(other, engine.Counts{Active: 5})
			c.wantCounts(s, engine.Counts{DeadLetter: 1})
			c.wantDead(s, hops, "The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to 4.")
			for i, r := range c.rows(other) {
				c.equal(r.Message.Hops, uint8(i))
				c.equal(r.Message.EnqueuedSeq, engine.Seq(1)) // SEQ-5
			}
		},
		"FWD-6 for good": func(c *clocked) { // even if more are allowed later
			c.limit(func(l *engine.Limits) { l.ForwardHops = 1 })
			c.queue("z", engine.Config{})
			c.chain("a", "b", "c")
			c.sends("a", "m")
			c.sweep()
			c.wantDead("b", hops, "The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to 1.")
			c.limits.ForwardHops = 4
			c.restart()
			c.update("b", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "z" })
			c.sweep()
			c.wantIDs("b/$DeadLetterQueue", "m")
		},
		"FWD-6 many": func(c *clocked) { // whatever the limit on hops, a cycle ends
			c.limit(func(l *engine.Limits) { l.ForwardHops = 1000 })
			c.queue("a", engine.Config{})
			c.queue("b", engine.Config{ForwardTo: "a"})
			c.update("a", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			c.sends("a", "m")
			c.sweep()
			r := c.wantDead("b", hops, "The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to 255.")
			c.equal(r.Message.Hops, uint8(255))
		},
		"FWD-6 none": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.ForwardHops = 0 })
			c.chain("a", "b")
			c.sends("a", "m")
			c.sweep()
			c.wantDead("a", hops, "The maximum number of allowed hops when forwarding between queues has been exceeded. This value is set to 0.")
		},
		"FWD-6 dead letters": func(c *clocked) { // dead letters make no fifth hop either: they stay, and others pass them
			c.queue("z", engine.Config{})
			c.chain("q1", "q2", "q3", "q4", "q5")
			c.update("q5", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "z" })
			c.sends("q1", "far")
			c.sends("q2", "near")
			c.sends("q1", "far too")
			c.sweep()
			for range 3 {
				c.kill(c.receive("q5"), "bad", "why")
			}
			c.sweep()
			c.wantIDs("z", "near")
			c.wantIDs("q5/$DeadLetterQueue", "far", "far too")
			for _, r := range c.rows("q5/$DeadLetterQueue") {
				c.equal(r.Message.Extra.Reason, "bad") // its dead-letter reason stays
			}
			c.equal(c.ns.NextDue(), engine.Instant(0)) // and forwarding is not tried again
		},
		"FWD-10": func(c *clocked) { // resubmission resets the count
			c.chain("q1", "q2", "q3", "q4", "q5", "q6")
			c.sends("q1", "m")
			c.sweep()
			c.move(engine.Move{Key: c.key("q5/$DeadLetterQueue"), To: "q1", Copy: true})
			c.sweep()
			c.wantCounts("q5", engine.Counts{DeadLetter: 2})
			for _, r := range c.rows("q5/$DeadLetterQueue") {
				c.equal(r.Message.Hops, uint8(4))
			}
			c.move(engine.Move{Key: c.rows("q5/$DeadLetterQueue")[0].Message.Key, To: "q2"})
			c.sweep()
			c.wantCounts("q6", engine.Counts{Active: 1})
			c.move(engine.Move{Key: c.key("q5/$DeadLetterQueue")}) // back to its dead-letter source, and one hop on
			c.sweep()
			c.wantCounts("q6", engine.Counts{Active: 2})
			c.equal(c.rows("q6")[1].Message.Hops, uint8(1))
		},
	})
}

// A sweep forwards at most its limit of messages, and the next continues where it stopped.
func TestForwardingInSlices(t *testing.T) {
	c := newClocked(t, asked)
	c.topic("t", engine.Config{})
	for i := range 9 {
		c.sub("t", fmt.Sprint("s", i), engine.Config{})
	}
	c.chain("a", "b", "c")
	c.update("c", func(cfg *engine.Config) { cfg.ForwardTo = "t" })
	for range 300 {
		c.sends("a", "m")
	}
	before, most := len(c.events), 0
	for more := true; more; {
		had := len(c.events)
		more = c.ns.Sweep(c.now, 100)
		c.step()
		most = max(most, len(c.events)-had)
	}
	c.equal(len(c.events)-before, 300*(3+9))
	if most < 50 || most > 250 { // a second hop of a message counts as no further change
		t.Errorf("a slice of 100 has up to %d events", most)
	}
}

// A sent message reaches its destination in the same turn, before its sender gets an answer,
// even if that turn has room for little other work.
func TestForwardingAtOnce(t *testing.T) {
	c := newClocked(t, asked)
	c.chain("a", "b", "c", "d", "e")
	for range 500 {
		_, err := c.ns.Send(c.now, "a", c.submissions(engine.Content{MessageID: "m"}), "")
		c.must(err)
	}
	c.equal(c.ns.Sweep(c.now, 10), false)
	c.ns.Match(c.now)
	fx := c.ns.Flush(c.now, true)
	e := c.state("e")
	for _, m := range fx.Batch.Messages {
		c.equal(m.Subqueue, e.ID)
	}
	c.equal(len(fx.Batch.Messages), 500)
	c.equal(e.Counts.Active, int64(500))
}

// Dead letters that may not be forwarded any further add no cost for the messages behind them.
func TestHeldDeadLetters(t *testing.T) {
	c := newClocked(t, asked)
	c.limit(func(l *engine.Limits) { l.ForwardHops = 1 })
	c.queue("z", engine.Config{})
	c.chain("a", "b")
	c.update("b", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "z" })
	for i := range 100 {
		c.sends([]engine.Path{"a", "b"}[i%10/9], fmt.Sprint(i)) // every tenth is not held
		c.sweep()
	}
	for range 99 { // out of order
		c.kill(c.receive("b"), "", "")
	}
	late := c.receive("b")
	c.sweep()
	c.wantCounts("b", engine.Counts{DeadLetter: 90, Locked: 1})
	c.wantCounts("z", engine.Counts{Active: 9})
	c.equal(c.ns.NextDue(), late.Message.LockedUntil)
	c.restart()
	c.equal(c.ns.NextDue(), late.Message.LockedUntil)
	c.kill(late, "", "")
	c.sweep()
	c.wantCounts("z", engine.Counts{Active: 10})
	held := c.rows("b/$DeadLetterQueue")
	c.move(engine.Move{Key: held[0].Message.Key}) // back to b, and it may be forwarded again
	c.kill(c.receive("b"), "", "")
	c.sweep()
	c.wantCounts("z", engine.Counts{Active: 11})
	c.wantCounts("b", engine.Counts{DeadLetter: 89})
}
