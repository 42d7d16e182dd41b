package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"mayfly/web/api"
)

// entitiesUpdateCommand changes properties of an entity.
type entitiesUpdateCommand struct {
	client
	Entity     string   `arg:"" help:"Queue, topic or topic/Subscriptions/name."`
	Properties []string `arg:"" name:"name=value" help:"Properties to change; an empty value is the default."`
	DryRun     bool     `name:"dry-run" help:"Change nothing, and tell which messages would run out."`
}

// Run updates.
func (c *entitiesUpdateCommand) Run(ctx context.Context, s streams) error {
	properties, err := parseProperties(c.Properties)
	if err != nil {
		return err
	}
	in := struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}{properties}
	if c.DryRun {
		return c.foresee(ctx, s, in)
	}
	var e api.Entity
	raw, err := c.ask(ctx, http.MethodPatch, path("entities", c.Entity), in, &e, 0)
	if err != nil {
		return err
	}
	return c.show(s, raw, e)
}

// foresee tells what the update would cost.
func (c *entitiesUpdateCommand) foresee(ctx context.Context, s streams, in any) error {
	var t api.Toll
	raw, err := c.ask(ctx, http.MethodPatch, path("entities", c.Entity)+"?dryRun=true", in, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	text := fmt.Sprintf("%s would run out at once, %d of them into the dead letters; %d when their locks end", messages(t.Expire), t.DeadLetter, t.WhenUnlocked)
	if t.Unseen > 0 {
		text += fmt.Sprintf("; %d were not looked at", t.Unseen)
	}
	_, err = fmt.Fprintf(s.out, "Nothing is changed. %s.\n", text)
	return err
}
