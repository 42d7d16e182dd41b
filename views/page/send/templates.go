package send

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Templates is the page of message templates. It is not live.
type Templates struct {
	Shell          layout.Shell
	Rows           []TemplateRow
	Rename, Remove string // addresses
	Queues         string // address of the queues, which lead to the send form

	Asked string // the template that could not be renamed; empty means none
	Typed string // the name typed for it
	Error component.Text
}

// TemplateRow is a template in the list.
type TemplateRow struct {
	Name    string
	Subject string
	Repeat  int   // how many messages it makes
	Size    int64 // bytes of its body, with placeholders
	Changed time.Time
	Now     time.Time
	Broken  string // why it cannot be read, in the server's own words; empty if it can be
}

// Full returns the whole page.
func (m Templates) Full() templ.Component { return templates(m) }

// Watches returns nil, because the page is not live.
func (m Templates) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Templates) Parts() []view.Part { return m.Shell.Parts() }

// ConfirmRemoveTemplate asks to confirm the deletion of a template.
type ConfirmRemoveTemplate struct {
	Shell   layout.Shell
	Name    string
	To, All string // addresses
}

// Full returns the whole page.
func (m ConfirmRemoveTemplate) Full() templ.Component { return confirmRemoveTemplate(m) }

// Dialog returns the form of the page.
func (m ConfirmRemoveTemplate) Dialog() templ.Component { return confirmRemoveTemplateForm(m) }

// Watches returns nil, because the page is not live.
func (m ConfirmRemoveTemplate) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m ConfirmRemoveTemplate) Parts() []view.Part { return m.Shell.Parts() }
