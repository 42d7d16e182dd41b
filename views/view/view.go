// Package view says what every page of the dashboard has in common, so that
// the handler that serves a page whole and the hub that pushes its parts speak
// of the same thing.
package view

import "github.com/a-h/templ"

// A Page can be rendered whole or in the parts that change while somebody
// looks at it. The same view model answers both, so a pushed part never
// differs from what a reload would show.
type Page interface {
	// Full is the whole document.
	Full() templ.Component
	// Parts is what is live in the page, in document order; empty for a page
	// that stands still.
	Parts() []Part
	// Watches names the entities, as lower-case paths, whose events can change
	// the page. Nil means every event can.
	Watches() []string
}

// A Part is a piece of a page that is sent to browsers by itself: either a
// slot, whose content is replaced as a whole, or a list of keyed rows.
type Part struct {
	Name string          // unique within its page; the markup's data-slot or data-list
	Slot templ.Component // the slot's new content; nil for a list
	Rows []Row           // the list's rows in order; unused for a slot
}

// A Row is one element of a list.
type Row struct {
	Key     string          // unique within its list; the element's data-key
	Content templ.Component // the element itself
}

// An Asker is a page that asks before something is done, or says why it was not.
// The script shows it over the page that leads to it; without one it is a page.
type Asker interface {
	Page
	// Asks is what the page asks: an element of the class asking, with a way to
	// leave it (data-close).
	Asks() templ.Component
}
