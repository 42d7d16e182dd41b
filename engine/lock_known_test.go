package engine_test

import (
	"testing"

	"mayfly/engine"
)

// TestLockKnown tests the details of locks: the client, the start, and the number of renewals.
func TestLockKnown(t *testing.T) {
	run(t, rules{
		"LOCK-5": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			c.equal(c.row("q").Lock, engine.Lock{By: "receiver", Since: morning})
			c.at(50 * second)
			_, err := c.renew(d)
			c.must(err)
			c.at(100 * second)
			_, err = c.ns.RenewLockFor(c.now, d.Message.Key, "operator") // an operator renews it, the client stays the same
			c.must(err)
			c.equal(c.row("q").Lock, engine.Lock{By: "receiver", Since: morning, Renewals: 2, RenewedAt: morning.Add(100 * second)})
			c.release(d)
			c.equal(c.row("q").Lock, engine.Lock{})
			d = c.receive("q")
			c.equal(c.row("q").Lock, engine.Lock{By: "receiver", Since: morning.Add(100 * second)})
			c.must(c.ns.BreakLock(c.now, d.Message.Key, "operator"))
			c.equal(c.row("q").Lock, engine.Lock{})
		},
		"LOCK-5 taken back": func(c *clocked) { // a renewal that the store refused is undone
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			for range 2 {
				_, err := c.ns.RenewLock(c.now, d.Token(), "", "receiver")
				c.must(err)
				c.ns.Rollback()
				c.equal(c.row("q").Lock, engine.Lock{By: "receiver", Since: morning})
			}
		},
		"SES-5": func(c *clocked) { // a message counts its session's renewals from when it was locked
			c.queue("q", engine.Config{RequiresSession: true})
			c.say("q", "s", "a", "b")
			l := c.hold("q", "s")
			c.take(l)
			renew := func() {
				_, err := c.ns.RenewSession(c.now, l)
				c.must(err)
				c.step()
			}
			c.at(10 * second)
			renew()
			c.at(20 * second)
			c.take(l)
			rows := c.rows("q")
			first := engine.Lock{By: "receiver", Since: morning, Renewals: 1, RenewedAt: morning.Add(10 * second)}
			c.equal(rows[0].Lock, first)
			c.equal(rows[1].Lock, engine.Lock{By: "receiver", Since: morning.Add(20 * second)})
			c.equal(c.about("q", "s").Lock, first)
			c.at(30 * second)
			renew()
			rows = c.rows("q")
			c.equal(rows[0].Lock.Renewals, 2)
			c.equal(rows[1].Lock, engine.Lock{By: "receiver", Since: morning.Add(20 * second), Renewals: 1, RenewedAt: morning.Add(30 * second)})
			c.detach(l, engine.DetachedByClient)
			c.equal(c.about("q", "s").Lock, engine.Lock{})
			c.equal(c.rows("q")[0].Lock, engine.Lock{})
		},
	}, asked, swept)
}

// TestLockKnownAfterRestart tests locks from the store: only their ends, and what has happened
// since the restart, are known (DEC-12).
func TestLockKnownAfterRestart(t *testing.T) {
	run(t, rules{
		"DEC-12": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			d := c.receive("q")
			_, err := c.renew(d)
			c.must(err)
			c.at(second)
			c.equal(c.row("q").Lock, engine.Lock{})
			until, err := c.ns.RenewLock(c.now, d.Token(), "", "receiver")
			c.must(err)
			c.equal(c.row("q").Lock, engine.Lock{Renewals: 1, RenewedAt: c.now})
			c.ns.Rollback()
			c.equal(c.row("q").Lock, engine.Lock{})
			c.equal(c.row("q").Message.LockedUntil < until, true)
		},
	}, restarted)
}

// TestHolding checks that LockedBy lists the messages that one client has locked in several
// subqueues, within its limits on results and on messages examined.
func TestHolding(t *testing.T) {
	run(t, rules{
		"LOCK-3": func(c *clocked) {
			for _, p := range []engine.Path{"p", "q"} {
				c.queue(p, engine.Config{})
				c.sends(p, "a", "b", "c", "d")
				for _, client := range []string{"me", "you", "me"} {
					c.links++
					c.must(c.ns.Attach(c.now, engine.Link{ID: c.links, Path: p, Client: client, SingleMessage: true}))
					c.must(c.ns.Credit(c.now, c.links, 1))
					c.step()
				}
			}
			ask := func(most, look int) (seqs []engine.Seq, all bool) {
				rows, all := c.ns.LockedBy(c.now, engine.LockQuery{Client: "me", Paths: []engine.Path{"q", "gone", "p"}, Limit: most, MaxLooks: look})
				for _, r := range rows {
					seqs = append(seqs, r.Message.Seq)
					c.equal(r.Lock.By, "me")
				}
				return seqs, all
			}
			for _, tc := range []struct {
				most, look int
				want       []engine.Seq
				all        bool
			}{
				{10, 10, []engine.Seq{1, 3, 1, 3}, true},
				{10, 6, []engine.Seq{1, 3, 1, 3}, true},
				{10, 5, []engine.Seq{1, 3, 1}, false},
				{2, 10, []engine.Seq{1, 3}, false},
				{4, 10, []engine.Seq{1, 3, 1, 3}, true},
			} {
				seqs, all := ask(tc.most, tc.look)
				c.equal(seqs, tc.want)
				c.equal(all, tc.all)
			}
			c.at(minute - ms)
			seqs, _ := ask(10, 10)
			c.equal(len(seqs), 4)
			c.at(minute)
			seqs, _ = ask(10, 10)
			c.equal(len(seqs), 0)
		},
	}, asked)
}
