package page

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Search is one query over the messages of all entities, and the first of what
// it found. It stands still: a reload asks again.
type Search struct {
	Shell layout.Shell
	Query string             // as it was typed; empty: nothing was asked for yet
	Wrong string             // why it is not a query, in the server's own words; empty: it is one
	Chips []SearchChip       // its terms
	More  []component.Choice // terms to add, each an address with it
	Hits  []MessageRow       // of this portion

	Columns MessageColumns

	Said  string // how far it came: "scanned 12,400 of 50,000 · 31 hits"
	Cut   string // what is said of bodies that were looked at in part; empty: none were
	Next  string // address of what follows; empty: everything was looked at
	Going bool   // it is not the first portion
	Every Every  // all that match
}

// A SearchChip is a term of a query and the address of the query without it.
type SearchChip struct{ Term, Without string }

// The words of the address of a search.
const (
	SearchText  = "q"
	SearchAfter = "after" // where to go on
	SearchSo    = "so"    // what was scanned, of how many, and found until there
)

// Full is the page.
func (m Search) Full() templ.Component { return search(m) }

// Watches is empty: it stands still.
func (m Search) Watches() []string { return []string{} }

// Parts is what is live in the page.
func (m Search) Parts() []view.Part {
	if m.Said == "" {
		return m.Shell.Parts()
	}
	return append(m.Shell.Parts(), slot("every", everyBox(m.Every)))
}

func (m Search) base() string { return m.Shell.Home + "/search" }
