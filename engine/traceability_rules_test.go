package engine_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A semantic is a rule of SEMANTICS.md.
type semantic struct {
	section string // the heading of its section
	id      string
	see     string // a rule with the same meaning, whose tests count for this one; may be empty
}

// readSemantics reads the rules of SEMANTICS.md. A table whose first column is named Id is a
// table of rules, with one rule in each row.
func readSemantics(t *testing.T) (rules []semantic, sections []string) {
	t.Helper()
	const name = "SEMANTICS.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("cannot read the rules: %v", err)
	}
	rules, sections, problems := parseSemantics(string(text))
	for _, p := range problems {
		t.Errorf("%s:%s", name, p)
	}
	if len(rules) == 0 {
		t.Fatalf("%s has no table whose first column is called Id", name)
	}
	return rules, sections
}

var (
	heading    = regexp.MustCompile(`^#{2,} ((\d+[a-z]?(?:\.\d+)?)\.? .*)$`)
	definition = regexp.MustCompile(`^\[([^\]]+)\]: \S+$`)
	reference  = regexp.MustCompile(`\[([^\]]+)\]`)
	code       = regexp.MustCompile("`[^`]*`")
	separator  = regexp.MustCompile(`^[-: |]+$`)
)

// parseSemantics returns the rules of a text, the numbers of its sections, each
// with a "§" before it, and the errors in the text, each with its line.
func parseSemantics(text string) (rules []semantic, sections, problems []string) {
	lines := strings.Split(text, "\n")
	sources := map[string]bool{}
	for _, line := range lines {
		if source := definition.FindStringSubmatch(line); source != nil {
			sources[source[1]] = true
		}
	}
	section := ""
	var columns []string // of the table that the line is in; nil outside a table
	for i, line := range lines {
		complain := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("%d: %s", i+1, fmt.Sprintf(format, args...)))
		}
		if head := heading.FindStringSubmatch(line); head != nil {
			section = head[1]
			sections = append(sections, "§"+head[2])
		}
		cells := cellsOf(line)
		switch {
		case cells == nil:
			columns = nil
			continue
		case columns == nil:
			columns = cells
			if columns[0] == "Id" && !slices.Contains(columns, "Check") {
				complain("the table of rules has no column Check")
			}
			continue
		case separator.MatchString(line):
			continue
		case len(cells) != len(columns):
			complain("the row has %d cells, the table %d columns", len(cells), len(columns))
			continue
		}
		cell := func(column string) string {
			if at := slices.Index(columns, column); at >= 0 {
				return cells[at]
			}
			return ""
		}
		for _, source := range reference.FindAllStringSubmatch(code.ReplaceAllString(cell("Evidence"), ""), -1) {
			if !sources[source[1]] {
				complain("no source is called %q", source[1])
			}
		}
		if columns[0] != "Id" {
			continue
		}
		r := semantic{section, cells[0], cell("See")}
		switch {
		case !slices.Equal(idsIn(r.id), []string{r.id}):
			complain("%q is no id", r.id)
			continue
		case slices.ContainsFunc(rules, func(other semantic) bool { return other.id == r.id }):
			complain("%s is here twice", r.id)
			continue
		case cell("Check") == "" && r.see == "":
			complain("%s says neither what a test checks nor which rule says the same", r.id)
		case slices.Contains(columns, "Evidence") && cell("Evidence") == "":
			complain("%s has no evidence", r.id)
		}
		rules = append(rules, r)
	}
	return rules, sections, problems
}

// cellsOf returns the cells of a table's row, or nil for another line. A cell may contain "\|".
func cellsOf(line string) (cells []string) {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	const escaped = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, escaped)
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), escaped, "|"))
	}
	return cells
}

// TestParseSemantics tests valid and invalid tables of rules.
func TestParseSemantics(t *testing.T) {
	const text = "# Title\n" +
		"## 1. Names\n" +
		"| Id | Rule | Check | Evidence |\n|---|---|---|---|\n" +
		"| NAME-1 | A name has `a\\|b`. | One. | [Docs]; decision |\n" +
		"| §1.2 | The tables below. | Both. | `[x]` |\n" +
		"| NAME-1 | Again. | One. | [Docs] |\n" +
		"| NAME-2, NAME-3 | Two. | One. | [Docs] |\n" +
		"| NAME-4 | No check. |  | [Docs] |\n" +
		"| NAME-5 | No evidence. | One. | |\n" +
		"| NAME-6 | No such source. | One. | [Dox] |\n" +
		"| NAME-7 | a|b | One. | [Docs] |\n" +
		"\n| Fact | What is so |\n|---|---|\n| NAME-8 | A fact. |\n" +
		"### 2a. Conflicts\n" +
		"| Id | Answer | Check | See |\n|---|---|---|---|\n| CONF-1 | As there. | | NAME-1 |\n" +
		"\n| Id | Rule |\n|---|---|\n" +
		"[Docs]: https://example.org\n"
	rules, sections, problems := parseSemantics(text)
	want := []semantic{{"1. Names", "NAME-1", ""}, {"1. Names", "§1.2", ""}, {"1. Names", "NAME-4", ""}, {"1. Names", "NAME-5", ""}, {"1. Names", "NAME-6", ""}, {"2a. Conflicts", "CONF-1", "NAME-1"}}
	if diff := cmp.Diff(want, rules, cmp.AllowUnexported(semantic{})); diff != "" {
		t.Errorf("rules (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"§1", "§2a"}, sections); diff != "" {
		t.Errorf("sections (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"7: NAME-1 is here twice", `8: "NAME-2, NAME-3" is no id`, "9: NAME-4 says neither what a test checks nor which rule says the same",
		"10: NAME-5 has no evidence", `11: no source is called "Dox"`, "12: the row has 5 cells, the table 4 columns", "22: the table of rules has no column Check",
	}, problems); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
}

// TestUntraceable checks the errors for rules without a test and for names of rules that do not
// exist.
func TestUntraceable(t *testing.T) {
	rules := []semantic{{"", "NAME-1", ""}, {"", "NAME-2", ""}, {"", "NAME-3", ""}, {"", "NAME-4", ""}, {"", "§1.2", ""}, {"", "CONF-1", "NAME-1"}, {"", "CONF-2", "NAME-9"}}
	named := map[string][]string{"NAME-1": {"p.TestA"}, "NAME-3": {"p.TestB"}, "NAME-7": {"p.TestC"}, "UTF-8": {"p.TestD"}, "§1.2": {"p.TestE"}, "§3": {"p.TestF"}, "§4": {"p.TestG"}}
	got := untraceable(rules, []string{"§1", "§3"}, named, map[string]string{"NAME-3": "no reason", "NAME-5": "x"}, map[string]string{"NAME-4": "to come", "NAME-6": "x"})
	if diff := cmp.Diff([]string{
		`no test names NAME-2: name the subtest that asserts its Check column by it, or say in doc.go under "Not applicable" why there is none`,
		`NAME-3 is not applicable (no reason), but ["p.TestB"] names it`,
		"CONF-2 refers to NAME-9, which is no rule",
		`["p.TestC"] name NAME-7, which is no rule`,
		`["p.TestG"] name §4, which is no rule`,
		"NAME-5 is listed, but it is no rule",
		"NAME-6 is listed, but it is no rule",
	}, got); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
}
