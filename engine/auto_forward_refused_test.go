package engine_test

import (
	"fmt"
	"testing"
	"time"

	"mayfly/engine"
)

func TestForwardingRefused(t *testing.T) {
	fill := func(c *clocked, p engine.Path) engine.Delivery { // makes a queue of one megabyte with one locked message that leaves little room
		c.queue(p, engine.Config{MaxSizeInMegabytes: 1, MaxMessageSizeInKilobytes: 1024})
		c.big(p, 1<<20-200)
		return c.receive(p)
	}
	run(t, rules{
		"FWD-7, §6.2#9 disabled, STAT-10, CONF-21": func(c *clocked) {
			for i, status := range []engine.Status{engine.StatusDisabled, engine.StatusSendDisabled} {
				from, to := engine.Path(fmt.Sprint("a", i)), engine.Path(fmt.Sprint("b", i))
				c.queue(to, engine.Config{})
				c.queue(from, engine.Config{ForwardTo: string(to)})
				c.update(to, func(cfg *engine.Config) { cfg.Status = status })
				c.sends(from, "m")
				c.sweep()
				c.wantFailed(from, "Destination '"+string(to)+"' is disabled.")
				c.wantCounts(from, engine.Counts{DeadLetter: 1}) // not the transfer dead-letter subqueue
				c.wantCounts(to, engine.Counts{})
			}
			c.queue("b", engine.Config{Status: engine.StatusReceiveDisabled}) // it accepts sends
			c.queue("a", engine.Config{ForwardTo: "b"})
			c.sends("a", "m")
			c.sweep()
			c.wantCounts("b", engine.Counts{Active: 1})
		},
		"FWD-7 deleted": func(c *clocked) { // the source keeps its description
			c.queue("b", engine.Config{})
			c.queue("a", engine.Config{ForwardTo: "b"})
			c.remove("b")
			c.equal(c.state("a").Config.ForwardTo, "b")
			c.sends("a", "m")
			c.sweep()
			c.wantFailed("a", "Destination 'b' does not exist.")
			c.topic("B", engine.Config{}) // another entity of that name is used as destination
			s := c.sub("B", "s", engine.Config{})
			c.sends("a", "n")
			c.sweep()
			c.wantIDs(s, "n")
		},
		"FWD-7 full": func(c *clocked) {
			fill(c, "b")
			c.queue("a", engine.Config{ForwardTo: "b"})
			c.big("a", 1000)
			c.sweep()
			c.wantFailed("a", "Destination 'b' does not accept the message: The maximum entity size has been reached or exceeded for queue: 'b'.")
			c.wantCounts("b", engine.Counts{Locked: 1})
		},
		"FWD-7 too large": func(c *clocked) {
			c.queue("b", engine.Config{MaxMessageSizeInKilobytes: 1})
			c.queue("a", engine.Config{ForwardTo: "b"})
			c.big("a", 1025)
			c.big("a", 1024)
			c.sweep()
			c.wantFailed("a", "Destination 'b' accepts messages of at most 1024 bytes; this one has 1025.")
			c.wantCounts("b", engine.Counts{Active: 1})
		},
		"FWD-7, §6.2#3 no session": func(c *clocked) {
			c.queue("b", engine.Config{RequiresSession: true})
			c.queue("a", engine.Config{ForwardTo: "b"})
			c.sends("a", "m")
			c.sweep()
			c.wantDead("a", "Session ID is null.", "Session enabled entity doesn't allow a message whose session identifier is null.")
		},
		"FWD-7 on": func(c *clocked) { // a dead letter made by forwarding is forwarded with the others
			c.queue("b", engine.Config{Status: engine.StatusDisabled})
			c.queue("z", engine.Config{})
			c.queue("a", engine.Config{ForwardTo: "b", ForwardDeadLetteredMessagesTo: "z"})
			c.sends("a", "m")
			c.sweep()
			c.wantCounts("a", engine.Counts{})
			r := c.row("z")
			c.equal(r.Message.Extra.Reason, failed)
			c.equal(r.Message.Extra.Source, "a")
		},
		"FWD-8": func(c *clocked) { // a dead letter waits for room
			held := fill(c, "b")
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			c.big("a", 1000)
			c.sends("a", "small")
			c.kill(c.receive("a"), "bad", "")
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.pass(10 * time.Second)
			c.sweep()
			c.wantCounts("a", engine.Counts{DeadLetter: 2}) // in order: the small message waits too
			c.wantCounts("b", engine.Counts{Locked: 1})
			c.complete(held)
			c.pass(time.Second)
			c.sweep()
			c.wantCounts("a", engine.Counts{})
			c.wantIDs("b", "", "small")
		},
		"FWD-7 room": func(c *clocked) { // the destination has room to the byte, for every copy
			c.limit(func(l *engine.Limits) { l.EntitySize = 1000 })
			c.topic("t", engine.Config{})
			one := c.sub("t", "one", engine.Config{})
			c.sub("t", "two", engine.Config{})
			c.topic("src", engine.Config{})
			s := c.sub("src", "s", engine.Config{ForwardTo: "t"})
			c.big("t", 300) // one copy in each of two subscriptions
			c.big("src", 201)
			c.sweep()
			c.wantFailed(s, "Destination 't' does not accept the message: The maximum entity size")
			c.big("src", 200)
			c.sweep()
			c.wantCounts(one, engine.Counts{Active: 2})
			c.equal(c.state("t").SizeInBytes, int64(1000))
			c.topic("own", engine.Config{}) // the forwarded message frees the room that its copy needs
			s = c.sub("own", "s", engine.Config{ForwardTo: "own"})
			other := c.sub("own", "other", engine.Config{})
			c.big("own", 334) // two copies, and a third for the forwarded one, which would make four in all
			c.sweep()
			c.wantCounts(other, engine.Counts{Active: 1})
			c.wantCounts(s, engine.Counts{DeadLetter: 1})
			c.purge(s.DeadLetter())
			c.purge(other)
			c.big("own", 250) // 500; 750; and the fourth hop finds no room
			c.sweep()
			c.wantCounts(other, engine.Counts{Active: 3})
			c.wantCounts(s, engine.Counts{DeadLetter: 1})
		},
		"FWD-8 a second later": func(c *clocked) { // tried again not before, and without other work in between
			c.queue("b", engine.Config{Status: engine.StatusDisabled})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			c.sends("a", "m", "n")
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.equal(c.ns.NextDue(), c.now.Add(second))
			c.update("b", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.kill(c.receive("a"), "bad", "")
			if c.way == restarted { // the parked time is not stored
				c.pass(time.Millisecond)
			} else {
				c.pass(second - time.Millisecond)
				c.sweep()
				c.wantCounts("b", engine.Counts{})
				c.equal(c.ns.NextDue(), c.now.Add(time.Millisecond))
				c.pass(time.Millisecond)
			}
			c.sweep()
			c.wantIDs("b", "m", "n")
			c.equal(c.ns.NextDue(), engine.Instant(0))
		},
		"FWD-8 elsewhere": func(c *clocked) { // another destination is tried at once
			c.queue("b", engine.Config{Status: engine.StatusDisabled})
			c.queue("z", engine.Config{})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			c.sends("a", "m")
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.update("a", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "z" })
			c.sweep()
			c.wantIDs("z", "m")
		},
		"FWD-8 disabled or gone": func(c *clocked) {
			c.queue("b", engine.Config{Status: engine.StatusDisabled})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			c.sends("a", "m")
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.remove("b")
			c.pass(time.Minute)
			c.sweep()
			c.wantIDs("a/$DeadLetterQueue", "m")
			c.queue("b", engine.Config{})
			c.pass(time.Second)
			c.sweep()
			c.wantIDs("b", "m")
		},
		"FWD-8 as it is": func(c *clocked) { // messages that a destination always rejects do not block others
			c.queue("b", engine.Config{MaxMessageSizeInKilobytes: 1})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			c.big("a", 1025)
			c.sends("a", "m")
			c.kill(c.receive("a"), "bad", "")
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.wantIDs("b", "m")
			c.wantCounts("a", engine.Counts{DeadLetter: 1})
			c.equal(c.wantDead("a", "bad", "").Message.Extra.NeverForwarded, false)
			n := len(c.events)
			c.pass(time.Minute)
			c.sweep()
			c.restart()
			c.sweep()
			c.wantCounts("a", engine.Counts{DeadLetter: 1})
			c.equal(len(c.events), n) // trying again changes nothing
		},
		"FWD-8 it takes more now": func(c *clocked) {
			c.queue("b", engine.Config{MaxMessageSizeInKilobytes: 1})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			for _, bytes := range []int64{1025, 3000, 1500} {
				c.big("a", bytes)
				c.kill(c.receive("a"), "bad", "")
			}
			c.sweep()
			c.wantCounts("a", engine.Counts{DeadLetter: 3})
			c.update("b", func(cfg *engine.Config) { cfg.MaxMessageSizeInKilobytes = 2 })
			c.big("a", 2000)
			c.kill(c.receive("a"), "bad", "")
			c.pass(time.Second)
			c.sweep()
			c.wantCounts("b", engine.Counts{Active: 3})
			c.wantCounts("a", engine.Counts{DeadLetter: 1})
			c.update("b", func(cfg *engine.Config) { cfg.MaxMessageSizeInKilobytes = 3 })
			c.big("a", 4000) // rejected before the other is tried again, which still happens
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.wantCounts("b", engine.Counts{Active: 4})
			c.wantCounts("a", engine.Counts{DeadLetter: 1})
		},
		"FWD-8 another of that name": func(c *clocked) { // a destination that requires sessions, and then one that does not
			c.queue("b", engine.Config{RequiresSession: true})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			c.sends("a", "m", "n")
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.wantIDs("a/$DeadLetterQueue", "m")
			c.remove("b")
			c.pass(time.Second)
			c.sweep()
			c.wantIDs("a/$DeadLetterQueue", "m")
			c.queue("b", engine.Config{})
			c.kill(c.receive("a"), "bad", "")
			c.pass(2 * time.Second)
			c.sweep()
			c.wantIDs("b", "m", "n") // in order (FWD-11)
			c.equal(c.ns.NextDue(), engine.Instant(0))
		},
		"FWD-8 another destination": func(c *clocked) { // the new destination is tried at once
			c.queue("b", engine.Config{RequiresSession: true})
			c.queue("z", engine.Config{})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			c.sends("a", "m")
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.update("a", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "z" })
			c.sweep()
			c.wantIDs("z", "m")
		},
		"FWD-8, DLQ-10 none": func(c *clocked) { // without a destination, all are received in order
			c.queue("b", engine.Config{MaxMessageSizeInKilobytes: 1})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b"})
			c.big("a", 1025)
			c.sends("a", "m")
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			c.update("a", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "" })
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			for from, want := range map[engine.Seq]string{0: "[1 2]", 1: "[1 2]", 2: "[2]", 3: "[]"} {
				active, err := c.ns.Browse(engine.Browse{Path: "a/$DeadLetterQueue", Class: engine.ClassActive, From: from, Limit: 9})
				c.must(err)
				numbers := []engine.Seq{}
				for _, r := range active {
					numbers = append(numbers, r.Message.Seq)
				}
				c.equal(fmt.Sprint(numbers), want)
			}
			d := c.receive("a/$DeadLetterQueue")
			c.equal(d.Message.Seq, engine.Seq(1))
			c.abandon(d)
			c.equal(c.receive("a/$DeadLetterQueue").Message.Seq, engine.Seq(1))
			c.equal(c.receive("a/$DeadLetterQueue").Message.Seq, engine.Seq(2))
			c.nothing("a/$DeadLetterQueue")
		},
		"FWD-8 taken back": func(c *clocked) { // a step that the store refused had no effect
			c.queue("b", engine.Config{MaxMessageSizeInKilobytes: 4})
			c.queue("a", engine.Config{ForwardDeadLetteredMessagesTo: "b", MaxMessageSizeInKilobytes: 4})
			c.update("b", func(cfg *engine.Config) { cfg.Status = engine.StatusSendDisabled })
			c.big("a", 1025)
			c.kill(c.receive("a"), "bad", "")
			c.sweep()
			cfg := c.state("b").Config
			cfg.Status, cfg.MaxMessageSizeInKilobytes = engine.StatusActive, 1
			_, err := c.ns.Update(c.now, "b", cfg, "")
			c.must(err)
			c.ns.Sweep(c.now.Add(time.Second), 100)
			c.must(c.ns.Check())
			c.ns.Flush(c.now, true)
			c.ns.Rollback()
			c.must(c.ns.Check())
			c.update("b", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.pass(3 * time.Second)
			c.sweep()
			c.wantCounts("b", engine.Counts{Active: 1})
		},
	})
}
