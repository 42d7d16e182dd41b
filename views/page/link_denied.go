package page

import (
	"github.com/a-h/templ"

	"mayfly/views/layout"
)

// LinkDenied is the page for a visitor whose read-only link has ended, or who asks for a page
// that the link does not cover. It reveals nothing of the server.
type LinkDenied struct {
	Shell  layout.Shell
	Within string // the namespace that the link shows; empty if the link has ended
	To     string // where to continue
	SignIn bool   // To is the sign-in page
}

// Full returns the whole page.
func (m LinkDenied) Full() templ.Component { return linkDenied(m) }

// texts returns the text ids of the page's heading and explanation.
func (m LinkDenied) texts() (heading, why string) {
	if m.Within != "" {
		return "barred.within", "barred.within.why"
	}
	return "barred.over", "barred.over.why"
}

// leads returns the text id of the link's label.
func (m LinkDenied) leads() string {
	if m.SignIn {
		return "signin.title"
	}
	return "failure.home"
}
