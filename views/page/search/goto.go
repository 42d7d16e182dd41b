package search

import (
	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/view"
)

// GoTo is the go-to page: pages, entities, messages and actions. The script shows its list in
// a palette over any page.
type GoTo struct {
	Shell  layout.Shell
	Query  string // the query; empty if nothing is typed
	From   string // address of the page it was opened from; empty means none
	Groups []GoGroup
}

// A GoGroup is a group of the list.
type GoGroup struct {
	Title string
	Items []GoItem
}

// A GoItem is a page to open or an action: Href is the page's address, or the script performs
// Action on the open page.
type GoItem struct {
	Label  string
	Note   string // additional information; may be empty
	Icon   string
	Href   string
	Action GoAction // empty means that Href is opened
	File   bool     // Href is a file
}

// A GoAction is an action of the script.
type GoAction string

// The actions.
const (
	GoTheme    GoAction = "theme"
	GoPause    GoAction = "pause"
	GoPresent  GoAction = "present"
	GoKeys     GoAction = "keys"
	GoRelative GoAction = "rel"
	GoLocal    GoAction = "local"
	GoUTC      GoAction = "utc"
)

// GoFrom is the query parameter with the address of the page that the go-to page was opened
// from.
const GoFrom = "at"

// Full returns the whole page.
func (m GoTo) Full() templ.Component { return goTo(m) }

// Drawer returns only the list, for the palette.
func (m GoTo) Drawer() templ.Component { return goGroups(m) }

// Watches returns no entities: the page is not live.
func (m GoTo) Watches() []string { return []string{} }

// Parts returns the live parts of the page.
func (m GoTo) Parts() []view.Part { return m.Shell.Parts() }
