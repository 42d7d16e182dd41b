package job_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
)

// A feed has n messages, some of them invalid, and counts its closings.
type feed struct {
	n      int
	most   int   // maximum number of messages sent together; zero means 10
	bad    []int // lines that cannot be read
	long   []int // lines whose messages are refused
	over   []int // lines of expired messages
	before func(ctx context.Context, line int64)
	closed int
	err    error // returned from the next call on
}

func (f *feed) Close() { f.closed++ }

func (f *feed) Next(ctx context.Context, from job.FeedPosition) (all []job.FeedMessage, done func(), err error) {
	if f.err != nil {
		return nil, nil, f.err
	}
	for i := int(from.Line) + 1; i <= f.n && len(all) < cmp.Or(f.most, 10); i++ {
		p := job.FeedMessage{Line: int64(i), Next: job.FeedPosition{Offset: int64(i) * 100, Line: int64(i)}}
		p.Message = broker.Outgoing{Content: engine.Content{MessageID: fmt.Sprint(i), Subject: fmt.Sprint(i)}}
		switch {
		case slices.Contains(f.bad, i):
			p = job.FeedMessage{Line: p.Line, Next: p.Next, Reason: "It is wrong."}
		case slices.Contains(f.over, i):
			p.Expired = true
		case slices.Contains(f.long, i):
			p.Message.Content.MessageID = strings.Repeat("x", 200)
		}
		all = append(all, p)
	}
	if f.before != nil && len(all) > 0 {
		f.before(ctx, all[0].Line)
	}
	return all, func() {}, nil
}

func (w *world) importing(f *feed, once string) job.Job {
	w.Helper()
	is, err := w.jobs.Import(w.Context(), job.Plan{To: "q", ImportSpec: &job.ImportSpec{File: "x.jsonl", FeedID: "w"}, IdempotencyKey: once}, int64(f.n), f, "somebody")
	w.must(err)
	return is
}

// All messages are sent once, in order. Messages that cannot be sent do not hold others back,
// and are reported with their lines.
func TestImport(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	f := &feed{n: 95, bad: []int{1, 30}, long: []int{2, 33, 95}, over: []int{50}}
	is := w.ends(w.importing(f, "").ID)
	w.equal(is.State, job.Done)
	w.equal(is.Counts, job.Counts{Total: 95, Seen: 95, Done: 89, Skipped: 1, Failed: 5})
	var lines []int64
	for _, f := range is.Failures {
		lines = append(lines, f.Line)
	}
	w.equal(lines, []int64{1, 2, 30, 33, 95})
	w.equal(f.closed, 1)
	last := 0
	for _, r := range w.b.Rows("q") {
		var n int
		if _, err := fmt.Sscan(r.Content.Subject(), &n); err != nil || n <= last {
			t.Fatalf("%d comes after %d, %v", n, last, err)
		}
		last = n
	}
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(undo.ID).Counts.Done, int64(89))
	w.equal(w.b.Counts("q"), engine.Counts{})
}

// The same file is imported once, however often the import is submitted.
func TestImportOnce(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	f := &feed{n: 15}
	first, second := w.importing(f, "w"), w.importing(f, "w")
	w.equal(first.ID, second.ID)
	w.ends(first.ID)
	w.equal(w.importing(f, "w").ID, first.ID)
	w.equal(w.b.Counts("q").Active, 15)
}

// A cancelled job continues where it stopped, even in the middle of messages that are sent one
// by one. No message is sent twice.
func TestImportIsCancelledAndResumed(t *testing.T) {
	for _, long := range [][]int{nil, {5, 15, 25}} {
		w := start(t)
		w.b.CreateQueue("q", engine.Config{})
		reached := make(chan struct{})
		f := &feed{n: 40, long: long, before: func(ctx context.Context, line int64) {
			if line == 11 {
				close(reached)
				<-ctx.Done()
			}
		}}
		id := w.importing(f, "").ID
		<-reached
		is, err := w.jobs.Cancel(t.Context(), id, "somebody")
		w.must(err)
		w.equal([]any{is.State, is.Resumable(), f.closed}, []any{job.Cancelled, true, 0})
		f.before = nil
		_, err = w.jobs.Resume(t.Context(), id, "another")
		w.must(err)
		is = w.ends(id)
		w.equal(is.Counts, job.Counts{Total: 40, Seen: 40, Done: int64(40 - len(long)), Failed: int64(len(long))})
		w.equal(w.b.Counts("q").Active, 40-len(long))
	}
}

// A job that failed for lack of space can be resumed when there is space. After a restart of
// the server its file no longer exists.
func TestImportFailsAndIsResumed(t *testing.T) {
	w := start(t)
	w.limits.EntitySize, w.limits.MessageMemory = 300, 0
	w.close()
	w.open()
	w.b.CreateQueue("q", engine.Config{})
	f := &feed{n: 40}
	id := w.importing(f, "").ID
	is := w.ends(id)
	w.equal(is.State, job.Failed)
	active := w.b.Counts("q").Active
	if active < 11 || active > 39 || active != is.Counts.Done || active%10 == 0 || is.FeedPosition.Line != is.Counts.Done || !is.Undoable() {
		t.Fatalf("there are %d messages, and the job reports %+v", active, is)
	}
	_, err := w.b.Purge(t.Context(), "q", []engine.Class{engine.ClassActive}, broker.Unconfirmed, "somebody")
	w.must(err)
	f.n = int(is.FeedPosition.Line) + 5
	_, err = w.jobs.Resume(t.Context(), id, "somebody")
	w.must(err)
	is = w.ends(id)
	w.equal([]any{is.State, w.b.Counts("q").Active}, []any{job.Done, 5})

	f = &feed{n: 40, err: errors.New("the file is gone")}
	id = w.importing(f, "").ID
	w.equal(w.ends(id).Reason, "the file is gone")
	w.close()
	w.open()
	if _, err := w.jobs.Resume(t.Context(), id, "somebody"); !errors.Is(err, engine.ErrNotAllowed) {
		t.Errorf("resuming it: %v", err)
	}
}
