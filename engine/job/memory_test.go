package job_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/template"
)

// fillUp sends to a queue until memory is full.
func (w *world) fillUp(q engine.Path) {
	w.Helper()
	w.b.CreateQueue(q, engine.Config{})
	for n := 100; n > 0; {
		_, err := w.b.Send(w.Context(), q, make([]broker.Outgoing, n), "test")
		if errors.Is(err, engine.ErrMemoryFull) {
			n /= 2
			continue
		}
		w.must(err)
	}
}

// TestJobsWaitForMemory starts jobs while memory is full, or when only some of their work fits.
// They wait, and finish once there is memory: no message counts as failed, and none is changed
// twice.
func TestJobsWaitForMemory(t *testing.T) {
	const n = 600
	q := []engine.Path{"q"}
	plan := func(w *world, p job.Plan) (job.Job, error) {
		p.To = "t"
		return w.jobs.Start(w.Context(), p, broker.Unconfirmed, "somebody")
	}
	for name, begin := range map[string]func(w *world) (job.Job, error){
		"copy": func(w *world) (job.Job, error) { return plan(w, job.Plan{Kind: job.Copy, Paths: q}) },
		"copy what was chosen": func(w *world) (job.Job, error) {
			return plan(w, job.Plan{Kind: job.Copy, Messages: keys(w.b.Rows("q"))})
		},
		"move": func(w *world) (job.Job, error) { return plan(w, job.Plan{Kind: job.Move, Paths: q}) },
		"send": func(w *world) (job.Job, error) { return w.sending("t", template.Draft{Repeat: n}), nil },
		"import": func(w *world) (job.Job, error) {
			return w.jobs.Import(w.Context(), job.Plan{To: "t", ImportSpec: &job.ImportSpec{}}, n, &feed{n: n, most: 300}, "somebody")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.memory = engine.NewMemory(1 << 20)
				w.close()
				w.open()
				w.b.CreateQueue("q", engine.Config{})
				w.send("q", n)
				w.b.CreateEntity(engine.Topic, "t", engine.Config{})
				subs := []engine.Path{"t/Subscriptions/a", "t/Subscriptions/b"}
				for _, s := range subs {
					w.b.CreateEntity(engine.Subscription, s, engine.Config{})
				}
				w.fillUp("full")
				is, err := begin(w)
				w.must(err)
				waits := func(some bool) {
					t.Helper()
					time.Sleep(time.Minute)
					is, err := w.jobs.Job(is.ID)
					w.must(err)
					if is.State != job.Running || is.Counts.Failed != 0 || (is.Counts.Done > 0) != some || is.Counts.Done == n {
						t.Fatalf("while memory is full the job is %s: %+v %s", is.State, is.Counts, is.Reason)
					}
				}
				waits(false)
				for _, r := range w.b.Rows("full")[:200] {
					w.must(w.b.DeleteMessage(t.Context(), r.Message.Key, "test"))
				}
				waits(true)
				_, err = w.b.Purge(t.Context(), "full", []engine.Class{engine.ClassActive}, broker.Unconfirmed, "test")
				w.must(err)
				is = w.ends(is.ID)
				w.equal([]any{is.State, is.Reason}, []any{job.Done, ""})
				w.equal(is.Counts, job.Counts{Total: n, Seen: n, Done: n})
				for _, s := range subs {
					w.equal(w.b.Counts(s).Active, n)
				}
				w.close()
			})
		})
	}
}
