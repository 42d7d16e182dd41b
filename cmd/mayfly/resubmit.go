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
		Detail: "Each becomes a new message, and is a dead letter no longer; their reasons are left out. It is a job, see mayfly jobs. One with --sequence-number is sent at once, changed by --set and -p: either the new one arrives and the old one is gone, or neither.",
		Examples: []cli.Example{
			{Line: "mayfly resubmit orders", Text: "Sends all dead letters of a queue again."},
			{Line: "mayfly resubmit prices/Subscriptions/dear --query reason:TTLExpired* --dry-run", Text: "Tells how many have expired."},
			{Line: "mayfly resubmit orders --sequence-number 17 --set ttl=1h --set body=@fixed.json -p region=eu", Text: "Sends one again with another time to live, body and property."},
		},
	}
}

// resubmitCommand sends dead letters again.
type resubmitCommand struct {
	client
	jobFlags
	Entity         string   `arg:"" help:"Queue or topic/Subscriptions/name."`
	SequenceNumber int64    `placeholder:"N" help:"Resubmit only the dead letter with this sequence number, at once and without a job."`
	Set            []string `sep:"none" placeholder:"KEY=VALUE" help:"With --sequence-number: change a property; may be repeated. KEY is subject, ttl, at, message-id, correlation-id, session-id, content-type, partition-key, to, reply-to, reply-to-session-id or body; body=@FILE is a file, @- standard input. An empty VALUE removes it."`
	Property       []string `short:"p" sep:"none" placeholder:"NAME=VALUE" help:"With --sequence-number: set an application property, as in mayfly send; may be repeated. Others stay."`
	To             string   `placeholder:"PATH" help:"With --sequence-number: send it to this queue, topic or subscription. Default: its origin."`
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
		return cli.UsageErrorf("--sequence-number is a sequence number, not %d", c.SequenceNumber)
	case c.SequenceNumber > 0 && (c.Query != "" || c.NoWait):
		return cli.UsageErrorf("with --sequence-number one message is sent at once: --query and --no-wait are for many")
	case c.SequenceNumber > 0:
		return c.resubmitOne(ctx, s, from)
	case changed:
		return cli.UsageErrorf("--set, -p, --to and --copy are for one message: --sequence-number N says which, and mayfly peek '%s' lists them; mayfly jobs start copies or moves many as they are", from)
	}
	return c.startJob(ctx, s, c.client, api.NewJob{Kind: "resubmit", Paths: []string{from}})
}
