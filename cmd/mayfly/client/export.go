package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"mayfly/cmd/mayfly/cli"
)

func describeExport() cli.Command {
	return cli.Command{
		Name: "export", Summary: "Write the messages of an entity to standard output, one JSON line each, with all their properties.", Flags: &exportCommand{}, ExitCodes: exitCodes(),
		Detail: "Exporting neither locks nor changes messages. Messages that arrive meanwhile are left out.",
		Examples: []cli.Example{
			{Line: "mayfly export orders > orders.jsonl", Text: "Save the messages of a queue to a file."},
			{Line: "mayfly export 'orders/$DeadLetterQueue' | gzip > dead.jsonl.gz", Text: "Save the dead letters of a queue, compressed."},
			{Line: "mayfly export orders --server http://there:8080 | mayfly import orders", Text: "Copy messages from another server."},
		},
	}
}

// exportCommand exports the messages of an entity.
type exportCommand struct {
	client
	Entity string `arg:"" help:"Queue, topic/Subscriptions/name, or one of them with /$DeadLetterQueue."`
	State  string `enum:"all,active,locked,deferred,scheduled" default:"all" help:"State of the messages: all, active, locked, deferred or scheduled."`
}

// Run writes the export to standard output. An incomplete export is an error.
func (c *exportCommand) Run(ctx context.Context, s cli.Streams) error {
	w, base, err := c.openResponse(ctx, http.MethodGet, APIPath("export", c.Entity)+"?state="+c.State, http.NoBody)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if w.StatusCode >= http.StatusBadRequest {
		_, err := c.readResponse(ctx, base, w, nil)
		return err
	}
	if _, err := io.Copy(s.Out, w.Body); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the export was cut off: %w", err)
	}
	return nil
}
