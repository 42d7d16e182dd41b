package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

func describeExport() description {
	return description{
		name: "export", summary: "Write the messages of an entity to standard output, a JSON line each, with all that is known of them.", command: &exportCommand{}, ends: clientEnds(),
		detail: "It touches none of them. What comes meanwhile is not in it.",
		examples: []example{
			{"mayfly export orders > orders.jsonl", "Keeps what is in a queue."},
			{"mayfly export 'orders/$DeadLetterQueue' | gzip > dead.jsonl.gz", "Keeps its dead letters, compressed."},
			{"mayfly export orders --server http://there:8080 | mayfly import orders", "Copies them from another server."},
		},
	}
}

// exportCommand writes messages.
type exportCommand struct {
	client
	Entity string `arg:"" help:"Queue, topic/Subscriptions/name, or one of them with /$DeadLetterQueue."`
	State  string `enum:"all,active,locked,deferred,scheduled" default:"all" help:"Which: all, active, locked, deferred or scheduled."`
}

// Run writes. An export that was cut off is an error.
func (c *exportCommand) Run(ctx context.Context, s streams) error {
	w, base, err := c.open(ctx, http.MethodGet, path("export", c.Entity)+"?state="+c.State, http.NoBody)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if w.StatusCode >= http.StatusBadRequest {
		_, err := c.read(ctx, base, w, nil)
		return err
	}
	if _, err := io.Copy(s.out, w.Body); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the export was cut off: %w", err)
	}
	return nil
}
