package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/longtest"
)

// anywhere covers every subqueue.
func anywhere(engine.Path) bool { return true }

// nearing returns the ids of the messages that expire until an instant, the next to expire first,
// and when the next message after them expires. It reads `slice` messages at a time.
func (c *clocked) nearing(until engine.Instant, slice int, covers func(engine.Path) bool) (ids []string, next engine.Instant) {
	c.Helper()
	var at engine.ExpiryCursor
	for {
		rows, to, then := c.ns.ExpiringFrom(at, until, slice, covers)
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

// A watchman uses the expiry watch as alert rules do. It must find every message that expires
// within reach, by ExpiringFrom or among the missed ones.
type watchman struct {
	*clocked
	reach time.Duration
	at    engine.ExpiryCursor
	to    uint64
	met   map[engine.Key]engine.Instant // the expiry time with which each message was found
	next  engine.Instant
	begun bool
}

func (w *watchman) covers(p engine.Path) bool { return p != "other" }

// round reads one slice of expiring messages and all missed ones. done reports that there are no
// more to read now.
func (w *watchman) round() (done bool) {
	const slice = 3
	v := engine.ExpiryWatch{Seen: w.now.Add(w.reach), Reach: w.reach, MissedTo: w.to}
	if missed := w.ns.MissedExpiries(); missed.Overflow {
		w.at, v.MissedTo, w.begun = engine.ExpiryCursor{}, missed.To, false
	}
	var rows []engine.Row
	rows, w.at, w.next = w.ns.ExpiringFrom(w.at, v.Seen, slice, w.covers)
	if !w.begun {
		v.Covers, w.begun = w.covers, true
	}
	v.Next = w.next
	w.ns.WatchExpiry(v)
	for _, r := range rows {
		w.met[r.Message.Key] = r.Expires
	}
	missed := w.ns.MissedExpiries()
	for _, k := range missed.Keys {
		if r, err := w.ns.Message(k); err == nil {
			w.met[k] = r.Expires
		}
	}
	w.to = missed.To
	return len(rows) < slice
}

// check compares the found messages with all messages.
func (w *watchman) check(what string) {
	w.Helper()
	for _, r := range w.ns.Expiring(1 << 20) {
		if r.Path != "other" && r.Expires <= w.now.Add(w.reach) && w.met[r.Message.Key] != r.Expires {
			w.Fatalf("after %s: %s in %s has %v left and was not found", what, r.Content.MessageID(), r.Path, r.Expires.Sub(w.now))
		}
	}
}

// TestExpiryWatchAgainstAllMessages checks, in random steps, that a watchman finds every message
// that expires within its reach, although it reads messages only when the watch reports a change or
// the next expiry is near.
func TestExpiryWatchAgainstAllMessages(t *testing.T) {
	seeds := uint64(5)
	if longtest.Enabled(t) {
		seeds = 30
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 1))
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
					_ = c.ns.Extend(c.now, rows[rnd.IntN(len(rows))].Message.Key, c.now.Add(time.Duration(rnd.IntN(90))*second), "tester") //nolint:errcheck // it may have expired
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
			if c.ns.ExpiryChanged() || !w.begun || w.next != 0 && w.next.Add(-w.reach).Passed(c.now) {
				looks++
				for !w.round() {
				}
			}
			w.check(fmt.Sprintf("seed %d, step %d, %s", seed, step, what))
		}
		if looks == 300 {
			t.Error("the watchman had to look every time")
		}
	}
}

func TestExpiryWatchOverflows(t *testing.T) {
	run(t, rules{
		"everything is looked at": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.equal(c.ns.MissedExpiries().Overflow, true) // the watch is inactive
			c.ns.WatchExpiry(engine.ExpiryWatch{Seen: c.now.Add(hour), Covers: anywhere})
			c.equal(c.ns.MissedExpiries(), engine.MissedExpiries{})
			many := make([]engine.Content, 500)
			for i := range many {
				many[i] = engine.Content{MessageID: fmt.Sprint(i), TTL: minute}
			}
			for range 9 {
				_, err := c.trySend("q", many...)
				c.must(err)
			}
			first := c.ns.MissedExpiries()
			c.equal(first.Overflow, true)
			c.equal(len(first.Keys), 4096)
			c.send("q", engine.Content{MessageID: "later", TTL: minute})
			c.ns.WatchExpiry(engine.ExpiryWatch{Seen: c.now.Add(hour), MissedTo: first.To})
			c.equal(c.ns.MissedExpiries().Overflow, true) // the later message was not recorded
			c.ns.WatchExpiry(engine.ExpiryWatch{Seen: c.now.Add(hour), MissedTo: c.ns.MissedExpiries().To})
			c.equal(c.ns.MissedExpiries().Overflow, false)
			c.equal(len(c.ns.MissedExpiries().Keys), 0)
			c.send("q", engine.Content{MessageID: "last", TTL: minute})
			c.equal(len(c.ns.MissedExpiries().Keys), 1)
			c.ns.StopExpiryWatch()
			c.send("q", engine.Content{MessageID: "unseen", TTL: minute})
			c.equal(len(c.ns.MissedExpiries().Keys), 0)
		},
		"TTL-20 a lock that outlasts the moment is told of": func(c *clocked) {
			c.queue("q", engine.Config{LockDuration: minute})
			c.send("q", engine.Content{MessageID: "short", TTL: 80 * second})
			c.send("q", engine.Content{MessageID: "long", TTL: 90 * second})
			c.ns.WatchExpiry(engine.ExpiryWatch{Seen: c.now.Add(30 * second), Next: c.now.Add(80 * second), Reach: 30 * second, Covers: anywhere})
			short := c.receive("q")
			c.receive("q")
			c.equal(fmt.Sprint(c.ns.MissedExpiries().Keys), fmt.Sprint([]engine.Key{short.Message.Key}))
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
			c.equal(fmt.Sprint(c.ns.IdleEntities(at)), fmt.Sprint([]engine.IdleEntity{{Path: "soon", DeletesAt: at}}))
			c.equal(len(c.ns.IdleEntities(at-1)), 0)
			c.equal(len(c.ns.IdleEntities(at.Add(hour))), 2)
		},
	}, asked)
}
