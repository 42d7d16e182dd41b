package engine_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// included are the rules that this version keeps, by section: the entities,
// messages, sequence, time to live, locks and settlement, dead letters,
// schedules, deferral, browsing and idleness of semantics §§1-10, forwarding,
// sessions, distribution with true filters, batch delete and counts, and the
// operator's actions.
var included = []string{
	"NAME-1…9", "PROP-1…14", "RT-1…6", "STAT-1…10", "MSG-1…10", "SEQ-1…10",
	"TTL-1…37", "TTL-S1…5", "LOCK-1…14", "SETL-1…5", "DC-1…8", "DLQ-1…13", "DLQ-20…23",
	"SCH-1…17", "DEF-1…16", "DEF-S1…5", "PEEK-1…11", "IDLE-1…17", "IDLE-S1…2",
	"FWD-1…15", "CONF-4…4", "CONF-21…21", "SES-1…19",
	"FILT-1…4", "FILT-6…10", "BDEL-1…7", "CNT-1…3", "OPS-1…11", "DUP-1…12", "TX-1…5",
}

// excluded are those of them that no test needs to name, and why.
var excluded = map[string]string{
	"TTL-9":   "how AMQP writes a long time to live; there is no AMQP door yet",
	"LOCK-9":  "AMQP links and connections; there is no AMQP door yet",
	"SETL-1":  "AMQP dispositions; there is no AMQP door yet",
	"SETL-3":  "AMQP management; there is no AMQP door yet",
	"SCH-9":   "there is no operation to test: a schedule cannot be edited",
	"PEEK-11": "there are no partitions (SEQ-2)",
	"FWD-12":  "a second token in headers of the admin API; there is no such door yet",
	"CNT-1":   "XML of the admin API; there is no such door yet",
}

// Every rule is named by a test or a scenario, or stands above with a reason.
func TestEveryRuleIsTested(t *testing.T) {
	named := rulesNamed(t)
	for _, id := range expand(t, included) {
		why, out := excluded[id]
		switch {
		case out && named[id] != "":
			t.Errorf("%s is excluded (%s), but %s names it", id, why, named[id])
		case !out && named[id] == "":
			t.Errorf("no test names %s", id)
		}
	}
	for id := range excluded {
		if !slices.Contains(expand(t, included), id) {
			t.Errorf("%s is excluded, but was never included", id)
		}
	}
}

// expand writes "TTL-S1…5" out.
func expand(t *testing.T, ranges []string) (ids []string) {
	t.Helper()
	for _, r := range ranges {
		first, last, _ := strings.Cut(r, "…")
		prefix := strings.TrimRight(first, "0123456789")
		from, err1 := strconv.Atoi(first[len(prefix):])
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil {
			t.Fatalf("%q is no range", r)
		}
		for n := from; n <= to; n++ {
			ids = append(ids, prefix+strconv.Itoa(n))
		}
	}
	return ids
}

// rulesNamed are the ids that tests and scenarios of this module name, each
// with a file that does.
func rulesNamed(t *testing.T) map[string]string {
	t.Helper()
	id := regexp.MustCompile(`\b[A-Z]{2,4}-S?\d+\b`)
	named := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("look for tests: %w", err)
		}
		scenario := strings.HasSuffix(path, ".txt") && strings.Contains(filepath.ToSlash(path), "/testdata/")
		if d.IsDir() || d.Name() == "rules_test.go" || !scenario && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a test: %w", err)
		}
		for _, found := range id.FindAllString(string(text)+" "+d.Name(), -1) {
			named[found] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return named
}
