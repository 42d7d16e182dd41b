package main

import (
	"context"
	"strings"

	"mayfly/web/api"
)

func describeResubmit() description {
	return description{
		name: "resubmit", summary: "Send dead letters again to the entity that they are of, all or those that match.", command: &resubmitCommand{}, ends: clientEnds(),
		detail: "Each becomes a new message, and is a dead letter no longer; their reasons are left out. It is a job, see mayfly jobs.",
		examples: []example{
			{"mayfly resubmit orders", "Sends all dead letters of a queue again."},
			{"mayfly resubmit prices/Subscriptions/dear --query reason:TTLExpired* --dry-run", "Tells how many have expired."},
		},
	}
}

// resubmitCommand sends dead letters again.
type resubmitCommand struct {
	client
	jobFlags
	Entity string `arg:"" help:"Queue or topic/Subscriptions/name."`
}

// Run sends.
func (c *resubmitCommand) Run(ctx context.Context, s streams) error {
	from := c.Entity
	if !strings.HasSuffix(strings.ToLower(from), strings.ToLower(deadLetterQueue)) {
		from += deadLetterQueue
	}
	return c.start(ctx, s, c.client, api.NewJob{Kind: "resubmit", Paths: []string{from}})
}
