package engine_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

// A step that the store refuses has no effect, whatever its kind.
func TestRollback(t *testing.T) {
	prepare := func(c *clocked) (locked engine.Delivery) {
		c.queue("q", engine.Config{})
		c.topic("t", engine.Config{})
		c.sub("t", "s", engine.Config{})
		c.sends("t", "m")
		c.sends("q", "dead", "deferred", "locked", "active")
		c.send("q", engine.Content{MessageID: "scheduled", ScheduledFor: morning.Add(hour), TTL: second})
		c.kill(c.receive("q"), "", "")
		c.setAside(c.receive("q"))
		return c.receive("q")
	}
	for name, do := range map[string]func(c *clocked, d engine.Delivery) error{
		"create": func(c *clocked, _ engine.Delivery) error {
			_, err := c.ns.Create(c.now, engine.Queue, "new", engine.Config{}, "")
			return err
		},
		"create subscription": func(c *clocked, _ engine.Delivery) error {
			_, err := c.ns.Create(c.now, engine.Subscription, "t/Subscriptions/new", engine.Config{}, "")
			return err
		},
		"update": func(c *clocked, _ engine.Delivery) error {
			_, err := c.ns.Update(c.now, "t", engine.Config{DefaultMessageTimeToLive: second}, "")
			return err
		},
		"delete queue": func(c *clocked, _ engine.Delivery) error { return c.ns.Delete(c.now, "q", "") },
		"delete topic": func(c *clocked, _ engine.Delivery) error { return c.ns.Delete(c.now, "t", "") },
		"add rule": func(c *clocked, _ engine.Delivery) error {
			return c.ns.AddRule(c.now, "t/Subscriptions/s", engine.Rule{Name: "r"}, "")
		},
		"remove rule": func(c *clocked, _ engine.Delivery) error {
			return c.ns.RemoveRule(c.now, "t/Subscriptions/s", engine.DefaultRule, "")
		},
		"send": func(c *clocked, _ engine.Delivery) error {
			_, err := c.ns.Send(c.now, "t", c.submissions(engine.Content{}), "")
			return err
		},
		"complete": func(c *clocked, d engine.Delivery) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: d.Token()})
		},
		"dead-letter": func(c *clocked, d engine.Delivery) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter})
		},
		"fetch": func(c *clocked, _ engine.Delivery) error {
			_, err := c.ns.ReceiveDeferred(c.now, "q", []engine.Seq{2}, engine.PeekLock, "")
			return err
		},
		"send now": func(c *clocked, _ engine.Delivery) error { return c.ns.SendNow(c.now, c.rows("q")[3].Message.Key, "") },
		"move": func(c *clocked, _ engine.Delivery) error {
			_, err := c.ns.Move(c.now, engine.Move{Key: c.key("q/$DeadLetterQueue"), To: "t"}, "")
			return err
		},
		"purge": func(c *clocked, _ engine.Delivery) error {
			pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassActive, engine.ClassDeferred, engine.ClassScheduled})
			if err == nil {
				err = c.ns.PurgeSlice(c.now, &pg, 100, "")
			}
			return err
		},
		"receive": func(c *clocked, _ engine.Delivery) error {
			if err := c.ns.Attach(c.now, engine.Link{ID: 90, Path: "q", Mode: engine.ReceiveAndDelete}); err != nil {
				return err
			}
			err := c.ns.Credit(c.now, 90, 2)
			c.ns.Match(c.now)
			return err
		},
		"everything": func(c *clocked, d engine.Delivery) error {
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon}))
			c.must(c.ns.Delete(c.now, "q", ""))
			_, err := c.ns.Create(c.now, engine.Queue, "Q", engine.Config{}, "")
			c.must(err)
			_, err = c.ns.Send(c.now, "q", c.submissions(engine.Content{}), "")
			return err
		},
	} {
		run(t, rules{name: func(c *clocked) {
			d := prepare(c)
			before := c.picture()
			c.must(do(c, d))
			c.ns.Flush(c.now, true)
			c.ns.Rollback()
			c.must(c.ns.Check())
			if diff := gocmp.Diff(before, c.picture()); diff != "" {
				c.Fatal(diff)
			}
			c.complete(d) // later steps succeed, and are stored
			c.restart()
			c.wantIDs("q", "deferred", "active", "scheduled")
			c.at(hour)
			c.equal(c.receive("q").Content.MessageID(), "active")
			c.equal(c.receive("q").Content.MessageID(), "scheduled")
			c.equal(c.receive("t/Subscriptions/s").Content.MessageID(), "m")
		}}, asked)
	}
}

// A staged body is dropped with the last message that refers to it, or when its message is
// refused, and never while it is being read.
func TestBodies(t *testing.T) {
	staged := func(c *clocked) engine.Submission {
		s, err := engine.Submit(engine.Content{MessageID: "m"}, nil, 1000, c.keys.Next(), c.limits)
		c.must(err)
		return s
	}
	dropped := func(c *clocked) (keys []engine.Key) {
		fx := c.ns.Flush(c.now, true)
		c.ns.Seal(true)
		if fx.Batch != nil {
			for _, d := range fx.Batch.DropContents {
				c.equal(d.HasBody, true)
				keys = append(keys, d.Key)
			}
		}
		return keys
	}
	c := newClocked(t, asked)
	c.queue("q", engine.Config{})
	s := staged(c)
	for range 2 { // the send is rolled back with its turn, and retried
		if _, err := c.ns.Send(c.now, "q", []engine.Submission{s}, ""); err != nil {
			t.Fatal(err)
		}
		c.ns.Rollback()
	}
	if all := append(dropped(c), dropped(c)...); len(all) != 1 || all[0] != s.Key {
		t.Errorf("after a rollback, %v is dropped", all)
	}
	s = staged(c)
	if _, err := c.ns.Send(c.now, "nowhere", []engine.Submission{s}, ""); err == nil {
		t.Fatal("a send to a missing entity succeeds")
	}
	if all := append(dropped(c), dropped(c)...); len(all) != 1 || all[0] != s.Key {
		t.Errorf("refused, %v is dropped", all)
	}
	s = staged(c)
	if _, err := c.ns.Send(c.now, "q", []engine.Submission{s}, ""); err != nil {
		t.Fatal(err)
	}
	if all := append(dropped(c), dropped(c)...); len(all) != 0 {
		t.Errorf("stored, %v is dropped", all)
	}
	c.must(c.ns.Attach(c.now, engine.Link{ID: 1, Path: "q", Mode: engine.ReceiveAndDelete}))
	c.must(c.ns.Credit(c.now, 1, 1))
	c.ns.Match(c.now)
	fx := c.ns.Flush(c.now, true)
	c.ns.Seal(true)
	if len(fx.Deliveries) != 1 || len(fx.Batch.DropMessages) != 1 || len(fx.Batch.DropContents) != 0 {
		t.Fatalf("after a receive, the batch is %+v", fx.Batch)
	}
	if all := append(dropped(c), dropped(c)...); len(all) != 0 {
		t.Errorf("read, %v is dropped", all)
	}
	c.ns.ReleaseBody(fx.Deliveries[0].Pin)
	if all := append(dropped(c), dropped(c)...); len(all) != 1 || all[0] != s.Key {
		t.Errorf("taken, %v is dropped", all)
	}
}

func TestPending(t *testing.T) {
	c := newClocked(t, asked)
	want := func(hard, soft bool) {
		t.Helper()
		if h, s := c.ns.Pending(); h != hard || s != soft {
			t.Errorf("pending is %v, %v", h, s)
		}
		c.step()
		if h, s := c.ns.Pending(); h || s {
			t.Errorf("after the commit, pending is %v, %v", h, s)
		}
	}
	want(false, false)
	_, err := c.ns.Create(c.now, engine.Queue, "q", engine.Config{}, "")
	c.must(err)
	want(true, true)
	_, err = c.ns.Send(c.now, "q", c.submissions(engine.Content{}, engine.Content{}), "")
	c.must(err)
	want(true, true)
	c.must(c.ns.Attach(c.now, engine.Link{ID: 1, Path: "q"}))
	c.must(c.ns.Credit(c.now, 1, 1))
	c.ns.Match(c.now)
	want(false, true) // a lock is soft
	d := c.inbox[0]
	_, err = c.ns.RenewLock(c.now, d.Token(), "", "")
	c.must(err)
	want(false, true)
	c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon}))
	want(true, true)
}
