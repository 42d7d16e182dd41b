package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/value"
)

var everyClass = []engine.Class{engine.ClassActive, engine.ClassDeferred, engine.ClassScheduled}

// sieve parses a filter, which must be valid.
func (c *clocked) sieve(text string) *engine.MessageFilter {
	c.Helper()
	s, err := engine.ParseMessageFilter(text, c.limits)
	c.must(err)
	return s
}

// plan begins a purge with a filter.
func (c *clocked) plan(p engine.Path, text string, classes ...engine.Class) engine.Purge {
	c.Helper()
	pg, err := c.ns.BeginPurge(c.now, p, classes)
	c.must(err)
	pg.Filter = c.sieve(text)
	return pg
}

// preview counts what the rest of a purge would remove. It requires that counting changes nothing.
func (c *clocked) preview(pg engine.Purge, slice int) engine.Purge {
	c.Helper()
	c.step()
	before := c.picture()
	for !pg.Done {
		c.must(c.ns.CountPurgeSlice(c.now, &pg, slice))
	}
	c.step()
	if diff := cmp.Diff(before, c.picture()); diff != "" {
		c.Errorf("counting changed something:\n%s", diff)
	}
	return pg
}

// carryOut does the rest of a purge, and requires that the result is the one that preview returns.
func (c *clocked) carryOut(pg engine.Purge, slice int) engine.Purge {
	c.Helper()
	want := c.preview(pg, slice)
	for !pg.Done {
		c.must(c.ns.PurgeSlice(c.now, &pg, slice, "operator"))
		c.step()
	}
	want.Filter = pg.Filter
	c.equal(purgeCounts(pg), purgeCounts(want))
	return pg
}

// purgeCounts formats the counts of a purge: removed, skipped because locked, failed to evaluate,
// and not matched.
func purgeCounts(pg engine.Purge) string {
	return fmt.Sprint(pg.Removed, pg.Skipped, pg.Failed, pg.Unmatched)
}

func price(id string, v value.Value) engine.Content {
	return engine.Content{MessageID: id, Subject: "price", Properties: value.Properties{{Name: "price", Value: v}}}
}

// OPS-7: exactly those messages of the chosen states are removed for which the filter is true.
func TestPurgeByFilter(t *testing.T) {
	for name, tc := range map[string]struct {
		filter string
		counts string // removed, locked, failed to evaluate, spared
		stay   []string
	}{
		"OPS-7 filter: above":                      {"price > 10", "1 0 0 4", []string{"ten", "text", "none", "null"}},
		"OPS-7 filter: from":                       {"price >= 10", "2 0 0 3", []string{"text", "none", "null"}},
		"OPS-7 filter: NOT unknown, FILT-29":       {"NOT price > 10", "1 0 0 4", []string{"eleven", "text", "none", "null"}},
		"OPS-7 filter: unknown OR true, FILT-29":   {"price > 10 OR sys.MessageId = 'none'", "2 0 0 3", []string{"ten", "text", "null"}},
		"OPS-7 filter: null and missing":           {"price IS NULL", "2 0 0 3", []string{"ten", "eleven", "text"}},
		"OPS-7 filter: cannot be judged, FILT-31":  {"price", "0 0 3 2", []string{"ten", "eleven", "text", "none", "null"}},
		"OPS-7 filter: failing OR true, FILT-31":   {"price OR sys.MessageId = 'none'", "1 0 3 1", []string{"ten", "eleven", "text", "null"}},
		"OPS-7 filter: no such parameter, FILT-25": {"price > @limit", "0 0 5 0", []string{"ten", "eleven", "text", "none", "null"}},
		"OPS-7 filter: a system property":          {"sys.Label = 'price'", "4 0 0 1", []string{"none"}},
		"OPS-7 filter: the number":                 {"sys.SequenceNumber >= 2 AND sys.EnqueuedSequenceNumber < 4", "2 0 0 3", []string{"ten", "none", "null"}},
		"OPS-7 filter: the time":                   {"sys.EnqueuedTimeUtc IS NOT NULL", "5 0 0 0", nil},
		"OPS-7 filter: nothing":                    {"1 = 0", "0 0 0 5", []string{"ten", "eleven", "text", "none", "null"}},
	} {
		run(t, rules{name: func(c *clocked) {
			for _, slice := range []int{1, 2, 100} {
				c.queue("q", engine.Config{})
				c.send("q", price("ten", value.OfLong(10)))
				c.send("q", price("eleven", value.OfLong(11)))
				c.send("q", price("text", value.OfString("11")))
				c.send("q", engine.Content{MessageID: "none"})
				c.send("q", price("null", value.Value{}))
				pg := c.carryOut(c.plan("q", tc.filter, engine.ClassActive), slice)
				c.equal(purgeCounts(pg), tc.counts)
				c.wantIDs("q", tc.stay...)
				c.remove("q")
			}
		}})
	}
	const red, blue = "sys.Label = 'red'", "sys.Label = 'blue'"
	send := func(c *clocked, p engine.Path, ids ...string) { // the first letter of an id is the color
		c.Helper()
		for _, id := range ids {
			c.send(p, engine.Content{MessageID: id, Subject: map[byte]string{'r': "red", 'b': "blue"}[id[0]]})
		}
	}
	run(t, rules{
		"OPS-7 filter: later ones": func(c *clocked) {
			c.queue("q", engine.Config{})
			send(c, "q", "r1", "b2", "r3")
			pg := c.plan("q", red, engine.ClassActive)
			c.must(c.ns.PurgeSlice(c.now, &pg, 1, "operator"))
			send(c, "q", "r4")
			c.equal(purgeCounts(c.carryOut(pg, 1)), "2 0 0 1")
			c.wantIDs("q", "b2", "r4")
		},
		"OPS-7 filter: locked": func(c *clocked) { // a locked message is reported if it would have been removed
			c.queue("q", engine.Config{})
			send(c, "q", "r1", "b2", "r3", "b4")
			c.receive("q")
			c.receive("q")
			c.equal(purgeCounts(c.carryOut(c.plan("q", red, everyClass...), 1)), "1 1 0 1")
			c.wantIDs("q", "r1", "b2", "b4")
			c.equal(purgeCounts(c.carryOut(c.plan("q", "sys.Label > @none", everyClass...), 10)), "0 0 3 0")
		},
		"OPS-7 filter: a lock that ran out": func(c *clocked) {
			c.queue("q", engine.Config{})
			send(c, "q", "r1", "b2")
			c.receive("q")
			c.receive("q")
			pg := c.plan("q", red, engine.ClassActive)
			c.at(minute - ms)
			c.equal(purgeCounts(c.preview(pg, 10)), "0 1 0 0")
			c.at(minute)
			c.equal(purgeCounts(c.carryOut(pg, 10)), "1 0 0 1")
			c.wantIDs("q", "b2")
		},
		"OPS-7 filter: expired, DC-4": func(c *clocked) { // an expired message is neither removed nor evaluated
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.send("q", engine.Content{MessageID: "r1", Subject: "red", TTL: minute})
			send(c, "q", "r2")
			c.receive("q")
			c.receive("q")
			pg := c.plan("q", red, engine.ClassActive)
			c.at(minute)
			c.equal(purgeCounts(c.carryOut(pg, 10)), "0 0 0 0")
		},
		"OPS-7 filter: deferred": func(c *clocked) {
			c.queue("q", engine.Config{})
			send(c, "q", "r1", "b2", "r3")
			c.setAside(c.receive("q"))
			c.setAside(c.receive("q"))
			c.equal(purgeCounts(c.carryOut(c.plan("q", red, engine.ClassDeferred), 1)), "1 0 0 1")
			c.wantIDs("q", "b2", "r3")
		},
		"OPS-7 filter: scheduled are cancelled": func(c *clocked) {
			c.queue("q", engine.Config{})
			for _, id := range []string{"red", "blue"} {
				c.send("q", engine.Content{MessageID: id, Subject: id, ScheduledFor: c.now.Add(minute)})
			}
			c.equal(purgeCounts(c.carryOut(c.plan("q", red, engine.ClassScheduled), 1)), "1 0 0 1")
			c.at(minute)
			c.step()
			c.sweep()
			c.wantIDs("q", "blue")
		},
		"OPS-7 filter: dead letters, TTL-27": func(c *clocked) { // the dead-letter reason is a property
			c.queue("q", engine.Config{})
			send(c, "q", "r1", "b2", "r3", "r4")
			late := c.receive("q")
			c.kill(c.receive("q"), "Poison", "")
			c.kill(c.receive("q"), "Poison", "too hot")
			c.kill(c.receive("q"), "Other", "too hot")
			pg := c.plan("q/$DeadLetterQueue", "DeadLetterReason = 'Poison' AND DeadLetterErrorDescription LIKE '%hot'", everyClass...)
			c.pass(ms)
			c.kill(late, "Poison", "too hot")
			c.equal(purgeCounts(c.carryOut(pg, 1)), "1 0 0 2")
			c.wantIDs("q/$DeadLetterQueue", "r1", "b2", "r4")
		},
		"OPS-7 filter: a property that a settlement set, SETL-2": func(c *clocked) {
			c.queue("q", engine.Config{})
			send(c, "q", "r1", "r2")
			d := c.receive("q")
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon, Modify: value.Properties{{Name: "tried", Value: value.OfBool(true)}}}))
			c.step()
			c.equal(purgeCounts(c.carryOut(c.plan("q", "tried", engine.ClassActive), 10)), "1 0 0 1")
			c.wantIDs("q", "r2")
		},
		"OPS-7 filter: what an action made of it, MSG-2": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: always, Action: "SET sys.Label = 'blue'"})
			send(c, "t", "r1")
			c.equal(purgeCounts(c.carryOut(c.plan(s, red, engine.ClassActive), 10)), "0 0 0 1")
			c.equal(purgeCounts(c.carryOut(c.plan(s, blue, engine.ClassActive), 10)), "1 0 0 0")
		},
		"OPS-7 filter: sessions": func(c *clocked) {
			c.queue("q", engine.Config{RequiresSession: true})
			c.say("q", "s", "locked", "a")
			c.say("q", "t", "b", "c")
			c.take(c.hold("q", "s"))
			c.equal(purgeCounts(c.carryOut(c.plan("q", "sys.SessionId = 's'", engine.ClassActive), 1)), "1 1 0 2")
			c.wantIDs("q", "locked", "b", "c")
		},
		"OPS-7 filter: a topic's": func(c *clocked) {
			c.topic("t", engine.Config{})
			for _, id := range []string{"red", "blue"} {
				c.send("t", engine.Content{MessageID: id, Subject: id, ScheduledFor: c.now.Add(minute)})
			}
			c.equal(purgeCounts(c.carryOut(c.plan("t", blue, engine.ClassScheduled), 10)), "1 0 0 1")
		},
		"OPS-7 filter: a slice is bounded by what it looks at": func(c *clocked) {
			c.queue("q", engine.Config{})
			send(c, "q", "b1", "b2", "b3", "r4")
			pg := c.plan("q", red, engine.ClassActive)
			c.must(c.ns.PurgeSlice(c.now, &pg, 3, ""))
			c.equal(fmt.Sprint(pg.Done, pg.From, pg.Examined), "false 4 3")
		},
		"OPS-7 filter: nowhere any more": func(c *clocked) {
			c.queue("q", engine.Config{})
			pg := c.plan("q", red, engine.ClassActive)
			c.remove("q")
			c.refused(engine.ErrNotFound, func() error { return c.ns.CountPurgeSlice(c.now, &pg, 10) })
			c.refused(engine.ErrNotFound, func() error { _, err := c.ns.PlanPurge(c.now, "q", nil); return err })
		},
		"OPS-7 filter: is told, OPS-11": func(c *clocked) { // a purge has one event, and none if nothing is removed
			c.queue("q", engine.Config{AutoDeleteOnIdle: hour})
			send(c, "q", "r1", "b2")
			c.at(minute)
			used := c.state("q").LastUsed
			c.preview(c.plan("q", red, engine.ClassActive), 10)
			c.carryOut(c.plan("q", "1 = 0", engine.ClassActive), 10)
			c.equal(c.state("q").LastUsed, used)
			pg := c.plan("q", red+" OR sys.Label = '"+strings.Repeat("ü", 500)+"'", engine.ClassActive)
			c.must(c.ns.PurgeSlice(c.now, &pg, 10, "operator"))
			events := c.ns.Flush(c.now, true).Events
			e := events[len(events)-1]
			if e.Kind != engine.EventPurged || e.Count != 1 || !e.Audit || e.Actor != "operator" || !utf8.ValidString(e.Reason) ||
				!strings.HasPrefix(e.Reason, red+" OR sys.Label = 'üü") || !strings.HasSuffix(e.Reason, "ü…") || len(e.Reason) > 210 {
				c.Errorf("the event is %+v", e)
			}
			c.equal(c.state("q").LastUsed, c.now)
		},
	}, asked)
}

// FILT-28: an invalid filter is refused with the position and the text that is expected there,
// before anything is removed.
func TestSieveRefused(t *testing.T) {
	l := engine.DefaultLimits()
	long := "n = '" + strings.Repeat("ü", 1018) + "'"
	if _, err := engine.ParseMessageFilter(long, l); err != nil {
		t.Errorf("a filter of the maximum length: %v", err)
	}
	for text, at := range map[string]int{"": 0, "  ": 2, "n >": 3, "n = 1 n": 6, "SET n = 1": 4, long + " ": -1} {
		_, err := engine.ParseMessageFilter(text, l)
		e, ok := errors.AsType[*engine.MessageFilterError](err)
		if !ok || !errors.Is(err, engine.ErrArgument) || !strings.HasPrefix(e.Error(), "The filter is not valid: ") {
			t.Errorf("%.20q: %v", text, err)
		}
		if s, ok := errors.AsType[*filter.SyntaxError](err); ok != (at >= 0) || ok && (s.Pos != at || !strings.Contains(err.Error(), "Expected")) {
			t.Errorf("%.20q: at %d; %v", text, at, err)
		}
	}
}
