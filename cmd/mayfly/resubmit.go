package main

import (
	"context"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeResubmit() cli.Command {
	return cli.Command{
		Name: "resubmit", Summary: "Resubmit dead letters to their entity: all, those that match, or one with changes.", Flags: &resubmitCommand{}, ExitCodes: clientExitCodes(),
		Detail: "Each dead letter is sent as a new message, without its dead-letter properties, and removed from the dead-letter queue. A job does this: see mayfly jobs. With --sequence-number, one dead letter is resubmitted at once, with the changes of --set and -p: either the new message is stored and the dead letter removed, or neither.",
		Examples: []cli.Example{
			{Line: "mayfly resubmit orders", Text: "Resubmit all dead letters of a queue."},
			{Line: "mayfly resubmit prices/Subscriptions/dear --query reason:TTLExpired* --dry-run", Text: "Count the dead letters that expired."},
			{Line: "mayfly resubmit orders --sequence-number 17 --set ttl=1h --set body=@fixed.json -p region=eu", Text: "Resubmit one dead letter with a new time to live, body and property."},
		},
	}
}

// resubmitCommand sends dead letters again.
type resubmitCommand struct {
	client
	jobFlags
	Entity         string   `arg:"" help:"Queue or topic/Subscriptions/name."`
	SequenceNumber int64    `placeholder:"N" help:"Resubmit only the dead letter with this sequence number, at once and without a job."`
	Set            []string `sep:"none" placeholder:"KEY=VALUE" help:"With --sequence-number: change a property; may be repeated. KEY is subject, ttl, at, message-id, correlation-id, session-id, content-type, partition-key, to, reply-to, reply-to-session-id or body; body=@FILE reads the body from a file, body=@- from standard input. An empty VALUE removes the property."`
	Property       []string `short:"p" sep:"none" placeholder:"NAME=VALUE" help:"With --sequence-number: set an application property, as in mayfly send; may be repeated. Others stay."`
	To             string   `placeholder:"PATH" help:"With --sequence-number: send the message to this queue, topic or subscription. Default: the entity it came from."`
	Copy           bool     `help:"With --sequence-number: keep the dead letter."`
}

// Run resubmits dead letters.
func (c *resubmitCommand) Run(ctx context.Context, s cli.Streams) error {
	from := c.Entity
	if !strings.HasSuffix(strings.ToLower(from), strings.ToLower(deadLetterQueue)) {
		from += deadLetterQueue
	}
	switch changed := len(c.Set)+len(c.Property) > 0 || c.To != "" || c.Copy; {
	case c.SequenceNumber < 0:
		return cli.UsageErrorf("--sequence-number must be a positive sequence number, not %d", c.SequenceNumber)
	case c.SequenceNumber > 0 && (c.Query != "" || c.NoWait):
		return cli.UsageErrorf("--sequence-number resubmits one message at once, without --query or --no-wait")
	case c.SequenceNumber > 0:
		return c.resubmitOne(ctx, s, from)
	case changed:
		return cli.UsageErrorf("--set, -p, --to and --copy require --sequence-number N, the sequence number of one message; mayfly peek '%s' lists them. To copy or move many messages unchanged, use mayfly jobs start", from)
	}
	return c.startJob(ctx, s, c.client, api.NewJob{Kind: "resubmit", Paths: []string{from}})
}
