package search

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/list"
	"mayfly/views/view"
)

// Search is a query over the messages of all entities, with its first results. It is not live:
// a reload searches again.
type Search struct {
	Shell layout.Shell
	Query string             // as typed; empty if there is none yet
	Wrong string             // error of the query, in the server's own words; empty if it is valid
	Chips []page.SearchChip  // its terms
	More  []component.Choice // terms to add, each with the address of the query that includes it
	Hits  []list.MessageRow  // of this batch

	Columns list.MessageColumns

	Progress    string           // progress: "scanned 12,400 of 50,000 · 31 hits"
	Cut         string           // text if bodies were only examined in part; empty if none were
	Next        string           // address of the next batch; empty if the search is complete
	Continued   bool             // not the first batch
	AllMatching list.AllMatching // all matches
}

// Full returns the whole page.
func (m Search) Full() templ.Component { return search(m) }

// Watches returns no entities: the page is not live.
func (m Search) Watches() []string { return []string{} }

// Parts returns the live parts of the page.
func (m Search) Parts() []view.Part {
	if m.Progress == "" {
		return m.Shell.Parts()
	}
	return append(m.Shell.Parts(), page.Slot("every", list.EveryBox(m.AllMatching)))
}

func (m Search) base() string { return m.Shell.Home + "/search" }
