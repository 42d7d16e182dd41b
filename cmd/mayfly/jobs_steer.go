package main

import (
	"context"
	"net/http"

	"mayfly/web/api"
)

// jobsCancelCommand stops a job.
type jobsCancelCommand struct {
	client
	Job int64 `arg:"" help:"Its number."`
}

// Run stops it.
func (c *jobsCancelCommand) Run(ctx context.Context, s streams) error {
	return c.steer(ctx, s, http.MethodDelete, jobPath(c.Job))
}

// jobsResumeCommand has a job go on.
type jobsResumeCommand struct {
	client
	Job int64 `arg:"" help:"Its number."`
}

// Run has it go on, and does not wait for its end.
func (c *jobsResumeCommand) Run(ctx context.Context, s streams) error {
	return c.steer(ctx, s, http.MethodPost, jobPath(c.Job)+"/resume")
}

// jobsUndoCommand takes back what a job did.
type jobsUndoCommand struct {
	client
	Job int64 `arg:"" help:"Its number."`
}

// Run starts the job that does, and waits for its end.
func (c *jobsUndoCommand) Run(ctx context.Context, s streams) error {
	var is api.Job
	if _, err := c.ask(ctx, http.MethodPost, jobPath(c.Job)+"/undo", nil, &is, 0); err != nil {
		return err
	}
	return c.await(ctx, s, is.ID, 0)
}

// steer does something to a job and shows what it is then.
func (c client) steer(ctx context.Context, s streams, method, path string) error {
	var is api.Job
	raw, err := c.ask(ctx, method, path, nil, &is, 0)
	if err != nil {
		return err
	}
	return c.showJob(s, raw, is)
}
