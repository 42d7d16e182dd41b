package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"text/tabwriter"

	"mayfly/web/api"
)

func describeNamespaces() description {
	return description{
		name: "namespaces", summary: "List, create, update and delete the namespaces of a server.", command: &namespacesCommand{}, ends: clientEnds(),
		detail: "Each has entities, limits, access rules and a store of its own. Other commands are about the server's own unless --ns names another.",
		examples: []example{
			{"mayfly namespaces", "Lists them."},
			{"mayfly namespaces create shop --profile premium", "Makes one, with the limits of a tier of Service Bus."},
			{"mayfly namespaces create till --config Config.json", "Makes one with the entities and rules of a file."},
			{"mayfly namespaces create demo --temporary --for 1h", "Makes one in memory that goes by itself."},
			{"mayfly namespaces update shop --profile standard", "Gives it other limits; its clients have to connect again."},
			{"mayfly namespaces delete shop", "Removes one with all that is in it, after its name was typed."},
		},
	}
}

// namespacesCommand is what can be done with namespaces.
type namespacesCommand struct {
	List   namespacesListCommand   `cmd:"" default:"withargs" help:"List them. This is what happens without a word."`
	Create namespacesCreateCommand `cmd:"" help:"Make one."`
	Update namespacesUpdateCommand `cmd:"" help:"Give one other limits."`
	Delete namespacesDeleteCommand `cmd:"" help:"Remove one with all that is in it."`
}

const namespacesPath = "/api/v1/namespaces"

// namespacesListCommand lists namespaces.
type namespacesListCommand struct {
	client
	Names bool `help:"Print the names alone."`
}

// Run lists. JSON is one namespace a line.
func (c *namespacesListCommand) Run(ctx context.Context, s streams) error {
	var answer struct {
		Namespaces []json.RawMessage `json:"namespaces"`
	}
	if _, err := c.ask(ctx, http.MethodGet, namespacesPath, nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.writeLines(answer.Namespaces)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	if !c.Names {
		fmt.Fprintln(w, "NAME\tSTATE\tENTITIES\tMESSAGES\tDEAD\tTIER\tCONNECTION STRING") //nolint:errcheck // Flush says it
	}
	for _, raw := range answer.Namespaces {
		var n api.Namespace
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("the server tells of a namespace in a way that cannot be read: %w", err)
		}
		if c.Names {
			fmt.Fprintln(w, n.Name) //nolint:errcheck // Flush says it
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", n.Name, stateOf(n), n.Entities, n.Messages, n.DeadLetters, n.Tier, cmp.Or(n.ConnectionString, n.AdminConnectionString)) //nolint:errcheck // Flush says it
	}
	return w.Flush()
}

// stateOf is a namespace's state, and why it is that.
func stateOf(n api.Namespace) string {
	switch {
	case n.Owner != "":
		return n.State + ": " + printable(n.Owner, 80)
	case n.Why != "":
		return n.State + ": " + printable(n.Why, 120)
	case n.Temporary:
		return n.State + ", temporary"
	default:
		return n.State
	}
}

// namespacesCreateCommand makes a namespace.
type namespacesCreateCommand struct {
	client
	Name      string `arg:"" help:"Its name: 1 to 63 letters, digits and hyphens."`
	Profile   string `placeholder:"NAME" help:"Whose limits it has: ${profiles}. Default: the server's."`
	Temporary bool   `help:"In memory alone; it goes with the server at the latest."`
	Config    string `placeholder:"FILE" type:"path" help:"A Config.json of the Service Bus emulator with its entities and rules: it is made with all of them, or not at all. -: standard input."`
	For       string `placeholder:"DURATION" help:"How long a temporary one stays, such as 1h."`
}

// Run makes it.
func (c *namespacesCreateCommand) Run(ctx context.Context, s streams) error {
	in := api.NewNamespace{Name: c.Name, Profile: c.Profile, Temporary: c.Temporary, For: c.For}
	if c.Config != "" {
		var err error
		if in.Definitions, err = readConfig(c.Config, s.in); err != nil {
			return err
		}
	}
	var n api.Namespace
	raw, err := c.ask(ctx, http.MethodPost, namespacesPath, in, &n, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintf(s.out, "Created the namespace %s: %s.\n", n.Name, stateOf(n))
	return err
}

// largestConfig is as much of a Config.json as the server takes.
const largestConfig = 1 << 20

// readConfig reads a Config.json, from standard input if it is called -.
func readConfig(file string, in io.Reader) (json.RawMessage, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
		defer f.Close() //nolint:errcheck // what was read was read
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, largestConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--config %s: %w", file, err)
	case len(raw) > largestConfig:
		return nil, fmt.Errorf("--config %s: it is longer than the %d bytes allowed", file, largestConfig)
	case !json.Valid(raw):
		return nil, fmt.Errorf("--config %s: it is not JSON", file)
	}
	return raw, nil
}

// namespacesUpdateCommand gives a namespace other limits.
type namespacesUpdateCommand struct {
	client
	Name    string `arg:"" help:"Which."`
	Profile string `required:"" placeholder:"NAME" help:"Whose limits it is to have: ${profiles}."`
}

// Run changes it.
func (c *namespacesUpdateCommand) Run(ctx context.Context, s streams) error {
	var n api.Namespace
	raw, err := c.ask(ctx, http.MethodPatch, namespacesPath+"/"+url.PathEscape(c.Name), api.NamespaceChange{Profile: &c.Profile}, &n, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintf(s.out, "The namespace %s has the limits of %s: %s.\n", n.Name, n.Tier, stateOf(n))
	return err
}

// namespacesDeleteCommand removes a namespace.
type namespacesDeleteCommand struct {
	client
	Name string `arg:"" help:"Which."`
	Yes  bool   `short:"y" help:"Do not ask."`
}

// Run removes it once its name was typed.
func (c *namespacesDeleteCommand) Run(ctx context.Context, s streams) error {
	at := namespacesPath + "/" + url.PathEscape(c.Name)
	var n api.Namespace
	if _, err := c.ask(ctx, http.MethodGet, at, nil, &n, 0); err != nil {
		return err
	}
	if !c.Yes {
		what := fmt.Sprintf("removes the namespace %s with %s and %s", n.Name, counted(int64(n.Entities), "entity", "entities"), messages(n.Messages))
		if n.Temporary {
			what += " for good"
		} else {
			what += "; where it is kept in files its folder is kept aside, else all is gone for good"
		}
		if err := confirm(ctx, s, n.Name, what); err != nil {
			return err
		}
	}
	var gone api.RemovedNamespace
	raw, err := c.ask(ctx, http.MethodDelete, at+"?confirm="+url.QueryEscape(n.Name), nil, &gone, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	text := fmt.Sprintf("Removed the namespace %s.", gone.Name)
	if gone.Aside != "" {
		text += " What was in it is in " + printable(gone.Aside, 400) + "."
	}
	_, err = fmt.Fprintln(s.out, text)
	return err
}
