// Package view defines what all pages of the dashboard have in common, so that the handler
// that serves whole pages and the hub that pushes their parts use the same types.
package view

import "github.com/a-h/templ"

// A Page can be rendered as a whole or in the parts that change while it is open. Both come
// from the same view model, so a pushed part never differs from the result of a reload.
type Page interface {
	// Full returns the whole document.
	Full() templ.Component
	// Parts returns the live parts of the page, in document order; empty for a page that is
	// not live.
	Parts() []Part
	// Watches returns the entities, as lower-case paths, whose events can change the page.
	// Nil means every event can.
	Watches() []string
}

// A Drawer is a page that the script can also show beside or over another page.
type Drawer interface {
	Page
	// Drawer returns what is shown there.
	Drawer() templ.Component
}

// A Lookup is a page of an object that may not exist.
type Lookup interface {
	Page
	// NotFound reports whether the page only says that its object does not exist.
	NotFound() bool
}

// A Part is a piece of a page that is sent to browsers by itself: either a slot, whose
// content is replaced as a whole, or a list of keyed rows.
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

// A Dialog is a page that asks for confirmation, or explains why an action was refused. The script
// shows it in a dialog over the page that links to it. Without the script it is a page of its own.
type Dialog interface {
	Page
	// Dialog returns the content of the dialog: an element of the class asking, with an
	// element that closes it (data-close).
	Dialog() templ.Component
}
