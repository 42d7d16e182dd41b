package engine_test

import (
	"errors"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
)

// An operation that is refused when it is added is not part of the transaction, which stays
// open.
func TestTransactionRefusals(t *testing.T) {
	run(t, rules{
		"TX-3": func(c *clocked) { // a hundred messages in all, whatever becomes of them; a batch that would exceed the limit is refused as a whole
			c.queue("q", engine.Config{})
			tx := c.declare()
			ids := make([]string, 60)
			c.must(c.sendIn(tx, "q", ids...))
			c.must(c.sendIn(tx, "q", ids[:40]...))
			for _, n := range []int{1, 60} {
				err := c.sendIn(tx, "q", ids[:n]...)
				if !errors.Is(err, engine.ErrQuota) || err.Error() != "Can't send more than 100 messages in a single transaction." {
					c.Errorf("got %v", err)
				}
			}
			seqs, err := c.discharge(tx, engine.Commit)
			c.must(err)
			c.equal(len(seqs), 100)
			c.equal(len(c.rows("q")), 100)
		},
		"TX-3 at once": func(c *clocked) {
			c.queue("q", engine.Config{})
			tx := c.declare()
			if err := c.sendIn(tx, "q", make([]string, 101)...); !errors.Is(err, engine.ErrQuota) {
				c.Errorf("got %v", err)
			}
			c.must(c.sendIn(tx, "q", make([]string, 100)...))
		},
		"TX-3 which count": func(c *clocked) { // sent messages count, once each; settled ones do not
			c.limit(func(l *engine.Limits) { l.TransactionMessages = 4 })
			c.topic("t", engine.Config{})
			c.sub("t", "a", engine.Config{})
			b := c.sub("t", "b", engine.Config{})
			c.detecting("q")
			c.sends("t", "before")
			tx := c.declare()
			c.must(c.settleIn(tx, c.receive(b), engine.Complete))
			c.must(c.sendIn(tx, "t", "two copies"))
			c.must(c.sendIn(tx, "q", "x", "x")) // a duplicate counts
			if err := c.sendIn(tx, "q", "y", "z"); !errors.Is(err, engine.ErrQuota) {
				c.Errorf("got %v", err)
			}
			c.must(c.ns.SendViaInTx(c.now, tx, "q", "t", c.submissions(engine.Content{ScheduledFor: morning.Add(hour)})))
			if err := c.ns.SendViaInTx(c.now, tx, "q", "t", c.submissions(engine.Content{})); !errors.Is(err, engine.ErrQuota) {
				c.Errorf("got %v", err)
			}
			c.commits(tx, 2, 1, 0, 3)
		},
		"TX-3 settled": func(c *clocked) { // the same number of messages may be settled
			c.limit(func(l *engine.Limits) { l.TransactionMessages = 3 })
			c.queue("q", engine.Config{})
			c.sends("q", "a", "b", "c", "d")
			var all []engine.Delivery
			for range 4 {
				all = append(all, c.receive("q"))
			}
			tx := c.declare()
			c.must(c.sendIn(tx, "q", "x", "y", "z"))
			for _, d := range all[:3] {
				c.must(c.settleIn(tx, d, engine.Complete))
			}
			if err := c.settleIn(tx, all[3], engine.Complete); !errors.Is(err, engine.ErrQuota) || err.Error() != "Can't settle more than 3 messages in a single transaction." {
				c.Errorf("got %v", err)
			}
			c.refused(engine.ErrLockLost, func() error { return c.settleIn(tx, all[0], engine.Complete) })
			c.commits(tx, 5, 6, 7)
			c.complete(all[3])
			c.wantIDs("q", "x", "y", "z")
		},
		"§1.5 none": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.TransactionMessages = 0 })
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.BeginTransaction(c.now, ""); return err })
		},
		"§1.5 basic": func(c *clocked) {
			c.limit(func(l *engine.Limits) { c.must(l.Set("without", "transactions")) })
			c.refused(engine.ErrNotAllowed, func() error { _, err := c.ns.BeginTransaction(c.now, ""); return err })
		},
		"what a send is refused for": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.queue("closed", engine.Config{Status: engine.StatusSendDisabled})
			tx := c.declare()
			for to, kind := range map[engine.Path]error{"nowhere": engine.ErrNotFound, "closed": engine.ErrDisabled, "q/$DeadLetterQueue": engine.ErrNotAllowed} {
				c.refused(kind, func() error { return c.sendIn(tx, to, "m") })
			}
			c.refused(engine.ErrArgument, func() error { return c.sendIn(tx, "q") })
			c.must(c.sendIn(tx, "q", "m"))
			c.commits(tx, 1)
		},
		"what a settlement is refused for": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m", "n")
			d, other := c.receive("q"), c.receive("q")
			tx := c.declare()
			c.must(c.settleIn(tx, d, engine.Abandon))
			c.refused(engine.ErrLockLost, func() error { return c.settleIn(tx, d, engine.Complete) }) // twice in one transaction
			c.refused(engine.ErrLockLost, func() error { return c.settleIn(tx, engine.Delivery{}, engine.Complete) })
			c.refused(engine.ErrLockLost, func() error {
				return c.ns.SettleInTx(c.now, tx, engine.Settlement{Token: other.Token(), Path: "q/$DeadLetterQueue"})
			})
			c.refused(engine.ErrOutOfRange, func() error {
				return c.ns.SettleInTx(c.now, tx, engine.Settlement{Token: other.Token(), Outcome: engine.DeadLetter, Reason: strings.Repeat("x", 5000)})
			})
			c.refused(engine.ErrArgument, func() error {
				large := value.Properties{{Name: "p", Value: value.OfString(strings.Repeat("x", 40<<10))}}
				return c.ns.SettleInTx(c.now, tx, engine.Settlement{Token: other.Token(), Outcome: engine.Abandon, Modify: large})
			})
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusReceiveDisabled })
			c.refused(engine.ErrDisabled, func() error { return c.settleIn(tx, other, engine.Complete) })
			c.update("q", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.commits(tx)
			c.equal(c.rows("q")[0].Message.DeliveryCount, uint32(1))
			c.equal(c.rows("q")[1].Message.Locked(), true)
		},
		"unknown": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.over(12345)
		},
		"declared and left": func(c *clocked) { // open transactions must not fill memory
			for range 10_000 {
				_, err := c.ns.BeginTransaction(c.now, "")
				c.must(err)
			}
			c.refused(engine.ErrBusy, func() error { _, err := c.ns.BeginTransaction(c.now, ""); return err })
			c.at(10 * minute) // open transactions do not block others forever
			c.must(second3(c.ns.BeginTransaction(c.now, "")))
		},
		"large and left": func(c *clocked) {
			c.queue("q", engine.Config{})
			body := make([]byte, 200<<10)
			give := func(tx engine.TxID) error {
				s, err := engine.Submit(engine.Content{}, body, 0, c.keys.Next(), c.limits)
				c.must(err)
				err = c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s})
				c.step()
				return err
			}
			var all []engine.TxID
			n := 0
			for {
				if n%100 == 0 {
					all = append(all, c.declare())
				}
				err := give(all[len(all)-1])
				if errors.Is(err, engine.ErrBusy) {
					break
				}
				c.must(err)
				n++
			}
			if kept := n * (200 << 10); kept > 64<<20 || kept < 63<<20 {
				c.Errorf("%d bytes are kept", kept)
			}
			c.rollsBack(all[0])
			c.must(give(c.declare()))
		},
		"staged and left": func(c *clocked) { // unused transactions with staged bodies must not fill the store either
			c.queue("q", engine.Config{MaxMessageSizeInKilobytes: 102400})
			give := func(tx engine.TxID, bytes int64) error {
				s, err := engine.Submit(engine.Content{}, nil, bytes, c.keys.Next(), c.limits)
				c.must(err)
				return c.ns.SendInTx(c.now, tx, "q", []engine.Submission{s})
			}
			a, b := c.declare(), c.declare()
			for range 10 {
				c.must(give(a, 100<<20-1<<10))
			}
			left := int64(1<<30 - 10*(100<<20-1<<10))
			c.refused(engine.ErrQuota, func() error { return give(a, left+1) }) // more than one transaction may ever use
			c.refused(engine.ErrBusy, func() error { return give(b, left+1) })
			c.must(give(b, left))
			c.refused(engine.ErrBusy, func() error { return give(b, 1) })
			c.must(c.sendIn(b, "q", "of no large body"))
			c.rollsBack(a)
			c.must(give(b, 1))
			c.must(c.ns.Check())
		},
		"settled and left": func(c *clocked) { // the properties of a settlement use memory too
			c.limit(func(l *engine.Limits) { l.TransactionMessages = 10_000 })
			c.queue("q", engine.Config{LockDuration: 5 * minute})
			var held []engine.Delivery
			for range 1200 {
				c.sends("q", "m")
				held = append(held, c.receive("q"))
			}
			settlement := engine.Settlement{Outcome: engine.DeadLetter, Reason: strings.Repeat("r", 4096), Description: strings.Repeat("d", 4096), Modify: value.Properties{
				{Name: strings.Repeat("n", 20<<10), Value: value.OfString(strings.Repeat("v", 32<<10))},
			}}
			tx, n := c.declare(), 0
			other := c.declare()
			for _, d := range held {
				settlement.Token = d.Token()
				if err := c.ns.SettleInTx(c.now, tx, settlement); err != nil {
					if !errors.Is(err, engine.ErrQuota) {
						c.Error(err)
					}
					c.refused(engine.ErrBusy, func() error { return c.ns.SettleInTx(c.now, other, settlement) })
					break
				}
				n++
			}
			if kept := n * (60 << 10); kept > 64<<20 || kept < 63<<20 {
				c.Errorf("%d bytes are kept", kept)
			}
			c.must(c.ns.Check())
		},
	}, asked)
}
