package page

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Templates is the page of what forms of messages can be filled with. It stands still.
type Templates struct {
	Shell          layout.Shell
	Rows           []TemplateRow
	Rename, Remove string // addresses
	Queues         string // address of the queues, from which one sends

	Asked string // the one that could not be renamed; empty: none
	Typed string // the name that was to be its
	Error component.Text
}

// TemplateRow is one template.
type TemplateRow struct {
	Name    string
	Subject string
	Repeat  int   // how many messages it makes
	Size    int64 // bytes of its body as it is written
	Changed time.Time
	Now     time.Time
	Broken  string // why it cannot be read, in the server's own words; empty: it can
}

// Full is the page.
func (m Templates) Full() templ.Component { return templates(m) }

// Watches is nil; the page stands still.
func (m Templates) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m Templates) Parts() []view.Part { return m.Shell.Parts() }

// TemplateAsk asks whether a template is to be forgotten.
type TemplateAsk struct {
	Shell   layout.Shell
	Name    string
	To, All string // addresses
}

// Full is the page.
func (m TemplateAsk) Full() templ.Component { return templateAsk(m) }

// Asks is the form of the page.
func (m TemplateAsk) Asks() templ.Component { return templateAskForm(m) }

// Watches is nil; the page stands still.
func (m TemplateAsk) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m TemplateAsk) Parts() []view.Part { return m.Shell.Parts() }
