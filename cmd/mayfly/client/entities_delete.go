package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

// entitiesDeleteCommand deletes an entity.
type entitiesDeleteCommand struct {
	client
	Entity string `arg:"" help:"Queue, topic or topic/Subscriptions/name."`
	Yes    bool   `short:"y" help:"Do not ask for confirmation."`
}

// Run counts the messages, asks for confirmation and deletes the entity. If there are many
// more messages by then, the server refuses.
func (c *entitiesDeleteCommand) Run(ctx context.Context, s cli.Streams) error {
	var e api.Entity
	if _, err := c.request(ctx, http.MethodGet, APIPath("entities", c.Entity), nil, &e, 0); err != nil {
		return err
	}
	count, err := c.count(ctx, e)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("the %s %s with %s", e.Kind, e.Path, cli.MessageCount(count))
	if e.Kind == "topic" {
		what = fmt.Sprintf("the topic %s with %s and %s", e.Path, cli.Pluralize(int64(e.Subscriptions), "subscription", "subscriptions"), cli.MessageCount(count))
	}
	to := APIPath("entities", c.Entity)
	if !c.Yes {
		if err := confirm(ctx, s, e.Path, "permanently deletes "+what); err != nil {
			return err
		}
		to += fmt.Sprintf("?expectedCount=%d", count)
	}
	if _, err := c.request(ctx, http.MethodDelete, to, nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Deleted %s.\n", what)
	return err
}

// count returns the number of messages in an entity, for a topic including its subscriptions.
func (c *entitiesDeleteCommand) count(ctx context.Context, e api.Entity) (n int64, err error) {
	all := api.Entities{Entities: []api.Entity{e}}
	if e.Kind == "topic" {
		if _, err := c.request(ctx, http.MethodGet, "/api/v1/entities", nil, &all, 0); err != nil {
			return 0, err
		}
	}
	for _, one := range all.Entities {
		if one.Path == e.Path || strings.HasPrefix(one.Path, e.Path+"/Subscriptions/") {
			n += totalMessages(one.Counts) + one.Counts.TransferDeadLetter
		}
	}
	return n, nil
}
