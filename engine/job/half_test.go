package job_test

import (
	"errors"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
)

// half starts a job over n messages of q and returns it when it has done some.
func (w *world) half(p job.Plan, n int) job.Job {
	w.Helper()
	w.send("q", n)
	is, err := w.jobs.Start(w.Context(), p, broker.Unasked, "somebody")
	w.must(err)
	for {
		changed := w.jobs.Changed()
		is, err = w.jobs.Job(is.ID)
		w.must(err)
		if is.Counts.Done >= int64(n)/3 || is.State.Over() {
			return is
		}
		<-changed
	}
}

// A job over many messages that is cancelled half-way has done what it says, and no
// more; it can go on from there, and then misses none.
func TestCancelled(t *testing.T) {
	const n = 100_000
	w := start(t)
	w.queue("q", engine.Config{})
	w.queue("other", engine.Config{})
	is := w.half(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}}, n)
	is, err := w.jobs.Cancel(t.Context(), is.ID)
	w.must(err)
	w.equal(is.State, job.Cancelled)
	if is.Counts.Done == 0 || is.Counts.Done == n {
		t.Fatalf("%d were done", is.Counts.Done)
	}
	w.equal(w.counts("other").Active, is.Counts.Done)
	w.equal(w.counts("q").Active, n-is.Counts.Done)
	_, err = w.jobs.Resume(t.Context(), is.ID)
	w.must(err)
	is = w.ends(is.ID)
	w.equal(is.Counts, job.Counts{Total: n, Seen: n, Done: n})
	w.equal(w.counts("other").Active, n)
	w.equal(is.TooMany, true)
	if _, err := w.jobs.Undo(t.Context(), is.ID, "somebody"); !errors.Is(err, engine.ErrNotAllowed) {
		t.Errorf("undo of too many: %v", err)
	}
	if _, err := w.jobs.Resume(t.Context(), is.ID); !errors.Is(err, engine.ErrNotAllowed) {
		t.Errorf("resume of what is done: %v", err)
	}
}

// What the store has of a job is what it has of the messages, whenever the
// server ends.
func TestInterrupted(t *testing.T) {
	const n = 20_000
	w := start(t)
	w.queue("q", engine.Config{})
	w.queue("other", engine.Config{})
	w.half(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}}, n)
	w.close()
	w.open()
	is := w.jobs.List()[0]
	w.equal(is.State, job.Interrupted)
	if is.Counts.Done == 0 || is.Counts.Done == n {
		t.Fatalf("%d were done", is.Counts.Done)
	}
	w.equal(w.counts("other").Active, is.Counts.Done)
	w.equal(w.counts("q").Active, n-is.Counts.Done)
	_, err := w.jobs.Resume(t.Context(), is.ID)
	w.must(err)
	w.equal(w.ends(is.ID).Counts, job.Counts{Total: n, Seen: n, Done: n})
	w.equal(w.counts("other").Active, n)
}

// A queue of the same name is another one.
func TestAnotherQueue(t *testing.T) {
	w := start(t)
	w.queue("q", engine.Config{})
	is := w.half(job.Plan{Kind: job.Purge, Paths: []engine.Path{"q"}}, 20_000)
	_, err := w.jobs.Cancel(t.Context(), is.ID)
	w.must(err)
	w.must(w.b.Delete(t.Context(), "q", broker.Unasked, "test"))
	w.queue("q", engine.Config{})
	w.send("q", 20_000)
	_, err = w.jobs.Resume(t.Context(), is.ID)
	w.must(err)
	w.equal(w.ends(is.ID).State, job.Done)
	w.equal(w.counts("q").Active, 20_000)
}

// Two jobs run at once, others wait, and one that waits is cancelled at once.
func TestWaiting(t *testing.T) {
	w := start(t)
	w.queue("q", engine.Config{})
	w.queue("other", engine.Config{})
	w.send("q", 20_000)
	var all []job.Job
	for range 3 {
		is, err := w.jobs.Start(t.Context(), job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}}, broker.Unasked, "somebody")
		w.must(err)
		all = append(all, is)
	}
	w.equal([]job.State{all[0].State, all[1].State, all[2].State}, []job.State{job.Running, job.Running, job.Waiting})
	is, err := w.jobs.Cancel(t.Context(), all[2].ID)
	w.must(err)
	w.equal(is.State, job.Cancelled)
	_, err = w.jobs.Resume(t.Context(), is.ID)
	w.must(err)
	for _, is := range all[:2] {
		_, err := w.jobs.Cancel(t.Context(), is.ID)
		w.must(err)
	}
	w.equal(w.ends(all[2].ID).Counts.Done, 20_000)
}

func TestUndo(t *testing.T) {
	for name, tc := range map[string]struct {
		plan  job.Plan
		set   func(w *world)
		check func(w *world, undone job.Job)
	}{
		"move": {
			plan: job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}},
			check: func(w *world, undone job.Job) {
				w.equal(undone.Counts, job.Counts{Total: 600, Seen: 600, Done: 599, Skipped: 1})
				w.equal([]int64{w.counts("q").Active, w.counts("other").Active}, []int64{599, 1}) // somebody had one by then
			},
		},
		"resubmit": {
			plan: job.Plan{Kind: job.Resubmit, Paths: []engine.Path{"other/$DeadLetterQueue"}},
			set: func(w *world) {
				w.run(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}})
				w.kill("other", "because")
			},
			check: func(w *world, undone job.Job) {
				w.equal(undone.Counts.Done, 599)
				last := w.rows("other/$DeadLetterQueue")[598].Message.Extra
				w.equal([]string{last.Reason, last.Description}, []string{"because", "so it is"})
			},
		},
		"copy": {
			plan: job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}},
			check: func(w *world, _ job.Job) {
				w.equal([]int64{w.counts("q").Active, w.counts("other").Active}, []int64{600, 1})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.queue("q", engine.Config{})
			w.queue("other", engine.Config{})
			w.send("q", 600)
			if tc.set != nil {
				tc.set(w)
			}
			is := w.run(tc.plan)
			w.equal(is.Counts.Done, 600)
			got, err := w.b.Receive(t.Context(), broker.Receive{Path: "other", Max: 1, Client: "c"})
			w.must(err)
			w.must(w.b.SettleAll(t.Context(), []engine.Settlement{{Token: got[0].Token(), Outcome: engine.Abandon, Path: "other"}}))
			undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
			w.must(err)
			tc.check(w, w.ends(undo.ID))
			if _, err := w.jobs.Undo(t.Context(), is.ID, "somebody"); !errors.Is(err, engine.ErrNotAllowed) {
				t.Errorf("a second undo: %v", err)
			}
		})
	}
}

func TestUndoOfExtendAndDeadLetter(t *testing.T) {
	w := start(t)
	w.queue("q", engine.Config{})
	w.send("q", 3)
	before := w.rows("q")[0].Expires
	is := w.run(job.Plan{Kind: job.Extend, By: time.Hour, Paths: []engine.Path{"q"}})
	w.equal(w.rows("q")[0].Expires, before.Add(time.Hour))
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.ends(undo.ID)
	w.equal(w.rows("q")[0].Expires, before)
	is = w.run(job.Plan{Kind: job.DeadLetter, Paths: []engine.Path{"q"}})
	undo, err = w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.ends(undo.ID)
	w.equal(w.counts("q"), engine.Counts{Active: 3})
	is = w.run(job.Plan{Kind: job.Delete, Paths: []engine.Path{"q"}})
	w.equal(is.Undoable(), false)
}

// The latest hundred jobs are kept, and of the latest twenty what can be taken
// back.
func TestForgotten(t *testing.T) {
	w := start(t)
	w.queue("q", engine.Config{})
	w.queue("r", engine.Config{})
	w.send("q", 1)
	for i := range 110 {
		p := job.Plan{Kind: job.Move, To: "r", Paths: []engine.Path{"q"}}
		if i%2 == 1 {
			p = job.Plan{Kind: job.Move, To: "q", Paths: []engine.Path{"r"}}
		}
		w.run(p)
	}
	all := w.jobs.List()
	w.equal([]int{len(all), int(all[0].ID), int(all[99].ID)}, []int{100, 110, 11})
	w.equal([]bool{all[19].Undoable(), all[20].Undoable()}, []bool{true, false})
	kept, err := w.b.Settings(t.Context(), "job")
	w.must(err)
	w.equal(len(kept), 120)
	if _, err := w.jobs.Job(5); !errors.Is(err, job.ErrNoJob) {
		t.Errorf("a forgotten job: %v", err)
	}
}
