package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
)

// limited sets a memory limit before c's first step.
func limited(c *clocked, limit int64) *engine.Memory {
	m := engine.NewMemory(limit)
	c.memory = m
	c.start()
	return m
}

// fillUp sends to a queue until memory is full, and returns the number of messages.
func (c *clocked) fillUp(to engine.Path) (n int) {
	c.Helper()
	for {
		s, err := engine.Submit(engine.Content{Subject: fmt.Sprint("message ", n)}, nil, 0, c.keys.Next(), c.limits)
		c.must(err)
		_, err = c.ns.Send(c.now, to, []engine.Submission{s}, "")
		if n%20 == 0 || err != nil {
			c.step()
		}
		switch {
		case err == nil:
			n++
		case errors.Is(err, engine.ErrBusy) && strings.Contains(err.Error(), "--limit memory"):
			return n
		default:
			c.Fatalf("message %d: %v", n, err)
		}
		if n > 100_000 {
			c.Fatal("memory is never full")
		}
	}
}

// TestMemoryIsFull fills memory and tries every kind of request: those that need memory are
// refused with ErrBusy, while receiving and operations that free memory succeed.
func TestMemoryIsFull(t *testing.T) {
	const enough = 100 << 10
	big := strings.Repeat("x", 4000)
	busy := map[string]func(c *clocked) error{
		"send":            func(c *clocked) error { return sending(10)(c) },
		"send to a topic": func(c *clocked) error { return c.sendTo("t") },
		"schedule":        func(c *clocked) error { return c.sendTo("q", engine.Content{ScheduledFor: c.now + 1e6}) },
		"create a queue": func(c *clocked) error {
			_, err := c.ns.Create(c.now, engine.Queue, "new", engine.Config{}, "")
			return err
		},
		"add a rule":  func(c *clocked) error { return c.ns.AddRule(c.now, "t/Subscriptions/s", engine.Rule{Name: "new"}, "") },
		"set a state": func(c *clocked) error { return c.ns.SetSessionStateAt(c.now, "sessions", "a", &big, "") },
		"resubmit a copy": func(c *clocked) error {
			_, err := c.ns.Move(c.now, engine.Move{Key: c.rows("q")[0].Message.Key, To: "other", Copy: true}, "")
			return err
		},
		"a long reason": func(c *clocked) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: c.receive("q").Token(), Outcome: engine.DeadLetter, Description: big})
		},
		"abandon with much": func(c *clocked) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: c.receive("q").Token(), Outcome: engine.Abandon, Modify: value.Properties{{Name: "x", Value: value.OfString(big)}}})
		},
	}
	goesOn := map[string]func(c *clocked) error{
		"complete": func(c *clocked) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: c.receive("q").Token(), Outcome: engine.Complete})
		},
		"abandon": func(c *clocked) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: c.receive("q").Token(), Outcome: engine.Abandon})
		},
		"defer": func(c *clocked) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: c.receive("q").Token(), Outcome: engine.Defer})
		},
		"dead-letter": func(c *clocked) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: c.receive("q").Token(), Outcome: engine.DeadLetter, Reason: "why", Description: "so"})
		},
		"move": func(c *clocked) error {
			_, err := c.ns.Move(c.now, engine.Move{Key: c.rows("q")[0].Message.Key, To: "other"}, "")
			return err
		},
		"clear a state": func(c *clocked) error { return c.ns.SetSessionStateAt(c.now, "sessions", "b", nil, "") },
		"replace a rule": func(c *clocked) error {
			return c.ns.ReplaceRule(c.now, "t/Subscriptions/s", engine.Rule{Name: engine.DefaultRule}, "")
		},
		"update": func(c *clocked) error {
			_, err := c.ns.Update(c.now, "q", engine.Config{MaxDeliveryCount: 3}, "")
			return err
		},
		"delete":     func(c *clocked) error { return c.ns.Delete(c.now, "other", "") },
		"set a view": func(c *clocked) error { _, err := c.ns.SetSetting(c.now, "view/a", "b", nil); return err },
	}
	world := func(t *testing.T) (*clocked, *engine.Memory) {
		t.Helper()
		c := newClocked(t, asked)
		m := limited(c, enough)
		for _, q := range []engine.Path{"q", "other"} {
			c.queue(q, engine.Config{})
		}
		c.queue("sessions", engine.Config{RequiresSession: true})
		c.topic("t", engine.Config{})
		c.sub("t", "s", engine.Config{})
		state := "state"
		c.must(c.ns.SetSessionStateAt(c.now, "sessions", "b", &state, ""))
		if n := c.fillUp("q"); n < 100 || m.Used() > m.Limit() || !c.ns.MemoryShare().Full() || !c.ns.MemoryShare().Low() {
			t.Fatalf("%d messages fit, %d of %d bytes are used, full: %v", n, m.Used(), m.Limit(), c.ns.MemoryShare().Full())
		}
		return c, m
	}
	for name, do := range busy {
		t.Run(name, func(t *testing.T) {
			c, _ := world(t)
			if err := do(c); !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "Receive or delete messages") {
				t.Errorf("the error is %v", err)
			}
			c.step()
		})
	}
	for name, do := range goesOn {
		t.Run(name, func(t *testing.T) {
			c, _ := world(t)
			c.must(do(c))
			c.step()
		})
	}
	t.Run("what never fits", func(t *testing.T) {
		c := newClocked(t, asked)
		limited(c, 20<<10)
		c.queue("q", engine.Config{})
		if err := c.sendTo("q", engine.Content{Subject: strings.Repeat("x", 30<<10)}); !errors.Is(err, engine.ErrQuota) {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("a large one alone", func(t *testing.T) {
		c := newClocked(t, asked)
		limited(c, 80<<10)
		c.queue("q", engine.Config{})
		c.must(c.sendTo("q", engine.Content{Subject: strings.Repeat("x", 40<<10)}))
		c.step()
		if err := c.sendTo("q", engine.Content{Subject: strings.Repeat("x", 40<<10)}); !errors.Is(err, engine.ErrBusy) || c.ns.MemoryShare().Full() {
			t.Errorf("the error is %v; full: %v", err, c.ns.MemoryShare().Full())
		}
		c.must(c.sendTo("q"))
		c.step()
	})
	t.Run("until enough is free", func(t *testing.T) {
		c, m := world(t)
		c.must(c.ns.Settle(c.now, engine.Settlement{Token: c.receive("q").Token(), Outcome: engine.Complete}))
		c.step()
		if err := sending(10)(c); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("one message less: %v", err)
		}
		pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassActive})
		c.must(err)
		for range 60 {
			c.must(c.ns.PurgeSlice(c.now, &pg, 1, ""))
		}
		c.step()
		if c.ns.MemoryShare().Full() {
			t.Errorf("memory is full with %d of %d bytes", m.Used(), m.Limit())
		}
		c.must(sending(10)(c))
		c.step()
	})
	t.Run("of another namespace", func(t *testing.T) {
		c, m := world(t)
		other := newClocked(t, asked)
		other.memory = m
		other.start()
		if _, err := other.ns.Create(other.now, engine.Queue, "q", engine.Config{}, ""); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("the error is %v", err)
		}
		c.ns.ReleaseMemory()
		if m.Used() != 0 || c.ns.MemoryShare().Full() {
			t.Errorf("%d bytes are used after the only namespace released its memory", m.Used())
		}
		other.queue("q", engine.Config{})
	})
	t.Run("when it is loaded", func(t *testing.T) {
		c, m := world(t)
		kept := m.Used()
		c.ns.ReleaseMemory()
		c.restart()
		if now := m.Used(); now < kept*9/10 || now > kept*11/10 {
			t.Errorf("%d bytes were used, and %d after a restart", kept, now)
		}
	})
	t.Run("a fan-out waits", func(t *testing.T) {
		c := newClocked(t, swept)
		limited(c, enough)
		c.topic("t", engine.Config{})
		for i := range 3 {
			c.sub("t", fmt.Sprint("s", i), engine.Config{})
		}
		c.queue("q", engine.Config{})
		c.must(c.sendTo("t", engine.Content{ScheduledFor: c.now + 1000}))
		c.step()
		c.overfill("q")
		c.pass(2 * second)
		s, err := c.ns.State("t/Subscriptions/s1")
		c.must(err)
		if s.Counts.Active != 0 {
			t.Error("a message was copied to subscriptions when memory was full")
		}
		pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassActive})
		c.must(err)
		c.must(c.ns.PurgeSlice(c.now, &pg, 1000, ""))
		c.step()
		c.pass(2 * second)
		if s, err = c.ns.State("t/Subscriptions/s1"); err != nil || s.Counts.Active != 1 || c.ns.MemoryShare().Full() {
			t.Errorf("the message is due, memory is free, and the subscription has %+v: %v", s.Counts, err)
		}
	})
}

func (c *clocked) sendTo(to engine.Path, content ...engine.Content) error {
	c.Helper()
	s, err := engine.Submit(append(content, engine.Content{})[0], nil, 0, c.keys.Next(), c.limits)
	c.must(err)
	_, err = c.ns.Send(c.now, to, []engine.Submission{s}, "")
	return err
}
