package engine_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// semantics are the sections of the specification with the ids of their rules.
// A table whose rows have no ids stands as its section: §2.2, or §6.2#4 for its
// fourth row. What only tells facts about others (EMU-1 to 4, 6, 7) is no rule.
var semantics = []struct{ title, ids string }{
	{"1.1 Names", "NAME-1…9"},
	{"1.2 Properties", "§1.2 PROP-1…14"},
	{"1.3 Runtime properties", "RT-1…6"},
	{"1.4 Status", "§1.4 STAT-1…10"},
	{"1.5 Quotas", "§1.5"},
	{"2.1 System properties", "§2.1 MSG-1…10"},
	{"2.2 REST", "§2.2"},
	{"3 Sequence number, enqueued time, ordering", "SEQ-1…10"},
	{"4 Time to live and expiration", "TTL-1…37 TTL-S1…5"},
	{"5.1 Modes and locks", "LOCK-1…14"},
	{"5.2 Outcomes", "§5.2 SETL-1…5"},
	{"5.3 Delivery count", "DC-1…8"},
	{"5.4 Transactions", "TX-1…5"},
	{"6 Dead-letter queues", "DLQ-1…13 §6.2#1…9 DLQ-20…23"},
	{"7 Scheduled messages", "SCH-1…17"},
	{"8 Deferral", "DEF-1…16 DEF-S1…5"},
	{"9 Browse", "PEEK-1…11 §9"},
	{"10 Auto-delete on idle", "IDLE-1…17 §10 IDLE-S1…2"},
	{"11 Auto-forwarding", "FWD-1…15"},
	{"12 Sessions", "SES-1…19"},
	{"13 Duplicate detection", "DUP-1…12"},
	{"14 Topics, subscriptions, rules", "FILT-1…31 ACT-1…7"},
	{"15 Batch delete, purge, counts", "BDEL-1…7 §15 CNT-1…3"},
	{"16 Errors", "§16 ERR-1…6"},
	{"17 The official emulator", "EMU-5 EMU-8"},
	{"19 Conflicts", "CONF-1…26"},
	{"21 Decisions", "DEC-1…12"},
	{"21a Operator actions", "OPS-1…11"},
}

// saidBy are the rules that repeat a decision, so that their tests are its own
// too.
var saidBy = map[string]string{
	"DEC-2": "TTL-16", "DEC-3": "TTL-26", "DEC-4": "DEF-9", "DEC-5": "LOCK-8", "DEC-7": "RT-6", "DEC-9": "FILT-27", "DEC-10": "DUP-4", "DEC-11": "IDLE-13",
	"CONF-1": "IDLE-5", "CONF-2": "IDLE-6", "CONF-3": "IDLE-3", "CONF-4": "IDLE-12", "CONF-5": "TTL-30", "CONF-6": "TTL-19", "CONF-7": "TTL-31",
	"CONF-8": "TTL-2", "CONF-9": "PROP-4", "CONF-10": "TTL-7", "CONF-11": "TTL-14", "CONF-12": "TTL-27", "CONF-14": "IDLE-1", "CONF-15": "IDLE-14",
	"CONF-16": "TTL-22", "CONF-17": "TTL-28", "CONF-18": "DEF-9", "CONF-19": "SETL-4", "CONF-20": "STAT-4", "CONF-21": "FWD-7", "CONF-22": "BDEL-3",
	"CONF-23": "§1.2", "CONF-24": "§6.2#3", "CONF-25": "§6.2#5",
}

// lacking are rules whose tests do not show the whole of them yet, and what is
// missing. Whoever adds it takes the rule off the list, which is to end empty.
var lacking = map[string]string{}

// TestTraceability prints which tests name a rule: every rule of the semantics
// is named by the test that asserts what its Check column says, or by the
// section "Not applicable" of this package's comment, with the reason.
func TestTraceability(t *testing.T) {
	claims := claimsOf(t, "..")
	named := map[string][]string{}
	for _, c := range claims {
		for _, id := range idsIn(c.text) {
			if !slices.Contains(named[id], c.by) {
				named[id] = append(named[id], c.by)
			}
		}
	}
	outside := notApplicable(t)
	all, counts := map[string]bool{}, map[string]int{}
	var listing strings.Builder
	for _, section := range semantics {
		fmt.Fprintf(&listing, "\n§%s\n", section.title)
		for r := range strings.FieldsSeq(section.ids) {
			for _, id := range expand(t, r) {
				all[id] = true
				tests := named[id]
				what := "rules tested"
				switch {
				case outside[id] != "":
					what, tests = "not applicable", append([]string{"not applicable: " + outside[id]}, tests...)
					if named[id] != nil {
						t.Errorf("%s is not applicable (%s), but %q names it", id, outside[id], named[id])
					}
				case saidBy[id] != "":
					what, tests = "said elsewhere", append([]string{"see " + saidBy[id]}, tests...)
				case tests == nil:
					what = "missing"
					t.Errorf("no test names %s: name the subtest that asserts its Check column by it, or say in doc.go under \"Not applicable\" why there is none", id)
				}
				if why := lacking[id]; why != "" {
					tests = append(tests, "lacking: "+why)
				}
				counts[what]++
				fmt.Fprintf(&listing, "  %-8s %s\n", id, strings.Join(tests, "\n           "))
			}
		}
	}
	for _, c := range claims {
		for _, id := range idsIn(c.text) {
			if !all[id] && ofASeries(id) {
				t.Errorf("%s names %s, which is no rule", c.by, id)
			}
		}
	}
	for _, id := range slices.Concat(slices.Sorted(maps.Keys(outside)), slices.Sorted(maps.Keys(lacking)), slices.Sorted(maps.Values(saidBy))) {
		if !all[id] {
			t.Errorf("%s is listed, but it is no rule", id)
		}
	}
	t.Log(listing.String())
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d", what, counts[what])
	}
	if len(lacking) > 0 {
		t.Logf("The list lacking is to end empty: whoever builds what is missing (%v) has it asserted and takes it off.", lacking)
	}
}

var ruleID = regexp.MustCompile(`(?:\b[A-Z]{2,4}-S?\d+|§\d+[a-z]?(?:\.\d+)?(?:#\d+)?)\b`)

// idsIn are the ids of rules, and of what looks like one, in the name of a test.
func idsIn(text string) []string { return ruleID.FindAllString(text, -1) }

// ofASeries tells whether an id is of a series of the semantics.
func ofASeries(id string) bool {
	series, _, _ := strings.Cut(id, "-")
	return slices.ContainsFunc(semantics, func(s struct{ title, ids string }) bool {
		return strings.Contains(" "+s.ids, " "+series+"-")
	})
}

// expand writes "TTL-S1…5" out.
func expand(t *testing.T, ids string) (all []string) {
	t.Helper()
	first, last, several := strings.Cut(ids, "…")
	if !several {
		return []string{ids}
	}
	series := strings.TrimRight(first, "0123456789")
	from, err1 := strconv.Atoi(first[len(series):])
	to, err2 := strconv.Atoi(last)
	if err := cmp.Or(err1, err2); err != nil || from >= to {
		t.Fatalf("%q is no range: %v", ids, err)
	}
	for n := from; n <= to; n++ {
		all = append(all, series+strconv.Itoa(n))
	}
	return all
}

// notApplicable reads the section of that name of the package comment: a list
// of ids, each with its reason.
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
					t.Errorf("doc.go: %q is no id with a reason, or comes twice", text)
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

// What names a rule and what does not.
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
