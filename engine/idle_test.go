package engine_test

import (
	"errors"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

const idle = 5 * minute

var temporary = engine.Config{AutoDeleteOnIdle: idle, LockDuration: idle}

// gone requires that an entity exists until d after morning, and not from then on.
func (c *clocked) gone(p engine.Path, d time.Duration) {
	c.Helper()
	c.at(d - ms)
	if !c.exists(p) {
		c.Fatalf("%s was deleted too early", p)
	}
	c.at(d)
	if c.exists(p) {
		c.Fatalf("%s is still there", p)
	}
}

// TestIdlenessMatrix is the table of §10: the effect of an operation after four minutes on an
// entity that is deleted after five idle minutes.
func TestIdlenessMatrix(t *testing.T) {
	const q, top, sub = engine.Path("q"), engine.Path("t"), engine.Path("t/Subscriptions/s")
	// stock has the messages of a queue or subscription to operate on.
	type stock struct {
		locked, dead engine.Delivery
		deferred     engine.Seq
		keys         map[string]engine.Key
	}
	type operation struct {
		name string
		do   func(c *clocked, p engine.Path, s stock) error
	}
	settle := func(o engine.Outcome) operation {
		return operation{"IDLE-7 " + o.String(), func(c *clocked, _ engine.Path, s stock) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: s.locked.Token(), Outcome: o})
		}}
	}
	take := func(name string, mode engine.Mode, at func(engine.Path) engine.Path) operation {
		return operation{name, func(c *clocked, p engine.Path, _ stock) error { _, _, err := c.tryReceive(at(p), mode); return err }}
	}
	here := func(p engine.Path) engine.Path { return p }
	key := func(name, of string, do func(c *clocked, k engine.Key) error) operation {
		return operation{name, func(c *clocked, _ engine.Path, s stock) error { return do(c, s.keys[of]) }}
	}
	// Operations on the messages of a queue or subscription.
	inside := []operation{
		take("receive", engine.PeekLock, here),
		take("receive and delete", engine.ReceiveAndDelete, here),
		take("receive a dead letter", engine.PeekLock, engine.Path.DeadLetter),
		{"IDLE-7 receive nothing", func(c *clocked, p engine.Path, _ stock) error {
			c.nothing(p.DeadLetter()) // the only dead letter is locked
			return nil
		}},
		settle(engine.Complete), settle(engine.Abandon), settle(engine.Defer), settle(engine.DeadLetter), settle(engine.Release),
		{"IDLE-7 settle a dead letter", func(c *clocked, _ engine.Path, s stock) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: s.dead.Token()})
		}},
		{"IDLE-7 renew", func(c *clocked, _ engine.Path, s stock) error {
			_, err := c.ns.RenewLock(c.now, s.locked.Token(), "", "")
			return err
		}},
		{"IDLE-7 fetch", func(c *clocked, p engine.Path, s stock) error { _, err := c.tryFetch(p, s.deferred); return err }},
		{"IDLE-7 fetch nothing", func(c *clocked, p engine.Path, _ stock) error { c.unfetchable(p, 99); return nil }},
		{"PEEK-10 peek", func(c *clocked, p engine.Path, _ stock) error { _, err := c.ns.Peek(c.now, p, 1, 1, ""); return err }},
		{"PEEK-10 peek at dead letters", func(c *clocked, p engine.Path, _ stock) error {
			_, err := c.ns.Peek(c.now, p.DeadLetter(), 1, 1, "")
			return err
		}},
		{"open a receiver", func(c *clocked, p engine.Path, _ stock) error { c.attach(p, 0); return nil }},
		{"BDEL-7 batch delete", func(c *clocked, p engine.Path, _ stock) error {
			_, err := c.ns.BatchDelete(c.now, p, 1, c.now, "")
			return err
		}},
		key("OPS-11 delete", "active", func(c *clocked, k engine.Key) error { return c.ns.DeleteMessage(c.now, k, "") }),
		key("OPS-11 dead-letter", "active", func(c *clocked, k engine.Key) error { return c.ns.DeadLetterMessage(c.now, k, "", "", "") }),
		key("OPS-11 extend", "active", func(c *clocked, k engine.Key) error { return c.ns.Extend(c.now, k, c.now+1_000_000, "") }),
		key("OPS-11 return", "deferred", func(c *clocked, k engine.Key) error { return c.ns.ReturnToActive(c.now, k, "") }),
		key("OPS-11 break lock", "locked", func(c *clocked, k engine.Key) error { return c.ns.BreakLock(c.now, k, "") }),
		key("OPS-11 renew for", "locked", func(c *clocked, k engine.Key) error { _, err := c.ns.RenewLockFor(c.now, k, ""); return err }),
		key("OPS-11 move away", "active", func(c *clocked, k engine.Key) error {
			_, err := c.ns.Move(c.now, engine.Move{Key: k, To: "other"}, "")
			return err
		}),
		{"OPS-11 purge", func(c *clocked, p engine.Path, _ stock) error {
			pg, err := c.ns.BeginPurge(c.now, p, []engine.Class{engine.ClassActive})
			if err == nil {
				err = c.ns.PurgeSlice(c.now, &pg, 10, "")
			}
			return err
		}},
	}
	update := operation{"update", func(c *clocked, p engine.Path, _ stock) error {
		_, err := c.ns.Update(c.now, p, c.state(p).Config, "")
		return err
	}}
	touch := operation{"OPS-9 touch", func(c *clocked, p engine.Path, _ stock) error { return c.ns.Touch(c.now, p, "") }}
	send := operation{"send", func(c *clocked, p engine.Path, _ stock) error { c.sends(p, "m"); return nil }}
	addRule := operation{"add rule", func(c *clocked, p engine.Path, _ stock) error {
		return c.ns.AddRule(c.now, p, engine.Rule{Name: "r"}, "")
	}}
	removeRule := operation{"remove rule", func(c *clocked, p engine.Path, _ stock) error {
		return c.ns.RemoveRule(c.now, p, engine.DefaultRule, "")
	}}
	looking := []operation{
		{"IDLE-7, DEC-6 look at it", func(c *clocked, p engine.Path, _ stock) error {
			_, err := c.ns.State(p)
			c.ns.States(0)
			c.ns.Totals()
			c.ns.Horizon("", nil)
			c.ns.Expiring(10)
			c.ns.Deferred("", 1, 10)
			c.ns.RecordView(c.now, p, "view", "somebody")
			return err
		}},
		{"IDLE-7, DEC-6 look at its messages", func(c *clocked, p engine.Path, _ stock) error {
			_, err := c.ns.Browse(engine.Browse{Path: p, Limit: 10})
			return err
		}},
		{"be refused", func(c *clocked, p engine.Path, _ stock) error {
			_, err := c.ns.Create(c.now, engine.Queue, p, temporary, "")
			return wanted(err)
		}},
	}
	create := func(c *clocked) (s stock) {
		c.queue("other", engine.Config{})
		c.queue(q, engine.Config{})
		c.topic(top, engine.Config{})
		c.sub("t", "s", engine.Config{})
		return s
	}
	fill := func(c *clocked, to, p engine.Path) (s stock) {
		c.sends(to, "dead", "deferred", "locked", "active")
		c.kill(c.receive(p), "", "")
		s.deferred = c.setAside(c.receive(p))
		s.locked = c.receive(p)
		s.dead = c.receive(p.DeadLetter())
		s.keys = map[string]engine.Key{}
		for _, r := range c.rows(p) {
			s.keys[r.Content.MessageID()] = r.Message.Key
		}
		return s
	}
	check := func(rule string, target, at engine.Path, op operation, resets bool) {
		mark := " –"
		if resets {
			mark = " ●"
		}
		run(t, rules{rule + " " + target.Name() + " " + op.name + " at " + at.Name() + mark: func(c *clocked) {
			s := create(c)
			for _, p := range []engine.Path{q, top, sub} {
				c.update(p, func(cfg *engine.Config) {
					cfg.LockDuration = idle
					if p == target {
						cfg.AutoDeleteOnIdle = idle
					}
				})
			}
			switch at {
			case q:
				s = fill(c, q, q)
			case sub:
				s = fill(c, top, sub)
			}
			c.at(4 * minute)
			c.must(op.do(c, at, s))
			c.step()
			if resets {
				c.gone(target, 9*minute)
			} else {
				c.gone(target, idle)
			}
		}}, asked, swept)
	}
	for _, op := range append(append([]operation{send, update, touch}, inside...), operation{"OPS-11 move here", func(c *clocked, p engine.Path, _ stock) error {
		c.sends("other", "m")
		_, err := c.ns.Move(c.now, engine.Move{Key: c.key("other"), To: p}, "")
		return err
	}}) {
		check("§10, IDLE-2", q, q, op, true)
	}
	for _, op := range append(inside, update, touch, addRule, removeRule) {
		check("§10, IDLE-4", sub, sub, op, true)
		check("§10, IDLE-3", top, sub, op, true) // operations at its subscriptions
	}
	for _, op := range []operation{send, update, touch,
		{"create a subscription", func(c *clocked, _ engine.Path, _ stock) error { c.sub("t", "another", engine.Config{}); return nil }},
		{"delete a subscription", func(c *clocked, _ engine.Path, _ stock) error { c.remove(sub); return nil }},
		{"peek", func(c *clocked, p engine.Path, _ stock) error { _, err := c.ns.Peek(c.now, p, 1, 1, ""); return err }},
	} {
		check("§10, IDLE-3", top, top, op, true)
	}
	for _, op := range looking {
		for _, p := range []engine.Path{q, top, sub} {
			check("§10, IDLE-7", p, p, op, false)
		}
		check("§10, IDLE-7", top, sub, op, false)
	}
	check("§10, IDLE-4", sub, top, send, false) // messages that arrive through the topic are no use of the subscription
	check("§10, IDLE-4", sub, top, update, false)
}

// wanted returns nil if err is the error of an operation that had to be refused, and an error if
// err is nil.
func wanted(err error) error {
	if err == nil {
		return errors.New("it was not refused")
	}
	return nil
}

func TestIdleness(t *testing.T) {
	run(t, rules{
		"IDLE-1": func(c *clocked) { // each entity by its own timer, and never unless configured
			c.queue("q", temporary)
			c.topic("t", temporary)
			c.topic("u", engine.Config{})
			s := c.sub("u", "s", temporary)
			c.queue("stays", engine.Config{})
			c.at(idle - ms)
			for _, p := range []engine.Path{"q", "t", s} {
				c.equal(c.exists(p), true)
			}
			c.at(idle)
			for _, p := range []engine.Path{"q", "t", s} {
				c.equal(c.exists(p), false)
			}
			c.at(1000 * hour)
			c.equal(c.exists("stays") && c.exists("u"), true)
			for _, e := range c.events {
				if e.Kind == engine.EventEntityDeleted || e.Kind == engine.EventEntityAutoDeleted && (e.Actor != "" || e.Entity == nil) {
					c.Errorf("unexpected event %v by %q of %+v", e.Kind, e.Actor, e.Entity)
				}
			}
		},
		"IDLE-2": func(c *clocked) { // use after use
			c.queue("q", temporary)
			for i := range 10 {
				c.at(time.Duration(i+1) * 4 * minute)
				c.sends("q", "m")
			}
			c.gone("q", 45*minute)
		},
		"IDLE-4": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", temporary)
			for i := range 5 {
				c.at(time.Duration(i) * minute)
				c.sends("t", "m")
			}
			c.gone(s, idle)
			c.equal(c.exists("t"), true)
		},
		"IDLE-6": func(c *clocked) { // set at creation, and later
			c.queue("q", engine.Config{})
			c.queue("r", temporary)
			c.gone("r", idle)
			c.at(hour)
			c.update("q", func(cfg *engine.Config) { cfg.AutoDeleteOnIdle = idle })
			c.gone("q", hour+idle)
		},
		"IDLE-7 long poll": func(c *clocked) { // the queue is in use until the receive times out
			c.queue("q", temporary)
			c.at(4 * minute)
			link := c.attach("q", 1)
			c.at(8*minute + 5*second)
			c.detach(link, engine.DetachedByClient)
			c.gone("q", 13*minute+5*second)
		},
		"IDLE-8": func(c *clocked) { // an open receiver with credit
			c.queue("q", temporary)
			c.topic("t", temporary)
			s := c.sub("t", "s", temporary)
			a, b := c.attach("q", 1), c.attach(s.DeadLetter(), 1)
			c.at(3 * idle)
			c.equal(c.exists("q") && c.exists(s) && c.exists("t"), true)
			c.detach(a, engine.DetachedByClient)
			c.detach(b, engine.DetachedLost)
			c.gone("q", 4*idle)
			c.equal(c.exists(s) || c.exists("t"), false)
		},
		"IDLE-8 without credit": func(c *clocked) {
			c.queue("q", temporary)
			c.at(minute)
			c.attach("q", 0)
			c.gone("q", 6*minute)
			c.equal(len(c.ended) == 1 && errors.Is(c.ended[0].Err, engine.ErrNotFound), true)
		},
		"IDLE-8 credit used up": func(c *clocked) {
			c.queue("q", temporary)
			c.attach("q", 1)
			c.at(hour)
			c.sends("q", "m")
			c.gone("q", hour+idle)
		},
		"IDLE-9 cancelled": func(c *clocked) {
			c.queue("q", temporary)
			seq := c.send("q", engine.Content{ScheduledFor: morning.Add(hour)})
			c.at(30 * minute)
			c.must(c.ns.CancelScheduled(c.now, "q", []engine.Seq{seq}, ""))
			c.step()
			c.gone("q", 30*minute+idle)
		},
		"IDLE-9 sent now": func(c *clocked) {
			c.queue("q", temporary)
			c.send("q", engine.Content{ScheduledFor: morning.Add(hour)})
			c.at(10 * minute)
			c.must(c.ns.SendNow(c.now, c.key("q"), ""))
			c.step()
			c.gone("q", 10*minute+idle)
		},
		"IDLE-9 refused by the store": func(c *clocked) { // a message whose scheduling was rolled back does not keep the queue
			c.queue("q", temporary)
			_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{ScheduledFor: morning.Add(hour)}), "")
			c.must(err)
			c.ns.Rollback()
			c.gone("q", idle)
		},
		"IDLE-10": func(c *clocked) {
			c.queue("q", engine.Config{AutoDeleteOnIdle: idle, LockDuration: idle, DeadLetteringOnMessageExpiration: true})
			c.sends("q", "dead", "deferred", "locked", "active", "5", "6", "7", "8", "9", "10")
			c.kill(c.receive("q"), "", "")
			c.setAside(c.receive("q"))
			c.receive("q")
			died := len(c.events)
			c.gone("q", idle)
			for _, e := range c.events[died:] {
				if e.Kind == engine.EventDeadLettered {
					c.Errorf("%s is dead-lettered", e.Path)
				}
			}
			c.equal(c.events[len(c.events)-1].Count, int64(10))
			c.sweep()
			c.step()
			c.equal(len(c.store.messages)+len(c.store.contents)+len(c.store.bodies), 0)
		},
		"IDLE-11": func(c *clocked) {
			c.topic("t", temporary)
			s := c.sub("t", "s", engine.Config{})
			c.gone("t", idle)
			c.equal(c.exists(s), false)
			c.topic("u", engine.Config{})
			s = c.sub("u", "s", temporary)
			c.gone(s, 2*idle)
			c.equal(c.exists("u"), true)
		},
		"IDLE-11 in turn": func(c *clocked) { // the deletion of a subscription is no use of its topic
			c.topic("t", engine.Config{AutoDeleteOnIdle: 2 * idle})
			s := c.sub("t", "s", temporary)
			c.gone(s, idle)
			c.gone("t", 2*idle)
		},
		"IDLE-14": func(c *clocked) {
			c.queue("q", temporary)
			c.update("q", func(cfg *engine.Config) { cfg.AutoDeleteOnIdle = 0 })
			c.at(10_000 * hour)
			c.equal(c.exists("q"), true)
		},
		"IDLE-15": func(c *clocked) {
			c.queue("q", temporary)
			c.at(4 * minute)
			c.update("q", func(cfg *engine.Config) { cfg.AutoDeleteOnIdle = idle }) // the same value again
			c.at(6 * minute)
			c.equal(c.exists("q"), true)
			c.gone("q", 9*minute)
		},
		"IDLE-15 to another": func(c *clocked) {
			c.queue("q", temporary)
			c.at(4 * minute)
			c.update("q", func(cfg *engine.Config) { cfg.AutoDeleteOnIdle = idle })
			c.at(6 * minute)
			c.equal(c.exists("q"), true)
			c.update("q", func(cfg *engine.Config) { cfg.AutoDeleteOnIdle = 2 * idle })
			c.gone("q", 16*minute)
		},
		"OPS-9 pin": func(c *clocked) {
			c.queue("q", temporary)
			c.must(c.ns.Pin(c.now, "q", "operator"))
			c.step()
			c.equal(c.state("q").Config.AutoDeleteOnIdle, time.Duration(0))
			c.equal(c.state("q").UnpinnedIdle, idle)
			c.at(hour)
			c.equal(c.exists("q"), true)
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Pin(c.now, "q", "") })
			c.must(c.ns.Unpin(c.now, "q", "operator"))
			c.step()
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Unpin(c.now, "q", "") })
			c.gone("q", hour+idle)
		},
		"OPS-9 pin updated": func(c *clocked) { // an update of other properties keeps the pin, one of the idle time ends it
			c.queue("q", temporary)
			c.must(c.ns.Pin(c.now, "q", ""))
			c.update("q", func(cfg *engine.Config) { cfg.UserMetadata = "x" })
			c.equal(c.state("q").UnpinnedIdle, idle)
			c.update("q", func(cfg *engine.Config) { cfg.AutoDeleteOnIdle = hour })
			c.equal(c.state("q").UnpinnedIdle, time.Duration(0))
		},
		"OPS-9 tombstone": func(c *clocked) { // the event contains what restoring needs
			c.topic("t", temporary)
			s := c.sub("t", "s", engine.Config{MaxDeliveryCount: 3})
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "r", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a=1"}}, ""))
			c.gone("t", idle)
			for _, e := range c.events {
				if e.Kind == engine.EventEntityAutoDeleted && e.Path == "t" {
					c.equal(e.Entity.Config, temporary)
					c.equal(len(e.Subscriptions) == 1 && e.Subscriptions[0].Config.MaxDeliveryCount == 3 && len(e.Rules) == 2, true)
					return
				}
			}
			c.Error("there is no event of the deletion")
		},
		"use history": func(c *clocked) {
			c.queue("q", temporary)
			c.at(minute)
			c.sends("q", "m")
			c.ns.RecordView(c.now, "q", "view", "somebody")
			uses := c.state("q").Uses
			if len(uses) < 2 || uses[0] != (engine.Use{At: c.now, What: "view", By: "somebody"}) || uses[1].What != "send" || !uses[1].Counted {
				c.Errorf("the uses are %+v", uses)
			}
			c.equal(c.state("q").DeletesAt, morning.Add(6*minute))
			for range 50 {
				c.sends("q", "m")
			}
			c.equal(len(c.state("q").Uses), 20)
		},
	}, asked, swept)
	run(t, rules{
		"DEC-6": func(c *clocked) { // viewing changes nothing, even after time has passed
			c.queue("q", engine.Config{AutoDeleteOnIdle: 24 * hour, DeadLetteringOnMessageExpiration: true})
			c.sends("q", "locked", "deferred")
			c.send("q", engine.Content{MessageID: "expired", TTL: second})
			c.send("q", engine.Content{MessageID: "scheduled", ScheduledFor: c.now.Add(second)})
			c.receive("q")
			c.setAside(c.receive("q"))
			c.now = c.now.Add(hour)
			before, used := c.picture(), c.state("q").LastUsed
			c.ns.States(0)
			c.ns.Totals()
			c.ns.Horizon("", []engine.Instant{c.now})
			c.ns.Expiring(10)
			c.ns.Deferred("", 1, 10)
			for _, r := range c.rows("q") {
				_, err := c.ns.Message(r.Message.Key)
				c.must(err)
			}
			c.ns.RecordView(c.now, "q", "page", "somebody")
			hard, soft := c.ns.Pending()
			c.equal(hard || soft, false)
			c.must(c.ns.Check())
			if d := gocmp.Diff(before, c.picture()); d != "" {
				c.Errorf("viewing changed the state:\n%s", d)
			}
			c.equal(c.state("q").LastUsed, used)
		},
	}, asked)
	// The timer starts when an activation is noticed, so these need a sweeper.
	run(t, rules{
		"IDLE-3, IDLE-9 topic": func(c *clocked) {
			c.topic("t", temporary)
			c.send("t", engine.Content{ScheduledFor: morning.Add(hour)})
			c.gone("t", hour+idle)
		},
		"IDLE-9": func(c *clocked) {
			c.queue("q", temporary)
			c.send("q", engine.Content{ScheduledFor: morning.Add(hour)})
			c.at(30 * minute)
			c.equal(c.exists("q"), true)
			c.gone("q", hour+idle)
		},
		"IDLE-9 the last of several, SCH-13": func(c *clocked) {
			c.queue("q", temporary)
			for _, d := range []time.Duration{10 * minute, 20 * minute} {
				c.send("q", engine.Content{ScheduledFor: morning.Add(d)})
			}
			c.gone("q", 20*minute+idle)
		},
		"IDLE-9 rescheduled": func(c *clocked) {
			c.queue("q", temporary)
			c.send("q", engine.Content{ScheduledFor: morning.Add(10 * minute)})
			_, err := c.ns.Reschedule(c.now, c.key("q"), morning.Add(hour), "")
			c.must(err)
			c.step()
			c.gone("q", hour+idle)
		},
	}, swept)
}
