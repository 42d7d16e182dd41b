package route_test

import (
	"fmt"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page/entity"
	"mayfly/web/dashboard/pages"
)

// entityAt returns the model of an entity's page.
func (w *world) entityAt(url string) entity.Entity {
	w.Helper()
	p := w.open(url)
	if r, ok := p.(pages.Refreshing); ok {
		p = r.Page
	}
	m, ok := p.(entity.Entity)
	if !ok {
		w.Fatalf("%s is %T", url, p)
	}
	return m
}

// flowText returns a flow on one line: sources and targets.
func flowText(f entity.Forwarding) string {
	s := ""
	for _, a := range f.In {
		s += fmt.Sprintf("%s(%v %s %d)>", a.Name, a.Dead, a.Blocked, a.Waiting)
	}
	for _, a := range f.Out {
		s += fmt.Sprintf(">%s(%v %s %d)", a.Name, a.Dead, a.Blocked, a.Waiting)
	}
	return s
}

// FWD-1, FWD-7, FWD-8, STAT-7, STAT-10: arrows point to the entities that get the messages, and
// show why nothing is forwarded.
func TestFlow(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "archive", engine.Config{})
		w.create(engine.Queue, "graves", engine.Config{})
		w.create(engine.Queue, "orders", engine.Config{ForwardTo: "Archive", ForwardDeadLetteredMessagesTo: "graves", MaxDeliveryCount: 1})
		w.create(engine.Topic, "prices", engine.Config{})
		w.create(engine.Subscription, "prices/Subscriptions/eu", engine.Config{ForwardTo: "orders"})
		is := func(url, want string) {
			w.Helper()
			if got := flowText(w.entityAt("/n/default/" + url).Forwarding); got != want {
				w.Errorf("%s: %s", url, got)
			}
			w.sound("/n/default/" + url)
		}
		is("q/orders", "prices/eu(false  0)>>archive(false  0)>graves(true  0)")
		is("q/archive", "orders(false  0)>")
		is("t/prices/s/eu", ">orders(false  0)")
		is("t/prices", "")

		set := func(path engine.Path, change func(*engine.Config)) {
			w.Helper()
			c := w.entityState(path).Config
			change(&c)
			_, err := w.b.Update(w.Context(), path, c, "test")
			w.must(err)
		}
		status := func(s engine.Status) func(*engine.Config) { return func(c *engine.Config) { c.Status = s } }
		set("graves", status(engine.StatusSendDisabled))
		set("archive", status(engine.StatusDisabled))
		is("q/orders", "prices/eu(false  0)>>archive(false disabled 0)>graves(true disabled 0)")
		w.send("orders", engine.Content{}, engine.Content{}) // they become dead letters, which wait
		w.pass(5 * time.Second)
		is("q/orders", "prices/eu(false  0)>>archive(false disabled 0)>graves(true disabled 2)")
		is("q/graves", "orders(true disabled 2)>")
		set("orders", status(engine.StatusReceiveDisabled))
		is("q/orders", "prices/eu(false  0)>>archive(false halted 0)>graves(true halted 2)")
		set("orders", status(engine.StatusActive))
		w.must(w.b.Delete(w.Context(), "graves", 0, "test"))
		is("q/orders", "prices/eu(false  0)>>archive(false disabled 0)>graves(true missing 2)")
		if a := w.entityAt("/n/default/q/orders").Forwarding.Out[1]; a.Href != "" {
			w.Errorf("a missing entity has a link: %s", a.Href)
		}
		w.create(engine.Queue, "graves", engine.Config{})
		w.pass(5 * time.Second)
		is("q/orders", "prices/eu(false  0)>>archive(false disabled 0)>graves(true  0)")
		set("prices/Subscriptions/eu", func(c *engine.Config) { c.ForwardTo = "" })
		is("q/orders", ">archive(false disabled 0)>graves(true  0)")
		w.create(engine.Queue, "late", engine.Config{ForwardDeadLetteredMessagesTo: "orders"}) // after the page was first opened
		is("q/orders", "late(true  0)>>archive(false disabled 0)>graves(true  0)")
	})
}

// FWD-6: a message that was forwarded as often as allowed stays a dead letter, and the page shows
// the reason.
func TestFlowEndsInCircles(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "end", engine.Config{})
		w.create(engine.Queue, "b", engine.Config{ForwardDeadLetteredMessagesTo: "end"})
		w.create(engine.Queue, "a", engine.Config{ForwardTo: "b", ForwardDeadLetteredMessagesTo: "end"})
		c := w.entityState("b").Config
		c.ForwardTo = "a"
		_, err := w.b.Update(w.Context(), "b", c, "test")
		w.must(err)
		w.send("a", engine.Content{})
		w.pass(5 * time.Second)
		stuck := 0
		for _, q := range []string{"a", "b"} {
			for _, arrow := range w.entityAt("/n/default/q/" + q).Forwarding.Out {
				if arrow.Blocked == entity.BlockHopLimit && arrow.Dead && arrow.Waiting == 0 {
					stuck++
				}
			}
			w.sound("/n/default/q/" + q)
		}
		if stuck != 1 {
			t.Errorf("%d arrows are marked as stuck", stuck)
		}
	})
}

// CNT-3, DUP-2: a queue's page shows how many duplicates were dropped and how many ids are
// remembered, if the queue detects duplicates.
func TestDuplicatesAreCounted(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: time.Minute})
		w.send("orders", engine.Content{MessageID: "a"}, engine.Content{MessageID: "b"}, engine.Content{MessageID: "a"})
		if d := w.entityAt("/n/default/q/orders").Duplicates; d.Dropped != 1 || d.Remembered != 2 || d.Window != time.Minute {
			t.Errorf("%+v", d)
		}
		w.sound("/n/default/q/orders")
		w.create(engine.Queue, "plain", engine.Config{})
		if d := w.entityAt("/n/default/q/plain").Duplicates; d.Window != 0 {
			t.Errorf("%+v", d)
		}
	})
}

func (w *world) entityState(path engine.Path) (e engine.EntityState) {
	w.Helper()
	w.must(w.b.Read(w.Context(), func(r broker.Reader) (err error) {
		e, err = r.State(path)
		return err
	}))
	return e
}
