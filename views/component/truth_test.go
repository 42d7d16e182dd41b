package component

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsCutAtItsClauses(t *testing.T) {
	const text = "订=1 AND b OR c"
	for name, tc := range map[string]struct {
		clauses []Clause
		want    []string // parts of clauses, marked with their numbers
	}{
		"none":                       {nil, []string{text}},
		"runes, not bytes":           {[]Clause{{From: 0, To: 3}}, []string{"1:订=1", " AND b OR c"}},
		"between, and at the end":    {[]Clause{{From: 8, To: 9}, {From: 13, To: 14}}, []string{"订=1 AND ", "1:b", " OR ", "2:c"}},
		"in any order":               {[]Clause{{From: 8, To: 9}, {From: 0, To: 3}}, []string{"2:订=1", " AND ", "1:b", " OR c"}},
		"one within another is left": {[]Clause{{From: 0, To: 9}, {From: 8, To: 9}}, []string{"1:订=1 AND b", " OR c"}},
		"one across another is left": {[]Clause{{From: 0, To: 9}, {From: 8, To: 12}}, []string{"1:订=1 AND b", " OR c"}},
		"beyond the end is left":     {[]Clause{{From: 8, To: 15}}, []string{text}},
		"of no text":                 {[]Clause{{}, {Text: "sys.Label = 'a'"}}, []string{text}},
		"turned round is left":       {[]Clause{{From: 9, To: 8}}, []string{text}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range textSpans(text, tc.clauses) {
				if s.clause > 0 {
					s.text = s.number() + ":" + s.text
				}
				got = append(got, s.text)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEveryTruthHasItsShape(t *testing.T) {
	shapes, words := map[string]Truth{}, map[string]Truth{}
	for _, is := range []Truth{True, False, Unknown, Failed} {
		if other, ok := shapes[is.icon()]; ok {
			t.Errorf("%s looks the same as %s", is, other)
		}
		if other, ok := words[is.word()]; ok {
			t.Errorf("%s has the same name as %s", is, other)
		}
		shapes[is.icon()], words[is.word()] = is, is
	}
}

func TestFaultIsCutOut(t *testing.T) {
	for name, tc := range map[string]struct {
		fault SyntaxError
		want  [3]string
		says  string
	}{
		"a sign":             {SyntaxError{Text: "a >> 1", At: 3, Found: ">", Want: "a value"}, [3]string{"a >", ">", " 1"}, "Expected a value at character 4, not “>”."},
		"a word":             {SyntaxError{Text: "a AND OR b", At: 6, Found: "OR", Want: "a value"}, [3]string{"a AND ", "OR", " b"}, "Expected a value at character 7, not “OR”."},
		"shortened":          {SyntaxError{Text: "a 'long'", At: 2, Found: "'lo…", Want: "x"}, [3]string{"a ", "'", "long'"}, "Expected x at character 3, not “'lo…”."},
		"its line only":      {SyntaxError{Text: "x\r\n订单 > >\ny", At: 8, Found: ">", Want: "a value"}, [3]string{"订单 > ", ">", ""}, "Expected a value at character 9, not “>”."},
		"at the end":         {SyntaxError{Text: "a =", At: 3, Want: "a value"}, [3]string{"a =", " ", ""}, "Expected a value at character 4, where the text ends."},
		"at the end of line": {SyntaxError{Text: "a =\nb", At: 3, Found: "\n", Want: "x"}, [3]string{"a =", " ", ""}, "Expected x at character 4, not “\n”."},
		"a sentence":         {SyntaxError{Text: "sys.Nope = 1", Found: "sys.Nope", Message: "There is no Nope."}, [3]string{"", "sys.Nope", " = 1"}, "Character 1: There is no Nope."},
		"beyond the text":    {SyntaxError{Text: "a", At: 9, Want: "x"}, [3]string{"a", " ", ""}, "Expected x at character 10, where the text ends."},
		"what is not seen":   {SyntaxError{Text: "a\x00\u202e", At: 1, Found: "\x00", Want: "x"}, [3]string{"a", "␀", "⟨U+202E⟩"}, "Expected x at character 2, not “␀”."},
	} {
		t.Run(name, func(t *testing.T) {
			before, here, after := tc.fault.cut()
			if d := cmp.Diff(tc.want, [3]string{before, here, after}); d != "" {
				t.Error(d)
			}
			got := ""
			for _, part := range tc.fault.says(t.Context()) {
				got += part.S
			}
			if got != tc.says {
				t.Errorf("got %q, want %q", got, tc.says)
			}
		})
	}
}

func TestNoFaultShowsNothing(t *testing.T) {
	var b strings.Builder
	if err := SyntaxErrorLine(SyntaxError{Text: "a = 1"}).Render(t.Context(), &b); err != nil || b.String() != "" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestQuotedForEveryLanguage(t *testing.T) {
	for s, want := range map[string]string{
		"customer-77":   `"customer-77"`,
		`a"b\c`:         `"a\"b\\c"`,
		"a\x00\tb\r\nc": `"a\u0000\u0009b\r\nc"`,
		"\u202e订\u2028": `"\u202e订\u2028"`,
		"😀":             `"😀"`,
		"\xff":          `"\ufffd"`,
	} {
		if got := Quoted(s); got != want {
			t.Errorf("Quoted(%q) = %s, want %s", s, got, want)
		}
	}
}
