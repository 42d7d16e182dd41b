package e2e

import (
	"strings"
	"testing"

	"mayfly/cmd/mayfly/server"
)

func TestAlertsOnTheCommandLine(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	says := func(code int, want string, args ...string) {
		t.Helper()
		out, complaint, got := RunCommand(t, "", append(append([]string{"alerts"}, args...), "--server", s.Dashboard)...)
		if got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("%q: %d %q %q; want %d %q", args, got, out, complaint, code, want)
		}
	}
	says(0, "The rule would alert about 0 now.", "create", "late", "--when", "expiring", "--within", "1m", "--dry-run")
	says(0, "Created rule 1, late.", "create", "late", "--when", "expiring", "--in", "orders*", "--within", "1m", "--then", "extend", "--extend-by", "10m", "--max-extensions", "3")
	says(4, "late", "create", "late", "--when", "auto-deleted")
	says(4, "", "create", "other", "--when", "expiring")
	says(4, "'then' must be notify if 'when' is expired, not 'extend'.", "create", "other", "--when", "expired", "--then", "extend", "--extend-by", "5m", "--max-extensions", "3")
	says(2, "--when", "create", "other")
	says(2, "expiring", "create", "other", "--when", "never")
	says(0, "late\n", "rules", "--names")
	says(0, "orders*", "rules")
	says(0, "Rule 1, late, is disabled.", "disable", "late")
	says(0, `"disabled":true`, "rules", "--json")
	says(0, `"extendBy":"PT10M"`, "rules", "--json") // omitted values are unchanged
	says(0, "Rule 1, late, is enabled.", "enable", "1")
	says(0, "has sent a test alert", "test", "late")
	says(0, "late", "list")
	says(0, `"test":true`, "--json")
	says(3, "The rule \"nobody\" does not exist", "disable", "nobody")
	says(3, "", "delete", "17")
	says(0, "Deleted rule 1, late.", "delete", "late")
	says(3, "", "test", "late")
	says(2, "alerts off is now alerts disable", "off", "late")
	says(2, "unknown flag --over; --over is now --threshold", "create", "many", "--when", "dead-letter-count", "--over", "5")
}
