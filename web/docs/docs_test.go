package docs_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"mayfly/views/page/admin"
	"mayfly/web/docs"
)

// library returns a Library of two short pages and a file, with links of every kind.
func library(base string) *docs.Library {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return docs.New(base, map[string]fs.FS{
		"cmd/mayfly/manual": fstest.MapFS{"first-minute.md": file(`# The first minute

<!-- mark -->
See [TLS](../../../web/certificate/tls.md#names), [here](#send-it), [the code](main.go), [all](../../../README.md), [a file](k.yaml) and <https://example.com>. <b>Not bold</b>

## Send it

` + "```sh\nmayfly send 'a' > b\n```" + `

| A | B |
| --- | --- |
| ` + "`x`" + ` | <script>alert(1)</script> |
`), "k.yaml": file("kind: Service\n")},
		"web": fstest.MapFS{"certificate/tls.md": file("# TLS\n\n## Names\n\nA certificate names the first hosts. İstanbul sends it.\n")},
	})
}

func TestPage(t *testing.T) {
	l := library("/mayfly")
	d, ok := l.Page("first-minute")
	if !ok || d.Title != "The first minute" || len(d.Contents) != 1 || d.Contents[0] != (admin.DocHeadline{Title: "Send it", Href: "#send-it"}) {
		t.Fatalf("%v %+v", ok, d)
	}
	if d.Next != (admin.DocLink{}) || d.Previous != (admin.DocLink{}) { // its neighbours in the list do not exist
		t.Errorf("the page is between %v and %v", d.Previous, d.Next)
	}
	var kinds []admin.DocKind
	var html strings.Builder
	for _, b := range d.Blocks {
		kinds = append(kinds, b.Kind)
		html.WriteString(b.HTML)
		if b.Kind == admin.DocCode && b.Text != "mayfly send 'a' > b" {
			t.Errorf("the code is %q", b.Text)
		}
	}
	if len(kinds) != 4 || kinds[0] != admin.DocText || kinds[1] != admin.DocHeading || kinds[2] != admin.DocCode || kinds[3] != admin.DocTable {
		t.Errorf("the blocks are %v", kinds)
	}
	for _, want := range []string{`<a href="/mayfly/docs/tls#names">TLS</a>`, `<a href="#send-it">here</a>`, `, the code,`, `<a href="/mayfly/docs">all</a>`, `<a href="/mayfly/docs/k.yaml">a file</a>`, `<a href="https://example.com">`} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("%s is missing in\n%s", want, html.String())
		}
	}
	for _, not := range []string{"<b>", "<script", "mark"} {
		if strings.Contains(html.String(), not) {
			t.Errorf("%s is unexpectedly in\n%s", not, html.String())
		}
	}
	if d, ok := l.Page("k.yaml"); !ok || len(d.Blocks) != 1 || d.Blocks[0].Text != "kind: Service" {
		t.Errorf("%v %+v", ok, d)
	}
	if _, ok := l.Page("main.go"); ok {
		t.Error("a file that is not embedded has a page")
	}
}

func TestSearch(t *testing.T) {
	l := library("")
	for query, want := range map[string]string{
		"TLS": "TLS The first minute", "first": "The first minute TLS", "names": "TLS", "send it": "The first minute TLS", "kind": "", "nothing": "", "first nothing": "", " ": "",
		"istanbul": "TLS", "ames": "", "cert": "TLS",
	} {
		var got []string
		for _, f := range l.Search(query) {
			got = append(got, f.Title)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	found := l.Search("certificate")
	if len(found) != 1 || len(found[0].Parts) != 1 {
		t.Fatalf("%+v", found)
	}
	p := found[0].Parts[0]
	if p.Href != "/docs/tls#names" || p.Title != "Names" || len(p.Text) < 3 || !p.Text[1].Hit || p.Text[1].Text != "certificate" {
		t.Errorf("%+v", p)
	}
}

func TestNoLibrary(t *testing.T) {
	for _, l := range []*docs.Library{nil, {}} {
		if _, ok := l.Page("x"); ok || l.Groups() != nil || l.Search("x") != nil {
			t.Error("the library has pages")
		}
	}
}
