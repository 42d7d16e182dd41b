package job_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
)

func keys(rows []engine.Row) (all []engine.Target) {
	for _, r := range rows {
		all = append(all, engine.Target{Key: r.Message.Key})
	}
	return all
}

func TestKinds(t *testing.T) {
	for name, tc := range map[string]struct {
		plan  job.Plan
		set   func(w *world)
		want  job.Counts
		check func(w *world)
	}{
		"resubmit": {
			plan: job.Plan{Kind: job.Resubmit, Paths: []engine.Path{"q/$DeadLetterQueue"}},
			set:  func(w *world) { w.send("q", 600); w.kill("q", "why") },
			want: job.Counts{Total: 600, Seen: 600, Done: 600},
			check: func(w *world) {
				w.equal(w.b.Counts("q"), engine.Counts{Active: 600})
				w.equal(w.b.Rows("q")[599].Content.Subject(), "599") // in order
			},
		},
		"copy what matches": {
			plan:  job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}, Query: "subject:1*"},
			set:   func(w *world) { w.send("q", 20) },
			want:  job.Counts{Total: 20, Seen: 20, Done: 11},
			check: func(w *world) { w.equal(w.b.Counts("q").Active, 20); w.equal(w.b.Counts("other").Active, 11) },
		},
		"move what is locked": {
			plan: job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}},
			set: func(w *world) {
				w.send("q", 3)
				_, err := w.b.Receive(w.Context(), broker.ReceiveRequest{Path: "q", Max: 1, Client: "c"})
				w.must(err)
			},
			want:  job.Counts{Total: 3, Seen: 3, Done: 2, Skipped: 1},
			check: func(w *world) { w.equal(w.b.Counts("q").Locked, 1) },
		},
		"purge a state": {
			plan: job.Plan{Kind: job.Purge, Paths: []engine.Path{"q"}, State: "scheduled"},
			set: func(w *world) {
				w.send("q", 3)
				w.b.SendMessages("q", broker.Outgoing{Content: engine.Content{ScheduledFor: w.b.ClockTime().Add(time.Hour)}})
			},
			want:  job.Counts{Total: 1, Seen: 1, Done: 1},
			check: func(w *world) { w.equal(w.b.Counts("q"), engine.Counts{Active: 3}) },
		},
		"dead-letter by body, everywhere": {
			plan:  job.Plan{Kind: job.DeadLetter, Query: `in:q body:x`, Reason: "why"},
			set:   func(w *world) { w.send("q", 300); w.send("other", 1) },
			want:  job.Counts{Total: 300, Seen: 300, Done: 300},
			check: func(w *world) { w.equal(w.b.Counts("q").DeadLetter, 300); w.equal(w.b.Counts("other").Active, 1) },
		},
		"by bodies, some of them large": {
			plan: job.Plan{Kind: job.Move, To: "other", Paths: []engine.Path{"q"}, Query: "body:needle"},
			set: func(w *world) {
				for i, body := range []string{"hay", "a needle", "", strings.Repeat("x", 100<<10) + "needle", strings.Repeat("x", 100<<10), "hay", "needle"} {
					w.b.SendMessages("q", broker.Outgoing{Content: engine.Content{Subject: strconv.Itoa(i)}, Body: []byte(body)})
				}
			},
			want: job.Counts{Total: 7, Seen: 7, Done: 3},
			check: func(w *world) {
				var moved []string
				for _, r := range w.b.Rows("other") {
					moved = append(moved, r.Content.Subject())
				}
				w.equal(moved, []string{"1", "3", "6"})
			},
		},
		"refused": {
			plan: job.Plan{Kind: job.Move, To: "sessions", Paths: []engine.Path{"q"}},
			set:  func(w *world) { w.send("q", 150); w.b.CreateQueue("sessions", engine.Config{RequiresSession: true}) },
			want: job.Counts{Total: 150, Seen: 150, Failed: 150},
			check: func(w *world) {
				w.equal(len(w.jobs.List()[0].Failures), job.MaxFailures)
				w.equal(w.b.Counts("q").Active, 150)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.b.CreateQueue("q", engine.Config{})
			w.b.CreateQueue("other", engine.Config{})
			tc.set(w)
			is := w.run(tc.plan)
			w.equal(is.State, job.Done)
			w.equal(is.Counts, tc.want)
			tc.check(w)
		})
	}
}

func TestChosenMessages(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.send("q", 5)
	all := keys(w.b.Rows("q"))
	is := w.run(job.Plan{Kind: job.Delete, Messages: append(all[1:3:3], engine.Target{Key: 12345})})
	w.equal(is.Counts, job.Counts{Total: 3, Seen: 3, Done: 2, Skipped: 1})
	w.equal(w.b.Counts("q").Active, 3)
}

// A job does not change messages that arrive after it was started.
func TestNewcomersAreSpared(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.send("q", 2000)
	is, err := w.jobs.Start(t.Context(), job.Plan{Kind: job.Purge, Paths: []engine.Path{"q"}}, broker.Unconfirmed, "somebody")
	w.must(err)
	w.send("q", 10)
	is = w.ends(is.ID)
	w.equal(is.Counts.Done, 2000)
	w.equal(w.b.Counts("q").Active, 10)
}

func TestAgreed(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("other", engine.Config{})
	w.send("q", 100)
	for _, tc := range []struct {
		query string
		seen  broker.ConfirmedCount
		ok    bool
	}{
		{"", 90, false}, {"", 91, true}, {"subject:5*", 9, false}, {"subject:5*", 10, true},
	} {
		before := w.b.Counts("other").Active
		is, err := w.jobs.Start(t.Context(), job.Plan{Kind: job.Copy, To: "other", Paths: []engine.Path{"q"}, Query: tc.query}, tc.seen, "somebody")
		switch {
		case tc.ok:
			w.must(err)
			w.ends(is.ID)
		case !errors.Is(err, engine.ErrChanged), w.b.Counts("other").Active != before:
			t.Errorf("%q with %d: %v", tc.query, tc.seen, err)
		}
	}
}

func TestPreview(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.send("q", 1000)
	f, err := w.jobs.Preview(t.Context(), job.Plan{Kind: job.Purge, Paths: []engine.Path{"q"}, Query: "subject:7*"}, 10_000)
	w.must(err)
	w.equal([]int64{f.Total, f.Matching, f.Locked, f.Unexamined, f.AtMost()}, []int64{1000, 111, 0, 0, 111})
	w.equal(len(f.Sample), 10)
	w.equal(f.States, job.States{Active: 111})
	_, err = w.b.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Max: 5, Client: "c"})
	w.must(err)
	for kind, locked := range map[job.Kind]int64{job.Purge: 5, job.Extend: 0} { // locked messages can be extended (OPS-3)
		p := job.Plan{Kind: kind, Paths: []engine.Path{"q"}}
		if kind == job.Extend {
			p.ExtendBy = time.Hour
		}
		f, err := w.jobs.Preview(t.Context(), p, 10_000)
		w.must(err)
		w.equal([]int64{f.Matching, f.Locked, f.AtMost()}, []int64{1000, locked, 1000 - locked})
		if kind == job.Extend {
			w.equal(w.run(p).Counts.Done, 1000)
		}
	}
	f, err = w.jobs.Preview(t.Context(), job.Plan{Kind: job.Purge, Paths: []engine.Path{"q"}, Query: "subject:7*"}, 100)
	w.must(err)
	w.equal(f.Unexamined, 1000-256)
	w.equal(w.b.Counts("q").Active, 995)
	w.equal(len(w.jobs.List()), 1)
}

func TestWrongPlans(t *testing.T) {
	w := start(t)
	w.b.CreateQueue("q", engine.Config{})
	w.send("q", 1)
	for name, p := range map[string]job.Plan{
		"no such job":                {Kind: "explode", Paths: []engine.Path{"q"}},
		"only Undo makes it":         {Kind: job.Undo, Paths: []engine.Path{"q"}},
		"nothing is said":            {Kind: job.Delete},
		"too much is said":           {Kind: job.Delete, Messages: []engine.Target{{Key: 1}}, Query: "x"},
		"too many":                   {Kind: job.Delete, Messages: make([]engine.Target, job.MaxMessages+1)},
		"no such state":              {Kind: job.Delete, Paths: []engine.Path{"q"}, State: "locked"},
		"a query that is none":       {Kind: job.Delete, Query: "age:never"},
		"nowhere to move":            {Kind: job.Move, Paths: []engine.Path{"q"}},
		"to where nothing is":        {Kind: job.Move, Paths: []engine.Path{"q"}, To: "nowhere"},
		"no such place":              {Kind: job.Delete, Paths: []engine.Path{"nowhere"}},
		"a reason for what is alive": {Kind: job.Delete, Paths: []engine.Path{"q"}, Reason: "why"},
		"a long reason":              {Kind: job.DeadLetter, Paths: []engine.Path{"q"}, Reason: strings.Repeat("x", 5000)},
		"by nothing":                 {Kind: job.Extend, Paths: []engine.Path{"q"}},
		"into the past":              {Kind: job.Reschedule, Paths: []engine.Path{"q"}, RescheduleTo: 1},
	} {
		if _, err := w.jobs.Start(t.Context(), p, broker.Unconfirmed, "somebody"); err == nil {
			t.Errorf("%s: it was started", name)
		}
	}
	w.equal(len(w.jobs.List()), 0)
	w.equal(w.b.Counts("q").Active, 1)
}
