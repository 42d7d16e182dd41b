package ui

import (
	"mayfly/views/layout"
	"mayfly/web/identity"
)

// Where somebody who has signed in goes to end that, and an admin to see who has.
const (
	signOut  = "/logout"
	sessions = "/sessions"
)

// userOf is who as pages show it. Only who has signed in can sign out.
func userOf(who identity.Who, base string) layout.User {
	u := layout.User{Name: who.Name, Role: who.Role.String()}
	if who.Way == identity.Password || who.Way == identity.OIDC {
		u.Out = base + signOut
		if who.Role.May(identity.Admin) {
			u.Sessions = base + sessions
		}
	}
	return u
}
