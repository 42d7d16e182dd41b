package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

func TestLocks(t *testing.T) {
	run(t, rules{
		"LOCK-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			a, b := c.receive("q"), c.grab("q")
			c.equal(a.Deleted, false)
			c.equal(b.Deleted, true)
			c.equal(a.Token() == engine.LockToken{}, false)
			c.wantCounts("q", engine.Counts{Locked: 1})
		},
		"LOCK-2": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.grab("q")
			c.equal(len(c.store.messages), 0) // gone before it is handed out
			c.wantLockLost(c.settle(d, engine.Complete))
			_, err := c.renew(d)
			c.wantLockLost(err)
		},
		"LOCK-3": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.receive("q")
			c.nothing("q")
			c.at(minute - ms)
			c.nothing("q")
			c.at(minute)
			c.receive("q")
		},
		"LOCK-4": func(c *clocked) {
			c.queue("q", engine.Config{LockDuration: 5 * second})
			c.sends("q", "m")
			c.pass(hour)
			d := c.receive("q")
			c.equal(d.Message.LockedUntil, c.now.Add(5*second))
			c.pass(5*second - ms)
			c.complete(d)
		},
		"LOCK-5": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			for i := range 3 {
				c.pass(50 * second)
				until, err := c.renew(d)
				c.must(err)
				c.equal(until, c.now.Add(minute))
				c.equal(c.row("q").Message.DeliveryCount, uint32(0))
				_ = i
			}
			c.pass(minute - ms)
			c.complete(d)
		},
		"LOCK-6": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.at(minute)
			_, err := c.renew(d)
			c.wantLockLost(err)
			for _, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release} {
				c.wantLockLost(c.settle(d, o))
			}
			c.equal(c.state("q").Counts.MessageCount(), int64(1))
		},
		"LOCK-7": func(c *clocked) {
			c.queue("q", engine.Config{})
			for _, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release} {
				c.sends("q", "m")
				d := c.receive("q")
				c.must(c.settle(d, o))
				c.wantLockLost(c.settle(d, engine.Complete))
				c.wantLockLost(c.settle(d, o))
				if o == engine.Abandon || o == engine.Release {
					c.grab("q")
				}
			}
			c.wantCounts("q", engine.Counts{Deferred: 1, DeadLetter: 1})
		},
		"LOCK-8": func(c *clocked) { // the link's end leaves the lock; a token is good from anywhere
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			for _, how := range []engine.Closed{engine.ByClient, engine.Lost} {
				c.detach(c.attach("q", 1), how)
			}
			c.nothing("q")
			c.complete(c.inbox[0])
			c.at(minute - ms)
			c.nothing("q")
			c.at(minute)
			c.equal(c.receive("q").Message.DeliveryCount, uint32(1))
		},
		"LOCK-8 elsewhere": func(c *clocked) { // a token is for its own queue
			c.queue("q", engine.Config{})
			c.queue("other", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.wantLockLost(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Path: "other"}))
			_, err := c.ns.Renew(c.now, d.Token(), "other", "")
			c.wantLockLost(err)
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Path: "Q"}))
		},
		"LOCK-10": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			first := c.receive("q")
			c.abandon(first)
			second := c.receive("q")
			c.equal(first.Token() == second.Token(), false)
			c.wantLockLost(c.settle(first, engine.Complete))
			c.complete(second)
		},
		"LOCK-11": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			rows, err := c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			c.equal(rows[0].Message.Locked(), false)
			c.wantLockLost(c.ns.Settle(c.now, engine.Settlement{Token: rows[0].Message.Token()}))
		},
		"LOCK-12": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.update("q", func(cfg *engine.Config) { cfg.LockDuration = 5 * second })
			c.at(minute - ms)
			until, err := c.renew(d)
			c.must(err)
			c.equal(until, c.now.Add(5*second)) // a renewal is a new lock
		},
		"LOCK-13": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			link := c.attach("q", 3)
			c.complete(c.inbox[0])
			c.detach(link, engine.ByClient)
			c.wantCounts("q", engine.Counts{Locked: 2})
			c.at(minute)
			b, d := c.receive("q"), c.receive("q")
			c.equal(b.Content.MessageID()+d.Content.MessageID(), "bc")
			c.equal(b.Message.DeliveryCount+d.Message.DeliveryCount, uint32(2))
		},
		"DEC-12": func(c *clocked) { // a lock that was made durable lives on
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.restart()
			c.nothing("q")
			c.at(minute - ms)
			c.complete(d)
		},
	})
}

func TestReceivers(t *testing.T) {
	run(t, rules{
		"rotation": func(c *clocked) { // one to each in turn
			c.queue("q", engine.Config{})
			a, b := c.attach("q", 2), c.attach("q", 10)
			c.sends("q", "1", "2", "3", "4", "5")
			c.equal(fmt.Sprint(c.delivered(a)), "[1 3]")
			c.equal(fmt.Sprint(c.delivered(b)), "[2 4 5]")
		},
		"waiting": func(c *clocked) {
			c.queue("q", engine.Config{})
			link := c.attach("q", 1)
			c.sends("q", "1", "2")
			c.equal(fmt.Sprint(c.delivered(link)), "[1]")
			c.must(c.ns.Credit(c.now, link, 1))
			c.step()
			c.equal(fmt.Sprint(c.delivered(link)), "[1 2]")
		},
		"waiting for a lock's end": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.receive("q")
			link := c.attach("q", 1)
			c.at(minute)
			c.sweep()
			c.equal(fmt.Sprint(c.delivered(link)), "[m]")
		},
		"unknown": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.refused(engine.ErrNotFound, func() error { return c.ns.Credit(c.now, 99, 1) })
			c.ns.Detach(c.now, 99, engine.ByClient)
			c.refused(engine.ErrNotFound, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1, Path: "nowhere"}) })
			c.refused(engine.ErrNotFound, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1, Path: "nowhere/$DeadLetterQueue"}) })
			c.topic("t", engine.Config{})
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1, Path: "t"}) })
			c.refused(engine.ErrNotFound, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1, Path: "t/$DeadLetterQueue"}) })
		},
	})
}

// TestOutcomes is the table of §5.2 and what it does to the count (§5.3).
func TestOutcomes(t *testing.T) {
	over := func(c *clocked, d engine.Delivery) { c.pass(minute); c.sweep() }
	settle := func(o engine.Outcome) func(*clocked, engine.Delivery) {
		return func(c *clocked, d engine.Delivery) { c.Helper(); c.must(c.settle(d, o)) }
	}
	for _, tc := range []struct {
		name     string
		do       func(*clocked, engine.Delivery)
		deferred bool // the message was before
		want     engine.Counts
		count    uint32
	}{
		{"complete", settle(engine.Complete), false, engine.Counts{}, 0},
		{"DC-2 abandon", settle(engine.Abandon), false, engine.Counts{Active: 1}, 1},
		{"DC-2 defer", settle(engine.Defer), false, engine.Counts{Deferred: 1}, 1},
		{"DC-3 dead-letter", settle(engine.DeadLetter), false, engine.Counts{DeadLetter: 1}, 0},
		{"DC-3, SETL-4 release", settle(engine.Release), false, engine.Counts{Active: 1}, 0},
		{"DC-2 lock expiry", over, false, engine.Counts{Active: 1}, 1},
		{"DC-3 renew", func(c *clocked, d engine.Delivery) { _, err := c.renew(d); c.must(err) }, false, engine.Counts{Locked: 1}, 0},
		{"DC-3 peek", func(c *clocked, _ engine.Delivery) { _, err := c.ns.Peek(c.now, "q", 1, 1, ""); c.must(err) }, false, engine.Counts{Locked: 1}, 0},
		{"DC-3 receive", func(*clocked, engine.Delivery) {}, false, engine.Counts{Locked: 1}, 0},
		{"DEF-8 complete", settle(engine.Complete), true, engine.Counts{}, 0},
		{"DEF-8 abandon", settle(engine.Abandon), true, engine.Counts{Deferred: 1}, 2},
		{"DEF-8 defer", settle(engine.Defer), true, engine.Counts{Deferred: 1}, 2},
		{"DEF-8 dead-letter", settle(engine.DeadLetter), true, engine.Counts{DeadLetter: 1}, 1},
		{"DEF-8 release", settle(engine.Release), true, engine.Counts{Deferred: 1}, 1},
		{"DEF-8 lock expiry", over, true, engine.Counts{Deferred: 1}, 2},
		{"DEF-8 renew", func(c *clocked, d engine.Delivery) { _, err := c.renew(d); c.must(err) }, true, engine.Counts{Locked: 1}, 1},
	} {
		run(t, rules{tc.name: func(c *clocked) {
			c.queue("q", engine.Config{})
			seq := c.send("q", engine.Content{MessageID: "m", Properties: value.Properties{{Name: "mine", Value: value.OfInt(1)}}})
			d := c.receive("q")
			if tc.deferred {
				d = c.fetch("q", c.setAside(d))
			}
			tc.do(c, d)
			c.wantCounts("q", tc.want)
			for _, p := range []engine.Path{"q", "q/$DeadLetterQueue"} {
				for _, r := range c.rows(p) {
					c.equal(r.Message.DeliveryCount, tc.count)
					c.equal(r.Message.Seq, seq) // SEQ-3
					c.equal(r.Message.EnqueuedSeq, seq)
					c.equal(r.Message.EnqueuedAt, morning)
				}
			}
		}})
	}
}

func TestSettlements(t *testing.T) {
	props := func(name string, n int32) value.Properties {
		return value.Properties{{Name: name, Value: value.OfInt(n)}}
	}
	cases := rules{
		"SETL-2 dead-letter queue": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.kill(c.receive("q"), "Mine", "because")
			d := c.receive("q/$DeadLetterQueue")
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon, Modify: props("k", 1)}))
			c.step()
			c.wantDead("q", "Mine", "because")
			d = c.receive("q/$DeadLetterQueue")
			content, err := d.Content.Content()
			c.must(err)
			got := d.Message.Properties(content)
			if _, ok := got.Lookup("k"); !ok || len(got) != 3 {
				c.Errorf("the properties are %v", got)
			}
		},
		"too long a reason": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			for _, s := range []engine.Settlement{{Reason: strings.Repeat("é", 4097)}, {Description: strings.Repeat("é", 4097)}} {
				s.Token, s.Outcome = d.Token(), engine.DeadLetter
				c.refused(engine.ErrOutOfRange, func() error { return c.ns.Settle(c.now, s) })
			}
			c.kill(d, strings.Repeat("é", 4096), strings.Repeat("é", 4096))
		},
		"HeaderSizeExceeded": func(c *clocked) { // §6.2, 4: properties that outgrow their quota
			c.limit(func(l *engine.Limits) { l.HeaderSize, l.PropertySize = 100, 60 })
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			long := func(name string) value.Properties {
				return value.Properties{{Name: name, Value: value.OfString(strings.Repeat("v", 50))}}
			}
			for _, name := range []string{"a", "b"} {
				d := c.receive("q")
				c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon, Modify: long(name)}))
				c.step()
			}
			c.wantDead("q", "HeaderSizeExceeded", "The size quota for this stream has been exceeded.")
		},
		"too long a property": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.refused(engine.ErrArgument, func() error {
				return c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon, Modify: value.Properties{{Name: "a", Value: value.OfString(strings.Repeat("v", 32<<10+1))}}})
			})
		},
	}
	for _, o := range []engine.Outcome{engine.Abandon, engine.Defer, engine.DeadLetter} {
		cases["SETL-2, MSG-2 "+o.String()] = func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{MessageID: "m", Properties: append(props("old", 1), props("kept", 1)...)})
			d := c.receive("q")
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: o, Modify: append(props("old", 2), props("new", 3)...)}))
			c.step()
			c.pass(second)
			switch o {
			case engine.Defer:
				d = c.fetch("q", d.Message.Seq)
			case engine.DeadLetter:
				d = c.receive("q/$DeadLetterQueue")
			default:
				d = c.receive("q")
			}
			content, err := d.Content.Content()
			c.must(err)
			got := d.Message.Properties(content)
			for name, want := range map[string]int32{"old": 2, "new": 3, "kept": 1} {
				if v, _ := got.Lookup(name); v != value.OfInt(want) {
					c.Errorf("%s is %v", name, v)
				}
			}
			if v, _ := content.Properties.Lookup("old"); v != value.OfInt(1) {
				c.Error("what the sender wrote has changed")
			}
		}
	}
	run(t, cases)
}

func TestDeliveryCount(t *testing.T) {
	text := func(n int) string { return fmt.Sprintf("Message could not be consumed after %d delivery attempts.", n) }
	run(t, rules{
		"DC-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.equal(d.Message.DeliveryCount, uint32(0))
			c.abandon(d)
			c.equal(c.receive("q").Message.DeliveryCount, uint32(1))
		},
		"DC-4": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 2})
			c.sends("q", "m")
			c.abandon(c.receive("q"))
			c.wantCounts("q", engine.Counts{Active: 1})
			c.abandon(c.receive("q"))
			r := c.wantDead("q", "MaxDeliveryCountExceeded", text(2))
			c.equal(r.Message.DeliveryCount, uint32(2))
			c.nothing("q")
		},
		"DC-4 lock expiry": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 2})
			c.sends("q", "m")
			c.receive("q")
			c.at(minute)
			c.receive("q")
			c.at(2*minute - ms)
			c.wantCounts("q", engine.Counts{Locked: 1})
			c.at(2 * minute)
			c.nothing("q")
			c.wantDead("q", "MaxDeliveryCountExceeded", text(2))
		},
		"DC-4 by default": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			for range 9 {
				c.abandon(c.receive("q"))
			}
			c.wantCounts("q", engine.Counts{Active: 1})
			c.abandon(c.receive("q"))
			c.wantDead("q", "MaxDeliveryCountExceeded", text(10))
		},
		"DC-5 abandon": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "m")
			c.abandon(c.receive("q"))
			c.wantDead("q", "MaxDeliveryCountExceeded", text(1))
		},
		"DC-5 lock expiry": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "m")
			c.receive("q")
			c.at(minute)
			c.nothing("q")
			c.wantDead("q", "MaxDeliveryCountExceeded", text(1))
		},
		"DC-5 defer": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "m")
			c.setAside(c.receive("q"))
			c.wantDead("q", "MaxDeliveryCountExceeded", text(1))
		},
		"DC-6": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "m")
			c.abandon(c.receive("q"))
			for range 20 {
				c.abandon(c.receive("q/$DeadLetterQueue"))
			}
			c.receive("q/$DeadLetterQueue")
			c.pass(minute)
			d := c.receive("q/$DeadLetterQueue")
			c.equal(d.Message.DeliveryCount, uint32(1)) // as when it died
		},
		"DC-7": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 3})
			c.sends("q", "m")
			c.abandon(c.receive("q"))
			c.restart()
			c.abandon(c.receive("q"))
			c.restart()
			d := c.receive("q")
			c.equal(d.Message.DeliveryCount, uint32(2))
			c.restart()
			c.abandon(d)
			c.wantDead("q", "MaxDeliveryCountExceeded", text(3))
		},
		"DC-8": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			c.abandon(c.receive("q"))
			c.equal(c.receive("q").Content.MessageID(), "a")
		},
		"SETL-4": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 2})
			c.sends("q", "m")
			for range 20 {
				c.release(c.receive("q"))
			}
			c.wantCounts("q", engine.Counts{Active: 1})
		},
	})
}

// What is configured but not built answers "not implemented" (501), and says
// what it is.
func TestNotActiveYet(t *testing.T) {
	receive := func(c *clocked, p engine.Path) error {
		return c.ns.Attach(c.now, engine.Link{ID: 1, Path: p})
	}
	send := func(c *clocked, p engine.Path) error {
		_, err := c.ns.Send(c.now, p, c.submissions(engine.Content{}), "")
		return err
	}
	for _, tc := range []struct {
		name                string
		cfg                 engine.Config
		sends, takes, deads bool
	}{
		{"RequiresSession", engine.Config{RequiresSession: true}, false, false, true},
		{"RequiresDuplicateDetection", engine.Config{RequiresDuplicateDetection: true}, false, true, true},
		{"ForwardTo", engine.Config{ForwardTo: "other"}, false, false, true},
		{"ForwardDeadLetteredMessagesTo", engine.Config{ForwardDeadLetteredMessagesTo: "other"}, true, true, false},
	} {
		run(t, rules{tc.name: func(c *clocked) {
			c.queue("other", engine.Config{})
			c.queue("q", tc.cfg)
			for _, step := range []struct {
				ok bool
				do func() error
			}{
				{tc.sends, func() error { return send(c, "q") }},
				{tc.takes, func() error { return receive(c, "q") }},
				{tc.deads, func() error { return receive(c, "q/$DeadLetterQueue") }},
			} {
				if step.ok {
					c.must(step.do())
					c.ns.Detach(c.now, 1, engine.ByClient)
					c.step()
					continue
				}
				c.refused(engine.ErrNotImplemented, func() error {
					err := step.do()
					if err == nil || !strings.Contains(err.Error(), tc.name) || !strings.Contains(err.Error(), "not active yet") {
						c.Errorf("it says %v", err)
					}
					return err
				})
			}
			c.equal(fmt.Sprint(c.state("q").NotActiveYet), "["+tc.name+"]")
		}})
	}
	for name, r := range map[string]engine.Rule{
		"a false filter":       {Filter: engine.Filter{Kind: engine.FalseFilter}},
		"an SQL filter":        {Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a = 1"}},
		"a correlation filter": {Filter: engine.Filter{Kind: engine.CorrelationFilter, Text: `{"To":"x"}`}},
		"an action":            {Action: "SET a = 1"},
	} {
		run(t, rules{name: func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "before")
			r.Name = "r"
			c.must(c.ns.AddRule(c.now, s, r, ""))
			c.step()
			c.refused(engine.ErrNotImplemented, func() error { return send(c, "t") })
			c.equal(c.receive(s).Content.MessageID(), "before") // receiving does not depend on it
			c.equal(fmt.Sprint(c.state(s).NotActiveYet), "[rule r]")
			c.must(c.ns.RemoveRule(c.now, s, "R", ""))
			c.step()
			c.sends("t", "after")
		}})
	}
	run(t, rules{"a subscription with sessions": func(c *clocked) {
		c.topic("t", engine.Config{})
		s := c.sub("t", "s", engine.Config{RequiresSession: true})
		c.refused(engine.ErrNotImplemented, func() error { return send(c, "t") })
		if err := receive(c, s); !errors.Is(err, engine.ErrNotImplemented) {
			c.Errorf("receiving: %v", err)
		}
	}})
}

func TestAccessedTimes(t *testing.T) {
	run(t, rules{
		"RT-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.at(second)
			c.sends("q", "m")
			c.receive("q")
			s := c.state("q")
			c.equal(s.CreatedAt, morning)
			c.equal(s.UpdatedAt, morning)
			c.update("q", func(cfg *engine.Config) { cfg.UserMetadata = "x" })
			s = c.state("q")
			c.equal(s.CreatedAt, morning)
			c.equal(s.UpdatedAt, morning.Add(second))
		},
		"RT-2": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.equal(c.state("q").AccessedAt, engine.Instant(0))
			c.at(second)
			c.update("q", func(cfg *engine.Config) { cfg.UserMetadata = "x" })
			_, err := c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			c.equal(c.state("q").AccessedAt, engine.Instant(0))
			c.sends("q", "m")
			c.equal(c.state("q").AccessedAt, c.now)
			c.at(time.Hour)
			c.attach("q", 0)
			c.equal(c.state("q").AccessedAt, c.now)
		},
		"RT-3": func(c *clocked) {
			c.queue("q", engine.Config{})
			var sizes int64
			for _, m := range []engine.Content{{MessageID: "active"}, {MessageID: "dead"}, {MessageID: "scheduled", ScheduledFor: c.now + 1000}} {
				s := c.submissions(m)
				sizes += s[0].Size()
				_, err := c.ns.Send(c.now, "q", s, "")
				c.must(err)
				c.step()
				c.equal(c.state("q").SizeInBytes, sizes)
			}
			c.kill(c.receive("q"), "four", "")
			c.equal(c.state("q").SizeInBytes, sizes+4)
			c.restart()
			c.equal(c.state("q").SizeInBytes, sizes+4)
			c.grab("q/$DeadLetterQueue")
			c.grab("q")
			c.must(c.ns.Cancel(c.now, "q", []engine.Seq{3}, ""))
			c.equal(c.state("q").SizeInBytes, int64(0))
		},
		"RT-4": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "dead", "active")
			c.send("q", engine.Content{ScheduledFor: c.now + 1000})
			c.kill(c.receive("q"), "", "")
			c.equal(c.state("q").Counts.MessageCount(), int64(3))
		},
		"RT-5": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sub("t", "u", engine.Config{})
			c.sends("t", "m")
			c.send("t", engine.Content{ScheduledFor: c.now + 1000})
			c.equal(c.state("t").Subscriptions, 2)
			c.wantCounts("t", engine.Counts{Scheduled: 1})
			c.wantCounts(s, engine.Counts{Active: 1})
		},
		"RT-6, CNT-3": func(c *clocked) { // exact at once, over everything
			c.queue("q", engine.Config{})
			for i := range 5 {
				c.sends("q", "m")
				c.equal(c.state("q").Counts.Active, int64(i+1))
			}
			c.receive("q")
			c.kill(c.receive("q"), "", "")
			c.wantCounts("q", engine.Counts{Active: 3, Locked: 1, DeadLetter: 1})
			total, entities := c.ns.Totals()
			c.equal(total, engine.Counts{Active: 3, Locked: 1, DeadLetter: 1})
			c.equal(entities, 1)
		},
		"CNT-2": func(c *clocked) { // reading counts touches nothing
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(2 * second)
			used := c.state("q").LastUsed
			c.ns.Totals()
			c.ns.States(0)
			c.equal(c.state("q").LastUsed, used)
			c.equal(c.row("q").Message.DeliveryCount, uint32(0))
			c.complete(d)
		},
	})
}

func TestStatus(t *testing.T) {
	with := func(s engine.Status) engine.Config { return engine.Config{Status: s} }
	for _, tc := range []struct {
		rule         string
		status       engine.Status
		sends, takes bool
	}{
		{"STAT-1 Active", engine.StatusActive, true, true},
		{"STAT-1, STAT-2 Disabled", engine.StatusDisabled, false, false},
		{"STAT-2 SendDisabled", engine.StatusSendDisabled, false, true},
		{"STAT-2, STAT-7 ReceiveDisabled", engine.StatusReceiveDisabled, true, false},
	} {
		run(t, rules{tc.rule: func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c", "d")
			a, b := c.receive("q"), c.receive("q")
			deferred := c.setAside(c.receive("q"))
			c.update("q", func(cfg *engine.Config) { cfg.Status = tc.status })
			c.must(c.ns.Touch(c.now, "q", "")) // STAT-5
			check := func(ok bool, word string, step func() error) {
				c.Helper()
				if ok {
					c.must(step())
					c.step()
					return
				}
				c.refused(engine.ErrDisabled, func() error {
					err := step()
					if err == nil || err.Error() != "Messaging entity 'q' is currently disabled for "+word+" operations." {
						c.Errorf("it says %v", err)
					}
					return err
				})
			}
			check(tc.sends, "Send", func() error {
				_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{MessageID: "e"}), "")
				return err
			})
			check(tc.takes, "Receive", func() error { return c.ns.Attach(c.now, engine.Link{ID: 90, Path: "q"}) })
			check(tc.takes, "Receive", func() error { _, err := c.ns.Peek(c.now, "q", 1, 1, ""); return err })
			check(tc.takes, "Receive", func() error { _, err := c.ns.BatchDelete(c.now, "q", 1, c.now-1, ""); return err })
			check(tc.takes, "Receive", func() error {
				_, err := c.ns.Fetch(c.now, "q", []engine.Seq{deferred}, engine.PeekLock, "")
				return err
			})
			check(tc.takes, "Receive", func() error { _, err := c.ns.Renew(c.now, b.Token(), "", ""); return err })
			check(tc.takes, "Receive", func() error { return c.ns.Settle(c.now, engine.Settlement{Token: a.Token()}) })
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.complete(b)
		}})
	}
	run(t, rules{
		"STAT-2 link": func(c *clocked) { // an open receiver is ended
			c.queue("q", engine.Config{})
			c.attach("q", 1)
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusSendDisabled })
			c.equal(len(c.ended), 0)
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusReceiveDisabled })
			if len(c.ended) != 1 || !errors.Is(c.ended[0].Err, engine.ErrDisabled) {
				c.Errorf("ended are %+v", c.ended)
			}
			c.sends("q", "m")
			c.wantCounts("q", engine.Counts{Active: 1})
		},
		"STAT-3": func(c *clocked) { // a disabled subscription still collects
			for _, s := range []engine.Status{engine.StatusDisabled, engine.StatusReceiveDisabled} {
				c.topic("t", engine.Config{})
				p := c.sub("t", "s", with(s))
				c.sends("t", "m")
				c.refused(engine.ErrDisabled, func() error { return c.ns.Attach(c.now, engine.Link{ID: 90, Path: p}) })
				c.update(p, func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
				c.equal(c.receive(p).Content.MessageID(), "m")
				c.remove("t")
			}
		},
		"STAT-4": func(c *clocked) {
			c.topic("t", engine.Config{})
			p := c.sub("t", "s", engine.Config{})
			c.sends("t", "m")
			c.update("t", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.refused(engine.ErrDisabled, func() error { _, err := c.ns.Send(c.now, "t", c.submissions(engine.Content{}), ""); return err })
			c.complete(c.receive(p))
		},
		"STAT-5": func(c *clocked) {
			c.queue("q", with(engine.StatusDisabled))
			c.equal(c.state("q").Config.Status, engine.StatusDisabled)
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.remove("q")
		},
		"STAT-6": func(c *clocked) { // time goes on where nobody may send or receive
			c.topic("t", engine.Config{})
			p := c.sub("t", "s", keeping)
			c.send("t", engine.Content{MessageID: "live", ScheduledFor: morning.Add(second)})
			c.send("t", engine.Content{MessageID: "short", TTL: second})
			c.update("t", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.update(p, func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			c.at(second)
			c.sweep()
			c.wantCounts(p, engine.Counts{Active: 1, DeadLetter: 1})
			c.update(p, func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.equal(c.receive(p).Content.MessageID(), "live")
		},
		"STAT-8": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			seq := c.send("q", engine.Content{ScheduledFor: c.now + 1000})
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusSendDisabled })
			c.must(c.ns.Cancel(c.now, "q", []engine.Seq{seq}, ""))
			rows, err := c.ns.Peek(c.now, "q", 1, 10, "")
			c.must(err)
			c.equal(len(rows), 1)
			c.complete(c.receive("q"))
		},
		"STAT-9": func(c *clocked) {
			c.topic("t", engine.Config{})
			p := c.sub("t", "s", engine.Config{})
			for _, disabled := range []engine.Path{"t", p} {
				c.update(disabled, func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
				c.refused(engine.ErrDisabled, func() error { return c.ns.AddRule(c.now, p, engine.Rule{Name: "r"}, "") })
				c.refused(engine.ErrDisabled, func() error { return c.ns.RemoveRule(c.now, p, engine.DefaultRule, "") })
				if disabled == "t" {
					c.sub("t", "u", engine.Config{})
				}
				c.update(disabled, func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			}
			c.must(c.ns.AddRule(c.now, p, engine.Rule{Name: "r"}, ""))
		},
	})
}
