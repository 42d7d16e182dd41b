package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"mayfly/engine"
)

func TestPeeking(t *testing.T) {
	run(t, rules{
		"PEEK-12": func(c *clocked) { // each message once, in order, in any state, without changing anything
			c.queue("q", engine.Config{LockDuration: minute})
			c.sends("q", "m1", "m2", "m3")
			c.setAside(c.receive("q"))
			c.equal(c.receive("q").Content.MessageID(), "m2")
			c.send("q", engine.Content{MessageID: "m4", ScheduledFor: c.now.Add(hour)})
			before := c.state("q").Counts
			l := c.wants(engine.Link{Path: "q", Mode: engine.PeekOnly}, 3)
			c.got(l, "m1 m2 m3")
			c.must(c.ns.Credit(c.now, l, 3))
			c.step()
			c.got(l, "m1 m2 m3 m4")
			c.sends("q", "m5")
			c.got(l, "m1 m2 m3 m4 m5")
			before.Active++
			c.wantCounts("q", before)
			for _, d := range c.inbox {
				if d.Link == l && (!d.Peeked || d.Deleted) {
					c.Errorf("%s was delivered as if it were received", d.Content.MessageID())
				}
			}
		},
		"PEEK-12 drained": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m1")
			l := c.wants(engine.Link{Path: "q", Mode: engine.PeekOnly}, 0)
			c.must(c.ns.Credit(c.now, l, 3))
			c.equal(c.ns.Drain(c.now, l), false)
			c.step()
			c.equal(c.ns.Drain(c.now, l), true)
			c.got(l, "m1")
			c.sends("q", "m2")
			c.got(l, "m1")
		},
		"PEEK-12 beside receivers": func(c *clocked) { // browsing takes no messages from receivers, nor receivers from it
			c.queue("q", engine.Config{})
			l := c.wants(engine.Link{Path: "q", Mode: engine.PeekOnly}, 10)
			all := c.attach("q", 10)
			c.sends("q", "m1", "m2")
			c.got(l, "m1 m2")
			c.got(all, "m1 m2")
		},
		"PEEK-12 selected": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "us1", "eu1", "us2", "eu2")
			l := c.wants(engine.Link{Path: "q", Mode: engine.PeekOnly, Selector: of("eu", nil)}, 10)
			c.got(l, "eu1 eu2")
			c.equal(c.ns.Drain(c.now, l), true)
		},
		"PEEK-12, PEEK-5": func(c *clocked) { // the messages of one session or of all; browsing locks no session, and a locked session can be browsed
			c.queue("q", engine.Config{RequiresSession: true, LockDuration: minute})
			for _, s := range []string{"a", "b", "a"} {
				c.send("q", engine.Content{MessageID: s, SessionID: s})
			}
			named := engine.SessionRequest{Want: engine.NamedSession, ID: "a"}
			c.wants(engine.Link{Path: "q", Session: named}, 0)
			one := c.wants(engine.Link{Path: "q", Mode: engine.PeekOnly, Session: named}, 10)
			all := c.wants(engine.Link{Path: "q", Mode: engine.PeekOnly}, 10)
			none := c.wants(engine.Link{Path: "q", Mode: engine.PeekOnly, Session: engine.SessionRequest{Want: engine.NamedSession, ID: "none"}}, 10)
			c.got(one, "a a")
			c.got(all, "a b a")
			c.got(none, "")
			c.send("q", engine.Content{MessageID: "late", SessionID: "none"})
			c.got(none, "late")
			c.refused(engine.ErrNotImplemented, func() error {
				return c.ns.Attach(c.now, engine.Link{ID: 99, Path: "q", Mode: engine.PeekOnly, Session: engine.SessionRequest{Want: engine.NextSession}})
			})
		},
		"PEEK-12 without sessions": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.refused(engine.ErrNotAllowed, func() error {
				return c.ns.Attach(c.now, engine.Link{ID: 99, Path: "q", Mode: engine.PeekOnly, Session: engine.SessionRequest{Want: engine.NamedSession, ID: "a"}})
			})
		},
	}, asked, swept)
}

// PEEK-12: after a rollback a delivery is repeated. A new message with the number of one that a
// selector skipped before the rollback is delivered too.
func TestPeekingRolledBack(t *testing.T) {
	for name, refused := range map[string][]engine.Content{
		"shown":       {{MessageID: "eu1"}},
		"passed over": {{MessageID: "us1"}, {MessageID: "us2"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, asked)
			c.queue("q", engine.Config{})
			l := c.wants(engine.Link{Path: "q", Mode: engine.PeekOnly, Selector: of("eu", nil)}, 2)
			c.ns.Match(c.now)
			_, err := c.ns.Send(c.now, "q", c.submissions(refused...), "")
			c.must(err)
			c.ns.Match(c.now)
			c.ns.Rollback()
			c.must(c.ns.Check())
			c.sends("q", "eu2")
			c.equal(fmt.Sprint(c.delivered(l)), "[eu2]")
		})
	}
}

// PEEK-12: browsers take turns with each other and with receivers. At a subqueue with more
// messages than a step may deliver, one step serves all of them.
func TestPeekingTakesTurns(t *testing.T) {
	const messages, browsers = 5_000, 3
	c := newClocked(t, asked)
	c.between = 1 << 30
	c.limit(func(l *engine.Limits) { l.BatchSize = 1 << 30 })
	c.queue("q", engine.Config{})
	_, err := c.trySend("q", slices.Repeat([]engine.Content{{MessageID: "m"}}, messages)...)
	c.must(err)
	credit := func(l engine.Link) engine.LinkID {
		c.links++
		l.ID, l.Path = c.links, "q"
		c.must(c.ns.Attach(c.now, l))
		c.must(c.ns.Credit(c.now, l.ID, messages))
		return l.ID
	}
	var all []engine.LinkID
	for range browsers {
		all = append(all, credit(engine.Link{Mode: engine.PeekOnly}))
	}
	receiver := credit(engine.Link{})
	got := map[engine.LinkID]int{}
	for range browsers {
		c.step()
	}
	for _, d := range c.inbox {
		got[d.Link]++
	}
	if got[receiver] != messages {
		t.Errorf("the receiver got %d messages", got[receiver])
	}
	for _, l := range all {
		if got[l] == 0 {
			t.Errorf("a browser got nothing in %d steps: %v", browsers, got)
		}
	}
}

// PEEK-12: browsers of a subqueue get at most half of the deliveries that remain in a step, so that
// its receivers get the others, even if other subqueues have used most of the step.
func TestPeekingLeavesHalf(t *testing.T) {
	const messages = 1_000
	c := newClocked(t, asked)
	c.between = 1 << 30
	c.limit(func(l *engine.Limits) { l.BatchSize = 1 << 30 })
	attach := func(to engine.Path, mode engine.Mode) engine.LinkID {
		c.links++
		c.must(c.ns.Attach(c.now, engine.Link{ID: c.links, Path: to, Mode: mode}))
		c.must(c.ns.Credit(c.now, c.links, messages))
		return c.links
	}
	paths := []engine.Path{"a", "b", "c", "d", "e", "f"}
	for _, p := range paths {
		c.queue(p, engine.Config{})
		_, err := c.trySend(p, slices.Repeat([]engine.Content{{MessageID: "m"}}, messages)...)
		c.must(err)
	}
	c.step()
	receivers := map[engine.LinkID]bool{}
	for _, p := range paths {
		attach(p, engine.PeekOnly)
		receivers[attach(p, engine.PeekLock)] = true
	}
	c.inbox = nil
	c.step()
	shown, received := 0, 0
	last := c.inbox[len(c.inbox)-1].Path
	for _, d := range c.inbox {
		switch {
		case d.Path != last:
		case receivers[d.Link]:
			received++
		default:
			shown++
		}
	}
	if shown == 0 || received == 0 || shown-received > 1 {
		t.Errorf("of %d deliveries, the last subqueue %s has %d to browsers and %d to receivers", len(c.inbox), last, shown, received)
	}
}
