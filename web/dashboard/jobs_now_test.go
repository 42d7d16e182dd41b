package dashboard_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/web/dashboard/pages"
)

// TestJobsOnEveryPage: every page, also a static one, shows the progress of jobs, and for half
// a minute how the last one ended.
func TestJobsOnEveryPage(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		w.fillMany("orders", 1024)
		says := func(want, href string) {
			t.Helper()
			for _, page := range []string{"/n/default", "/n/default/q/orders", "/n/default/q/orders/send"} {
				now := w.see(page).Find(".bar [data-slot=jobs-now]")
				if got := strings.Join(strings.Fields(now.Text()), " "); got != want || now.Find("a").AttrOr("href", "") != href {
					t.Errorf("%s shows %q, want %q at %s: %s", page, got, want, href, now.Find("a").AttrOr("href", ""))
				}
			}
		}
		says("", "")
		w.store.broken.Store(true)
		plan := job.Plan{Kind: job.Move, Paths: []engine.Path{"orders"}, To: "other"}
		if _, err := w.jobs.Start(w.Context(), plan, broker.Unconfirmed, "test"); err == nil {
			t.Fatal("a job started without a store")
		}
		w.store.broken.Store(false)
		w.pass(time.Minute)
		is, err := w.jobs.Start(w.Context(), plan, broker.Unconfirmed, "test")
		w.must(err)
		synctest.Wait()
		says("Job done", "/n/default/jobs/1")
		w.pass(pages.EndedJobShown - time.Second)
		says("Job done", "/n/default/jobs/1")
		w.pass(2 * time.Second)
		says("", "")

		_, err = w.jobs.Undo(w.Context(), is.ID, "test")
		w.must(err)
		synctest.Wait()
		says("Job done", "/n/default/jobs/2")
	})
}
