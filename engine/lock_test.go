package engine_test

import (
	"fmt"
	"strings"
	"testing"

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
			c.equal(a.Message.LockedUntil, morning.Add(minute))
			c.equal(b.Message.LockedUntil, engine.Instant(0))
			c.wantCounts("q", engine.Counts{Locked: 1})
			c.complete(a)
			c.wantCounts("q", engine.Counts{})
		},
		"LOCK-2": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.grab("q")
			c.equal(len(c.store.messages), 0) // removed before it is delivered
			c.wantLockLost(c.settle(d, engine.Complete))
			_, err := c.renew(d)
			c.wantLockLost(err)
		},
		"LOCK-2 killed": func(c *clocked) { // a message on its way to a client that crashes is lost
			c.queue("q", keeping)
			c.links++
			c.must(c.ns.Attach(c.now, engine.Link{ID: c.links, Path: "q", Mode: engine.ReceiveAndDelete}))
			c.must(c.ns.Credit(c.now, c.links, 1))
			c.sends("q", "m")
			c.equal(len(c.inbox) == 1 && c.inbox[0].Deleted, true)
			c.ns.Detach(c.now, c.links, engine.DetachedLost)
			c.step()
			c.restart()
			c.at(hour)
			c.nothing("q")
			c.wantCounts("q", engine.Counts{})
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
		"LOCK-4 prefetched": func(c *clocked) { // the time in a client's buffer counts
			c.queue("q", engine.Config{LockDuration: 5 * second})
			link := c.attach("q", 2)
			c.at(second)
			c.sends("q", "a", "b")
			c.equal(len(c.delivered(link)), 2)
			c.at(6*second - ms)
			c.complete(c.inbox[0])
			c.at(6 * second)
			c.wantLockLost(c.settle(c.inbox[1], engine.Complete))
		},
		"LOCK-5": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			for range 100 {
				c.pass(50 * second)
				until, err := c.renew(d)
				c.must(err)
				c.equal(until, c.now.Add(minute))
				c.equal(c.row("q").Message.LockedUntil, until)
				c.equal(c.row("q").Message.DeliveryCount, uint32(0))
			}
			c.pass(minute - ms)
			c.nothing("q")
			_, err := c.renew(d)
			c.must(err)
			c.pass(minute)
			_, err = c.renew(d)
			c.wantLockLost(err)
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
		"LOCK-8": func(c *clocked) { // the lock outlives the link; a token is accepted from any client
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			for _, how := range []engine.DetachReason{engine.DetachedByClient, engine.DetachedLost} {
				c.detach(c.attach("q", 1), how)
			}
			c.nothing("q")
			c.complete(c.inbox[0])
			c.at(minute - ms)
			c.nothing("q")
			c.at(minute)
			c.equal(c.receive("q").Message.DeliveryCount, uint32(1))
		},
		"LOCK-8 elsewhere": func(c *clocked) { // a token is valid only for its own queue
			c.queue("q", engine.Config{})
			c.queue("other", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.wantLockLost(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Path: "other"}))
			_, err := c.ns.RenewLock(c.now, d.Token(), "other", "")
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
			c.sends("q", "a", "b", "c", "d", "e", "f")
			link := c.attach("q", 5)
			c.complete(c.inbox[0])
			c.detach(link, engine.DetachedByClient)
			c.wantCounts("q", engine.Counts{Active: 1, Locked: 4})
			c.at(minute - ms)
			f := c.receive("q")
			c.equal(f.Content.MessageID(), "f")
			c.nothing("q")
			c.at(minute)
			for _, id := range []string{"b", "c", "d", "e"} {
				d := c.receive("q")
				c.equal(d.Content.MessageID(), id)
				c.equal(d.Message.DeliveryCount, uint32(1))
			}
			c.nothing("q")
			c.complete(f)
		},
		"DEC-12": func(c *clocked) { // a stored lock survives
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
		"rotation": func(c *clocked) { // one message to each receiver in turn
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
			c.ns.Detach(c.now, 99, engine.DetachedByClient)
			c.refused(engine.ErrNotFound, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1, Path: "nowhere"}) })
			c.refused(engine.ErrNotFound, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1, Path: "nowhere/$DeadLetterQueue"}) })
			c.topic("t", engine.Config{})
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1, Path: "t"}) })
			c.refused(engine.ErrNotFound, func() error { return c.ns.Attach(c.now, engine.Link{ID: 1, Path: "t/$DeadLetterQueue"}) })
		},
	})
}

// TestOutcomes is the table of §5.2, with the effects on the delivery count (§5.3).
func TestOutcomes(t *testing.T) {
	over := func(c *clocked, d engine.Delivery) { c.pass(minute); c.sweep() }
	settle := func(o engine.Outcome) func(*clocked, engine.Delivery) {
		return func(c *clocked, d engine.Delivery) { c.Helper(); c.must(c.settle(d, o)) }
	}
	for _, tc := range []struct {
		name     string
		do       func(*clocked, engine.Delivery)
		deferred bool // the message was deferred before the delivery
		want     engine.Counts
		count    uint32
	}{
		{"§5.2, DC-3 complete", settle(engine.Complete), false, engine.Counts{}, 0},
		{"§5.2, DC-2 abandon", settle(engine.Abandon), false, engine.Counts{Active: 1}, 1},
		{"§5.2, DC-2 defer", settle(engine.Defer), false, engine.Counts{Deferred: 1}, 1},
		{"§5.2, DC-3 dead-letter", settle(engine.DeadLetter), false, engine.Counts{DeadLetter: 1}, 0},
		{"§5.2, DC-3, SETL-4 release", settle(engine.Release), false, engine.Counts{Active: 1}, 0},
		{"§5.2, DC-2 lock expiry", over, false, engine.Counts{Active: 1}, 1},
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
		run(t, rules{tc.name + ", SEQ-3": func(c *clocked) {
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
					c.equal(r.Message.Seq, seq)
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
		"§6.2#4 HeaderSizeExceeded": func(c *clocked) { // properties that exceed their quota
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
		"§6.2#7, §6.2#8 as given": func(c *clocked) { // reason and description may also be empty
			for _, why := range [][2]string{{"amqp:not-found", "no such customer"}, {"Mine", ""}, {"", "because"}, {"", ""}} {
				c.queue("q", engine.Config{})
				c.sends("q", "m")
				c.kill(c.receive("q"), why[0], why[1])
				c.wantDead("q", why[0], why[1])
				c.remove("q")
			}
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
				c.Error("a settlement changed the sender's content")
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
		"DC-4, §6.2#2": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 2})
			c.sends("q", "m")
			c.abandon(c.receive("q"))
			c.pass(ms)
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
			c.wantCounts("q", engine.Counts{DeadLetter: 1})
			c.receive("q/$DeadLetterQueue")
			c.pass(minute)
			d := c.receive("q/$DeadLetterQueue")
			c.equal(d.Message.DeliveryCount, uint32(1)) // as when it was dead-lettered
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
		"DC-7 receive and delete": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "m")
			c.equal(c.grab("q").Message.DeliveryCount, uint32(0))
			c.wantCounts("q", engine.Counts{})
		},
		"DC-8": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			for range 5 { // at the same instant
				d := c.receive("q")
				c.equal(d.Content.MessageID(), "a")
				c.abandon(d)
			}
		},
		"SETL-4": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 2})
			c.sends("q", "m")
			for range 20 {
				c.release(c.receive("q"))
				c.pass(ms)
			}
			c.wantCounts("q", engine.Counts{Active: 1})
			c.equal(c.receive("q").Message.DeliveryCount, uint32(0))
		},
	})
}
