package client

import (
	"cmp"
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

func describeTokens() cli.Command {
	return cli.Command{
		Name: "tokens", Summary: "List, create and revoke access tokens and read-only links.", Flags: &tokensCommand{}, ExitCodes: exitCodes(),
		Detail: "A token authenticates a program at a server that requires sign-in. Pass it with --token, in MAYFLY_TOKEN or as Authorization: Bearer. A link gives anyone who opens it read-only access to one namespace. Tokens and links are shown only once, when you create them.",
		Examples: []cli.Example{
			{Line: "mayfly tokens", Text: "List tokens and links: all of them for an admin, otherwise your own."},
			{Line: "mayfly tokens create ci --role operator --expires-in 90d", Text: "Create a token that is valid for 90 days, and print it."},
			{Line: "mayfly tokens link 'monday demo' --expires-in 2h", Text: "Create a link that is valid for two hours, and print its URL."},
			{Line: "mayfly tokens revoke abcdefghij", Text: "Revoke a token, and all tokens and links created with it."},
		},
	}
}

// tokensCommand groups the subcommands for tokens and links.
type tokensCommand struct {
	List   tokensListCommand   `cmd:"" default:"withargs" help:"List tokens and links (default)."`
	Create tokensCreateCommand `cmd:"" help:"Create a token and print it."`
	Link   tokensLinkCommand   `cmd:"" help:"Create a read-only link and print its URL."`
	Revoke tokensRevokeCommand `cmd:"" help:"Revoke a token or a link."`
}

const tokensPath = "/api/v1/tokens"

// tokensListCommand lists tokens and links.
type tokensListCommand struct {
	client
	Names bool `help:"Print only the ids."`
}

// Run lists tokens and links. JSON is one of them a line.
func (c *tokensListCommand) Run(ctx context.Context, s cli.Streams) error {
	var answer struct {
		Tokens []json.RawMessage `json:"tokens"`
	}
	if _, err := c.request(ctx, http.MethodGet, tokensPath, nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.WriteLines(answer.Tokens)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	if !c.Names {
		fmt.Fprintln(w, "ID\tNAME\tKIND\tROLE\tNAMESPACE\tCREATED BY\tCREATED\tEXPIRES\tLAST USED") //nolint:errcheck // Flush returns the error
	}
	for _, raw := range answer.Tokens {
		var t api.Token
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("the server returned a token that cannot be parsed: %w", err)
		}
		if c.Names {
			fmt.Fprintln(w, cli.Printable(t.ID, 100)) //nolint:errcheck // Flush returns the error
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cli.Printable(t.ID, 100), cli.Printable(t.Name, 60), t.Kind, t.Role, cmp.Or(cli.Printable(t.Namespace, 63), "all"), //nolint:errcheck // Flush returns the error
			cmp.Or(cli.Printable(t.CreatedBy, 60), "-"), formatTime(t.CreatedAt), formatTime(t.ExpiresAt), formatTime(t.LastUsedAt))
	}
	return w.Flush()
}

// formatTime formats a time for people. It returns a dash for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// tokensCreateCommand creates a token.
type tokensCreateCommand struct {
	client
	Name          string `arg:"" help:"Name, as shown in the list."`
	Role          string `required:"" enum:"viewer,operator,admin" placeholder:"ROLE" help:"Role of the token: viewer, operator or admin, at most your own."`
	OnlyNamespace string `placeholder:"NAMESPACE" help:"Limit the token to this namespace. Default: all namespaces."`
	ExpiresIn     string `placeholder:"DURATION" help:"Lifetime, such as 90d. Default: the token does not expire."`
}

// Run creates the token. Only the token goes to standard output, for $(…) and files.
func (c *tokensCreateCommand) Run(ctx context.Context, s cli.Streams) error {
	var t api.Token
	raw, err := c.request(ctx, http.MethodPost, tokensPath, api.NewToken{Name: c.Name, Role: c.Role, Namespace: c.OnlyNamespace, ExpiresIn: c.ExpiresIn}, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	fmt.Fprintf(s.Err, "Created the token %s, %s, %s. It is shown only once:\n", t.ID, t.Role, describeLifetime(t)) //nolint:errcheck // the token is the result
	_, err = fmt.Fprintln(s.Out, t.Secret)
	return err
}

func describeLifetime(t api.Token) string {
	if t.ExpiresAt.IsZero() {
		return "valid until it is revoked"
	}
	return "valid until " + formatTime(t.ExpiresAt)
}

// tokensLinkCommand creates a link.
type tokensLinkCommand struct {
	client
	Name      string `arg:"" help:"Name, as shown in the list."`
	Page      string `placeholder:"PATH" help:"Page that the link opens, such as /n/default/queues. Default: the overview."`
	ExpiresIn string `placeholder:"DURATION" help:"Lifetime, at most 30d. Default: 8h."`
}

// Run creates the link. Only the URL goes to standard output.
func (c *tokensLinkCommand) Run(ctx context.Context, s cli.Streams) error {
	var t api.Token
	raw, err := c.request(ctx, http.MethodPost, "/api/v1/links", api.NewLink{Name: c.Name, Page: c.Page, ExpiresIn: c.ExpiresIn}, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	fmt.Fprintf(s.Err, "Created the link %s to the namespace %s, %s. It is shown only once:\n", t.ID, t.Namespace, describeLifetime(t)) //nolint:errcheck // the link is the result
	_, err = fmt.Fprintln(s.Out, t.URL)
	return err
}

// tokensRevokeCommand revokes a token or a link.
type tokensRevokeCommand struct {
	client
	ID string `arg:"" name:"id" help:"Id of the token or link, as listed."`
}

// Run revokes the token or link.
func (c *tokensRevokeCommand) Run(ctx context.Context, s cli.Streams) error {
	var t api.Token
	raw, err := c.request(ctx, http.MethodDelete, tokensPath+"/"+url.PathEscape(c.ID), nil, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err = fmt.Fprintf(s.Out, "Revoked the %s %s.\n", t.Kind, cli.Printable(t.Name, 100))
	return err
}
