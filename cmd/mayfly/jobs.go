package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mayfly/web/api"
)

func describeJobs() description {
	return description{
		name: "jobs", summary: "Do one thing to many messages in the background; list, show, cancel, resume and undo that.", command: &jobsCommand{}, ends: clientEnds(),
		detail: "A job touches no message that comes later and skips locked ones. It goes on in the server whoever watches it: interrupting the program does not stop it, jobs cancel does.",
		examples: []example{
			{"mayfly jobs", "Lists the latest jobs."},
			{"mayfly jobs start move --in orders --query 'prop.region:eu' --to orders-eu", "Moves messages that match to another queue."},
			{"mayfly jobs start delete --in 'orders/$DeadLetterQueue' --dry-run", "Tells how many messages would go."},
			{"mayfly jobs show 7 --wait 10m", "Waits for the end of a job."},
			{"mayfly jobs undo 7", "Takes back what a job did, where nobody has touched it since."},
		},
	}
}

// jobsCommand is what can be done with jobs.
type jobsCommand struct {
	List   jobsListCommand   `cmd:"" default:"withargs" help:"List the latest. This is what happens without a word."`
	Show   jobsShowCommand   `cmd:"" help:"Show one, or wait for its end."`
	Start  jobsStartCommand  `cmd:"" help:"Start one, or count what it would be done to."`
	Cancel jobsCancelCommand `cmd:"" help:"Stop one: what it has done stays done."`
	Resume jobsResumeCommand `cmd:"" help:"Have one go on that was cancelled, interrupted or failed."`
	Undo   jobsUndoCommand   `cmd:"" help:"Start one that takes back what another did."`
}

// jobPath is the address of a job.
func jobPath(id int64) string { return "/api/v1/jobs/" + strconv.FormatInt(id, 10) }

// jobPause is how long one answer about a job is waited for: as often there is
// progress to show.
const jobPause = time.Second

// errJobFailed is the end of a job that was not done, or not to all.
var errJobFailed = errors.New("it was not done to all messages")

// await shows how a job goes on, until its end or for so long; zero: until its
// end.
func (c client) await(ctx context.Context, s streams, id int64, atMost time.Duration) error {
	end := time.Now().Add(atMost)
	for {
		pause := jobPause
		if atMost > 0 {
			pause = max(0, min(pause, time.Until(end)))
		}
		var is api.Job
		raw, err := c.ask(ctx, http.MethodGet, jobPath(id)+"?wait="+pause.String(), nil, &is, pause)
		if err != nil && ctx.Err() != nil {
			s.progress("")
			fmt.Fprintf(s.err, "job %d goes on; mayfly jobs cancel %d stops it\n", id, id) //nolint:errcheck // there is nobody else to tell
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		s.progress(fmt.Sprintf("job %d: %d of %d", id, is.Counts.Seen, is.Counts.Total))
		if is.Ended != nil || atMost > 0 && !time.Now().Before(end) {
			s.progress("")
			err := c.showJob(s, raw, is)
			if err == nil && is.Ended != nil && is.State != "done" { // somebody cancelled it, or the server ended
				err = fmt.Errorf("job %d was %s: %w", is.ID, is.State, errJobFailed)
			}
			return err
		}
	}
}

// showJob prints a job that came as raw. One that has not done all is an error.
func (c client) showJob(s streams, raw []byte, is api.Job) (err error) {
	if c.JSON {
		err = s.write(raw)
	} else {
		_, err = fmt.Fprint(s.out, jobText(is))
	}
	if err == nil && is.Ended != nil && (is.State == "failed" || is.Counts.Failed > 0) {
		return fmt.Errorf("job %d: %w", is.ID, errJobFailed)
	}
	return err
}

// jobText is a job in words, with the messages that were refused.
func jobText(is api.Job) string {
	var text strings.Builder
	fmt.Fprintf(&text, "job %d  %s  %s  %s\n", is.ID, is.Kind, is.State, jobCounts(is.Counts))
	if is.Why != "" {
		fmt.Fprintf(&text, "  %s\n", printable(is.Why, 200))
	}
	for _, f := range is.Failures {
		if f.Line != 0 {
			fmt.Fprintf(&text, "  line %d: %s\n", f.Line, printable(f.Reason, 200))
			continue
		}
		fmt.Fprintf(&text, "  %s #%d: %s\n", f.Path, f.SequenceNumber, printable(f.Reason, 200))
	}
	switch {
	case is.Undoable:
		fmt.Fprintf(&text, "  mayfly jobs undo %d takes it back\n", is.ID)
	case is.Resumable:
		fmt.Fprintf(&text, "  mayfly jobs resume %d has it go on\n", is.ID)
	}
	return text.String()
}

func jobCounts(n api.JobCounts) string {
	return fmt.Sprintf("%d of %d seen, %d done, %d skipped, %d failed", n.Seen, n.Total, n.Done, n.Skipped, n.Failed)
}
