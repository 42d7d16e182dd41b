package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/web/api"
)

func describeJobs() cli.Command {
	return cli.Command{
		Name: "jobs", Summary: "Run operations on many messages in the background: list, show, start, cancel, resume and undo jobs.", Flags: &jobsCommand{}, ExitCodes: exitCodes(),
		Detail: "A job skips locked messages and messages that arrive after it started. It runs in the server: interrupting this command does not stop it, but mayfly jobs cancel does.",
		Examples: []cli.Example{
			{Line: "mayfly jobs", Text: "List the latest jobs."},
			{Line: "mayfly jobs start move --in orders --query 'prop.region:eu' --to orders-eu", Text: "Move matching messages to another queue."},
			{Line: "mayfly jobs start delete --in 'orders/$DeadLetterQueue' --dry-run", Text: "Count the messages that would be deleted."},
			{Line: "mayfly jobs show 7 --wait 10m", Text: "Wait up to ten minutes for a job to end."},
			{Line: "mayfly jobs cancel 7", Text: "Cancel a running job."},
			{Line: "mayfly jobs resume 7", Text: "Resume a cancelled job."},
			{Line: "mayfly jobs undo 7", Text: "Undo a job on the messages that have not changed since it ran."},
		},
	}
}

// jobsCommand groups the subcommands for jobs.
type jobsCommand struct {
	List   jobsListCommand   `cmd:"" default:"withargs" help:"List the latest jobs (default)."`
	Show   jobsShowCommand   `cmd:"" help:"Show a job, or wait for it to end."`
	Start  jobsStartCommand  `cmd:"" help:"Start a job, or count its messages with --dry-run."`
	Cancel jobsCancelCommand `cmd:"" help:"Cancel a job. Changes it has already made stay."`
	Resume jobsResumeCommand `cmd:"" help:"Resume a job that was cancelled, interrupted or failed."`
	Undo   jobsUndoCommand   `cmd:"" help:"Start a job that undoes another."`
}

// jobPath returns the address of a job.
func jobPath(id int64) string { return "/api/v1/jobs/" + strconv.FormatInt(id, 10) }

// jobPollInterval is how long each request for a job's progress waits.
const jobPollInterval = time.Second

// errJobFailed is the error for a job that failed or did not process all messages.
var errJobFailed = errors.New("not all messages were processed")

// waitForJob shows the progress of a job until it ends, at most for atMost, or without a limit if
// atMost is zero.
func (c client) waitForJob(ctx context.Context, s cli.Streams, id int64, atMost time.Duration) error {
	end := time.Now().Add(atMost)
	for {
		pause := jobPollInterval
		if atMost > 0 {
			pause = max(0, min(pause, time.Until(end)))
		}
		var is api.Job
		raw, err := c.request(ctx, http.MethodGet, jobPath(id)+"?wait="+pause.String(), nil, &is, pause)
		if err != nil && ctx.Err() != nil {
			s.ShowProgress("")
			fmt.Fprintf(s.Err, "job %d continues in the server; mayfly jobs cancel %d stops it\n", id, id) //nolint:errcheck // nowhere else to report it
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		s.ShowProgress(fmt.Sprintf("job %d: %d of %d", id, is.Counts.Examined, is.Counts.Total))
		if is.EndedAt != nil || atMost > 0 && !time.Now().Before(end) {
			s.ShowProgress("")
			err := c.printJob(s, raw, is)
			if err == nil && is.EndedAt != nil && is.State != "done" { // cancelled, or the server ended
				err = fmt.Errorf("job %d was %s: %w", is.ID, is.State, errJobFailed)
			}
			return err
		}
	}
}

// printJob prints a job; raw is its JSON. A job that did not process all messages is an error.
func (c client) printJob(s cli.Streams, raw []byte, is api.Job) (err error) {
	if c.JSON {
		err = s.WriteRaw(raw)
	} else {
		_, err = fmt.Fprint(s.Out, describeJob(is))
	}
	if err == nil && is.EndedAt != nil && (is.State == "failed" || is.Counts.Failed > 0) {
		return fmt.Errorf("job %d: %w", is.ID, errJobFailed)
	}
	return err
}

// describeJob describes a job, with the messages that were refused.
func describeJob(is api.Job) string {
	var text strings.Builder
	fmt.Fprintf(&text, "job %d  %s  %s  %s\n", is.ID, is.Kind, is.State, describeJobCounts(is.Counts))
	if is.Reason != "" {
		fmt.Fprintf(&text, "  %s\n", cli.Printable(is.Reason, 200))
	}
	for _, f := range is.Failures {
		if f.Line != 0 {
			fmt.Fprintf(&text, "  line %d: %s\n", f.Line, cli.Printable(f.Reason, 200))
			continue
		}
		fmt.Fprintf(&text, "  %s #%d: %s\n", f.Path, f.SequenceNumber, cli.Printable(f.Reason, 200))
	}
	switch {
	case is.Undoable:
		fmt.Fprintf(&text, "  mayfly jobs undo %d undoes it\n", is.ID)
	case is.Resumable:
		fmt.Fprintf(&text, "  mayfly jobs resume %d resumes it\n", is.ID)
	}
	return text.String()
}

func describeJobCounts(n api.JobCounts) string {
	return fmt.Sprintf("%d of %d examined, %d done, %d skipped, %d failed", n.Examined, n.Total, n.Done, n.Skipped, n.Failed)
}

// jobsListCommand lists jobs.
type jobsListCommand struct{ client }

// Run lists jobs, the latest first. JSON is one job a line.
func (c *jobsListCommand) Run(ctx context.Context, s cli.Streams) error {
	var answer struct {
		Jobs []json.RawMessage `json:"jobs"`
	}
	if _, err := c.request(ctx, http.MethodGet, "/api/v1/jobs", nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.WriteLines(answer.Jobs)
	}
	if len(answer.Jobs) == 0 {
		_, err := fmt.Fprintln(s.Out, "No job was found.")
		return err
	}
	t := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tKIND\tSTATE\tSTARTED\tMESSAGES\tWHERE") //nolint:errcheck // Flush returns the error
	for _, raw := range answer.Jobs {
		var is api.Job
		if err := json.Unmarshal(raw, &is); err != nil {
			return fmt.Errorf("the server returned a job that cannot be parsed: %w", err)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", is.ID, is.Kind, is.State, is.StartedAt.Local().Format(time.DateTime), describeJobCounts(is.Counts), //nolint:errcheck // Flush returns the error
			cli.Printable(strings.TrimSpace(strings.Join(is.Paths, " ")+" "+is.Query), 80))
	}
	return t.Flush()
}

// jobsShowCommand shows a job.
type jobsShowCommand struct {
	client
	Job  int64  `arg:"" help:"Number of the job."`
	Wait string `default:"0s" placeholder:"DURATION" help:"Wait this long for the job to end."`
}

// Run shows the job, with --wait once it has ended or the wait is over.
func (c *jobsShowCommand) Run(ctx context.Context, s cli.Streams) error {
	wait, never, err := engine.ParseDuration(c.Wait)
	if err != nil || never {
		return cli.UsageErrorf("--wait must be a duration such as 10m, not %q", c.Wait)
	}
	if wait > 0 {
		return c.waitForJob(ctx, s, c.Job, wait)
	}
	var is api.Job
	raw, err := c.request(ctx, http.MethodGet, jobPath(c.Job), nil, &is, 0)
	if err != nil {
		return err
	}
	return c.printJob(s, raw, is)
}
