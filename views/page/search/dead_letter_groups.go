package search

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/view"
)

// DeadLetterGroups is the page of all dead letters of the namespace, grouped by reason. It is not
// live: a reload reads them again.
type DeadLetterGroups struct {
	Shell  layout.Shell
	Lede   []component.Text
	Groups []DeadLetterGroup
	N      int // dead letters that were examined
	Left   int // of these, in groups that are not shown
}

// A DeadLetterGroup is a group of dead letters with the same reason and error.
type DeadLetterGroup struct {
	page.Reason
	Error string // empty means none
}

// Full returns the whole page.
func (m DeadLetterGroups) Full() templ.Component { return deadLetterGroups(m) }

// Watches returns no entities: the page is not live.
func (m DeadLetterGroups) Watches() []string { return []string{} }

// Parts returns the live parts of the page.
func (m DeadLetterGroups) Parts() []view.Part { return m.Shell.Parts() }

// as returns the group's Reason with the group's error, if it has one, as the description.
func (g DeadLetterGroup) as() page.Reason {
	r := g.Reason
	if g.Error != "" {
		r.Description = g.Error
	}
	return r
}
