package locale

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
)

// catalogue returns the ids of a language's catalogue in order, and the plural forms of
// each.
func catalogue(t *testing.T, tag string) (ids []string, forms map[string]map[string]string) {
	t.Helper()
	b, err := catalogues.ReadFile(tag + ".json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	forms = map[string]map[string]string{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		id := key.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		var text string
		f := map[string]string{}
		if err := json.Unmarshal(raw, &text); err == nil {
			f["other"] = text
		} else if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		ids, forms[id] = append(ids, id), f
	}
	if _, err := d.Token(); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return ids, forms
}

func TestCatalogueIsSound(t *testing.T) {
	ids, forms := catalogue(t, "en")
	if len(ids) != len(forms) {
		slices.Sort(ids)
		for i := range ids[1:] {
			if ids[i] == ids[i+1] {
				t.Errorf("%s occurs twice", ids[i])
			}
		}
	}
	for id, f := range forms {
		if _, one := f["one"]; len(f) > 1 && !one || f["other"] == "" {
			t.Errorf("%s has the forms %v; English needs other, and one if it is a count", id, slices.Sorted(maps.Keys(f)))
		}
		for _, text := range f {
			if _, err := template.New(id).Parse(text); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if strings.Contains(text, "9999") {
				t.Errorf("%s mentions the year 9999", id)
			}
		}
	}
}

var (
	asked   = regexp.MustCompile(`locale\.([TN])\([\w.()]+,\s*"([^"]+)"`)
	literal = regexp.MustCompile(`"([^"\s]+)"`)
	idForm  = regexp.MustCompile(`^([a-z]\w*)\.(?:[\w-]+\.)*([\w-]*)$`) // its first and last parts
)

// notIDs look like ids, or the start of one, but are not: a key of a request, texts of the
// script, and the start of Go code in a page.
var notIDs = []string{"ui.visited", "span.", "time."}

// sources calls f for every file that may use the catalogue: the views and the servers of web,
// without generated files and tests.
func sources(t *testing.T, f func(name, text string)) {
	t.Helper()
	root := os.DirFS("../..")
	for _, dir := range []string{"views", "web"} {
		err := fs.WalkDir(root, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && name == dir: // there may be no such directory
				return nil
			case err != nil:
				return err
			case strings.HasSuffix(name, "_templ.go"), strings.HasSuffix(name, "_test.go"):
				return nil
			case strings.HasSuffix(name, ".templ"), strings.HasSuffix(name, ".go"):
				b, err := fs.ReadFile(root, name)
				if err == nil {
					f(name, string(b))
				}
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryIDAskedForIsThere: every id in the code is in the catalogue. Even ids in
// variables are literals somewhere; no id is concatenated, because this test could not look
// it up.
func TestEveryIDAskedForIsThere(t *testing.T) {
	ids, forms := catalogue(t, "en")
	families := map[string]bool{}
	for _, id := range ids {
		family, _, _ := strings.Cut(id, ".")
		families[family] = true
	}
	sources(t, func(name, text string) {
		for _, l := range literal.FindAllStringSubmatch(text, -1) {
			m := idForm.FindStringSubmatch(l[1])
			switch {
			case m == nil, !families[m[1]], slices.Contains(notIDs, l[1]), m[2] == "js", m[2] == "css", m[2] == "mod":
			case m[2] == "":
				t.Errorf("%s concatenates ids with %q", name, l[1])
			case forms[l[1]] == nil:
				t.Errorf("%s has %q, which looks like an id, and en.json lacks it", name, l[1])
			}
		}
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			f, ok := forms[m[2]]
			if !ok {
				t.Errorf("%s uses %q, which en.json lacks", name, m[2])
			}
			if _, one := f["one"]; ok && one != (m[1] == "N") {
				t.Errorf("%s uses %q with %s, but it has the forms %v", name, m[2], m[1], slices.Sorted(maps.Keys(f)))
			}
		}
	})
}

func TestEveryIDIsAskedFor(t *testing.T) {
	ids, _ := catalogue(t, "en")
	used := map[string]bool{}
	sources(t, func(_, text string) {
		for _, m := range literal.FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
		}
	})
	for _, id := range ids {
		if !used[id] {
			t.Errorf("no code uses %q", id)
		}
	}
}

// TestDescribedButtonsAreCalledWhatTheyShow is for speech input: the accessible name of a
// button contains its label (WCAG 2.5.3), in every language.
func TestDescribedButtonsAreCalledWhatTheyShow(t *testing.T) {
	shown := regexp.MustCompile(`Label: locale\.T\(ctx, "([a-z0-9.]+)"\), Describe: locale\.T\(ctx, "([a-z0-9.]+)"`)
	pairs := map[string]string{}
	for _, dir := range []string{"../page", "../component"} {
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".templ") {
				return err
			}
			text, err := os.ReadFile(dir + "/" + name)
			for _, m := range shown.FindAllSubmatch(text, -1) {
				pairs[string(m[1])] = string(m[2])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(pairs) < 20 {
		t.Fatalf("only %d buttons have descriptions", len(pairs))
	}
	plain := func(s string) string { return strings.ToLower(strings.TrimRight(s, "…")) }
	for _, l := range Languages() {
		_, forms := catalogue(t, l.Tag)
		for label, name := range pairs {
			for form, says := range forms[name] {
				if word := plain(forms[label]["other"]); !strings.Contains(plain(says), word) {
					t.Errorf("%s: %s has the label %q and the name %q (%s)", l.Tag, label, word, says, form)
				}
			}
		}
	}
}
