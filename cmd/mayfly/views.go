package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"mayfly/web/api"
)

func describeViews() description {
	return description{
		name: "views", summary: "List, set and delete views: columns of lists of messages, under names that everybody sees.", command: &viewsCommand{}, ends: clientEnds(),
		examples: []example{
			{"mayfly views", "Lists them."},
			{"mayfly views set 'late orders' seq message prop.region json.customer.id --list messages --list search", "Adds one for two lists, or changes it."},
			{"mayfly views delete 'late orders'", "Deletes one."},
		},
	}
}

// viewsCommand is what can be done with views.
type viewsCommand struct {
	List   viewsListCommand   `cmd:"" default:"withargs" help:"List them. This is what happens without a word."`
	Set    viewsSetCommand    `cmd:"" help:"Add one, or change it."`
	Delete viewsDeleteCommand `cmd:"" help:"Delete one."`
}

func viewPath(name string) string { return "/api/v1/views/" + url.PathEscape(name) }

// viewsListCommand lists views.
type viewsListCommand struct {
	client
}

// Run lists. JSON is one view a line.
func (c *viewsListCommand) Run(ctx context.Context, s streams) error {
	var answer struct {
		Views []json.RawMessage `json:"views"`
	}
	if _, err := c.ask(ctx, http.MethodGet, "/api/v1/views", nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.writeLines(answer.Views)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tLISTS\tDEFAULT\tCOLUMNS") //nolint:errcheck // Flush says it
	for _, raw := range answer.Views {
		var v api.View
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("the server tells of a view in a way that cannot be read: %w", err)
		}
		lists, standard := strings.Join(v.Lists, ", "), ""
		if lists == "" {
			lists = "all"
		}
		if v.Default {
			standard = "default"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(v.Name, 64), lists, standard, printable(strings.Join(v.Columns, " "), 400)) //nolint:errcheck // Flush says it
	}
	return w.Flush()
}

// viewsSetCommand adds a view or changes it.
type viewsSetCommand struct {
	client
	Name    string   `arg:"" help:"What it is called."`
	Columns []string `arg:"" help:"Its columns in order: fields such as seq, message and subject, prop.NAME, json.PATH."`
	List    []string `placeholder:"LIST" help:"For which lists, again for each: messages, scheduled, deferred, locked, dead-letter, transfer or search. Default: all."`
	Default bool     `help:"These lists show it where no other is asked for."`
}

// Run sets it.
func (c *viewsSetCommand) Run(ctx context.Context, s streams) error {
	var v api.View
	raw, err := c.ask(ctx, http.MethodPut, viewPath(c.Name), api.ViewChange{Columns: c.Columns, Lists: c.List, Default: c.Default}, &v, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintf(s.out, "The view %s has %s.\n", printable(v.Name, 64), counted(int64(len(v.Columns)), "column", "columns"))
	return err
}

// viewsDeleteCommand deletes a view.
type viewsDeleteCommand struct {
	client
	Name string `arg:"" help:"Which."`
}

// Run deletes it.
func (c *viewsDeleteCommand) Run(ctx context.Context, s streams) error {
	if _, err := c.ask(ctx, http.MethodDelete, viewPath(c.Name), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err := fmt.Fprintf(s.out, "Deleted the view %s.\n", printable(c.Name, 64))
	return err
}
