package engine_test

import (
	"errors"
	"strings"
	"testing"

	"mayfly/engine"
)

// sendViaIn adds sends via another entity to a transaction.
func (c *clocked) sendViaIn(id engine.TxID, via, to engine.Path, ids ...string) error {
	c.Helper()
	var batch []engine.Content
	for _, s := range ids {
		batch = append(batch, engine.Content{MessageID: s})
	}
	err := c.ns.SendViaInTx(c.now, id, via, to, c.submissions(batch...))
	c.step()
	return err
}

// A message from one entity can be settled in the transaction that sends to another entity via
// it (TX-3, FWD-14).
func TestTransactionVia(t *testing.T) {
	const tdlq = engine.Path("in/$Transfer/$DeadLetterQueue")
	begin := func(c *clocked) (engine.TxID, engine.Delivery) {
		c.queue("in", engine.Config{})
		c.queue("out", engine.Config{})
		c.sends("in", "m")
		d := c.receive("in")
		tx := c.declare()
		c.must(c.settleIn(tx, d, engine.Complete))
		c.must(c.sendViaIn(tx, "in", "out", "a", "b"))
		return tx, d
	}
	disabled := func(cfg *engine.Config) { cfg.Status = engine.StatusDisabled }
	run(t, rules{
		"TX-3, FWD-14": func(c *clocked) {
			tx, _ := begin(c)
			c.wantCounts("out", engine.Counts{}) // TX-4
			c.wantCounts("in", engine.Counts{Locked: 1})
			c.commits(tx, 1, 2)
			c.wantIDs("out", "a", "b")
			c.wantCounts("in", engine.Counts{})
		},
		"TX-4 rolled back": func(c *clocked) {
			tx, d := begin(c)
			c.rollsBack(tx)
			c.wantCounts("out", engine.Counts{})
			c.complete(d)
		},
		"FWD-14 disabled before the commit": func(c *clocked) {
			tx, _ := begin(c)
			c.update("out", disabled)
			c.commits(tx, 2, 3) // with sequence numbers of "in"
			c.wantIDs(tdlq, "a", "b")
			c.wantCounts("in", engine.Counts{TransferDeadLetter: 2})
			c.restart()
			c.wantIDs(tdlq, "a", "b")
		},
		"FWD-14 disabled until the commit": func(c *clocked) {
			c.queue("in", engine.Config{})
			c.queue("out", engine.Config{Status: engine.StatusDisabled})
			tx := c.declare()
			c.must(c.sendViaIn(tx, "in", "out", "a"))
			c.update("out", func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			c.commits(tx, 1)
			c.wantIDs("out", "a")
		},
		"FWD-14 deleted": func(c *clocked) { // the sender gets an error, and nothing is done
			tx, d := begin(c)
			c.remove("out")
			_, err := c.discharge(tx, engine.Commit)
			if !errors.Is(err, engine.ErrNotFound) || !strings.Contains(err.Error(), "operation 2 of 2 failed, to send to 'out' via 'in': ") {
				c.Errorf("got %v", err)
			}
			c.over(tx)
			c.wantCounts("in", engine.Counts{Locked: 1})
			c.complete(d)
		},
		"FWD-14 full": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.EntitySize = 100 })
			tx, d := begin(c)
			c.big("out", 98)
			c.refused(engine.ErrQuota, func() error { return second2(c.discharge(tx, engine.Commit)) })
			c.wantCounts("in", engine.Counts{Locked: 1}) // in neither dead-letter subqueue
			c.complete(d)
		},
		"a failure takes back what stranded": func(c *clocked) {
			tx, d := begin(c)
			c.update("out", disabled)
			c.queue("r", engine.Config{})
			c.must(c.sendIn(tx, "r", "n"))
			c.remove("r")
			c.refused(engine.ErrNotFound, func() error { return second2(c.discharge(tx, engine.Commit)) })
			c.wantCounts("in", engine.Counts{Locked: 1})
			c.complete(d)
			c.equal(c.send("in", engine.Content{}), engine.Seq(2))
		},
		"refused": func(c *clocked) {
			c.queue("in", engine.Config{})
			c.queue("off", engine.Config{Status: engine.StatusSendDisabled})
			tx := c.declare()
			for kind, way := range map[error][2]engine.Path{
				engine.ErrNotFound: {"in", "nowhere"}, engine.ErrDisabled: {"off", "in"}, engine.ErrNotAllowed: {"in", tdlq},
			} {
				c.refused(kind, func() error { return c.sendViaIn(tx, way[0], way[1], "m") })
			}
			c.refused(engine.ErrNotFound, func() error { return c.sendViaIn(tx, "nowhere", "in", "m") })
			c.refused(engine.ErrArgument, func() error { return c.sendViaIn(tx, "in", "off") })
			c.refused(engine.ErrTransaction, func() error { return c.sendViaIn(tx+1, "in", "in", "m") })
			c.commits(tx)
		},
		"a large body": func(c *clocked) { // the staged body of a message that the destination refuses
			c.queue("in", engine.Config{})
			c.queue("out", engine.Config{Status: engine.StatusDisabled})
			s, err := engine.Submit(engine.Content{}, nil, 1000, c.keys.Next(), c.limits)
			c.must(err)
			c.store.bodies[s.Key] = make([]byte, 1000)
			tx := c.declare()
			c.must(c.ns.SendViaInTx(c.now, tx, "in", "out", []engine.Submission{s}))
			c.step()
			c.commits(tx, 1)
			c.step()
			c.grab(tdlq)
			c.step()
			c.step()
			c.equal(len(c.store.bodies), 0)
		},
	}, asked, swept)
}

// The error of a commit shows that the transaction has ended, even if the failed operation's
// error alone would suggest a retry.
func TestTransactionRolledBackIsReported(t *testing.T) {
	run(t, rules{"§5.4": func(c *clocked) {
		c.limit(func(l *engine.Limits) { l.DuplicateIDs = 1 })
		c.detecting("d")
		tx := c.declare()
		c.must(c.sendIn(tx, "d", "x"))
		c.sends("d", "y") // no other id is remembered now
		_, err := c.discharge(tx, engine.Commit)
		for _, kind := range []error{engine.ErrRolledBack, engine.ErrTransaction, engine.ErrBusy} {
			if !errors.Is(err, kind) {
				c.Errorf("the error is not %q: %v", kind, err)
			}
		}
		c.equal(subCode(err), 0)
		for what, err := range map[string]error{
			"used later":       second2(c.discharge(tx, engine.Commit)),
			"refused to begin": c.sendIn(c.declare(), "nowhere", "m"),
		} {
			if errors.Is(err, engine.ErrRolledBack) {
				c.Errorf("%s: %v", what, err)
			}
		}
	}}, asked)
}
