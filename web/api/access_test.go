package api

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
)

func TestAccess(t *testing.T) {
	w := start(t, broker.Options{})
	if err := w.broker.FurnishAccess(t.Context()); err != nil {
		t.Fatal(err)
	}
	var made, again, renewed AccessRule
	w.want(200, "PUT", "/access/ci", `{"rights":["send","Listen"],"primaryKey":"mine"}`, &made)
	if made.Name != "ci" || strings.Join(made.Rights, " ") != "Listen Send" || made.PrimaryKey != "mine" || len(made.SecondaryKey) != 44 || made.CreatedAt.IsZero() {
		t.Errorf("made %+v", made)
	}
	w.want(200, "PUT", "/access/ci", `{"rights":["Listen"]}`, &again)
	if strings.Join(again.Rights, " ") != "Listen" || again.PrimaryKey != "mine" || again.SecondaryKey != made.SecondaryKey {
		t.Errorf("changed %+v", again)
	}
	w.want(200, "POST", "/access/ci/renew?key=secondary", "", &renewed)
	if renewed.PrimaryKey != "mine" || renewed.SecondaryKey == made.SecondaryKey {
		t.Errorf("renewed %+v", renewed)
	}
	var hidden, shown AccessRules
	w.want(200, "GET", "/access", "", &hidden)
	w.want(200, "GET", "/access?keys=true", "", &shown)
	if len(hidden.Rules) != 2 || hidden.Rules[0].PrimaryKey+hidden.Rules[1].SecondaryKey != "" {
		t.Errorf("without keys: %+v", hidden)
	}
	if len(shown.Rules) != 2 || shown.Rules[0].PrimaryKey != "mine" || shown.Rules[1].Name != engine.RootAccessRule || len(shown.Rules[1].PrimaryKey) != 44 {
		t.Errorf("with keys: %+v", shown)
	}
	for _, tc := range []struct {
		status             int
		method, path, body string
	}{
		{400, "PUT", "/access/x", `{"rights":[]}`},
		{400, "PUT", "/access/x", `{"rights":["Write"]}`},
		{400, "PUT", "/access/x", `{"rights":["Send"],"key":"k"}`},
		{400, "PUT", "/access/a%0Ab", `{"rights":["Send"]}`},
		{400, "POST", "/access/ci/renew", ""},
		{400, "POST", "/access/ci/renew?key=both", ""},
		{404, "POST", "/access/x/renew?key=primary", ""},
		{404, "DELETE", "/access/x", ""},
		{400, "GET", "/access?keys=yes", ""},
	} {
		w.want(tc.status, tc.method, tc.path, tc.body, nil)
	}
	if status, _ := w.ask("DELETE", "/access/"+engine.RootAccessRule, ""); status.StatusCode < 400 {
		t.Error("the root rule can be removed")
	}
	w.want(204, "DELETE", "/access/ci", "", nil)
}
