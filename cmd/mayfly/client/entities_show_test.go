package client

import (
	"testing"

	"mayfly/engine"
	"mayfly/web/api"
)

// A rule is shown in the words of its definition.
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
