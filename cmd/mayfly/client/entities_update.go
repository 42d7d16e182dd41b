package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

// entitiesUpdateCommand changes properties of an entity.
type entitiesUpdateCommand struct {
	client
	Entity     string   `arg:"" help:"Queue, topic or topic/Subscriptions/name."`
	Properties []string `arg:"" name:"name=value" help:"Properties to change; an empty value restores the default."`
	DryRun     bool     `name:"dry-run" help:"Change nothing; show which messages would expire."`
}

// Run updates the entity or, with --dry-run, prints the impact.
func (c *entitiesUpdateCommand) Run(ctx context.Context, s cli.Streams) error {
	properties, err := parseProperties(c.Properties)
	if err != nil {
		return err
	}
	in := struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}{properties}
	if c.DryRun {
		return c.previewUpdate(ctx, s, in)
	}
	var e api.Entity
	raw, err := c.request(ctx, http.MethodPatch, APIPath("entities", c.Entity), in, &e, 0)
	if err != nil {
		return err
	}
	return c.printEntity(s, raw, e)
}

// previewUpdate prints the impact of the update without applying it.
func (c *entitiesUpdateCommand) previewUpdate(ctx context.Context, s cli.Streams, in any) error {
	var t api.UpdateImpact
	raw, err := c.request(ctx, http.MethodPatch, APIPath("entities", c.Entity)+"?dryRun=true", in, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	text := fmt.Sprintf("%s would expire at once, %d of them to the dead-letter queue; %d when their locks end", cli.MessageCount(t.Expire), t.DeadLetter, t.WhenUnlocked)
	if t.Unexamined > 0 {
		text += fmt.Sprintf("; %d were not checked", t.Unexamined)
	}
	_, err = fmt.Fprintf(s.Out, "Nothing was changed. %s.\n", text)
	return err
}
