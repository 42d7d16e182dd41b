package main

import (
	"context"
	"strings"

	"mayfly/web/api"
)

func describeResubmit() description {
	return description{
		name: "resubmit", summary: "Send dead letters again to the entity that they are of, all, those that match, or one that is changed.", command: &resubmitCommand{}, ends: clientEnds(),
		detail: "Each becomes a new message, and is a dead letter no longer; their reasons are left out. It is a job, see mayfly jobs. One with --seq is sent at once, changed by --set and -p: either the new one arrives and the old one is gone, or neither.",
		examples: []example{
			{"mayfly resubmit orders", "Sends all dead letters of a queue again."},
			{"mayfly resubmit prices/Subscriptions/dear --query reason:TTLExpired* --dry-run", "Tells how many have expired."},
			{"mayfly resubmit orders --seq 17 --set ttl=1h --set body=@fixed.json -p region=eu", "Sends one again with another time to live, body and property."},
		},
	}
}

// resubmitCommand sends dead letters again.
type resubmitCommand struct {
	client
	jobFlags
	Entity   string   `arg:"" help:"Queue or topic/Subscriptions/name."`
	Seq      int64    `placeholder:"N" help:"Only the dead letter with this sequence number, at once and without a job."`
	Set      []string `sep:"none" placeholder:"KEY=VALUE" help:"With --seq: send it with this instead; may be repeated. KEY is subject, ttl, at, message-id, correlation-id, session-id, content-type, partition-key, to, reply-to, reply-to-session-id or body; body=@FILE is a file, @- standard input. An empty VALUE takes it away."`
	Property []string `short:"p" sep:"none" placeholder:"NAME=VALUE" help:"With --seq: an application property, as mayfly send has it; may be repeated. Others stay."`
	To       string   `placeholder:"PATH" help:"With --seq: send it to this queue, topic or subscription. Default: where it came from."`
	Copy     bool     `help:"With --seq: the dead letter stays."`
}

// Run sends.
func (c *resubmitCommand) Run(ctx context.Context, s streams) error {
	from := c.Entity
	if !strings.HasSuffix(strings.ToLower(from), strings.ToLower(deadLetterQueue)) {
		from += deadLetterQueue
	}
	switch changed := len(c.Set)+len(c.Property) > 0 || c.To != "" || c.Copy; {
	case c.Seq < 0:
		return misused("--seq is a sequence number, not %d", c.Seq)
	case c.Seq > 0 && (c.Query != "" || c.NoWait):
		return misused("with --seq one message is sent at once: --query and --no-wait are for many")
	case c.Seq > 0:
		return c.one(ctx, s, from)
	case changed:
		return misused("--set, -p, --to and --copy are for one message: --seq N says which, and mayfly peek '%s' lists them; mayfly jobs start copies or moves many as they are", from)
	}
	return c.start(ctx, s, c.client, api.NewJob{Kind: "resubmit", Paths: []string{from}})
}
