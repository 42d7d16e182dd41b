package job_test

import (
	"context"
	"sync"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/draft"
	"mayfly/engine/job"
)

// A form that is sent twice starts one job, also after a restart; another plan with
// the same word is another job.
func TestOnce(t *testing.T) {
	w := start(t)
	w.queue("q", engine.Config{})
	w.queue("other", engine.Config{})
	w.send("q", 40)
	copies := job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}, Once: "word"}
	sends := job.Plan{To: "other", Sends: &job.Sends{Draft: draft.Draft{Body: "{{uuid}}", Repeat: 20}}, Once: "word"}
	begin := func(p job.Plan) job.Job {
		t.Helper()
		var is job.Job
		var err error
		if p.Sends != nil {
			p.Sends = &job.Sends{Draft: p.Sends.Draft, Seed: draft.Seed{byte(len(w.rows("other")))}}
			is, err = w.jobs.Send(t.Context(), p, "somebody")
		} else {
			is, err = w.jobs.Start(t.Context(), p, broker.Agreed(40), "somebody")
		}
		w.must(err)
		return w.ends(is.ID)
	}
	w.equal([]job.ID{begin(copies).ID, begin(copies).ID, begin(sends).ID, begin(sends).ID}, []job.ID{1, 1, 2, 2})
	w.send("q", 40) // more than was agreed to: it is not asked again
	w.equal(begin(copies).ID, job.ID(1))
	w.equal(w.counts("other").Active, 60)
	w.close()
	w.open()
	w.equal([]job.ID{begin(copies).ID, begin(sends).ID}, []job.ID{1, 2})
	w.equal(w.counts("other").Active, 60)
	changed := copies
	changed.Query = "subject:1"
	w.equal(begin(changed).ID, job.ID(3))
	changed.Once = "another"
	w.equal(begin(changed).ID, job.ID(4))
	changed.Once = ""
	w.equal([]job.ID{begin(changed).ID, begin(changed).ID}, []job.ID{5, 6})
}

// late is a context of somebody who is overtaken: as soon as somebody waits with it
// others come first.
type late struct {
	context.Context
	others func()
}

func (l late) Done() <-chan struct{} {
	l.others()
	return l.Context.Done()
}

// Two who ask at once for the same get one job, though neither knew of the other when
// they began.
func TestOnceOvertaken(t *testing.T) {
	w := start(t)
	w.queue("q", engine.Config{})
	w.queue("other", engine.Config{})
	w.send("q", 20)
	for name, begin := range map[string]func(context.Context) (job.Job, error){
		"start": func(ctx context.Context) (job.Job, error) {
			return w.jobs.Start(ctx, job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}, Once: "word"}, broker.Unasked, "somebody")
		},
		"send": func(ctx context.Context) (job.Job, error) {
			return w.jobs.Send(ctx, job.Plan{To: "other", Sends: &job.Sends{Draft: draft.Draft{Body: "x", Repeat: 20}}, Once: "word"}, "somebody")
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
	w.equal([]any{len(w.jobs.List()), w.counts("other").Active}, []any{2, 40})
}

// However many begin to send at once, each has a job of its own.
func TestSendTogether(t *testing.T) {
	w := start(t)
	w.queue("q", engine.Config{})
	var all sync.WaitGroup
	begin := make(chan struct{})
	for range 60 {
		all.Go(func() {
			<-begin
			_, err := w.jobs.Send(t.Context(), job.Plan{To: "q", Sends: &job.Sends{Draft: draft.Draft{Body: "x", Repeat: 10}}}, "somebody")
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
	w.equal(w.counts("q").Active, 600)
}
