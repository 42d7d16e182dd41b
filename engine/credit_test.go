package engine_test

import (
	"fmt"
	"math"
	"testing"

	"mayfly/engine"
)

// TestCredit tests how a receiver's credit is granted, drained and taken back.
func TestCredit(t *testing.T) {
	run(t, rules{
		"LOCK-14, LOCK-3": func(c *clocked) { // before a drain, the receiver gets the messages that time alone has made available
			c.queue("q", engine.Config{LockDuration: minute})
			c.sends("q", "m1")
			c.receive("q")
			l := c.attach("q", 1)
			c.now = c.now.Add(minute)
			c.equal(c.ns.Drain(c.now, l), false)
			c.step()
			c.equal(fmt.Sprint(c.delivered(l)), "[m1]")
			c.equal(c.ns.Drain(c.now, l), true)
		},
		"LOCK-14, SCH-3": func(c *clocked) { // from the topic's schedule as well
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			early := c.attach(s, 1)
			c.send("t", engine.Content{MessageID: "m1", ScheduledFor: c.now.Add(second)})
			c.send("t", engine.Content{MessageID: "m2", ScheduledFor: c.now.Add(second)})
			c.step()
			c.now = c.now.Add(second)
			late := c.attach(s, 0)
			c.must(c.ns.Credit(c.now, late, 1))
			c.equal(c.ns.Drain(c.now, late), false)
			c.step()
			c.equal(fmt.Sprint(c.delivered(early), c.delivered(late)), "[m1] [m2]")
		},
		"LOCK-14, SCH-3 asked nothing": func(c *clocked) { // of a receiver that has been waiting
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			l := c.attach(s, 1)
			c.send("t", engine.Content{MessageID: "m1", ScheduledFor: c.now.Add(second)})
			c.step()
			c.now = c.now.Add(second - ms)
			c.equal(c.ns.Drain(c.now, l), true)
			c.must(c.ns.Credit(c.now, l, 1))
			c.step()
			c.now = c.now.Add(ms)
			c.equal(c.ns.Drain(c.now, l), false)
			c.step()
			c.equal(fmt.Sprint(c.delivered(l)), "[m1]")
		},
		"credit is counted up": func(c *clocked) { // up to the maximum that an AMQP flow can express
			c.queue("q", engine.Config{})
			l := c.attach("q", 0)
			credit := func(n int) func() error { return func() error { return c.ns.Credit(c.now, l, n) } }
			c.refused(engine.ErrOutOfRange, credit(-1))
			c.refused(engine.ErrOutOfRange, credit(math.MinInt))
			c.refused(engine.ErrOutOfRange, credit(math.MaxUint32+1))
			c.must(credit(math.MaxUint32 - 1)())
			c.refused(engine.ErrOutOfRange, credit(2))
			c.refused(engine.ErrOutOfRange, credit(-1))
			c.refused(engine.ErrOutOfRange, credit(math.MaxInt))
			c.must(credit(1)())
			c.must(credit(0)())
			c.refused(engine.ErrOutOfRange, credit(1))
			c.equal(c.ns.Withdraw(c.now, l, math.MaxInt), math.MaxUint32)
		},
	}, asked)
}

// A rollback restores the credit and the queue of waiting receivers, which are then served as
// if the steps had not happened.
func TestCreditRolledBack(t *testing.T) {
	for name, take := range map[string]func(c *clocked, l engine.LinkID){
		"withdrawn": func(c *clocked, l engine.LinkID) { c.ns.Withdraw(c.now, l, 1000) },
		"detached":  func(c *clocked, l engine.LinkID) { c.ns.Detach(c.now, l, engine.DetachedLost) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, asked)
			c.queue("q", engine.Config{})
			const handedOut = 4096 // by one Match
			var batch []engine.Submission
			for range handedOut + 2 {
				s, err := engine.Submit(engine.Content{}, nil, 0, c.keys.Next(), c.limits)
				c.must(err)
				batch = append(batch, s)
			}
			_, err := c.ns.Send(c.now, "q", batch, "")
			c.must(err)
			l := c.attach("q", 0)
			c.must(c.ns.Credit(c.now, l, handedOut+2))
			c.step()
			c.equal(len(c.inbox), handedOut)
			take(c, l)
			c.ns.Match(c.now)
			c.ns.Rollback()
			c.must(c.ns.Check())
			c.step()
			c.equal(len(c.inbox), handedOut+2)
		})
	}
}
