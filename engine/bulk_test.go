package engine_test

import (
	"errors"
	"testing"
	"time"

	"mayfly/engine"
)

// targets returns the messages of a subqueue as targets of a bulk operation.
func (c *clocked) targets(p engine.Path) (all []engine.Target) {
	for _, r := range c.rows(p) {
		all = append(all, engine.Target{Key: r.Message.Key, Path: r.Path, Seq: r.Message.Seq})
	}
	return all
}

func each(d engine.Operation, targets []engine.Target) (all []engine.Operation) {
	for _, t := range targets {
		d.Target = t
		all = append(all, d)
	}
	return all
}

func (c *clocked) does(d engine.Operation, targets ...engine.Target) []engine.OperationResult {
	out := c.ns.ApplyOperations(c.now, each(d, targets), "somebody")
	c.step()
	return out
}

func TestDoEach(t *testing.T) {
	run(t, rules{
		"OPS-5 delete": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			all := c.targets("q")
			got := c.does(engine.Operation{Kind: engine.OperationDelete}, all[0], all[2], all[2])
			c.equal([]bool{got[0].Err == nil, got[1].Err == nil, errors.Is(got[2].Err, engine.ErrMessageNotFound)}, []bool{true, true, true})
			c.wantIDs("q", "b")
		},
		"OPS-7 purge": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			c.receive("q")
			all := c.targets("q")
			got := c.does(engine.Operation{Kind: engine.OperationPurge}, all...)
			c.equal(errors.Is(got[0].Err, engine.ErrNotAllowed), true) // it is locked
			c.wantIDs("q", "a")
		},
		"OPS-1 back and not twice": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a")
			seen := c.targets("q")
			got := c.does(engine.Operation{Kind: engine.OperationDeadLetter, Reason: "why"}, seen...)
			c.must(got[0].Err)
			c.equal(got[0].After.Path, engine.Path("q/$DeadLetterQueue"))
			c.equal(errors.Is(c.does(engine.Operation{Kind: engine.OperationDelete}, seen...)[0].Err, engine.ErrMessageNotFound), true) // the message has been moved
			got = c.does(engine.Operation{Kind: engine.OperationMove}, got[0].After)
			c.must(got[0].Err)
			c.equal(got[0].After.Path, engine.Path("q"))
			c.equal(errors.Is(c.does(engine.Operation{Kind: engine.OperationDelete}, seen...)[0].Err, engine.ErrMessageNotFound), true) // the message has another number now
			c.wantIDs("q", "a")
		},
		"OPS-2 copy": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.queue("other", engine.Config{})
			c.sends("q", "a")
			got := c.does(engine.Operation{Kind: engine.OperationCopy, To: "other"}, c.targets("q")...)
			c.must(got[0].Err)
			c.equal(got[0].After, c.targets("other")[0])
			c.wantIDs("q", "a")
		},
		"OPS-3 extend": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{MessageID: "a", TTL: time.Minute})
			c.must(c.does(engine.Operation{Kind: engine.OperationExtend, ExtendBy: time.Hour}, c.targets("q")...)[0].Err)
			c.equal(c.rows("q")[0].Expires, c.now.Add(time.Hour+time.Minute))
		},
		"OPS-4, OPS-8": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{MessageID: "a", ScheduledFor: c.now + 1_000_000})
			got := c.does(engine.Operation{Kind: engine.OperationReschedule, Until: c.now + 2_000_000}, c.targets("q")...)
			c.must(got[0].Err)
			c.equal(got[0].After, c.targets("q")[0])
			c.must(c.does(engine.Operation{Kind: engine.OperationSendNow}, c.targets("q")...)[0].Err)
			c.setAside(c.receive("q"))
			c.must(c.does(engine.Operation{Kind: engine.OperationReturn}, c.targets("q")...)[0].Err)
			c.equal(c.rows("q")[0].Message.State, engine.Active)
		},
		"OPS-5 together with what fails": func(c *clocked) { // if one operation fails, none is done
			c.limit(func(l *engine.Limits) { l.SettingSize = 3 })
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			err := c.ns.Atomically(func() error {
				c.ns.ApplyOperations(c.now, each(engine.Operation{Kind: engine.OperationDelete}, c.targets("q")), "somebody")
				_, err := c.ns.SetSetting(c.now, "k", "long", nil)
				return err
			})
			c.equal(errors.Is(err, engine.ErrTooLarge), true)
			c.step()
			c.wantIDs("q", "a", "b")
		},
	})
}
