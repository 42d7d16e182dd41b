package main

import (
	"strings"
	"testing"
)

func TestAlertsOnTheCommandLine(t *testing.T) {
	s := Start(t, Config{Store: "memory:"})
	says := func(code int, want string, args ...string) {
		t.Helper()
		out, complaint, got := RunCommand(t, "", append(append([]string{"alerts"}, args...), "--server", s.Dashboard)...)
		if got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("%q: %d %q %q; want %d %q", args, got, out, complaint, code, want)
		}
	}
	says(0, "The rule would alert about 0 now.", "create", "late", "--when", "running-out", "--within", "1m", "--dry-run")
	says(0, "Created rule 1, late.", "create", "late", "--when", "running-out", "--in", "orders*", "--within", "1m", "--then", "extend", "--by", "10m", "--times", "3")
	says(4, "late", "create", "late", "--when", "deleted")
	says(4, "", "create", "other", "--when", "running-out")
	says(4, "'then' must be notify if 'when' is expired, not 'extend'.", "create", "other", "--when", "expired", "--then", "extend", "--by", "5m", "--times", "3")
	says(2, "--when", "create", "other")
	says(2, "running-out", "create", "other", "--when", "never")
	says(0, "late\n", "rules", "--names")
	says(0, "orders*", "rules")
	says(0, "Rule 1, late, is paused.", "off", "late")
	says(0, `"disabled":true`, "rules", "--json")
	says(0, `"by":"PT10M"`, "rules", "--json") // values that were not given stay
	says(0, "Rule 1, late, is on.", "on", "1")
	says(0, "has sent a test alert", "test", "late")
	says(0, "late", "list")
	says(0, `"test":true`, "--json")
	says(3, "There is no rule", "off", "nobody")
	says(3, "", "delete", "17")
	says(0, "Deleted rule 1, late.", "delete", "late")
	says(3, "", "test", "late")
}
