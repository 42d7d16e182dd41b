package dashboard_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestJobFromItsForm: a job is counted, done, and undone, without a script.
func TestJobFromItsForm(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		w.fillMany("orders", 50)
		w.see("/n/default/jobs").wants(200, "No jobs yet")
		ask := w.see("/n/default/jobs/new?kind=move&path=orders&q=subject:s1&to=other")
		ask.wants(200, "25 messages", "Move 25 messages")
		fields := []string{"kind", "move", "path", "orders", "q", "subject:s1", "to", "other", "count", "25"}
		says, at := w.done("/n/default/jobs/new", fields...)
		if !strings.Contains(says, "begun") {
			t.Errorf("got %q", says)
		}
		synctest.Wait()
		w.see(at).wants(200, "Move to other", "orders", "subject:s1", "50 of 50 messages", "Done", "Undo")
		if n := w.b.State("other").Counts.Active; n != 25 {
			t.Errorf("%d messages were moved", n)
		}
		_, undo := w.done(at + "/undo")
		synctest.Wait()
		w.see(undo).wants(200, "It takes back")
		if n := w.b.State("orders").Counts.Active; n != 50 {
			t.Errorf("%d messages were moved back", n)
		}
		page := w.see(at)
		page.wants(200, "This job was taken back")
		if page.Find("[formaction$='/undo']").Length() != 0 {
			t.Error("a job can be undone twice")
		}
		if n := w.see("/n/default/jobs").Find("[data-list=rows] tr").Length(); n != 2 {
			t.Errorf("%d jobs are listed", n)
		}
		w.post(at+"/undo").wants(409, "was already undone")
		w.get("/n/default/jobs/77").wants(404)
		w.post("/n/default/jobs/77/cancel").wants(404)
	})
}

// TestJobFormSentTwice: a form that is sent twice starts one job; a newly loaded form starts
// another.
func TestJobFormSentTwice(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		w.fillMany("orders", 40)
		for _, want := range []string{"/jobs/1", "/jobs/2"} {
			word, _ := w.see("/n/default/jobs/new?kind=copy&path=orders&to=other").Find("form[method=post] input[name=once]").Attr("value")
			for range 2 {
				_, at := w.done("/n/default/jobs/new", "kind", "copy", "path", "orders", "to", "other", "count", "40", "once", word)
				if !strings.HasSuffix(at, want) {
					t.Errorf("redirected to %s, not to %s", at, want)
				}
			}
		}
		synctest.Wait()
		if n := w.b.State("other").Counts.Active; n != 80 {
			t.Errorf("%d messages were copied", n)
		}
	})
}

// TestDestructiveJobIsGuarded: a job that deletes many messages requires a typed name, and the
// number that was shown (dashboard §4).
func TestDestructiveJobIsGuarded(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fillMany("orders", 50)
		const at = "/n/default/jobs/new"
		w.see(at+"?kind=delete&path=orders").wants(200, "50 messages", "Type orders", "Delete 50 messages")
		gone := func() bool { synctest.Wait(); return w.b.State("orders").Counts.Active < 50 }
		w.post(at, "kind", "delete", "path", "orders").wants(422)
		w.post(at, "kind", "delete", "path", "orders", "count", "50").wants(422, "orders")
		w.post(at, "kind", "delete", "path", "orders", "count", "50", "confirm", "other").wants(422)
		w.post(at, "kind", "delete", "path", "orders", "count", "30", "confirm", "orders").wants(409, "now there are 50")
		w.post(at, "kind", "explode", "path", "orders", "count", "50", "confirm", "orders").wants(422)
		w.post(at, "kind", "delete", "path", "orders", "q", "age:never", "count", "50", "confirm", "orders").wants(422)
		if gone() {
			t.Fatal("messages were deleted")
		}
		w.post(at, "kind", "delete", "path", "nowhere", "count", "5").wants(404)
		w.done(at, "kind", "delete", "path", "orders", "count", "50", "confirm", "orders")
		synctest.Wait()
		if n := w.b.State("orders").Counts.Active; n != 0 {
			t.Errorf("%d messages are left", n)
		}
		w.see(at + "?kind=delete&path=orders").lacks("Delete 0 messages")
	})
}

// TestJobsOverTime checks jobs that extend the life of messages by a duration or reschedule them to
// a time. Invalid durations and past times are refused.
func TestJobsOverTime(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{MessageID: "a", TTL: time.Hour}, engine.Content{MessageID: "b", TTL: time.Hour})
		const at = "/n/default/jobs/new"
		w.see(at+"?kind=extend&path=orders").wants(200, "7d")
		w.see(at+"?kind=extend&path=orders&by=-10m").wants(200, "2 messages", "Change the time of 2 messages")
		w.post(at, "kind", "extend", "path", "orders", "count", "2").wants(422)
		w.post(at, "kind", "extend", "path", "orders", "count", "2", "by", "soon").wants(422)
		before := w.b.Rows("orders")[1].Expires
		w.done(at, "kind", "extend", "path", "orders", "count", "2", "by", "-10m")
		synctest.Wait()
		if got := w.b.Rows("orders")[1].Expires; got != before.Add(-10*time.Minute) { // OPS-3
			w.Errorf("the message expires at %v, before at %v", got, before)
		}
		now := w.b.ClockTime()
		w.fill("orders", engine.Content{MessageID: "c", ScheduledFor: now.Add(time.Hour)})
		until := now.Add(3 * time.Hour).Time().UTC().Format("2006-01-02T15:04:05Z")
		w.see(at+"?kind=reschedule&path=orders&until="+until).wants(200, "one message", "Reschedule one message")
		w.post(at, "kind", "reschedule", "path", "orders", "count", "1", "until", "1999-01-01T00:00").wants(422)
		w.done(at, "kind", "reschedule", "path", "orders", "count", "1", "until", until)
		synctest.Wait()
		if got := w.b.RowsOf("orders", engine.ClassScheduled)[0].Message.ScheduledFor.Time().UTC().Format("2006-01-02T15:04:05Z"); got != until { // OPS-8
			w.Errorf("the message is scheduled for %s, want %s", got, until)
		}
	})
}
