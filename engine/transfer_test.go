package engine_test

import (
	"fmt"
	"testing"
	"time"

	"mayfly/engine"
)

func (c *clocked) trySendVia(via, to engine.Path, messages ...engine.Content) ([]engine.Seq, error) {
	c.Helper()
	seqs, err := c.ns.SendVia(c.now, via, to, c.submissions(messages...), c.actor)
	c.step()
	return seqs, err
}

func TestTransfers(t *testing.T) {
	const tdlq = engine.Path("via/$Transfer/$DeadLetterQueue")
	// stranded sends messages via "via" to a destination that refuses them.
	stranded := func(c *clocked, ids ...string) {
		c.Helper()
		c.queue("via", engine.Config{})
		c.queue("dest", engine.Config{Status: engine.StatusDisabled})
		for _, id := range ids {
			_, err := c.trySendVia("via", "dest", engine.Content{MessageID: id, TTL: second})
			c.must(err)
		}
	}
	run(t, rules{
		"DLQ-3": func(c *clocked) { // every entity has a transfer dead-letter subqueue, which has none of its own
			c.queue("via", engine.Config{})
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			for _, p := range []engine.Path{"via", "t", s} {
				d, ok, err := c.tryReceive(p.Transfer(), engine.PeekLock)
				c.must(err)
				c.equal(ok, false)
				c.equal(d.Content, engine.Packed(""))
				_, err = c.ns.Peek(c.now, p.Transfer(), 1, 1, "")
				c.must(err)
				c.refused(engine.ErrNotAllowed, func() error { return c.ns.Delete(c.now, p.Transfer(), "") })
				c.refused(engine.ErrNotAllowed, func() error {
					_, err := c.ns.Create(c.now, engine.Queue, p.Transfer(), engine.Config{}, "")
					return err
				})
				c.refused(engine.ErrNotAllowed, func() error {
					_, err := c.ns.Send(c.now, p.Transfer(), c.submissions(engine.Content{}), "")
					return err
				})
			}
		},
		"DLQ-3 like a dead-letter queue": func(c *clocked) { // messages there do not expire, and cannot be dead-lettered, not even by failed deliveries
			stranded(c, "m")
			c.at(30 * 24 * time.Hour)
			for range 20 {
				c.abandon(c.receive(tdlq))
			}
			d := c.receive(tdlq)
			c.equal(d.Message.DeliveryCount, uint32(0))
			c.equal(d.Message.LockedUntil, c.now.Add(time.Minute)) // with the lock duration of via
			c.refused(engine.ErrNotAllowed, func() error { return c.settle(d, engine.DeadLetter) })
			c.refused(engine.ErrNotAllowed, func() error { return c.ns.Extend(c.now, d.Message.Key, c.now+1000, "") })
			n := c.setAside(d)
			c.complete(c.fetch(tdlq, n))
			c.wantCounts("via", engine.Counts{})
		},
		"DLQ-3 rights": func(c *clocked) { // its status is that of its entity
			stranded(c, "m")
			open := c.attach(tdlq, 0)
			c.update("via", func(cfg *engine.Config) { cfg.Status = engine.StatusReceiveDisabled })
			c.equal(c.ended[0].ID, open)
			c.open = 0
			c.refused(engine.ErrDisabled, func() error { return c.ns.Attach(c.now, engine.Link{ID: 90, Path: tdlq}) })
		},
		"FWD-14": func(c *clocked) { // the destination accepts the message as if it were sent there
			c.queue("via", engine.Config{})
			c.queue("dest", engine.Config{})
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("dest", "first")
			c.at(second)
			seqs, err := c.trySendVia("via", "dest", engine.Content{MessageID: "m"}, engine.Content{MessageID: "later", ScheduledFor: morning.Add(time.Minute)})
			c.must(err)
			c.equal(fmt.Sprint(seqs), "[2 3]")
			_, err = c.trySendVia("T", "T", engine.Content{MessageID: "n"})
			c.must(err)
			c.wantIDs("dest", "first", "m", "later")
			c.wantIDs(s, "n")
			c.wantCounts("via", engine.Counts{})
			for _, p := range []engine.Path{"via", "dest", "t"} { // sending via an entity counts as use of it and of the destination
				c.equal(c.state(p).AccessedAt, morning.Add(second))
			}
		},
		"FWD-14 disabled": func(c *clocked) { // the message gets into the transfer dead-letter subqueue of the entity that it was sent via
			stranded(c, "a", "b")
			for i, id := range []string{"a", "b"} {
				r := c.rows(tdlq)[i]
				c.equal(r.Content.MessageID(), id)
				c.equal(r.Message.Seq, engine.Seq(i+1))
				c.equal(r.Message.Extra.Reason, failed)
				c.equal(r.Message.Extra.Description, "Destination 'dest' is disabled.")
				c.equal(r.Message.Extra.DeadAt, morning)
				c.equal(r.Message.Extra.To, "dest")
				c.equal(r.Message.Extra.Source, "") // it was not dead-lettered before (DLQ-9)
			}
			e := c.events[len(c.events)-1]
			c.equal(e.Kind, engine.EventTransferFailed)
			c.equal(fmt.Sprint(e.Path, e.To, e.Reason, e.Content.MessageID(), e.Message.Seq), fmt.Sprint("via", "dest", failed, "b", 2))
			c.wantCounts("via", engine.Counts{TransferDeadLetter: 2})
			c.wantCounts("dest", engine.Counts{})
			c.equal(c.state("via").SizeInBytes, c.state("via").Bytes)
			c.equal(c.state("via").Bytes > 0, true)
			c.restart()
			c.wantCounts("via", engine.Counts{TransferDeadLetter: 2})
			c.grab(tdlq)
			c.grab(tdlq)
			c.equal(c.state("via").Bytes, int64(0))
			c.topic("t", engine.Config{Status: engine.StatusSendDisabled}) // topics behave the same, on either side
			c.topic("t2", engine.Config{})
			_, err := c.trySendVia("t2", "t", engine.Content{MessageID: "m"})
			c.must(err)
			c.wantCounts("t2", engine.Counts{TransferDeadLetter: 1})
			c.complete(c.receive("t2/$Transfer/$DeadLetterQueue"))
		},
		"FWD-14 refused": func(c *clocked) { // a refused message is in neither dead-letter subqueue
			c.limit(func(l *engine.Limits) { l.EntitySize = 100 })
			stranded(c)
			c.queue("full", engine.Config{})
			c.big("full", 90)
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.queue("off", engine.Config{Status: engine.StatusSendDisabled})
			for _, tc := range []struct {
				via, to engine.Path
				err     error
			}{
				{"via", "gone", engine.ErrNotFound},
				{"via", "full", engine.ErrQuota},
				{"gone", "via", engine.ErrNotFound},
				{"off", "via", engine.ErrDisabled},
				{"off", "dest", engine.ErrDisabled},
				{"off", "off", engine.ErrDisabled},
				{"via", s, engine.ErrNotAllowed},
				{s, "via", engine.ErrNotAllowed},
				{"via", "dest/$DeadLetterQueue", engine.ErrNotAllowed},
				{"via", tdlq, engine.ErrNotAllowed},
				{tdlq, "via", engine.ErrNotAllowed},
				{"full", "dest", engine.ErrQuota}, // the entity in which it would be stored must have room
			} {
				batch := c.submissions(engine.Content{MessageID: "m"})
				c.refused(tc.err, func() error { _, err := c.ns.SendVia(c.now, tc.via, tc.to, batch, ""); return err })
			}
			c.refused(engine.ErrArgument, func() error { _, err := c.ns.SendVia(c.now, "via", "dest", nil, ""); return err })
		},
		"FWD-14 admitted": func(c *clocked) { // the destination admits the message, even if disabled; the via entity checks only the size
			c.queue("via", engine.Config{RequiresSession: true})
			c.queue("narrow", engine.Config{MaxMessageSizeInKilobytes: 1})
			for _, status := range []engine.Status{engine.StatusActive, engine.StatusDisabled} {
				c.queue("plain", engine.Config{Status: status})
				c.queue("sessions", engine.Config{RequiresSession: true, Status: status})
				c.queue("small", engine.Config{MaxMessageSizeInKilobytes: 1, Status: status})
				large, err := engine.Submit(engine.Content{}, make([]byte, 1025), 0, c.keys.Next(), c.limits)
				c.must(err)
				c.refused(engine.ErrTooLarge, func() error {
					_, err := c.ns.SendVia(c.now, "narrow", "plain", []engine.Submission{large}, "")
					return err
				})
				c.refused(engine.ErrTooLarge, func() error {
					_, err := c.ns.SendVia(c.now, "via", "small", []engine.Submission{large}, "")
					return err
				})
				c.refused(engine.ErrNotAllowed, func() error {
					_, err := c.ns.SendVia(c.now, "narrow", "sessions", c.submissions(engine.Content{}), "")
					return err
				})
				_, err = c.trySendVia("via", "plain", engine.Content{MessageID: "of no session"})
				c.must(err)
				_, err = c.trySendVia("narrow", "sessions", engine.Content{SessionID: "s"})
				c.must(err)
				for p, q := range map[engine.Path]engine.Path{"plain": "via", "sessions": "narrow"} {
					want := engine.Counts{Active: 1}
					if status == engine.StatusDisabled {
						want = engine.Counts{}
						c.wantCounts(q, engine.Counts{TransferDeadLetter: 1})
					}
					c.wantCounts(p, want)
				}
				for _, p := range []engine.Path{"plain", "sessions", "small"} {
					c.remove(p)
				}
			}
			c.complete(c.receive("via/$Transfer/$DeadLetterQueue")) // DLQ-7
		},
		"FWD-14, DUP-1": func(c *clocked) { // a stranded message was not accepted, so it is no duplicate, and no later message is a duplicate of it
			c.detecting("by")
			c.detecting("to")
			c.accepted("by", engine.Content{MessageID: "a"})
			c.accepted("to", engine.Content{MessageID: "b"})
			c.update("to", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
			for _, id := range []string{"a", "b", "c", "c"} {
				seqs, err := c.trySendVia("by", "to", engine.Content{MessageID: id})
				c.must(err)
				c.equal(seqs[0] > 0, true)
			}
			c.wantIDs("by/$Transfer/$DeadLetterQueue", "a", "b", "c", "c")
			c.accepted("by", engine.Content{MessageID: "c"})
			c.update("to", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			rows := c.rows("by/$Transfer/$DeadLetterQueue")
			c.refused(engine.ErrDuplicate, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: rows[1].Message.Key}, ""); return err })
			c.move(engine.Move{Key: rows[2].Message.Key})
			c.refused(engine.ErrDuplicate, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: rows[3].Message.Key}, ""); return err })
		},
		"FWD-14, DLQ-11": func(c *clocked) { // to the byte: the reason counts as well
			c.limit(func(l *engine.Limits) { l.EntitySize = 1000 })
			stranded(c)
			s := c.submissions(engine.Content{})
			more := s[0].Size() + int64(len(failed)+len("Destination 'dest' is disabled.")+len("dest"))
			c.big("via", 1000-more+1)
			d := c.receive("via")
			c.refused(engine.ErrQuota, func() error { _, err := c.ns.SendVia(c.now, "via", "dest", s, ""); return err })
			c.complete(d)
			c.big("via", 1000-more)
			_, err := c.ns.SendVia(c.now, "via", "dest", s, "")
			c.must(err)
			c.step()
			c.equal(c.state("via").Bytes, int64(1000))
		},
		"FWD-14, RT-4": func(c *clocked) { // both transfer counts are separate
			stranded(c, "a", "b")
			c.sends("via", "x", "y", "z")
			c.setAside(c.receive("via"))
			c.update("via", func(cfg *engine.Config) { cfg.Status = engine.StatusReceiveDisabled })
			c.queue("on", engine.Config{})
			c.update("via", func(cfg *engine.Config) { cfg.ForwardTo = "on" })
			c.sweep()
			want := engine.Counts{Active: 2, Deferred: 1, Transfer: 2, TransferDeadLetter: 2}
			c.wantCounts("via", want)
			c.equal(want.ActiveMessageCount(), int64(1))
			c.equal(want.MessageCount(), int64(5))
			total, _ := c.ns.Totals()
			c.equal(total, want)
		},
		"FWD-14 by hand": func(c *clocked) { // an operator can move the message to its destination, or anywhere else
			stranded(c, "a", "b", "c")
			c.queue("else", engine.Config{})
			k := func() engine.Key { return c.rows(tdlq)[0].Message.Key }
			c.refused(engine.ErrDisabled, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: k()}, ""); return err })
			c.update("dest", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.equal(c.move(engine.Move{Key: k()}), engine.Seq(1))
			c.wantIDs("dest", "a")
			if x := c.row("dest").Message.Extra; x != nil {
				c.Errorf("the message's Extra is %+v", x)
			}
			c.equal(c.row("dest").Expires, c.now.Add(second))
			c.equal(c.move(engine.Move{Key: k(), To: "else"}), engine.Seq(1))
			c.remove("dest")
			c.refused(engine.ErrNotFound, func() error { _, err := c.ns.Move(c.now, engine.Move{Key: k()}, ""); return err })
			c.equal(c.move(engine.Move{Key: k(), To: "via"}), engine.Seq(4))
		},
		"FWD-14 purged": func(c *clocked) {
			stranded(c, "a", "b", "c")
			c.sends("via", "stays")
			d := c.receive(tdlq)
			pg, err := c.ns.BeginPurge(c.now, tdlq, []engine.Class{engine.ClassActive, engine.ClassDeferred})
			c.must(err)
			c.must(c.ns.PurgeSlice(c.now, &pg, 100, ""))
			c.step()
			c.equal(pg.Removed, int64(2))
			c.equal(pg.Skipped, int64(1))
			c.release(d)
			n, err := c.ns.BatchDelete(c.now, tdlq, 10, c.now, "")
			c.must(err)
			c.step()
			c.equal(n, 1)
			c.wantCounts("via", engine.Counts{Active: 1})
		},
		"FWD-14 deleted": func(c *clocked) { // PROP-14: the message is deleted with its entity, also with a topic
			stranded(c, "a")
			c.topic("t", engine.Config{})
			_, err := c.trySendVia("t", "dest", engine.Content{MessageID: "b"})
			c.must(err)
			for _, p := range []engine.Path{"via", "t"} {
				open := c.attach(p.Transfer(), 0)
				contained, err := c.ns.CountContained(p)
				c.must(err)
				c.equal(contained, int64(1))
				c.remove(p)
				c.equal(c.ended[len(c.ended)-1].ID, open)
				c.open = 0
				c.refused(engine.ErrNotFound, func() error { _, err := c.ns.Browse(engine.Browse{Path: p.Transfer()}); return err })
			}
			c.sweep()
			c.equal(len(c.store.messages), 0)
			c.step()
			c.equal(len(c.store.contents), 0)
		},
	})
}

// TestEntityWithoutTransfers checks that an entity without a transfer dead-letter subqueue,
// which the first versions stored, is refused.
func TestEntityWithoutTransfers(t *testing.T) {
	const want = `queue "orders" has no transfer dead-letter queue: it was written by an older Mayfly, which this version does not support; ` +
		"start a server of an older version on the store first, which adds it"
	c := newClocked(t, asked)
	if err := c.ns.Restore(engine.Entity{ID: 1, DeadLetterID: 2, Kind: engine.Queue, Path: "orders"}); err == nil || err.Error() != want {
		t.Errorf("Restore: %v; want %q", err, want)
	}
}
