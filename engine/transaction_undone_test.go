package engine_test

import (
	"errors"
	"strings"
	"testing"

	"mayfly/engine"
)

// If any operation fails at the commit, nothing is done, and the error names the operation.
func TestTransactionFails(t *testing.T) {
	for name, tc := range map[string]struct {
		between func(c *clocked)
		kind    error
		text    string
	}{
		"the place is gone":   {func(c *clocked) { c.remove("r") }, engine.ErrNotFound, "operation 3 of 4 failed, to send to 'r': The messaging entity"},
		"the place is closed": {func(c *clocked) { c.update("r", func(cfg *engine.Config) { cfg.Status = engine.StatusSendDisabled }) }, engine.ErrDisabled, "operation 3 of 4 failed, to send to 'r': "},
		"the place is full":   {func(c *clocked) { c.send("r", engine.Content{Subject: strings.Repeat("x", 900)}) }, engine.ErrQuota, "operation 3 of 4 failed, to send to 'r': "},
		"receiving is closed": {func(c *clocked) {
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusReceiveDisabled })
		}, engine.ErrDisabled, "operation 2 of 4 failed, to abandon message #1 of 'q': "},
		"the lock is broken":       {func(c *clocked) { c.must(c.ns.BreakLock(c.now, c.rows("q")[1].Message.Key, "")); c.step() }, engine.ErrLockLost, "operation 4 of 4 failed, to dead-letter message #2 of 'q': "},
		"too many ids to remember": {func(c *clocked) { c.sends("d", "other") }, engine.ErrBusy, "operation 1 of 4 failed, to send to 'd': "},
	} {
		run(t, rules{name: func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.EntitySize, l.DuplicateIDs = 1000, 1 })
			c.detecting("d")
			c.queue("q", engine.Config{AutoDeleteOnIdle: hour})
			c.queue("r", engine.Config{AutoDeleteOnIdle: hour})
			c.sends("q", "m", "n")
			m, n := c.receive("q"), c.receive("q")
			tx := c.declare()
			c.must(c.sendIn(tx, "d", "x"))
			c.must(c.settleIn(tx, m, engine.Abandon))
			c.must(c.ns.SendInTx(c.now, tx, "r", c.submissions(engine.Content{Subject: strings.Repeat("x", 200)}, engine.Content{ScheduledFor: morning.Add(hour)})))
			c.must(c.settleIn(tx, n, engine.DeadLetter))
			tc.between(c)
			messages := len(c.store.messages)
			c.events = nil
			c.refused(tc.kind, func() error {
				_, err := c.discharge(tx, engine.Commit)
				if err == nil || !strings.HasPrefix(err.Error(), "The transaction was rolled back because "+tc.text) {
					c.Errorf("the error is %v", err)
				}
				return err
			})
			c.equal(len(c.events), 0)
			c.equal(len(c.store.messages), messages)
			c.equal(len(c.store.contents), messages)
			c.over(tx)
			c.restart()
			c.equal(len(c.store.messages), messages)
		}}, asked, swept)
	}
}

// SES-10: a message received in a session is settled in a transaction like any other, and the
// session is unchanged if the transaction fails.
func TestTransactionInSession(t *testing.T) {
	run(t, rules{
		"committed": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "one", "a", "b")
			l := c.hold("q", "one")
			a, b := c.take(l), c.take(l)
			tx := c.declare()
			c.must(c.settleIn(tx, a, engine.Complete))
			c.must(c.settleIn(tx, b, engine.Abandon))
			c.wantSessionLost(c.settleIn(tx, a, engine.Complete))
			c.must(c.ns.SendInTx(c.now, tx, "q", c.submissions(engine.Content{MessageID: "c", SessionID: "one"})))
			c.refused(engine.ErrNotAllowed, func() error { return c.sendIn(tx, "q", "of no session") }) // MSG-9
			c.empty(l)
			c.commits(tx, 3)
			c.equal(c.take(l).Content.MessageID(), "b")
			c.equal(c.take(l).Content.MessageID(), "c")
		},
		"failed": func(c *clocked) {
			c.queue("q", sessionful)
			c.queue("r", engine.Config{})
			c.say("q", "one", "a", "b")
			c.say("q", "two", "x")
			l := c.hold("q", "one")
			a := c.take(l)
			tx := c.declare()
			c.must(c.settleIn(tx, a, engine.Abandon))
			c.must(c.ns.SendInTx(c.now, tx, "q", c.submissions(engine.Content{MessageID: "c", SessionID: "two"}, engine.Content{MessageID: "d", SessionID: "three"})))
			c.must(c.sendIn(tx, "r", "m"))
			c.remove("r")
			c.refused(engine.ErrNotFound, func() error { _, err := c.discharge(tx, engine.Commit); return err })
			c.wantIDs("q", "a", "b", "x")
			c.complete(a)
			c.equal(c.take(l).Content.MessageID(), "b")
			_, id := c.next("q")
			c.equal(id, "two")
			_, id = c.next("q")
			c.equal(id, "")
		},
		"lost before the commit": func(c *clocked) {
			c.queue("q", sessionful)
			c.say("q", "one", "a")
			l := c.hold("q", "one")
			a := c.take(l)
			tx := c.declare()
			c.must(c.settleIn(tx, a, engine.Complete))
			c.at(minute)
			_, err := c.discharge(tx, engine.Commit)
			if !errors.Is(err, engine.ErrSessionLockLost) || !strings.Contains(err.Error(), "operation 1 of 1 failed, to complete message #1 of 'q': ") {
				c.Errorf("got %v", err)
			}
			c.sweep()
			c.equal(c.row("q").Message.DeliveryCount, uint32(1))
		},
	}, asked, swept)
}

// A transaction in a turn that the store refused stays open: it can be committed when the store
// accepts writes again, including staged bodies.
func TestTransactionTakenBack(t *testing.T) {
	type turn func(c *clocked, tx engine.TxID, s engine.Submission, d engine.Delivery) error
	for name, steps := range map[string][]turn{
		"committed": {
			func(c *clocked, tx engine.TxID, _ engine.Submission, _ engine.Delivery) error {
				_, err := c.ns.Discharge(c.now, tx, engine.Commit)
				return err
			},
		},
		"failed": {
			func(c *clocked, tx engine.TxID, _ engine.Submission, _ engine.Delivery) error {
				c.must(c.ns.Delete(c.now, "q", ""))
				if _, err := c.ns.Discharge(c.now, tx, engine.Commit); !errors.Is(err, engine.ErrNotFound) {
					c.Errorf("got %v", err)
				}
				return nil
			},
		},
		"rolled back": {
			func(c *clocked, tx engine.TxID, _ engine.Submission, _ engine.Delivery) error {
				_, err := c.ns.Discharge(c.now, tx, engine.Rollback)
				return err
			},
		},
		"timed out": {
			func(c *clocked, _ engine.TxID, _ engine.Submission, _ engine.Delivery) error {
				c.ns.Sweep(c.now.Add(limitOfTX), 100)
				return nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, asked)
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			s, err := engine.Submit(engine.Content{MessageID: "staged"}, nil, 1000, c.keys.Next(), c.limits)
			c.must(err)
			c.store.bodies[s.Key] = make([]byte, 1000)
			tx := c.declare()
			c.must(c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s}))
			c.must(c.settleIn(tx, d, engine.Complete))
			for range 2 {
				for _, do := range steps {
					c.must(do(c, tx, s, d))
				}
				c.must(c.ns.Check())
				c.ns.Flush(c.now, true)
				c.ns.Rollback()
				c.must(c.ns.Check())
				c.step()
				c.step() // unused bodies are dropped with the commit after the next
			}
			c.commits(tx, 2)
			c.step()
			c.step()
			c.wantIDs("q", "staged")
			if c.store.bodies[s.Key] == nil {
				t.Error("the body of an open transaction is dropped")
			}
			c.grab("q")
			c.step()
			c.step()
			if c.store.bodies[s.Key] != nil {
				t.Error("the body stays")
			}
		})
	}
	t.Run("given", func(t *testing.T) { // operations that were added in such a turn are in the transaction once
		c := newClocked(t, asked)
		c.queue("q", engine.Config{})
		c.sends("q", "m")
		d := c.receive("q")
		tx, err := c.ns.BeginTransaction(c.now, "")
		c.must(err)
		c.ns.Rollback()
		c.over(tx)
		tx = c.declare()
		batch := c.submissions(engine.Content{MessageID: "n"})
		for range 3 {
			c.ns.Rollback()
			c.must(c.ns.Check())
			c.must(c.ns.SendInTx(c.now, tx, "q", batch))
			c.must(c.ns.SettleInTx(c.now, tx, engine.Settlement{Token: d.Token()}))
			c.must(c.ns.Check())
		}
		c.step()
		c.commits(tx, 2)
		c.wantIDs("q", "n")
		c.step()
		c.step()
		c.equal(len(c.store.contents), 1)
	})
	t.Run("TX-2", func(t *testing.T) { // an undone operation does not begin the transaction's time
		c := newClocked(t, asked)
		c.queue("q", engine.Config{})
		tx := c.declare()
		c.must(c.ns.SendInTx(c.now, tx, "q", c.submissions(engine.Content{MessageID: "n"})))
		c.ns.Rollback()
		c.must(c.ns.Check())
		c.at(10*minute - 1*ms)
		c.must(c.sendIn(tx, "q", "m"))
		c.commits(tx, 1)
		c.wantIDs("q", "m")
	})
}

// A staged body is dropped when its transaction ends without a commit.
func TestTransactionStaged(t *testing.T) {
	staged := func(c *clocked, id string) engine.Submission {
		s, err := engine.Submit(engine.Content{MessageID: id}, nil, 1000, c.keys.Next(), c.limits)
		c.must(err)
		c.store.bodies[s.Key] = make([]byte, 1000)
		return s
	}
	gone := func(c *clocked, s engine.Submission, want bool) {
		c.Helper()
		c.step()
		c.step()
		if have := c.store.bodies[s.Key] == nil; have != want {
			c.Fatalf("the body was dropped: %v", have)
		}
	}
	run(t, rules{
		"committed": func(c *clocked) {
			c.queue("q", engine.Config{})
			s, tx := staged(c, "m"), c.declare()
			c.must(c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s}))
			gone(c, s, false)
			c.commits(tx, 1)
			gone(c, s, false)
		},
		"rolled back": func(c *clocked) {
			c.queue("q", engine.Config{})
			s, tx := staged(c, "m"), c.declare()
			c.must(c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s}))
			c.rollsBack(tx)
			gone(c, s, true)
		},
		"timed out": func(c *clocked) {
			c.queue("q", engine.Config{})
			s, tx := staged(c, "m"), c.declare()
			c.must(c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s}))
			c.at(limitOfTX)
			c.over(tx)
			gone(c, s, true)
		},
		"refused": func(c *clocked) {
			c.queue("q", engine.Config{})
			s, tx := staged(c, "m"), c.declare()
			c.refused(engine.ErrNotFound, func() error { return c.ns.SendInTx(c.now, tx, "nowhere", []engine.Submission{s}) })
			gone(c, s, true)
		},
		"too late": func(c *clocked) {
			s := staged(c, "m")
			c.refused(engine.ErrTransaction, func() error { return c.ns.SendInTx(c.now, 77, "q", []engine.Submission{s}) })
			gone(c, s, true)
		},
		"failed": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.queue("r", engine.Config{})
			s, tx := staged(c, "m"), c.declare()
			c.must(c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s}))
			c.must(c.sendIn(tx, "r", "n"))
			c.remove("r")
			_, err := c.discharge(tx, engine.Commit)
			c.equal(errors.Is(err, engine.ErrNotFound), true)
			gone(c, s, true)
		},
		"a duplicate": func(c *clocked) {
			c.detecting("q")
			c.sends("q", "m")
			s, tx := staged(c, "m"), c.declare()
			c.must(c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s}))
			gone(c, s, false)
			c.commits(tx, 0)
			gone(c, s, true)
		},
		"FILT-6": func(c *clocked) { // no subscription selects the message
			c.topic("t", engine.Config{})
			s, tx := staged(c, "m"), c.declare()
			c.must(c.ns.SendInTx(c.now, tx, "t", []engine.Submission{s}))
			c.commits(tx, 1)
			gone(c, s, true)
		},
	}, asked, swept)
}

// TX-2: an overdue transaction no longer counts towards the limits on transactions, whether or not
// it has been used since.
func TestTransactionsInTime(t *testing.T) {
	run(t, rules{
		"TX-2 number": func(c *clocked) {
			c.queue("q", engine.Config{})
			for range 10_000 {
				tx, err := c.ns.BeginTransaction(c.now, "")
				c.must(err)
				c.must(c.ns.SendInTx(c.now, tx, "q", c.submissions(engine.Content{})))
			}
			c.refused(engine.ErrBusy, func() error { _, err := c.ns.BeginTransaction(c.now, ""); return err })
			c.now = c.now.Add(limitOfTX)
			c.declare()
		},
		"TX-2 bytes": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.MaxKilobytes, l.MaxMegabytes = 64<<10, 1024 })
			c.queue("q", engine.Config{MaxMessageSizeInKilobytes: 64 << 10})
			body := make([]byte, 60<<20)
			give := func(tx engine.TxID) error {
				s, err := engine.Submit(engine.Content{}, body, 0, c.keys.Next(), c.limits)
				c.must(err)
				return c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s})
			}
			c.must(give(c.declare()))
			c.pass(second)
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "m"))
			c.refused(engine.ErrBusy, func() error { return give(tx) })
			c.pass(limitOfTX - second)
			c.must(give(tx))
			c.commits(tx, 1, 2)
		},
	}, asked)
}
