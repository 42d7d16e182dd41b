package engine_test

import (
	"fmt"
	"testing"

	"mayfly/engine"
)

// All deferred messages are listed in pages, each from where the previous one ended, even if
// that page's last message no longer exists.
func TestDeferredInParts(t *testing.T) {
	run(t, rules{"DEF-13": func(c *clocked) {
		c.topic("m", engine.Config{})
		paths := []engine.Path{"B", "a", c.sub("m", "s", engine.Config{}), c.sub("m", "T", engine.Config{})}
		c.queue("B", engine.Config{})
		c.queue("a", engine.Config{})
		for _, p := range []engine.Path{"B", "a", "m"} {
			c.sends(p, "1", "2", "3")
		}
		for _, p := range paths {
			c.setAside(c.receive(p))
			c.setAside(c.receive(p))
			c.setAside(c.receive(p))
		}
		c.must(c.ns.DeadLetterMessage(c.now, c.rows("a")[2].Message.Key, "", "", ""))
		c.step()
		c.setAside(c.receive("a/$DeadLetterQueue"))
		list := func(at engine.Path, from engine.Seq, limit int) (all []string) {
			for _, r := range c.ns.Deferred(at, from, limit) {
				all = append(all, fmt.Sprint(r.Path, " ", r.Message.Seq))
			}
			return all
		}
		whole := list("", 1, 100)
		c.equal(fmt.Sprint(whole), "[a 1 a 2 a/$DeadLetterQueue 3 B 1 B 2 B 3 m/Subscriptions/s 1 m/Subscriptions/s 2 m/Subscriptions/s 3 m/Subscriptions/T 1 m/Subscriptions/T 2 m/Subscriptions/T 3]")
		for size := 1; size <= len(whole); size++ {
			var parts []string
			for at, from := engine.Path(""), engine.Seq(1); len(parts) <= len(whole); {
				rows := c.ns.Deferred(at, from, size+1)
				for _, r := range rows[:min(size, len(rows))] {
					parts = append(parts, fmt.Sprint(r.Path, " ", r.Message.Seq))
				}
				if len(rows) <= size {
					break
				}
				at, from = rows[size].Path, rows[size].Message.Seq
			}
			c.equal(parts, whole)
		}
		c.equal(list("b", 2, 100), whole[4:]) // case does not matter
		c.equal(list("b", 4, 1), whole[6:7])
		c.equal(list("b/$deadletterqueue", 1, 1), whole[6:7])
		c.equal(list("c", 2, 1), whole[6:7]) // a path that does not exist
		c.equal(len(list("z", 1, 100)), 0)
	}})
}
