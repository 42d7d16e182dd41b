package job_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
)

// A dead letter's description may be a stack trace of the maximum length. The undo records of a
// slice then take more than one setting, and can still be used.
func TestLongDescriptions(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.send("q", 300)
	long := strings.Repeat("at a.b.c(d.java)\n", 200)
	for _, r := range w.b.Rows("q") {
		w.must(w.b.DeadLetterMessage(t.Context(), r.Message.Key, "why", long, "test"))
	}
	is := w.run(job.Plan{Kind: job.Resubmit, Paths: []engine.Path{"q/$DeadLetterQueue"}})
	w.equal(is.Reason, "")
	w.equal(is.Counts, job.Counts{Total: 300, Seen: 300, Done: 300})
	w.equal(is.Undoable(), true)
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(undo.ID).Counts, job.Counts{Total: 300, Seen: 300, Done: 300})
	w.equal(w.b.Counts("q").DeadLetter, 300)
	w.equal(w.b.Rows("q/$DeadLetterQueue")[299].Message.Extra.Description == long, true)
}

// A plan can list the maximum number of messages even if the path of their queue is long.
func TestAsManyChosenAsCanBe(t *testing.T) {
	w := start(t)
	const q = "a-queue-of-the-department-that-has-long-names"
	w.b.CreateQueue(q, engine.Config{})
	w.send(q, job.MaxMessages)
	w.run(job.Plan{Kind: job.DeadLetter, Paths: []engine.Path{q}})
	is := w.run(job.Plan{Kind: job.Resubmit, Messages: keys(w.b.Rows(q + "/$DeadLetterQueue"))})
	w.equal(is.Counts, job.Counts{Total: job.MaxMessages, Seen: job.MaxMessages, Done: job.MaxMessages})
	w.close()
	w.open()
	w.equal(w.jobs.List()[0].Plan.Messages[4999].Path, q+"/$DeadLetterQueue")
}

// A message that is listed twice in a plan is changed once.
func TestChosenTwice(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.send("q", 2)
	all := keys(w.b.Rows("q"))
	is := w.run(job.Plan{Kind: job.Copy, To: "other", Messages: slices.Concat(all, all)})
	w.equal(is.Counts, job.Counts{Total: 2, Seen: 2, Done: 2})
	w.equal(w.b.Counts("other").Active, 2)
}

// The oldest of the jobs whose undo records are kept can still be undone, although the undo is
// itself one more job.
func TestUndoOfTheOldest(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("r", engine.Config{})
	w.send("q", 1)
	is := w.run(job.Plan{Kind: job.Copy, To: "r", Paths: []engine.Path{"q"}})
	for range 19 {
		w.run(job.Plan{Kind: job.Purge, Paths: []engine.Path{"q"}, Query: "subject:none"})
	}
	is, err := w.jobs.Job(is.ID)
	w.must(err)
	w.equal(is.Undoable(), true)
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(undo.ID).Counts.Done, 1)
	w.equal(w.b.Counts("r").Active, 0)
}

// The undo of an extension skips a message that was extended, deferred, received or returned
// since.
func TestUndoOfExtendSkipsMessagesChangedSince(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.send("q", 5)
	got, err := w.b.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Max: 1, Client: "c"})
	w.must(err)
	w.must(w.b.SettleAll(t.Context(), []engine.Settlement{{Token: got[0].Token(), Outcome: engine.Defer, Path: "q"}}))
	is := w.run(job.Plan{Kind: job.Extend, ExtendBy: time.Hour, Paths: []engine.Path{"q"}})
	until := w.b.Rows("q")[4].Expires.Add(time.Hour)
	w.must(w.b.Extend(t.Context(), w.b.Rows("q")[4].Message.Key, until, "somebody"))
	deferred := got[0].Message.Key
	got, err = w.b.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Max: 2, Client: "c"})
	w.must(err)
	w.must(w.b.SettleAll(t.Context(), []engine.Settlement{{Token: got[0].Token(), Outcome: engine.Defer, Path: "q"}}))
	w.must(w.b.ReturnToActive(t.Context(), deferred, "somebody"))
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(undo.ID).Counts, job.Counts{Total: 5, Seen: 5, Done: 1, Skipped: 4})
	w.equal(w.b.Rows("q")[4].Expires, until)
}

// Dead letters have states too. A plan for all entities includes the dead letters that a search
// for that state finds, and a plan for a dead-letter queue the messages in it.
func TestStatesOfDeadLetters(t *testing.T) {
	for name, tc := range map[string]struct {
		state string
		paths []engine.Path
		gone  string // subjects: of ready, deferred and scheduled ones; dead letters are D and d
	}{
		"scheduled, anywhere":         {"scheduled", nil, "s"},
		"deferred, anywhere":          {"deferred", nil, "a d"},
		"active, anywhere":            {"active", nil, "b c"},
		"active dead letters":         {"active", []engine.Path{"q/$DeadLetterQueue"}, "D"},
		"deferred dead letters":       {"deferred", []engine.Path{"q/$DeadLetterQueue"}, "d"},
		"no scheduled dead letters":   {"scheduled", []engine.Path{"q/$DeadLetterQueue"}, ""},
		"all of both":                 {"", []engine.Path{"q", "q/$DeadLetterQueue"}, "D a b c d s"},
		"deferred ones of both alone": {"deferred", []engine.Path{"q", "q/$DeadLetterQueue"}, "a d"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.b.CreateQueue("q", engine.Config{})
			put := func(subjects string, due engine.Instant) {
				for s := range strings.FieldsSeq(subjects) {
					w.b.SendMessages("q", broker.Outgoing{Content: engine.Content{Subject: s, ScheduledFor: due}})
				}
			}
			take := func(p engine.Path, n int, o engine.Outcome) {
				got, err := w.b.Receive(t.Context(), broker.ReceiveRequest{Path: p, Max: n, Client: "c"})
				w.must(err)
				for _, d := range got {
					w.must(w.b.SettleAll(t.Context(), []engine.Settlement{{Token: d.Token(), Outcome: o, Path: p}}))
				}
			}
			put("d D", 0)
			take("q", 2, engine.DeadLetter)
			take("q/$DeadLetterQueue", 1, engine.Defer)
			put("a", 0)
			take("q", 1, engine.Defer)
			put("b c", 0)
			put("s", w.b.ClockTime().Add(time.Hour))
			subjects := func() (all []string) {
				for _, r := range append(w.b.Rows("q"), w.b.Rows("q/$DeadLetterQueue")...) {
					all = append(all, r.Content.Subject())
				}
				slices.Sort(all)
				return all
			}
			before := subjects()
			p := job.Plan{Kind: job.Purge, State: tc.state, Paths: tc.paths, Query: "age:<1h"}
			f, err := w.jobs.Preview(t.Context(), p, 1000)
			w.must(err)
			is := w.run(p)
			var gone []string
			for _, s := range before {
				if !slices.Contains(subjects(), s) {
					gone = append(gone, s)
				}
			}
			w.equal(strings.Join(gone, " "), tc.gone)
			w.equal([]int64{is.Counts.Done, is.Counts.Total, f.Total}, []int64{int64(len(gone)), int64(len(gone)), int64(len(gone))})
		})
	}
}

// A job that changed ten thousand messages can be undone; one that changed one more cannot.
func TestMostThatIsTakenBack(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.send("q", 10_000)
	is := w.run(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}})
	w.equal([]any{is.Counts.Done, is.Undoable()}, []any{10_000, true})
	w.send("other", 1)
	is = w.run(job.Plan{Kind: job.Move, To: "q", Paths: []engine.Path{"other"}})
	w.equal([]any{is.Counts.Done, is.Undoable(), is.TooManyToUndo}, []any{10_001, false, true})
}

// Without space for the undo record, a job does its operation, and reports that it cannot be
// undone.
func TestUndoThatDoesNotFit(t *testing.T) {
	w := start(t)
	w.limits.SettingsSize = 100_000
	w.close()
	w.open()
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.send("q", 3000)
	is := w.run(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}})
	w.equal(is.Counts, job.Counts{Total: 3000, Seen: 3000, Done: 3000})
	w.equal([]bool{is.TooManyToUndo, is.Undoable()}, []bool{true, false})
}

// If a server ended while it deleted the records of an old job, the rest of them is dropped
// when the next job begins. Undo records stay.
func TestTidy(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.send("q", 3)
	is := w.run(job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}})
	for _, key := range []string{"job-undo/000000000001/000001", "job-undo/000000000007/000000", "job-undone"} {
		_, err := w.b.SetSetting(t.Context(), key, "{}", nil)
		w.must(err)
	}
	w.close()
	w.open()
	kept, err := w.b.Settings(t.Context(), "job-")
	w.must(err)
	w.equal([]string{kept[0].Key, kept[1].Key}, []string{"job-undo/000000000001/000000", "job-undone"})
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(undo.ID).Counts.Done, 3)
}

// A plan that is too large for a record is refused with an explanation, and failures do not let
// a record grow beyond its maximum.
func TestRecordSizeLimit(t *testing.T) {
	w := start(t)
	long := engine.Path(strings.Repeat("x", 250))
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue(long, engine.Config{})
	w.b.CreateQueue(long+"/b", engine.Config{RequiresDuplicateDetection: true})
	for _, to := range []engine.Path{long, long + "/b"} {
		var out []broker.Outgoing
		for i := range 300 {
			out = append(out, broker.Outgoing{Content: engine.Content{MessageID: fmt.Sprintf("%0128d", i)}})
		}
		w.b.SendMessages(to, out...)
	}
	is := w.run(job.Plan{Kind: job.Move, To: long + "/b", Paths: []engine.Path{long}})
	w.equal(is.Counts, job.Counts{Total: 300, Seen: 300, Failed: 300})
	if n := len(is.Failures); n < 50 || n == job.MaxFailures {
		t.Errorf("the record has %d long failures", n)
	}
	w.limits.SettingSize = 140_000
	w.close()
	w.open()
	var paths []engine.Path
	for i := range 200 {
		paths = append(paths, long+engine.Path(fmt.Sprint(i)))
		w.b.CreateQueue(paths[i], engine.Config{})
	}
	_, err := w.jobs.Start(t.Context(), job.Plan{Kind: job.Purge, Paths: paths}, broker.Unconfirmed, "somebody")
	if !errors.Is(err, engine.ErrTooLarge) || !strings.Contains(err.Error(), "fewer messages or paths") {
		t.Errorf("a plan that is too large: %v", err)
	}
}

// unsure is a store that commits and then returns an error.
type unsure struct {
	engine.Store
	fail *atomic.Int64 // fail after so many commits of messages; zero means never
}

func (s unsure) Commit(ctx context.Context, b *engine.Batch) error {
	err := s.Store.Commit(ctx, b)
	if err == nil && len(b.Settings) > 0 && len(b.Messages) > 0 && s.fail.Add(-1) == 0 {
		return errors.New("the line is dead")
	}
	return err
}

// If the store committed a slice but returned an error, the job continues after that slice once
// the store works again, and can be undone.
func TestCommitWithUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.b.CreateQueue("q", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		w.send("q", 1000)
		w.close()
		fail := new(atomic.Int64)
		w.store = func(s engine.Store) engine.Store { return unsure{s, fail} }
		w.open()
		fail.Store(2)
		is := w.run(job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}})
		w.equal(is.State, job.Done)
		w.equal(is.Counts, job.Counts{Total: 1000, Seen: 1000, Done: 1000})
		w.equal(w.b.Counts("other").Active, 1000)
		undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
		w.must(err)
		w.equal(w.ends(undo.ID).Counts.Done, 1000)
		w.equal(w.b.Counts("other").Active, 0)
		w.close()
	})
}

// If the store committed a slice but returned an error, and the job is cancelled before the store
// works again, a resumed job also continues after that slice.
func TestCancelledBeforeAnybodyHeardOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.b.CreateQueue("q", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		w.send("q", 1000)
		fail := new(atomic.Int64)
		w.close()
		w.store = func(s engine.Store) engine.Store { return unsure{s, fail} }
		w.open()
		fail.Store(2)
		is, err := w.jobs.Start(t.Context(), job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}}, broker.Unconfirmed, "somebody")
		w.must(err)
		time.Sleep(time.Millisecond)
		is, err = w.jobs.Cancel(t.Context(), is.ID, "somebody")
		w.must(err)
		w.equal(is.State, job.Cancelled)
		time.Sleep(time.Minute)
		_, err = w.jobs.Resume(t.Context(), is.ID, "somebody")
		w.must(err)
		w.equal(w.ends(is.ID).Counts.Done, 1000)
		w.equal(w.b.Counts("other").Active, 1000)
		w.close()
	})
}

// A job that waits for the store can be cancelled.
func TestCancelledWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.b.CreateQueue("q", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		w.send("q", 1000)
		w.close()
		full, slices := new(atomic.Bool), new(atomic.Int64)
		w.store = func(s engine.Store) engine.Store { return unwritable{s, full, slices} }
		w.open()
		slices.Store(2)
		is, err := w.jobs.Start(t.Context(), job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}}, broker.Unconfirmed, "somebody")
		w.must(err)
		time.Sleep(time.Minute)
		is, err = w.jobs.Cancel(t.Context(), is.ID, "somebody")
		w.must(err)
		w.equal(is.State, job.Cancelled)
		w.equal(is.Counts.Done, 512)
		w.equal(w.b.Counts("other").Active, 512)
		full.Store(false)
		time.Sleep(time.Minute)
		_, err = w.jobs.Resume(t.Context(), is.ID, "somebody")
		w.must(err)
		w.equal(w.ends(is.ID).Counts.Done, 1000)
		w.equal(w.b.Counts("other").Active, 1000)
		w.close()
	})
}

// unwritable is a store that becomes full after it has committed this many slices of a job.
type unwritable struct {
	engine.Store
	full   *atomic.Bool
	slices *atomic.Int64
}

func (s unwritable) Commit(ctx context.Context, b *engine.Batch) error {
	if s.full.Load() {
		return engine.ErrUnwritable
	}
	if len(b.Settings) > 0 && len(b.Messages) > 0 && s.slices.Add(-1) == 0 {
		s.full.Store(true)
	}
	return s.Store.Commit(ctx, b)
}
