package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func TestJobsCommand(t *testing.T) {
	s := Start(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(exit int, in, out, complaint string, args ...string) {
		t.Helper()
		got, said, code := RunCommand(t, in, args...)
		if code != exit || !strings.Contains(got, out) || out == "" && got != "" || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, got, said, exit, out, complaint)
		}
	}
	run(cli.ExitOK, "", "No job was found.\n", "", "jobs")
	run(cli.ExitNotFound, "", "", "mayfly: ", "jobs", "show", "7")
	for _, args := range [][]string{
		{"send", "orders", "one", "--create", "-p", "region=eu"}, {"send", "orders", "two", "-p", "region=us"}, {"send", "orders", "three", "-p", "region=eu"},
		{"entities", "create", "queue", "orders-eu"}, {"send", "dead", "x", "--create", "--count", "3"},
		{"receive", "dead", "--limit", "3", "--then", "dead-letter"},
	} {
		if _, said, code := RunCommand(t, "", args...); code != cli.ExitOK {
			t.Fatal(said)
		}
	}
	counts := func(name string, want api.Counts) {
		t.Helper()
		if c := Entity(t, s, name).Counts; c != want {
			t.Errorf("in %s there are %+v, want %+v", name, c, want)
		}
	}
	move := []string{"jobs", "start", "move", "--in", "orders", "--query", "prop.region:eu", "--to", "orders-eu"}
	run(cli.ExitOK, "", "Nothing was done. This would move 2 messages; 0 of them are locked and would be skipped.\n", "", append(move, "--dry-run")...)
	counts("orders", api.Counts{Active: 3})
	run(cli.ExitOK, "", "job 1  move  done  3 of 3 seen, 2 done, 0 skipped, 0 failed\n", "", move...)
	counts("orders-eu", api.Counts{Active: 2})
	run(cli.ExitOK, "", `"kind":"move"`, "", "jobs", "show", "1", "--json")
	run(cli.ExitOK, "", "job 1  move  done", "", "jobs", "show", "1", "--wait", "1m")
	run(cli.ExitOK, "", "undo  done", "", "jobs", "undo", "1")
	counts("orders", api.Counts{Active: 3})
	run(cli.ExitRefused, "", "", "mayfly: ", "jobs", "resume", "1")

	run(cli.ExitOK, "", "would resubmit 3 messages", "", "resubmit", "dead", "--dry-run")
	run(cli.ExitOK, "", "resubmit  done  3 of 3 seen, 3 done", "", "resubmit", "dead/$deadletterqueue")
	counts("dead", api.Counts{Active: 3})

	// Deleting needs confirmation with the number of messages.
	run(cli.ExitFailed, "2\n", "", "This permanently deletes 3 messages.\nType 3 to confirm: mayfly: not confirmed, so nothing was changed", "jobs", "start", "delete", "--in", "dead")
	counts("dead", api.Counts{Active: 3})
	run(cli.ExitOK, "3\n", "delete  done", "Type 3", "jobs", "start", "delete", "--in", "dead")
	counts("dead", api.Counts{})
	run(cli.ExitOK, "", "delete  done", "", "jobs", "start", "delete", "--in", "orders", "--query", "prop.region:us", "--yes")
	counts("orders", api.Counts{Active: 2})

	run(cli.ExitUsage, "", "", "mayfly: ", "jobs", "start", "explode", "--in", "orders")
	run(cli.ExitUsage, "", "", "--at must be a time", "jobs", "start", "reschedule", "--in", "orders", "--at", "noon")
	run(cli.ExitUsage, "", "", "--wait must be a duration", "jobs", "show", "1", "--wait", "long")
	run(cli.ExitRefused, "", "", "mayfly: ", "jobs", "start", "move", "--in", "orders")
	run(cli.ExitNotFound, "", "", "mayfly: ", "resubmit", "nowhere")
	run(cli.ExitNotFound, "", "", "mayfly: ", "jobs", "cancel", "99")
	out, _, _ := RunCommand(t, "", "jobs", "list", "--json")
	if strings.Count(out, "\n") < 4 || !strings.HasPrefix(out, `{"id":`) {
		t.Errorf("got %q", out)
	}
	run(cli.ExitOK, "", "JOB  KIND", "", "jobs")
}

// A job that did not process all messages lists the refused ones, and the command fails.
func TestJobThatFails(t *testing.T) {
	var out strings.Builder
	c := client{}
	is := api.Job{ID: 7, Kind: "move", State: "done", Counts: api.JobCounts{Total: 2, Examined: 2, Done: 1, Failed: 1}, Failures: []api.JobFailure{{Path: "q", SequenceNumber: 3, Reason: "too\nlarge"}}}
	if err := c.printJob(cli.Streams{Out: &out}, nil, is); err != nil {
		t.Errorf("of one that goes on: %v", err)
	}
	is.EndedAt = &is.StartedAt
	if err := c.printJob(cli.Streams{Out: &out}, nil, is); err == nil || cli.ExitCodeOf(err) != cli.ExitFailed || err.Error() != "job 7: not all messages were processed" {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(out.String(), "2 of 2 seen, 1 done, 0 skipped, 1 failed\n  q #3: too large\n") {
		t.Errorf("got %q", &out)
	}
}

// When the user stops waiting, the command prints that the job continues.
func TestJobGoesOn(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"id":7,"state":"running"}`) //nolint:errcheck // the client reports what it got
		stop(cli.ErrStopped)
	}))
	defer from.Close()
	var out, said strings.Builder
	err := client{Server: from.URL}.waitForJob(ctx, cli.Streams{Out: &out, Err: &said}, 7, 0)
	if err == nil || cli.ExitCodeOf(err) != cli.ExitInterrupted || out.Len() > 0 || said.String() != "job 7 continues in the server; mayfly jobs cancel 7 stops it\n" {
		t.Errorf("got %v %q %q", err, &out, &said)
	}
}

// A job that is cancelled while the command waits makes the command fail.
func TestJobThatWasCancelled(t *testing.T) {
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"id":7,"state":"cancelled","endedAt":"2026-07-14T10:00:00Z"}`) //nolint:errcheck // the client reports what it got
	}))
	defer from.Close()
	var out, said strings.Builder
	err := client{Server: from.URL}.waitForJob(t.Context(), cli.Streams{Out: &out, Err: &said}, 7, 0)
	if err == nil || cli.ExitCodeOf(err) != cli.ExitFailed || err.Error() != "job 7 was cancelled: not all messages were processed" || !strings.HasPrefix(out.String(), "job 7") {
		t.Errorf("got %v %q %q", err, &out, &said)
	}
}
