package engine_test

import (
	"testing"

	"mayfly/engine"
)

func TestReplace(t *testing.T) {
	const dead = engine.Path("q/$DeadLetterQueue")
	died := func(c *clocked, cfg engine.Config) engine.Key {
		c.Helper()
		c.queue("q", cfg)
		c.sends("q", "m")
		c.kill(c.receive("q"), "why", "so")
		return c.key(dead)
	}
	replace := func(c *clocked, mv engine.Move, m engine.Content) (engine.Seq, error) {
		c.Helper()
		did, err := c.ns.Replace(c.now, mv, c.submissions(m)[0], "operator")
		c.step()
		return did.Seq, err
	}
	run(t, rules{
		"OPS-1 edited": func(c *clocked) {
			key := died(c, engine.Config{})
			c.pass(second)
			seq, err := replace(c, engine.Move{Key: key}, engine.Content{MessageID: "n", Subject: "new"})
			c.must(err)
			c.equal(seq, engine.Seq(2))
			c.wantIDs("q", "n")
			c.wantIDs(dead)
			r := c.row("q")
			c.equal(r.Content.Subject(), "new")
			c.equal(r.Message.EnqueuedAt, c.now)
			c.equal(r.Message.DeliveryCount, uint32(0))
			if r.Message.Extra != nil || r.Message.Key == key {
				c.Errorf("the new message is %+v", r.Message)
			}
		},
		"OPS-2 edited": func(c *clocked) {
			_, err := replace(c, engine.Move{Key: died(c, engine.Config{}), Copy: true}, engine.Content{MessageID: "n"})
			c.must(err)
			c.wantIDs("q", "n")
			c.wantIDs(dead, "m")
		},
		"OPS-1 edited, of a subscription": func(c *clocked) { // moved back to that subscription only
			c.topic("t", engine.Config{})
			s, u := c.sub("t", "s", engine.Config{}), c.sub("t", "u", engine.Config{})
			c.sends("t", "m")
			c.kill(c.receive(s), "", "")
			_, err := replace(c, engine.Move{Key: c.key(s.DeadLetter())}, engine.Content{MessageID: "n"})
			c.must(err)
			c.wantIDs(s, "n")
			c.wantIDs(u, "m")
			c.kill(c.receive(s), "", "")
			key := c.key(s.DeadLetter())
			c.refused(engine.ErrNotAllowed, func() error {
				_, err := c.ns.Replace(c.now, engine.Move{Key: key}, c.submissions(engine.Content{ScheduledFor: c.now.Add(hour)})[0], "operator")
				return err
			})
			_, err = replace(c, engine.Move{Key: key, To: "t"}, engine.Content{MessageID: "o"})
			c.must(err)
			c.wantIDs(u, "m", "o")
		},
		"OPS-1 edited, DUP-2": func(c *clocked) {
			cfg := engine.Config{RequiresDuplicateDetection: true}
			key := died(c, cfg)
			c.refused(engine.ErrDuplicate, func() error {
				_, err := c.ns.Replace(c.now, engine.Move{Key: key}, c.submissions(engine.Content{MessageID: "m"})[0], "operator")
				return err
			})
			_, err := replace(c, engine.Move{Key: key}, engine.Content{MessageID: "n"})
			c.must(err)
			c.wantIDs("q", "n")
			c.kill(c.receive("q"), "", "")
			seq, err := replace(c, engine.Move{Key: c.key(dead), DropDuplicate: true}, engine.Content{MessageID: "n"})
			c.must(err)
			c.equal(seq, engine.Seq(0))
			c.wantIDs("q")
			c.wantIDs(dead)
		},
		"OPS-1 edited, refusals": func(c *clocked) {
			key := died(c, engine.Config{MaxMessageSizeInKilobytes: 1024})
			c.queue("closed", engine.Config{Status: engine.StatusSendDisabled})
			c.queue("sessions", engine.Config{RequiresSession: true})
			for _, tc := range []struct {
				mv   engine.Move
				kind error
			}{
				{engine.Move{Key: key, To: "closed"}, engine.ErrDisabled},
				{engine.Move{Key: key, To: "nowhere"}, engine.ErrNotFound},
				{engine.Move{Key: key, To: dead}, engine.ErrNotAllowed},
				{engine.Move{Key: key, To: "sessions"}, engine.ErrNotAllowed}, // MSG-9
				{engine.Move{Key: key + 1}, engine.ErrMessageNotFound},
			} {
				c.refused(tc.kind, func() error {
					_, err := c.ns.Replace(c.now, tc.mv, c.submissions(engine.Content{MessageID: "n"})[0], "operator")
					return err
				})
			}
			d := c.receive(dead)
			c.refused(engine.ErrNotAllowed, func() error {
				_, err := c.ns.Replace(c.now, engine.Move{Key: d.Message.Key}, c.submissions(engine.Content{})[0], "operator")
				return err
			})
		},
	})
}

func TestEdited(t *testing.T) {
	for reason, want := range map[string]struct {
		other      engine.Target
		before, ok bool
	}{
		"edited as 17 #3 a/Subscriptions/b":       {engine.Target{Key: 17, Seq: 3, Path: "a/Subscriptions/b"}, false, true},
		"edited from 17 #3 q/$DeadLetterQueue":    {engine.Target{Key: 17, Seq: 3, Path: "q/$DeadLetterQueue"}, true, true},
		"edited as 0 #3 t":                        {},
		"edited as x #3 t":                        {},
		"edited as 17":                            {},
		"resubmitted copy":                        {},
		"edited as 17 #99999999999999999999999 q": {},
	} {
		other, before, ok := engine.ParseEditReason(reason)
		if other != want.other || before != want.before || ok != want.ok {
			t.Errorf("%q: %+v %v %v", reason, other, before, ok)
		}
	}
}
