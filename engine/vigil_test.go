package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mayfly/engine"
)

// anywhere is every place.
func anywhere(engine.Path) bool { return true }

// nearing walks from the beginning in slices.
func (c *clocked) nearing(until engine.Instant, slice int, covers func(engine.Path) bool) (ids []string, next engine.Instant) {
	c.Helper()
	var at engine.Brink
	for {
		rows, to, then := c.ns.Nearing(at, until, slice, covers)
		for _, r := range rows {
			ids = append(ids, r.Content.MessageID())
		}
		if len(rows) < slice {
			return ids, then
		}
		at = to
	}
}

func TestNearing(t *testing.T) {
	run(t, rules{
		"in the order of expiry, then of places and numbers": func(c *clocked) {
			for _, p := range []engine.Path{"b", "a", "c"} {
				c.queue(p, engine.Config{})
				c.send(p, engine.Content{MessageID: string(p) + "2", TTL: 2 * minute})
				c.send(p, engine.Content{MessageID: string(p) + "1", TTL: minute})
				c.send(p, engine.Content{MessageID: string(p) + "1'", TTL: minute})
				c.sends(p, "never")
			}
			for slice := 1; slice < 10; slice++ {
				ids, next := c.nearing(c.now.Add(2*minute), slice, anywhere)
				c.equal(fmt.Sprint(ids), "[a1 a1' b1 b1' c1 c1' a2 b2 c2]")
				c.equal(next, engine.Instant(0))
			}
			ids, next := c.nearing(c.now.Add(2*minute)-1, 2, func(p engine.Path) bool { return p != "b" })
			c.equal(fmt.Sprint(ids), "[a1 a1' c1 c1']")
			c.equal(next, c.now.Add(2*minute))
			ids, _ = c.nearing(c.now.Add(minute)-1, 2, anywhere)
			c.equal(len(ids), 0)
		},
		"what is locked, deferred, scheduled or dead does not run out": func(c *clocked) {
			c.queue("q", engine.Config{})
			for _, id := range []string{"locked", "deferred", "dead", "here"} {
				c.send("q", engine.Content{MessageID: id, TTL: hour})
			}
			c.receive("q")
			c.setAside(c.receive("q"))
			c.kill(c.receive("q"), "", "")
			c.send("q", engine.Content{MessageID: "scheduled", TTL: hour, ScheduledFor: c.now.Add(minute)})
			ids, _ := c.nearing(c.now.Add(2*hour), 10, anywhere)
			c.equal(fmt.Sprint(ids), "[here]")
		},
	}, asked, swept)
}

// A watchman keeps a vigil as the rules for rescue do: everything that has less than
// reach left is to be met by him, by a walk or because it slipped.
type watchman struct {
	*clocked
	reach time.Duration
	at    engine.Brink
	to    uint64
	met   map[engine.Key]engine.Instant // by the expiry that it was met with
	next  engine.Instant
	begun bool
}

func (w *watchman) covers(p engine.Path) bool { return p != "other" }

// round is one look; done tells that there is nothing more to look at now.
func (w *watchman) round() (done bool) {
	const slice = 3
	v := engine.Vigil{Seen: w.now.Add(w.reach), Reach: w.reach, To: w.to}
	if slip := w.ns.Slipped(); slip.All {
		w.at, v.To, w.begun = engine.Brink{}, slip.To, false
	}
	var rows []engine.Row
	rows, w.at, w.next = w.ns.Nearing(w.at, v.Seen, slice, w.covers)
	if !w.begun {
		v.Covers, w.begun = w.covers, true
	}
	v.Next = w.next
	w.ns.Attend(v)
	for _, r := range rows {
		w.met[r.Message.Key] = r.Expires
	}
	slip := w.ns.Slipped()
	for _, k := range slip.Keys {
		if r, err := w.ns.Message(k); err == nil {
			w.met[k] = r.Expires
		}
	}
	w.to = slip.To
	return len(rows) < slice
}

// check compares with all there is.
func (w *watchman) check(what string) {
	w.Helper()
	for _, r := range w.ns.Expiring(1 << 20) {
		if r.Path != "other" && r.Expires <= w.now.Add(w.reach) && w.met[r.Message.Key] != r.Expires {
			w.Fatalf("after %s: %s in %s has %v left and was not met", what, r.Content.MessageID(), r.Path, r.Expires.Sub(w.now))
		}
	}
}

// TestVigilAgainstAllThereIs has a watchman look when he is stirred or when the next
// is near, and no other time.
func TestVigilAgainstAllThereIs(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
		c := newClocked(t, swept)
		for _, p := range []engine.Path{"a", "b", "other"} {
			c.queue(p, engine.Config{LockDuration: time.Duration(5+rnd.IntN(20)) * second, DeadLetteringOnMessageExpiration: p == "b"})
		}
		w := &watchman{clocked: c, reach: time.Duration(1+rnd.IntN(40)) * second, met: map[engine.Key]engine.Instant{}}
		var held []engine.Delivery
		looks := 0
		for step := range 300 {
			p := []engine.Path{"a", "b", "other"}[rnd.IntN(3)]
			what := ""
			switch rnd.IntN(9) {
			case 0, 1, 2:
				what = "send"
				c.send(p, engine.Content{MessageID: fmt.Sprint("m", step), TTL: time.Duration(1+rnd.IntN(120)) * second})
			case 3:
				what = "receive"
				if d, ok, err := c.tryReceive(p, engine.PeekLock); err == nil && ok {
					held = append(held, d)
				}
			case 4:
				what = "abandon"
				if len(held) > 0 {
					_ = c.settle(held[0], engine.Abandon) //nolint:errcheck // the lock may be lost
					held = held[1:]
				}
			case 5:
				what = "extend"
				if rows := c.rows(p); len(rows) > 0 {
					_ = c.ns.Extend(c.now, rows[rnd.IntN(len(rows))].Message.Key, c.now.Add(time.Duration(rnd.IntN(90))*second), "tester") //nolint:errcheck // it may have died
					c.step()
				}
			case 6:
				what = "update"
				c.update(p, func(cfg *engine.Config) { cfg.DefaultMessageTimeToLive = time.Duration(20+rnd.IntN(100)) * second })
			case 7:
				what = "let an hour's lock end"
				c.pass(time.Duration(rnd.IntN(4000)) * time.Millisecond)
			case 8:
				what = "pass"
				c.pass(time.Duration(rnd.IntN(1000)) * time.Millisecond)
			}
			if c.ns.Stirred() || !w.begun || w.next != 0 && w.next.Add(-w.reach).Passed(c.now) {
				looks++
				for !w.round() {
				}
			}
			w.check(fmt.Sprintf("seed %d, step %d, %s", seed, step, what))
		}
		if looks == 300 {
			t.Error("the watchman has looked each time")
		}
	}
}

func TestVigilThatIsTooMuch(t *testing.T) {
	run(t, rules{
		"everything is looked at": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.equal(c.ns.Slipped().All, true) // nobody has attended
			c.ns.Attend(engine.Vigil{Seen: c.now.Add(hour), Covers: anywhere})
			c.equal(c.ns.Slipped(), engine.Slip{})
			many := make([]engine.Content, 500)
			for i := range many {
				many[i] = engine.Content{MessageID: fmt.Sprint(i), TTL: minute}
			}
			for range 9 {
				_, err := c.trySend("q", many...)
				c.must(err)
			}
			first := c.ns.Slipped()
			c.equal(first.All, true)
			c.equal(len(first.Keys), 4096)
			c.send("q", engine.Content{MessageID: "later", TTL: minute})
			c.ns.Attend(engine.Vigil{Seen: c.now.Add(hour), To: first.To})
			c.equal(c.ns.Slipped().All, true) // of the later one nothing is known
			c.ns.Attend(engine.Vigil{Seen: c.now.Add(hour), To: c.ns.Slipped().To})
			c.equal(c.ns.Slipped().All, false)
			c.equal(len(c.ns.Slipped().Keys), 0)
			c.send("q", engine.Content{MessageID: "last", TTL: minute})
			c.equal(len(c.ns.Slipped().Keys), 1)
			c.ns.Unattended()
			c.send("q", engine.Content{MessageID: "unseen", TTL: minute})
			c.equal(len(c.ns.Slipped().Keys), 0)
		},
		"TTL-20 a lock that outlasts the moment is told of": func(c *clocked) {
			c.queue("q", engine.Config{LockDuration: minute})
			c.send("q", engine.Content{MessageID: "short", TTL: 80 * second})
			c.send("q", engine.Content{MessageID: "long", TTL: 90 * second})
			c.ns.Attend(engine.Vigil{Seen: c.now.Add(30 * second), Next: c.now.Add(80 * second), Reach: 30 * second, Covers: anywhere})
			short := c.receive("q")
			c.receive("q")
			c.equal(fmt.Sprint(c.ns.Slipped().Keys), fmt.Sprint([]engine.Key{short.Message.Key}))
		},
	}, asked)
}

func TestIdlers(t *testing.T) {
	run(t, rules{
		"IDLE-1 those that delete themselves in time": func(c *clocked) {
			c.queue("soon", engine.Config{AutoDeleteOnIdle: 5 * minute})
			c.queue("late", engine.Config{AutoDeleteOnIdle: hour})
			c.queue("held", engine.Config{AutoDeleteOnIdle: 5 * minute})
			c.queue("stays", engine.Config{})
			c.send("held", engine.Content{ScheduledFor: c.now.Add(24 * hour)})
			at := c.now.Add(5 * minute)
			c.equal(fmt.Sprint(c.ns.Idlers(at)), fmt.Sprint([]engine.Idler{{Path: "soon", DeletesAt: at}}))
			c.equal(len(c.ns.Idlers(at-1)), 0)
			c.equal(len(c.ns.Idlers(at.Add(hour))), 2)
		},
	}, asked)
}
