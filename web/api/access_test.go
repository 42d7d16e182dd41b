package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
)

func TestAccess(t *testing.T) {
	w := start(t, broker.Options{})
	if err := w.broker.EnsureRootAccessRule(t.Context()); err != nil {
		t.Fatal(err)
	}
	var made, again, renewed AccessRule
	w.want(200, "PUT", "/access-rules/ci", `{"rights":["send","Listen"],"primaryKey":"mine"}`, &made)
	if made.Name != "ci" || strings.Join(made.Rights, " ") != "Listen Send" || made.PrimaryKey != "mine" || len(made.SecondaryKey) != 44 || made.CreatedAt.IsZero() {
		t.Errorf("created %+v", made)
	}
	w.want(200, "PUT", "/access-rules/ci", `{"rights":["Listen"]}`, &again)
	if strings.Join(again.Rights, " ") != "Listen" || again.PrimaryKey+again.SecondaryKey != "" {
		t.Errorf("changed %+v", again)
	}
	w.want(200, "POST", "/access-rules/ci/regenerate?key=secondary", "", &renewed)
	if renewed.PrimaryKey != "" || len(renewed.SecondaryKey) != 44 || renewed.SecondaryKey == made.SecondaryKey {
		t.Errorf("renewed %+v", renewed)
	}
	var hidden, shown AccessRules
	w.want(200, "GET", "/access-rules", "", &hidden)
	w.want(200, "GET", "/access-rules?keys=true", "", &shown)
	if len(hidden.Rules) != 2 || hidden.Rules[0].PrimaryKey+hidden.Rules[1].SecondaryKey != "" {
		t.Errorf("without keys: %+v", hidden)
	}
	if len(shown.Rules) != 2 || shown.Rules[0].PrimaryKey != "mine" || shown.Rules[0].SecondaryKey != renewed.SecondaryKey || shown.Rules[1].Name != engine.RootAccessRule || len(shown.Rules[1].PrimaryKey) != 44 {
		t.Errorf("with keys: %+v", shown)
	}
	for _, tc := range []struct {
		status             int
		method, path, body string
	}{
		{400, "PUT", "/access-rules/x", `{"rights":[]}`},
		{400, "PUT", "/access-rules/x", `{"rights":["Write"]}`},
		{400, "PUT", "/access-rules/x", `{"rights":["Send"],"key":"k"}`},
		{400, "PUT", "/access-rules/a%0Ab", `{"rights":["Send"]}`},
		{400, "POST", "/access-rules/ci/regenerate", ""},
		{400, "POST", "/access-rules/ci/regenerate?key=both", ""},
		{404, "POST", "/access-rules/x/regenerate?key=primary", ""},
		{404, "DELETE", "/access-rules/x", ""},
		{400, "GET", "/access-rules?keys=yes", ""},
	} {
		w.want(tc.status, tc.method, tc.path, tc.body, nil)
	}
	if status, _ := w.ask("DELETE", "/access-rules/"+engine.RootAccessRule, ""); status.StatusCode < 400 {
		t.Error("the root rule was removed")
	}
	w.want(204, "DELETE", "/access-rules/ci", "", nil)
}

// TestAccessOfAnEntity: a queue's own rules are set in the same way, returned without keys
// with the queue, and kept by other changes.
func TestAccessOfAnEntity(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"a/b"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"topic","path":"t"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"subscription","path":"t/Subscriptions/s"}`, nil)
	const of = "?entity=a%2Fb"
	var made, given, renewed AccessRule
	w.want(200, "PUT", "/access-rules/ci"+of, `{"rights":["Send"]}`, &made)
	w.want(200, "PUT", "/access-rules/CI"+of, `{"rights":["Listen"],"secondaryKey":"mine"}`, &given)
	if len(made.SecondaryKey) != 44 || given.PrimaryKey != "" || given.SecondaryKey != "mine" {
		t.Errorf("created %+v, with key %+v", made, given)
	}
	w.want(200, "POST", "/access-rules/ci/regenerate"+of+"&key=primary", "", &renewed)
	if len(made.PrimaryKey) != 44 || len(renewed.PrimaryKey) != 44 || renewed.PrimaryKey == made.PrimaryKey || renewed.SecondaryKey != "" || renewed.Name != "ci" || renewed.CreatedAt != made.CreatedAt {
		t.Errorf("created %+v, regenerated %+v", made, renewed)
	}
	w.want(200, "PATCH", "/entities/a/b", `{"properties":{"MaxDeliveryCount":3}}`, nil)
	_, text := w.ask("GET", "/entities/a/b", "")
	if is := w.entity("a/b").AuthorizationRules; len(is) != 1 || is[0].Name != "ci" || strings.Join(is[0].Rights, " ") != "Listen" || strings.Contains(text, "Key\"") {
		t.Errorf("the queue is %s", text)
	}
	var all AccessRules
	if _, text := w.ask("GET", "/access-rules"+of, ""); !strings.Contains(text, `"ci"`) || strings.Contains(text, "Key\"") {
		t.Errorf("without keys: %s", text)
	}
	w.want(200, "GET", "/access-rules"+of+"&keys=true", "", &all)
	renewed.SecondaryKey = "mine"
	if d := cmp.Diff([]AccessRule{renewed}, all.Rules); strings.Join(renewed.Rights, " ") != "Listen" || d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	w.want(200, "GET", "/access-rules?keys=true", "", &all)
	if len(all.Rules) != 0 {
		t.Errorf("the namespace has %+v", all)
	}
	for _, tc := range []struct {
		status             int
		method, path, body string
	}{
		{404, "GET", "/access-rules?entity=x", ""},
		{404, "PUT", "/access-rules/ci?entity=x", `{"rights":["Send"]}`},
		{400, "PUT", "/access-rules/ci?entity=t/Subscriptions/s", `{"rights":["Send"]}`},
		{400, "PUT", "/access-rules/ci?entity=", `{"rights":["Send"]}`},
		{400, "PUT", "/access-rules/ci" + of, `{"rights":[]}`},
		{404, "POST", "/access-rules/x/regenerate" + of + "&key=primary", ""},
		{404, "DELETE", "/access-rules/x" + of, ""},
	} {
		before := w.everything()
		w.want(tc.status, tc.method, tc.path, tc.body, nil)
		if after := w.everything(); after != before {
			t.Errorf("%s %s changed\n%s\nto\n%s", tc.method, tc.path, before, after)
		}
	}
	w.want(204, "DELETE", "/access-rules/Ci"+of, "", nil)
	if is := w.entity("a/b").AuthorizationRules; is != nil {
		t.Errorf("left are %+v", is)
	}
}

// TestAccessNames: a name may have any printable characters, also those that addresses escape.
func TestAccessNames(t *testing.T) {
	w := start(t, broker.Options{})
	for path, want := range map[string]string{"50%25": "50%", "a%2541": "a%41", "a%2Fb": "a/b", "a%2F%2541": "a/%41", "ci%20two": "ci two", "%C3%A4": "ä"} {
		var made, renewed AccessRule
		w.want(200, "PUT", "/access-rules/"+path, `{"rights":["Send"]}`, &made)
		w.want(200, "POST", "/access-rules/"+path+"/regenerate?key=primary", "", &renewed)
		if made.Name != want || renewed.Name != want {
			t.Errorf("%s has the name %q, then %q", path, made.Name, renewed.Name)
		}
		w.want(204, "DELETE", "/access-rules/"+path, "", nil)
	}
}

// TestNoSuchAccessRule: a missing rule and a missing entity have different codes (RFC 9457).
func TestNoSuchAccessRule(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	for _, tc := range []struct{ method, path, code string }{
		{"DELETE", "/access-rules/x", "AccessRuleNotFound"},
		{"DELETE", "/access-rules/x?entity=q", "AccessRuleNotFound"},
		{"DELETE", "/access-rules/x?entity=y", "MessagingEntityNotFound"},
		{"POST", "/access-rules/x/regenerate?key=primary", "AccessRuleNotFound"},
		{"POST", "/access-rules/x/regenerate?key=primary&entity=q", "AccessRuleNotFound"},
		{"POST", "/access-rules/x/regenerate?key=primary&entity=y", "MessagingEntityNotFound"},
	} {
		var p Problem
		if w.want(404, tc.method, tc.path, "", &p); p.Code != tc.code || p.Title != "Not Found" || p.Type != "about:blank" {
			t.Errorf("%s %s: %+v", tc.method, tc.path, p)
		}
	}
}
