package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/web/api"
)

func describeAlerts() description {
	return description{
		name: "alerts", summary: "List alerts, and list, create, change and delete the rules that give them.", command: &alertsCommand{}, ends: clientEnds(),
		detail: "A rule tells before messages run out or entities delete themselves, or when something has expired or died, and can give messages more time. A rule is named by its name or number.",
		examples: []example{
			{"mayfly alerts", "Lists the latest alerts."},
			{"mayfly alerts create 'late orders' --when running-out --in orders --within 1m --then extend --by 10m --times 3", "Gives messages ten minutes more, at most three times, when they have less than one left."},
			{"mayfly alerts create 'dead' --when dead-over --over 100 --url https://example.com/hook --dry-run", "Tells what a rule would do now."},
			{"mayfly alerts off 'late orders'", "Has a rule rest."},
		},
	}
}

// alertsCommand is what can be done with alerts and their rules.
type alertsCommand struct {
	List   alertsListCommand   `cmd:"" default:"withargs" help:"List the latest alerts. This is what happens without a word."`
	Rules  alertsRulesCommand  `cmd:"" help:"List the rules, and what they have done."`
	Create alertsCreateCommand `cmd:"" help:"Add a rule, or tell what it would do now."`
	On     alertsOnCommand     `cmd:"" help:"Have a rule work again that rests."`
	Off    alertsOffCommand    `cmd:"" help:"Have a rule rest."`
	Test   alertsTestCommand   `cmd:"" help:"Have an alert of a rule arrive, without any reason."`
	Delete alertsDeleteCommand `cmd:"" help:"Remove a rule."`
}

const alertRulesPath = "/api/v1/alert-rules"

// alertsListCommand lists alerts.
type alertsListCommand struct{ client }

// Run lists. JSON is one alert a line.
func (c *alertsListCommand) Run(ctx context.Context, s streams) error {
	var answer struct {
		Alerts []json.RawMessage `json:"alerts"`
	}
	if _, err := c.ask(ctx, http.MethodGet, "/api/v1/alerts", nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.writeLines(answer.Alerts)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tRULE\tWHEN\tCOUNT\tWHERE") //nolint:errcheck // Flush says it
	for _, raw := range answer.Alerts {
		var a api.Alert
		if err := json.Unmarshal(raw, &a); err != nil {
			return fmt.Errorf("the server tells of an alert in a way that cannot be read: %w", err)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", a.At.UTC().Format(time.RFC3339), printable(a.Name, 60), a.When, a.Count, alertPlaces(a)) //nolint:errcheck // Flush says it
	}
	return w.Flush()
}

// alertPlaces are the first few entities that an alert is about.
func alertPlaces(a api.Alert) string {
	const most = 3
	var out []string
	seen := map[string]bool{}
	for _, it := range a.Items {
		if seen[it.Path] {
			continue
		}
		if seen[it.Path] = true; len(out) == most {
			return strings.Join(out, ", ") + ", …"
		}
		out = append(out, printable(it.Path, 100))
	}
	return strings.Join(out, ", ")
}

// alertsRulesCommand lists rules.
type alertsRulesCommand struct {
	client
	Names bool `help:"Print the names alone."`
}

// Run lists. JSON is one rule a line.
func (c *alertsRulesCommand) Run(ctx context.Context, s streams) error {
	var answer struct {
		Rules []json.RawMessage `json:"rules"`
	}
	if _, err := c.ask(ctx, http.MethodGet, alertRulesPath, nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.writeLines(answer.Rules)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	if !c.Names {
		fmt.Fprintln(w, "NUMBER\tNAME\tSTATE\tWHEN\tIN\tTHEN\tFIRED\tDONE") //nolint:errcheck // Flush says it
	}
	for _, raw := range answer.Rules {
		var r api.AlertRule
		if err := json.Unmarshal(raw, &r); err != nil {
			return fmt.Errorf("the server tells of a rule in a way that cannot be read: %w", err)
		}
		if c.Names {
			fmt.Fprintln(w, printable(r.Name, 100)) //nolint:errcheck // Flush says it
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", r.ID, printable(r.Name, 60), stateOfRule(r), r.When, orStar(printable(r.In, 60)), r.Then, r.Fired, r.Done) //nolint:errcheck // Flush says it
	}
	return w.Flush()
}

func stateOfRule(r api.AlertRule) string {
	switch {
	case r.Disabled:
		return "off"
	case r.Trouble != "":
		return "trouble: " + printable(r.Trouble, 80)
	default:
		return "on"
	}
}

// orStar is where a rule looks: everywhere is a pattern too.
func orStar(text string) string {
	if text == "" {
		return "*"
	}
	return text
}

// alertsCreateCommand adds a rule.
type alertsCreateCommand struct {
	client
	Name   string `arg:"" help:"Its name, which no other rule has."`
	When   string `required:"" enum:"running-out,expired,dead-lettered,dead-over,deleting,deleted" help:"What it waits for: running-out, expired, dead-lettered, dead-over, deleting or deleted."`
	In     string `placeholder:"PATH" help:"An entity, a topic with its subscriptions, or a pattern such as orders*. Default: everywhere."`
	Query  string `placeholder:"QUERY" help:"Of running-out and dead-lettered: only messages that match, as mayfly search has it."`
	Reason string `help:"Of dead-lettered: only with this reason, or a pattern such as TTL*."`
	Within string `placeholder:"DURATION" help:"Of running-out and deleting: how long before the end."`
	Over   int64  `placeholder:"N" help:"Of dead-over: more dead letters than these."`
	Then   string `enum:",notify,extend,dead-letter" default:"" placeholder:"DEED" help:"What it does beside telling: notify (nothing), extend or dead-letter."`
	By     string `placeholder:"DURATION" help:"Of extend: by how much."`
	Times  int    `placeholder:"N" help:"Of extend: how often a message is extended at the most."`
	URL    string `name:"url" placeholder:"URL" help:"A webhook that is told too."`
	Secret string `env:"MAYFLY_ALERT_SECRET" placeholder:"TEXT" help:"By which the webhook's requests are signed."`
	Off    bool   `help:"It rests until it is switched on."`
	DryRun bool   `name:"dry-run" help:"Only tell what it would do now."`
}

// Run adds it.
func (c *alertsCreateCommand) Run(ctx context.Context, s streams) error {
	in := api.NewAlertRule{
		Name: c.Name, Disabled: c.Off, When: c.When, In: c.In, Query: c.Query, Reason: c.Reason, Within: c.Within, Over: c.Over,
		Then: c.Then, By: c.By, Times: c.Times, URL: c.URL, Secret: c.Secret, DryRun: c.DryRun,
	}
	var answer struct {
		api.AlertRule
		api.AlertForecast
	}
	raw, err := c.ask(ctx, http.MethodPost, alertRulesPath, in, nil, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	if c.DryRun {
		if err := json.Unmarshal(raw, &answer.AlertForecast); err != nil {
			return fmt.Errorf("the server's forecast cannot be read: %w", err)
		}
		return tellAlertForecast(s, answer.AlertForecast)
	}
	if err := json.Unmarshal(raw, &answer.AlertRule); err != nil {
		return fmt.Errorf("the server's rule cannot be read: %w", err)
	}
	_, err = fmt.Fprintf(s.out, "Created rule %d, %s.\n", answer.ID, printable(answer.Name, 100))
	return err
}

func tellAlertForecast(s streams, f api.AlertForecast) error {
	text := "It waits for something to happen; now it would tell of nothing.\n"
	if f.Known {
		text = fmt.Sprintf("Now it would tell of %d.\n", f.Count)
		if f.More {
			text = fmt.Sprintf("Now it would tell of at least %d.\n", f.Count)
		}
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// ruleNamed is a rule by its name or number.
func (c client) ruleNamed(ctx context.Context, name string) (r api.AlertRule, err error) {
	var all api.AlertRules
	if _, err := c.ask(ctx, http.MethodGet, alertRulesPath, nil, &all, 0); err != nil {
		return r, err
	}
	for _, r := range all.Rules {
		if r.Name == name {
			return r, nil
		}
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil && n > 0 {
		_, err := c.ask(ctx, http.MethodGet, alertRulePath(n), nil, &r, 0)
		return r, err
	}
	return r, &api.Problem{Type: "about:blank", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Code: "AlertRuleNotFound", Detail: fmt.Sprintf("There is no rule %q; mayfly alerts rules lists them.", printable(name, 100))}
}

func alertRulePath(id int64) string { return alertRulesPath + "/" + strconv.FormatInt(id, 10) }

// ruleFlags are those of whatever is done to a rule.
type ruleFlags struct {
	client
	Rule string `arg:"" help:"Its name or number."`
}

// alertsOnCommand switches a rule on.
type alertsOnCommand struct{ ruleFlags }

// Run switches it on.
func (c *alertsOnCommand) Run(ctx context.Context, s streams) error {
	return c.replace(ctx, s, "works", func(r *api.NewAlertRule) { r.Disabled = false })
}

// alertsOffCommand switches a rule off.
type alertsOffCommand struct{ ruleFlags }

// Run switches it off.
func (c *alertsOffCommand) Run(ctx context.Context, s streams) error {
	return c.replace(ctx, s, "rests", func(r *api.NewAlertRule) { r.Disabled = true })
}

// replace gives a rule other words.
func (c ruleFlags) replace(ctx context.Context, s streams, does string, change func(*api.NewAlertRule)) error {
	r, err := c.ruleNamed(ctx, c.Rule)
	if err != nil {
		return err
	}
	in := api.NewAlertRule{
		Name: r.Name, Disabled: r.Disabled, When: r.When, In: r.In, Query: r.Query, Reason: r.Reason, Within: r.Within, Over: r.Over,
		Then: r.Then, By: r.By, Times: r.Times, URL: r.URL,
	}
	change(&in)
	raw, err := c.ask(ctx, http.MethodPut, alertRulePath(r.ID), in, nil, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintf(s.out, "Rule %d, %s, %s.\n", r.ID, printable(r.Name, 100), does)
	return err
}

// alertsTestCommand has an alert arrive.
type alertsTestCommand struct{ ruleFlags }

// Run asks for it.
func (c *alertsTestCommand) Run(ctx context.Context, s streams) error {
	r, err := c.ruleNamed(ctx, c.Rule)
	if err != nil {
		return err
	}
	if _, err := c.ask(ctx, http.MethodPost, alertRulePath(r.ID)+"/test", nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprintf(s.out, "Rule %d, %s, has told of a test.\n", r.ID, printable(r.Name, 100))
	return err
}

// alertsDeleteCommand removes a rule.
type alertsDeleteCommand struct{ ruleFlags }

// Run removes it.
func (c *alertsDeleteCommand) Run(ctx context.Context, s streams) error {
	r, err := c.ruleNamed(ctx, c.Rule)
	if err != nil {
		return err
	}
	if _, err := c.ask(ctx, http.MethodDelete, alertRulePath(r.ID), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprintf(s.out, "Deleted rule %d, %s.\n", r.ID, printable(r.Name, 100))
	return err
}
