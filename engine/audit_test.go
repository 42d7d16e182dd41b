package engine_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

// auditEntry is the part of an audited event that tests compare.
type auditEntry struct {
	Kind   string
	Path   engine.Path
	To     engine.Path
	Reason string
	Count  int64
}

// An audited is a step that adds an audit event.
type audited struct {
	prepare func(c *clocked) engine.Key
	do      func(c *clocked, k engine.Key) error
	want    []auditEntry
}

// sentTo prepares some entities and sends messages with these ids to q. It returns the key of
// the first.
func sentTo(ids ...string) func(*clocked) engine.Key {
	return func(c *clocked) engine.Key {
		c.queue("q", engine.Config{})
		c.queue("other", engine.Config{})
		c.topic("t", engine.Config{})
		c.sub("t", "s", engine.Config{})
		c.sub("t", "r", engine.Config{})
		if len(ids) == 0 {
			return 0
		}
		c.sends("q", ids...)
		return c.rows("q")[0].Message.Key
	}
}

func TestAudit(t *testing.T) {
	active := sentTo("m")
	locked := func(c *clocked) engine.Key { k := active(c); c.receive("q"); return k }
	dead := func(c *clocked) engine.Key { k := active(c); c.kill(c.receive("q"), "Bad", ""); return k }
	later := func(p engine.Path) func(c *clocked) engine.Key {
		return func(c *clocked) engine.Key {
			sentTo()(c)
			c.send(p, engine.Content{ScheduledFor: morning.Add(hour)})
			return c.key(p)
		}
	}
	idle := func(c *clocked) engine.Key { c.queue("q", temporary); return 0 }
	const dlq = "q/$DeadLetterQueue"
	move := func(mv engine.Move) func(*clocked, engine.Key) error {
		return func(c *clocked, k engine.Key) error {
			mv.Key = k
			_, err := c.ns.Move(c.now, mv, "operator")
			return err
		}
	}
	for name, tc := range map[string]audited{
		"OPS-1":       {dead, move(engine.Move{}), []auditEntry{{"moved", dlq, "q", "", 0}}},
		"OPS-1 topic": {dead, move(engine.Move{To: "t"}), []auditEntry{{"moved", dlq, "t", "", 0}}},
		"OPS-2":       {dead, move(engine.Move{Copy: true}), []auditEntry{{"copied", dlq, "q", "", 0}}},
		"OPS-2 topic": {dead, move(engine.Move{Copy: true, To: "t"}), []auditEntry{{"copied", dlq, "t", "", 0}}},
		"OPS-3": {active, func(c *clocked, k engine.Key) error { return c.ns.Extend(c.now, k, c.now.Add(hour), "operator") },
			[]auditEntry{{"extended", "q", "", "", 0}}},
		"OPS-4": {func(c *clocked) engine.Key { k := active(c); c.setAside(c.receive("q")); return k },
			func(c *clocked, k engine.Key) error { return c.ns.ReturnToActive(c.now, k, "operator") },
			[]auditEntry{{"returned", "q", "", "", 0}}},
		"OPS-5 dead-letter": {active, func(c *clocked, k engine.Key) error { return c.ns.DeadLetterMessage(c.now, k, "Bad", "", "operator") },
			[]auditEntry{{"dead-lettered", "q", dlq, "Bad", 0}}},
		"OPS-5 delete": {active, func(c *clocked, k engine.Key) error { return c.ns.DeleteMessage(c.now, k, "operator") },
			[]auditEntry{{"deleted", "q", "", "", 0}}},
		"OPS-5 delete a scheduled one": {later("q"), func(c *clocked, k engine.Key) error { return c.ns.DeleteMessage(c.now, k, "operator") },
			[]auditEntry{{"cancelled", "q", "", "", 0}}},
		"OPS-6 break": {locked, func(c *clocked, k engine.Key) error { return c.ns.BreakLock(c.now, k, "operator") },
			[]auditEntry{{"lock-lost", "q", "", "", 0}}},
		"OPS-6 renew": {locked, func(c *clocked, k engine.Key) error { _, err := c.ns.RenewLockFor(c.now, k, "operator"); return err },
			[]auditEntry{{"renewed", "q", "", "", 0}}},
		"OPS-7": {sentTo("a", "b", "c"), func(c *clocked, _ engine.Key) error {
			pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassActive})
			for err == nil && !pg.Done {
				err = c.ns.PurgeSlice(c.now, &pg, 2, "operator")
			}
			return err
		}, []auditEntry{{"purged", "q", "", "", 2}, {"purged", "q", "", "", 1}}},
		"OPS-8 now": {later("q"), func(c *clocked, k engine.Key) error { return c.ns.SendNow(c.now, k, "operator") },
			[]auditEntry{{"activated", "q", "", "", 0}}},
		"OPS-8 now, topic": {later("t"), func(c *clocked, k engine.Key) error { return c.ns.SendNow(c.now, k, "operator") },
			[]auditEntry{{"activated", "t", "", "", 0}}},
		"OPS-8 reschedule": {later("q"), func(c *clocked, k engine.Key) error {
			_, err := c.ns.Reschedule(c.now, k, morning.Add(2*hour), "operator")
			return err
		}, []auditEntry{{"scheduled", "q", "", "rescheduled", 0}}},
		"OPS-9 touch": {idle, func(c *clocked, _ engine.Key) error { return c.ns.Touch(c.now, "q", "operator") },
			[]auditEntry{{"touched", "q", "", "", 0}}},
		"OPS-9 pin": {idle, func(c *clocked, _ engine.Key) error { return c.ns.Pin(c.now, "q", "operator") },
			[]auditEntry{{"entity-updated", "q", "", "pin", 0}}},
		"OPS-9 unpin": {func(c *clocked) engine.Key { idle(c); c.must(c.ns.Pin(c.now, "q", "")); c.step(); return 0 },
			func(c *clocked, _ engine.Key) error { return c.ns.Unpin(c.now, "q", "operator") },
			[]auditEntry{{"entity-updated", "q", "", "unpin", 0}}},
		"OPS-10": {active, move(engine.Move{To: "other"}), []auditEntry{{"moved", "q", "other", "", 0}}},
		"create": {active, func(c *clocked, _ engine.Key) error {
			_, err := c.ns.Create(c.now, engine.Queue, "new", engine.Config{}, "operator")
			return err
		}, []auditEntry{{"entity-created", "new", "", "", 0}}},
		"update": {active, func(c *clocked, _ engine.Key) error {
			_, err := c.ns.Update(c.now, "q", engine.Config{UserMetadata: "x"}, "operator")
			return err
		}, []auditEntry{{"entity-updated", "q", "", "UserMetadata", 0}}},
		"update of the status": {active, func(c *clocked, _ engine.Key) error {
			_, err := c.ns.Update(c.now, "q", engine.Config{Status: engine.StatusSendDisabled, UserMetadata: "x"}, "operator")
			return err
		}, []auditEntry{{"entity-updated", "q", "", "status: Active → SendDisabled, UserMetadata", 0}}},
		"update of nothing": {active, func(c *clocked, _ engine.Key) error {
			_, err := c.ns.Update(c.now, "q", engine.Config{}, "operator")
			return err
		}, []auditEntry{{"entity-updated", "q", "", "", 0}}},
		"delete": {active, func(c *clocked, _ engine.Key) error { return c.ns.Delete(c.now, "q", "operator") },
			[]auditEntry{{"entity-deleted", "q", "", "", 1}}},
		"delete a topic": {active, func(c *clocked, _ engine.Key) error { return c.ns.Delete(c.now, "t", "operator") },
			[]auditEntry{{"entity-deleted", "t", "", "", 0}, {"entity-deleted", "t/Subscriptions/r", "", "", 0}, {"entity-deleted", "t/Subscriptions/s", "", "", 0}}},
		"add a rule": {active, func(c *clocked, _ engine.Key) error {
			return c.ns.AddRule(c.now, "t/Subscriptions/s", engine.Rule{Name: "more"}, "operator")
		}, []auditEntry{{"rule-added", "t/Subscriptions/s", "", "more", 0}}},
		"remove a rule": {active, func(c *clocked, _ engine.Key) error {
			return c.ns.RemoveRule(c.now, "t/Subscriptions/s", engine.DefaultRule, "operator")
		}, []auditEntry{{"rule-removed", "t/Subscriptions/s", "", engine.DefaultRule, 0}}},
	} {
		run(t, rules{name: func(c *clocked) {
			k := tc.prepare(c)
			c.step()
			// A step that the store refuses is undone, without an event.
			c.must(tc.do(c, k))
			c.ns.Rollback()
			if hard, _ := c.ns.Pending(); hard {
				c.Error("after the rollback there is still something to commit durably")
			}
			if fx := c.ns.Flush(c.now, true); len(fx.Events) > 0 {
				c.Errorf("a step that was rolled back has events: %+v", fx.Events)
			}
			c.ns.Seal(true)

			c.must(tc.do(c, k))
			if hard, _ := c.ns.Pending(); !hard {
				c.Error("an operator's step is not committed durably")
			}
			from := len(c.events)
			c.step()
			c.wantAudit(from, tc.want)
		}}, asked)
	}
}

// wantAudit compares the audited events in c.events[from:] with want.
func (c *clocked) wantAudit(from int, want []auditEntry) {
	c.Helper()
	var got []auditEntry
	for _, e := range c.events[from:] {
		if !e.Audit {
			continue
		}
		got = append(got, auditEntry{e.Kind.String(), e.Path, e.To, e.Reason, e.Count})
		if e.Actor != "operator" || e.At != c.now {
			c.Errorf("event %v has the actor %q at %v", e.Kind, e.Actor, e.At)
		}
	}
	if d := gocmp.Diff(want, got); d != "" {
		c.Errorf("audited events (-want +got):\n%s", d)
	}
}

// Actions of clients and changes made by time are not audited. Consequences of an operator's
// action have separate events, and a request that changes nothing has none.
func TestNoAudit(t *testing.T) {
	run(t, rules{
		"clients": func(c *clocked) {
			sentTo("a", "b", "c", "d")(c)
			from := len(c.events)
			c.sends("t", "m")
			c.complete(c.receive("q"))
			d := c.receive("q")
			_, err := c.renew(d)
			c.must(err)
			c.abandon(d)
			c.kill(c.receive("q"), "", "")
			c.fetch("q", c.setAside(c.receive("q")))
			c.send("q", engine.Content{ScheduledFor: c.now.Add(hour)})
			c.must(c.ns.CancelScheduled(c.now, "q", []engine.Seq{5}, "client"))
			c.batchDelete("q", 5, c.now)
			c.step()
			c.wantAudit(from, nil)
		},
		"time": func(c *clocked) {
			c.queue("q", engine.Config{AutoDeleteOnIdle: 2 * hour, MaxDeliveryCount: 1})
			c.sends("q", "a")
			c.send("q", engine.Content{TTL: second})
			c.send("q", engine.Content{ScheduledFor: c.now.Add(second)})
			c.receive("q")
			from := len(c.events)
			c.at(hour)
			c.sweep()
			c.at(5 * hour)
			c.sweep()
			c.equal(c.exists("q"), false)
			c.wantAudit(from, nil)
		},
		"OPS-6 worn out by it": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "a")
			k := c.receive("q").Message.Key
			from := len(c.events)
			c.must(c.ns.BreakLock(c.now, k, "operator"))
			c.step()
			c.wantAudit(from, []auditEntry{{"lock-lost", "q", "", "", 0}})
			c.equal(c.events[len(c.events)-1].Kind, engine.EventDeadLettered)
		},
		"OPS-7 of nothing": func(c *clocked) {
			c.queue("q", engine.Config{})
			from := len(c.events)
			pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassActive})
			c.must(err)
			c.must(c.ns.PurgeSlice(c.now, &pg, 10, "operator"))
			c.step()
			c.wantAudit(from, nil)
		},
		"IDLE-7": func(c *clocked) { // viewing
			c.queue("q", temporary)
			from := len(c.events)
			c.ns.RecordView(c.now, "q", "page", "operator")
			hard, _ := c.ns.Pending()
			c.equal(hard, false)
			c.step()
			c.wantAudit(from, nil)
		},
	}, asked)
}

func TestEventNames(t *testing.T) {
	seen := map[string]engine.EventKind{}
	for k := engine.EventSent; k <= engine.EventMemoryFree; k++ {
		name := k.String()
		if was, twice := seen[name]; twice || len(name) < 3 || name[:3] == "eve" {
			t.Errorf("event %d has the name %q of event %d", k, name, was)
		}
		seen[name] = k
	}
	for _, k := range []engine.EventKind{0, engine.EventMemoryFree + 1, 255} {
		if name := k.String(); len(name) < 7 || name[:6] != "event-" {
			t.Errorf("the unknown event kind %d has the name %q", k, name)
		}
	}
}
