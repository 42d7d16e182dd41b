package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

const (
	failed = "ForwardingFailed"
	hops   = "MaxTransferHopCountExceeded"
)

// chain creates queues, each of which forwards to the next.
func (c *clocked) chain(paths ...engine.Path) {
	c.Helper()
	for i, p := range slices.Backward(paths) {
		cfg := engine.Config{}
		if i+1 < len(paths) {
			cfg.ForwardTo = string(paths[i+1])
		}
		c.queue(p, cfg)
	}
}

// wantFailed requires one dead letter that could not be forwarded, with a description that
// begins with this text.
func (c *clocked) wantFailed(p engine.Path, description string) {
	c.Helper()
	r := c.row(p.DeadLetter())
	if x := r.Message.Extra; x == nil || x.Reason != failed || !strings.HasPrefix(x.Description, description) {
		c.Fatalf("the dead letter has %+v", x)
	}
}

func TestForwarding(t *testing.T) {
	run(t, rules{
		"FWD-1": func(c *clocked) { // every kind of source to every kind of destination
			c.queue("dest", engine.Config{})
			c.topic("news", engine.Config{})
			in := c.sub("news", "all", engine.Config{})
			c.topic("src", engine.Config{})
			for i, to := range []string{"dest", "news"} {
				q := engine.Path(fmt.Sprint("q", i))
				c.queue(q, engine.Config{ForwardTo: to})
				c.queue(q+"d", engine.Config{ForwardDeadLetteredMessagesTo: to})
				c.sub("src", fmt.Sprint("s", i), engine.Config{ForwardTo: to})
				s := c.sub("src", fmt.Sprint("d", i), engine.Config{ForwardDeadLetteredMessagesTo: to})
				c.sends(q, "queue "+to)
				c.sends(q+"d", "dead letter of a queue "+to)
				c.sends("src", "copy "+fmt.Sprint(i))
				c.kill(c.receive(q+"d"), "bad", "")
				c.kill(c.receive(s), "bad", "")
				for c.state(s).Counts.Active > 0 {
					c.complete(c.receive(s))
				}
				c.sweep()
			}
			count := func(p engine.Path, id string) (n int) {
				for _, r := range c.rows(p) {
					if r.Content.MessageID() == id {
						n++
					}
				}
				return n
			}
			for to, p := range map[string]engine.Path{"dest": "dest", "news": in} {
				c.equal(count(p, "queue "+to), 1)
				c.equal(count(p, "dead letter of a queue "+to), 1)
			}
			c.equal(count("dest", "copy 0"), 2) // one of s0, and the dead letter of d0
			c.equal(count(in, "copy 1"), 2)
			c.equal(count("dest", "copy 1"), 1)
			for _, s := range c.ns.States(0) {
				if s.Path != "dest" && s.Path != in && s.Counts.MessageCount() != s.Counts.Active {
					c.Errorf("%s has %+v", s.Path, s.Counts)
				}
			}
			c.wantCounts("src/Subscriptions/d0", engine.Counts{Active: 1}) // it arrived last and is not dead-lettered
		},
		"FWD-2": func(c *clocked) { // the destination must exist, so a chain is made from its end
			for _, cfg := range []engine.Config{{ForwardTo: "b"}, {ForwardDeadLetteredMessagesTo: "b"}, {ForwardTo: "t/Subscriptions/s"}} {
				c.refused(engine.ErrArgument, func() error {
					_, err := c.ns.Create(c.now, engine.Queue, "a", cfg, "")
					if e, ok := errors.AsType[*engine.PropertyError](err); !ok || e.SubCode != 40401 {
						c.Errorf("the error is %v", err)
					}
					return err
				})
			}
			c.queue("a", engine.Config{})
			c.refused(engine.ErrArgument, func() error { _, err := c.ns.Update(c.now, "a", engine.Config{ForwardTo: "b"}, ""); return err })
			c.queue("b", engine.Config{})
			c.update("a", func(cfg *engine.Config) { cfg.ForwardTo = "B" })
			c.sends("a", "m")
			c.sweep()
			c.wantIDs("b", "m")
		},
		"FWD-3": func(c *clocked) { // a message is in exactly one place, even if the store fails in between
			c.chain("a", "b", "c")
			c.sends("a", "m")
			for hop := range 3 {
				where := []string{}
				for _, p := range []engine.Path{"a", "b", "c"} {
					for range c.rows(p) {
						where = append(where, string(p))
					}
				}
				c.equal(fmt.Sprint(where), fmt.Sprint([]string{[]string{"a", "b", "c"}[hop]}))
				before := c.picture()
				c.ns.Sweep(c.now, 1)
				c.ns.Flush(c.now, true)
				c.ns.Rollback() // the store refuses it
				c.must(c.ns.Check())
				c.equal(fmt.Sprint(before), fmt.Sprint(c.picture()))
				for n := len(c.events); hop < 2 && len(c.events) == n; c.step() {
					c.ns.Sweep(c.now, 1)
					if hard, _ := c.ns.Pending(); !hard && c.ns.Unpublished() > 0 {
						c.Error("a hop is not committed durably")
					}
				}
				c.restart()
			}
			c.equal(len(c.store.messages), 1)
			c.equal(c.grab("c").Content.MessageID(), "m")
			c.equal(len(c.store.messages), 0)
		},
		"FWD-3 to a topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			one, two := c.sub("t", "one", engine.Config{}), c.sub("t", "two", engine.Config{})
			c.queue("q", engine.Config{ForwardTo: "t"})
			c.sends("q", "m")
			before := c.picture()
			c.ns.Sweep(c.now, 1)
			c.ns.Flush(c.now, true)
			c.ns.Rollback()
			c.must(c.ns.Check())
			c.equal(fmt.Sprint(before), fmt.Sprint(c.picture()))
			c.sweep()
			c.restart()
			c.wantIDs("q")
			c.equal(len(c.store.messages), 2)
			c.equal(len(c.store.contents), 1) // the body is dropped with the last copy
			c.grab(one)
			c.grab(two)
			c.step()
			c.equal(len(c.store.messages)+len(c.store.contents)+len(c.store.bodies), 0)
		},
		"FWD-3 duplicates": func(c *clocked) { // the destination detects duplicates, which take no room and no number
			c.limit(func(l *engine.Limits) { l.EntitySize = 300 })
			c.queue("b", engine.Config{RequiresDuplicateDetection: true})
			c.topic("t", engine.Config{RequiresDuplicateDetection: true})
			in := c.sub("t", "s", engine.Config{})
			for to, p := range map[string]engine.Path{"b": "b", "t": in} {
				a := engine.Path("a" + to)
				c.queue(a, engine.Config{ForwardTo: to})
				c.queue("d"+a, engine.Config{ForwardDeadLetteredMessagesTo: to})
				c.sends(a, "x", "x")
				c.sweep()
				c.wantIDs(p, "x")
				c.equal(c.state(engine.Path(to)).Duplicates, uint64(1))
				c.equal(c.state(engine.Path(to)).NextSeq, engine.Seq(2))
				c.big(a, 275)
				c.sweep() // full
				c.wantCounts(a, engine.Counts{})
				n := len(c.events)
				c.sends("d"+a, "x")
				c.kill(c.receive("d"+a), "bad", "")
				c.sweep()
				c.wantIDs(p, "x", "")
				c.wantCounts("d"+a, engine.Counts{})
				var texts []string
				for _, e := range c.events[n:] {
					if e.Kind == engine.EventForwarded || e.Kind == engine.EventDuplicate {
						texts = append(texts, fmt.Sprintf("%v %s %s #%d;", e.Kind, e.Path, e.To, e.Message.Seq))
					}
				}
				c.equal(fmt.Sprint(texts), fmt.Sprintf("[forwarded %s %s #0; duplicate %s  #0;]", ("d"+a).DeadLetter(), to, to))
			}
			c.restart()
			c.step()
			c.equal(len(c.store.messages), 4)
			c.equal(len(c.store.contents), 4)
		},
		"FWD-3, §1.5": func(c *clocked) { // nor does a queue remember more ids than it may; messages without an id do not count
			c.limit(func(l *engine.Limits) { l.DuplicateIDs = 1 })
			c.queue("b", engine.Config{RequiresDuplicateDetection: true})
			c.queue("a", engine.Config{ForwardTo: "b"})
			c.sends("a", "x", "", "y")
			c.sweep()
			c.wantIDs("b", "x", "")
			c.wantFailed("a", "Destination 'b' does not accept the message: 'b' stores 1 MessageIds")
		},
		"FWD-4": func(c *clocked) { // a source that requires sessions forwards like any other: SDKs create them, although the documentation excludes it
			c.queue("q", engine.Config{})
			c.queue("in", sessionful)
			c.topic("t", engine.Config{})
			both := engine.Config{RequiresSession: true, LockDuration: minute, ForwardTo: "in"}
			c.queue("a", both)
			s := c.sub("t", "s", both)
			c.queue("u", sessionful)
			for _, p := range []engine.Path{"a", "t", "u"} {
				c.say(p, "anna", "1 "+string(p), "2 "+string(p))
				c.say(p, "bert", "3 "+string(p))
			}
			l := c.hold("u", "anna")
			locked := c.take(l)
			c.update("u", func(cfg *engine.Config) { cfg.ForwardTo = "q" })
			c.sweep()
			for _, p := range []engine.Path{"a", s} {
				c.wantCounts(p, engine.Counts{})
				c.refused(engine.ErrNotAllowed, func() error { _, err := c.tryHold(p, "anna"); return err })
			}
			c.wantIDs("in", "1 a", "2 a", "3 a", "1 t", "2 t", "3 t")
			c.equal(c.take(c.hold("in", "bert")).Content.MessageID(), "3 a")
			c.wantIDs("u", "1 u") // its lock outlives its receiver
			c.wantIDs("q", "2 u", "3 u")
			c.pass(minute)
			c.sweep()
			if err := c.settle(locked, engine.Complete); err == nil {
				c.Error("a message was completed in a queue that it has left")
			}
			c.wantIDs("q", "2 u", "3 u", "1 u")
			c.wantCounts("u", engine.Counts{})
		},
		"FWD-4 into sessions": func(c *clocked) { // into a queue, a subscription and their dead letters
			c.queue("s", sessionful)
			c.topic("news", engine.Config{})
			in := c.sub("news", "in", sessionful)
			c.topic("t", engine.Config{})
			for i, to := range []string{"s", "news"} {
				q, dead := engine.Path(fmt.Sprint("q", i)), engine.Path(fmt.Sprint("dead", i))
				c.queue(q, engine.Config{ForwardTo: to})
				c.queue(dead, engine.Config{ForwardDeadLetteredMessagesTo: to})
				sub := c.sub("t", fmt.Sprint("sub", i), engine.Config{ForwardTo: to})
				c.say(q, "anna", "of a queue")
				c.say("t", "anna", "of a subscription")
				c.say(dead, "bert", "dead")
				c.kill(c.receive(dead), "bad", "")
				c.sweep()
				c.wantCounts(sub, engine.Counts{})
			}
			for _, p := range []engine.Path{"s", in} {
				got := map[string][]string{}
				for _, id := range []string{"anna", "bert"} {
					l := c.hold(p, id)
					for range c.about(p, id).Active {
						d := c.take(l)
						c.equal(d.Content.SessionID(), id)
						got[id] = append(got[id], d.Content.MessageID())
						c.complete(d)
					}
				}
				slices.Sort(got["anna"])
				c.equal(fmt.Sprint(got), map[engine.Path]string{
					"s": "map[anna:[of a queue of a subscription of a subscription] bert:[dead]]",
					in:  "map[anna:[of a queue of a subscription] bert:[dead]]",
				}[p])
			}
		},
		"FWD-5": func(c *clocked) { // sends are accepted, receivers are refused and ended
			c.queue("b", engine.Config{})
			c.queue("a", engine.Config{})
			open := c.attach("a", 1)
			c.update("a", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			c.equal(len(c.ended), 1)
			c.equal(c.ended[0].ID, open)
			c.equal(c.ended[0].Err.Error(), engine.ForwardsText)
			c.open = 0
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Attach(c.now, engine.Link{ID: 90, Path: "a"}) })
			c.attach("a/$DeadLetterQueue", 1)
			c.sends("a", "m")
			c.sweep()
			c.equal(c.receive("b").Content.MessageID(), "m")
		},
		"FWD-9, SEQ-4, SEQ-5": func(c *clocked) {
			c.queue("b", engine.Config{})
			c.queue("a", engine.Config{})
			sent := engine.Content{MessageID: "m", SessionID: "s", CorrelationID: "c", Subject: "x", Properties: value.Properties{{Name: "k", Value: value.OfLong(7)}}}
			c.sends("b", "first")
			c.sends("a", "before")
			c.send("a", sent)
			c.complete(c.receive("a"))
			d := c.receive("a")
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon, Modify: value.Properties{{Name: "tried", Value: value.OfBool(true)}}}))
			c.at(time.Minute)
			c.update("a", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			c.sweep()
			m := c.rows("b")[1]
			c.equal(m.Message.Seq, engine.Seq(2))
			c.equal(m.Message.EnqueuedSeq, engine.Seq(2)) // the number at a, not at b
			c.equal(m.Message.EnqueuedAt, morning.Add(time.Minute))
			c.equal(m.Message.DeliveryCount, uint32(0))
			c.equal(m.Message.Hops, uint8(1))
			got, err := m.Content.Content()
			c.must(err)
			props := m.Message.Properties(got)
			c.equal(fmt.Sprint(got.MessageID, got.SessionID, got.CorrelationID, got.Subject, props[0].Name, props[0].Value.Text(), props[1].Name, len(props)), "mscxk7tried2")
			if x := m.Message.Extra; x.Source != "" || x.DeadLettered || x.Reason != "" {
				c.Errorf("the message's Extra is %+v", x)
			}
			c.equal(string(c.receive("b").Body), "") // of the first message, stored long ago
			c.equal(c.receive("b").Content.MessageID(), "m")
		},
		"FWD-9 told": func(c *clocked) { // each hop has an event, with the number at the destination
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "first")
			c.complete(c.receive(s))
			c.chain("a", "b")
			c.update("b", func(cfg *engine.Config) { cfg.ForwardTo = "t" })
			before := len(c.events)
			c.sends("b", "x", "y")
			c.sends("a", "m")
			c.sweep()
			var texts []string
			for _, e := range c.events[before:] {
				if e.Content.MessageID() == "m" {
					texts = append(texts, fmt.Sprintf("%v %s #%d %s %d;", e.Kind, e.Path, e.Message.Seq, e.To, e.Message.Hops))
				}
			}
			c.equal(fmt.Sprint(texts), "[sent a #1  0; forwarded a #3 b 1; forwarded b #4 t 2; sent t/Subscriptions/s #4  2;]")
		},
		"FWD-3, ACT-7": func(c *clocked) { // the destination's rules apply, to the message as changed by earlier rules
			c.topic("t1", engine.Config{})
			c.topic("t2", engine.Config{})
			dead := c.sub("t2", "dead", engine.Config{})
			red := c.sub("t2", "red", engine.Config{})
			c.must(c.ns.RemoveRule(c.now, dead, engine.DefaultRule, ""))
			c.must(c.ns.RemoveRule(c.now, red, engine.DefaultRule, ""))
			s := c.sub("t1", "s", engine.Config{ForwardTo: "t2"})
			c.must(c.ns.RemoveRule(c.now, s, engine.DefaultRule, ""))
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "paint", Filter: sqlFilter("1=1"), Action: "SET color='red'; SET sys.Label='painted'"}, ""))
			c.must(c.ns.AddRule(c.now, red, engine.Rule{Name: "twice", Filter: sqlFilter("color='red' AND sys.EnqueuedSequenceNumber=1"), Action: "SET color=color+color"}, ""))
			c.must(c.ns.AddRule(c.now, dead, engine.Rule{Name: "bad", Filter: sqlFilter("DeadLetterReason='bad' AND tried='yes'")}, ""))
			c.sends("t1", "m")
			c.sweep()
			c.wantCounts(dead, engine.Counts{})
			d := c.receive(red)
			got, err := d.Content.Content()
			c.must(err)
			c.equal(got.Subject, "painted")
			props := map[string]string{}
			for _, p := range d.Message.Properties(got) {
				props[p.Name] = p.Value.Text()
			}
			c.equal(fmt.Sprint(props), "map[RuleName:twice color:redred]")
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter, Reason: "bad", Modify: value.Properties{{Name: "tried", Value: value.OfString("yes")}}}))
			c.step()
			c.queue("z", engine.Config{ForwardTo: "t2"})
			c.update(red, func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "z" })
			c.sweep()
			c.wantCounts(red, engine.Counts{})
			r := c.row(dead)
			got, err = r.Content.Content()
			c.must(err)
			c.equal(got.Subject, "painted") // a dead letter keeps its rewritten content (MSG-2)
			c.equal(r.Message.Extra.Source, "t2/Subscriptions/red")
			c.equal(r.Message.Hops, uint8(3))
		},
		"FWD-9, DLQ-9": func(c *clocked) { // out of a dead-letter queue
			c.topic("t", engine.Config{})
			c.queue("z", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "other", "m")
			c.complete(c.receive(s))
			c.kill(c.receive(s), "bad", "why")
			c.equal(c.row(s.DeadLetter()).Message.Extra.Source, "") // it has no source when it is received in place
			c.at(time.Minute)
			c.update(s, func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "z" })
			c.sweep()
			r := c.row("z")
			c.equal(r.Message.Extra.Source, "t/Subscriptions/s")
			c.equal(r.Message.Seq, engine.Seq(1))
			c.equal(r.Message.EnqueuedSeq, engine.Seq(2))
			content, err := r.Content.Content()
			c.must(err)
			var props []string
			for _, p := range r.Message.Properties(content) {
				props = append(props, p.Name+"="+p.Value.Text())
			}
			c.equal(fmt.Sprint(props), "[DeadLetterReason=bad DeadLetterErrorDescription=why]")
			c.equal(r.Message.Extra.DeadLettered, false)
			c.kill(c.receive("z"), "again", "") // and can be dead-lettered there like any other
			r = c.wantDead("z", "again", "")
			c.equal(r.Message.Extra.Source, "t/Subscriptions/s")
		},
		"FWD-11": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.queue("z", engine.Config{})
			c.update(s, func(cfg *engine.Config) { cfg.ForwardTo = "z" })
			c.chain("a", "b")
			c.update("b", func(cfg *engine.Config) { cfg.ForwardTo = "t" })
			var want []string
			for i := range 10 {
				want = append(want, fmt.Sprint("m", i))
				c.sends("a", want[i])
				if i == 4 {
					c.sweep()
				}
			}
			c.sweep()
			c.wantIDs("z", want...)
		},
		"FWD-13": func(c *clocked) { // present messages are forwarded too; deferred ones stay, locked ones follow later
			c.queue("b", engine.Config{})
			c.queue("a", engine.Config{LockDuration: 10 * time.Second})
			c.sends("a", "deferred", "locked", "abandoned", "x", "y", "z")
			c.send("a", engine.Content{MessageID: "scheduled", ScheduledFor: morning.Add(time.Minute)})
			n := c.setAside(c.receive("a"))
			c.receive("a")
			given := c.receive("a")
			c.update("a", func(cfg *engine.Config) { cfg.ForwardTo = "b" })
			c.sweep()
			c.wantIDs("b", "x", "y", "z")
			c.abandon(given)
			c.sweep()
			c.wantIDs("b", "x", "y", "z", "abandoned")
			c.at(10*time.Second - time.Millisecond)
			c.sweep()
			c.wantCounts("a", engine.Counts{Deferred: 1, Locked: 1, Scheduled: 1})
			c.at(10 * time.Second)
			c.sweep()
			c.wantIDs("b", "x", "y", "z", "abandoned", "locked")
			c.at(time.Minute)
			c.sweep()
			c.wantIDs("b", "x", "y", "z", "abandoned", "locked", "scheduled")
			c.abandon(c.fetch("a", n)) // it is still deferred (DEF-8)
			c.sweep()
			c.wantCounts("a", engine.Counts{Deferred: 1})
			c.complete(c.fetch("a", n))
			c.wantCounts("a", engine.Counts{})
		},
		"FWD-13, STAT-7": func(c *clocked) { // an entity disabled for receiving forwards nothing until it is enabled
			c.queue("z", engine.Config{})
			c.queue("a", engine.Config{})
			c.sends("a", "dead", "m")
			c.kill(c.receive("a"), "bad", "")
			c.update("a", func(cfg *engine.Config) {
				*cfg = engine.Config{ForwardTo: "z", ForwardDeadLetteredMessagesTo: "z", Status: engine.StatusReceiveDisabled}
			})
			c.sweep()
			c.sends("a", "n")
			c.sweep()
			c.wantCounts("a", engine.Counts{Active: 2, Transfer: 2, DeadLetter: 1})
			c.equal(c.ns.NextDue(), engine.Instant(0))
			c.update("a", func(cfg *engine.Config) { cfg.Status = engine.StatusSendDisabled })
			c.sweep()
			c.wantCounts("a", engine.Counts{})
			c.wantCounts("z", engine.Counts{Active: 3})
		},
		"FWD-13 dead letters": func(c *clocked) {
			c.queue("b", engine.Config{})
			c.queue("a", engine.Config{})
			c.sends("a", "deferred", "m")
			for range 2 {
				c.kill(c.receive("a"), "bad", "")
			}
			n := c.setAside(c.receive("a/$DeadLetterQueue"))
			c.update("a", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "b" })
			c.sweep()
			c.wantIDs("b", "m")
			c.complete(c.fetch("a/$DeadLetterQueue", n))
		},
	})
}

func sqlFilter(text string) engine.Filter {
	return engine.Filter{Kind: engine.SQLFilter, Text: text}
}

func (c *clocked) purge(p engine.Path) {
	c.Helper()
	pg, err := c.ns.BeginPurge(c.now, p, []engine.Class{engine.ClassActive})
	c.must(err)
	c.must(c.ns.PurgeSlice(c.now, &pg, 1000, ""))
	c.step()
}

// big sends a message whose header and body have this many bytes together.
func (c *clocked) big(p engine.Path, bytes int64) {
	c.Helper()
	for n := bytes; n > 0; n-- {
		s, err := engine.Submit(engine.Content{}, make([]byte, n), 0, c.keys.Next(), c.limits)
		c.must(err)
		if s.Size() == bytes {
			_, err := c.ns.Send(c.now, p, []engine.Submission{s}, c.actor)
			c.must(err)
			c.step()
			return
		}
	}
	c.Fatalf("no message has %d bytes", bytes)
}
