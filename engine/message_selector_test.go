package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
)

// of returns a selector of messages whose id has this prefix, and counts its evaluations in
// looks.
func of(prefix string, looks *int) *engine.MessageSelector {
	return &engine.MessageSelector{Text: prefix, Matches: func(x *engine.Candidate) bool {
		if looks != nil {
			*looks++
		}
		return strings.HasPrefix(x.Content.MessageID, prefix)
	}}
}

// wants attaches the receiver l, which has a selector or browses, and gives it credit.
func (c *clocked) wants(l engine.Link, credit int) engine.LinkID {
	c.Helper()
	c.links++
	c.open++
	l.ID, l.Client = c.links, "receiver"
	c.must(c.ns.Attach(c.now, l))
	if credit > 0 {
		c.must(c.ns.Credit(c.now, l.ID, credit))
	}
	c.step()
	return l.ID
}

func (c *clocked) got(id engine.LinkID, want string) {
	c.Helper()
	c.equal(strings.Join(c.delivered(id), " "), want)
}

// to returns the latest delivery of the message with this MessageId to a link. The test fails if
// there is none.
func (c *clocked) to(id engine.LinkID, message string) engine.Delivery {
	c.Helper()
	for _, d := range slices.Backward(c.inbox) {
		if d.Link == id && d.Content.MessageID() == message {
			return d
		}
	}
	c.Fatalf("link %d did not get %s", id, message)
	return engine.Delivery{}
}

func TestMessageSelector(t *testing.T) {
	run(t, rules{
		"LOCK-16": func(c *clocked) { // only matching messages, in order; the others are neither locked nor withheld from other receivers
			c.queue("q", engine.Config{})
			c.sends("q", "us1", "eu1", "us2", "eu2")
			l := c.wants(engine.Link{Path: "q", Selector: of("eu", nil)}, 10)
			c.got(l, "eu1 eu2")
			c.wantCounts("q", engine.Counts{Active: 2, Locked: 2})
			c.equal(c.receive("q").Content.MessageID(), "us1")
			c.sends("q", "us3", "eu3")
			c.got(l, "eu1 eu2 eu3")
			c.equal(c.receive("q").Content.MessageID(), "us2")
		},
		"LOCK-16 credit": func(c *clocked) { // only matching messages use credit
			c.queue("q", engine.Config{})
			c.sends("q", "us1", "eu1", "us2", "eu2", "eu3")
			l := c.wants(engine.Link{Path: "q", Selector: of("eu", nil)}, 2)
			c.got(l, "eu1 eu2")
			c.equal(c.receive("q").Content.MessageID(), "us1")
			c.must(c.ns.Credit(c.now, l, 1))
			c.step()
			c.got(l, "eu1 eu2 eu3")
		},
		"LOCK-16 deleting": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "us1", "eu1")
			l := c.wants(engine.Link{Path: "q", Mode: engine.ReceiveAndDelete, Selector: of("eu", nil)}, 2)
			c.got(l, "eu1")
			c.wantCounts("q", engine.Counts{Active: 1})
		},
		"LOCK-16 fairness": func(c *clocked) { // a receiver without a selector takes turns with one that has a selector
			c.queue("q", engine.Config{})
			all := c.attach("q", 4)
			eu := c.wants(engine.Link{Path: "q", Selector: of("eu", nil)}, 4)
			c.sends("q", "eu1", "eu2", "eu3", "eu4", "us1", "us2")
			c.got(all, "eu1 eu3 us1 us2")
			c.got(eu, "eu2 eu4")
		},
		"LOCK-16 behind one that matches nothing": func(c *clocked) {
			c.queue("q", engine.Config{})
			none := c.wants(engine.Link{Path: "q", Selector: of("x", nil)}, 1)
			all := c.attach("q", 2)
			c.sends("q", "eu1", "eu2")
			c.got(none, "")
			c.got(all, "eu1 eu2")
		},
		"LOCK-16 what comes back": func(c *clocked) { // however it is released, a message returns to its old position and to receivers whose selector matches
			c.queue("q", engine.Config{LockDuration: minute})
			c.sends("q", "eu1", "eu2", "us1", "eu3")
			l := c.wants(engine.Link{Path: "q", Selector: of("eu", nil)}, 3)
			c.got(l, "eu1 eu2 eu3")
			c.abandon(c.to(l, "eu2"))
			c.release(c.to(l, "eu1"))
			c.must(c.ns.Credit(c.now, l, 3))
			c.step()
			c.got(l, "eu1 eu2 eu3 eu1 eu2")
			us := c.receive("q")
			c.equal(us.Content.MessageID(), "us1")
			c.abandon(us)
			c.pass(minute)
			c.sweep()
			c.got(l, "eu1 eu2 eu3 eu1 eu2 eu1")
		},
		"LOCK-16 what its settlement changes": func(c *clocked) { // a message is evaluated with the properties that its settlement changed
			c.queue("q", engine.Config{})
			c.sends("q", "m1")
			l := c.wants(engine.Link{Path: "q", Selector: &engine.MessageSelector{Text: "again", Matches: func(x *engine.Candidate) bool {
				return x.Message.DeliveryCount > 0
			}}}, 1)
			c.got(l, "")
			c.abandon(c.receive("q"))
			c.got(l, "m1")
		},
		"LOCK-16 expiry": func(c *clocked) { // a message that no selector matches expires as usual
			c.queue("q", engine.Config{DeadLetteringOnMessageExpiration: true})
			c.send("q", engine.Content{MessageID: "us1", TTL: minute})
			c.send("q", engine.Content{MessageID: "eu1", TTL: minute})
			l := c.wants(engine.Link{Path: "q", Selector: of("x", nil)}, 1)
			eu := c.wants(engine.Link{Path: "q", Selector: of("eu", nil)}, 0)
			c.pass(minute)
			c.must(c.ns.Credit(c.now, eu, 1))
			c.step()
			c.sweep()
			c.got(l, "")
			c.got(eu, "")
			c.wantCounts("q", engine.Counts{DeadLetter: 2})
			dead := c.wants(engine.Link{Path: "q/$DeadLetterQueue", Selector: of("eu", nil)}, 2)
			c.got(dead, "eu1")
		},
		"LOCK-16, LOCK-14": func(c *clocked) { // a drain ends when nothing matches
			c.queue("q", engine.Config{})
			c.sends("q", "us1", "us2")
			l := c.wants(engine.Link{Path: "q", Selector: of("eu", nil)}, 5)
			c.equal(c.ns.Drain(c.now, l), true)
			c.must(c.ns.Credit(c.now, l, 5))
			c.equal(c.ns.Drain(c.now, l), true) // all messages were examined
			c.sends("q", "eu1", "us3")
			c.must(c.ns.Credit(c.now, l, 5))
			c.equal(c.ns.Drain(c.now, l), false)
			c.step()
			c.equal(c.ns.Drain(c.now, l), true)
			c.got(l, "eu1")
		},
		"LOCK-16 sessions": func(c *clocked) { // sessions keep their order, so their receivers cannot have selectors
			c.queue("q", engine.Config{RequiresSession: true})
			attach := func(want engine.SessionRequest) func() error {
				return func() error {
					return c.ns.Attach(c.now, engine.Link{ID: 99, Path: "q", Session: want, Selector: of("eu", nil)})
				}
			}
			c.refused(engine.ErrNotImplemented, attach(engine.SessionRequest{Want: engine.NextSession}))
			c.refused(engine.ErrNotImplemented, attach(engine.SessionRequest{Want: engine.NamedSession, ID: "s"}))
		},
	}, asked, swept)
}

// LOCK-16: each selector evaluates a message once, however many receivers share it and however
// long nothing matches. A step evaluates no more messages than it may process.
func TestSelectorCost(t *testing.T) {
	const messages, inStep = 10_000, 1024
	c := newClocked(t, asked)
	c.limit(func(l *engine.Limits) { l.BatchSize = 1 << 30 })
	c.between = messages // checks evaluate selectors too
	c.queue("q", engine.Config{})
	var all []engine.Content
	for i := range messages {
		all = append(all, engine.Content{MessageID: fmt.Sprint("us", i)})
	}
	_, err := c.trySend("q", all...)
	c.must(err)
	looks := 0
	s := of("eu", &looks)
	for range 10 {
		c.links++
		c.must(c.ns.Attach(c.now, engine.Link{ID: c.links, Path: "q", Selector: s}))
		c.must(c.ns.Credit(c.now, c.links, 100))
	}
	turns := 0
	for before := -1; looks != before; turns++ {
		before = looks
		c.ns.Match(c.now)
		if looks-before > inStep {
			t.Fatalf("one step evaluated %d messages", looks-before)
		}
	}
	if looks != messages || turns > messages/inStep+2 {
		t.Errorf("%d looks in %d steps", looks, turns)
	}
	for i := range 100 {
		c.ns.Match(c.now)
		c.must(c.ns.Credit(c.now, c.links, i))
		c.ns.Match(c.now)
	}
	if looks != messages {
		t.Errorf("%d evaluations without a new message", looks)
	}
}

// LOCK-16: in random steps, receivers get exactly the messages that they select, and a receiver
// for which there is a message is never forgotten, which Check tests after each step.
func TestSelectorsAtRandom(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			c := newClocked(t, asked)
			c.queue("q", engine.Config{LockDuration: minute, DefaultMessageTimeToLive: 10 * minute, MaxDeliveryCount: 3})
			wants := map[engine.LinkID]string{}
			var ids []engine.LinkID
			for range 300 {
				switch n := r.IntN(10); {
				case n < 4:
					c.sends("q", fmt.Sprint(string("abc"[r.IntN(3)]), r.IntN(1000)))
				case n < 5 && len(ids) < 8:
					l, text := engine.Link{Path: "q"}, ""
					if r.IntN(4) > 0 {
						text = string("abcd"[r.IntN(4)])
						l.Selector = of(text, nil)
					}
					id := c.wants(l, r.IntN(3))
					wants[id] = text
					ids = append(ids, id)
				case n < 6 && len(ids) > 0:
					i := r.IntN(len(ids))
					c.detach(ids[i], engine.DetachedLost)
					ids = slices.Delete(ids, i, i+1)
				case n < 7 && len(ids) > 0:
					c.must(c.ns.Credit(c.now, ids[r.IntN(len(ids))], r.IntN(3)))
				case n < 8:
					c.now = c.now.Add(minute / 2)
				case len(c.inbox) > 0:
					d := c.inbox[r.IntN(len(c.inbox))]
					_ = c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Path: d.Path, Outcome: []engine.Outcome{engine.Complete, engine.Abandon, engine.Release, engine.Defer}[r.IntN(4)]}) //nolint:errcheck // the lock may have expired
				}
				if r.IntN(5) == 0 { // the store refuses it
					c.ns.Match(c.now)
					c.ns.Rollback()
					c.must(c.ns.Check())
				}
				c.step()
			}
			for _, d := range c.inbox {
				if !strings.HasPrefix(d.Content.MessageID(), wants[d.Link]) {
					t.Errorf("a receiver of %q got %q", wants[d.Link], d.Content.MessageID())
				}
			}
		})
	}
}

// attachMany attaches a receiver with credit for each selector, in one step.
func (c *clocked) attachMany(all ...*engine.MessageSelector) {
	c.Helper()
	for _, s := range all {
		c.links++
		c.must(c.ns.Attach(c.now, engine.Link{ID: c.links, Path: "q", Selector: s}))
		c.must(c.ns.Credit(c.now, c.links, 1))
	}
}

// LOCK-16: receivers without matches cost nothing and end no step early, however many there
// are: each selector evaluates a message once.
func TestSelectorCostOfIdleReceivers(t *testing.T) {
	const links, selectors = 2_000, 1_000
	c := newClocked(t, asked)
	c.between = 1 << 30
	c.queue("q", engine.Config{})
	looks := 0
	for i := range links {
		c.attachMany(of(fmt.Sprint("x", i%selectors, "."), &looks))
	}
	c.step()
	idle := c.ns.NextDue()
	_, err := c.trySend("q", engine.Content{MessageID: "nobody's"})
	c.must(err)
	for range 3 {
		c.ns.Match(c.now)
	}
	if looks != selectors || c.ns.NextDue() != idle {
		t.Errorf("%d evaluations, and the next due time is %d, not %d", looks, c.ns.NextDue(), idle)
	}
	if !c.ns.Drain(c.now, c.links) {
		t.Error("the last receiver is not drained")
	}
	_, err = c.trySend("q", engine.Content{MessageID: fmt.Sprint("x", selectors-1, ".")})
	c.must(err)
	c.must(c.ns.Credit(c.now, c.links, 1))
	c.ns.Match(c.now)
	c.must(c.ns.Check())
	if c.state("q").Counts.Locked != 1 {
		t.Error("the last selector got nothing")
	}
}

// LOCK-16: a message that is released is evaluated in a later step that serves receivers, not
// in the client's step, and only for receivers with credit.
func TestSelectorCostOfReturns(t *testing.T) {
	c := newClocked(t, asked)
	c.between = 1 << 30
	c.queue("q", engine.Config{MaxDeliveryCount: 100})
	c.sends("q", "m1")
	waits, idle := 0, 0
	c.attachMany(of("x", &waits))
	for i := range 500 {
		c.wants(engine.Link{Path: "q", Selector: of(fmt.Sprint("y", i), &idle)}, 0)
	}
	for range 10 {
		d := c.receive("q")
		before := waits
		c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Path: d.Path, Outcome: engine.Abandon}))
		if waits != before {
			t.Fatal("releasing a message evaluated a selector")
		}
		c.step()
	}
	if waits != 11 || idle != 0 {
		t.Errorf("%d and %d looks", waits, idle)
	}
	c.must(c.ns.Check())
}

// LOCK-16: a selector with a backlog gets its messages even if others always have new messages
// to examine.
func TestSelectorsBehind(t *testing.T) {
	c := newClocked(t, asked)
	c.between = 1 << 30
	c.limit(func(l *engine.Limits) { l.BatchSize = 1 << 30 })
	c.queue("q", engine.Config{})
	_, err := c.trySend("q", slices.Repeat([]engine.Content{{MessageID: "us"}}, 1_500)...)
	c.must(err)
	c.sends("q", "eu1")
	for i := range 100 {
		c.attachMany(of(fmt.Sprint("x", i), nil))
	}
	for range 250 {
		c.ns.Match(c.now)
	}
	c.attachMany(of("eu", nil))
	for step := range 20 {
		_, err := c.trySend("q", slices.Repeat([]engine.Content{{MessageID: "us"}}, 20)...)
		c.must(err)
		c.ns.Match(c.now)
		if c.state("q").Counts.Locked == 1 {
			t.Logf("after %d steps", step)
			return
		}
	}
	t.Error("the selector with a backlog got no message in 20 steps")
}
