package client

import (
	"context"
	"net/http"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

// jobsCancelCommand cancels a job.
type jobsCancelCommand struct {
	client
	Job int64 `arg:"" help:"Number of the job."`
}

// Run cancels the job.
func (c *jobsCancelCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.updateJob(ctx, s, http.MethodDelete, jobPath(c.Job))
}

// jobsResumeCommand resumes a job.
type jobsResumeCommand struct {
	client
	Job int64 `arg:"" help:"Number of the job."`
}

// Run resumes the job and does not wait for its end.
func (c *jobsResumeCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.updateJob(ctx, s, http.MethodPost, jobPath(c.Job)+"/resume")
}

// jobsUndoCommand undoes a job.
type jobsUndoCommand struct {
	client
	Job int64 `arg:"" help:"Number of the job."`
}

// Run starts the job that undoes another, and waits for its end.
func (c *jobsUndoCommand) Run(ctx context.Context, s cli.Streams) error {
	var is api.Job
	if _, err := c.request(ctx, http.MethodPost, jobPath(c.Job)+"/undo", nil, &is, 0); err != nil {
		return err
	}
	return c.waitForJob(ctx, s, is.ID, 0)
}

// updateJob sends a request about a job and shows the job.
func (c client) updateJob(ctx context.Context, s cli.Streams, method, path string) error {
	var is api.Job
	raw, err := c.request(ctx, method, path, nil, &is, 0)
	if err != nil {
		return err
	}
	return c.printJob(s, raw, is)
}
