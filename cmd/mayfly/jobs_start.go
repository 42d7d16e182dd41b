package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"mayfly/web/api"
)

// jobsStartCommand starts a job.
type jobsStartCommand struct {
	client
	jobFlags
	Kind   string   `arg:"" enum:"resubmit,copy,move,delete,purge,dead-letter,extend,reschedule,send-now,return-to-active" help:"What to do: resubmit, copy, move, delete, purge, dead-letter, extend, reschedule, send-now or return-to-active."`
	In     []string `placeholder:"PATH" sep:"none" help:"Where the messages are; may be repeated. Default: anywhere, if there is a query."`
	State  string   `enum:",active,deferred,scheduled" default:"" placeholder:"STATE" help:"Only messages that are active, deferred or scheduled."`
	To     string   `placeholder:"PATH" help:"Of move and copy: where to."`
	Reason string   `help:"DeadLetterReason, of dead-letter."`
	By     string   `placeholder:"DURATION" help:"Of extend: by how much."`
	At     string   `placeholder:"TIME" help:"Of reschedule: when they become available, a time or a duration from now."`
}

// jobFlags are those of whatever starts a job.
type jobFlags struct {
	Query          string `placeholder:"QUERY" help:"Only messages that match, as mayfly search has it."`
	DropDuplicates bool   `name:"drop-duplicates" help:"Drop those that the target takes for duplicates; else they are refused."`
	DryRun         bool   `name:"dry-run" help:"Do nothing, and tell how many messages are meant."`
	Yes            bool   `short:"y" help:"Do not ask before messages are removed for good."`
	NoWait         bool   `name:"no-wait" help:"Do not wait for the end of the job."`
}

// Run starts it.
func (c *jobsStartCommand) Run(ctx context.Context, s streams) error {
	in := api.NewJob{Kind: c.Kind, Paths: c.In, State: c.State, To: c.To, Reason: c.Reason, By: c.By}
	if c.At != "" {
		at, err := parseAt(c.At, time.Now())
		if err != nil {
			return err
		}
		in.Until = &at
	}
	return c.start(ctx, s, c.client, in)
}

// start counts what a job is about, asks where messages would be gone for good,
// starts it and waits for its end.
func (f jobFlags) start(ctx context.Context, s streams, c client, in api.NewJob) error {
	in.Query, in.DropDuplicates, in.DryRun = f.Query, f.DropDuplicates, true
	var meant api.JobForecast
	raw, err := c.ask(ctx, http.MethodPost, "/api/v1/jobs", in, &meant, 0)
	if err != nil {
		return err
	}
	if f.DryRun && c.JSON {
		return s.write(raw)
	}
	goes := messages(meant.Matching)
	if meant.Unseen > 0 {
		goes = fmt.Sprintf("at least %d and at most %s", meant.Matching, messages(meant.AtMost))
	}
	if f.DryRun {
		_, err := fmt.Fprintf(s.out, "Nothing is done. This would %s %s; %d of them are locked and would be skipped.\n", in.Kind, goes, meant.Locked)
		return err
	}
	if removes := in.Kind == "delete" || in.Kind == "purge"; removes && !f.Yes && meant.AtMost > 0 {
		if err := confirm(ctx, s, strconv.FormatInt(meant.AtMost, 10), "removes "+goes+" for good"); err != nil {
			return err
		}
	}
	in.DryRun, in.Count = false, &meant.AtMost
	var is api.Job
	raw, err = c.ask(ctx, http.MethodPost, "/api/v1/jobs", in, &is, 0)
	if err != nil {
		return err
	}
	if f.NoWait {
		return c.showJob(s, raw, is)
	}
	return c.await(ctx, s, is.ID, 0)
}
