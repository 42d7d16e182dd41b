package client

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

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeNamespaces() cli.Command {
	return cli.Command{
		Name: "namespaces", Summary: "List, create, update and delete the namespaces of a server.", Flags: &namespacesCommand{}, ExitCodes: exitCodes(),
		Detail: "Each namespace has its own entities, limits, access rules and store. Other commands use the server's own namespace unless --namespace names another.",
		Examples: []cli.Example{
			{Line: "mayfly namespaces", Text: "List namespaces."},
			{Line: "mayfly namespaces create shop --profile premium", Text: "Create a namespace with the limits of a Service Bus tier."},
			{Line: "mayfly namespaces create till --config Config.json", Text: "Create a namespace with the entities and rules of a file."},
			{Line: "mayfly namespaces create demo --temporary --expires-in 1h", Text: "Create a namespace in memory that is deleted after an hour."},
			{Line: "mayfly namespaces update shop --profile standard", Text: "Change the limits of a namespace. Its clients must reconnect."},
			{Line: "mayfly namespaces delete shop", Text: "Delete a namespace and everything in it, after you type its name."},
		},
	}
}

// namespacesCommand groups the subcommands for namespaces.
type namespacesCommand struct {
	List   namespacesListCommand   `cmd:"" default:"withargs" help:"List namespaces (default)."`
	Create namespacesCreateCommand `cmd:"" help:"Create a namespace."`
	Update namespacesUpdateCommand `cmd:"" help:"Change the limits of a namespace."`
	Delete namespacesDeleteCommand `cmd:"" help:"Delete a namespace and everything in it."`
}

const namespacesPath = "/api/v1/namespaces"

// namespacesListCommand lists namespaces.
type namespacesListCommand struct {
	client
	Names bool `help:"Print only the names."`
}

// Run lists namespaces. JSON is one namespace a line.
func (c *namespacesListCommand) Run(ctx context.Context, s cli.Streams) error {
	var answer struct {
		Namespaces []json.RawMessage `json:"namespaces"`
	}
	if _, err := c.request(ctx, http.MethodGet, namespacesPath, nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.WriteLines(answer.Namespaces)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	if !c.Names {
		fmt.Fprintln(w, "NAME\tSTATE\tENTITIES\tMESSAGES\tDEAD\tPROFILE\tCONNECTION STRING") //nolint:errcheck // Flush returns the error
	}
	for _, raw := range answer.Namespaces {
		var n api.Namespace
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("the server returned a namespace that cannot be parsed: %w", err)
		}
		if c.Names {
			fmt.Fprintln(w, n.Name) //nolint:errcheck // Flush returns the error
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", n.Name, describeNamespaceState(n), n.Entities, n.Messages, n.DeadLetters, n.Profile, cmp.Or(n.ConnectionString, n.AdminConnectionString)) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// describeNamespaceState returns a namespace's state with its owner or reason.
func describeNamespaceState(n api.Namespace) string {
	switch {
	case n.Owner != "":
		return n.State + ": " + cli.Printable(n.Owner, 80)
	case n.Reason != "":
		return n.State + ": " + cli.Printable(n.Reason, 120)
	case n.Temporary:
		return n.State + ", temporary"
	default:
		return n.State
	}
}

// namespacesCreateCommand creates a namespace.
type namespacesCreateCommand struct {
	client
	Name      string `arg:"" help:"Name of the namespace: 1 to 63 letters, digits and hyphens."`
	Profile   string `placeholder:"NAME" help:"Tier that sets the limits: ${profiles}. Default: the server's."`
	Temporary bool   `help:"Keep the namespace in memory. It is deleted when the server stops."`
	Config    string `placeholder:"FILE" type:"path" help:"Config.json of the Service Bus emulator with entities and rules to create. If one fails, nothing is created. - is standard input."`
	ExpiresIn string `placeholder:"DURATION" help:"Lifetime of a temporary namespace, such as 1h."`
}

// Run creates the namespace.
func (c *namespacesCreateCommand) Run(ctx context.Context, s cli.Streams) error {
	in := api.NewNamespace{Name: c.Name, Profile: c.Profile, Temporary: c.Temporary, ExpiresIn: c.ExpiresIn}
	if c.Config != "" {
		var err error
		if in.Definitions, err = readConfig(c.Config, s.In); err != nil {
			return err
		}
	}
	var n api.CreatedNamespace
	raw, err := c.request(ctx, http.MethodPost, namespacesPath, in, &n, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	if err := printWarnings(s, n.Warnings); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Created the namespace %s: %s.\n", n.Name, describeNamespaceState(n.Namespace))
	return err
}

// maxConfigBytes is the server's limit on the size of a Config.json, in bytes.
const maxConfigBytes = 1 << 20

// readConfig reads a Config.json, from standard input if file is "-".
func readConfig(file string, in io.Reader) (json.RawMessage, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
		defer f.Close() //nolint:errcheck // opened for reading only
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxConfigBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--config %s: %w", file, err)
	case len(raw) > maxConfigBytes:
		return nil, fmt.Errorf("--config %s: it is longer than the %d bytes allowed", file, maxConfigBytes)
	case !json.Valid(raw):
		return nil, fmt.Errorf("--config %s: it is not JSON", file)
	}
	return raw, nil
}

// namespacesUpdateCommand changes the limits of a namespace.
type namespacesUpdateCommand struct {
	client
	Name    string `arg:"" help:"Name of the namespace."`
	Profile string `required:"" placeholder:"NAME" help:"Tier that sets the limits: ${profiles}."`
}

// Run changes the limits.
func (c *namespacesUpdateCommand) Run(ctx context.Context, s cli.Streams) error {
	var n api.Namespace
	raw, err := c.request(ctx, http.MethodPatch, namespacesPath+"/"+url.PathEscape(c.Name), api.NamespaceChange{Profile: &c.Profile}, &n, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err = fmt.Fprintf(s.Out, "The namespace %s has the limits of %s: %s.\n", n.Name, n.Profile, describeNamespaceState(n))
	return err
}

// namespacesDeleteCommand deletes a namespace.
type namespacesDeleteCommand struct {
	client
	Name string `arg:"" help:"Name of the namespace."`
	Yes  bool   `short:"y" help:"Do not ask for confirmation."`
}

// Run deletes the namespace after the user has typed its name.
func (c *namespacesDeleteCommand) Run(ctx context.Context, s cli.Streams) error {
	at := namespacesPath + "/" + url.PathEscape(c.Name)
	var n api.Namespace
	if _, err := c.request(ctx, http.MethodGet, at, nil, &n, 0); err != nil {
		return err
	}
	if !c.Yes {
		what := fmt.Sprintf("deletes the namespace %s with %s and %s", n.Name, cli.Pluralize(int64(n.Entities), "entity", "entities"), cli.MessageCount(n.Messages))
		if n.Temporary {
			what = "permanently " + what
		} else {
			what += ". A store in a file is moved aside; data in MongoDB or in memory is permanently deleted"
		}
		if err := confirm(ctx, s, n.Name, what); err != nil {
			return err
		}
	}
	var gone api.RemovedNamespace
	raw, err := c.request(ctx, http.MethodDelete, at+"?confirm="+url.QueryEscape(n.Name), nil, &gone, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	text := fmt.Sprintf("Deleted the namespace %s.", gone.Name)
	if gone.MovedTo != "" {
		text += " Its data is in " + cli.Printable(gone.MovedTo, 400) + "."
	}
	_, err = fmt.Fprintln(s.Out, text)
	return err
}
