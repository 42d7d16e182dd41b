package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeHealthcheck() cli.Command {
	return cli.Command{
		Name: "healthcheck", Summary: "Check whether a server responds. The exit code is 0 if it does.", Flags: &healthcheckCommand{}, ExitCodes: exitCodes(),
		Examples: []cli.Example{
			{Line: "mayfly healthcheck", Text: "Exit with 0 if the server responds."},
			{Line: "mayfly healthcheck --json", Text: "Print the server's status, and the reason if it is not ok."},
		},
	}
}

// healthcheckCommand only checks that the process responds. It succeeds for a server that
// cannot write and for a standby, because a restart would not help either.
type healthcheckCommand struct {
	client
}

// Run checks the server.
func (c *healthcheckCommand) Run(ctx context.Context, s cli.Streams) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if !c.JSON {
		raw, err := c.request(ctx, http.MethodGet, "/healthz", nil, nil, 0)
		if err != nil {
			return err
		}
		return s.WriteRaw(raw)
	}
	raw, err := c.request(ctx, http.MethodGet, "/api/v1/health", nil, nil, 0)
	if p, ok := errors.AsType[*api.Problem](err); err != nil && (!ok || p.Status != http.StatusServiceUnavailable) {
		return err
	}
	return s.WriteRaw(raw)
}
