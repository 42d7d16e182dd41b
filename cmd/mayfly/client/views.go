package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeViews() cli.Command {
	return cli.Command{
		Name: "views", Summary: "List, create and delete views: named sets of columns for lists of messages.", Flags: &viewsCommand{}, ExitCodes: exitCodes(),
		Examples: []cli.Example{
			{Line: "mayfly views", Text: "List views."},
			{Line: "mayfly views set 'late orders' seq message prop.region json.customer.id --list messages --list search", Text: "Create or change a view for two lists."},
			{Line: "mayfly views delete 'late orders'", Text: "Delete a view."},
		},
	}
}

// viewsCommand groups the subcommands for views.
type viewsCommand struct {
	List   viewsListCommand   `cmd:"" default:"withargs" help:"List views (default)."`
	Set    viewsSetCommand    `cmd:"" help:"Create or change a view."`
	Delete viewsDeleteCommand `cmd:"" help:"Delete a view."`
}

func viewPath(name string) string { return "/api/v1/views/" + url.PathEscape(name) }

// viewsListCommand lists views.
type viewsListCommand struct {
	client
}

// Run lists views. JSON is one view a line.
func (c *viewsListCommand) Run(ctx context.Context, s cli.Streams) error {
	var answer struct {
		Views []json.RawMessage `json:"views"`
	}
	if _, err := c.request(ctx, http.MethodGet, "/api/v1/views", nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.WriteLines(answer.Views)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tLISTS\tDEFAULT\tCOLUMNS") //nolint:errcheck // Flush returns the error
	for _, raw := range answer.Views {
		var v api.View
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("the server returned a view that cannot be parsed: %w", err)
		}
		lists, standard := strings.Join(v.Lists, ", "), ""
		if lists == "" {
			lists = "all"
		}
		if v.Default {
			standard = "default"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cli.Printable(v.Name, 64), lists, standard, cli.Printable(strings.Join(v.Columns, " "), 400)) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// viewsSetCommand creates or changes a view.
type viewsSetCommand struct {
	client
	Name    string   `arg:"" help:"Name of the view."`
	Columns []string `arg:"" help:"Columns, in order: fields such as seq, message and subject, prop.NAME, json.PATH."`
	List    []string `placeholder:"LIST" help:"List that the view is for; may be repeated: messages, scheduled, deferred, locked, dead-letter, transfer or search. Default: all."`
	Default bool     `help:"Make it the default view of these lists."`
}

// Run creates or changes the view.
func (c *viewsSetCommand) Run(ctx context.Context, s cli.Streams) error {
	var v api.View
	raw, err := c.request(ctx, http.MethodPut, viewPath(c.Name), api.ViewChange{Columns: c.Columns, Lists: c.List, Default: c.Default}, &v, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err = fmt.Fprintf(s.Out, "The view %s has %s.\n", cli.Printable(v.Name, 64), cli.Pluralize(int64(len(v.Columns)), "column", "columns"))
	return err
}

// viewsDeleteCommand deletes a view.
type viewsDeleteCommand struct {
	client
	Name string `arg:"" help:"Name of the view."`
}

// Run deletes the view.
func (c *viewsDeleteCommand) Run(ctx context.Context, s cli.Streams) error {
	if _, err := c.request(ctx, http.MethodDelete, viewPath(c.Name), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "Deleted the view %s.\n", cli.Printable(c.Name, 64))
	return err
}
