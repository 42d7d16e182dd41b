package page

import (
	"context"
	"strings"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Views is the page of the columns that have names.
type Views struct {
	Shell layout.Shell
	New   string // address of the form for a new one
	Rows  []ViewRow
}

// A ViewRow is one view.
type ViewRow struct {
	Name    string
	Columns []MessageColumn
	Lists   []string // that it is for; empty: all
	Default bool
	Edit    string // address of its form
	Delete  string // address that asks before it goes
}

// listName is the id of what a list is called.
func listName(list string) string {
	return map[string]string{
		"messages": "entity.tab.messages", "scheduled": "entity.tab.scheduled", "deferred": "entity.tab.deferred", "locked": "entity.tab.locked",
		"dead-letter": "entity.tab.dead", "transfer": "entity.tab.transfer", "search": "search.title",
	}[list]
}

// lists says for which lists the view is.
func (r ViewRow) lists(ctx context.Context) string {
	if len(r.Lists) == 0 {
		return locale.T(ctx, "views.lists.all")
	}
	var words []string
	for _, l := range r.Lists {
		words = append(words, locale.T(ctx, listName(l)))
	}
	return strings.Join(words, ", ")
}

// Full is the page.
func (m Views) Full() templ.Component { return views(m) }

// Watches is empty: it stands still.
func (m Views) Watches() []string { return []string{} }

// Parts is what is live in the page.
func (m Views) Parts() []view.Part { return m.Shell.Parts() }

// The fields of the form of a view.
const (
	AskName    = "name"
	AskWas     = "was"     // the name it has
	AskSeen    = "seen"    // when it was changed, as the form knows it
	AskDefault = "default" // every list it is for shows it
	AskList    = "list"    // one of those it is for
	AskShow    = "show"    // one of AskColumn that is ticked
	AskMore    = "more"    // a column that is to be added
	AskOther   = "other"   // one that was typed
	AskDeed    = "do"      // what is to be done: see the deeds below, and ViewUp and ViewDown with a column after them
)

// What the form of a view does.
const (
	ViewSave  = "save"  // in the place of the one it was
	ViewAdd   = "add"   // as a new one
	ViewApply = "apply" // without a name
	ViewMore  = "more"  // only take what was ticked to the columns
	ViewUp    = "up:"
	ViewDown  = "down:"
)

// ViewForm asks which columns a list has, and what they are called together.
type ViewForm struct {
	Shell   layout.Shell
	To      string // the address it posts to
	Back    string // the list it was opened from; empty: none
	Cancel  string
	Name    string
	Was     string // the name it has; empty: none so far
	Seen    string
	Default bool
	Lists   []Tick
	Columns []Tick // in order
	More    []TickGroup
	Other   string
	Errors  map[string]component.Text
	Refused component.Notice
}

// A Tick is something to be ticked.
type Tick struct {
	Value string
	Label string // empty: Value is a field
	On    bool
}

// A TickGroup is several under a heading.
type TickGroup struct {
	Label string // id of it
	Ticks []Tick
}

func (t Tick) label(ctx context.Context) string {
	return MessageColumn{Name: t.Value, Label: t.Label}.label(ctx)
}

// note is how a column is written, where its label does not say so.
func (t Tick) note() string {
	if t.Label == "" {
		return ""
	}
	return component.Visible(t.Value)
}

// Full is the page.
func (m ViewForm) Full() templ.Component { return viewForm(m) }

// Drawer is the form beside the list it was opened from.
func (m ViewForm) Drawer() templ.Component { return viewDrawer(m) }

// Watches is none: a form stays as it is.
func (m ViewForm) Watches() []string { return []string{} }

// Parts is what stands around the form.
func (m ViewForm) Parts() []view.Part { return m.Shell.Parts() }

// DropView asks before a view goes.
type DropView struct {
	Shell  layout.Shell
	To     string
	Cancel string
	Row    ViewRow
}

// Full is the page.
func (m DropView) Full() templ.Component { return dropView(m) }

// Asks is the form of the page.
func (m DropView) Asks() templ.Component { return dropViewForm(m) }

// Watches is empty: it stands still.
func (m DropView) Watches() []string { return []string{} }

// Parts is what stands around the question.
func (m DropView) Parts() []view.Part { return m.Shell.Parts() }

// first is what Enter does: the list shows the columns, or they are saved.
func (m ViewForm) first() string {
	switch {
	case m.Back != "":
		return ViewApply
	case m.Was != "":
		return ViewSave
	default:
		return ViewAdd
	}
}
