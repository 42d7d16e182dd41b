package main

import (
	"context"
	"net/http"

	"mayfly/engine"
	"mayfly/web/api"
)

// jobsShowCommand shows a job.
type jobsShowCommand struct {
	client
	Job  int64  `arg:"" help:"Its number."`
	Wait string `default:"0s" placeholder:"DURATION" help:"How long to wait for its end."`
}

// Run shows.
func (c *jobsShowCommand) Run(ctx context.Context, s streams) error {
	wait, never, err := engine.ParseDuration(c.Wait)
	if err != nil || never {
		return misused("--wait is a duration such as 10m, not %q", c.Wait)
	}
	if wait > 0 {
		return c.await(ctx, s, c.Job, wait)
	}
	var is api.Job
	raw, err := c.ask(ctx, http.MethodGet, jobPath(c.Job), nil, &is, 0)
	if err != nil {
		return err
	}
	return c.showJob(s, raw, is)
}
