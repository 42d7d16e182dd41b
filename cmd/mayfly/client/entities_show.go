package client

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/web/api"
)

// entitiesShowCommand shows an entity.
type entitiesShowCommand struct {
	client
	Entity string `arg:"" help:"Queue, topic or topic/Subscriptions/name."`
}

// Run shows the entity.
func (c *entitiesShowCommand) Run(ctx context.Context, s cli.Streams) error {
	var e api.Entity
	raw, err := c.request(ctx, http.MethodGet, APIPath("entities", c.Entity), nil, &e, 0)
	if err != nil {
		return err
	}
	return c.printEntity(s, raw, e)
}

// printEntity prints an entity; raw is its JSON.
func (c client) printEntity(s cli.Streams, raw []byte, e api.Entity) error {
	if c.JSON {
		return s.WriteRaw(raw)
	}
	t := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	line := func(name string, value any) {
		fmt.Fprintf(t, "%s\t%s\n", name, cli.Printable(fmt.Sprint(value), 200)) //nolint:errcheck // Flush returns the error
	}
	n := e.Counts
	line(e.Kind, e.Path)
	line("messages", fmt.Sprintf("%d active, %d locked, %d deferred, %d scheduled, %d dead-lettered", n.Active, n.Locked, n.Deferred, n.Scheduled, n.DeadLetter))
	line("size", cli.FormatSize(e.Bytes))
	if e.Kind == "topic" {
		line("subscriptions", e.Subscriptions)
	}
	line("created", e.CreatedAt.Local().Format(time.DateTime))
	if e.DeletesAt != nil {
		line("deleted in", timeUntil(time.Now(), e.DeletesAt)+", if it stays idle")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Properties)) {
		line("  "+name, formatProperty(e.Properties[name]))
	}
	for _, r := range e.Rules {
		line("rule "+r.Name, describeRule(r))
	}
	return t.Flush()
}

// describeRule describes what a rule matches and its action.
func describeRule(r api.Rule) string {
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

// formatProperty returns a property's value for display: "never" for an unlimited duration.
func formatProperty(v any) any {
	if text, ok := v.(string); ok && strings.HasPrefix(text, "P") {
		if _, never, err := engine.ParseDuration(text); err == nil && never {
			return "never"
		}
	}
	return v
}
