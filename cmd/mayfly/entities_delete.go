package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"mayfly/web/api"
)

// entitiesDeleteCommand deletes an entity.
type entitiesDeleteCommand struct {
	client
	Entity string `arg:"" help:"Queue, topic or topic/Subscriptions/name."`
	Yes    bool   `short:"y" help:"Do not ask."`
}

// Run counts, asks and deletes. If there are many more messages by then, the
// server refuses.
func (c *entitiesDeleteCommand) Run(ctx context.Context, s streams) error {
	var e api.Entity
	if _, err := c.ask(ctx, http.MethodGet, path("entities", c.Entity), nil, &e, 0); err != nil {
		return err
	}
	count, err := c.count(ctx, e)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("the %s %s with %s", e.Kind, e.Path, messages(count))
	if e.Kind == "topic" {
		what = fmt.Sprintf("the topic %s with %s and %s", e.Path, counted(int64(e.Subscriptions), "subscription", "subscriptions"), messages(count))
	}
	to := path("entities", c.Entity)
	if !c.Yes {
		if err := confirm(ctx, s, e.Path, "deletes "+what+" for good"); err != nil {
			return err
		}
		to += fmt.Sprintf("?count=%d", count)
	}
	if _, err := c.ask(ctx, http.MethodDelete, to, nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprintf(s.out, "Deleted %s.\n", what)
	return err
}

// count is how many messages go with an entity; with a topic its subscriptions'
// too.
func (c *entitiesDeleteCommand) count(ctx context.Context, e api.Entity) (n int64, err error) {
	all := api.Entities{Entities: []api.Entity{e}}
	if e.Kind == "topic" {
		if _, err := c.ask(ctx, http.MethodGet, "/api/v1/entities", nil, &all, 0); err != nil {
			return 0, err
		}
	}
	for _, one := range all.Entities {
		if one.Path == e.Path || strings.HasPrefix(one.Path, e.Path+"/Subscriptions/") {
			n += messagesIn(one.Counts) + one.Counts.TransferDeadLetter
		}
	}
	return n, nil
}
