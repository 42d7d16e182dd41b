package template

import (
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

var (
	began = engine.At(time.Date(2026, 7, 14, 10, 0, 0, 250e6, time.UTC))
	seed  = Seed{1, 2, 3}
)

func filled(t *testing.T, text string, n int64) string {
	t.Helper()
	got, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return got.fill(&generator{n: n, count: 12, now: began, seed: seed})
}

func TestPlaceholders(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"plain { } }} text":             "plain { } }} text",
		"{{n}}":                         "7",
		"a{{ n }}b{{n}}c":               "a7b7c",
		"{{n+100}} {{ n - 8 }} {{n%4}}": "107 -1 3",
		"{{n%7}}":                       "0",
		"{{count}}":                     "12",
		"{{now}}":                       "2026-07-14T10:00:00.250Z",
		"{{now+5m}} {{ now - PT1H }}":   "2026-07-14T10:05:00.250Z 2026-07-14T09:00:00.250Z",
		"{{unix}} {{unix+1d}}":          "1784023200 1784109600",
		"{{random 5 5}}":                "5",
		"{{pick x y|x y}}!":             "x y!",
		`{"a":{"n":{{n}}}}`:             `{"a":{"n":7}}`,
		`\{{n}}`:                        "{{n}}",
		`\\{{n}}`:                       `\7`,
		`\\\{{n}}`:                      `\{{n}}`,
		`C:\dir\{n} \n {`:               `C:\dir\{n} \n {`,
		`\{{ \{{{{n}}`:                  `{{ {{7`,
	} {
		if got := filled(t, text, 7); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestPlaceholdersWrong(t *testing.T) {
	for text, want := range map[string]string{
		"{{":                                    "not closed by }}",
		"a {{n":                                 "not closed by }}",
		"{{}}":                                  "The placeholder {{}} does not exist",
		"{{customer}}":                          "The placeholder {{customer}} does not exist",
		"{{{n}}}":                               "The placeholder {{{n}} does not exist",
		"{{N}}":                                 "The placeholder {{N}} does not exist",
		"{{n n}}":                               "After {{n, write",
		"{{n+}}":                                "After {{n, write",
		"{{n%0}}":                               "After {{n, write",
		"{{n+1.5}}":                             "After {{n, write",
		"{{n+9223372036854775807}}":             "After {{n, write",
		"{{now 5m}}":                            "After {{now, write",
		"{{now+}}":                              "After {{now, write",
		"{{now+never}}":                         "After {{now, write",
		"{{random}}":                            "two whole numbers",
		"{{random 2 1}}":                        "two whole numbers",
		"{{random 1 x}}":                        "two whole numbers",
		"{{pick a}}":                            "two or more texts",
		"{{letters}}":                           "needs a number, 1 or more",
		"{{letters 0}}":                         "needs a number, 1 or more",
		"{{letters 1048577}}":                   "more than 1048576 letters",
		"{{letters 600000}}{{letters 600000}}":  "more than 1048576 letters",
		"{{uuid 4}}":                            "takes no argument",
		strings.Repeat("{{n}}", 1001):           "at most 1000 placeholders",
		`\\{{`:                                  "not closed by }}",
		"{{" + strings.Repeat("x", 1000) + "}}": "…",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 250 {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// Random values are within their bounds, different for each message, and the same for equal
// seeds.
func TestRandom(t *testing.T) {
	seen := map[string]int{}
	for n := range int64(2000) {
		seen[filled(t, "{{random -1 1}}", n)]++
		seen[filled(t, "{{pick a|b}}", n)]++
	}
	for _, want := range []string{"-1", "0", "1", "a", "b"} {
		if seen[want] < 500 {
			t.Errorf("%q came %d times of 2,000", want, seen[want])
		}
	}
	if len(seen) != 5 {
		t.Errorf("there are %v", seen)
	}
	const text = "{{uuid}} {{uuid}} {{letters 40}} {{random -9223372036854775808 9223372036854775807}}"
	one := filled(t, text, 1)
	if again := filled(t, text, 1); one != again {
		t.Errorf("%s, then %s", one, again)
	}
	if other := filled(t, text, 2); one == other {
		t.Errorf("%s twice", one)
	}
	parts := strings.Fields(one)
	if parts[0] == parts[1] || len(parts[0]) != 36 || parts[0][14] != '4' || len(parts[2]) != 40 {
		t.Errorf("it is %q", one)
	}
	text2, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if other := text2.fill(&generator{n: 1, count: 12, now: began, seed: Seed{9}}); other == one {
		t.Error("another seed gives the same value")
	}
}

// FuzzParse checks that a text is either refused or has the same value each time, within its
// bounds, and that text outside placeholders is kept.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "{{n}}", `\\\{{n}} {{pick a|b}} {{letters 5}}`, "{{now+5m}}", "{{", "}}{{random 1 2}}", "\xff{{n%3}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := Parse(s)
		if err != nil {
			return
		}
		one := text.fill(&generator{n: 3, count: 5, now: began, seed: seed})
		if again := text.fill(&generator{n: 3, count: 5, now: began, seed: seed}); one != again {
			t.Errorf("%q: %q, then %q", s, one, again)
		}
		if len(one) > len(s)*8+maxLetters {
			t.Errorf("%q makes %d bytes", s, len(one))
		}
		if !strings.Contains(s, openBraces) && one != s {
			t.Errorf("%q became %q", s, one)
		}
		escaped := strings.ReplaceAll(s, openBraces, `\`+openBraces)
		if !strings.Contains(s, `\`) && !strings.Contains(s, "{{{") {
			if got, err := Parse(escaped); err != nil || got.fill(&generator{}) != s {
				t.Errorf("%q does not stay: %v", s, err)
			}
		}
	})
}
