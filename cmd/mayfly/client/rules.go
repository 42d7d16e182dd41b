package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeRules() cli.Command {
	return cli.Command{
		Name: "rules", Summary: "List, create, update and delete the rules of a subscription.", Flags: &rulesCommand{}, ExitCodes: exitCodes(),
		Detail: "A subscription gets a copy of each message that one of its rules selects. A rule without a filter selects every message. A new subscription has one such rule, $Default, unless mayfly entities create gives it others.",
		Examples: []cli.Example{
			{Line: "mayfly rules prices/Subscriptions/eu", Text: "List the rules of a subscription."},
			{Line: `mayfly rules create prices/Subscriptions/eu dear --filter "price > 100" --action "SET dear = TRUE"`, Text: "Create a rule with a filter and an action."},
			{Line: `mayfly rules create prices/Subscriptions/eu region --correlation '{"Properties":{"region":"eu"}}'`, Text: "Create a rule with a correlation filter."},
			{Line: `mayfly rules update prices/Subscriptions/eu dear --filter "price > 200"`, Text: "Change the filter of a rule, and keep its action."},
			{Line: "mayfly rules delete prices/Subscriptions/eu '$Default'", Text: "Delete the default rule, which selects every message."},
		},
	}
}

// rulesCommand groups the subcommands for the rules of a subscription.
type rulesCommand struct {
	List   rulesListCommand   `cmd:"" default:"withargs" help:"List rules (default)."`
	Create rulesCreateCommand `cmd:"" help:"Create a rule."`
	Update rulesUpdateCommand `cmd:"" help:"Change the filter, the action or both of a rule."`
	Delete rulesDeleteCommand `cmd:"" help:"Delete a rule."`
}

// ruleContentFlags are the parts of a rule besides its name.
type ruleContentFlags struct {
	Filter      *string `xor:"filter" placeholder:"SQL" help:"Select messages that match this SQL expression."`
	Correlation *string `xor:"filter" placeholder:"JSON" help:"Select messages that have these properties: a correlation filter as in Config.json."`
	Action      *string `placeholder:"SQL" help:"SQL action to apply to the copy of each selected message, such as \"SET seen = TRUE\"."`
}

// anySet reports whether any part is given.
func (f ruleContentFlags) anySet() bool {
	return f.Filter != nil || f.Correlation != nil || f.Action != nil
}

// applyTo changes the given parts of r.
func (f ruleContentFlags) applyTo(r *api.Rule) error {
	switch {
	case f.Correlation != nil && !json.Valid([]byte(*f.Correlation)):
		return cli.UsageErrorf(`--correlation must be JSON, such as {"Label":"x","Properties":{"region":"eu"}}, not %s`, *f.Correlation)
	case f.Correlation != nil:
		r.Kind, r.Filter, r.Correlation = "", nil, json.RawMessage(*f.Correlation)
	case f.Filter != nil:
		r.Kind, r.Filter, r.Correlation = "", f.Filter, nil
	}
	if f.Action != nil {
		r.Action = *f.Action
	}
	return nil
}

// rulesListCommand lists the rules of a subscription.
type rulesListCommand struct {
	client
	Entity string `arg:"" help:"topic/Subscriptions/name."`
}

// Run lists rules. JSON is one rule a line.
func (c *rulesListCommand) Run(ctx context.Context, s cli.Streams) error {
	raw, err := c.request(ctx, http.MethodGet, APIPath("rules", c.Entity), nil, nil, 0)
	if err != nil {
		return err
	}
	return c.printRules(s, raw)
}

// printRules prints the rules in a response.
func (c client) printRules(s cli.Streams, answer []byte) error {
	var all struct {
		Rules []json.RawMessage `json:"rules"`
	}
	if err := json.Unmarshal(answer, &all); err != nil {
		return fmt.Errorf("the server returned a list of rules that cannot be parsed: %w", err)
	}
	if c.JSON {
		return s.WriteLines(all.Rules)
	}
	if len(all.Rules) == 0 {
		_, err := fmt.Fprintln(s.Out, "The subscription has no rules, so it receives no messages.")
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFILTER\tACTION") //nolint:errcheck // Flush returns the error
	for _, raw := range all.Rules {
		var r api.Rule
		if err := json.Unmarshal(raw, &r); err != nil {
			return fmt.Errorf("the server returned a rule that cannot be parsed: %w", err)
		}
		action := r.Action
		r.Action = ""
		fmt.Fprintf(w, "%s\t%s\t%s\n", cli.Printable(r.Name, 64), cli.Printable(describeRule(r), 400), cli.Printable(action, 400)) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// rulesCreateCommand creates a rule.
type rulesCreateCommand struct {
	client
	Entity string `arg:"" help:"topic/Subscriptions/name."`
	Name   string `arg:"" help:"Name of the rule, unique in the subscription."`
	ruleContentFlags
}

// Run creates the rule and prints all rules.
func (c *rulesCreateCommand) Run(ctx context.Context, s cli.Streams) error {
	r := api.Rule{Name: c.Name}
	if err := c.applyTo(&r); err != nil {
		return err
	}
	raw, err := c.request(ctx, http.MethodPost, APIPath("rules", c.Entity), r, nil, 0)
	if err != nil {
		return err
	}
	return c.printRules(s, raw)
}

// rulesUpdateCommand changes a rule.
type rulesUpdateCommand struct {
	client
	Entity string `arg:"" help:"topic/Subscriptions/name."`
	Name   string `arg:"" help:"Name of the rule."`
	ruleContentFlags
}

// Run reads the rule and replaces it, so that parts without a flag stay unchanged. A change
// that another client makes between the two is lost.
func (c *rulesUpdateCommand) Run(ctx context.Context, s cli.Streams) error {
	if !c.anySet() {
		return cli.UsageErrorf("give at least one of --filter, --correlation and --action")
	}
	var all api.Rules
	if _, err := c.request(ctx, http.MethodGet, APIPath("rules", c.Entity), nil, &all, 0); err != nil {
		return err
	}
	i := slices.IndexFunc(all.Rules, func(r api.Rule) bool { return strings.EqualFold(r.Name, c.Name) })
	if i < 0 {
		return &api.Problem{Type: "about:blank", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Code: "NotFound", Detail: fmt.Sprintf("The rule %q does not exist; mayfly rules %s lists the rules.", cli.Printable(c.Name, 64), cli.Printable(c.Entity, 100))}
	}
	r := all.Rules[i]
	r.Error = ""
	if err := c.applyTo(&r); err != nil {
		return err
	}
	raw, err := c.request(ctx, http.MethodPut, APIPath("rules", c.Entity), r, nil, 0)
	if err != nil {
		return err
	}
	return c.printRules(s, raw)
}

// rulesDeleteCommand deletes a rule.
type rulesDeleteCommand struct {
	client
	Entity string `arg:"" help:"topic/Subscriptions/name."`
	Name   string `arg:"" help:"Name of the rule."`
}

// Run deletes the rule. It does not ask, because no messages are lost.
func (c *rulesDeleteCommand) Run(ctx context.Context, s cli.Streams) error {
	if _, err := c.request(ctx, http.MethodDelete, APIPath("rules", c.Entity)+"?name="+url.QueryEscape(c.Name), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "Deleted the rule %s.\n", cli.Printable(c.Name, 64))
	return err
}
