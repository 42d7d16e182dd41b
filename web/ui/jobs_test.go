package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine"
)

func (w *world) fillMany(path engine.Path, n int) {
	w.Helper()
	all := make([]engine.Content, n)
	for i := range all {
		all[i] = engine.Content{MessageID: fmt.Sprint(i), Subject: fmt.Sprint("s", i%2)}
	}
	w.fill(path, all...)
}

// A job is counted, then done, then taken back, all without a script.
func TestJobFromItsForm(t *testing.T) {
	within(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		w.create(engine.Queue, "other", engine.Config{})
		w.fillMany("orders", 50)
		w.see("/n/default/jobs").wants(200, "No jobs yet")
		ask := w.see("/n/default/jobs/new?kind=move&path=orders&q=subject:s1&to=other")
		ask.wants(200, "25 messages", "Move 25 messages")
		fields := []string{"kind", "move", "path", "orders", "q", "subject:s1", "to", "other", "count", "25"}
		says, at := w.done("/n/default/jobs/new", fields...)
		if !strings.Contains(says, "begun") {
			t.Errorf("it says %q", says)
		}
		synctest.Wait()
		w.see(at).wants(200, "Move to other", "orders", "subject:s1", "50 of 50 messages", "Done", "Undo")
		if n := w.state("other").Counts.Active; n != 25 {
			t.Errorf("%d were moved", n)
		}
		_, undo := w.done(at + "/undo")
		synctest.Wait()
		w.see(undo).wants(200, "It takes back")
		if n := w.state("orders").Counts.Active; n != 50 {
			t.Errorf("%d are back", n)
		}
		page := w.see(at)
		page.wants(200, "This job was taken back")
		if page.Find("[formaction$='/undo']").Length() != 0 {
			t.Error("it can be undone twice")
		}
		if n := w.see("/n/default/jobs").Find("[data-list=rows] tr").Length(); n != 2 {
			t.Errorf("%d jobs are listed", n)
		}
		w.post(at+"/undo").wants(409, "was undone already")
		w.get("/n/default/jobs/77").wants(404)
		w.post("/n/default/jobs/77/cancel").wants(404)
	})
}

// What does away with many messages asks for a name, and for the number that was
// shown (dashboard §4).
func TestDestructiveJobIsGuarded(t *testing.T) {
	within(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		w.fillMany("orders", 50)
		const at = "/n/default/jobs/new"
		w.see(at+"?kind=delete&path=orders").wants(200, "50 messages", "Type orders", "Delete 50 messages")
		gone := func() bool { synctest.Wait(); return w.state("orders").Counts.Active < 50 }
		w.post(at, "kind", "delete", "path", "orders").wants(422)
		w.post(at, "kind", "delete", "path", "orders", "count", "50").wants(422, "orders")
		w.post(at, "kind", "delete", "path", "orders", "count", "50", "confirm", "other").wants(422)
		w.post(at, "kind", "delete", "path", "orders", "count", "30", "confirm", "orders").wants(409, "now there are 50")
		w.post(at, "kind", "explode", "path", "orders", "count", "50", "confirm", "orders").wants(422)
		w.post(at, "kind", "delete", "path", "orders", "q", "age:never", "count", "50", "confirm", "orders").wants(422)
		if gone() {
			t.Fatal("messages have gone")
		}
		w.post(at, "kind", "delete", "path", "nowhere", "count", "5").wants(404)
		w.done(at, "kind", "delete", "path", "orders", "count", "50", "confirm", "orders")
		synctest.Wait()
		if n := w.state("orders").Counts.Active; n != 0 {
			t.Errorf("%d are left", n)
		}
		w.see(at + "?kind=delete&path=orders").lacks("Delete 0 messages")
	})
}
