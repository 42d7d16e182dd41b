package engine_test

import (
	"testing"

	"mayfly/engine"
)

// TestRecycledEventsAreWrittenOver checks that only events passed to ReuseEvents are
// overwritten, and that nothing of them is left.
func TestRecycledEventsAreWrittenOver(t *testing.T) {
	run(t, rules{"events": func(c *clocked) {
		c.queue("q", engine.Config{})
		sent := func(id string) []engine.Event {
			c.Helper()
			_, err := c.ns.Send(c.now, "q", c.submissions(engine.Content{MessageID: id}), "")
			c.must(err)
			events := c.ns.Flush(c.now, true).Events
			c.ns.Seal(true)
			if len(events) != 1 {
				c.Fatalf("sending makes %d events", len(events))
			}
			return events
		}
		id := func(events []engine.Event) string { return events[0].Content.MessageID() }
		sent("0")
		kept, given := sent("1"), sent("2")
		c.ns.ReuseEvents(given)
		if given[0].Kind != 0 || given[0].Content != "" {
			c.Errorf("the recycled event still contains %+v", given[0])
		}
		now := sent("3")
		next := sent("4")
		if &next[0] != &given[0] {
			c.Error("the recycled events were not reused")
		}
		if &now[0] == &given[0] || id(kept) != "1" || id(now) != "3" || id(next) != "4" {
			c.Errorf("the kept events are of %s and %s, and the newest of %s", id(kept), id(now), id(next))
		}
	}}, asked)
}
