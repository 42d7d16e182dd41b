package story

import (
	"bytes"
	"context"
	"flag"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"

	"mayfly/static"
	"mayfly/views/component"
	"mayfly/views/view"
)

var (
	update = flag.Bool("update", false, "write what is rendered to testdata")
	write  = flag.String("write", "", "write the stories and the static files to this directory, to be looked at")
)

func (s Story) whole() templ.Component {
	if s.Page != nil {
		return s.Page.Full()
	}
	return s.Component
}

func render(ctx context.Context, t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hashes change with every edit of a static file, which stories do not depend on.
var hashes = regexp.MustCompile(`(/static/[a-z.]+?)-[\w-]{12}\.`)

func TestStoriesLookAsBefore(t *testing.T) {
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			got := lines(hashes.ReplaceAllString(render(t.Context(), t, s.whole()), "$1."))
			file := filepath.Join("testdata", s.Name+".html")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("different from %s; if this change is intended, run with -update (-want +got):\n%s", file, d)
			}
		})
	}
}

// lines starts a new line before every element, so that a diff of two pages shows which elements
// differ.
func lines(html string) string {
	return regexp.MustCompile(`(<[a-zA-Z!])`).ReplaceAllString(html, "\n$1") + "\n"
}

var (
	slots = regexp.MustCompile(`data-slot="([^"]*)"`)
	lists = regexp.MustCompile(`data-list="([^"]*)"`)
)

func TestPartsAreWhatStandsInThePage(t *testing.T) {
	for _, s := range All() {
		if s.Page == nil {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			full := render(t.Context(), t, s.Page.Full())
			var inPage, inParts []string
			for _, m := range slots.FindAllStringSubmatch(full, -1) {
				inPage = append(inPage, "slot "+m[1])
			}
			for _, m := range lists.FindAllStringSubmatch(full, -1) {
				inPage = append(inPage, "list "+m[1])
			}
			for _, p := range s.Page.Parts() {
				inParts = append(inParts, describe(p))
				checkPart(t, full, p)
			}
			slices.Sort(inPage)
			slices.Sort(inParts)
			if d := cmp.Diff(inPage, inParts); d != "" {
				t.Errorf("the page and its parts differ (-page +parts):\n%s", d)
			}
		})
	}
}

func describe(p view.Part) string {
	if p.Slot != nil {
		return "slot " + p.Name
	}
	return "list " + p.Name
}

func checkPart(t *testing.T, full string, p view.Part) {
	t.Helper()
	if p.Slot != nil {
		content := render(t.Context(), t, p.Slot)
		if !regexp.MustCompile(`data-slot="` + p.Name + `"[^>]*>` + regexp.QuoteMeta(content) + `</`).MatchString(full) {
			t.Errorf("slot %s is not in the page as it is pushed: %s", p.Name, content)
		}
		return
	}
	keys := map[string]bool{}
	for _, r := range p.Rows {
		content := render(t.Context(), t, r.Content)
		if !strings.Contains(full, content) {
			t.Errorf("row %s of %s is not in the page as it is pushed: %s", r.Key, p.Name, content)
		}
		if first, _, _ := strings.Cut(content, ">"); !strings.Contains(first, ` data-key="`+templ.EscapeString(r.Key)+`"`) {
			t.Errorf("row %s of %s does not carry its key: %s", r.Key, p.Name, first)
		}
		if keys[r.Key] {
			t.Errorf("row %s occurs twice in %s", r.Key, p.Name)
		}
		keys[r.Key] = true
	}
}

var (
	inline  = regexp.MustCompile(`\s(style|on[a-z]+)="`)
	idAttr  = regexp.MustCompile(`\sid="([^"]*)"`)
	refs    = regexp.MustCompile(`\s(?:for|aria-labelledby|aria-describedby|form)="([^"]*)"`)
	forms   = regexp.MustCompile(`(?s)<form[^>]*method="post".*?</form>`)
	visible = regexp.MustCompile(`9999|&lt;no value&gt;|%!|\bNaN\b|<nil>`)
)

func TestMarkupIsSound(t *testing.T) {
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			html := render(t.Context(), t, s.whole())
			if m := inline.FindString(html); m != "" {
				t.Errorf("%q: the content security policy forbids inline styles and handlers", m)
			}
			if m := visible.FindString(html); m != "" {
				t.Errorf("the page has %q", m)
			}
			ids := map[string]int{}
			for _, m := range idAttr.FindAllStringSubmatch(html, -1) {
				if ids[m[1]]++; ids[m[1]] == 2 {
					t.Errorf("id %s occurs twice", m[1])
				}
			}
			for _, m := range refs.FindAllStringSubmatch(html, -1) {
				for id := range strings.FieldsSeq(m[1]) {
					if ids[id] == 0 {
						t.Errorf("%s refers to a missing element", m[0])
					}
				}
			}
			for _, f := range forms.FindAllString(html, -1) {
				if !strings.Contains(f, `name="csrf"`) {
					t.Errorf("a POST form lacks its token: %s", f)
				}
			}
		})
	}
}

// TestWrite writes the stories to files, for viewing in a browser.
func TestWrite(t *testing.T) {
	if *write == "" {
		return // no folder was given
	}
	put := func(name string, content []byte) {
		file := filepath.Join(*write, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"app.css", "icons.svg", "favicon.svg", "live.js", "combobox.js", "palette.js", "suggest.js"} {
		u := static.URL(name)
		content, _, ok := static.Open(strings.TrimPrefix(u, static.Prefix))
		if !ok {
			t.Fatalf("%s does not open", u)
		}
		put(u, content)
	}
	for _, s := range All() {
		put(s.Name+".html", []byte(render(t.Context(), t, s.whole())))
	}
}

// copied matches what a button puts on the clipboard.
var copied = regexp.MustCompile(`data-(?:text|copy)="([^"]*)"`)

// TestWhatIsCopiedIsSeen: no page offers to copy a text with invisible characters.
func TestWhatIsCopiedIsSeen(t *testing.T) {
	n := 0
	for _, s := range All() {
		for _, m := range copied.FindAllStringSubmatch(render(t.Context(), t, s.whole()), -1) {
			if n++; !component.Copyable(html.UnescapeString(m[1])) {
				t.Errorf("%s: %q", s.Name, m[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("%d texts can be copied", n)
	}
	for _, bad := range []string{"curl \u202ehttp://x", "a\u200bb", "a\x1bb", "a\rb"} {
		got := render(t.Context(), t, component.Snippet(bad, "label", "copy"))
		if copied.MatchString(got) || !component.Copyable(html.UnescapeString(got)) {
			t.Errorf("the copied text has %q: %s", bad, got)
		}
	}
}
