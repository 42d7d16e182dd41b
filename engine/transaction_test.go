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

const limitOfTX = 2 * time.Minute

func (c *clocked) declare() engine.TxID {
	c.Helper()
	id, err := c.ns.BeginTransaction(c.now, "teller")
	c.must(err)
	c.step()
	return id
}

// sendIn adds sends to a transaction.
func (c *clocked) sendIn(id engine.TxID, to engine.Path, ids ...string) error {
	c.Helper()
	var batch []engine.Content
	for _, s := range ids {
		batch = append(batch, engine.Content{MessageID: s})
	}
	err := c.ns.SendInTx(c.now, id, to, c.submissions(batch...))
	c.step()
	return err
}

func (c *clocked) settleIn(id engine.TxID, d engine.Delivery, o engine.Outcome) error {
	c.Helper()
	err := c.ns.SettleInTx(c.now, id, engine.Settlement{Token: d.Token(), Outcome: o, Client: "receiver"})
	c.step()
	return err
}

func (c *clocked) discharge(id engine.TxID, how engine.Discharge) ([]engine.Seq, error) {
	c.Helper()
	seqs, err := c.ns.Discharge(c.now, id, how)
	c.step()
	return seqs, err
}

func (c *clocked) commits(id engine.TxID, want ...engine.Seq) {
	c.Helper()
	seqs, err := c.discharge(id, engine.Commit)
	c.must(err)
	if !slices.Equal(seqs, want) {
		c.Fatalf("the sequence numbers are %v; want %v", seqs, want)
	}
}

func (c *clocked) rollsBack(id engine.TxID) {
	c.Helper()
	seqs, err := c.discharge(id, engine.Rollback)
	c.must(err)
	c.equal(len(seqs), 0)
}

// over requires that a transaction can no longer be used.
func (c *clocked) over(id engine.TxID) {
	c.Helper()
	for name, err := range map[string]error{
		"send":     c.sendIn(id, "q", "late"),
		"settle":   c.settleIn(id, engine.Delivery{}, engine.Complete),
		"commit":   second2(c.discharge(id, engine.Commit)),
		"rollback": second2(c.discharge(id, engine.Rollback)),
		"receive":  c.ns.Attach(c.now, engine.Link{ID: 99, Path: "q", Transaction: id}),
	} {
		if !errors.Is(err, engine.ErrTransaction) {
			c.Fatalf("%s in a transaction that has ended: %v", name, err)
		}
	}
}

func second2(_ []engine.Seq, err error) error { return err }

func second3(_ engine.TxID, err error) error { return err }

func TestTransactions(t *testing.T) {
	run(t, rules{
		"TX-1": func(c *clocked) { // send, complete, abandon, dead-letter, defer; and a renewal outside of the transaction
			c.queue("q", engine.Config{})
			c.queue("r", engine.Config{})
			c.sends("q", "complete", "abandon", "dead-letter", "defer", "release", "renew")
			tx := c.declare()
			for _, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.DeadLetter, engine.Defer, engine.Release, engine.Complete} {
				c.must(c.settleIn(tx, c.receive("q"), o))
			}
			c.must(c.sendIn(tx, "r", "sent"))
			d := c.inbox[len(c.inbox)-1]
			c.equal(d.Content.MessageID(), "renew")
			_, err := c.renew(d)
			c.must(err)
			c.wantCounts("q", engine.Counts{Locked: 6})
			c.wantCounts("r", engine.Counts{})
			c.commits(tx, 1)
			c.wantIDs("q", "abandon", "defer", "release")
			c.wantIDs("q/$DeadLetterQueue", "dead-letter")
			c.wantIDs("r", "sent")
			c.wantCounts("q", engine.Counts{Active: 2, Deferred: 1, DeadLetter: 1})
			c.over(tx)
		},
		"TX-1 receive": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			tx := c.declare()
			c.refused(engine.ErrNotAllowed, func() error {
				err := c.ns.Attach(c.now, engine.Link{ID: 99, Path: "q", Transaction: tx})
				if err == nil || !strings.Contains(err.Error(), "cannot be received in a transaction") {
					c.Errorf("the error is %v", err)
				}
				return err
			})
			c.must(c.sendIn(tx, "q", "n")) // the transaction is still open
			c.commits(tx, 2)
		},
		"TX-3 several places": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.topic("t", engine.Config{})
			a, b := c.sub("t", "a", engine.Config{}), c.sub("t", "b", engine.Config{})
			c.sends("q", "m")
			tx := c.declare()
			c.must(c.settleIn(tx, c.receive("q"), engine.Complete))
			c.must(c.sendIn(tx, "t", "x", "y"))
			c.must(c.sendIn(tx, "q", "z"))
			c.commits(tx, 1, 2, 2)
			c.wantIDs("q", "z")
			c.wantIDs(a, "x", "y")
			c.wantIDs(b, "x", "y")
		},
		"TX-4": func(c *clocked) {
			c.queue("q", engine.Config{})
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "in"))
			rows, err := c.ns.Peek(c.now, "q", 0, 10, "")
			c.must(err)
			c.equal(len(rows), 0)
			c.nothing("q")
			c.equal(c.state("q").NextSeq, engine.Seq(1))
			c.equal(c.state("q").SizeInBytes, int64(0))
			c.equal(c.send("q", engine.Content{MessageID: "beside"}), engine.Seq(1)) // it does not block other sends
			c.commits(tx, 2)
			c.wantIDs("q", "beside", "in")
			rows, err = c.ns.Peek(c.now, "q", 0, 10, "")
			c.must(err)
			c.equal(len(rows), 2)
			c.equal(rows[1].Message.EnqueuedAt, c.now)
		},
		"TX-4 rolled back": func(c *clocked) {
			c.queue("q", engine.Config{})
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "in"))
			c.rollsBack(tx)
			c.equal(c.send("q", engine.Content{MessageID: "after"}), engine.Seq(1))
			c.wantIDs("q", "after")
			c.over(tx)
		},
		"TX-5": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.sends("q", "a", "d")
			a, d := c.receive("q"), c.receive("q")
			tx := c.declare()
			c.must(c.settleIn(tx, a, engine.Abandon))
			c.must(c.settleIn(tx, d, engine.Defer))
			c.rollsBack(tx)
			for _, r := range c.rows("q") {
				c.equal(r.Message.DeliveryCount, uint32(0))
				c.equal(r.Message.State, engine.Active)
				c.equal(r.Lock.By, "receiver")
			}
			c.wantCounts("q", engine.Counts{Locked: 2})
			c.abandon(a) // this counts as a failed delivery, and exceeds the maximum
			c.wantCounts("q", engine.Counts{Locked: 1, DeadLetter: 1})
		},
		"SETL-5": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			tx := c.declare()
			c.must(c.settleIn(tx, d, engine.Complete))
			c.wantCounts("q", engine.Counts{Locked: 1})
			c.rollsBack(tx)
			c.wantCounts("q", engine.Counts{Locked: 1})
			c.complete(d)
			c.wantCounts("q", engine.Counts{})
		},
		"DUP-11": func(c *clocked) { // the id counts from the commit on
			c.detecting("q")
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "a"))
			seen, err := c.ns.IsDuplicate(c.now, "q", "a")
			c.must(err)
			c.equal(seen, false)
			c.rollsBack(tx)
			c.accepted("q", engine.Content{MessageID: "a"})
			tx = c.declare()
			c.must(c.sendIn(tx, "q", "b", "a", "b"))
			c.must(c.sendIn(tx, "q", "b", "c"))
			c.accepted("q", engine.Content{MessageID: "c"}) // it is accepted before the commit
			c.commits(tx, 3, 0, 0, 0, 0)
			c.wantIDs("q", "a", "c", "b")
			c.pass(second)
			c.duplicate("q", engine.Content{MessageID: "b"})
		},
		"DUP-11 failed": func(c *clocked) {
			c.detecting("q")
			c.queue("r", engine.Config{})
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "a"))
			c.must(c.sendIn(tx, "r", "b"))
			c.remove("r")
			if _, err := c.discharge(tx, engine.Commit); !errors.Is(err, engine.ErrNotFound) {
				c.Errorf("got %v", err)
			}
			c.equal(c.state("q").RememberedIDs, 0)
			c.pass(second)
			c.accepted("q", engine.Content{MessageID: "a"})
		},
		"DLQ-20": func(c *clocked) { // a client resubmits a message, and whenever it crashes there is exactly one
			for _, topic := range []bool{false, true} {
				parent, from := engine.Path("q"), engine.Path("q")
				if topic {
					parent = "t"
					c.topic("t", engine.Config{})
					from = c.sub("t", "s", engine.Config{})
				} else {
					c.queue("q", engine.Config{})
				}
				c.sends(parent, "m")
				c.kill(c.receive(from), "", "")
				everything := func(want engine.Counts) {
					c.Helper()
					c.restart()
					c.wantCounts(from, want)
				}
				begin := func() engine.TxID {
					d := c.receive(from.DeadLetter())
					tx := c.declare()
					c.must(c.sendIn(tx, parent, "m"))
					c.must(c.settleIn(tx, d, engine.Complete))
					return tx
				}
				lost := begin() // the client crashes before the commit
				c.must(func() error { _, err := c.ns.Discharge(c.now, lost, engine.Commit); return err }())
				everything(engine.Counts{DeadLetter: 1, DeadLocked: 1})
				c.over(lost)
				c.pass(time.Minute) // the lock expires
				c.commits(begin(), 2)
				everything(engine.Counts{Active: 1})
			}
		},
		"a copy, and the original completed": func(c *clocked) { // no operation of a failing transaction is done
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "copy"))
			c.must(c.settleIn(tx, d, engine.Complete))
			c.complete(d) // as another client
			before := c.picture()
			_, err := c.discharge(tx, engine.Commit)
			if !errors.Is(err, engine.ErrLockLost) || err.Error() != "The transaction was rolled back because operation 2 of 2 failed, to complete message #1 of 'q': "+engine.LockLostText {
				c.Errorf("got %v", err)
			}
			c.equal(len(c.picture()), len(before))
			c.wantIDs("q")
			c.over(tx)
		},
	}, asked, swept)
}

// TX-2: a transaction times out two minutes after its first operation.
func TestTransactionTime(t *testing.T) {
	run(t, rules{
		"TX-2": func(c *clocked) {
			c.queue("q", engine.Config{LockDuration: 5 * time.Minute})
			c.sends("q", "m")
			d := c.receive("q")
			kept, lost := c.declare(), c.declare()
			c.at(hour / 60) // its time has not begun, because it has no operation
			c.sends("q", "other")
			d2 := c.receive("q")
			c.must(c.settleIn(kept, d, engine.Complete))
			c.must(c.settleIn(lost, d2, engine.Complete))
			c.at(hour/60 + time.Minute)
			c.must(c.sendIn(kept, "q", "kept"))
			c.must(c.sendIn(lost, "q", "lost"))
			c.at(hour/60 + limitOfTX - 1*ms)
			c.commits(kept, 3)
			c.at(hour/60 + limitOfTX)
			if _, err := c.discharge(lost, engine.Commit); !errors.Is(err, engine.ErrTransaction) || !strings.Contains(err.Error(), "did not end within 2m0s of its first operation") {
				c.Errorf("got %v", err)
			}
			c.over(lost)
			c.wantIDs("q", "other", "kept")
			c.wantCounts("q", engine.Counts{Active: 1, Locked: 1})
			c.complete(d2)
		},
		"TX-2 much later": func(c *clocked) {
			c.queue("q", engine.Config{})
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "m"))
			c.at(limitOfTX + second)
			c.over(tx)
			c.wantIDs("q")
			c.equal(c.ns.NextDue(), engine.Instant(0))
		},
		"TX-2 without operations": func(c *clocked) {
			c.queue("q", engine.Config{})
			tx := c.declare()
			if err := c.sendIn(tx, "nowhere", "m"); !errors.Is(err, engine.ErrNotFound) { // the refused send is no operation
				c.Errorf("got %v", err)
			}
			c.at(10*minute - 1*ms)
			c.must(c.sendIn(tx, "q", "m"))
			c.at(10*minute + limitOfTX - 2*ms)
			c.commits(tx, 1)
		},
		"TX-2 forgotten": func(c *clocked) { // a transaction without an operation ends too, and one with an operation does not end earlier
			c.queue("q", engine.Config{})
			tx, used := c.declare(), c.declare()
			c.at(9 * minute)
			if err := c.sendIn(tx, "nowhere", "m"); !errors.Is(err, engine.ErrNotFound) { // the refused send is no operation
				c.Errorf("got %v", err)
			}
			c.must(c.sendIn(used, "q", "m"))
			c.at(10*minute - 1*ms)
			c.must(c.ns.Check())
			c.equal(c.ns.NextDue(), morning.Add(10*minute))
			c.at(10 * minute)
			if _, err := c.discharge(tx, engine.Commit); !errors.Is(err, engine.ErrTransaction) || !strings.Contains(err.Error(), "had no operation within 10m0s") {
				c.Errorf("got %v", err)
			}
			c.over(tx)
			c.equal(c.ns.NextDue(), morning.Add(11*minute))
			c.commits(used, 1)
			c.equal(c.ns.NextDue(), engine.Instant(0))
		},
		"a lock that runs out before the commit": func(c *clocked) {
			c.queue("q", engine.Config{LockDuration: time.Minute})
			c.sends("q", "m")
			d := c.receive("q")
			tx := c.declare()
			c.must(c.settleIn(tx, d, engine.Complete))
			c.must(c.sendIn(tx, "q", "n"))
			c.at(time.Minute)
			_, err := c.discharge(tx, engine.Commit)
			if !errors.Is(err, engine.ErrLockLost) {
				c.Errorf("got %v", err)
			}
			c.sweep()
			c.wantIDs("q", "m")
			c.equal(c.row("q").Message.DeliveryCount, uint32(1))
		},
		"many": func(c *clocked) { // many transactions, ended in any order, time out independently
			c.queue("q", engine.Config{})
			var all []engine.TxID
			for i := range 6 {
				c.at(time.Duration(i) * 10 * second)
				all = append(all, c.declare())
				c.must(c.sendIn(all[i], "q", strconv.Itoa(i)))
			}
			c.rollsBack(all[2])
			c.commits(all[0], 1)
			c.at(limitOfTX + 10*second - 1*ms)
			c.commits(all[1], 2)
			c.at(limitOfTX + 30*second)
			c.over(all[3])
			c.commits(all[4], 3)
			c.at(limitOfTX + 50*second)
			c.over(all[5])
			c.wantIDs("q", "0", "1", "4")
			c.equal(c.ns.NextDue(), engine.Instant(0))
		},
	}, asked, swept)
}

// RT-2: messages of a transaction are not sent before the commit, and never if it is rolled
// back.
func TestTransactionAccess(t *testing.T) {
	run(t, rules{"RT-2": func(c *clocked) {
		c.queue("q", engine.Config{})
		c.queue("by", engine.Config{})
		accessed := func(want engine.Instant) {
			c.Helper()
			c.equal(c.state("q").AccessedAt, want)
			c.equal(c.state("by").AccessedAt, want)
		}
		for _, how := range []engine.Discharge{engine.Rollback, engine.Commit} {
			c.pass(second)
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "m"))
			c.must(c.ns.SendViaInTx(c.now, tx, "by", "q", c.submissions(engine.Content{})))
			accessed(0)
			c.pass(second)
			c.must(second2(c.discharge(tx, how)))
		}
		accessed(c.now)
	}}, asked, swept)
}

// IDLE-2: adding a send to a transaction counts as use at that time.
func TestTransactionIsUse(t *testing.T) {
	c := newClocked(t, swept)
	c.queue("q", engine.Config{AutoDeleteOnIdle: 2 * time.Minute, LockDuration: 5 * time.Minute})
	c.queue("r", engine.Config{AutoDeleteOnIdle: 2 * time.Minute})
	for _, p := range []engine.Path{"by", "to", "by2", "off"} {
		c.queue(p, engine.Config{AutoDeleteOnIdle: 2 * time.Minute})
	}
	c.update("off", func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled })
	c.sends("q", "m")
	d := c.receive("q")
	c.at(2*time.Minute - 1*ms)
	tx := c.declare()
	c.must(c.sendIn(tx, "r", "n"))
	c.must(c.settleIn(tx, d, engine.Complete))
	c.must(c.sendViaIn(tx, "by", "to", "n"))
	c.must(c.sendViaIn(tx, "by2", "off", "n"))
	c.at(2 * time.Minute)
	c.equal(c.exists("by") && c.exists("by2") && c.exists("to"), true)
	c.equal(c.exists("off"), false) // nothing was sent to it
	c.queue("off", engine.Config{Status: engine.StatusDisabled})
	c.at(4*time.Minute - 2*ms) // idle since the receive, if that were the last use
	c.commits(tx, 1, 1, 1)
	c.at(6*time.Minute - 3*ms)
	c.equal(c.exists("q") && c.exists("r"), true)
	c.at(6*time.Minute - 2*ms)
	c.equal(c.exists("q") || c.exists("r"), false)
}
