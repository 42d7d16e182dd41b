package engine_test

import (
	"errors"
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
)

func (c *clocked) key(p engine.Path) engine.Key { c.Helper(); return c.row(p).Message.Key }

// scheduled sends a scheduled message to p and returns its key.
func (c *clocked) scheduled(p engine.Path) engine.Key {
	c.Helper()
	c.send(p, engine.Content{ScheduledFor: c.now.Add(hour)})
	rows := c.rows(p)
	return rows[len(rows)-1].Message.Key
}

// move moves a message as an operator.
func (c *clocked) move(m engine.Move) engine.Seq {
	c.Helper()
	seq, err := c.ns.Move(c.now, m, "operator")
	c.must(err)
	c.step()
	return seq
}

func TestDeadLetters(t *testing.T) {
	const dead = engine.Path("q/$DeadLetterQueue")
	died := func(c *clocked, ids ...string) {
		c.Helper()
		c.queue("q", engine.Config{})
		c.sends("q", ids...)
		for range ids {
			c.kill(c.receive("q"), "Mine", "because")
		}
	}
	run(t, rules{
		"DLQ-1": func(c *clocked) { // every queue and subscription has one, which has none of its own
			c.queue("q", engine.Config{})
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			for _, p := range []engine.Path{dead, s.DeadLetter()} {
				_, err := c.ns.Browse(engine.Browse{Path: p})
				c.must(err)
				c.refused(engine.ErrNotAllowed, func() error { return c.ns.Delete(c.now, p, "") })
				c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.Update(c.now, p, engine.Config{MaxDeliveryCount: 1}, ""); return err })
				c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.Create(c.now, engine.Queue, p, engine.Config{}, ""); return err })
			}
			c.refused(engine.ErrNotFound, func() error { _, err := c.ns.Browse(engine.Browse{Path: "t/$DeadLetterQueue"}); return err })
		},
		"DLQ-2": func(c *clocked) {
			c.topic("T", engine.Config{})
			s := c.sub("T", "S", engine.Config{})
			c.sends("T", "m")
			c.kill(c.receive(s), "", "")
			c.equal(engine.CanonicalPath("T?/SUBSCRIPTIONS/s/$transfer/$deadletterqueue"), engine.Path("T?/Subscriptions/s/$Transfer/$DeadLetterQueue"))
			p, err := engine.ParsePath("t/SUBSCRIPTIONS/s/$deadletterqueue", c.limits)
			c.must(err)
			c.complete(c.receive(p))
		},
		"DLQ-4": func(c *clocked) {
			died(c)
			batch := c.submissions(engine.Content{})
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.Send(c.now, dead, batch, ""); return err })
		},
		"DLQ-5": func(c *clocked) {
			died(c, "a", "b", "c", "d", "e")
			rows, err := c.ns.Peek(c.now, dead, 1, 10, "")
			c.must(err)
			c.equal(len(rows), 5)
			c.equal(c.grab(dead).Content.MessageID(), "a")
			c.complete(c.receive(dead))
			c.abandon(c.receive(dead))
			d := c.receive(dead)
			_, err = c.renew(d)
			c.must(err)
			c.refused(engine.ErrNotAllowed, func() error {
				return c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter})
			})
			c.release(d)
			seq := c.setAside(c.receive(dead))
			c.equal(c.receive(dead).Content.MessageID(), "d")
			c.complete(c.fetch(dead, seq))
			c.wantCounts("q", engine.Counts{DeadLetter: 2, DeadLocked: 1})
		},
		"DLQ-6": func(c *clocked) {
			c.queue("q", engine.Config{LockDuration: 7 * second, DefaultMessageTimeToLive: second, MaxDeliveryCount: 1})
			c.sends("q", "m")
			c.kill(c.receive("q"), "", "")
			c.pass(30 * 24 * hour)
			c.equal(c.receive(dead).Message.LockedUntil, c.now.Add(7*second))
			c.pass(7 * second)
			c.receive(dead)
		},
		"DLQ-8, SEQ-3": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "first")
			want := engine.Content{MessageID: "m", SessionID: "s", Subject: "x", TTL: hour, Properties: value.Properties{{Name: "mine", Value: value.OfInt(1)}}}
			c.send("q", want)
			c.pass(second)
			c.receive("q")
			before := c.receive("q")
			c.kill(before, "Mine", "because")
			after := c.receive(dead)
			c.equal(after.Content, before.Content)
			c.equal(after.Message.Key, before.Message.Key)
			c.equal(after.Message.Seq, engine.Seq(2))
			c.equal(after.Message.EnqueuedAt, morning)
			c.equal(after.Message.EnqueuedSeq, engine.Seq(2))
			c.equal(after.Message.ExpiresAt, morning.Add(hour))
			content, err := after.Content.Content()
			c.must(err)
			props := after.Message.Properties(content)
			c.equal(len(props), 3)
			for name, want := range map[string]value.Value{"mine": value.OfInt(1), "DeadLetterReason": value.OfString("Mine"), "DeadLetterErrorDescription": value.OfString("because")} {
				if got, _ := props.Lookup(name); got != want {
					c.Errorf("%s is %v", name, got)
				}
			}
		},
		"DLQ-8 no reason": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.kill(c.receive("q"), "", "")
			d := c.receive(dead)
			content, err := d.Content.Content()
			c.must(err)
			c.equal(len(d.Message.Properties(content)), 0)
		},
		"DLQ-9": func(c *clocked) {
			died(c, "m")
			c.equal(c.receive(dead).Message.Extra.Source, "")
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "m")
			c.kill(c.receive(s), "", "")
			c.equal(c.receive(s.DeadLetter()).Message.Extra.Source, "")
		},
		"DLQ-10": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			a, b, d := c.receive("q"), c.receive("q"), c.receive("q")
			for _, d := range []engine.Delivery{d, a, b} {
				c.kill(d, "", "")
			}
			c.wantIDs(dead, "a", "b", "c")
			c.equal(c.receive(dead).Content.MessageID(), "a")
		},
		"DLQ-11": func(c *clocked) { // dead letters count against their queue
			c.limit(func(l *engine.Limits) { l.EntitySize = 1000 })
			c.queue("q", engine.Config{})
			for {
				batch := c.submissions(engine.Content{MessageID: "m"})
				if _, err := c.ns.Send(c.now, "q", batch, ""); err != nil {
					if !errors.Is(err, engine.ErrQuota) {
						c.Fatal(err)
					}
					break
				}
				c.step()
				c.kill(c.receive("q"), "", "")
			}
			if n := c.state("q").SizeInBytes; n > 1000 || n < 900 {
				c.Errorf("the queue is full with %d bytes", n)
			}
			c.grab(dead)
			c.sends("q", "m")
		},
		"DLQ-12": func(c *clocked) {
			died(c, "a", "b")
			c.wantCounts("q", engine.Counts{DeadLetter: 2})
			c.receive(dead)
			c.wantCounts("q", engine.Counts{DeadLetter: 2, DeadLocked: 1})
			c.setAside(c.receive(dead))
			c.wantCounts("q", engine.Counts{DeadLetter: 2, DeadLocked: 1})
		},
		"OPS-1 crash": func(c *clocked) { // one step: before and after it there is exactly one message
			died(c, "m")
			for _, stored := range []bool{false, true} {
				_, err := c.ns.Move(c.now, engine.Move{Key: c.key(dead)}, "")
				c.must(err)
				if stored {
					c.step()
				} else {
					c.ns.Flush(c.now, true) // flushed to the store, which does not receive it
				}
				c.restart()
				c.wantCounts("q", map[bool]engine.Counts{false: {DeadLetter: 1}, true: {Active: 1}}[stored])
				c.equal(len(c.store.messages), 1)
			}
		},
		"DLQ-20 by hand": func(c *clocked) { // receive it, send a copy, complete it
			died(c, "m")
			d := c.receive(dead)
			content, err := d.Content.Content()
			c.must(err)
			c.equal(c.send("q", content), engine.Seq(2))
			c.wantCounts("q", engine.Counts{Active: 1, DeadLetter: 1, DeadLocked: 1})
			c.complete(d)
			c.wantCounts("q", engine.Counts{Active: 1})
		},
		"DLQ-21 by hand": func(c *clocked) {
			c.topic("t", engine.Config{})
			s, u := c.sub("t", "s", engine.Config{}), c.sub("t", "u", engine.Config{})
			c.sends("t", "m")
			c.grab(u)
			c.kill(c.receive(s), "", "")
			d := c.receive(s.DeadLetter())
			content, err := d.Content.Content()
			c.must(err)
			c.send("t", content)
			c.complete(d)
			c.wantIDs(s, "m")
			c.wantIDs(u, "m")
			c.wantCounts(s, engine.Counts{Active: 1})
		},
		"DLQ-21, OPS-1 to the topic": func(c *clocked) { // to all its subscriptions
			c.topic("t", engine.Config{})
			s, u := c.sub("t", "s", engine.Config{}), c.sub("t", "u", engine.Config{})
			c.sends("t", "m")
			c.grab(u)
			c.kill(c.receive(s), "", "")
			c.move(engine.Move{Key: c.key(s.DeadLetter()), To: "t"})
			c.wantCounts(s, engine.Counts{Active: 1})
			c.wantCounts(u, engine.Counts{Active: 1})
		},
		"OPS-1": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.send("q", engine.Content{MessageID: "m", TTL: hour, Properties: value.Properties{{Name: "mine", Value: value.OfInt(1)}}})
			d := c.receive("q")
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon, Modify: value.Properties{{Name: "more", Value: value.OfInt(2)}}}))
			c.step()
			key := c.key(dead)
			c.update("q", func(cfg *engine.Config) { cfg.DefaultMessageTimeToLive = minute })
			c.at(2 * hour)
			seq := c.move(engine.Move{Key: key})
			c.wantCounts("q", engine.Counts{Active: 1})
			m := c.row("q").Message
			c.equal(m.Key, key)
			c.equal(m.Seq, seq)
			c.equal(seq, engine.Seq(2))
			c.equal(m.DeliveryCount, uint32(0))
			c.equal(m.EnqueuedAt, c.now)
			c.equal(m.ExpiresAt, c.now.Add(minute)) // its own time to live, under the present ceiling
			d = c.receive("q")
			content, err := d.Content.Content()
			c.must(err)
			c.equal(content.MessageID, "m")
			props := d.Message.Properties(content)
			c.equal(len(props), 2)
			for _, name := range []string{"DeadLetterReason", "DeadLetterErrorDescription"} {
				if _, ok := props.Lookup(name); ok {
					c.Errorf("it still has a %s", name)
				}
			}
			if x := d.Message.Extra; x != nil && x.Source != "" {
				c.Errorf("the message still has the source %q", x.Source)
			}
		},
		"OPS-1 subscription": func(c *clocked) { // back to that subscription alone
			c.topic("t", engine.Config{})
			s, u := c.sub("t", "s", engine.Config{}), c.sub("t", "u", engine.Config{})
			c.sends("t", "m")
			c.kill(c.receive(s), "", "")
			c.move(engine.Move{Key: c.key(s.DeadLetter())})
			c.wantCounts(s, engine.Counts{Active: 1})
			c.wantCounts(u, engine.Counts{Active: 1})
		},
		"OPS-1 refusals": func(c *clocked) {
			died(c, "m")
			key := c.key(dead)
			c.queue("closed", engine.Config{Status: engine.StatusSendDisabled})
			c.queue("later", engine.Config{RequiresSession: true})
			for to, kind := range map[engine.Path]error{"nowhere": engine.ErrNotFound, "closed": engine.ErrDisabled, "later": engine.ErrNotAllowed, dead: engine.ErrNotAllowed} {
				c.refused(kind, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: key, To: to}, ""); return err })
			}
			d := c.receive(dead)
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: key}, ""); return err })
			c.complete(d)
			c.refused(engine.ErrMessageNotFound, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: key}, ""); return err })
			c.sends("q", "alive")
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: c.key("q")}, ""); return err })
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: c.key("q"), To: "Q"}, ""); return err })
			c.send("q", engine.Content{ScheduledFor: c.now + 1000})
			c.refused(engine.ErrNotAllowed, func() error {
				_, err := c.ns.Move(c.now, engine.Move{Key: c.rows("q")[1].Message.Key, To: "closed"}, "")
				return err
			})
		},
		"OPS-1 full": func(c *clocked) { // the target's size counts; moving within the entity needs no extra room
			c.limit(func(l *engine.Limits) { l.EntitySize = 100 })
			died(c, "m")
			c.queue("small", engine.Config{})
			for {
				if _, err := c.ns.Send(c.now, "small", c.submissions(engine.Content{}), ""); err != nil {
					break
				}
				c.step()
			}
			c.refused(engine.ErrQuota, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: c.key(dead), To: "small"}, ""); return err })
			for {
				if _, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{}), ""); err != nil {
					break
				}
				c.step()
			}
			c.refused(engine.ErrQuota, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: c.key(dead), Copy: true}, ""); return err })
			c.move(engine.Move{Key: c.key(dead)})
		},
		"OPS-2": func(c *clocked) {
			died(c, "m")
			key := c.key(dead)
			c.equal(c.move(engine.Move{Key: key, Copy: true}), engine.Seq(2))
			c.wantCounts("q", engine.Counts{Active: 1, DeadLetter: 1})
			c.wantDead("q", "Mine", "because")
			c.equal(c.key(dead), key)
			c.grab(dead) // the copy does not depend on the original
			c.pass(second)
			c.grab("q")
			c.step()
			c.equal(len(c.store.contents)+len(c.store.bodies), 0)
		},
		"OPS-10": func(c *clocked) { // active and deferred messages as well
			c.queue("q", engine.Config{})
			c.queue("other", engine.Config{})
			c.sends("q", "deferred", "active")
			c.abandon(c.receive("q"))
			c.setAside(c.receive("q"))
			c.pass(second)
			for i, r := range c.rows("q") {
				c.equal(c.move(engine.Move{Key: r.Message.Key, To: "other"}), engine.Seq(i+1))
			}
			c.wantCounts("q", engine.Counts{})
			c.wantCounts("other", engine.Counts{Active: 2})
			d := c.receive("other")
			c.equal(d.Content.MessageID(), "deferred")
			c.equal(d.Message.DeliveryCount, uint32(0))
			for _, key := range []engine.Key{d.Message.Key, c.scheduled("other")} { // a locked message and a scheduled one
				c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: key, To: "q"}, ""); return err })
			}
		},
	})
	for _, p := range []string{"q", "t/Subscriptions/s"} {
		run(t, rules{"DLQ-13 " + p: func(c *clocked) {
			c.queue("other", engine.Config{})
			if p == "q" {
				c.queue("q", engine.Config{ForwardDeadLetteredMessagesTo: "other"})
			} else {
				c.topic("t", engine.Config{})
				c.sub("t", "s", engine.Config{ForwardDeadLetteredMessagesTo: "other"})
			}
			c.refused(engine.ErrNotAllowed, func() error {
				err := c.ns.Attach(c.now, engine.Link{ID: 90, Path: engine.Path(p).DeadLetter()})
				if err == nil || err.Error() != "Cannot create a message receiver on an entity with auto-forwarding enabled." {
					c.Errorf("the error is %v", err)
				}
				return err
			})
			c.attach(engine.Path(p), 1) // only its dead letters are forwarded
		}, "DLQ-13 later " + p: func(c *clocked) { // receivers are ended where they would be refused now, and only there
			c.queue("other", engine.Config{})
			if p == "q" {
				c.queue("q", engine.Config{})
			} else {
				c.topic("t", engine.Config{})
				c.sub("t", "s", engine.Config{})
			}
			at := engine.Path(p)
			main, dead := c.attach(at, 1), c.attach(at.DeadLetter(), 1)
			c.update(at, func(cfg *engine.Config) { cfg.ForwardTo = "other" })
			c.equal(len(c.ended), 1)
			c.equal(c.ended[0].ID, main)
			c.equal(c.ended[0].Err.Error(), "Cannot create a message receiver on an entity with auto-forwarding enabled.")
			c.update(at, func(cfg *engine.Config) { cfg.ForwardTo, cfg.ForwardDeadLetteredMessagesTo = "", "other" })
			c.equal(len(c.ended), 2)
			c.equal(c.ended[1].ID, dead)
		}})
	}
}
