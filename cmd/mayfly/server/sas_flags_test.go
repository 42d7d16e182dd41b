package server

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/web/auth/sas"
)

func TestParseKeys(t *testing.T) {
	rules, err := parseSASKeys([]string{"ci=a=b:c==:Send, listen", "root=k:Manage"})
	if err != nil || len(rules) != 2 || rules[0].Name != "ci" || rules[0].PrimaryKey != "a=b:c==" || rules[0].Rights.String() != "Listen,Send" || rules[1].Rights != engine.ManageRight {
		t.Errorf("got %v, %v", rules, err)
	}
	for _, given := range [][]string{{""}, {"secret"}, {"ci=secret"}, {"=secret:Send"}, {"ci=:Send"}, {"ci=secret:"}, {"ci=secret:Write"}, {"ci=secret:Send", "CI=secret:Send"}} {
		if _, err := parseSASKeys(given); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", given, err)
		}
	}
	if p, err := parseSASPolicy("enforce"); p != sas.Enforce || err != nil {
		t.Errorf("got %v, %v", p, err)
	}
	if _, err := parseSASPolicy("maybe"); err == nil {
		t.Error("maybe was accepted as a policy")
	}
}
