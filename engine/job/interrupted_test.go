package job_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/longtest"
)

// half starts a job over n messages of q and returns it when it is partly done.
func (w *world) half(p job.Plan, n int) job.Job {
	w.Helper()
	w.send("q", n)
	is, err := w.jobs.Start(w.Context(), p, broker.Unconfirmed, "somebody")
	w.must(err)
	for {
		changed := w.jobs.Changed()
		is, err = w.jobs.Job(is.ID)
		w.must(err)
		if is.Counts.Done >= int64(n)/3 || is.State.Stopped() {
			return is
		}
		<-changed
	}
}

// A job over many messages that is cancelled half-way has done exactly what it reports. It can
// be resumed, and then misses no message.
func TestCancelled(t *testing.T) {
	n := int64(20_000)
	if longtest.Enabled(t) {
		n = 100_000
	}
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	is := w.half(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}}, int(n))
	is, err := w.jobs.Cancel(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(is.State, job.Cancelled)
	if is.Counts.Done == 0 || is.Counts.Done == n {
		t.Fatalf("%d were done", is.Counts.Done)
	}
	w.equal(w.b.Counts("other").Active, is.Counts.Done)
	w.equal(w.b.Counts("q").Active, n-is.Counts.Done)
	_, err = w.jobs.Resume(t.Context(), is.ID, "somebody")
	w.must(err)
	is = w.ends(is.ID)
	w.equal(is.Counts, job.Counts{Total: n, Seen: n, Done: n})
	w.equal(w.b.Counts("other").Active, n)
	w.equal(is.TooManyToUndo, true)
	if _, err := w.jobs.Undo(t.Context(), is.ID, "somebody"); !errors.Is(err, engine.ErrNotAllowed) {
		t.Errorf("undo of too many changes: %v", err)
	}
	if _, err := w.jobs.Resume(t.Context(), is.ID, "somebody"); !errors.Is(err, engine.ErrNotAllowed) {
		t.Errorf("resume of a finished job: %v", err)
	}
}

// The stored progress of a job matches the stored messages, whenever the server ends.
func TestInterrupted(t *testing.T) {
	const n = 20_000
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.half(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}}, int(n))
	w.close()
	w.open()
	is := w.jobs.List()[0]
	w.equal(is.State, job.Interrupted)
	if is.Counts.Done == 0 || is.Counts.Done == n {
		t.Fatalf("%d were done", is.Counts.Done)
	}
	w.equal(w.b.Counts("other").Active, is.Counts.Done)
	w.equal(w.b.Counts("q").Active, n-is.Counts.Done)
	_, err := w.jobs.Resume(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(is.ID).Counts, job.Counts{Total: n, Seen: n, Done: n})
	w.equal(w.b.Counts("other").Active, n)
}

// A job that deletes messages is not resumed by itself after a restart, however long the server
// runs and whatever other jobs do: a user has to resume it.
func TestDeletionIsNotResumedByItself(t *testing.T) {
	for _, kind := range []job.Kind{job.Purge, job.Delete} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.b.CreateQueue("q", engine.Config{})
				w.b.CreateQueue("other", engine.Config{})
				w.send("q", 3000)
				w.close()
				more := new(atomic.Int64)
				w.store = func(s engine.Store) engine.Store { return keeping{s, more} }
				w.open()
				more.Store(1)
				is, err := w.jobs.Start(t.Context(), job.Plan{Kind: kind, Paths: []engine.Path{"q"}}, broker.Unconfirmed, "somebody")
				w.must(err)
				time.Sleep(time.Minute)
				left := w.b.Counts("q").Active
				if left == 0 || left == 3000 {
					t.Fatalf("%d messages are left; the job should be partly done", left)
				}
				w.close()
				w.store = func(s engine.Store) engine.Store { return s }
				for range 2 {
					w.open()
					w.send("other", 1)
					w.equal(w.run(job.Plan{Kind: kind, Paths: []engine.Path{"other"}}).State, job.Done)
					time.Sleep(10 * time.Minute)
					is, err := w.jobs.Job(is.ID)
					w.must(err)
					w.equal(is.State, job.Interrupted)
					w.equal(w.b.Counts("q").Active, left)
					w.close()
				}
				w.open()
				_, err = w.jobs.Resume(t.Context(), is.ID, "somebody")
				w.must(err)
				w.equal(w.ends(is.ID).State, job.Done)
				w.equal(w.b.Counts("q").Active, 0)
				w.close()
			})
		})
	}
}

// keeping is a store that accepts `more` further commits that delete messages, and refuses the
// rest.
type keeping struct {
	engine.Store
	more *atomic.Int64
}

func (s keeping) Commit(ctx context.Context, b *engine.Batch) error {
	if len(b.DropMessages) > 0 && s.more.Add(-1) < 0 {
		return engine.ErrUnwritable
	}
	return s.Store.Commit(ctx, b)
}

// A job does not continue on a new queue of the same name.
func TestAnotherQueue(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	is := w.half(job.Plan{Kind: job.Purge, Paths: []engine.Path{"q"}}, 20_000)
	_, err := w.jobs.Cancel(t.Context(), is.ID, "somebody")
	w.must(err)
	w.must(w.b.Delete(t.Context(), "q", broker.Unconfirmed, "test"))
	w.b.CreateQueue("q", engine.Config{})
	w.send("q", 20_000)
	_, err = w.jobs.Resume(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(is.ID).State, job.Done)
	w.equal(w.b.Counts("q").Active, 20_000)
}

// Two jobs run at once, others wait, and a waiting job can be cancelled at once.
func TestWaiting(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.send("q", 20_000)
	var all []job.Job
	for range 3 {
		is, err := w.jobs.Start(t.Context(), job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}}, broker.Unconfirmed, "somebody")
		w.must(err)
		all = append(all, is)
	}
	w.equal([]job.State{all[0].State, all[1].State, all[2].State}, []job.State{job.Running, job.Running, job.Waiting})
	is, err := w.jobs.Cancel(t.Context(), all[2].ID, "somebody")
	w.must(err)
	w.equal(is.State, job.Cancelled)
	_, err = w.jobs.Resume(t.Context(), is.ID, "somebody")
	w.must(err)
	for _, is := range all[:2] {
		_, err := w.jobs.Cancel(t.Context(), is.ID, "somebody")
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
				w.equal([]int64{w.b.Counts("q").Active, w.b.Counts("other").Active}, []int64{599, 1}) // one message was touched by then
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
				last := w.b.Rows("other/$DeadLetterQueue")[598].Message.Extra
				w.equal([]string{last.Reason, last.Description}, []string{"because", "so it is"})
			},
		},
		"copy": {
			plan: job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}},
			check: func(w *world, _ job.Job) {
				w.equal([]int64{w.b.Counts("q").Active, w.b.Counts("other").Active}, []int64{600, 1})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.b.CreateQueue("q", engine.Config{})
			w.b.CreateQueue("other", engine.Config{})
			w.send("q", 600)
			if tc.set != nil {
				tc.set(w)
			}
			is := w.run(tc.plan)
			w.equal(is.Counts.Done, 600)
			got, err := w.b.Receive(t.Context(), broker.ReceiveRequest{Path: "other", Max: 1, Client: "c"})
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
	w.b.CreateQueue("q", engine.Config{})
	w.send("q", 3)
	before := w.b.Rows("q")[0].Expires
	is := w.run(job.Plan{Kind: job.Extend, ExtendBy: time.Hour, Paths: []engine.Path{"q"}})
	w.equal(w.b.Rows("q")[0].Expires, before.Add(time.Hour))
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.ends(undo.ID)
	w.equal(w.b.Rows("q")[0].Expires, before)
	is = w.run(job.Plan{Kind: job.DeadLetter, Paths: []engine.Path{"q"}})
	undo, err = w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.ends(undo.ID)
	w.equal(w.b.Counts("q"), engine.Counts{Active: 3})
	is = w.run(job.Plan{Kind: job.Delete, Paths: []engine.Path{"q"}})
	w.equal(is.Undoable(), false)
}

// Starting, cancelling and resuming a job are audited (dashboard §4).
func TestSteeringIsRemembered(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	reasons, moved := map[string]string{}, map[string]bool{}
	hear := func() {
		for _, e := range w.b.Events().Recent(1 << 20) {
			switch {
			case e.Kind == engine.EventSettingsChanged && e.Audit:
				reasons[e.Reason] = e.Actor
			case e.Kind == engine.EventMoved:
				moved[e.Actor] = true
			}
		}
	}
	is := w.half(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}}, 10_000)
	hear()
	is, err := w.jobs.Cancel(t.Context(), is.ID, "canceller")
	w.must(err)
	w.equal(is.State, job.Cancelled)
	hear()
	_, err = w.jobs.Resume(t.Context(), is.ID, "resumer")
	w.must(err)
	hear()
	w.ends(is.ID)
	hear()
	undo, err := w.jobs.Undo(t.Context(), is.ID, "undoer")
	w.must(err)
	hear()
	w.ends(undo.ID)
	hear()
	for what, actor := range map[string]string{
		"cancelled job 1": "canceller", "resumed job 1": "resumer", "started job 2, which takes back job 1": "undoer",
	} {
		if reasons[what] != actor {
			t.Errorf("the event %s has the actor %q: %v", what, reasons[what], reasons)
		}
	}
	w.equal([]bool{moved["resumer"], moved["undoer"]}, []bool{true, true}) // the actor is the user who resumed it
}

// The undo of a job's extension does not change a message that was extended again since. A message
// that had no time to live of its own before the job has none again (TTL-13).
func TestUndoOfExtendSkipsMessagesExtendedSince(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	for range 2 {
		w.b.SendMessages("q", broker.Outgoing{})
	}
	rows := w.b.Rows("q")
	w.equal(rows[0].Message.ExpiresAt, 0)
	is := w.run(job.Plan{Kind: job.Extend, ExtendBy: time.Hour, Paths: []engine.Path{"q"}})
	later := w.b.ClockTime().Add(48 * time.Hour)
	w.must(w.b.Extend(t.Context(), rows[1].Message.Key, later, "another"))
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	undo = w.ends(undo.ID)
	w.equal(undo.Counts, job.Counts{Total: 2, Seen: 2, Done: 1, Skipped: 1})
	w.equal([]engine.Instant{w.b.Rows("q")[0].Message.ExpiresAt, w.b.Rows("q")[1].Message.ExpiresAt}, []engine.Instant{0, later})
}

// Undoing a reschedule restores a message's former time if that is in the future (OPS-8).
func TestUndoOfReschedule(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	soon, later := w.b.ClockTime().Add(time.Hour), w.b.ClockTime().Add(48*time.Hour)
	for range 3 {
		w.b.SendMessages("q", broker.Outgoing{Content: engine.Content{ScheduledFor: soon}})
	}
	is := w.run(job.Plan{Kind: job.Reschedule, RescheduleTo: later, Paths: []engine.Path{"q"}})
	rows := w.b.Rows("q")
	_, err := w.b.Reschedule(t.Context(), rows[0].Message.Key, later.Add(time.Hour), "another")
	w.must(err)
	w.must(w.b.SendNow(t.Context(), rows[1].Message.Key, "another"))
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	undo = w.ends(undo.ID)
	w.equal(undo.Counts, job.Counts{Total: 3, Seen: 3, Done: 1, Skipped: 2})
}

// The latest hundred jobs are kept, and the undo records of the latest twenty.
func TestForgotten(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("r", engine.Config{})
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
