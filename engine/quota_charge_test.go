package engine_test

import (
	"errors"
	"strings"
	"testing"

	"mayfly/engine"
)

// TestCharge compares the charge of an entity with the larger of two sizes: what clients see,
// and the memory that it takes. It compares SizeInBytes with what clients see (§1.5, RT-3).
func TestCharge(t *testing.T) {
	charging := func(c *clocked, size int64) {
		c.limit(func(l *engine.Limits) { l.MessageMemory, l.EntitySize = 512, size })
		c.queue("q", engine.Config{})
	}
	size := func(c *clocked) engine.EntityState {
		s, err := c.ns.State("q")
		c.must(err)
		return s
	}
	run(t, rules{
		"empty messages": func(c *clocked) {
			charging(c, 2000)
			c.must(sending(10, 10, 10)(c))
			c.step()
			if s := size(c); s.SizeInBytes != 30 || s.Charged < 3*512 {
				c.Errorf("three messages of 10 bytes have %d bytes and are charged with %d", s.SizeInBytes, s.Charged)
			}
			err := sending(10)(c)
			if !errors.Is(err, engine.ErrQuota) || !strings.Contains(err.Error(), " Its SizeInBytes is 30, ") {
				c.Errorf("a fourth: %v", err)
			}
		},
		"large messages": func(c *clocked) {
			charging(c, 9000)
			c.must(sending(3000, 3000, 3000)(c))
			c.step()
			if s := size(c); s.SizeInBytes != 9000 || s.Charged != 9000 {
				c.Errorf("three messages of 3000 bytes have %d bytes and are charged with %d", s.SizeInBytes, s.Charged)
			}
			if err := sending(10)(c); !errors.Is(err, engine.ErrQuota) || strings.Contains(err.Error(), "SizeInBytes") {
				c.Errorf("one more: %v", err)
			}
		},
		"nothing is left": func(c *clocked) {
			charging(c, 9000)
			c.must(sending(10, 2000)(c))
			c.step()
			pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassActive})
			c.must(err)
			c.must(c.ns.PurgeSlice(c.now, &pg, 10, ""))
			c.step()
			if s := size(c); s.SizeInBytes != 0 || s.Charged != 0 {
				c.Errorf("an empty queue has %d bytes and is charged with %d", s.SizeInBytes, s.Charged)
			}
		},
	})
}
