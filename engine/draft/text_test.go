package draft

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
	return got.fill(&filling{n: n, count: 12, now: began, seed: seed})
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
		"{{":                                    "no }} at its end",
		"a {{n":                                 "no }} at its end",
		"{{}}":                                  "There is no placeholder {{}}",
		"{{customer}}":                          "There is no placeholder {{customer}}",
		"{{{n}}}":                               "There is no placeholder {{{n}}",
		"{{N}}":                                 "There is no placeholder {{N}}",
		"{{n n}}":                               "After {{n there is",
		"{{n+}}":                                "After {{n there is",
		"{{n%0}}":                               "After {{n there is",
		"{{n+1.5}}":                             "After {{n there is",
		"{{n+9223372036854775807}}":             "After {{n there is",
		"{{now 5m}}":                            "After {{now there is",
		"{{now+}}":                              "After {{now there is",
		"{{now+never}}":                         "After {{now there is",
		"{{random}}":                            "two whole numbers",
		"{{random 2 1}}":                        "two whole numbers",
		"{{random 1 x}}":                        "two whole numbers",
		"{{pick a}}":                            "two texts or more",
		"{{letters}}":                           "a number from 1",
		"{{letters 0}}":                         "a number from 1",
		"{{letters 1048577}}":                   "more than 1048576 letters",
		"{{letters 600000}}{{letters 600000}}":  "more than 1048576 letters",
		"{{uuid 4}}":                            "stands alone",
		strings.Repeat("{{n}}", 1001):           "more than 1000 placeholders",
		`\\{{`:                                  "no }} at its end",
		"{{" + strings.Repeat("x", 1000) + "}}": "…",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 250 {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// What is random is within its bounds, other for each message, and the same for
// the same seed.
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
	if other := text2.fill(&filling{n: 1, count: 12, now: began, seed: Seed{9}}); other == one {
		t.Error("another seed makes the same")
	}
}

// A text either cannot be read, or is the same each time, within bounds; and what
// is in it and no placeholder stays.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "{{n}}", `\\\{{n}} {{pick a|b}} {{letters 5}}`, "{{now+5m}}", "{{", "}}{{random 1 2}}", "\xff{{n%3}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := Parse(s)
		if err != nil {
			return
		}
		one := text.fill(&filling{n: 3, count: 5, now: began, seed: seed})
		if again := text.fill(&filling{n: 3, count: 5, now: began, seed: seed}); one != again {
			t.Errorf("%q: %q, then %q", s, one, again)
		}
		if len(one) > len(s)*8+mostLetters {
			t.Errorf("%q makes %d bytes", s, len(one))
		}
		if !strings.Contains(s, open) && one != s {
			t.Errorf("%q became %q", s, one)
		}
		escaped := strings.ReplaceAll(s, open, `\`+open)
		if !strings.Contains(s, `\`) && !strings.Contains(s, "{{{") {
			if got, err := Parse(escaped); err != nil || got.fill(&filling{}) != s {
				t.Errorf("%q does not stay: %v", s, err)
			}
		}
	})
}
