package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"mayfly/web/api"
)

func describeTokens() description {
	return description{
		name: "tokens", summary: "List, create and revoke tokens, and read-only links for an audience.", command: &tokensCommand{}, ends: clientEnds(),
		detail: "A token is what a program is known by where the server asks who somebody is, as --token or MAYFLY_TOKEN of every command, or in Authorization: Bearer. A link shows one namespace to whoever opens it, and lets nobody do anything. Either is told once, when it is made.",
		examples: []example{
			{"mayfly tokens", "Lists tokens and links: all to an admin, one's own to others."},
			{"mayfly tokens create ci --role operator --for 90d", "Makes a token, and prints it."},
			{"mayfly tokens link 'monday demo' --for 2h", "Makes a link, and prints its URL."},
			{"mayfly tokens revoke abcdefghij", "Ends one, with all that was made with it."},
		},
	}
}

// tokensCommand is what can be done with tokens and links.
type tokensCommand struct {
	List   tokensListCommand   `cmd:"" default:"withargs" help:"List them. This is what happens without a word."`
	Create tokensCreateCommand `cmd:"" help:"Make a token, and print it."`
	Link   tokensLinkCommand   `cmd:"" help:"Make a read-only link, and print its URL."`
	Revoke tokensRevokeCommand `cmd:"" help:"End a token or a link."`
}

const tokensPath = "/api/v1/tokens"

// tokensListCommand lists tokens and links.
type tokensListCommand struct {
	client
	Names bool `help:"Print the ids alone."`
}

// Run lists. JSON is one of them a line.
func (c *tokensListCommand) Run(ctx context.Context, s streams) error {
	var answer struct {
		Tokens []json.RawMessage `json:"tokens"`
	}
	if _, err := c.ask(ctx, http.MethodGet, tokensPath, nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.writeLines(answer.Tokens)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	if !c.Names {
		fmt.Fprintln(w, "ID\tNAME\tKIND\tROLE\tNAMESPACE\tMADE BY\tMADE\tUNTIL\tUSED") //nolint:errcheck // Flush says it
	}
	for _, raw := range answer.Tokens {
		var t api.Token
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("the server tells of a token in a way that cannot be read: %w", err)
		}
		if c.Names {
			fmt.Fprintln(w, printable(t.ID, 100)) //nolint:errcheck // Flush says it
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(t.ID, 100), printable(t.Name, 60), t.Kind, t.Role, cmp.Or(printable(t.Namespace, 63), "all"), //nolint:errcheck // Flush says it
			cmp.Or(printable(t.MadeBy, 60), "-"), moment(t.Made), moment(t.Until), moment(t.Used))
	}
	return w.Flush()
}

// moment is a time for people; a stroke for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// tokensCreateCommand makes a token.
type tokensCreateCommand struct {
	client
	Name   string `arg:"" help:"What it is for."`
	Role   string `required:"" enum:"viewer,operator,admin" placeholder:"ROLE" help:"What it may do: viewer, operator or admin, up to what you may."`
	Within string `placeholder:"NAMESPACE" help:"The only namespace that it is good for. Default: all."`
	For    string `placeholder:"DURATION" help:"How long it is good, such as 90d. Default: until it is revoked."`
}

// Run makes it. Standard output has the token alone, for $(…) and files.
func (c *tokensCreateCommand) Run(ctx context.Context, s streams) error {
	var t api.Token
	raw, err := c.ask(ctx, http.MethodPost, tokensPath, api.NewToken{Name: c.Name, Role: c.Role, Namespace: c.Within, For: c.For}, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	fmt.Fprintf(s.err, "Made the token %s, %s, %s. It is told this once:\n", t.ID, t.Role, goodUntil(t)) //nolint:errcheck // the token is what counts
	_, err = fmt.Fprintln(s.out, t.Secret)
	return err
}

func goodUntil(t api.Token) string {
	if t.Until.IsZero() {
		return "good until it is revoked"
	}
	return "good until " + moment(t.Until)
}

// tokensLinkCommand makes a link.
type tokensLinkCommand struct {
	client
	Name string `arg:"" help:"What it is for."`
	Page string `placeholder:"PATH" help:"Where it leads, such as /n/default/queues. Default: the overview."`
	For  string `placeholder:"DURATION" help:"How long it is good, up to 30d. Default: 8h."`
}

// Run makes it. Standard output has the URL alone.
func (c *tokensLinkCommand) Run(ctx context.Context, s streams) error {
	var t api.Token
	raw, err := c.ask(ctx, http.MethodPost, "/api/v1/links", api.NewLink{Name: c.Name, Page: c.Page, For: c.For}, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	fmt.Fprintf(s.err, "Made the link %s to the namespace %s, %s. It is told this once:\n", t.ID, t.Namespace, goodUntil(t)) //nolint:errcheck // the link is what counts
	_, err = fmt.Fprintln(s.out, t.URL)
	return err
}

// tokensRevokeCommand ends a token or a link.
type tokensRevokeCommand struct {
	client
	ID string `arg:"" name:"id" help:"Which, as the list has it."`
}

// Run ends it.
func (c *tokensRevokeCommand) Run(ctx context.Context, s streams) error {
	var t api.Token
	raw, err := c.ask(ctx, http.MethodDelete, tokensPath+"/"+url.PathEscape(c.ID), nil, &t, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintf(s.out, "Revoked the %s %s.\n", t.Kind, printable(t.Name, 100))
	return err
}
