package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"mayfly/web/api"
)

func describeTemplates() description {
	return description{
		name: "templates", summary: "List, show, keep and delete templates: messages with placeholders, for mayfly send --template.", command: &templatesCommand{}, ends: clientEnds(),
		examples: []example{
			{"mayfly templates", "Lists them."},
			{"mayfly templates show late-orders > late-orders.json", "Has one as JSON."},
			{"mayfly templates keep late-orders < late-orders.json", "Keeps one, or changes it."},
			{"mayfly send orders --template late-orders", "Sends what it says."},
		},
	}
}

// templatesCommand is what can be done with templates.
type templatesCommand struct {
	List   templatesListCommand   `cmd:"" default:"withargs" help:"List them. This is what happens without a word."`
	Show   templatesShowCommand   `cmd:"" help:"Print the message of one, in JSON."`
	Keep   templatesKeepCommand   `cmd:"" help:"Keep the message of standard input, in JSON, or change one."`
	Delete templatesDeleteCommand `cmd:"" help:"Delete one."`
}

func templatePath(name string) string { return "/api/v1/templates/" + url.PathEscape(name) }

// templatesListCommand lists templates.
type templatesListCommand struct {
	client
}

// Run lists. JSON is one template a line.
func (c *templatesListCommand) Run(ctx context.Context, s streams) error {
	var answer struct {
		Templates []json.RawMessage `json:"templates"`
	}
	if _, err := c.ask(ctx, http.MethodGet, "/api/v1/templates", nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.writeLines(answer.Templates)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tCHANGED") //nolint:errcheck // Flush says it
	for _, raw := range answer.Templates {
		var t api.TemplateEntry
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("the server tells of a template in a way that cannot be read: %w", err)
		}
		fmt.Fprintf(w, "%s\t%s\n", printable(t.Name, 64), t.Changed.Local().Format(time.DateTime)) //nolint:errcheck // Flush says it
	}
	return w.Flush()
}

// templatesShowCommand prints a template.
type templatesShowCommand struct {
	client
	Name string `arg:"" help:"Which."`
}

// Run prints the message as keep takes it; with --json all that the server says.
func (c *templatesShowCommand) Run(ctx context.Context, s streams) error {
	var t struct {
		Message json.RawMessage `json:"message"`
	}
	raw, err := c.ask(ctx, http.MethodGet, templatePath(c.Name), nil, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	return s.writeLines([]json.RawMessage{t.Message})
}

// templatesKeepCommand keeps a template.
type templatesKeepCommand struct {
	client
	Name string `arg:"" help:"What it is called."`
}

// Run sends it as it is read.
func (c *templatesKeepCommand) Run(ctx context.Context, s streams) error {
	w, base, err := c.open(ctx, http.MethodPut, templatePath(c.Name), leaving(ctx, s.in))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var t api.Template
	raw, err := c.read(ctx, base, w, &t)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintf(s.out, "Kept the template %s.\n", printable(t.Name, 64))
	return err
}

// templatesDeleteCommand deletes a template.
type templatesDeleteCommand struct {
	client
	Name string `arg:"" help:"Which."`
}

// Run deletes it.
func (c *templatesDeleteCommand) Run(ctx context.Context, s streams) error {
	if _, err := c.ask(ctx, http.MethodDelete, templatePath(c.Name), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err := fmt.Fprintf(s.out, "Deleted the template %s.\n", printable(c.Name, 64))
	return err
}
