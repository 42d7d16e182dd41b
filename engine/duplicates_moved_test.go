package engine_test

import (
	"errors"
	"strings"
	"testing"

	"mayfly/engine"
)

// OPS-1: duplicates among messages that an operator moves are detected before anything
// changes.
func TestMovedDuplicates(t *testing.T) {
	move := func(c *clocked, m engine.Move) (engine.Seq, error) {
		c.Helper()
		seq, err := c.ns.Move(c.now, m, "operator")
		c.step()
		return seq, err
	}
	dead := func(c *clocked) engine.Key {
		c.Helper()
		c.detecting("q")
		c.sends("q", "m")
		c.kill(c.receive("q"), "why", "")
		return c.key("q/$DeadLetterQueue")
	}
	run(t, rules{
		"OPS-1 refused": func(c *clocked) {
			k := dead(c)
			seen, err := c.ns.IsDuplicate(c.now, "q", "m")
			c.must(err)
			c.equal(seen, true)
			c.refused(engine.ErrDuplicate, func() error {
				_, err := move(c, engine.Move{Key: k})
				if !errors.Is(err, engine.ErrNotAllowed) || !strings.Contains(err.Error(), "'q' has received the MessageId 'm' of message #1 within the last 10m0s") {
					c.Errorf("the error is %v", err)
				}
				return err
			})
			c.at(window)
			seen, err = c.ns.IsDuplicate(c.now, "q", "m")
			c.must(err)
			c.equal(seen, false)
			seq, err := move(c, engine.Move{Key: k})
			c.must(err)
			c.equal(seq, engine.Seq(2))
			c.duplicate("q", engine.Content{MessageID: "m"}) // the moved message's id is remembered as if it had been sent
		},
		"OPS-1 dropped": func(c *clocked) {
			k := dead(c)
			c.events = nil
			seq, err := move(c, engine.Move{Key: k, DropDuplicate: true})
			c.must(err)
			c.equal(seq, engine.Seq(0))
			c.wantCounts("q", engine.Counts{})
			c.equal(c.state("q").Duplicates, uint64(1))
			c.equal(len(c.store.messages), 0)
			if len(c.events) != 2 || c.events[0].Kind != engine.EventDuplicate || c.events[0].Path != "q" ||
				c.events[1].Kind != engine.EventDeleted || !c.events[1].Audit || c.events[1].To != "q" || c.events[1].Reason != "dropped as a duplicate" {
				c.Errorf("the events are %+v", c.events)
			}
		},
		"OPS-1 not a duplicate": func(c *clocked) { // a move that may drop duplicates does not count as one
			k := dead(c)
			c.queue("other", engine.Config{RequiresDuplicateDetection: true})
			_, err := move(c, engine.Move{Key: k, To: "other", DropDuplicate: true})
			c.must(err)
			c.wantIDs("other", "m")
			c.duplicate("other", engine.Content{MessageID: "m"})
		},
		"OPS-2": func(c *clocked) {
			k := dead(c)
			c.refused(engine.ErrDuplicate, func() error { _, err := move(c, engine.Move{Key: k, Copy: true}); return err })
			_, err := move(c, engine.Move{Key: k, Copy: true, DropDuplicate: true})
			c.must(err)
			c.wantCounts("q", engine.Counts{DeadLetter: 1})
			c.at(window)
			_, err = move(c, engine.Move{Key: k, Copy: true})
			c.must(err)
			c.refused(engine.ErrDuplicate, func() error { _, err := move(c, engine.Move{Key: k, Copy: true}); return err })
			c.wantCounts("q", engine.Counts{Active: 1, DeadLetter: 1})
		},
		"OPS-10 topic": func(c *clocked) {
			c.topic("t", engine.Config{RequiresDuplicateDetection: true})
			s := c.sub("t", "s", engine.Config{})
			c.queue("from", engine.Config{})
			c.sends("from", "m", "m")
			_, err := move(c, engine.Move{Key: c.rows("from")[0].Message.Key, To: "t"})
			c.must(err)
			k := c.row("from").Message.Key
			c.refused(engine.ErrDuplicate, func() error { _, err := move(c, engine.Move{Key: k, To: "t"}); return err })
			_, err = move(c, engine.Move{Key: k, To: "t", DropDuplicate: true})
			c.must(err)
			c.wantIDs(s, "m")
			c.wantIDs("from")
			c.kill(c.receive(s), "", "") // and back to the subscription, which does not detect duplicates
			_, err = move(c, engine.Move{Key: c.key(s.DeadLetter())})
			c.must(err)
			c.wantIDs(s, "m")
		},
		"OPS-10 rewritten": func(c *clocked) { // the id that an action gave the message counts
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.must(c.ns.RemoveRule(c.now, s, engine.DefaultRule, ""))
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "r", Action: "SET sys.MessageId = 'new'"}, ""))
			c.step()
			c.sends("t", "old")
			c.detecting("q")
			c.sends("q", "new")
			k := c.row(s).Message.Key
			c.refused(engine.ErrDuplicate, func() error { _, err := move(c, engine.Move{Key: k, To: "q"}); return err })
			c.queue("r", engine.Config{RequiresDuplicateDetection: true})
			c.sends("r", "old")
			_, err := move(c, engine.Move{Key: k, To: "r"})
			c.must(err)
			c.duplicate("r", engine.Content{MessageID: "new"})
		},
		"OPS-10 without an id": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.DuplicateIDs = 1 })
			c.detecting("q")
			c.queue("from", engine.Config{})
			c.sends("from", "", "", "a", "b")
			for range 2 {
				_, err := move(c, engine.Move{Key: c.rows("from")[0].Message.Key, To: "q"})
				c.must(err)
			}
			_, err := move(c, engine.Move{Key: c.rows("from")[0].Message.Key, To: "q"})
			c.must(err)
			k := c.row("from").Message.Key
			c.refused(engine.ErrBusy, func() error { _, err := move(c, engine.Move{Key: k, To: "q"}); return err })
			c.wantIDs("q", "", "", "a")
		},
	})
}
