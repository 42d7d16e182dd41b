package page

import (
	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/view"
)

// GoTo is the page that leads anywhere: pages, entities, messages, and what can be
// done. The script shows what it lists in a palette over whatever page is open.
type GoTo struct {
	Shell  layout.Shell
	Query  string // what somebody looks for; empty: the beginning
	From   string // the page it was opened from, as its address; empty: none
	Groups []GoGroup
}

// A GoGroup is a part of the list.
type GoGroup struct {
	Title string
	Items []GoItem
}

// A GoItem is somewhere to go or something to do: Href leads there, or Act is done
// by the script on the page that is open.
type GoItem struct {
	Label string
	Note  string // what else there is to know; may be empty
	Icon  string
	Href  string
	Act   GoAct // empty: Href is followed
	File  bool  // what Href leads to is a file
}

// A GoAct is something that the script does.
type GoAct string

// The acts there are.
const (
	GoTheme    GoAct = "theme"
	GoPause    GoAct = "pause"
	GoPresent  GoAct = "present"
	GoKeys     GoAct = "keys"
	GoRelative GoAct = "rel"
	GoLocal    GoAct = "local"
	GoUTC      GoAct = "utc"
)

// The words of its address, beside SearchText.
const GoFrom = "at"

// Full is the page.
func (m GoTo) Full() templ.Component { return goTo(m) }

// Found is the list alone.
func (m GoTo) Found() templ.Component { return goGroups(m) }

// Watches is empty: it stands still.
func (m GoTo) Watches() []string { return []string{} }

// Parts is what is live in the page.
func (m GoTo) Parts() []view.Part { return m.Shell.Parts() }
