package job_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/template"
)

// sending starts a job that sends a draft to q.
func (w *world) sending(to engine.Path, d template.Draft) job.Job {
	w.Helper()
	is, err := w.jobs.Send(w.Context(), job.Plan{To: to, SendSpec: &job.SendSpec{Draft: d, Seed: template.Seed{byte(len(w.jobs.List()))}}}, "somebody")
	w.must(err)
	return is
}

// All messages are sent once, in order, and the undo cancels or deletes those that are
// unchanged.
func TestSend(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	is := w.ends(w.sending("q", template.Draft{Subject: "s{{n}}", Body: "{{random 1 9}}", Repeat: 1000}).ID)
	w.equal(is.Counts, job.Counts{Total: 1000, Seen: 1000, Done: 1000})
	w.equal([]any{is.State, is.Plan.SendSpec == nil, is.Undoable()}, []any{job.Done, true, true})
	rows := w.b.Rows("q")
	w.equal(len(rows), 1000)
	for i, r := range rows {
		if r.Content.Subject() != fmt.Sprint("s", i+1) {
			t.Fatalf("message %d is %s", i+1, r.Content.Subject())
		}
	}
	got, err := w.b.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Max: 1, Client: "c"})
	w.must(err)
	w.must(w.b.SettleAll(t.Context(), []engine.Settlement{{Token: got[0].Token(), Outcome: engine.Abandon, Path: "q"}}))
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(undo.ID).Counts, job.Counts{Total: 1000, Seen: 1000, Done: 999, Skipped: 1})
	w.equal(w.b.Counts("q").Active, 1)
}

// The undo cancels scheduled messages too.
func TestSendScheduled(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	is := w.ends(w.sending("q", template.Draft{Delay: "1h", Every: time.Second, Repeat: 300}).ID)
	w.equal(w.b.Counts("q").Scheduled, 300)
	undo, err := w.jobs.Undo(t.Context(), is.ID, "somebody")
	w.must(err)
	w.equal(w.ends(undo.ID).Counts.Done, 300)
	w.equal(w.b.Counts("q"), engine.Counts{})
}

// The stored progress of a job that sends matches the stored messages, whenever the server
// ends. When resumed, it sends the rest, and no message twice.
func TestSendInterrupted(t *testing.T) {
	const n = 40_000
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	is := w.sending("q", template.Draft{Subject: "{{n}}", Body: "{{uuid}}", Repeat: n})
	for is.Counts.Done < n/4 && !is.State.Stopped() {
		changed := w.jobs.Changed()
		var err error
		is, err = w.jobs.Job(is.ID)
		w.must(err)
		if is.Counts.Done < n/4 {
			<-changed
		}
	}
	w.close()
	w.open()
	is = w.jobs.List()[0]
	w.equal(is.State, job.Interrupted)
	w.equal(w.b.Counts("q").Active, is.Counts.Done)
	if is.Counts.Done == n {
		t.Fatal("the job was finished before the server ended")
	}
	_, err := w.jobs.Resume(t.Context(), is.ID, "resumer")
	w.must(err)
	w.equal(w.ends(is.ID).Counts, job.Counts{Total: n, Seen: n, Done: n})
	by := map[string]bool{}
	for _, e := range w.b.Events().Recent(1 << 20) {
		if e.Kind == engine.EventSent {
			by[e.Actor] = true
		}
	}
	w.equal(by, map[string]bool{"resumer": true}) // since the restart: the actor is the user who resumed it
	for i, r := range w.b.Rows("q") {
		if r.Content.Subject() != fmt.Sprint(i+1) {
			t.Fatalf("message %d is %s", i+1, r.Content.Subject())
		}
	}
}

func TestSendOdd(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{RequiresDuplicateDetection: true})
	w.b.CreateEntity(engine.Topic, "t", engine.Config{})
	w.b.CreateEntity(engine.Subscription, "t/Subscriptions/s", engine.Config{})
	is := w.ends(w.sending("q", template.Draft{MessageID: "{{n%10}}", Repeat: 300}).ID)
	w.equal(is.Counts, job.Counts{Total: 300, Seen: 300, Done: 10, Skipped: 290}) // DUP-2
	is = w.ends(w.sending("t", template.Draft{Repeat: 300}).ID)
	w.equal([]any{is.Counts.Done, is.Undoable(), w.b.Counts("t/Subscriptions/s").Active}, []any{300, false, 300})
	is = w.ends(w.sending("q", template.Draft{Properties: []template.Property{{Name: "p", Kind: "ubyte", Value: "{{n%256}}"}}, Repeat: 600}).ID)
	w.equal(is.Counts.Done, 600)
	is = w.ends(w.sending("q", template.Draft{Properties: []template.Property{{Name: "p", Kind: "short", Value: "{{n+31700}}"}}, Repeat: 1100}).ID)
	w.equal([]any{is.State, is.Counts.Done, strings.HasPrefix(is.Reason, "message 1068: properties 1: ")}, []any{job.Failed, 1067, true})

	for name, tc := range map[string]struct {
		to   engine.Path
		d    template.Draft
		kind error
	}{
		"nowhere":   {"nowhere", template.Draft{}, engine.ErrNotFound},
		"too large": {"q", template.Draft{Body: strings.Repeat("x", job.MaxDraftBytes)}, engine.ErrTooLarge},
		"an id":     {"q", template.Draft{MessageID: strings.Repeat("x", 129)}, engine.ErrArgument},
	} {
		if _, err := w.jobs.Send(t.Context(), job.Plan{To: tc.to, SendSpec: &job.SendSpec{Draft: tc.d}}, "somebody"); !errors.Is(err, tc.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.jobs.Send(t.Context(), job.Plan{To: "q", SendSpec: &job.SendSpec{Draft: template.Draft{Body: "{{", Placeholders: true}}}, "somebody"); len(template.FieldErrors(err)) != 1 {
		t.Errorf("a wrong placeholder: %v", err)
	}
}
