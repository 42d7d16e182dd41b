package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

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
