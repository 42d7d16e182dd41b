package page

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Failure says that something was refused or is not there. It stands still:
// Shell.Live is left empty.
type Failure struct {
	Shell   layout.Shell
	Status  int            // of the answer: 403, 404, 409, 422, 501, 503; others are told like 500
	Refused string         // what was refused, in a sentence; empty: what the status says
	Rule    string         // by which rule; empty: none is named
	Do      string         // what to do; empty: what the status says
	Go      component.Link // where to go from here; zero: the overview
}

// Full is the page.
func (m Failure) Full() templ.Component { return failure(m) }

// Watches is nil; the page stands still.
func (m Failure) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m Failure) Parts() []view.Part { return m.Shell.Parts() }
