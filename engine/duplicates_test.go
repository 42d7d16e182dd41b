package engine_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

const window = 10 * time.Minute

// detecting creates a queue that detects duplicates within ten minutes.
func (c *clocked) detecting(p engine.Path) {
	c.Helper()
	c.queue(p, engine.Config{RequiresDuplicateDetection: true})
}

// duplicate requires a message to be accepted and dropped.
func (c *clocked) duplicate(p engine.Path, m engine.Content) engine.Seq {
	c.Helper()
	before := c.state(p).Duplicates
	seq := c.send(p, m)
	if n := c.state(p).Duplicates - before; n != 1 {
		c.Fatalf("%q was sent to %s, and %d duplicates were dropped", m.MessageID, p, n)
	}
	return seq
}

// accepted requires a message to be stored as a new one.
func (c *clocked) accepted(p engine.Path, m engine.Content) {
	c.Helper()
	before := c.state(p).Duplicates
	seq := c.send(p, m)
	if n := c.state(p).Duplicates - before; n != 0 || seq == 0 {
		c.Fatalf("%q was sent to %s as #%d, and %d duplicates were dropped", m.MessageID, p, seq, n)
	}
}

func TestDuplicates(t *testing.T) {
	id := func(s string) engine.Content { return engine.Content{MessageID: s} }
	run(t, rules{
		"DUP-1": func(c *clocked) { // only the id counts, and case matters
			c.detecting("q")
			c.send("q", engine.Content{MessageID: "order-1", Subject: "first"})
			c.duplicate("q", engine.Content{MessageID: "order-1", Subject: "another", CorrelationID: "x", PartitionKey: "p"})
			for _, other := range []string{"Order-1", "order-1 ", " order-1", "order-", "order-11", "0rder-1"} {
				c.accepted("q", id(other))
			}
			c.equal(c.rows("q")[0].Content.Subject(), "first")
			c.equal(len(c.rows("q")), 7)
			c.queue("other", engine.Config{RequiresDuplicateDetection: true})
			c.accepted("other", id("order-1"))
			c.queue("plain", engine.Config{})
			c.accepted("plain", id("order-1"))
			c.accepted("plain", id("order-1"))
		},
		"DUP-2": func(c *clocked) { // accepted, with an event, counted, and nothing is stored
			c.detecting("q")
			c.sends("q", "m")
			c.events = nil
			rows := len(c.store.messages) + len(c.store.contents) + len(c.store.bodies) + len(c.store.seen)
			seq := c.duplicate("q", id("m"))
			c.equal(seq, engine.Seq(0))
			c.wantCounts("q", engine.Counts{Active: 1})
			c.equal(len(c.store.messages)+len(c.store.contents)+len(c.store.bodies)+len(c.store.seen), rows)
			if len(c.events) != 1 || c.events[0].Kind != engine.EventDuplicate || c.events[0].Path != "q" ||
				c.events[0].Content.MessageID() != "m" || c.events[0].Actor != "tester" || c.events[0].Message.Seq != 0 {
				c.Errorf("the events are %+v", c.events)
			}
			c.equal(c.state("q").NextSeq, engine.Seq(2))
			c.equal(c.state("q").Duplicates, uint64(1))
			c.pass(second)
			c.equal(c.state("q").Duplicates, uint64(1))
			c.duplicate("q", id("m"))
			c.equal(c.state("q").Duplicates, uint64(2))
			c.equal(c.state("q").RememberedIDs, 1)
		},
		"DUP-3": func(c *clocked) { // the current window counts
			c.detecting("q")
			c.sends("q", "m")
			c.at(21 * second)
			c.duplicate("q", id("m"))
			c.update("q", func(cfg *engine.Config) { cfg.DuplicateDetectionHistoryTimeWindow = 22 * second })
			c.duplicate("q", id("m"))
			c.at(22*second - 1*ms)
			c.duplicate("q", id("m"))
			c.at(22 * second)
			c.accepted("q", id("m"))
			c.update("q", func(cfg *engine.Config) { cfg.DuplicateDetectionHistoryTimeWindow = hour })
			c.at(22*second + hour - 1*ms)
			c.duplicate("q", id("m"))
			c.at(22*second + hour)
			c.accepted("q", id("m"))
		},
		"DUP-3 shorter": func(c *clocked) {
			c.detecting("q")
			c.sends("q", "m")
			c.at(time.Minute)
			c.update("q", func(cfg *engine.Config) { cfg.DuplicateDetectionHistoryTimeWindow = time.Minute })
			c.accepted("q", id("m"))
			c.duplicate("q", id("m"))
		},
		"DUP-3 longer": func(c *clocked) { // ids whose window has passed stay forgotten
			c.queue("q", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: time.Minute})
			c.sends("q", "a")
			c.at(10 * second) // in the same quarter of a minute
			c.sends("q", "b")
			c.at(time.Minute)
			c.update("q", func(cfg *engine.Config) { cfg.DuplicateDetectionHistoryTimeWindow = hour })
			c.at(time.Minute + second)
			ok, err := c.ns.IsDuplicate(c.now, "q", "a")
			c.must(err)
			c.equal(ok, false)
			c.duplicate("q", id("b"))
			c.accepted("q", id("a"))
			c.duplicate("q", id("a"))
			c.at(10*second + hour - 1*ms)
			c.duplicate("q", id("b"))
			c.at(10*second + hour)
			c.accepted("q", id("b"))
			c.at(time.Minute + second + hour - 1*ms)
			c.duplicate("q", id("a"))
			c.at(time.Minute + second + hour)
			c.accepted("q", id("a"))
			c.at(24 * hour)
			c.sweep()
			c.equal(len(c.store.seen), 0)
		},
		"DUP-4": func(c *clocked) { // the window begins with the first acceptance, and has passed at its end (DEC-1)
			c.detecting("q")
			c.sends("q", "m")
			c.at(9 * time.Minute)
			c.duplicate("q", id("m"))
			c.at(window - 1*ms)
			c.duplicate("q", id("m"))
			c.at(window)
			c.accepted("q", id("m"))
			c.at(window + second)
			c.duplicate("q", id("m"))
			c.at(2*window - 1*ms)
			c.duplicate("q", id("m"))
			c.at(2 * window)
			c.accepted("q", id("m"))
			c.equal(len(c.rows("q")), 3)
		},
		"DUP-4 one of many": func(c *clocked) { // each id has its own time, whatever the others' are
			c.detecting("q")
			var sent []time.Duration
			for at := time.Duration(0); at < window+time.Minute; at += 17 * second {
				c.at(at)
				c.accepted("q", id(strconv.Itoa(len(sent))))
				sent = append(sent, at)
			}
			for i, at := range sent {
				if at+window-1*ms > c.now.Sub(morning) {
					c.at(at + window - 1*ms)
					c.duplicate("q", id(strconv.Itoa(i)))
					c.at(at + window)
					c.accepted("q", id(strconv.Itoa(i)))
				}
			}
		},
		"DUP-5, SCH-12": func(c *clocked) {
			c.detecting("q")
			later := engine.Content{MessageID: "m", ScheduledFor: morning.Add(hour)}
			first := c.send("q", later)
			c.duplicate("q", id("m")) // a duplicate of a scheduled message
			again := c.duplicate("q", later)
			c.equal(first, engine.Seq(1))
			c.equal(again, engine.Seq(2))
			c.wantCounts("q", engine.Counts{Scheduled: 1})
			if err := c.ns.CancelScheduled(c.now, "q", []engine.Seq{again}, ""); !errors.Is(err, engine.ErrMessageNotFound) {
				c.Errorf("cancelling by the number of a duplicate: %v", err)
			}
			c.sends("q", "now")
			c.equal(c.duplicate("q", engine.Content{MessageID: "now", ScheduledFor: morning.Add(hour)}), engine.Seq(4))
			c.pass(second) // no other message gets that number, even after a restart
			c.equal(c.send("q", id("other")), engine.Seq(5))
			c.wantCounts("q", engine.Counts{Active: 2, Scheduled: 1})
		},
		"DUP-5 activated": func(c *clocked) { // activation is no second acceptance
			c.detecting("q")
			c.send("q", engine.Content{MessageID: "m", ScheduledFor: morning.Add(window + time.Minute)})
			c.at(window)
			c.accepted("q", engine.Content{MessageID: "m"}) // the window counts from the submission
			c.at(window + time.Minute)
			c.sweep()
			c.wantIDs("q", "m", "m")
			c.wantCounts("q", engine.Counts{Active: 2})
			c.equal(c.state("q").Duplicates, uint64(0))
			c.at(2*window - 1*ms)
			c.duplicate("q", id("m"))
			c.at(2 * window) // the activation did not extend it
			c.accepted("q", id("m"))
		},
		"DUP-6": func(c *clocked) {
			c.detecting("q")
			seq := c.send("q", engine.Content{MessageID: "m", ScheduledFor: morning.Add(hour)})
			c.must(c.ns.CancelScheduled(c.now, "q", []engine.Seq{seq}, ""))
			c.step()
			c.duplicate("q", id("m"))
			c.wantCounts("q", engine.Counts{})
		},
		"DUP-7": func(c *clocked) {
			c.detecting("q")
			c.accepted("q", engine.Content{})
			c.accepted("q", engine.Content{})
			seqs, err := c.trySend("q", engine.Content{}, engine.Content{})
			c.must(err)
			c.equal(seqs[1], engine.Seq(4))
			c.equal(c.state("q").RememberedIDs, 0)
			if seen, err := c.ns.IsDuplicate(c.now, "q", ""); seen || err != nil {
				c.Errorf("the empty id is remembered: %v, %v", seen, err)
			}
		},
		"DUP-8": func(c *clocked) { // at the topic, before rules
			c.topic("t", engine.Config{RequiresDuplicateDetection: true})
			a, b := c.sub("t", "a", engine.Config{}), c.sub("t", "b", engine.Config{})
			c.sends("t", "m")
			c.duplicate("t", id("m"))
			c.wantIDs(a, "m")
			c.wantIDs(b, "m")
			c.must(c.ns.RemoveRule(c.now, b, engine.DefaultRule, ""))
			c.must(c.ns.AddRule(c.now, b, engine.Rule{Name: "same", Action: "SET sys.MessageId = 'm'"}, ""))
			c.step()
			c.accepted("t", id("n"))
			c.accepted("t", id("o"))
			c.wantIDs(a, "m", "n", "o")
			c.wantIDs(b, "m", "m", "m") // an id that an action sets is not checked
			c.accepted("t", engine.Content{MessageID: "later", ScheduledFor: morning.Add(second)})
			c.duplicate("t", id("later"))
			c.at(second)
			c.sweep()
			c.wantIDs(a, "m", "n", "o", "later")
			c.remove(a)
			c.remove(b)
			c.accepted("t", id("nobody")) // no subscription selects the message, but its id is remembered
			c.duplicate("t", id("nobody"))
		},
		"DUP-9, TTL-37": func(c *clocked) { // whatever has become of the first message
			c.detecting("q")
			c.sends("q", "completed", "deleted", "dead", "deferred")
			c.complete(c.receive("q"))
			c.grab("q")
			c.kill(c.receive("q"), "", "")
			c.setAside(c.receive("q"))
			c.send("q", engine.Content{MessageID: "expired", TTL: second})
			c.send("q", engine.Content{MessageID: "never there", TTL: -1})
			c.at(2 * second)
			c.sweep()
			c.wantIDs("q", "deferred")
			for _, gone := range []string{"completed", "deleted", "dead", "deferred", "expired", "never there"} {
				c.duplicate("q", id(gone))
			}
			c.must(c.ns.DeleteMessage(c.now, c.key("q"), ""))
			c.step()
			c.duplicate("q", id("deferred"))
			c.wantIDs("q")
		},
		"DUP-10": func(c *clocked) {
			c.detecting("q")
			seqs, err := c.trySend("q", engine.Content{MessageID: "a", Subject: "first"}, engine.Content{MessageID: "a", Subject: "second"}, id("b"))
			c.must(err)
			if !slices.Equal(seqs, []engine.Seq{1, 0, 2}) {
				c.Errorf("the numbers are %v", seqs)
			}
			c.wantIDs("q", "a", "b")
			c.equal(c.rows("q")[0].Content.Subject(), "first")
			c.equal(c.state("q").Duplicates, uint64(1))
			seqs, err = c.trySend("q", id("b"), id("c"), id("a"), id("c"))
			c.must(err)
			if !slices.Equal(seqs, []engine.Seq{0, 3, 0, 0}) {
				c.Errorf("the numbers are %v", seqs)
			}
			c.equal(c.state("q").Duplicates, uint64(4))
			_, err = c.trySend("q", id("a"), id("b")) // both are duplicates
			c.must(err)
			c.wantIDs("q", "a", "b", "c")
		},
		"DUP-12": func(c *clocked) { // the history survives restarts, and is trimmed
			c.detecting("q")
			c.sends("q", "a", "b")
			c.at(window - 1*ms)
			c.restart()
			c.duplicate("q", id("a"))
			c.accepted("q", id("c"))
			c.restart()
			c.duplicate("q", id("b"))
			c.duplicate("q", id("c"))
			c.equal(c.state("q").RememberedIDs, 3)
			c.at(window)
			c.restart()
			c.sweep()
			c.equal(c.state("q").RememberedIDs, 1)
			c.equal(len(c.store.seen), 1)
			c.accepted("q", id("a"))
			c.duplicate("q", id("c"))
			c.at(3 * window)
			c.sweep()
			c.equal(c.state("q").RememberedIDs, 0)
			c.equal(len(c.store.seen), 0)
			c.equal(c.state("q").Duplicates, uint64(4))
		},
		"PROP-7": func(c *clocked) { // a window alone does not enable detection
			c.queue("q", engine.Config{DuplicateDetectionHistoryTimeWindow: hour})
			c.accepted("q", id("m"))
			c.accepted("q", id("m"))
			c.equal(c.state("q").RememberedIDs, 0)
			c.equal(len(c.store.seen), 0)
		},
		"SES-18": func(c *clocked) {
			c.queue("q", engine.Config{RequiresDuplicateDetection: true, RequiresSession: true})
			c.accepted("q", engine.Content{MessageID: "m", SessionID: "one"})
			c.duplicate("q", engine.Content{MessageID: "m", SessionID: "two"})
			c.wantIDs("q", "m")
		},
		"DLQ-22": func(c *clocked) { // a client's copy of a dead letter is an ordinary message
			c.detecting("q")
			c.sends("q", "m")
			c.kill(c.receive("q"), "", "")
			c.duplicate("q", id("m"))
			c.at(window)
			c.accepted("q", id("m"))
		},
		"MSG-8": func(c *clocked) { // the id of a refused message is not remembered
			c.limit(func(l *engine.Limits) { l.MessageSize = 300 })
			c.queue("q", engine.Config{RequiresDuplicateDetection: true, Status: engine.StatusSendDisabled})
			c.refused(engine.ErrDisabled, func() error { _, err := c.trySend("q", id("m")); return err })
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.refused(engine.ErrTooLarge, func() error {
				_, err := c.trySend("q", id("m"), engine.Content{MessageID: "n", Subject: strings.Repeat("x", 300)})
				return err
			})
			c.accepted("q", id("m"))
		},
	})
}

// TestDuplicatesOfEntities tests which changes of an entity delete its remembered MessageIds, and
// which keep them.
func TestDuplicatesOfEntities(t *testing.T) {
	run(t, rules{
		"deleted": func(c *clocked) {
			c.detecting("q")
			c.topic("t", engine.Config{RequiresDuplicateDetection: true})
			c.sends("q", "m")
			c.sends("t", "m")
			c.equal(len(c.store.seen), 2)
			c.must(c.ns.Delete(c.now, "q", "")) // in one turn
			c.detecting("q")
			c.accepted("q", engine.Content{MessageID: "m"})
			c.equal(c.state("q").Duplicates, uint64(0))
			c.remove("t")
			c.equal(len(c.store.seen), 1)
			c.pass(second)
			c.duplicate("q", engine.Content{MessageID: "m"})
		},
		"sent and deleted in one turn": func(c *clocked) {
			c.detecting("q")
			_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{MessageID: "m"}), "")
			c.must(err)
			c.must(c.ns.Delete(c.now, "q", ""))
			c.step()
			c.equal(len(c.store.seen), 0)
		},
		"a subscription": func(c *clocked) { // a subscription has no detection, whatever its description says
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{RequiresDuplicateDetection: true})
			c.sends("t", "m", "m")
			c.wantIDs(s, "m", "m")
		},
		"NAME-6": func(c *clocked) {
			c.detecting("Q")
			c.sends("q", "m")
			c.duplicate("Q", engine.Content{MessageID: "m"})
			if _, err := c.ns.IsDuplicate(c.now, "nowhere", "m"); !errors.Is(err, engine.ErrNotFound) {
				c.Errorf("in a missing entity: %v", err)
			}
		},
		"IDLE-2": func(c *clocked) { // a duplicate counts as use
			c.queue("q", engine.Config{RequiresDuplicateDetection: true, AutoDeleteOnIdle: 5 * time.Minute})
			c.sends("q", "m")
			c.at(4 * time.Minute)
			c.duplicate("q", engine.Content{MessageID: "m"})
			c.at(9*time.Minute - 1*ms)
			c.equal(c.exists("q"), true)
		},
	})
}

// §1.5: an entity that has remembered its maximum number of MessageIds refuses messages with new
// ones.
func TestDuplicateIDs(t *testing.T) {
	id := func(s string) engine.Content { return engine.Content{MessageID: s} }
	full := func(c *clocked, messages ...engine.Content) {
		c.Helper()
		c.refused(engine.ErrBusy, func() error {
			_, err := c.trySend("q", messages...)
			if err == nil || !strings.Contains(err.Error(), "stores 2 MessageIds of the last 10m0s") {
				c.Errorf("the error is %v", err)
			}
			return err
		})
	}
	run(t, rules{
		"as many as may be": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.DuplicateIDs = 2 })
			c.detecting("q")
			c.sends("q", "a")
			c.at(second)
			c.sends("q", "b")
			full(c, id("c"))
			c.duplicate("q", id("a")) // a duplicate needs no room
			c.accepted("q", engine.Content{})
			full(c, id("a"), id("c"))
			c.at(window + second - 1*ms)
			full(c, id("c"))
			c.at(window + second) // both are forgotten at once, because they are in the same quarter
			_, err := c.trySend("q", id("c"), id("c"), id("d"), id("d"))
			c.must(err)
			full(c, id("e"))
			c.wantIDs("q", "a", "b", "", "c", "d")
		},
		"none at all": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.DuplicateIDs = 0 })
			c.detecting("q")
			c.refused(engine.ErrBusy, func() error { _, err := c.trySend("q", id("c")); return err })
			c.accepted("q", engine.Content{})
		},
		"DUP-2 in a full queue": func(c *clocked) { // a duplicate takes no room
			c.limit(func(l *engine.Limits) { l.EntitySize = 20 })
			c.detecting("q")
			c.sends("q", "m")
			c.refused(engine.ErrQuota, func() error { _, err := c.trySend("q", id("n")); return err })
			c.duplicate("q", id("m"))
			seqs, err := c.trySend("q", id("m"), id("m"))
			c.must(err)
			c.equal(len(seqs), 2)
			c.refused(engine.ErrQuota, func() error { _, err := c.trySend("q", id("m"), id("n")); return err })
		},
	})
}
