package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mayfly/web/api"
)

func describeHealthcheck() description {
	return description{
		name: "healthcheck", summary: "Say whether a server answers, by the exit code.", command: &healthcheckCommand{}, ends: clientEnds(),
		examples: []example{
			{"mayfly healthcheck", "Ends with 0 as soon as the server does answer."},
			{"mayfly healthcheck --json", "Tells what keeps the server from working, if anything does."},
		},
	}
}

// healthcheckCommand asks whether the process answers, no more: a server that
// cannot write is not helped by a restart, nor is one that stands by.
type healthcheckCommand struct {
	client
}

// Run asks.
func (c *healthcheckCommand) Run(ctx context.Context, s streams) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if !c.JSON {
		raw, err := c.ask(ctx, http.MethodGet, "/healthz", nil, nil, 0)
		if err != nil {
			return err
		}
		return s.write(raw)
	}
	raw, err := c.ask(ctx, http.MethodGet, "/api/v1/health", nil, nil, 0)
	if p, ok := errors.AsType[*api.Problem](err); err != nil && (!ok || p.Status != http.StatusServiceUnavailable) {
		return err
	}
	return s.write(raw)
}
