// Package docs makes the pages of documentation from Markdown files, which are embedded in the
// program: each is beside its subject in the tree, and links between files work in the tree as
// well as on the dashboard.
//
// Files contain no HTML, except comments that mark generated parts. A link to a file that is
// not part of the documentation becomes plain text.
package docs

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"mayfly/views/page/admin"
)

// At is the path of the list of pages, below the base path. The pages are below it.
const At = "/docs"

// A Library has the pages. Its zero value, and nil, has none. It is safe for concurrent use.
type Library struct {
	base  string
	files map[string][]byte // by path from the root of the module
	names map[string]string // path to name
	read  func() map[string]*doc
}

// A doc is a page with its text for the search.
type doc struct {
	admin.Doc
	sections []section
}

// A section is the text below one heading, or above the first one.
type section struct {
	title, anchor, text string
}

// New returns the library of the embedded files, by the folder of the tree that embeds them.
// It reads them at the first call of a method. Base is the base path of the dashboard.
func New(base string, folders map[string]fs.FS) *Library {
	l := &Library{base: base, files: map[string][]byte{}, names: map[string]string{}}
	for folder, in := range folders {
		err := fs.WalkDir(in, ".", func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := fs.ReadFile(in, at)
			file := path.Join(folder, at)
			l.files[file], l.names[file] = content, strings.ToLower(strings.TrimSuffix(path.Base(at), ".md"))
			return err
		})
		if err != nil {
			panic(err) // embedded: a failure here is a failure of the build
		}
	}
	l.read = sync.OnceValue(l.all)
	return l
}

// Files returns the names of all pages and other files, by the files' paths from the root of the
// module. The caller must not change the map.
func (l *Library) Files() map[string]string { return l.names }

// Groups returns the list of pages, with their titles.
func (l *Library) Groups() (out []admin.DocGroup) {
	if l == nil || l.read == nil {
		return nil
	}
	all := l.read()
	for _, g := range groups {
		of := admin.DocGroup{Words: g.words}
		for _, name := range g.pages {
			if d := all[name]; d != nil {
				of.Pages = append(of.Pages, admin.DocLink{Title: d.Title, Href: l.URL(name)})
			}
		}
		out = append(out, of)
	}
	return out
}

// URL returns the address of a page, including the base path.
func (l *Library) URL(name string) string { return l.base + At + "/" + name }

// Page returns a page without its shell.
func (l *Library) Page(name string) (admin.Doc, bool) {
	if l == nil || l.read == nil {
		return admin.Doc{}, false
	}
	d := l.read()[name]
	if d == nil {
		return admin.Doc{}, false
	}
	return d.Doc, true
}

// all parses every file.
func (l *Library) all() map[string]*doc {
	out := map[string]*doc{}
	for file, content := range l.files {
		name := l.names[file]
		if path.Ext(file) == ".md" {
			out[name] = l.parse(file, content)
			continue
		}
		out[name] = &doc{Doc: admin.Doc{Title: path.Base(file), File: file, Blocks: []admin.DocBlock{{Kind: admin.DocCode, Text: strings.TrimSuffix(string(content), "\n")}}}}
	}
	order := []string{}
	for _, g := range groups {
		order = append(order, g.pages...)
	}
	for i, name := range order {
		d := out[name]
		if d == nil {
			continue
		}
		if i > 0 && out[order[i-1]] != nil {
			d.Previous = admin.DocLink{Title: out[order[i-1]].Title, Href: l.URL(order[i-1])}
		}
		if i+1 < len(order) && out[order[i+1]] != nil {
			d.Next = admin.DocLink{Title: out[order[i+1]].Title, Href: l.URL(order[i+1])}
		}
	}
	return out
}

func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// parse makes a page of a Markdown file.
func (l *Library) parse(file string, source []byte) *doc {
	m := markdown()
	root := m.Parser().Parse(text.NewReader(source))
	l.relink(file, root)
	d := &doc{Doc: admin.Doc{Title: file, File: file}, sections: []section{{}}}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		last := &d.sections[len(d.sections)-1]
		switch n := n.(type) {
		case *ast.HTMLBlock: // a comment
		case *ast.Heading:
			title := plain(n, source)
			if n.Level == 1 {
				d.Title = title
				continue
			}
			id := idOf(n)
			d.Blocks = append(d.Blocks, admin.DocBlock{Kind: admin.DocHeading, Level: n.Level, ID: id, Text: title, HTML: render(m, source, n)})
			if n.Level <= 3 {
				d.Contents = append(d.Contents, admin.DocHeadline{Title: title, Href: "#" + id, Deep: n.Level == 3})
			}
			d.sections = append(d.sections, section{title: title, anchor: id})
		case *ast.FencedCodeBlock:
			code := strings.TrimSuffix(string(n.Lines().Value(source)), "\n")
			d.Blocks = append(d.Blocks, admin.DocBlock{Kind: admin.DocCode, Text: code, Language: string(n.Language(source))})
			last.text += " " + code
		case *extast.Table:
			d.Blocks = append(d.Blocks, admin.DocBlock{Kind: admin.DocTable, HTML: render(m, source, n)})
			last.text += " " + plain(n, source)
		default:
			d.Blocks = append(d.Blocks, admin.DocBlock{HTML: render(m, source, n)})
			last.text += " " + plain(n, source)
		}
	}
	return d
}

// idOf returns the anchor of a heading, which is the same as on GitHub.
func idOf(n ast.Node) string {
	if id, ok := n.AttributeString("id"); ok {
		if b, ok := id.([]byte); ok {
			return string(b)
		}
	}
	return ""
}

// whole matches code of at most 28 characters. Such code gets a class that keeps browsers from
// breaking it at the end of a line, as they would break --flags.
var whole = regexp.MustCompile(`<code>([^<]{1,28})</code>`)

const unbroken = `<code class="whole">$1</code>`

// render returns a block as HTML, without the element itself if it is a heading or a table.
func render(m goldmark.Markdown, source []byte, n ast.Node) string {
	var b bytes.Buffer
	if h, ok := n.(*ast.Heading); ok {
		for c := h.FirstChild(); c != nil; c = c.NextSibling() {
			if err := m.Renderer().Render(&b, source, c); err != nil {
				panic(fmt.Errorf("the documentation cannot be rendered: %w", err)) // writing to memory does not fail
			}
		}
		return whole.ReplaceAllString(b.String(), unbroken)
	}
	if err := m.Renderer().Render(&b, source, n); err != nil {
		panic(fmt.Errorf("the documentation cannot be rendered: %w", err)) // writing to memory does not fail
	}
	return whole.ReplaceAllString(b.String(), unbroken)
}

// plain returns the text of a block, for titles and the search.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { //nolint:errcheck // the function returns none
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(source))
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		default:
			if n.Type() == ast.TypeBlock && !entering {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// relink points the links of a file to pages of the dashboard.
func (l *Library) relink(file string, root ast.Node) {
	var links []*ast.Link
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { //nolint:errcheck // the function returns none
		if link, ok := n.(*ast.Link); ok && entering {
			links = append(links, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range links {
		to, known := l.target(file, string(link.Destination))
		if known {
			link.Destination = []byte(to)
			continue
		}
		for c := link.FirstChild(); c != nil; c = link.FirstChild() {
			link.Parent().InsertBefore(link.Parent(), link, c)
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
}

// target returns the address on the dashboard for a link in `file` to the address `to`. It reports
// false for a link to a file of the tree that is not part of the documentation.
func (l *Library) target(file, to string) (string, bool) {
	if strings.HasPrefix(to, "#") || strings.Contains(to, "://") {
		return to, true
	}
	to, anchor, has := strings.Cut(to, "#")
	at := path.Join(path.Dir(file), to)
	if at == "README.md" {
		return l.base + At, true
	}
	name, ok := l.names[at]
	if has {
		name += "#" + anchor
	}
	return l.URL(name), ok
}

// listed returns the names of all pages in the list.
func listed() (out []string) {
	for _, g := range groups {
		out = append(out, g.pages...)
	}
	return slices.Clip(out)
}
