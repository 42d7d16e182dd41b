package engine_test

import (
	"fmt"
	"testing"
	"time"

	"mayfly/engine"
)

// TestBounds checks that one step does a limited amount of work, so that no other request waits
// long for the namespace's owner.
func TestBounds(t *testing.T) {
	const most = 4096
	run(t, rules{
		"a receiver of everything": func(c *clocked) {
			c.queue("q", engine.Config{})
			for range 50 {
				_, err := c.ns.Send(c.now, "q", c.submissions(make([]engine.Content, 100)...), "")
				c.must(err)
			}
			c.step()
			c.must(c.ns.Attach(c.now, engine.Link{ID: 1, Path: "q", SingleMessage: true}))
			c.must(c.ns.Credit(c.now, 1, 1e9))
			c.step()
			c.equal(len(c.inbox), most)
			c.equal(len(c.ended), 1)
			c.must(c.ns.Attach(c.now, engine.Link{ID: 2, Path: "q"}))
			c.must(c.ns.Credit(c.now, 2, 1e9))
			c.step()
			c.equal(len(c.inbox), 5000)
		},
		"two receivers of everything": func(c *clocked) {
			for i, q := range []engine.Path{"a", "b"} {
				c.queue(q, engine.Config{})
				for range most / 100 * 2 {
					_, err := c.ns.Send(c.now, q, c.submissions(make([]engine.Content, 100)...), "")
					c.must(err)
				}
				c.step()
				c.must(c.ns.Attach(c.now, engine.Link{ID: engine.LinkID(i + 1), Path: q}))
			}
			for id := range engine.LinkID(2) {
				c.must(c.ns.Credit(c.now, id+1, 1e9))
			}
			for n := 1; n < 4; n++ {
				c.step()
				c.equal(len(c.inbox), n*most)
				c.equal(c.ns.NextDue(), engine.Instant(1))
			}
			c.step()
			c.equal(len(c.inbox), 2*2*(most/100*100))
		},
		"activations at a topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			for i := range 50 {
				c.sub("t", fmt.Sprint("s", i), engine.Config{})
			}
			_, err := c.ns.Send(c.now, "t", c.submissions(scheduled(c, 100)...), "")
			c.must(err)
			c.step()
			c.now = c.now.Add(time.Minute)
			c.ns.Sweep(c.now, 1000)
			counts, _ := c.ns.Totals()
			if counts.Active == 0 || counts.Active > 2000 {
				c.Errorf("%d copies were made in a sweep of at most 1000 changes", counts.Active)
			}
			for c.ns.Sweep(c.now, 1000) {
			}
			c.step()
			counts, _ = c.ns.Totals()
			c.equal(counts.Active, int64(5000))
		},
	}, asked)
}

func scheduled(c *clocked, n int) []engine.Content {
	all := make([]engine.Content, n)
	for i := range all {
		all[i].ScheduledFor = c.now.Add(time.Minute)
	}
	return all
}

// OPS-7: a purge does not remove messages of another entity that was created under the same
// name.
func TestPurgeSparesASuccessor(t *testing.T) {
	c := newClocked(t, asked)
	c.queue("q", engine.Config{})
	for range 3 {
		c.sends("q", "old")
	}
	pg, err := c.ns.BeginPurge(c.now, "q", []engine.Class{engine.ClassActive})
	c.must(err)
	c.must(c.ns.PurgeSlice(c.now, &pg, 1, ""))
	c.must(c.ns.Delete(c.now, "q", ""))
	c.queue("q", engine.Config{})
	c.sends("q", "new")
	if err := c.ns.PurgeSlice(c.now, &pg, 100, ""); err == nil {
		t.Error("a purge of the deleted entity continues on its successor")
	}
	c.step()
	c.wantIDs("q", "new")
}

// A staged body does not outlive the next opening of its store, so its message must not be
// accepted after that.
func TestStagedBeforeAnOpen(t *testing.T) {
	c := newClocked(t, asked)
	c.queue("q", engine.Config{})
	s, err := engine.Submit(engine.Content{}, nil, 1000, c.keys.Next(), c.limits)
	c.must(err)
	c.restart()
	if _, err := c.ns.Send(c.now, "q", []engine.Submission{s}, ""); err == nil {
		t.Error("a message whose body was staged before the opening was accepted")
	}
}
