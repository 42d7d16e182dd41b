package list

import (
	"context"
	"strings"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Views is the page of saved views.
type Views struct {
	Shell layout.Shell
	New   string // address of the form for a new view
	Rows  []ViewRow
}

// A ViewRow is a view in the list.
type ViewRow struct {
	Name    string
	Columns []MessageColumn
	Lists   []string // lists it is for; empty means all
	Default bool
	Edit    string // address of its form
	Delete  string // address of the form that confirms its deletion
}

// listName returns the text id of a list's name.
func listName(list string) string {
	return listNames[list]
}

// listNames are the text ids of the names of lists.
var listNames = map[string]string{
	"messages": "entity.tab.messages", "scheduled": "entity.tab.scheduled", "deferred": "entity.tab.deferred", "locked": "entity.tab.locked",
	"dead-letter": "entity.tab.dead", "transfer": "entity.tab.transfer", "search": "search.title",
}

// lists returns the names of the lists that the view is for.
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

// Full returns the whole page.
func (m Views) Full() templ.Component { return views(m) }

// Watches returns no entities: the page is not live.
func (m Views) Watches() []string { return []string{} }

// Parts returns the live parts of the page.
func (m Views) Parts() []view.Part { return m.Shell.Parts() }

// The fields of the form of a view.
const (
	FieldViewName     = "name"
	FieldOriginalName = "was"     // its stored name
	FieldChangedAt    = "seen"    // when it was last changed, as of when the form was made
	FieldDefault      = "default" // the view is the default of its lists
	FieldList         = "list"    // a list that the view is for
	FieldShownColumn  = "show"    // a column of FieldColumn that is selected
	FieldAddedColumn  = "more"    // a column to add
	FieldTypedColumn  = "other"   // a typed column
	FieldAction       = "do"      // the action: one of those below; ViewUp and ViewDown are followed by a column
)

// The actions of the form of a view.
const (
	ViewSave  = "save"  // replace the stored view
	ViewAdd   = "add"   // save a new view
	ViewApply = "apply" // use without a name
	ViewMore  = "more"  // only add the selected columns
	ViewUp    = "up:"
	ViewDown  = "down:"
)

// ViewForm is the form that selects a list's columns and saves them as a view.
type ViewForm struct {
	Shell   layout.Shell
	To      string // the address it posts to
	Back    string // the list it was opened from; empty means none
	Cancel  string
	Name    string
	Was     string // its stored name; empty if there is none yet
	Seen    string
	Default bool
	Lists   []Checkbox
	Columns []Checkbox // in order
	More    []CheckboxGroup
	Other   string
	Errors  map[string]component.Text
	Refused component.Notice
}

// A Checkbox is a checkbox of the form, for a list or for a column.
type Checkbox struct {
	Value string
	Label string // empty means that Value is a field
	On    bool
}

// A CheckboxGroup is a group of checkboxes with a heading.
type CheckboxGroup struct {
	Label string // text id
	Ticks []Checkbox
}

func (t Checkbox) label(ctx context.Context) string {
	return MessageColumn{Name: t.Value, Label: t.Label}.label(ctx)
}

// note returns the column's name as views write it, or "" if the name is the label.
func (t Checkbox) note() string {
	if t.Label == "" {
		return ""
	}
	return component.ShowInvisible(t.Value)
}

// Full returns the whole page.
func (m ViewForm) Full() templ.Component { return viewForm(m) }

// Drawer returns the form for the side panel of a list.
func (m ViewForm) Drawer() templ.Component { return viewDrawer(m) }

// Watches returns no entities: the page is not live.
func (m ViewForm) Watches() []string { return []string{} }

// Parts returns the shell's parts: the form is not live.
func (m ViewForm) Parts() []view.Part { return m.Shell.Parts() }

// ConfirmDeleteView asks to confirm the deletion of a view.
type ConfirmDeleteView struct {
	Shell  layout.Shell
	To     string
	Cancel string
	Row    ViewRow
}

// Full returns the whole page.
func (m ConfirmDeleteView) Full() templ.Component { return confirmDeleteView(m) }

// Dialog returns the form of the page.
func (m ConfirmDeleteView) Dialog() templ.Component { return confirmDeleteViewForm(m) }

// Watches returns no entities: the page is not live.
func (m ConfirmDeleteView) Watches() []string { return []string{} }

// Parts returns the shell's parts: the confirmation form is not live.
func (m ConfirmDeleteView) Parts() []view.Part { return m.Shell.Parts() }

// first returns the action of the Enter key: show the columns, or save them.
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
