package e2e

import (
	"os"
	slashpath "path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/manual"
)

// longDocs lists the pages that may have more than 150 lines, with the reason.
var longDocs = map[string]string{
	"semantics": "the specification, which tests read",
}

// TestDocsPages checks that every Markdown file beside the code is a page in the list, that its
// first line is its only title, and that it is short.
func TestDocsPages(t *testing.T) {
	library := manual.Open("")
	var listed []string
	for _, g := range library.Groups() {
		for _, p := range g.Pages {
			listed = append(listed, slashpath.Base(p.Href))
		}
	}
	var files []string
	for file, name := range library.Files() {
		if slashpath.Ext(file) != ".md" {
			continue
		}
		files = append(files, name)
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not in the list of web/docs/pages.go", file)
		}
		text := doc(t, name)
		outside := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
		if titles := regexp.MustCompile(`(?m)^# .*$`).FindAllString(outside, -1); len(titles) != 1 || !strings.HasPrefix(text, titles[0]+"\n") {
			t.Errorf("%s has the titles %q, want one, in its first line", file, titles)
		} else if p, _ := library.Page(name); "# "+p.Title != strings.ReplaceAll(titles[0], "`", "") {
			t.Errorf("%s has the title %q", file, p.Title)
		}
		if head := regexp.MustCompile(`(?m)^\|.*\|\n\| --- `).FindAllString(outside, -1); slices.ContainsFunc(head, func(row string) bool { return strings.Contains(row, "| |") }) {
			t.Errorf("%s has a table with an empty heading, which screen readers skip", file)
		}
		if n := strings.Count(text, "\n"); n > 150 && longDocs[name] == "" {
			t.Errorf("%s has %d lines", file, n)
		}
	}
	slices.Sort(files)
	slices.Sort(listed)
	if !slices.Equal(files, listed) || len(slices.Compact(files)) != len(listed) {
		t.Errorf("the list has %q, the folder has %q", listed, files)
	}
}

// TestDocsLinks checks that every link of README and the pages leads to a file of the tree, and
// every anchor to a heading, both in the tree and on the dashboard.
func TestDocsLinks(t *testing.T) {
	library := manual.Open("")
	texts := map[string]string{"README.md": read(t, readme)}
	for file := range library.Files() {
		if slashpath.Ext(file) == ".md" {
			texts[file] = read(t, "../../../"+file)
		}
	}
	headings := regexp.MustCompile(`(?m)^##+ (.*)$`)
	anchors := map[string][]string{}
	for file, text := range texts {
		for _, m := range headings.FindAllStringSubmatch(text, -1) {
			plain := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
			anchors[file] = append(anchors[file], strings.ReplaceAll(plain, " ", "-"))
		}
	}
	n := 0
	for file, text := range texts {
		text = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`").ReplaceAllString(text, "")
		for _, m := range regexp.MustCompile(`\]\(([^) ]+)\)|(?:src|srcset)="([^"]+)"`).FindAllStringSubmatch(text, -1) {
			to, anchor, has := strings.Cut(m[1]+m[2], "#")
			if strings.Contains(to, "://") {
				continue
			}
			n++
			at := file
			if to != "" {
				at = slashpath.Join(slashpath.Dir(file), to)
			}
			if _, err := os.Stat(filepath.Join("../../..", filepath.FromSlash(at))); err != nil {
				t.Errorf("%s links to %s: %v", file, to, err)
			}
			if has && !slices.Contains(anchors[at], anchor) {
				t.Errorf("%s links to %s#%s, which has no such heading", file, at, anchor)
			}
		}
	}
	if n < 150 {
		t.Errorf("there are only %d links", n)
	}
	for file, name := range library.Files() {
		p, ok := library.Page(name)
		if !ok {
			t.Fatalf("%s is not a page", file)
		}
		var got []string
		for _, b := range p.Blocks {
			if b.ID != "" {
				got = append(got, b.ID)
			}
			for _, m := range regexp.MustCompile(`href="(/docs[^"#]*)`).FindAllStringSubmatch(b.HTML, -1) {
				if _, ok := library.Page(strings.TrimPrefix(m[1], "/docs/")); !ok && m[1] != "/docs" {
					t.Errorf("%s links to %s", name, m[1])
				}
			}
		}
		if slashpath.Ext(file) == ".md" && !slices.Equal(got, anchors[file]) && name != "semantics" {
			t.Errorf("%s has the anchors %q, on GitHub %q", name, got, anchors[file])
		}
	}
}

// TestDocsReadMore checks that pages of the dashboard lead to pages of the documentation by
// their titles.
func TestDocsReadMore(t *testing.T) {
	library, n := manual.Open(""), 0
	shared, err := filepath.Glob("../../../views/page/*.templ")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../views/page/*/*.templ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(shared, files...) {
		for _, m := range regexp.MustCompile(`component\.ReadMore\("([^"]*)", "([^"]*)"\)`).FindAllStringSubmatch(read(t, file), -1) {
			n++
			if p, ok := library.Page(m[1]); !ok || p.Title != m[2] {
				t.Errorf("%s links to %s with the text %q", file, m[1], p.Title)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d pages link to the documentation", n)
	}
}

// TestReadmeIsShort checks that README has at most 130 lines, which is about a page and a half.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(read(t, readme), "\n"); n > 130 {
		t.Errorf("README has %d lines", n)
	}
}

// TestDocsFlags checks that the table of flags has every flag of the server.
func TestDocsFlags(t *testing.T) {
	text := doc(t, "flags")
	for _, n := range nodes(t) {
		if n.Path() != "serve" && !strings.HasSuffix(n.Path(), " serve") {
			continue
		}
		for _, f := range n.Flags {
			if f.Name == "help" || f.Name == "version" || strings.HasPrefix(f.Name, "oidc-") {
				continue
			}
			if !strings.Contains(text, "`--"+f.Name+"`") && !strings.Contains(text, "`--"+f.Name+" ") {
				t.Errorf("--%s is missing", f.Name)
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
