package engine_test

import (
	"errors"
	"testing"
	"time"

	"mayfly/engine"
)

// targets are the messages of a place.
func (c *clocked) targets(p engine.Path) (all []engine.Target) {
	for _, r := range c.rows(p) {
		all = append(all, engine.Target{Key: r.Message.Key, Path: r.Path, Seq: r.Message.Seq})
	}
	return all
}

func each(d engine.Deed, targets []engine.Target) (all []engine.Deed) {
	for _, t := range targets {
		d.Target = t
		all = append(all, d)
	}
	return all
}

func (c *clocked) does(d engine.Deed, targets ...engine.Target) []engine.Deeded {
	out := c.ns.DoEach(c.now, each(d, targets), "somebody")
	c.step()
	return out
}

func TestDoEach(t *testing.T) {
	run(t, rules{
		"OPS-5 delete": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			all := c.targets("q")
			got := c.does(engine.Deed{Kind: engine.DeedDelete}, all[0], all[2], all[2])
			c.equal([]bool{got[0].Err == nil, got[1].Err == nil, errors.Is(got[2].Err, engine.ErrMessageNotFound)}, []bool{true, true, true})
			c.wantIDs("q", "b")
		},
		"OPS-7 purge": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			c.receive("q")
			all := c.targets("q")
			got := c.does(engine.Deed{Kind: engine.DeedPurge}, all...)
			c.equal(errors.Is(got[0].Err, engine.ErrNotAllowed), true) // it is locked
			c.wantIDs("q", "a")
		},
		"OPS-1 back and not twice": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a")
			seen := c.targets("q")
			got := c.does(engine.Deed{Kind: engine.DeedDeadLetter, Reason: "why"}, seen...)
			c.must(got[0].Err)
			c.equal(got[0].Is.Path, engine.Path("q/$DeadLetterQueue"))
			c.equal(errors.Is(c.does(engine.Deed{Kind: engine.DeedDelete}, seen...)[0].Err, engine.ErrMessageNotFound), true) // it is elsewhere
			got = c.does(engine.Deed{Kind: engine.DeedMove}, got[0].Is)
			c.must(got[0].Err)
			c.equal(got[0].Is.Path, engine.Path("q"))
			c.equal(errors.Is(c.does(engine.Deed{Kind: engine.DeedDelete}, seen...)[0].Err, engine.ErrMessageNotFound), true) // it has another number
			c.wantIDs("q", "a")
		},
		"OPS-2 copy": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.queue("other", engine.Config{})
			c.sends("q", "a")
			got := c.does(engine.Deed{Kind: engine.DeedCopy, To: "other"}, c.targets("q")...)
			c.must(got[0].Err)
			c.equal(got[0].Is, c.targets("other")[0])
			c.wantIDs("q", "a")
		},
		"OPS-3 extend": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{MessageID: "a", TTL: time.Minute})
			c.must(c.does(engine.Deed{Kind: engine.DeedExtend, By: time.Hour}, c.targets("q")...)[0].Err)
			c.equal(c.rows("q")[0].Expires, c.now.Add(time.Hour+time.Minute))
		},
		"OPS-4, OPS-8": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{MessageID: "a", ScheduledFor: c.now + 1_000_000})
			got := c.does(engine.Deed{Kind: engine.DeedReschedule, Until: c.now + 2_000_000}, c.targets("q")...)
			c.must(got[0].Err)
			c.equal(got[0].Is, c.targets("q")[0])
			c.must(c.does(engine.Deed{Kind: engine.DeedSendNow}, c.targets("q")...)[0].Err)
			c.setAside(c.receive("q"))
			c.must(c.does(engine.Deed{Kind: engine.DeedReturn}, c.targets("q")...)[0].Err)
			c.equal(c.rows("q")[0].Message.State, engine.Active)
		},
		"OPS-5 together with what fails": func(c *clocked) { // all or nothing
			c.limit(func(l *engine.Limits) { l.SettingSize = 3 })
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			err := c.ns.Together(func() error {
				c.ns.DoEach(c.now, each(engine.Deed{Kind: engine.DeedDelete}, c.targets("q")), "somebody")
				_, err := c.ns.SetSetting(c.now, "k", "long", nil)
				return err
			})
			c.equal(errors.Is(err, engine.ErrTooLarge), true)
			c.step()
			c.wantIDs("q", "a", "b")
		},
	})
}
