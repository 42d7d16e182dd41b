package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"mayfly/engine"
	"mayfly/web/api"
)

// entitiesCreateCommand creates an entity.
type entitiesCreateCommand struct {
	client
	Kind       string   `arg:"" enum:"queue,topic,subscription" help:"queue, topic or subscription."`
	Path       string   `arg:"" help:"What it is called; a subscription topic/Subscriptions/name."`
	Properties []string `arg:"" optional:"" name:"name=value" help:"Properties other than the default."`
	Filter     *string  `placeholder:"SQL" help:"Of a subscription: take only messages of which this is true. Default: all."`
	Action     string   `placeholder:"SQL" help:"Of a subscription: what to change in its copies, such as \"SET seen = TRUE\"."`
}

// Run creates.
func (c *entitiesCreateCommand) Run(ctx context.Context, s streams) error {
	if c.Kind != "subscription" && (c.Filter != nil || c.Action != "") {
		return misused("--filter and --action are of a subscription, and a %s has no rules", c.Kind)
	}
	properties, err := parseProperties(c.Properties)
	if err != nil {
		return err
	}
	in := api.Creation{Kind: c.Kind, Path: c.Path, Properties: properties}
	if c.Filter != nil || c.Action != "" {
		in.Rules = []api.Rule{{Name: engine.DefaultRule, Filter: c.Filter, Action: c.Action}}
	}
	var e api.Entity
	raw, err := c.ask(ctx, http.MethodPost, "/api/v1/entities", in, &e, 0)
	if err != nil {
		return err
	}
	return c.show(s, raw, e)
}

// parseProperties reads NAME=VALUE of properties of an entity. An empty value is
// the default. Which there are, and what they may be, is the server's to say.
func parseProperties(given []string) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, g := range given {
		name, text, ok := strings.Cut(g, "=")
		if !ok || name == "" {
			return nil, misused("a property is written NAME=VALUE, such as LockDuration=PT30S, not %q", g)
		}
		if _, twice := all[name]; twice {
			return nil, misused("the property %s is given twice", name)
		}
		all[name] = json.RawMessage(marshalled(text))
		if text == "" {
			all[name] = json.RawMessage("null")
		}
	}
	return all, nil
}
