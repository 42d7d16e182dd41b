package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
)

func TestSequence(t *testing.T) {
	run(t, rules{
		"SEQ-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			for i := range 3 {
				c.equal(c.send("q", engine.Content{}), engine.Seq(i+1))
			}
			if _, err := c.trySend("q"); err == nil { // what is refused takes no number
				c.Error("an empty batch was accepted")
			}
			c.pass(second)
			c.equal(c.send("q", engine.Content{}), engine.Seq(4))
			c.queue("other", engine.Config{})
			c.equal(c.send("other", engine.Content{}), engine.Seq(1))
		},
		"SEQ-2": func(c *clocked) {
			p, _ := engine.LookupProperty(engine.Queue, "EnablePartitioning")
			if err := p.Set(&engine.Config{}, c.limits, engine.Queue, "true"); !errors.Is(err, engine.ErrArgument) {
				c.Errorf("got %v", err)
			}
		},
		"SEQ-4 activation, SCH-5": func(c *clocked) {
			c.queue("q", engine.Config{})
			seq := c.send("q", engine.Content{ScheduledFor: morning.Add(second)})
			c.at(second)
			d := c.receive("q")
			c.equal(d.Message.Seq, seq+1)
			c.equal(d.Message.EnqueuedSeq, seq+1)
			c.equal(d.Message.EnqueuedAt, morning.Add(second))
			c.equal(d.Message.State, engine.Active)
		},
		"SEQ-4, SEQ-5 subscription": func(c *clocked) {
			c.topic("t", engine.Config{})
			c.sends("t", "nobody's")
			s := c.sub("t", "s", engine.Config{})
			seq := c.send("t", engine.Content{})
			c.equal(seq, engine.Seq(2))
			d := c.receive(s)
			c.equal(d.Message.Seq, engine.Seq(1))
			c.equal(d.Message.EnqueuedSeq, seq)
		},
		"SEQ-4, SEQ-5 resubmission": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.kill(c.receive("q"), "", "")
			c.pass(second)
			seq, err := c.ns.Move(c.now, engine.Move{Key: c.row("q/$DeadLetterQueue").Message.Key}, "")
			c.must(err)
			c.step()
			d := c.receive("q")
			c.equal(d.Message.Seq, seq)
			c.equal(seq, engine.Seq(2))
			c.equal(d.Message.EnqueuedSeq, engine.Seq(2))
			c.equal(d.Message.EnqueuedAt, c.now)
		},
		"SEQ-5": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			r := c.row("q")
			c.equal(r.Message.EnqueuedSeq, r.Message.Seq)
		},
		"SEQ-6": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.pass(7 * second)
			c.sends("q", "m")
			c.equal(c.row("q").Message.EnqueuedAt, morning.Add(7*second))
		},
		"SEQ-7": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{MessageID: "expired", TTL: second})
			c.sends("q", "locked", "deferred", "c", "d")
			c.receive("q")
			locked := c.receive("q")
			c.setAside(c.receive("q"))
			c.release(c.inbox[0])
			c.at(second)
			c.equal(c.receive("q").Content.MessageID(), "c")
			c.release(locked)
			c.equal(c.receive("q").Content.MessageID(), "locked")
			c.equal(c.receive("q").Content.MessageID(), "d")
		},
		"SEQ-8 abandon": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "A", "B")
			c.abandon(c.receive("q"))
			c.equal(c.receive("q").Content.MessageID(), "A")
		},
		"SEQ-8 release": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "A", "B")
			c.release(c.receive("q"))
			c.equal(c.receive("q").Content.MessageID(), "A")
		},
		"SEQ-8 lock expiry": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "A", "B")
			c.receive("q")
			c.at(minute)
			c.equal(c.receive("q").Content.MessageID(), "A")
		},
		"SEQ-8 many locks": func(c *clocked) { // more than one step gives back
			c.limit(func(l *engine.Limits) { l.BatchSize = 1 << 30 })
			c.queue("q", engine.Config{})
			batch := make([]engine.Content, 3000)
			for i := range batch {
				batch[i].MessageID = fmt.Sprint(i + 1)
			}
			_, err := c.trySend("q", batch...)
			c.must(err)
			link := c.attach("q", 2999)  // the last one stays
			for i := 2998; i >= 0; i-- { // their locks end in reverse order
				if i%500 == 0 {
					c.pass(ms)
				}
				_, err := c.ns.Renew(c.now, c.inbox[i].Token(), "", "")
				c.must(err)
			}
			c.detach(link, engine.ByClient)
			c.pass(minute)
			c.equal(c.receive("q").Content.MessageID(), "1")
		},
		"SEQ-9": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			a, b := c.receive("q"), c.receive("q")
			c.complete(b)
			c.complete(a)
			c.wantCounts("q", engine.Counts{})
		},
	})
}

func TestMessages(t *testing.T) {
	run(t, rules{
		"MSG-1": func(c *clocked) { // a message sent again has fresh values
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.abandon(c.receive("q"))
			d := c.receive("q")
			content, err := d.Content.Content()
			c.must(err)
			c.pass(second)
			c.send("q", content)
			again := c.receive("q").Message
			c.equal(again.Seq, engine.Seq(2))
			c.equal(again.DeliveryCount, uint32(0))
			c.equal(again.EnqueuedAt, c.now)
			c.equal(again.Key == d.Message.Key, false)
		},
		"MSG-3": func(c *clocked) { // every kind of property, in order
			c.queue("q", engine.Config{})
			want := value.Properties{
				{Name: "null"}, {Name: "bool", Value: value.OfBool(true)}, {Name: "int", Value: value.OfInt(-1)}, {Name: "long", Value: value.OfLong(1 << 40)},
				{Name: "double", Value: value.OfDouble(0.1)}, {Name: "text", Value: value.OfString("é")}, {Name: "binary", Value: value.OfBinary([]byte{0, 255})},
				{Name: "date", Value: value.OfDateTimeOffset(5)}, {Name: "raw", Value: value.OfRaw([]byte{0x45})}, {Name: "int", Value: value.OfInt(2)},
			}
			c.send("q", engine.Content{Properties: want})
			c.pass(second)
			got, err := c.receive("q").Content.Content()
			c.must(err)
			if d := cmp.Diff(want, got.Properties, cmp.Comparer(func(a, b value.Value) bool { return a == b })); d != "" {
				c.Error(d)
			}
		},
		"MSG-4": func(c *clocked) { // the casing of names is kept
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{Properties: value.Properties{{Name: "Region", Value: value.OfString("eu")}}})
			got, err := c.receive("q").Content.Content()
			c.must(err)
			v, ok := got.Properties.LookupFold("rEGION")
			c.equal(ok && v == value.OfString("eu") && got.Properties[0].Name == "Region", true)
		},
		"MSG-6": func(c *clocked) { // all or none
			c.limit(func(l *engine.Limits) { l.MessageSize, l.BatchSize = 1000, 2500 })
			c.queue("q", engine.Config{})
			c.topic("t", engine.Config{})
			c.sub("t", "s", engine.Config{})
			large := engine.Content{Subject: strings.Repeat("s", 1000)}
			for _, p := range []engine.Path{"q", "t"} {
				batch := c.submissions(engine.Content{}, large, engine.Content{})
				c.refused(engine.ErrTooLarge, func() error { _, err := c.ns.Send(c.now, p, batch, ""); return err })
			}
			half := engine.Content{Subject: strings.Repeat("s", 900)}
			batch := c.submissions(half, half, half)
			c.refused(engine.ErrTooLarge, func() error { _, err := c.ns.Send(c.now, "q", batch, ""); return err })
			c.refused(engine.ErrArgument, func() error { _, err := c.ns.Send(c.now, "q", nil, ""); return err })
			c.equal(c.send("q", half), engine.Seq(1))
		},
		"MSG-7": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "before")
			seqs, err := c.trySend("q", engine.Content{MessageID: "a"}, engine.Content{MessageID: "b"}, engine.Content{MessageID: "c"})
			c.must(err)
			c.equal(slices.Equal(seqs, []engine.Seq{2, 3, 4}), true)
			c.wantIDs("q", "before", "a", "b", "c")
		},
		"MSG-8": func(c *clocked) { // what the store refuses leaves nothing
			c.queue("q", engine.Config{})
			_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{}, engine.Content{}), "")
			c.must(err)
			c.ns.Flush(c.now, true)
			c.ns.Rollback()
			c.step()
			c.wantCounts("q", engine.Counts{})
			c.equal(c.state("q").SizeInBytes, int64(0))
			c.equal(c.send("q", engine.Content{}), engine.Seq(1))
			c.pass(second)
			c.wantCounts("q", engine.Counts{Active: 1})
		},
		"nowhere to send to": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			for p, kind := range map[engine.Path]error{"nowhere": engine.ErrNotFound, s: engine.ErrNotAllowed, "q/$DeadLetterQueue": engine.ErrNotAllowed, s.DeadLetter(): engine.ErrNotAllowed} {
				batch := c.submissions(engine.Content{})
				c.refused(kind, func() error { _, err := c.ns.Send(c.now, p, batch, ""); return err })
			}
		},
	})
}

func TestPeek(t *testing.T) {
	run(t, rules{
		"PEEK-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b")
			d := c.receive("q")
			before := c.rows("q")
			for range 2 {
				rows, err := c.ns.Peek(c.now, "q", 1, 10, "")
				c.must(err)
				if diff := cmp.Diff(before, rows); diff != "" {
					c.Error(diff)
				}
			}
			c.step()
			c.complete(d)
			c.equal(c.receive("q").Content.MessageID(), "b")
		},
		"PEEK-2, PEEK-3": func(c *clocked) { // every state, by number, from the one given
			c.queue("q", engine.Config{})
			c.sends("q", "locked", "deferred")
			c.send("q", engine.Content{MessageID: "scheduled", ScheduledFor: c.now + 1000})
			c.sends("q", "active")
			c.receive("q")
			c.setAside(c.receive("q"))
			all := []string{"locked", "deferred", "scheduled", "active"}
			for from := engine.Seq(-1); from <= 5; from++ {
				rows, err := c.ns.Peek(c.now, "q", from, 10, "")
				c.must(err)
				ids := []string{}
				for _, r := range rows {
					ids = append(ids, r.Content.MessageID())
				}
				if want := all[min(4, max(0, from-1)):]; !slices.Equal(ids, want) {
					c.Errorf("from %d there are %q; want %q", from, ids, want)
				}
			}
		},
		"PEEK-4, PEEK-6": func(c *clocked) {
			c.queue("q", engine.Config{})
			rows, err := c.ns.Peek(c.now, "q", 1, 10, "")
			c.must(err)
			c.equal(len(rows), 0)
			c.sends("q", "a", "b")
			rows, err = c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			c.equal(len(rows), 1)
		},
		"PEEK-5": func(c *clocked) { // without sessions, all of them
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{SessionID: "a"})
			c.send("q", engine.Content{SessionID: "b"})
			rows, err := c.ns.Peek(c.now, "q", 1, 10, "")
			c.must(err)
			c.equal(len(rows), 2)
		},
		"PEEK-7": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.PeekCount = 2 })
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c")
			rows, err := c.ns.Peek(c.now, "q", 1, 1000, "")
			c.must(err)
			c.equal(len(rows), 2)
			for _, n := range []int{0, -1} {
				c.refused(engine.ErrOutOfRange, func() error { _, err := c.ns.Peek(c.now, "q", 1, n, ""); return err })
			}
		},
		"PEEK-8": func(c *clocked) { // no lock comes with it: LOCK-11, TTL-14
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.equal(c.row("q").Message.LockedUntil, engine.Instant(0))
			c.equal(c.row("q").LockedBy, "")
		},
		"PEEK-9": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "dead", "alive")
			c.kill(c.receive("q"), "", "")
			c.wantIDs("q", "alive")
			rows, err := c.ns.Peek(c.now, "q/$DeadLetterQueue", 1, 10, "")
			c.must(err)
			c.equal(len(rows) == 1 && rows[0].Content.MessageID() == "dead", true)
		},
		"PEEK-10": func(c *clocked) {
			c.queue("q", engine.Config{AutoDeleteOnIdle: 5 * minute})
			c.at(4 * minute)
			_, err := c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			c.step()
			c.at(9*minute - ms)
			c.equal(c.exists("q"), true)
			c.at(9*minute + 10*second)
			c.equal(c.exists("q"), false)
		},
		"SCH-4": func(c *clocked) { // a topic shows what is scheduled, a subscription does not
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.queue("q", engine.Config{})
			for _, p := range []engine.Path{"t", "q"} {
				c.send(p, engine.Content{MessageID: "later", ScheduledFor: c.now + 1000})
				rows, err := c.ns.Peek(c.now, p, 1, 10, "")
				c.must(err)
				c.equal(len(rows) == 1 && rows[0].Message.State == engine.Scheduled, true)
			}
			rows, err := c.ns.Peek(c.now, s, 1, 10, "")
			c.must(err)
			c.equal(len(rows), 0)
		},
		"lists": func(c *clocked) { // each class by itself
			c.queue("q", engine.Config{})
			c.sends("q", "locked", "deferred", "active", "another")
			c.send("q", engine.Content{MessageID: "scheduled", ScheduledFor: c.now + 1000})
			c.receive("q")
			c.setAside(c.receive("q"))
			for class, want := range map[engine.Class]string{
				engine.ClassActive: "[active another]", engine.ClassLocked: "[locked]", engine.ClassDeferred: "[deferred]",
				engine.ClassScheduled: "[scheduled]", engine.ClassAll: "[locked deferred active another scheduled]",
			} {
				rows, err := c.ns.Browse(engine.Browse{Path: "q", Class: class, Limit: 10})
				c.must(err)
				var ids []string
				for _, r := range rows {
					ids = append(ids, r.Content.MessageID())
				}
				c.equal(fmt.Sprint(ids), want)
			}
			c.equal(len(c.ns.Deferred(10)), 1)
			rows, err := c.ns.Browse(engine.Browse{Path: "q", Class: engine.ClassActive, Limit: 1})
			c.must(err)
			c.equal(len(rows), 1)
		},
	})
}
