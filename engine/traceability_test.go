package engine_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lacking lists rules whose tests do not show the whole rule yet, or that have no test yet,
// with the missing part. The change that adds the part removes the rule from the list, which
// must be empty in the end.
var lacking = map[string]string{}

// TestTraceability logs which tests name each rule of SEMANTICS.md. Every rule must be named by
// the test that asserts what its Check column says, or be in the section "Not applicable" of
// this package's comment, with the reason.
func TestTraceability(t *testing.T) {
	rules, sections := readSemantics(t)
	named := claimed(claimsOf(t, ".."))
	outside := notApplicable(t)
	for _, p := range untraceable(rules, sections, named, outside, lacking) {
		t.Error(p)
	}
	counts := map[string]int{}
	section := ""
	var listing strings.Builder
	for _, r := range rules {
		if r.section != section {
			section = r.section
			fmt.Fprintf(&listing, "\n§%s\n", section)
		}
		what, tests := "rules tested", named[r.id]
		switch {
		case outside[r.id] != "":
			what, tests = "not applicable", append([]string{"not applicable: " + outside[r.id]}, tests...)
		case r.see != "":
			what, tests = "said elsewhere", append([]string{"see " + r.see}, tests...)
		case tests == nil:
			what = "missing"
		}
		if why := lacking[r.id]; why != "" {
			tests = append(slices.Clone(tests), "lacking: "+why)
		}
		counts[what]++
		fmt.Fprintf(&listing, "  %-8s %s\n", r.id, strings.Join(tests, "\n           "))
	}
	t.Log(listing.String())
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d", what, counts[what])
	}
	if len(lacking) > 0 {
		t.Logf("The list lacking has to end empty: the change that adds the missing part of %v removes it.", lacking)
	}
}

// claimed returns the tests that name each rule, by its id.
func claimed(claims []claim) map[string][]string {
	named := map[string][]string{}
	for _, c := range claims {
		for _, id := range idsIn(c.text) {
			if !slices.Contains(named[id], c.by) {
				named[id] = append(named[id], c.by)
			}
		}
	}
	return named
}

// untraceable returns the faults of rules and tests: rules without a test, and names and lists
// of rules that do not exist.
func untraceable(rules []semantic, sections []string, named map[string][]string, outside, lacking map[string]string) (problems []string) {
	all, series := map[string]bool{}, map[string]bool{}
	for _, r := range rules {
		all[r.id] = true
		series[seriesOf(r.id)] = true
	}
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, r := range rules {
		switch tests := named[r.id]; {
		case outside[r.id] != "" && tests != nil:
			complain("%s is not applicable (%s), but %q names it", r.id, outside[r.id], tests)
		case r.see != "" && !all[r.see]:
			complain("%s refers to %s, which is no rule", r.id, r.see)
		case tests == nil && outside[r.id] == "" && r.see == "" && lacking[r.id] == "":
			complain("no test names %s: name the subtest that asserts its Check column by it, or say in doc.go under \"Not applicable\" why there is none", r.id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(named)) {
		if !all[id] && series[seriesOf(id)] && !slices.Contains(sections, id) {
			complain("%q name %s, which is no rule", named[id], id)
		}
	}
	for _, id := range slices.Concat(slices.Sorted(maps.Keys(outside)), slices.Sorted(maps.Keys(lacking))) {
		if !all[id] {
			complain("%s is listed, but it is no rule", id)
		}
	}
	return problems
}

var ruleID = regexp.MustCompile(`(?:\b[A-Z]{2,4}-S?\d+|§\d+[a-z]?(?:\.\d+)?(?:#\d+)?)\b`)

// idsIn returns the ids of rules, and texts that look like ids, in the name of a test.
func idsIn(text string) []string { return ruleID.FindAllString(text, -1) }

// seriesOf returns what the ids of related rules have in common: "TTL" of TTL-5
// and TTL-S1, and "§" of sections.
func seriesOf(id string) string {
	if strings.HasPrefix(id, "§") {
		return "§"
	}
	series, _, _ := strings.Cut(id, "-")
	return series
}

// notApplicable parses that section of the package comment: a list of ids, each with its
// reason.
func notApplicable(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	reasons, here := map[string]string{}, false
	for _, block := range new(comment.Parser).Parse(file.Doc.Text()).Content {
		switch b := block.(type) {
		case *comment.Heading:
			here = prose(b.Text) == "Not applicable"
		case *comment.List:
			for _, item := range b.Items {
				text := prose(item.Content[0].(*comment.Paragraph).Text)
				id, reason, ok := strings.Cut(text, ": ")
				if here && (!ok || reason == "" || reasons[id] != "" || !slices.Equal(idsIn(id), []string{id})) {
					t.Errorf("doc.go: %q is not an id with a reason, or occurs twice", text)
				}
				if here {
					reasons[id] = reason
				}
			}
		}
	}
	if len(reasons) == 0 {
		t.Error("doc.go has no list under \"Not applicable\"")
	}
	return reasons
}

func prose(text []comment.Text) string {
	var b strings.Builder
	for _, x := range text {
		switch x := x.(type) {
		case comment.Plain:
			b.WriteString(string(x))
		case comment.Italic:
			b.WriteString(string(x))
		case *comment.DocLink:
			b.WriteString(prose(x.Text))
		case *comment.Link:
			b.WriteString(prose(x.Text))
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestClaims checks which texts of a Go file are claims.
func TestClaims(t *testing.T) {
	const source = `package p
type case_ struct { about, name string; inner []struct{ rule string } }
// TTL-1 stands in a comment
func TestTTL_2(t *testing.T) {
	for name, tc := range map[string]struct{ text string }{"TTL-3 a key": {"TTL-4"}} {
		t.Run(name, func(t *testing.T) { t.Error("TTL-5") })
	}
	t.Run("TTL-6 " + tc.name, nil)
	_ = []case_{{"TTL-7", "TTL-8", nil}, {about: "TTL-9", name: ("TTL-10 " + x), inner: []struct{ rule string }{{"TTL-11"}}}}
	_ = []*case_{{name: "TTL-12"}}
	cases["TTL-13 " + o] = nil
	check := func(op string, n int, name string) {}
	check("TTL-14", 1, "TTL-15")
	other("TTL-16")
	named("TTL-24")
	_ = map[string]any{"x": case_{name: "TTL-17"}}
	_ = rules{"TTL-18": nil}
	_ = [...]string{"TTL-19"}
	if s == "TTL-20" {}
	if m["TTL-21"] {}
}
type rules map[string]func()
func BenchmarkDEC12(b *testing.B) { b.Run("TTL-22", nil) }
func helper() { t.Run("TTL-23", nil); check("TTL-25", 1, "TTL-26"); named("TTL-27") }
func check(op string) {}
func named(rule string) {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p_test.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range claimsIn("p", []*ast.File{file}) {
		for _, id := range idsIn(c.text) {
			got = append(got, id+" "+c.by)
		}
	}
	want := []string{
		"TTL-2 p.TestTTL_2", "TTL-3 p.TestTTL_2/TTL-3 a key", "TTL-6 p.TestTTL_2/TTL-6 …", "TTL-8 p.TestTTL_2/TTL-8", "TTL-10 p.TestTTL_2/TTL-10 …",
		"TTL-11 p.TestTTL_2/TTL-11", "TTL-12 p.TestTTL_2/TTL-12", "TTL-13 p.TestTTL_2/TTL-13 …", "TTL-15 p.TestTTL_2/TTL-15", "TTL-17 p.TestTTL_2/TTL-17",
		"TTL-18 p.TestTTL_2/TTL-18", "DEC-12 p.BenchmarkDEC12", "TTL-22 p.BenchmarkDEC12/TTL-22", "TTL-23 p.helper/TTL-23",
		"TTL-24 p.TestTTL_2/TTL-24", "TTL-27 p.helper/TTL-27",
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
