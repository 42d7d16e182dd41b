package locale

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
)

// cldr returns the plural forms that CLDR has in each language for whole numbers and
// fractions.
func cldr() map[string][]string {
	return map[string][]string{
		"en":    {"one", "other"},
		"pt-PT": {"many", "one", "other"},
		"pt-BR": {"many", "one", "other"},
		"cs":    {"few", "many", "one", "other"},
		"zh-CN": {"other"},
	}
}

var placeholder = regexp.MustCompile(`\{\{\.\w+\}\}|\{n\}`)

// placeholders returns the placeholders in texts, sorted and each once.
func placeholders(texts ...string) []string {
	seen := map[string]bool{}
	for _, text := range texts {
		for _, p := range placeholder.FindAllString(text, -1) {
			seen[p] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func TestEveryLanguageHasItsPluralForms(t *testing.T) {
	for _, l := range Languages() {
		if _, ok := cldr()[l.Tag]; !ok {
			t.Errorf("the test lacks the plural forms of %s", l.Name)
		}
		if got := Lang(With(t.Context(), l.Tag)); got != l.Tag {
			t.Errorf("%s became %s", l.Tag, got)
		}
	}
}

func TestEveryLanguageIsComplete(t *testing.T) {
	ids, english := catalogue(t, "en")
	for _, l := range Languages() {
		t.Run(l.Tag, func(t *testing.T) {
			theirs, forms := catalogue(t, l.Tag)
			if !slices.Equal(theirs, ids) {
				for _, id := range ids {
					if forms[id] == nil {
						t.Errorf("%s lacks %q", l.Tag, id)
					}
				}
				for _, id := range theirs {
					if english[id] == nil {
						t.Errorf("%s has %q, which en.json lacks", l.Tag, id)
					}
				}
				if !t.Failed() {
					t.Error("the ids are not in the order of en.json")
				}
				return
			}
			for id, f := range forms {
				sound(t, l.Tag, id, english[id], f)
			}
		})
	}
}

// sound checks one text of a language against the English one: its plural forms and its
// placeholders.
func sound(t *testing.T, tag, id string, english, f map[string]string) {
	t.Helper()
	_, counts := english["one"]
	want := []string{"other"}
	if counts {
		want = cldr()[tag]
	}
	if got := slices.Sorted(maps.Keys(f)); !slices.Equal(got, want) {
		t.Errorf("%s has the forms %v, want %v", id, got, want)
	}
	all := slices.Collect(maps.Values(english))
	for form, text := range f {
		if text == "" {
			t.Errorf("%s (%s) is empty", id, form)
		}
		if _, err := template.New(id).Parse(text); err != nil {
			t.Errorf("%s (%s): %v", id, form, err)
		}
		for _, p := range placeholders(text) {
			if !slices.Contains(placeholders(all...), p) {
				t.Errorf("%s (%s): no code fills in %s", id, form, p)
			}
		}
	}
	// The form for any number has all placeholders of the English one. A language without a
	// form for one may also use the number itself.
	for _, p := range placeholders(english["other"]) {
		if !slices.Contains(placeholders(f["other"]), p) {
			t.Errorf("%s lacks the placeholder %s", id, p)
		}
	}
}

// TestOneTermForOneConcept: a Service Bus term has one translation in each language, in the
// catalogue and in the scenes. The test lists translations that must not occur, except in
// search keywords.
func TestOneTermForOneConcept(t *testing.T) {
	for tag, wrong := range map[string]string{
		"pt-PT": `(?i)não entregues?\b(?: \(DLQ\))?|mensage(?:m|ns) mortas?|assinatura|navegador|\bligações? só de leitura`,
		"pt-BR": `(?i)mortas?\b(?: \(DLQ\))?|não entregue|subscriç|\bbrowser|espaço de nomes`,
		"cs":    `(?i)zprostředkovatel|předplatné|\bsezení|mrtv[ýáé]|životnost`,
		"zh-CN": `控制台|撤销|Service Bus|订购`,
	} {
		named := regexp.MustCompile(wrong)
		check := func(id, text string) {
			for _, name := range named.FindAllString(text, -1) {
				if !strings.HasSuffix(name, "(DLQ)") {
					t.Errorf("%s: %s has %q", tag, id, name)
				}
			}
		}
		_, forms := catalogue(t, tag)
		for id, f := range forms {
			for _, text := range f {
				if !strings.HasPrefix(id, "go.also.") {
					check(id, text)
				}
			}
		}
		scenes, err := filepath.Glob("../../engine/demo/scenes/*.yaml")
		if err != nil || len(scenes) == 0 {
			t.Fatal(scenes, err)
		}
		for _, name := range scenes {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, body, found := strings.Cut(string(text), "\n  "+tag+":\n")
			if !found {
				t.Fatalf("%s is not translated into %s", name, tag)
			}
			if next := regexp.MustCompile(`(?m)^  [a-z]{2}(?:-[A-Z]{2})?:$`).FindStringIndex(body); next != nil {
				body = body[:next[0]]
			}
			check(filepath.Base(name), body)
		}
	}
}
