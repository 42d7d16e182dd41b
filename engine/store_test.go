package engine_test

import (
	"testing"
	"time"

	"mayfly/engine"
)

// TestBatchesThatNeedNoSpace tests which batches a store on a full disk can apply: those that
// drop and change records. Copies need space, although they share an existing content.
func TestBatchesThatNeedNoSpace(t *testing.T) {
	soon := func(c *clocked) {
		c.send("t", engine.Content{ScheduledFor: c.now.Add(time.Minute)})
		c.now = c.now.Add(2 * time.Minute)
	}
	for name, tc := range map[string]struct {
		do   func(c *clocked)
		want bool
	}{
		"delete": {func(c *clocked) {
			c.ns.ApplyOperations(c.now, each(engine.Operation{Kind: engine.OperationDelete}, c.targets("q")), "somebody")
		}, true},
		"dead-letter": {func(c *clocked) {
			c.ns.ApplyOperations(c.now, each(engine.Operation{Kind: engine.OperationDeadLetter}, c.targets("q")), "somebody")
		}, true},
		"move": {func(c *clocked) {
			c.ns.ApplyOperations(c.now, each(engine.Operation{Kind: engine.OperationMove, To: "other"}, c.targets("q")), "somebody")
		}, true},
		"copy": {func(c *clocked) {
			c.ns.ApplyOperations(c.now, each(engine.Operation{Kind: engine.OperationCopy, To: "other"}, c.targets("q")), "somebody")
		}, false},
		"forward to a topic": {func(c *clocked) {
			c.forwardTo("q", "t")
			c.ns.Sweep(c.now, 100)
		}, false},
		"scheduled at a topic":               {func(c *clocked) { soon(c); c.ns.Sweep(c.now, 100) }, false},
		"expire beside scheduled at a topic": {func(c *clocked) { soon(c); c.ns.SweepDrops(c.now, 100) }, true},
		"send": {func(c *clocked) {
			if _, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{}), ""); err != nil {
				c.Error(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, asked)
			c.fanning("t", 2)
			c.queue("q", engine.Config{})
			c.queue("other", engine.Config{})
			c.queue("short", engine.Config{DefaultMessageTimeToLive: time.Minute})
			c.sends("short", "1")
			c.sends("q", "1", "2")
			for range 3 { // until the contents of dropped messages are dropped
				c.step()
			}
			tc.do(c)
			b := c.ns.Flush(c.now, true).Batch
			if got := b.NeedsNoSpace(); got != tc.want {
				t.Errorf("%v; want %v: %d messages are new", got, tc.want, b.Added)
			}
		})
	}
}
