package e2e

import (
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
)

// TestRulesCommand checks that mayfly rules lists, creates, changes and deletes the rules of a
// subscription.
func TestRulesCommand(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	do := func(line string, more ...string) (out, complaint string, code int) {
		t.Helper()
		return RunCommand(t, "", append(strings.Fields(line), more...)...)
	}
	for _, line := range []string{"entities create topic prices", "entities create subscription prices/Subscriptions/eu", "entities create queue orders"} {
		if _, complaint, code := do(line); code != cli.ExitOK {
			t.Fatal(complaint)
		}
	}
	const eu = " prices/Subscriptions/eu"
	for _, step := range []struct {
		line            string
		more            []string
		code            int
		want, complaint string // the output, with runs of spaces reduced to one
	}{
		{"rules" + eu, nil, cli.ExitOK, "NAME FILTER ACTION $Default everything", ""},
		{"rules create" + eu + " dear", []string{"--filter", "price > 100", "--action", "SET dear = TRUE"}, cli.ExitOK, "$Default everything dear price > 100 SET dear = TRUE", ""},
		{"rules create" + eu + " region", []string{"--correlation", `{"Properties":{"region":"eu"}}`}, cli.ExitOK, `region {"Properties":{"region":"eu"}}`, ""},
		{"rules create" + eu + " all", nil, cli.ExitOK, "all everything", ""},
		{"rules create" + eu + " DEAR", nil, cli.ExitRefused, "", "already exists"},
		{"rules create" + eu + " x --filter (", nil, cli.ExitRefused, "", "The filter of rule 'x' is not valid"},
		{"rules create" + eu + " x --correlation x", nil, cli.ExitUsage, "", "must be JSON"},
		{"rules create" + eu + " x --correlation {} --filter TRUE", nil, cli.ExitUsage, "", "can't be used together"},
		{"rules update" + eu + " dear", []string{"--filter", "price > 200"}, cli.ExitOK, "dear price > 200 SET dear = TRUE", ""},
		{"rules update" + eu + " Dear", []string{"--correlation", `{"Label":"x"}`}, cli.ExitOK, `dear {"Label":"x"} SET dear = TRUE`, ""},
		{"rules update" + eu + " all", []string{"--action", "SET a = 1"}, cli.ExitOK, "all everything SET a = 1", ""},
		{"rules update" + eu + " all", []string{"--action", ""}, cli.ExitOK, "all everything dear", ""},
		{"rules update" + eu + " all", nil, cli.ExitUsage, "", "give at least one of"},
		{"rules update" + eu + " none --filter TRUE", nil, cli.ExitNotFound, "", "The rule \"none\" does not exist"},
		{"rules delete" + eu + " $Default", nil, cli.ExitOK, "Deleted the rule $Default.", ""},
		{"rules delete" + eu + " $Default", nil, cli.ExitNotFound, "", "$Default"},
		{"rules list" + eu, nil, cli.ExitOK, "NAME FILTER ACTION all everything dear", ""},
		{"rules delete" + eu + " all", nil, cli.ExitOK, "Deleted", ""},
		{"rules delete" + eu + " dear", nil, cli.ExitOK, "Deleted", ""},
		{"rules delete" + eu + " region", nil, cli.ExitOK, "Deleted", ""},
		{"rules" + eu, nil, cli.ExitOK, "The subscription has no rules, so it receives no messages.", ""},
		{"rules orders", nil, cli.ExitRefused, "", "is a queue. Only subscriptions have rules"},
		{"rules nowhere", nil, cli.ExitNotFound, "", "could not be found"},
	} {
		out, complaint, code := do(step.line, step.more...)
		if out = strings.Join(strings.Fields(out), " "); code != step.code || !strings.Contains(out, step.want) || !strings.Contains(complaint, step.complaint) || step.complaint == "" && complaint != "" {
			t.Errorf("%s %q: got %d %q %q, want %d %q %q", step.line, step.more, code, out, complaint, step.code, step.want, step.complaint)
		}
	}
}
