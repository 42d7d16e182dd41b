package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeTemplates() cli.Command {
	return cli.Command{
		Name: "templates", Summary: "List, show, create and delete templates: messages with placeholders, for mayfly send --template.", Flags: &templatesCommand{}, ExitCodes: exitCodes(),
		Examples: []cli.Example{
			{Line: "mayfly templates", Text: "List templates."},
			{Line: "mayfly templates show late-orders > late-orders.json", Text: "Save a template to a JSON file."},
			{Line: "mayfly templates set late-orders < late-orders.json", Text: "Create or change a template from a file."},
			{Line: "mayfly send orders --template late-orders", Text: "Send a message from a template."},
			{Line: "mayfly templates delete late-orders", Text: "Delete a template."},
		},
	}
}

// templatesCommand groups the subcommands for templates.
type templatesCommand struct {
	List   templatesListCommand   `cmd:"" default:"withargs" help:"List templates (default)."`
	Show   templatesShowCommand   `cmd:"" help:"Print the message of a template as JSON."`
	Set    templatesSetCommand    `cmd:"" help:"Create or change a template from a JSON message on standard input."`
	Delete templatesDeleteCommand `cmd:"" help:"Delete a template."`
}

func templatePath(name string) string { return "/api/v1/templates/" + url.PathEscape(name) }

// templatesListCommand lists templates.
type templatesListCommand struct {
	client
}

// Run lists templates. JSON is one template a line.
func (c *templatesListCommand) Run(ctx context.Context, s cli.Streams) error {
	var answer struct {
		Templates []json.RawMessage `json:"templates"`
	}
	if _, err := c.request(ctx, http.MethodGet, "/api/v1/templates", nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.WriteLines(answer.Templates)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tCHANGED") //nolint:errcheck // Flush returns the error
	for _, raw := range answer.Templates {
		var t api.TemplateEntry
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("the server returned a template that cannot be parsed: %w", err)
		}
		fmt.Fprintf(w, "%s\t%s\n", cli.Printable(t.Name, 64), t.UpdatedAt.Local().Format(time.DateTime)) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// templatesShowCommand prints a template.
type templatesShowCommand struct {
	client
	Name string `arg:"" help:"Name of the template."`
}

// Run prints the message in the form that templates set reads, or the server's whole response with
// --json.
func (c *templatesShowCommand) Run(ctx context.Context, s cli.Streams) error {
	var t struct {
		Message json.RawMessage `json:"message"`
	}
	raw, err := c.request(ctx, http.MethodGet, templatePath(c.Name), nil, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	return s.WriteLines([]json.RawMessage{t.Message})
}

// templatesSetCommand creates or changes a template.
type templatesSetCommand struct {
	client
	Name string `arg:"" help:"Name of the template."`
}

// Run sends standard input unchanged to the server.
func (c *templatesSetCommand) Run(ctx context.Context, s cli.Streams) error {
	w, base, err := c.openResponse(ctx, http.MethodPut, templatePath(c.Name), cli.CancellableReader(ctx, s.In))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var t api.Template
	raw, err := c.readResponse(ctx, base, w, &t)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err = fmt.Fprintf(s.Out, "Saved the template %s.\n", cli.Printable(t.Name, 64))
	return err
}

// templatesDeleteCommand deletes a template.
type templatesDeleteCommand struct {
	client
	Name string `arg:"" help:"Name of the template."`
}

// Run deletes the template.
func (c *templatesDeleteCommand) Run(ctx context.Context, s cli.Streams) error {
	if _, err := c.request(ctx, http.MethodDelete, templatePath(c.Name), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "Deleted the template %s.\n", cli.Printable(c.Name, 64))
	return err
}
