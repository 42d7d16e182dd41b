package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// TestMemoryIsShared fills memory from one of several namespaces. The last tenth is reserved
// for those that use less than an equal share.
func TestMemoryIsShared(t *testing.T) {
	const limit = 200 << 10
	world := func(t *testing.T, n int) (all []*clocked, m *engine.Memory) {
		t.Helper()
		m = engine.NewMemory(limit)
		for range n {
			c := newClocked(t, asked)
			c.memory = m
			c.start()
			c.queue("q", engine.Config{})
			all = append(all, c)
		}
		return all, m
	}
	used := func(m *engine.Memory, least, most int64) {
		t.Helper()
		if percent := m.Used() * 100 / limit; percent < least || percent > most {
			t.Errorf("%d %% are used", percent)
		}
	}
	full := func(c *clocked, want bool) {
		t.Helper()
		if is := c.ns.MemoryShare().Full(); is != want {
			t.Errorf("full: %v", is)
		}
	}
	drain := func(c *clocked, n int) {
		t.Helper()
		for range n {
			c.grab("q")
		}
	}
	t.Run("alone", func(t *testing.T) {
		all, m := world(t, 1)
		c := all[0]
		for m.Used() < limit*96/100 {
			c.sends("q", "1")
		}
		if err := c.sendTo("q", engine.Content{Subject: strings.Repeat("x", limit/20)}); !errors.Is(err, engine.ErrMemoryFull) {
			t.Errorf("a message that is too large: %v", err)
		}
		full(c, false)
		c.fillUp("q")
		used(m, 98, 100)
		for m.Used() >= limit*94/100 {
			full(c, m.Used() >= limit*95/100)
			drain(c, 1)
		}
		full(c, false)
	})
	t.Run("a large one first", func(t *testing.T) {
		all, m := world(t, 3)
		large, small := all[0], all[1]
		large.fillUp("q")
		used(m, 88, 90)
		full(large, true)
		full(small, false)
		if _, err := large.trySend("q", engine.Content{}); !errors.Is(err, engine.ErrMemoryFull) || !strings.Contains(err.Error(), "for namespaces that use less than 68266") {
			t.Errorf("the error is %v", err)
		}
		if n := small.fillUp("q"); n < 20 {
			t.Errorf("the small namespace accepts only %d messages", n)
		}
		used(m, 98, 100)
		full(small, true)
		if _, err := small.trySend("q", engine.Content{}); !errors.Is(err, engine.ErrMemoryFull) || !strings.Contains(err.Error(), "memory is full: messages use") {
			t.Errorf("the error is %v", err)
		}
		for m.Used() >= limit*87/100 { // the small namespace has room again before the large one
			drain(large, 10)
		}
		full(small, false)
		full(large, true)
		small.sends("q", "1")
		for m.Used() >= limit*85/100 {
			drain(large, 10)
		}
		full(large, false)
		large.sends("q", "1")
	})
	t.Run("one that came later", func(t *testing.T) {
		all, m := world(t, 1)
		all[0].fillUp("q")
		later := newClocked(t, asked)
		later.memory = m
		later.start()
		later.step()
		for m.Used() >= limit*88/100 {
			drain(all[0], 10)
		}
		if _, err := all[0].trySend("q", engine.Content{}); !errors.Is(err, engine.ErrMemoryFull) {
			t.Errorf("the large namespace still accepts messages: %v", err)
		}
		later.queue("q", engine.Config{})
		later.sends("q", "1")
	})
	t.Run("all alike", func(t *testing.T) { // none exceeds an equal share before all memory is used
		all, m := world(t, 4)
		busy := func(c *clocked) bool {
			_, err := c.trySend("q", engine.Content{})
			return errors.Is(err, engine.ErrMemoryFull)
		}
		for refused := 0; refused < 4; {
			refused = 0
			for _, c := range all {
				if busy(c) {
					refused++
				}
			}
		}
		used(m, 97, 100)
	})
	t.Run("about an equal share", func(t *testing.T) { // memory stays full until there is room, not only until the next send
		all, m := world(t, 2)
		all[0].fillUp("q")
		for all[0].ns.MemoryUsed() > limit/2 {
			drain(all[0], 1)
		}
		for m.Used() < limit*91/100 {
			all[1].sends("q", "1")
		}
		all[0].fillUp("q")
		used(m, 91, 92)
		for range 10 {
			full(all[0], true)
			all[0].step()
		}
	})
	t.Run("after one has ended", func(t *testing.T) {
		all, m := world(t, 2)
		all[1].ns.ReleaseMemory()
		all[0].fillUp("q")
		used(m, 98, 100)
	})
}

// TestCopiesLeaveMemoryToOthers fills the memory of one namespace with scheduled messages,
// which are then copied to ten subscriptions: a smaller namespace can still send.
func TestCopiesLeaveMemoryToOthers(t *testing.T) {
	m := engine.NewMemory(400 << 10)
	var all []*clocked
	for range 2 {
		c := newClocked(t, swept)
		c.memory = m
		c.start()
		c.queue("q", engine.Config{})
		all = append(all, c)
	}
	small, large := all[0], all[1]
	subs := large.fanning("t", 10)
	for {
		_, err := large.trySend("t", engine.Content{ScheduledFor: large.now.Add(time.Minute)})
		if errors.Is(err, engine.ErrMemoryFull) {
			break
		}
		large.must(err)
	}
	large.pass(2 * time.Minute)
	if c := large.state(subs[0]).Counts; c.Active == 0 {
		t.Error("nothing was copied")
	}
	if percent := m.Used() * 100 / m.Limit(); percent > 94 {
		t.Errorf("%d %% of the memory are used by one namespace", percent)
	}
	small.sends("q", "1")
	if n := small.fillUp("q"); n < 10 {
		t.Errorf("the small namespace accepts only %d messages", n)
	}
}

// TestMemoryIsLowBeforeItIsFull tests that Low is true before sends are refused, also for a
// namespace that may use less than the whole limit.
func TestMemoryIsLowBeforeItIsFull(t *testing.T) {
	for n, least := range map[int]int64{1: 90, 2: 81} {
		m := engine.NewMemory(150 << 10)
		var all []*clocked
		for range n {
			c := newClocked(t, asked)
			c.memory = m
			c.start()
			c.queue("q", engine.Config{})
			all = append(all, c)
		}
		c, low := all[0], int64(0)
		for {
			if _, err := c.trySend("q", engine.Content{}); err != nil {
				break
			}
			if low == 0 && c.ns.MemoryShare().Low() {
				low = m.Used() * 100 / m.Limit()
			}
		}
		if low != least {
			t.Errorf("%d namespaces: memory is low at %d %%; want %d", n, low, least)
		}
		if n > 1 && all[1].ns.MemoryShare().Low() {
			t.Error("memory is low for the other namespace, which may use a tenth more")
		}
	}
}
