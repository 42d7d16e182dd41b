package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/broker"
)

func TestRules(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"topic","path":"prices"}`, nil)
	var made Entity
	w.want(201, "POST", "/entities", `{"kind":"subscription","path":"prices/subscriptions/eu","rules":[
		{"name":"dear","filter":"price > @most","parameters":{"@most":{"type":"int","value":10}},"action":"SET dear = TRUE"},
		{"name":"red","correlation":{"Properties":{"color":"red"},"label":"x"}}]}`, &made)
	const at = "/rules/prices/subscriptions/eu"
	var all Rules
	w.want(200, "GET", at, "", &all)
	if d := cmp.Diff(made.Rules, all.Rules); d != "" {
		t.Error(d)
	}
	names := func() (names string) {
		w.Helper()
		all = Rules{}
		w.want(200, "GET", at, "", &all)
		for _, r := range all.Rules {
			names += r.Name + " " + r.Kind + " " + text(r.Filter) + string(r.Correlation) + " " + r.Action + "\n"
		}
		return names
	}
	if d := cmp.Diff("dear Sql price > @most SET dear = TRUE\nred Correlation "+`{"Label":"x","Properties":{"color":"red"}}`+" \n", names()); d != "" {
		t.Error(d)
	}
	w.want(201, "POST", at, `{"name":"all"}`, nil)
	w.want(409, "POST", at, `{"name":"ALL"}`, nil) // FILT-7
	w.want(200, "PUT", at, `{"name":"all","kind":"False"}`, nil)
	w.want(404, "PUT", at, `{"name":"none"}`, nil)
	w.want(204, "DELETE", at+"?name=red", "", nil)
	w.want(404, "DELETE", at+"?name=red", "", nil)
	w.want(400, "GET", "/rules/prices", "", nil)
	if d := cmp.Diff("all False  \ndear Sql price > @most SET dear = TRUE\n", names()); d != "" {
		t.Error(d)
	}

	// A refusal names the part and the position (FILT-28).
	for body, want := range map[string]Problem{
		`{"name":"r","filter":"a = = 1"}`:                                      {Rule: "r", Part: "filter", Position: new(4)},
		`{"name":"r","action":"SET a"}`:                                        {Rule: "r", Part: "action", Position: new(5)},
		`{"name":"r","correlation":{}}`:                                        {Rule: "r", Part: "filter"},
		`{"name":"r","filter":"` + strings.Repeat("a", 1025) + `"}`:            {Rule: "r", Part: "filter"},
		`{"name":"a/b"}`:                                                       {},
		`{"name":"r","kind":"odd"}`:                                            {},
		`{"name":"r","kind":"true","filter":"a = 1"}`:                          {},
		`{"name":"r","filter":""}`:                                             {Rule: "r", Part: "filter"}, // not the filter that matches everything
		`{"name":"r","kind":"sql","filter":""}`:                                {Rule: "r", Part: "filter"},
		`{"name":"r","kind":"sql"}`:                                            {Rule: "r", Part: "filter"},
		`{"name":"r","error":"x"}`:                                             {},
		`{"name":"r","filter":"a = 1","correlation":{"To":"x"}}`:               {},
		`{"name":"r","filter":"a = 1","parameters":{"@x":{"type":"nothing"}}}`: {},
	} {
		var got Problem
		before := w.everything()
		w.want(400, "POST", at, body, &got)
		if got.Rule != want.Rule || got.Part != want.Part || want.Position != nil && (got.Position == nil || *got.Position != *want.Position) {
			t.Errorf("%s: %+v", body, got)
		}
		if after := w.everything(); after != before {
			t.Errorf("%s changed something", body)
		}
	}
}

func TestTry(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"topic","path":"t"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"subscription","path":"t/subscriptions/a","rules":[{"name":"r","filter":"n > 1 AND color = 'red'","action":"SET n = n + 1"},{"name":"bad","filter":"1 / (n - 2) > 0"}]}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"subscription","path":"t/subscriptions/b","rules":[]}`, nil)
	var got RuleTrialResult
	w.want(200, "POST", "/test-rules/t", `{"message":{"messageId":"m","properties":{"n":2,"color":"red"}}}`, &got)
	if len(got.Subscriptions) != 2 || got.Subscriptions[0].Copies != 2 || got.Subscriptions[0].DeadLetters != 1 || got.Subscriptions[1].Copies != 0 {
		t.Fatalf("got %+v", got)
	}
	bad, r := got.Subscriptions[0].Rules[0], got.Subscriptions[0].Rules[1]
	if bad.Matches || bad.Error == "" || !r.Matches || r.Result == nil || r.Result.MessageID != "m" || len(r.Clauses) != 2 || r.Clauses[0].Result != "true" || r.Clauses[0].Properties[0].Name != "n" {
		t.Errorf("got %+v and %+v", bad, r)
	}
	if n, _ := r.Result.Properties.Lookup("n"); n.Text() != "3" {
		t.Errorf("the action results in %v", r.Result.Properties)
	}
	w.want(200, "POST", "/test-rules/t/subscriptions/b", `{"message":{},"rule":{"name":"new","filter":"EXISTS(x) OR color = 'red'"}}`, &got)
	if r := got.Subscriptions[0].Rules[0]; len(got.Subscriptions) != 1 || r.Matches || !r.Clauses[1].Properties[0].Missing {
		t.Errorf("got %+v", got)
	}
	for action, want := range map[string]string{ // the values that SET sys.TimeToLive accepts
		"SET sys.TimeToLive = '0:2:0'": "PT2M", "SET sys.TimeToLive = '10675199.00:00:00'": "",
		"REMOVE sys.TimeToLive": "", "SET n = 1": "PT1H", "SET n = 1; SET sys.ViaPartitionKey = 'k'": "PT1H",
	} {
		var got RuleTrialResult
		w.want(200, "POST", "/test-rules/t/subscriptions/b", `{"message":{"timeToLive":"PT1H"},"rule":{"name":"new","action":"`+action+`"}}`, &got)
		if a := got.Subscriptions[0].Rules[0].Result; a == nil || a.TimeToLive != want || strings.Contains(action, "Via") != (a.ViaPartitionKey == "k") {
			t.Errorf("%s results in %+v", action, got.Subscriptions[0].Rules[0])
		}
	}
	w.want(400, "POST", "/test-rules/t", `{"rule":{"name":"r","filter":"("}}`, nil)
	w.want(404, "POST", "/test-rules/none", `{}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	w.want(400, "POST", "/test-rules/q", `{}`, nil)
	if e := w.entity("t/subscriptions/a"); e.Counts != (Counts{}) { // nothing was sent
		t.Errorf("got %+v", e.Counts)
	}
}

// text returns what p points to, or "" if it is nil.
func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
