package engine_test

import (
	"strings"
	"testing"

	"mayfly/engine"
)

// cancelIn cancels scheduled messages in a transaction.
func (c *clocked) cancelIn(id engine.TxID, p engine.Path, seqs ...engine.Seq) error {
	c.Helper()
	err := c.ns.CancelScheduledInTx(c.now, id, p, seqs)
	c.step()
	return err
}

// Cancelling a scheduled message is an operation of its transaction: only the commit does it.
func TestTransactionCancels(t *testing.T) {
	later := func(id string) engine.Content {
		return engine.Content{MessageID: id, ScheduledFor: morning.Add(10 * second)}
	}
	run(t, rules{
		"TX-1 cancel, commit": func(c *clocked) {
			c.queue("q", engine.Config{})
			a, b := c.send("q", later("a")), c.send("q", later("b"))
			tx := c.declare()
			c.must(c.cancelIn(tx, "q", a, b))
			c.wantIDs("q", "a", "b")
			c.commits(tx)
			c.wantPeek("q")
		},
		"TX-1 cancel, roll back": func(c *clocked) {
			c.queue("q", engine.Config{})
			a := c.send("q", later("a"))
			tx := c.declare()
			c.must(c.cancelIn(tx, "q", a))
			c.rollsBack(tx)
			c.wantIDs("q", "a")
			c.must(c.ns.CancelScheduled(c.now, "q", []engine.Seq{a}, "")) // clients can still cancel the message
		},
		"TX-1 cancel and send": func(c *clocked) {
			c.queue("q", engine.Config{})
			a := c.send("q", later("a"))
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "instead"))
			c.must(c.cancelIn(tx, "q", a))
			c.commits(tx, 2)
			c.wantIDs("q", "instead")
		},
		"SCH-7 too late": func(c *clocked) { // all messages are cancelled or none
			c.queue("q", engine.Config{})
			a := c.send("q", later("a"))
			tx := c.declare()
			c.must(c.cancelIn(tx, "q", a))
			c.must(c.sendIn(tx, "q", "m"))
			c.at(10 * second)
			c.refused(engine.ErrRolledBack, func() error { return second2(c.discharge(tx, engine.Commit)) })
			c.wantIDs("q", "a")
		},
		"SCH-7 refused": func(c *clocked) { // a refused operation is not part of the transaction
			c.limit(func(l *engine.Limits) { l.TransactionMessages = 3 })
			c.queue("q", engine.Config{})
			a, b, d, e := c.send("q", later("a")), c.send("q", later("b")), c.send("q", later("d")), c.send("q", later("e"))
			tx := c.declare()
			c.must(c.cancelIn(tx, "q", a, b))
			c.refused(engine.ErrMessageNotFound, func() error { return c.cancelIn(tx, "q", b) })
			c.refused(engine.ErrMessageNotFound, func() error { return c.cancelIn(tx, "q", 99) })
			c.refused(engine.ErrNotFound, func() error { return c.cancelIn(tx, "nowhere", 1) })
			c.refused(engine.ErrQuota, func() error { return c.cancelIn(tx, "q", d, e) })
			c.refused(engine.ErrTransaction, func() error { return c.cancelIn(tx+1, "q", d) })
			c.must(c.cancelIn(tx, "q"))
			c.commits(tx)
			c.wantIDs("q", "d", "e")
		},
	}, asked, swept)
}

// A confined transaction can use one entity and one partition of it, as in Service Bus.
func TestTransactionSpans(t *testing.T) {
	type step struct {
		to, via engine.Path
		content []engine.Content
		settle  engine.Path
		cancel  engine.Path
	}
	key := func(keys ...string) (out []engine.Content) {
		for _, k := range keys {
			out = append(out, engine.Content{PartitionKey: k})
		}
		return out
	}
	const spans = "Local transactions cannot span multiple entities or partitions."
	for name, tc := range map[string]struct {
		steps []step
		want  string // of the last operation; empty if it is accepted
	}{
		"TX-3 one queue":                    {[]step{{to: "q"}, {settle: "q"}, {cancel: "q"}, {to: "q"}}, ""},
		"TX-3 two queues":                   {[]step{{to: "q"}, {to: "r"}}, spans},
		"TX-3 a queue that is settled at":   {[]step{{to: "q"}, {settle: "r"}}, spans},
		"TX-3 a queue that is cancelled at": {[]step{{to: "q"}, {cancel: "r"}}, spans},
		"TX-3 in other words":               {[]step{{to: "q"}, {to: "Q"}}, ""},
		"TX-3 a dead-letter queue":          {[]step{{settle: "q/$DeadLetterQueue"}, {to: "q"}}, ""},
		"TX-3 a topic and its subscription": {[]step{{settle: "t/Subscriptions/s"}, {to: "t"}}, ""},
		"TX-3 another topic's":              {[]step{{settle: "t/Subscriptions/s"}, {to: "q"}}, spans},
		"FWD-14 by way of the queue":        {[]step{{settle: "q"}, {to: "r", via: "q"}}, ""},
		"FWD-14 by way of another":          {[]step{{settle: "r"}, {to: "r", via: "q"}}, spans},
		"TX-3 one partition":                {[]step{{to: "p", content: key("a", "a")}, {to: "p", content: key("a")}}, ""},
		"TX-3 two partitions":               {[]step{{to: "p", content: key("a")}, {to: "p", content: key("b")}}, spans},
		"TX-3 two partitions at once":       {[]step{{to: "p", content: key("a", "b")}}, spans},
		"TX-3 no partition":                 {[]step{{to: "p", content: key("")}}, "In a transaction, a message to the partitioned entity 'p' needs a SessionId"},
		"TX-3 another partition is settled": {[]step{{to: "p", content: key("a")}, {settle: "p"}}, spans},
		"TX-3 one partition is cancelled":   {[]step{{to: "p", content: key("a")}, {cancel: "p", content: key("a", "", "a")}}, ""},
		"TX-3 two partitions are cancelled": {[]step{{cancel: "p", content: key("a", "b")}}, spans},
		"TX-3 two partitions and no key":    {[]step{{cancel: "p", content: key("a", "", "b")}}, spans},
		"TX-3 a partition was cancelled":    {[]step{{cancel: "p", content: key("a", "")}, {to: "p", content: key("b")}}, spans},
		"TX-3 the session is the partition": {[]step{{to: "ps", content: []engine.Content{{SessionID: "a"}}}, {to: "ps", content: []engine.Content{{SessionID: "b"}}}}, spans},
		"TX-3 so is the id where it is the key": {
			[]step{{to: "pd", content: []engine.Content{{MessageID: "a"}}}, {to: "pd", content: []engine.Content{{MessageID: "b"}}}}, spans,
		},
		"TX-3 keys that mean nothing": {[]step{{to: "q", content: key("a")}, {to: "q", content: key("b")}}, ""},
		"FWD-14 another partition of the way": {
			[]step{{to: "q", via: "p", content: []engine.Content{{ViaPartitionKey: "a"}}}, {to: "q", via: "p", content: []engine.Content{{ViaPartitionKey: "b"}}}}, spans,
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, rules{name: func(c *clocked) {
				for _, q := range []engine.Path{"q", "r"} {
					c.queue(q, engine.Config{})
				}
				c.topic("t", engine.Config{})
				c.sub("t", "s", engine.Config{})
				c.queue("p", engine.Config{EnablePartitioning: true})
				c.queue("ps", engine.Config{EnablePartitioning: true, RequiresSession: true})
				c.queue("pd", engine.Config{EnablePartitioning: true, RequiresDuplicateDetection: true})
				do := func(tx engine.TxID, s step) error {
					if s.content == nil {
						s.content = key("")
					}
					switch {
					case s.settle != "":
						from := s.settle
						if topic, _, ok := from.Subscription(); ok {
							from = engine.Path(topic)
						}
						c.send(from.Entity(), engine.Content{PartitionKey: "settled"})
						if s.settle.IsDeadLetter() {
							c.kill(c.receive(from.Entity()), "", "")
						}
						return c.settleIn(tx, c.receive(s.settle), engine.Complete)
					case s.cancel != "":
						var seqs []engine.Seq
						for _, m := range s.content {
							m.ScheduledFor = morning.Add(1000 * second)
							seqs = append(seqs, c.send(s.cancel, m))
						}
						return c.cancelIn(tx, s.cancel, seqs...)
					}
					batch := c.submissions(s.content...)
					defer c.step()
					if s.via != "" {
						return c.ns.SendViaInTx(c.now, tx, s.via, s.to, batch)
					}
					return c.ns.SendInTx(c.now, tx, s.to, batch)
				}
				for _, confined := range []bool{true, false} {
					tx := c.declare()
					for i, s := range tc.steps {
						c.must(c.ns.Confine(c.now, tx, confined))
						err := do(tx, s)
						if i < len(tc.steps)-1 || tc.want == "" || !confined {
							c.must(err)
						} else if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
							c.Errorf("the error is %v; want %q", err, tc.want)
						}
					}
					c.rollsBack(tx)
				}
			}}, asked)
		})
	}
}
