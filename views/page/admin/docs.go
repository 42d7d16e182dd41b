package admin

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// DocsQuery is the query parameter with the search words.
const DocsQuery = "q"

// Docs is the list of the documentation's pages, or the result of a search in them. The pages
// are in English, whatever the language of the dashboard.
type Docs struct {
	Shell  layout.Shell
	At     string // its address
	Query  string // as typed; empty means the list
	Groups []DocGroup
	Found  []DocFound
	API    string // address of the reference of the JSON API
}

// A DocGroup is a part of the list.
type DocGroup struct {
	Words string // text id of its heading
	Pages []DocLink
}

// A DocLink leads to a page.
type DocLink struct{ Title, Href string }

// A DocFound is a page that a search found.
type DocFound struct {
	DocLink
	Parts []DocPart // its best sections
}

// A DocPart is a section of a page that a search found.
type DocPart struct {
	Title string // empty before the first heading
	Href  string
	Text  []DocPiece
}

// A DocPiece is a part of an excerpt.
type DocPiece struct {
	Text string
	Hit  bool // it is a word of the query
}

// A Doc is a page of the documentation.
type Doc struct {
	Shell    layout.Shell
	At       string // address of the list
	Title    string
	File     string // path of its source in the tree
	Contents []DocHeadline
	Blocks   []DocBlock
	Previous DocLink // zero if it is the first page
	Next     DocLink // zero if it is the last page
}

// A DocHeadline is an entry of a page's table of contents.
type DocHeadline struct {
	Title, Href string
	Deep        bool // below another heading
}

// A DocKind is a kind of block.
type DocKind uint8

// The kinds of blocks.
const (
	DocText DocKind = iota
	DocHeading
	DocTable
	DocCode
)

// A DocBlock is a part of a page.
type DocBlock struct {
	Kind     DocKind
	HTML     string // of text, tables and headings, without the heading's own tags; made from the program's own files
	Text     string // of code, and the plain text of headings
	Language string // of code; empty means none
	Level    int    // of headings
	ID       string // anchor of headings
}

// Title returns the page's title.
func (Docs) Title(ctx context.Context) string { return locale.T(ctx, "docs.title") }

// Full returns the whole page.
func (m Docs) Full() templ.Component { return docs(m) }

// Watches returns nil, because the page is not live.
func (Docs) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Docs) Parts() []view.Part { return m.Shell.Parts() }

// Full returns the whole page.
func (m Doc) Full() templ.Component { return doc(m) }

// Watches returns nil, because the page is not live.
func (Doc) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Doc) Parts() []view.Part { return m.Shell.Parts() }
