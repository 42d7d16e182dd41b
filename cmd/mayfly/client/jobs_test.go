package client

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

// A job that did not process all messages lists the refused ones, and the command fails.
func TestJobThatFails(t *testing.T) {
	var out strings.Builder
	c := client{}
	is := api.Job{ID: 7, Kind: "move", State: "done", Counts: api.JobCounts{Total: 2, Examined: 2, Done: 1, Failed: 1}, Failures: []api.JobFailure{{Path: "q", SequenceNumber: 3, Reason: "too\nlarge"}}}
	if err := c.printJob(cli.Streams{Out: &out}, nil, is); err != nil {
		t.Errorf("of a job that continues: %v", err)
	}
	is.EndedAt = &is.StartedAt
	if err := c.printJob(cli.Streams{Out: &out}, nil, is); err == nil || cli.ExitCodeOf(err) != cli.ExitFailed || err.Error() != "job 7: not all messages were processed" {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(out.String(), "2 of 2 examined, 1 done, 0 skipped, 1 failed\n  q #3: too large\n") {
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
