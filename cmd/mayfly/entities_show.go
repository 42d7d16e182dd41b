package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/engine"
	"mayfly/web/api"
)

// entitiesShowCommand shows an entity.
type entitiesShowCommand struct {
	client
	Entity string `arg:"" help:"Queue, topic or topic/Subscriptions/name."`
}

// Run shows.
func (c *entitiesShowCommand) Run(ctx context.Context, s streams) error {
	var e api.Entity
	raw, err := c.ask(ctx, http.MethodGet, path("entities", c.Entity), nil, &e, 0)
	if err != nil {
		return err
	}
	return c.show(s, raw, e)
}

// show prints an entity that came as raw.
func (c client) show(s streams, raw []byte, e api.Entity) error {
	if c.JSON {
		return s.write(raw)
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	line := func(name string, value any) {
		fmt.Fprintf(t, "%s\t%s\n", name, printable(fmt.Sprint(value), 200)) //nolint:errcheck // Flush says it
	}
	n := e.Counts
	line(e.Kind, e.Path)
	line("messages", fmt.Sprintf("%d active, %d locked, %d deferred, %d scheduled, %d dead-lettered", n.Active, n.Locked, n.Deferred, n.Scheduled, n.DeadLetter))
	line("size", size(e.Bytes))
	if e.Kind == "topic" {
		line("subscriptions", e.Subscriptions)
	}
	line("created", e.CreatedAt.Local().Format(time.DateTime))
	if e.DeletesAt != nil {
		line("deleted in", until(time.Now(), e.DeletesAt)+", if nobody uses it")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Properties)) {
		line("  "+name, propertyShown(e.Properties[name]))
	}
	for _, r := range e.Rules {
		line("rule "+r.Name, ruleText(r))
	}
	return t.Flush()
}

// ruleText is what a rule takes and does.
func ruleText(r api.Rule) string {
	text := "everything"
	switch {
	case r.Error != "":
		text = "nothing: " + r.Error
	case r.Filter != nil:
		text = *r.Filter
	case len(r.Correlation) > 0:
		text = string(r.Correlation)
	case r.Kind == "False":
		text = "nothing"
	}
	if r.Action != "" {
		text += "; " + r.Action
	}
	return text
}

// propertyShown is a property's value; a duration without an end is never.
func propertyShown(v any) any {
	if text, ok := v.(string); ok && strings.HasPrefix(text, "P") {
		if _, never, err := engine.ParseDuration(text); err == nil && never {
			return "never"
		}
	}
	return v
}
