package page

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// DeadGroups is the page of all dead letters of the namespace, by what they died of.
// It stands still: a reload looks again.
type DeadGroups struct {
	Shell  layout.Shell
	Lede   []component.Text
	Groups []Group
	N      int // dead letters that were looked at
	Left   int // of these, in groups that are not shown
}

// A Group is dead letters with a reason and an error in common.
type Group struct {
	Reason
	Error string // empty: there is none
}

// Full is the page.
func (m DeadGroups) Full() templ.Component { return deadGroups(m) }

// Watches is empty: it stands still.
func (m DeadGroups) Watches() []string { return []string{} }

// Parts is what is live in the page.
func (m DeadGroups) Parts() []view.Part { return m.Shell.Parts() }

// as is the group as the list shows it: its error under its reason.
func (g Group) as() Reason {
	r := g.Reason
	if g.Error != "" {
		r.Description = g.Error
	}
	return r
}
