package engine_test

import (
	"fmt"
	"math"
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
			if _, err := c.trySend("q"); err == nil { // a refused send takes no number
				c.Error("an empty batch was accepted")
			}
			c.pass(second)
			c.equal(c.send("q", engine.Content{}), engine.Seq(4))
			c.queue("other", engine.Config{})
			c.equal(c.send("other", engine.Content{}), engine.Seq(1))
		},
		"SEQ-2": func(c *clocked) {
			// A partitioned entity has sixteen times the size, and one partition.
			c.queue("q", engine.Config{EnablePartitioning: true, SupportOrdering: true})
			cfg := c.state("q").Config
			c.equal(cfg.MaxMegabytes(), int64(1024))
			c.equal(cfg.MaxBytes(), int64(16<<30))
			c.equal(cfg.SupportOrdering, true) // stored as sent
			for i := range 3 {
				c.equal(c.send("q", engine.Content{PartitionKey: fmt.Sprint(i)}), engine.Seq(i+1))
			}
		},
		"SEQ-3": func(c *clocked) { // a message keeps its number, whatever happens to it in its entity
			c.queue("q", engine.Config{LockDuration: 10 * second})
			c.sends("q", "before")
			seq := c.send("q", engine.Content{MessageID: "m"})
			c.receive("q") // locked, so that it is not received again
			same := func(p engine.Path, what string) engine.Delivery {
				c.Helper()
				d := c.receive(p)
				if d.Content.MessageID() == "before" { // its lock has expired too
					d = c.receive(p)
				}
				if d.Message.Seq != seq || d.Message.EnqueuedSeq != seq || d.Message.EnqueuedAt != morning {
					c.Fatalf("after %s it is %+v", what, d.Message)
				}
				return d
			}
			c.abandon(same("q", "receive"))
			c.release(same("q", "abandon"))
			same("q", "release")
			c.pass(10 * second)
			c.must(c.settle(same("q", "lock expiry"), engine.Defer))
			d := c.fetch("q", seq)
			c.equal(d.Message.Seq, seq)
			c.abandon(d)
			c.kill(c.fetch("q", seq), "", "")
			c.abandon(same("q/$DeadLetterQueue", "dead-letter"))
			same("q/$DeadLetterQueue", "abandon there")
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
			c.abandon(d)
			c.kill(c.receive(s), "", "")
			c.equal(c.row(s.DeadLetter()).Message.EnqueuedSeq, seq)
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
		"SEQ-8 many locks": func(c *clocked) { // more locks expire than one step releases
			c.limit(func(l *engine.Limits) { l.BatchSize = 1 << 30 })
			c.queue("q", engine.Config{})
			batch := make([]engine.Content, 3000)
			for i := range batch {
				batch[i].MessageID = fmt.Sprint(i + 1)
			}
			_, err := c.trySend("q", batch...)
			c.must(err)
			link := c.attach("q", 2999)  // the last one stays
			for i := 2998; i >= 0; i-- { // their locks expire in reverse order
				if i%500 == 0 {
					c.pass(ms)
				}
				_, err := c.ns.RenewLock(c.now, c.inbox[i].Token(), "", "")
				c.must(err)
			}
			c.detach(link, engine.DetachedByClient)
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
			d := c.fetch("q", c.setAside(c.receive("q")))
			c.equal(d.Message.DeliveryCount, uint32(1))
			content, err := d.Content.Content()
			c.must(err)
			c.pass(second)
			c.send("q", content)
			again := c.receive("q").Message
			c.equal(again.Seq, engine.Seq(2))
			c.equal(again.DeliveryCount, uint32(0))
			c.equal(again.EnqueuedSeq, engine.Seq(2))
			c.equal(again.EnqueuedAt, c.now)
			c.equal(again.State, engine.Active)
			c.equal(again.LockedUntil, c.now.Add(minute))
			c.equal(again.Key == d.Message.Key, false)
			c.equal(again.Token() == d.Token(), false)
			c.kill(d, "Bad", "")
			dead := c.receive("q/$DeadLetterQueue")
			content, err = dead.Content.Content()
			c.must(err)
			content.Properties = dead.Message.Properties(content) // as a client copies them
			seq := c.send("q", content)
			c.equal(c.rows("q")[1].Message.Seq, seq)
			if x := c.rows("q")[1].Message.Extra; x != nil {
				c.Errorf("a dead letter that was sent again still has %+v", x)
			}
		},
		"MSG-3": func(c *clocked) { // every kind of property, in order, bit by bit
			c.queue("q", engine.Config{})
			all := []value.Value{
				{}, value.OfBool(true), value.OfUByte(255), value.OfByte(-128), value.OfChar('é'), value.OfUShort(1<<16 - 1), value.OfShort(-1 << 15),
				value.OfUInt(1<<32 - 1), value.OfInt(-1 << 31), value.OfULong(1<<64 - 1), value.OfLong(-1 << 63), value.OfFloat(0.1), value.OfDouble(0.1),
				value.OfDecimal32(0x32800001), value.OfDecimal64(0x31c0000000000001), value.OfDecimal128([16]byte{0x30, 15: 1}),
				value.OfString("é"), value.OfSymbol("s"), value.OfBinary([]byte{0, 255}), value.OfUUID([16]byte{1, 15: 2}), value.OfTimestamp(-1),
				value.OfTimespan(1<<63 - 1), value.OfURI("urn:x"), value.OfDateTimeOffset(5), value.OfRaw([]byte{0x45}),
			}
			var want value.Properties
			for i, v := range all {
				c.equal(v.Kind(), value.Kind(i)) // no kind is missing
				want = append(want, value.Property{Name: v.Kind().String(), Value: v})
			}
			c.equal(value.Kind(len(all)), value.Raw+1)
			want = append(want, value.Property{Name: "int", Value: value.OfInt(2)}, value.Property{Name: "nan", Value: value.OfDouble(math.NaN())})
			c.send("q", engine.Content{Properties: want})
			c.pass(second)
			got, err := c.receive("q").Content.Content()
			c.must(err)
			if d := cmp.Diff(want, got.Properties, cmp.Comparer(func(a, b value.Value) bool { return a == b })); d != "" {
				c.Error(d)
			}
		},
		"MSG-4": func(c *clocked) { // the case of names is kept
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
		"MSG-8": func(c *clocked) { // a refused batch leaves no message
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
		"MSG-8 killed": func(c *clocked) { // after a crash before the answer there is no message, after the answer there are all
			c.queue("q", engine.Config{})
			for _, acknowledged := range []bool{false, true} {
				_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{}, engine.Content{}), "")
				c.must(err)
				if acknowledged {
					c.step()
				} else {
					c.ns.Flush(c.now, true) // flushed to the store, which does not receive it
				}
				c.restart()
				c.wantCounts("q", engine.Counts{Active: map[bool]int64{true: 2}[acknowledged]})
			}
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
		"PEEK-2, PEEK-3": func(c *clocked) { // messages in every state, by number, from the given one
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
					c.Errorf("peeking from %d returns %q; want %q", from, ids, want)
				}
			}
		},
		"PEEK-6": func(c *clocked) { // callers continue until nothing is returned
			c.limit(func(l *engine.Limits) { l.BatchSize = 1 << 30 })
			c.queue("q", engine.Config{})
			large := make([]engine.Content, 260)
			for i := range large {
				large[i].Subject = strings.Repeat("s", 60<<10)
			}
			_, err := c.trySend("q", large...)
			c.must(err)
			var seen engine.Seq
			for calls := 0; ; calls++ {
				rows, err := c.ns.Peek(c.now, "q", seen+1, 250, "")
				c.must(err)
				if len(rows) == 0 {
					c.equal(calls >= 2, true)
					break
				}
				for _, r := range rows {
					seen++
					c.equal(r.Message.Seq, seen)
				}
			}
			c.equal(seen, engine.Seq(260))
		},
		"PEEK-5": func(c *clocked) { // without sessions, all messages
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
		"PEEK-7 by default": func(c *clocked) {
			c.queue("q", engine.Config{})
			_, err := c.trySend("q", make([]engine.Content, 251)...)
			c.must(err)
			for asked, want := range map[int]int{249: 249, 250: 250, 251: 250, 256: 250, 1000: 250} {
				rows, err := c.ns.Peek(c.now, "q", 1, asked, "")
				c.must(err)
				c.equal(len(rows), want)
			}
		},
		"PEEK-8": func(c *clocked) { // no token with which a lock could be settled: LOCK-11, TTL-14
			c.queue("q", engine.Config{DefaultMessageTimeToLive: minute})
			c.sends("q", "m")
			rows, err := c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			m := rows[0].Message
			c.equal(m.LockedUntil, engine.Instant(0))
			c.equal(rows[0].Lock, engine.Lock{})
			c.equal(m.ExpiresAt, engine.Instant(0))
			for _, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release} {
				c.refused(engine.ErrLockLost, func() error { return c.ns.Settle(c.now, engine.Settlement{Token: m.Token(), Outcome: o}) })
			}
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
		"§9 queue": func(c *clocked) { // the table: which messages are in which subqueue
			c.queue("q", engine.Config{})
			c.sends("q", "dead", "locked", "deferred", "active")
			c.send("q", engine.Content{MessageID: "scheduled", ScheduledFor: c.now + 1000})
			c.kill(c.receive("q"), "", "")
			c.receive("q")
			c.setAside(c.receive("q"))
			c.wantPeek("q", "locked", "deferred", "active", "scheduled")
			c.wantPeek("q/$DeadLetterQueue", "dead")
		},
		"§9 subscription": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "dead", "locked", "deferred", "active")
			c.send("t", engine.Content{MessageID: "scheduled", ScheduledFor: c.now + 1000})
			c.kill(c.receive(s), "", "")
			c.receive(s)
			c.setAside(c.receive(s))
			c.wantPeek(s, "locked", "deferred", "active")
			c.wantPeek(s.DeadLetter(), "dead")
			c.wantPeek("t", "scheduled")
		},
		"SCH-4": func(c *clocked) { // a topic shows scheduled messages, a subscription does not
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
		"lists": func(c *clocked) { // each class separately
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
			c.equal(len(c.ns.Deferred("", 1, 10)), 1)
			rows, err := c.ns.Browse(engine.Browse{Path: "q", Class: engine.ClassActive, Limit: 1})
			c.must(err)
			c.equal(len(rows), 1)
		},
	})
}

// wantPeek compares the ids of the messages that a client's peek returns.
func (c *clocked) wantPeek(p engine.Path, want ...string) {
	c.Helper()
	rows, err := c.ns.Peek(c.now, p, 1, 250, "")
	c.must(err)
	var got []string
	for _, r := range rows {
		got = append(got, r.Content.MessageID())
	}
	if !slices.Equal(got, want) {
		c.Fatalf("peeking at %s returns %q; want %q", p, got, want)
	}
}
