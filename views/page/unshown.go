package page

import (
	"github.com/a-h/templ"

	"mayfly/views/layout"
)

// Unshown is what somebody reads who came by a read-only link that has ended, or looks
// for what it does not show. It says nothing of what is in here.
type Unshown struct {
	Shell  layout.Shell
	Within string // the namespace that the link shows; empty: the link has ended
	To     string // where to go from here
	SignIn bool   // which is where people sign in
}

// Full is the page.
func (m Unshown) Full() templ.Component { return unshown(m) }

// says are the ids of the page's heading, and of what is under it.
func (m Unshown) says() (heading, why string) {
	if m.Within != "" {
		return "barred.within", "barred.within.why"
	}
	return "barred.over", "barred.over.why"
}

// leads is the id of what leads on.
func (m Unshown) leads() string {
	if m.SignIn {
		return "signin.title"
	}
	return "failure.home"
}
