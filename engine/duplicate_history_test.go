package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/longtest"
)

// Ids of sends that were rolled back are not remembered.
func TestDuplicatesTakenBack(t *testing.T) {
	id := func(s string) engine.Content { return engine.Content{MessageID: s} }
	send := func(c *clocked, ids ...string) {
		c.Helper()
		for _, s := range ids {
			_, err := c.ns.Send(c.now, "q", c.submissions(id(s)), "")
			c.must(err)
		}
	}
	back := func(c *clocked) {
		c.Helper()
		c.ns.Flush(c.now, true)
		c.ns.Rollback()
		c.must(c.ns.Check())
	}
	run(t, rules{
		"the first of all": func(c *clocked) {
			c.detecting("q")
			send(c, "a", "b", "a", "b")
			back(c)
			c.equal(c.state("q").RememberedIDs, 0)
			c.equal(c.state("q").Duplicates, uint64(0))
			c.accepted("q", id("a"))
			c.restart()
			c.duplicate("q", id("a"))
			c.accepted("q", id("b"))
		},
		"beside others": func(c *clocked) {
			c.detecting("q")
			c.sends("q", "old")
			c.pass(second)
			send(c, "a", "old")
			back(c)
			c.duplicate("q", id("old"))
			c.at(window)
			c.accepted("q", id("old"))
			c.accepted("q", id("a"))
		},
		"twice in a turn": func(c *clocked) { // at several instants, in several generations
			c.detecting("q")
			c.sends("q", "old")
			for range 5 {
				c.now = c.now.Add(window / 5)
				send(c, c.now.Time().String(), "again")
			}
			back(c)
			c.equal(c.state("q").RememberedIDs, 1)
			c.accepted("q", id("again"))
			c.accepted("q", id("old"))
		},
		"what had its window": func(c *clocked) {
			c.detecting("q")
			c.sends("q", "m")
			c.now = c.now.Add(window)
			c.ns.Sweep(c.now, 100)
			c.equal(c.state("q").RememberedIDs, 0)
			back(c)
			c.equal(c.state("q").RememberedIDs, 1)
			c.sweep()
			c.equal(c.state("q").RememberedIDs, 0)
			c.equal(len(c.store.seen), 0)
		},
		"a shorter window": func(c *clocked) {
			c.detecting("q")
			c.sends("q", "m")
			c.pass(time.Minute)
			cfg := c.state("q").Config
			cfg.DuplicateDetectionHistoryTimeWindow = time.Minute
			_, err := c.ns.Update(c.now, "q", cfg, "")
			c.must(err)
			c.ns.Sweep(c.now, 100)
			send(c, "m")
			back(c)
			c.duplicate("q", id("m"))
		},
		"a longer window": func(c *clocked) {
			c.queue("q", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: time.Minute})
			c.sends("q", "a")
			c.at(10 * second)
			c.sends("q", "b")
			c.at(time.Minute)
			cfg := c.state("q").Config
			cfg.DuplicateDetectionHistoryTimeWindow = hour
			for range 2 {
				_, err := c.ns.Update(c.now, "q", cfg, "")
				c.must(err)
				send(c, "a", "c")
				back(c)
			}
			c.duplicate("q", id("b"))
			c.accepted("q", id("a"))
			c.at(time.Minute + 10*second)
			c.accepted("q", id("b"))
		},
		"the end of the queue": func(c *clocked) {
			c.detecting("q")
			c.sends("q", "m")
			send(c, "n")
			c.must(c.ns.Delete(c.now, "q", ""))
			back(c)
			c.duplicate("q", id("m"))
			c.accepted("q", id("n"))
		},
	})
}

// A body that was staged for a duplicate is dropped.
func TestStagedDuplicate(t *testing.T) {
	c := newClocked(t, asked)
	c.detecting("q")
	c.sends("q", "m")
	s, err := engine.Submit(engine.Content{MessageID: "m"}, nil, 1000, c.keys.Next(), c.limits)
	c.must(err)
	_, err = c.ns.Send(c.now, "q", []engine.Submission{s}, "")
	c.must(err)
	var dropped []engine.Key
	for range 3 {
		fx := c.ns.Flush(c.now, true)
		for _, d := range fx.Batch.DropContents {
			dropped = append(dropped, d.Key)
		}
		if n := len(fx.Batch.Messages) + len(fx.Batch.Contents) + len(fx.Batch.Bodies) + len(fx.Batch.Seen); n != 0 || fx.Batch.Hard {
			t.Errorf("the batch is %+v", fx.Batch)
		}
		c.ns.Seal(true)
	}
	if !slices.Equal(dropped, []engine.Key{s.Key}) {
		t.Errorf("%v is dropped; want %d", dropped, s.Key)
	}
}

// Ids committed together are one record for each entity and instant.
func TestSeenRecords(t *testing.T) {
	c := newClocked(t, asked)
	c.detecting("q")
	c.detecting("r")
	send := func(p engine.Path, ids ...string) {
		t.Helper()
		for _, s := range ids {
			_, err := c.ns.Send(c.now, p, c.submissions(engine.Content{MessageID: s}), "")
			c.must(err)
		}
	}
	send("q", "a", "b", "a")
	send("r", "a")
	send("q", "c")
	c.now = c.now.Add(ms)
	send("q", "d")
	seen := c.ns.Flush(c.now, true).Batch.Seen
	slices.SortFunc(seen, func(a, b engine.SeenIDs) int { return int(a.N) - int(b.N) })
	want := []struct {
		subqueue engine.SubqueueID
		at       engine.Instant
		ids      []string
	}{
		{c.state("q").ID, morning, []string{"a", "b", "c"}},
		{c.state("r").ID, morning, []string{"a"}},
		{c.state("q").ID, morning.Add(ms), []string{"d"}},
	}
	if len(seen) != len(want) {
		t.Fatalf("the records are %+v", seen)
	}
	for i, w := range want {
		var digests []engine.Digest
		for _, s := range w.ids {
			digests = append(digests, engine.DigestOf(s))
		}
		if r := seen[i]; r.Subqueue != w.subqueue || r.At != w.at || !slices.Equal(r.Digests, digests) {
			t.Errorf("record %d is %+v; want %+v", i, r, w)
		}
	}
	c.ns.Seal(true)
	send("q", "e")
	if again := c.ns.Flush(c.now, true).Batch.Seen; len(again) != 1 || again[0].N <= seen[2].N || len(again[0].Digests) != 1 {
		t.Errorf("afterwards the record is %+v", again)
	}
}

// Ids that the store has with a time after the current clock count as accepted now.
func TestSeenInTheFuture(t *testing.T) {
	c := newClocked(t, asked)
	c.queue("q", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: time.Minute})
	m := engine.Content{MessageID: "m"}
	c.now = morning.Add(24 * hour)
	c.sends("q", "m")
	c.pass(10 * second)
	c.sends("q", "n")
	c.pass(50 * second)
	c.update("q", func(cfg *engine.Config) { cfg.DuplicateDetectionHistoryTimeWindow = window }) // m's window has passed
	c.now = morning
	c.restart()
	c.duplicate("q", engine.Content{MessageID: "n"})
	c.accepted("q", m)
	c.duplicate("q", m)
	c.pass(second)
	c.accepted("q", engine.Content{MessageID: "after"})
	c.restart() // the store's records are not in chronological order
	c.duplicate("q", m)
	c.duplicate("q", engine.Content{MessageID: "after"})
	c.at(window - 1*ms)
	c.duplicate("q", m)
	c.at(window)
	c.accepted("q", m)
	c.at(window + second - 1*ms)
	c.duplicate("q", engine.Content{MessageID: "after"})
	c.at(window + second)
	c.accepted("q", engine.Content{MessageID: "after"})
	c.accepted("q", engine.Content{MessageID: "n"}) // n counts as accepted at the last restart at the latest
}

// After the window gets longer, the store keeps ids that were already forgotten no longer than
// the others, also after a restart.
func TestSeenIsDropped(t *testing.T) {
	c := newClocked(t, asked)
	c.queue("q", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: time.Minute})
	c.sends("q", "a")
	c.at(10 * second)
	c.sends("q", "b")
	c.at(time.Minute)
	c.update("q", func(cfg *engine.Config) { cfg.DuplicateDetectionHistoryTimeWindow = hour })
	c.equal(len(c.store.seen), 3)
	c.restart()
	c.equal(c.state("q").RememberedIDs, 1)
	c.at(10*second + hour - 1*ms)
	c.sweep()
	c.equal(len(c.store.seen), 3)
	c.at(10*second + hour)
	c.sweep()
	c.equal(len(c.store.seen), 0)
	c.sends("q", "c")
	c.pass(hour)
	c.update("q", func(cfg *engine.Config) { cfg.DuplicateDetectionHistoryTimeWindow = 2 * hour })
	c.equal(len(c.store.seen), 0) // no ids are left
}

// TestSeenIsPending tests which ids must be durable before the sender gets an answer, and which
// are stored later.
func TestSeenIsPending(t *testing.T) {
	c := newClocked(t, asked)
	c.detecting("q")
	pending := func(hard, soft bool) {
		t.Helper()
		if h, s := c.ns.Pending(); h != hard || s != soft {
			t.Errorf("pending is %v, %v; want %v, %v", h, s, hard, soft)
		}
		c.step()
	}
	send := func(m engine.Content) {
		t.Helper()
		_, err := c.ns.Send(c.now, "q", c.submissions(m), "")
		c.must(err)
	}
	send(engine.Content{MessageID: "m", TTL: second})
	pending(true, true)
	send(engine.Content{MessageID: "m"})
	pending(false, true)
	send(engine.Content{MessageID: "m", ScheduledFor: morning.Add(hour)}) // its sequence number must not be used again
	pending(true, true)
	c.pass(second)
	c.ns.Sweep(c.now, 100)
	c.step()
	c.step()
	c.now = morning.Add(window)
	pending(false, false)
	c.ns.Sweep(c.now, 100)
	pending(false, true)
	c.equal(len(c.store.seen), 0)
}

// A batch with a duplicate is sent again to a new queue that does not detect duplicates: the
// message is stored like any other.
func TestDuplicateNoMore(t *testing.T) {
	c := newClocked(t, asked)
	c.detecting("q")
	c.sends("q", "m")
	batch := c.submissions(engine.Content{MessageID: "m"})
	_, err := c.ns.Send(c.now, "q", batch, "")
	c.must(err)
	c.ns.Rollback()
	c.remove("q")
	c.queue("q", engine.Config{})
	_, err = c.ns.Send(c.now, "q", batch, "")
	c.must(err)
	c.step()
	c.wantIDs("q", "m")
}

// TestSeenIsTheModel compares the history with a list of all acceptances, in random steps.
func TestSeenIsTheModel(t *testing.T) {
	walks := 2
	if longtest.Enabled(t) {
		walks = 12
	}
	for _, w := range []way{asked, swept, restarted} {
		t.Run(string(w), func(t *testing.T) {
			for range walks {
				seed := rand.Uint64()
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { seenWalk(newClocked(t, w), rand.New(rand.NewPCG(seed, 0))) })
			}
		})
	}
}

func seenWalk(c *clocked, r *rand.Rand) {
	windows := []time.Duration{20 * second, 21 * second, 30 * second, 2 * time.Minute, 10 * time.Minute}
	now := windows[r.IntN(len(windows))]
	c.queue("q", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: now})
	accepted := map[string]engine.Instant{}
	settle := func() { // removes ids whose window has passed
		maps.DeleteFunc(accepted, func(_ string, at engine.Instant) bool { return c.now >= at+engine.Instant(now.Milliseconds()) })
	}
	for range 300 {
		settle()
		switch what := r.IntN(10); {
		case what < 5:
			id := fmt.Sprintf("m%d", r.IntN(30))
			_, was := accepted[id]
			before := c.state("q").Duplicates
			_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{MessageID: id}), "")
			c.must(err)
			if dropped := c.state("q").Duplicates > before; dropped != was {
				c.Fatalf("at %v %s is a duplicate: %v; by the list: %v", c.now.Sub(morning), id, dropped, was)
			}
			if r.IntN(5) == 0 {
				c.ns.Flush(c.now, true)
				c.ns.Rollback()
				c.must(c.ns.Check())
			} else if c.step(); !was {
				accepted[id] = c.now
			}
		case what < 9:
			by := time.Duration(r.IntN(9000)) * ms
			for _, at := range accepted { // to the end of one of the windows
				if d := at.Add(now).Sub(c.now) - time.Duration(r.IntN(2))*ms; r.IntN(4) == 0 && d > 0 {
					by = d
				}
			}
			c.pass(by)
		default:
			next := windows[r.IntN(len(windows))]
			cfg := c.state("q").Config
			cfg.DuplicateDetectionHistoryTimeWindow = next
			_, err := c.ns.Update(c.now, "q", cfg, "")
			c.must(err)
			if r.IntN(3) == 0 {
				c.ns.Sweep(c.now, 100)
				c.ns.Rollback()
				c.must(c.ns.Check())
			} else {
				c.step()
				now = next
			}
		}
		settle()
		for i := range 30 {
			id := fmt.Sprintf("m%d", i)
			_, want := accepted[id]
			if have, err := c.ns.IsDuplicate(c.now, "q", id); err != nil || have != want {
				c.Fatalf("at %v %s is remembered: %v (%v); by the list: %v", c.now.Sub(morning), id, have, err, want)
			}
		}
	}
}

// A full history refuses sends until ids are forgotten.
func TestDuplicateIDsOfTopic(t *testing.T) {
	c := newClocked(t, swept)
	c.limit(func(l *engine.Limits) { l.DuplicateIDs = 1 })
	c.topic("t", engine.Config{RequiresDuplicateDetection: true})
	c.sends("t", "m")
	if _, err := c.trySend("t", engine.Content{MessageID: "n"}); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("got %v", err)
	}
	c.at(window)
	c.sends("t", "n")
}
