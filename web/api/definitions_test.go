package api

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine/broker"
)

// TestDefinitions: an export can be imported into another server, and changes nothing on its own
// server (EMU-8).
func TestDefinitions(t *testing.T) {
	const file = `{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"in/out","Properties":{"LockDuration":"PT10S"}}],` +
		`"Topics":[{"Name":"news","Subscriptions":[{"Name":"eu","Rules":[{"Name":"r","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"a = 1"}}}]}]}]}]}}`
	w := start(t, broker.Options{})
	made := DefinitionsResult{Steps: []DefinitionStep{
		{Action: "create", Path: "in/out", Position: "UserConfig.Namespaces[0].Queues[0]"},
		{Action: "create", Path: "news", Position: "UserConfig.Namespaces[0].Topics[0]"},
		{Action: "create", Path: "news/Subscriptions/eu", Position: "UserConfig.Namespaces[0].Topics[0].Subscriptions[0]"},
	}}
	count := func() int {
		var all Entities
		w.want(200, "GET", "/entities", "", &all)
		return len(all.Entities)
	}
	had := count()
	var got DefinitionsResult
	w.want(200, "POST", "/definitions?dryRun=true", file, &got)
	if d := gocmp.Diff(made, got); d != "" || count() != had {
		t.Errorf("the preview has %d entities: %s", count(), d)
	}
	w.want(200, "POST", "/definitions", file, &got)
	if d := gocmp.Diff(made, got); d != "" || count() != had+3 {
		t.Errorf("created %d entities: %s", count(), d)
	}
	_, exported := w.ask("GET", "/definitions", "")
	w.want(200, "POST", "/definitions", exported, &got)
	if len(got.Steps) != 0 || len(got.Unchanged) != had+3 {
		t.Errorf("an import of the export changes %+v", got)
	}
	changed := strings.Replace(file, "PT10S", "PT20S", 1)
	w.want(200, "POST", "/definitions?dryRun=true", changed, &got)
	if d := gocmp.Diff(DefinitionsResult{Steps: []DefinitionStep{{Action: "update", Path: "in/out", Position: "UserConfig.Namespaces[0].Queues[0]", Changes: []DefinitionChange{{"LockDuration", "PT10S", "PT20S"}}}}, Unchanged: []string{"news", "news/Subscriptions/eu"}}, got); d != "" {
		t.Errorf("a change is previewed as %s", d)
	}
	other := start(t, broker.Options{})
	other.want(200, "POST", "/definitions", exported, &got)
	if _, again := other.ask("GET", "/definitions", ""); again != exported {
		t.Errorf("the other server has\n%s\nwant\n%s", again, exported)
	}
	w.want(200, "POST", "/definitions?dryRun=true", `{"UserConfig":{"Namespaces":[{"Relays":[]}]}}`, &got)
	if len(got.Warnings) != 1 || got.Warnings[0].Position != "UserConfig.Namespaces[0].Relays" || got.Warnings[0].Reason == "" {
		t.Errorf("the warnings are %+v", got.Warnings)
	}
	const several = `{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"new","Properties":{"LockDuration":1,"ForwardTo":"nowhere"}},{"Name":"new2","Properties":{"ForwardTo":"in/out"}}]}]}}`
	if _, problem := w.ask("POST", "/definitions", several); !strings.Contains(problem, "LockDuration") || !strings.Contains(problem, "'nowhere'") || strings.Contains(problem, "in/out") {
		t.Errorf("several errors are reported as %s", problem)
	}
	for name, tc := range map[string]struct {
		body   string
		status int
	}{
		"empty":           {"", 400},
		"unknown":         {`{"UserConfig":{"Namespaces":[{"Relays":[]}]}}`, 200},
		"a template":      {`{"contentVersion":"1.0.0.0","resources":[]}`, 400},
		"a fixed one":     {`{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"new"},{"Name":"in/out","Properties":{"RequiresSession":true}}]}]}}`, 400},
		"too much of it":  {strings.Repeat(" ", 1<<20+1), 413},
		"no such forward": {`{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"new","Properties":{"ForwardTo":"nowhere"}}]}]}}`, 400},
	} {
		if got, problem := w.ask("POST", "/definitions", tc.body); got.StatusCode != tc.status || count() != had+3 {
			t.Errorf("%s: %d %s, and got %d entities", name, got.StatusCode, problem, count())
		}
	}
}
