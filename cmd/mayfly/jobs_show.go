package main

import (
	"context"
	"net/http"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/web/api"
)

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
