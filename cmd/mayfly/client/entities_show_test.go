package client

import (
	"testing"

	"mayfly/engine"
	"mayfly/web/api"
)

// TestRuleText checks the text that describes a rule in a list: its filter and action, "everything"
// or "nothing" for a constant filter, and the error of an invalid rule.
func TestRuleText(t *testing.T) {
	dear := "price > 1"
	for _, tc := range []struct {
		rule api.Rule
		want string
	}{
		{api.Rule{Name: engine.DefaultRule}, "everything"},
		{api.Rule{Kind: "False"}, "nothing"},
		{api.Rule{Filter: &dear, Action: "SET a = 1"}, "price > 1; SET a = 1"},
		{api.Rule{Correlation: []byte(`{"Label":"x"}`)}, `{"Label":"x"}`},
		{api.Rule{Filter: &dear, Error: "it is torn"}, "nothing: it is torn"},
	} {
		if got := describeRule(tc.rule); got != tc.want {
			t.Errorf("%+v: got %q, want %q", tc.rule, got, tc.want)
		}
	}
}
