package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// overfill fills memory until copies have to wait: first with messages to a queue, as long as
// sends succeed, and then with the reasons of dead letters.
func (c *clocked) overfill(q engine.Path) {
	c.Helper()
	c.fillUp(q)
	for kept := c.memory.Used; kept() < c.memory.Limit()*110/100; {
		c.kill(c.receive(q), "reason", strings.Repeat("x", 700))
	}
}

// relieve frees most of the memory that overfill used.
func (c *clocked) relieve(q engine.Path) {
	c.Helper()
	c.purge(q)
	c.purge(q.DeadLetter())
}

// fanning creates a topic with n subscriptions.
func (c *clocked) fanning(topic string, n int) (subs []engine.Path) {
	c.Helper()
	c.topic(engine.Path(topic), engine.Config{})
	for i := range n {
		subs = append(subs, c.sub(topic, fmt.Sprint("s", i), engine.Config{}))
	}
	return subs
}

func (c *clocked) forwardTo(from engine.Path, to string) {
	c.Helper()
	c.update(from, func(cfg *engine.Config) { cfg.ForwardTo = to })
}

// TestForwardingWaitsForMemory forwards messages to a topic with several subscriptions while
// memory is full. They wait in the source, and continue in order.
func TestForwardingWaitsForMemory(t *testing.T) {
	world := func(t *testing.T, more func(c *clocked)) (c *clocked, subs []engine.Path) {
		t.Helper()
		c = newClocked(t, swept)
		limited(c, 200<<10)
		subs = c.fanning("t", 2)
		c.queue("q", engine.Config{})
		c.queue("a", engine.Config{})
		c.sends("a", "1", "2", "3")
		more(c)
		c.overfill("q")
		return c, subs
	}
	all := func(c *clocked, subs []engine.Path, want ...string) {
		c.Helper()
		for _, s := range subs {
			c.wantIDs(s, want...)
			c.wantCounts(s, engine.Counts{Active: int64(len(want))})
		}
	}
	nothing := func(*clocked) {}
	t.Run("in a queue", func(t *testing.T) {
		c, subs := world(t, nothing)
		c.forwardTo("a", "t")
		c.pass(time.Minute)
		c.wantCounts("a", engine.Counts{Active: 3, Transfer: 3})
		all(c, subs)
		c.relieve("q")
		c.pass(time.Second)
		c.wantCounts("a", engine.Counts{})
		all(c, subs, "1", "2", "3")
	})
	t.Run("in a subscription", func(t *testing.T) {
		c, subs := world(t, func(c *clocked) {
			c.topic("u", engine.Config{})
			c.sub("u", "s", engine.Config{})
			c.sends("u", "1", "2")
		})
		c.forwardTo("u/Subscriptions/s", "t")
		c.pass(time.Minute)
		c.wantCounts("u/Subscriptions/s", engine.Counts{Active: 2, Transfer: 2})
		c.relieve("q")
		c.pass(time.Second)
		all(c, subs, "1", "2")
	})
	t.Run("in a dead-letter queue", func(t *testing.T) {
		c, subs := world(t, func(c *clocked) {
			c.kill(c.receive("a"), "bad", "")
			c.kill(c.receive("a"), "bad", "")
		})
		c.update("a", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "t" })
		c.pass(time.Minute)
		c.wantCounts("a", engine.Counts{Active: 1, DeadLetter: 2})
		c.relieve("q")
		c.pass(time.Second)
		c.wantCounts("a", engine.Counts{Active: 1})
		all(c, subs, "1", "2")
		c.remove(subs[1]) // a message whose copies need no memory does not wait any more
		c.overfill("q")
		c.kill(c.receive("a"), "bad", "")
		c.sweep()
		c.wantIDs(subs[0], "1", "2", "3")
	})
	t.Run("after a restart", func(t *testing.T) {
		c, subs := world(t, nothing)
		c.forwardTo("a", "t")
		c.sweep()
		c.ns.ReleaseMemory()
		c.restart()
		c.pass(time.Minute)
		c.wantCounts("a", engine.Counts{Active: 3, Transfer: 3})
		c.relieve("q")
		c.pass(time.Second)
		all(c, subs, "1", "2", "3")
	})
	t.Run("to another destination", func(t *testing.T) { // the new destination is tried at once
		c, _ := world(t, func(c *clocked) { c.queue("b", engine.Config{}) })
		c.forwardTo("a", "t")
		c.sweep()
		c.forwardTo("a", "b")
		c.sweep()
		c.wantIDs("b", "1", "2", "3")
	})
	t.Run("what takes no memory", func(t *testing.T) {
		c, _ := world(t, func(c *clocked) {
			for n := range 2 {
				c.fanning(fmt.Sprint("t", n), n)
				from := engine.Path(fmt.Sprint("a", n))
				c.queue(from, engine.Config{})
				c.sends(from, "1", "2")
			}
		})
		for n := range 2 {
			from := engine.Path(fmt.Sprint("a", n))
			c.forwardTo(from, fmt.Sprint("t", n))
			c.sweep()
			c.wantCounts(from, engine.Counts{})
		}
		c.wantIDs("t1/Subscriptions/s0", "1", "2")
	})
	t.Run("what is refused", func(t *testing.T) { // FWD-7: rejections do not depend on memory
		c, _ := world(t, func(c *clocked) { c.fanning("off", 2) })
		c.update("off", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
		c.forwardTo("a", "off")
		c.sweep()
		c.wantCounts("a", engine.Counts{DeadLetter: 3})
	})
	t.Run("one turn a second", func(t *testing.T) {
		c, _ := world(t, func(c *clocked) {
			c.queue("b", engine.Config{})
			c.sends("b", "1")
			c.send("t", engine.Content{ScheduledFor: c.now + 1500})
		})
		c.forwardTo("a", "t")
		c.sweep()
		first := c.now.Add(second)
		c.equal(c.ns.NextDue(), first)
		c.pass(second / 3)
		c.forwardTo("b", "t")
		c.sweep()
		c.equal(c.ns.NextDue(), first)
		n := len(c.events)
		c.pass(20*second - second/3)
		c.equal(c.ns.NextDue(), first.Add(20*second))
		c.equal(len(c.events), n)
	})
	t.Run("at no cost", func(t *testing.T) { // a try does not evaluate the topic's rules, of which there may be thousands
		c, _ := world(t, func(c *clocked) {
			for i := range 100 {
				c.must(c.ns.AddRule(c.now, "t/Subscriptions/s0", engine.Rule{Name: fmt.Sprint("r", i), Filter: engine.Filter{Kind: engine.SQLFilter, Text: fmt.Sprintf("sys.Label LIKE 'a%d%%'", i)}}, ""))
				c.step()
			}
		})
		c.forwardTo("a", "t")
		c.sweep()
		cost := func() float64 {
			return testing.AllocsPerRun(10, func() {
				c.now = c.now.Add(second)
				c.ns.Sweep(c.now, 100)
			})
		}
		if n := cost(); n > 2 {
			t.Errorf("a try allocates %v times", n)
		}
	})
}

// TestCopiesGoOn fills memory with messages that must be copied before they can be received. The
// first copies use the part of the limit that is reserved for copies, and each received message
// frees memory for others.
func TestCopiesGoOn(t *testing.T) {
	for name, fill := range map[string]func(c *clocked) (n int){
		"forwarded": func(c *clocked) (n int) {
			c.queue("a", engine.Config{})
			n = c.fillUp("a")
			c.forwardTo("a", "t")
			return n
		},
		"scheduled": func(c *clocked) (n int) {
			for {
				_, err := c.trySend("t", engine.Content{ScheduledFor: c.now.Add(time.Minute)})
				if errors.Is(err, engine.ErrMemoryFull) {
					return n
				}
				c.must(err)
				n++
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, swept)
			m := limited(c, 120<<10)
			subs := c.fanning("t", 3)
			c.queue("q", engine.Config{})
			c.sends("q", "1")
			n := fill(c)
			c.kill(c.receive("q"), "reason", strings.Repeat("x", 700))
			if m.Used() <= m.Limit() {
				t.Errorf("memory is not full: %d of %d bytes are used", m.Used(), m.Limit())
			}
			c.pass(2 * time.Minute)
			if most := m.Limit() * 103 / 100; m.Used() > most {
				t.Errorf("%d bytes are used; the limit and the spare share are %d", m.Used(), most)
			}
			if s := c.state(subs[2]); n < 100 || s.Counts.Active == 0 || s.Counts.Active > int64(n)/2 {
				t.Fatalf("of %d messages, %d were copied", n, s.Counts.Active)
			}
			for turns := 0; n > 0; turns++ {
				if turns > 10_000 {
					t.Fatalf("%d messages were not received", n)
				}
				if _, ok, err := c.tryReceive(subs[0], engine.ReceiveAndDelete); err != nil || !ok {
					c.pass(second)
					continue
				}
				n--
				for _, s := range subs[1:] {
					c.grab(s)
				}
			}
			c.wantCounts("t", engine.Counts{})
			for _, s := range subs {
				c.wantCounts(s, engine.Counts{})
			}
		})
	}
}

// TestIdleWaitsForMemory tests entities with AutoDeleteOnIdle while memory is full: sends and
// forwards that fail for lack of memory still count as use.
func TestIdleWaitsForMemory(t *testing.T) {
	idle := engine.Config{AutoDeleteOnIdle: 5 * time.Minute}
	exist := func(c *clocked, want bool, all ...engine.Path) {
		c.Helper()
		for _, p := range all {
			if is := c.exists(p); is != want {
				c.Errorf("%s exists: %v", p, is)
			}
		}
	}
	t.Run("forwarding", func(t *testing.T) {
		c := newClocked(t, swept)
		limited(c, 300<<10)
		c.topic("t", idle)
		c.sub("t", "s", engine.Config{})
		c.sub("t", "r", engine.Config{})
		c.queue("q", engine.Config{})
		c.queue("dead", idle)
		c.queue("other", idle)
		c.queue("purged", idle)
		c.sends("purged", "1")
		c.kill(c.receive("purged"), "bad", "")
		c.sends("dead", "1")
		c.kill(c.receive("dead"), "bad", "")
		c.topic("u", idle)
		c.sub("u", "s", engine.Config{})
		c.sends("u", "2")
		c.overfill("q")
		for _, p := range []engine.Path{"dead", "purged"} {
			c.update(p, func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "t" })
		}
		c.sweep()
		c.purge("purged/$DeadLetterQueue")
		c.forwardTo("u/Subscriptions/s", "t")
		c.pass(7 * time.Minute)
		exist(c, true, "t", "dead", "u")
		exist(c, false, "other", "purged")
		c.relieve("q")
		c.pass(time.Minute)
		c.equal(len(c.rows("t/Subscriptions/s")), 2)
		c.pass(5 * time.Minute)
		exist(c, false, "t", "dead", "u")
	})
	t.Run("sending", func(t *testing.T) {
		c := newClocked(t, swept)
		limited(c, 300<<10)
		c.queue("q", engine.Config{})
		for _, p := range []engine.Path{"a", "by", "off", "alone"} {
			c.queue(p, idle)
		}
		c.queue("to", engine.Config{Status: engine.StatusDisabled})
		c.fillUp("q")
		busy := func(_ []engine.Seq, err error) {
			c.Helper()
			if !errors.Is(err, engine.ErrMemoryFull) || !errors.Is(err, engine.ErrBusy) {
				t.Fatal(err)
			}
			c.step()
		}
		for range 10 {
			c.pass(4 * time.Minute)
			busy(c.trySend("a", engine.Content{}))
			busy(c.ns.SendVia(c.now, "by", "q", c.submissions(engine.Content{}), ""))
			busy(c.ns.SendVia(c.now, "off", "to", c.submissions(engine.Content{}), ""))
		}
		exist(c, true, "a", "by", "off")
		exist(c, false, "alone")
	})
}
