package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"mayfly/engine"
)

func TestSessions(t *testing.T) {
	run(t, rules{
		"SES-1": func(c *clocked) {
			c.queue("q", sessionful)
			long := strings.Repeat("ü", 128)
			c.say("q", long, "a")
			c.say("q", "x", "b")
			_, err := engine.Submit(engine.Content{SessionID: long + "x"}, nil, 0, c.keys.Next(), c.limits)
			c.refused(engine.ErrArgument, func() error { return err })
			c.equal(c.take(c.hold("q", long)).Content.MessageID(), "a")
			c.refused(engine.ErrArgument, func() error { _, err := c.tryHold("q", long+"x"); return err })
			c.hold("q", strings.Repeat("y", 128)) // no session has to be created
		},
		"MSG-9": func(c *clocked) {
			c.queue("q", sessionful)
			c.wantRefused(engine.ErrNotAllowed, "The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have session support enabled can only receive messages that have the SessionId set to a valid value.", func() error {
				_, err := c.trySend("q", engine.Content{SessionID: "s"}, engine.Content{MessageID: "without"})
				return err
			})
			c.refused(engine.ErrNotAllowed, func() error {
				_, err := c.trySend("q", engine.Content{ScheduledFor: c.now + 1000})
				return err
			})
			c.say("q", "s", "with")
			c.wantIDs("q", "with")
		},
		"MSG-10": func(c *clocked) {
			c.topic("t", engine.Config{})
			s, plain := c.sub("t", "s", sessionful), c.sub("t", "plain", engine.Config{})
			c.sends("t", "without")
			c.say("t", "x", "with")
			c.wantDead(s, "Session ID is null.", "Session enabled entity doesn't allow a message whose session identifier is null.")
			c.wantIDs(s, "with")
			c.wantIDs(plain, "without", "with")
			c.equal(c.row(s.DeadLetter()).Message.Seq, engine.Seq(1))
			c.equal(c.row(s.DeadLetter()).Message.DeliveryCount, uint32(0))
			c.equal(c.take(c.hold(s, "x")).Message.Seq, engine.Seq(2))
			c.equal(len(c.sessionIDs(s, 0, 0, 10)), 1)
			// A scheduled message gets into its session when it is due.
			c.send("t", engine.Content{MessageID: "later", ScheduledFor: c.now.Add(second)})
			c.pass(second)
			c.sweep()
			c.wantIDs(s.DeadLetter(), "without", "later")
		},
		"SES-2 named": func(c *clocked) {
			c.queue("q", sessionful)
			l := c.hold("q", "nobody knows it")
			c.empty(l)
			c.say("q", "nobody knows it", "m")
			c.equal(c.take(l).Content.MessageID(), "m")
			c.equal(c.about("q", "nobody knows it").Lock.By, "receiver")
			c.say("q", "a", "1")
			c.say("q", "b", "2") // not the oldest message of the queue
			c.equal(c.take(c.hold("q", "b")).Content.MessageID(), "2")
		},
		"SES-2 next": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "second", "1")
			c.say("q", "first", "2")
			c.say("q", "second", "3")
			l, id := c.next("q")
			c.equal(id, "second") // in the order in which the sessions became available
			c.equal(c.take(l).Content.MessageID(), "1")
			_, id = c.next("q")
			c.equal(id, "first")
			_, id = c.next("q")
			c.equal(id, "")
			c.lose(l, engine.DetachedByClient)
			_, id = c.next("q")
			c.equal(id, "second")
		},
		"SES-2 given back": func(c *clocked) { // a session that is given back goes to the end of the order
			c.queue("q", sessionful)
			c.say("q", "a", "1")
			c.say("q", "b", "2")
			c.say("q", "c", "3")
			l, id := c.next("q")
			c.equal(id, "a")
			c.lose(l, engine.DetachedByClient)
			for _, want := range []string{"b", "c", "a", ""} {
				_, id = c.next("q")
				c.equal(id, want)
			}
		},
		"SES-3": func(c *clocked) {
			c.queue("q", sessionful)
			a, b := c.wait("q"), c.wait("q")
			c.pass(hour)
			_, ok := c.granted(a)
			c.equal(ok, false)
			c.say("q", "s", "m")
			got, ok := c.granted(a) // the receiver that has waited longest
			c.equal(ok, true)
			c.equal(got, engine.SessionAccepted{Link: a, Path: "q", ID: "s", LockedUntil: c.now.Add(minute)})
			_, ok = c.granted(b)
			c.equal(ok, false)
			c.lose(b, engine.DetachedByClient) // the receiver gives up waiting
			c.say("q", "t", "m")
			c.equal(c.about("q", "t").LockedUntil, engine.Instant(0))
			_, id := c.next("q")
			c.equal(id, "t")
			_, id = c.next("q") // a receiver that does not wait gets ErrTimeout at once
			c.equal(id, "")
		},
		"SES-4": func(c *clocked) {
			c.queue("q", sessionful)
			l := c.hold("q", "s")
			const text = "The requested session 's' cannot be accepted. It may be locked by another receiver."
			again := func() error { _, err := c.tryHold("q", "s"); return err }
			c.wantRefused(engine.ErrSessionLocked, text, again)
			c.hold("q", "S") // case matters
			c.pass(minute - ms)
			c.wantRefused(engine.ErrSessionLocked, text, again)
			c.pass(ms)
			c.hold("q", "s")
			c.wantEnded(l)
		},
		"SES-8": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "a", "a1")
			c.say("q", "b", "b1")
			c.say("q", "a", "a2", "a3")
			c.say("q", "b", "b2")
			a, b := c.hold("q", "a"), c.hold("q", "b")
			c.must(c.ns.Credit(c.now, a, 2))
			c.must(c.ns.Credit(c.now, b, 5))
			c.step()
			c.equal(fmt.Sprint(c.delivered(a)), "[a1 a2]")
			c.equal(fmt.Sprint(c.delivered(b)), "[b1 b2]")
			c.equal(c.about("q", "a").Locked, int64(2))
			c.say("q", "b", "b3")
			c.say("q", "c", "c1")
			c.equal(fmt.Sprint(c.delivered(b)), "[b1 b2 b3]")
			c.wantCounts("q", engine.Counts{Active: 2, Locked: 5})
		},
		"SES-8 in turn": func(c *clocked) { // the holders of different sessions get one message each in turn
			c.queue("q", sessionful)
			c.say("q", "a", "a1", "a2")
			c.say("q", "b", "b1", "b2")
			for _, l := range []engine.LinkID{c.hold("q", "a"), c.hold("q", "b")} {
				c.must(c.ns.Credit(c.now, l, 2))
			}
			c.step()
			var order []string
			for _, d := range c.inbox {
				order = append(order, d.Content.MessageID())
			}
			c.equal(fmt.Sprint(order), "[a1 b1 a2 b2]")
		},
		"SEQ-10": func(c *clocked) {
			c.queue("q", sessionful)
			for _, id := range []string{"a", "b", "a", "b", "a"} {
				c.say("q", id, id)
			}
			a, b := c.hold("q", "a"), c.hold("q", "b")
			for _, want := range []engine.Seq{1, 3, 5} {
				c.equal(c.take(a).Message.Seq, want)
			}
			for _, want := range []engine.Seq{2, 4} {
				c.equal(c.take(b).Message.Seq, want)
			}
		},
		"SES-9": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2")
			l := c.hold("q", "s")
			d := c.take(l)
			c.abandon(d)
			again := c.take(l)
			c.equal(again.Content.MessageID(), "m1")
			c.equal(again.Message.DeliveryCount, uint32(1))
			c.equal(c.take(l).Content.MessageID(), "m2")
		},
		"SES-10": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m1", "m2")
			l := c.hold("q", "s")
			d, dead := c.take(l), c.take(l)
			c.complete(d)
			settle := func(d engine.Delivery, at engine.Path) error {
				err := c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Path: at})
				c.step()
				return err
			}
			c.wantSessionLost(settle(d, "Q")) // the client names the subqueue, because the message does not exist any more
			c.wantLockLost(settle(d, ""))
			c.kill(dead, "", "")
			c.wantSessionLost(settle(dead, "q"))
			// Without sessions, the error is of the message's lock.
			c.queue("plain", engine.Config{})
			c.sends("plain", "m")
			d = c.receive("plain")
			c.complete(d)
			c.wantLockLost(settle(d, "plain"))
			d = c.receive("q/$DeadLetterQueue")
			c.complete(d)
			c.wantLockLost(settle(d, "q/$DeadLetterQueue"))
		},
		"SES-13": func(c *clocked) {
			c.queue("q", sessionful)
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", sessionful)
			for _, p := range []engine.Path{"q", s} {
				c.wantRefused(engine.ErrNotAllowed, "It is not possible for an entity that requires sessions to create a non-sessionful message receiver.", func() error {
					_, _, err := c.tryReceive(p, engine.PeekLock)
					return err
				})
			}
		},
		"SES-14": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.queue("s", sessionful)
			for _, p := range []engine.Path{"q", "s/$DeadLetterQueue"} {
				for _, want := range []engine.SessionRequest{next, named("s"), named("")} {
					c.wantRefused(engine.ErrNotAllowed, "A sessionful message receiver cannot be created on an entity that does not require sessions. Ensure RequiresSession is set to true when creating a Queue or Subscription to enable sessionful behavior.", func() error {
						_, err := c.attachSession(p, want, engine.Link{})
						return err
					})
				}
			}
		},
		"SES-15": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.say("q", "s", "m")
			d := c.receive("q")
			c.equal(d.Content.SessionID(), "s")
			c.equal(c.state("q").Sessions, engine.SessionCounts{})
			c.abandon(d)
			c.equal(c.receive("q").Content.MessageID(), "m")
		},
		"SES-17": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "a", "1")
			c.say("q", "b", "2")
			a, id := c.next("q")
			c.equal(id, "a")
			c.complete(c.take(a))
			c.pass(minute - ms) // the session has long been empty, and is still locked
			c.say("q", "a", "3")
			_, id = c.next("q")
			c.equal(id, "b")
			_, id = c.next("q")
			c.equal(id, "")
			c.equal(c.take(a).Content.MessageID(), "3")
		},
		"SES-19": func(c *clocked) {
			c.queue("requests", engine.Config{})
			c.queue("replies", sessionful)
			mine, yours := c.hold("replies", "me"), c.hold("replies", "you")
			for _, id := range []string{"me", "you"} {
				c.send("requests", engine.Content{MessageID: "from " + id, ReplyTo: "replies", ReplyToSessionID: id})
			}
			for range 2 {
				d := c.receive("requests")
				asked, err := d.Content.Content()
				c.must(err)
				c.say(engine.Path(asked.ReplyTo), asked.ReplyToSessionID, "to "+asked.ReplyToSessionID)
				c.complete(d)
			}
			c.equal(c.take(yours).Content.MessageID(), "to you")
			c.equal(c.take(mine).Content.MessageID(), "to me")
			c.empty(mine)
		},
		"DLQ-7": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "s", "m")
			c.kill(c.take(c.hold("q", "s")), "why", "")
			d := c.receive("q/$DeadLetterQueue")
			c.equal(d.Content.SessionID(), "s")
			c.equal(d.Message.LockedUntil, c.now.Add(minute))
			c.complete(d)
		},
		"PEEK-5": func(c *clocked) {
			c.queue("q", sessionful)
			for _, id := range []string{"a", "b", "a", "b", "a"} {
				c.say("q", id, id)
			}
			c.take(c.hold("q", "b"))
			peek := func(id string, from engine.Seq, n int) (seqs []engine.Seq) {
				rows, err := c.ns.PeekSession(c.now, "q", id, from, n, "")
				c.must(err)
				for _, r := range rows {
					seqs = append(seqs, r.Message.Seq)
				}
				return seqs
			}
			c.equal(fmt.Sprint(peek("a", 0, 10)), "[1 3 5]")
			c.equal(fmt.Sprint(peek("a", 2, 1)), "[3]")
			c.equal(fmt.Sprint(peek("b", 0, 10)), "[2 4]")
			c.equal(fmt.Sprint(peek("nobody", 0, 10)), "[]")
			all, err := c.ns.Peek(c.now, "q", 0, 10, "") // reading all messages needs no session's lock
			c.must(err)
			c.equal(len(all), 5)
			c.refused(engine.ErrOutOfRange, func() error { _, err := c.ns.PeekSession(c.now, "q", "a", 0, 0, ""); return err })
			c.queue("plain", engine.Config{})
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.PeekSession(c.now, "plain", "a", 0, 1, ""); return err })
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusReceiveDisabled })
			c.refused(engine.ErrDisabled, func() error { _, err := c.ns.PeekSession(c.now, "q", "a", 0, 1, ""); return err })
		},
		"LOCK-14": func(c *clocked) { // after a drain, a receiver gets no more messages
			c.queue("q", sessionful)
			c.queue("plain", engine.Config{})
			l, p := c.hold("q", "s"), c.attach("plain", 2)
			c.must(c.ns.Credit(c.now, l, 2))
			c.say("q", "s", "m1")
			c.sends("plain", "p1")
			c.drain(l)
			c.drain(p)
			c.say("q", "s", "m2")
			c.sends("plain", "p2")
			c.equal(fmt.Sprint(c.delivered(l), c.delivered(p)), "[m1] [p1]")
			c.must(c.ns.Credit(c.now, l, 1))
			c.must(c.ns.Credit(c.now, p, 1))
			c.equal(c.ns.Drain(c.now, l), false) // there is a message that it has not got
			c.equal(c.ns.Drain(c.now, p), false)
			c.step()
			c.equal(fmt.Sprint(c.delivered(l), c.delivered(p)), "[m1 m2] [p1 p2]")
			c.equal(c.ns.Drain(c.now, 999), true)
		},
	}, asked, swept)
}

// sessionIDs returns the ids that a client gets when it lists the sessions of p.
func (c *clocked) sessionIDs(p engine.Path, since engine.Instant, skip, top int) []string {
	c.Helper()
	l := engine.SessionList{Path: p, ChangedSince: since, Skip: skip, Top: top}
	for slices := 0; !l.Done; slices++ {
		c.must(c.ns.ListSessions(c.now, &l, 2))
		c.step()
		if slices > 2 {
			c.Fatal("the list does not end")
		}
	}
	return l.IDs
}
