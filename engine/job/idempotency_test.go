package job_test

import (
	"context"
	"sync"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/template"
)

// A form that is submitted twice starts one job, even after a restart. Another plan with the
// same key is another job.
func TestIdempotencyKey(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.send("q", 40)
	copies := job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}, IdempotencyKey: "word"}
	sends := job.Plan{To: "other", SendSpec: &job.SendSpec{Draft: template.Draft{Body: "{{uuid}}", Repeat: 20}}, IdempotencyKey: "word"}
	begin := func(p job.Plan) job.Job {
		t.Helper()
		var is job.Job
		var err error
		if p.SendSpec != nil {
			p.SendSpec = &job.SendSpec{Draft: p.SendSpec.Draft, Seed: template.Seed{byte(len(w.b.Rows("other")))}}
			is, err = w.jobs.Send(t.Context(), p, "somebody")
		} else {
			is, err = w.jobs.Start(t.Context(), p, broker.ConfirmedCount(40), "somebody")
		}
		w.must(err)
		return w.ends(is.ID)
	}
	w.equal([]job.ID{begin(copies).ID, begin(copies).ID, begin(sends).ID, begin(sends).ID}, []job.ID{1, 1, 2, 2})
	w.send("q", 40) // more messages than were confirmed: the number is not checked again
	w.equal(begin(copies).ID, job.ID(1))
	w.equal(w.b.Counts("other").Active, 60)
	w.close()
	w.open()
	w.equal([]job.ID{begin(copies).ID, begin(sends).ID}, []job.ID{1, 2})
	w.equal(w.b.Counts("other").Active, 60)
	changed := copies
	changed.Query = "subject:1"
	w.equal(begin(changed).ID, job.ID(3))
	changed.IdempotencyKey = "another"
	w.equal(begin(changed).ID, job.ID(4))
	changed.IdempotencyKey = ""
	w.equal([]job.ID{begin(changed).ID, begin(changed).ID}, []job.ID{5, 6})
}

// late is a context whose Done first runs `others`, so that other callers overtake the caller that
// uses the context.
type late struct {
	context.Context
	others func()
}

func (l late) Done() <-chan struct{} {
	l.others()
	return l.Context.Done()
}

// Two callers that start the same plan at the same time get one job, although neither job
// existed when they checked.
func TestIdempotencyKeyOvertaken(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.send("q", 20)
	for name, begin := range map[string]func(context.Context) (job.Job, error){
		"start": func(ctx context.Context) (job.Job, error) {
			return w.jobs.Start(ctx, job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}, IdempotencyKey: "word"}, broker.Unconfirmed, "somebody")
		},
		"send": func(ctx context.Context) (job.Job, error) {
			return w.jobs.Send(ctx, job.Plan{To: "other", SendSpec: &job.SendSpec{Draft: template.Draft{Body: "x", Repeat: 20}}, IdempotencyKey: "word"}, "somebody")
		},
	} {
		var first job.Job
		var once sync.Once
		second, err := begin(late{t.Context(), func() {
			once.Do(func() {
				var err error
				first, err = begin(t.Context())
				w.must(err)
			})
		}})
		w.must(err)
		if first.ID == 0 || second.ID != first.ID {
			t.Errorf("%s: jobs %d and %d", name, first.ID, second.ID)
		}
		w.ends(first.ID)
	}
	w.equal([]any{len(w.jobs.List()), w.b.Counts("other").Active}, []any{2, 40})
}

// If many callers start to send at the same time, each gets its own job, and all messages are sent.
func TestSendTogether(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	var all sync.WaitGroup
	begin := make(chan struct{})
	for range 60 {
		all.Go(func() {
			<-begin
			_, err := w.jobs.Send(t.Context(), job.Plan{To: "q", SendSpec: &job.SendSpec{Draft: template.Draft{Body: "x", Repeat: 10}}}, "somebody")
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	w.equal(len(w.jobs.List()), 60)
	for _, is := range w.jobs.List() {
		w.equal(w.ends(is.ID).State, job.Done)
	}
	w.equal(w.b.Counts("q").Active, 600)
}
