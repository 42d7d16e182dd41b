package client

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/web/api"
)

// entitiesCreateCommand creates an entity.
type entitiesCreateCommand struct {
	client
	Kind       string   `arg:"" enum:"queue,topic,subscription" help:"queue, topic or subscription."`
	Path       string   `arg:"" help:"Name, or topic/Subscriptions/name for a subscription."`
	Properties []string `arg:"" optional:"" name:"name=value" help:"Properties that differ from the default."`
	Filter     *string  `placeholder:"SQL" help:"For a subscription: select only messages that match this SQL expression. Default: all."`
	Action     string   `placeholder:"SQL" help:"For a subscription: SQL action to apply to the copy of each selected message, such as \"SET seen = TRUE\"."`

	Rule        []string `sep:"none" placeholder:"NAME=SQL" help:"For a subscription: a rule with a name and a SQL expression. May be repeated."`
	Correlation []string `sep:"none" placeholder:"NAME=JSON" help:"For a subscription: a rule with a name and a correlation filter as in Config.json. May be repeated."`
	RuleAction  []string `sep:"none" placeholder:"NAME=SQL" help:"For a subscription: the action of the rule with that name. May be repeated."`
}

// Run creates the entity.
func (c *entitiesCreateCommand) Run(ctx context.Context, s cli.Streams) error {
	rules, err := c.rules()
	if err != nil {
		return err
	}
	if c.Kind != "subscription" && len(rules) > 0 {
		return cli.UsageErrorf("--filter, --action, --rule, --correlation and --rule-action are only for subscriptions; a %s has no rules", c.Kind)
	}
	properties, err := parseProperties(c.Properties)
	if err != nil {
		return err
	}
	in := api.NewEntity{Kind: c.Kind, Path: c.Path, Properties: properties, Rules: rules}
	var e api.Entity
	raw, err := c.request(ctx, http.MethodPost, "/api/v1/entities", in, &e, 0)
	if err != nil {
		return err
	}
	return c.printEntity(s, raw, e)
}

// rules returns the rules of a subscription: the rule $Default from --filter and --action, and
// the named rules. Without any, the server adds a rule that matches every message.
func (c *entitiesCreateCommand) rules() (all []api.Rule, err error) {
	if c.Filter != nil || c.Action != "" {
		all = append(all, api.Rule{Name: engine.DefaultRule, Filter: c.Filter, Action: c.Action})
	}
	for _, flag := range []struct {
		name  string
		given []string
		set   func(r *api.Rule, text string) error
	}{
		{"--rule", c.Rule, func(r *api.Rule, text string) error {
			if r.Filter != nil {
				return cli.UsageErrorf("the rule %s is given twice", r.Name)
			}
			r.Filter = &text
			return nil
		}},
		{"--correlation", c.Correlation, func(r *api.Rule, text string) error {
			switch {
			case r.Filter != nil || r.Correlation != nil:
				return cli.UsageErrorf("the rule %s is given twice", r.Name)
			case !json.Valid([]byte(text)):
				return cli.UsageErrorf(`--correlation %s: the filter must be JSON, such as {"Label":"x","Properties":{"region":"eu"}}, not %s`, r.Name, text)
			}
			r.Correlation = json.RawMessage(text)
			return nil
		}},
		{"--rule-action", c.RuleAction, func(r *api.Rule, text string) error {
			if r.Action != "" {
				return cli.UsageErrorf("the action of the rule %s is given twice", r.Name)
			}
			r.Action = text
			return nil
		}},
	} {
		for _, g := range flag.given {
			name, text, ok := strings.Cut(g, "=")
			if !ok || name == "" || text == "" {
				return nil, cli.UsageErrorf("%s must be NAME=VALUE, where NAME is the rule's name, not %q", flag.name, g)
			}
			i := slices.IndexFunc(all, func(r api.Rule) bool { return strings.EqualFold(r.Name, name) })
			if i < 0 {
				i, all = len(all), append(all, api.Rule{Name: name})
			}
			if err := flag.set(&all[i], text); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// parseProperties parses NAME=VALUE properties of an entity. An empty value means the default.
// The server checks names and values.
func parseProperties(given []string) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, g := range given {
		name, text, ok := strings.Cut(g, "=")
		if !ok || name == "" {
			return nil, cli.UsageErrorf("a property must be NAME=VALUE, such as LockDuration=PT30S, not %q", g)
		}
		if _, twice := all[name]; twice {
			return nil, cli.UsageErrorf("the property %s is given twice", name)
		}
		all[name] = json.RawMessage(cli.MarshalJSON(text))
		if text == "" {
			all[name] = json.RawMessage("null")
		}
	}
	return all, nil
}
