package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

// jobsStartCommand starts a job.
type jobsStartCommand struct {
	client
	jobFlags
	Kind   string   `arg:"" enum:"resubmit,copy,move,delete,purge,dead-letter,extend,reschedule,send-now,return-to-active" help:"Operation: resubmit, copy, move, delete, purge, dead-letter, extend, reschedule, send-now or return-to-active."`
	In     []string `placeholder:"PATH" sep:"none" help:"Entity with the messages; may be repeated. Default: all entities, if there is a query."`
	State  string   `enum:",active,deferred,scheduled" default:"" placeholder:"STATE" help:"Only messages that are active, deferred or scheduled."`
	To     string   `placeholder:"PATH" help:"For move and copy: target queue or topic."`
	Reason string   `help:"For dead-letter: DeadLetterReason."`
	By     string   `placeholder:"DURATION" help:"For extend: duration to add."`
	At     string   `placeholder:"TIME" help:"For reschedule: new time, or duration from now."`
}

// jobFlags are the flags of all commands that start a job.
type jobFlags struct {
	Query          string `placeholder:"QUERY" help:"Only messages that match this query, in the syntax of mayfly search."`
	DropDuplicates bool   `name:"drop-duplicates" help:"Drop messages that the target detects as duplicates. Default: these messages fail."`
	DryRun         bool   `name:"dry-run" help:"Count the messages, and do nothing."`
	Yes            bool   `short:"y" help:"Do not ask for confirmation before messages are deleted."`
	NoWait         bool   `name:"no-wait" help:"Do not wait for the job to end."`
}

// Run starts the job.
func (c *jobsStartCommand) Run(ctx context.Context, s cli.Streams) error {
	in := api.NewJob{Kind: c.Kind, Paths: c.In, MessageState: c.State, To: c.To, Reason: c.Reason, By: c.By}
	if c.At != "" {
		at, err := parseAt(c.At, time.Now())
		if err != nil {
			return err
		}
		in.ScheduledEnqueueTime = &at
	}
	return c.startJob(ctx, s, c.client, in)
}

// startJob counts the messages of a job, asks for confirmation if messages would be lost, starts
// the job and waits for its end.
func (f jobFlags) startJob(ctx context.Context, s cli.Streams, c client, in api.NewJob) error {
	in.Query, in.DropDuplicates, in.DryRun = f.Query, f.DropDuplicates, true
	var meant api.JobPreview
	raw, err := c.request(ctx, http.MethodPost, "/api/v1/jobs", in, &meant, 0)
	if err != nil {
		return err
	}
	if f.DryRun && c.JSON {
		return s.WriteRaw(raw)
	}
	goes := cli.MessageCount(meant.Matching)
	if meant.Unexamined > 0 {
		goes = fmt.Sprintf("at least %d and at most %s", meant.Matching, cli.MessageCount(meant.ExpectedCount))
	}
	if f.DryRun {
		_, err := fmt.Fprintf(s.Out, "Nothing was done. This would %s %s; %d of them are locked and would be skipped.\n", in.Kind, goes, meant.Locked)
		return err
	}
	if removes := in.Kind == "delete" || in.Kind == "purge"; removes && !f.Yes && meant.ExpectedCount > 0 {
		if err := confirm(ctx, s, strconv.FormatInt(meant.ExpectedCount, 10), "permanently deletes "+goes); err != nil {
			return err
		}
	}
	in.DryRun, in.ExpectedCount = false, &meant.ExpectedCount
	var is api.Job
	raw, err = c.request(ctx, http.MethodPost, "/api/v1/jobs", in, &is, 0)
	if err != nil {
		return err
	}
	if f.NoWait {
		return c.printJob(s, raw, is)
	}
	return c.waitForJob(ctx, s, is.ID, 0)
}
