package client

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

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeAlerts() cli.Command {
	return cli.Command{
		Name: "alerts", Summary: "List alerts, and manage alert rules.", Flags: &alertsCommand{}, ExitCodes: exitCodes(),
		Detail: "An alert rule warns you before messages expire or entities are auto-deleted, and reports expired messages, dead letters and deleted entities. It can also extend or dead-letter messages. Refer to a rule by its name or number.",
		Examples: []cli.Example{
			{Line: "mayfly alerts", Text: "List the latest alerts."},
			{Line: "mayfly alerts rules", Text: "List alert rules."},
			{Line: "mayfly alerts create 'late orders' --when expiring --in orders --within 1m --then extend --extend-by 10m --max-extensions 3", Text: "Extend messages by ten minutes when they have less than a minute to live, up to three times each."},
			{Line: "mayfly alerts create 'dead' --when dead-letter-count --threshold 100 --url https://example.com/hook --dry-run", Text: "Preview a rule without creating it."},
			{Line: "mayfly alerts disable 'late orders'", Text: "Pause a rule."},
			{Line: "mayfly alerts enable 'late orders'", Text: "Resume a paused rule."},
			{Line: "mayfly alerts test 'late orders'", Text: "Send a test alert for a rule."},
			{Line: "mayfly alerts delete 3", Text: "Delete a rule by its number."},
		},
	}
}

// alertsCommand groups the subcommands for alerts and alert rules.
type alertsCommand struct {
	List    alertsListCommand    `cmd:"" default:"withargs" help:"List the latest alerts (default)."`
	Rules   alertsRulesCommand   `cmd:"" help:"List alert rules and how often each has fired."`
	Create  alertsCreateCommand  `cmd:"" help:"Add an alert rule, or preview it with --dry-run."`
	Enable  alertsEnableCommand  `cmd:"" help:"Resume an alert rule."`
	Disable alertsDisableCommand `cmd:"" help:"Pause an alert rule."`
	Test    alertsTestCommand    `cmd:"" help:"Send a test alert for a rule."`
	Delete  alertsDeleteCommand  `cmd:"" help:"Delete an alert rule."`
}

const alertRulesPath = "/api/v1/alert-rules"

// alertsListCommand lists alerts.
type alertsListCommand struct{ client }

// Run lists alerts. JSON is one alert a line.
func (c *alertsListCommand) Run(ctx context.Context, s cli.Streams) error {
	var answer struct {
		Alerts []json.RawMessage `json:"alerts"`
	}
	if _, err := c.request(ctx, http.MethodGet, "/api/v1/alerts", nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.WriteLines(answer.Alerts)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tRULE\tWHEN\tCOUNT\tWHERE") //nolint:errcheck // Flush returns the error
	for _, raw := range answer.Alerts {
		var a api.Alert
		if err := json.Unmarshal(raw, &a); err != nil {
			return fmt.Errorf("the server returned an alert that cannot be parsed: %w", err)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", a.At.UTC().Format(time.RFC3339), cli.Printable(a.Name, 60), a.When, a.Count, alertPaths(a)) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// alertPaths returns the paths of the first three entities in an alert, and an ellipsis if there
// are more.
func alertPaths(a api.Alert) string {
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
		out = append(out, cli.Printable(it.Path, 100))
	}
	return strings.Join(out, ", ")
}

// alertsRulesCommand lists alert rules.
type alertsRulesCommand struct {
	client
	Names bool `help:"Print only the names."`
}

// Run lists rules. JSON is one rule a line.
func (c *alertsRulesCommand) Run(ctx context.Context, s cli.Streams) error {
	var answer struct {
		Rules []json.RawMessage `json:"rules"`
	}
	if _, err := c.request(ctx, http.MethodGet, alertRulesPath, nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.WriteLines(answer.Rules)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	if !c.Names {
		fmt.Fprintln(w, "NUMBER\tNAME\tSTATE\tWHEN\tIN\tTHEN\tFIRED\tDONE") //nolint:errcheck // Flush returns the error
	}
	for _, raw := range answer.Rules {
		var r api.AlertRule
		if err := json.Unmarshal(raw, &r); err != nil {
			return fmt.Errorf("the server returned a rule that cannot be parsed: %w", err)
		}
		if c.Names {
			fmt.Fprintln(w, cli.Printable(r.Name, 100)) //nolint:errcheck // Flush returns the error
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", r.ID, cli.Printable(r.Name, 60), alertRuleState(r), r.When, orAllEntities(cli.Printable(r.In, 60)), r.Then, r.Fired, r.Done) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

func alertRuleState(r api.AlertRule) string {
	switch {
	case r.Disabled:
		return "disabled"
	case r.Error != "":
		return "error: " + cli.Printable(r.Error, 80)
	default:
		return "enabled"
	}
}

// orAllEntities returns text, or the pattern * for an empty text, which means all entities.
func orAllEntities(text string) string {
	if text == "" {
		return "*"
	}
	return text
}

// alertsCreateCommand adds an alert rule.
type alertsCreateCommand struct {
	client
	Name          string `arg:"" help:"Name of the rule, unique in the namespace."`
	When          string `required:"" enum:"expiring,expired,dead-lettered,dead-letter-count,auto-deleting,auto-deleted" help:"Condition: expiring, expired, dead-lettered, dead-letter-count, auto-deleting or auto-deleted."`
	In            string `placeholder:"PATH" help:"Entity, topic with its subscriptions, or pattern such as orders*. Default: all entities."`
	Query         string `placeholder:"QUERY" help:"For expiring and dead-lettered: only messages that match this query, in the syntax of mayfly search."`
	Reason        string `help:"For dead-lettered: only this reason, or a pattern such as TTL*."`
	Within        string `placeholder:"DURATION" help:"For expiring and auto-deleting: how long before expiry or deletion to alert."`
	Threshold     int64  `placeholder:"N" help:"For dead-letter-count: alert when there are more dead letters than this."`
	Then          string `enum:",notify,extend,dead-letter" default:"" placeholder:"ACTION" help:"What to do with the messages besides alerting: \"notify\" (nothing), \"extend\" or \"dead-letter\"."`
	ExtendBy      string `placeholder:"DURATION" help:"For extend: duration to add."`
	MaxExtensions int    `placeholder:"N" help:"For extend: how many times a message may be extended."`
	URL           string `name:"url" placeholder:"URL" help:"Webhook URL that also receives the alerts."`
	Secret        string `env:"MAYFLY_ALERT_SECRET" placeholder:"TEXT" help:"Secret that signs the requests to the webhook."`
	Disabled      bool   `help:"Create the rule paused."`
	DryRun        bool   `name:"dry-run" help:"Show what the rule would do now, and create nothing."`
}

// Run adds the rule or, with --dry-run, prints what it would do now.
func (c *alertsCreateCommand) Run(ctx context.Context, s cli.Streams) error {
	in := api.NewAlertRule{
		Name: c.Name, Disabled: c.Disabled, When: c.When, In: c.In, Query: c.Query, Reason: c.Reason, Within: c.Within, Threshold: c.Threshold,
		Then: c.Then, ExtendBy: c.ExtendBy, MaxExtensions: c.MaxExtensions, URL: c.URL, Secret: c.Secret, DryRun: c.DryRun,
	}
	var answer struct {
		api.AlertRule
		api.AlertPreview
	}
	raw, err := c.request(ctx, http.MethodPost, alertRulesPath, in, nil, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	if c.DryRun {
		if err := json.Unmarshal(raw, &answer.AlertPreview); err != nil {
			return fmt.Errorf("the server returned a preview that cannot be parsed: %w", err)
		}
		return printAlertForecast(s, answer.AlertPreview)
	}
	if err := json.Unmarshal(raw, &answer.AlertRule); err != nil {
		return fmt.Errorf("the server returned a rule that cannot be parsed: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "Created rule %d, %s.\n", answer.ID, cli.Printable(answer.Name, 100))
	return err
}

func printAlertForecast(s cli.Streams, f api.AlertPreview) error {
	text := "The rule would raise no alert now.\n"
	if f.Countable {
		text = fmt.Sprintf("The rule would alert about %d now.\n", f.Count)
		if f.AtLeast {
			text = fmt.Sprintf("The rule would alert about at least %d now.\n", f.Count)
		}
	}
	_, err := io.WriteString(s.Out, text)
	return err
}

// findAlertRule returns the rule with a name or number.
func (c client) findAlertRule(ctx context.Context, name string) (r api.AlertRule, err error) {
	var all api.AlertRules
	if _, err := c.request(ctx, http.MethodGet, alertRulesPath, nil, &all, 0); err != nil {
		return r, err
	}
	for _, r := range all.Rules {
		if r.Name == name {
			return r, nil
		}
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil && n > 0 {
		_, err := c.request(ctx, http.MethodGet, alertRulePath(n), nil, &r, 0)
		return r, err
	}
	return r, &api.Problem{Type: "about:blank", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Code: "AlertRuleNotFound", Detail: fmt.Sprintf("The rule %q does not exist; mayfly alerts rules lists the rules.", cli.Printable(name, 100))}
}

func alertRulePath(id int64) string { return alertRulesPath + "/" + strconv.FormatInt(id, 10) }

// alertRuleFlags are the flags of commands that change one rule.
type alertRuleFlags struct {
	client
	Rule string `arg:"" help:"Name or number of the rule."`
}

// alertsEnableCommand enables a rule.
type alertsEnableCommand struct{ alertRuleFlags }

// Run enables the rule.
func (c *alertsEnableCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.updateRule(ctx, s, "is enabled", func(r *api.NewAlertRule) { r.Disabled = false })
}

// alertsDisableCommand disables a rule.
type alertsDisableCommand struct{ alertRuleFlags }

// Run disables the rule.
func (c *alertsDisableCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.updateRule(ctx, s, "is disabled", func(r *api.NewAlertRule) { r.Disabled = true })
}

// updateRule reads the rule, applies change and writes the rule back. `does` is the result for the
// user, such as "is enabled".
func (c alertRuleFlags) updateRule(ctx context.Context, s cli.Streams, does string, change func(*api.NewAlertRule)) error {
	r, err := c.findAlertRule(ctx, c.Rule)
	if err != nil {
		return err
	}
	in := api.NewAlertRule{
		Name: r.Name, Disabled: r.Disabled, When: r.When, In: r.In, Query: r.Query, Reason: r.Reason, Within: r.Within, Threshold: r.Threshold,
		Then: r.Then, ExtendBy: r.ExtendBy, MaxExtensions: r.MaxExtensions, URL: r.URL,
	}
	change(&in)
	raw, err := c.request(ctx, http.MethodPut, alertRulePath(r.ID), in, nil, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err = fmt.Fprintf(s.Out, "Rule %d, %s, %s.\n", r.ID, cli.Printable(r.Name, 100), does)
	return err
}

// alertsTestCommand raises a test alert of a rule.
type alertsTestCommand struct{ alertRuleFlags }

// Run asks the server for a test alert.
func (c *alertsTestCommand) Run(ctx context.Context, s cli.Streams) error {
	r, err := c.findAlertRule(ctx, c.Rule)
	if err != nil {
		return err
	}
	if _, err := c.request(ctx, http.MethodPost, alertRulePath(r.ID)+"/test", nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Rule %d, %s, has sent a test alert.\n", r.ID, cli.Printable(r.Name, 100))
	return err
}

// alertsDeleteCommand deletes a rule.
type alertsDeleteCommand struct{ alertRuleFlags }

// Run deletes the rule.
func (c *alertsDeleteCommand) Run(ctx context.Context, s cli.Streams) error {
	r, err := c.findAlertRule(ctx, c.Rule)
	if err != nil {
		return err
	}
	if _, err := c.request(ctx, http.MethodDelete, alertRulePath(r.ID), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Deleted rule %d, %s.\n", r.ID, cli.Printable(r.Name, 100))
	return err
}
