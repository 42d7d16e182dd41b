package ui

import (
	"mayfly/views/layout"
	"mayfly/web/identity"
)

// Where somebody who has signed in goes to end that, who looks by a link to look as
// somebody else again, and an admin to see who has signed in.
const (
	signOut   = "/logout"
	leaveLink = "/l/leave"
	sessions  = "/sessions"
)

// userOf is who as pages show it. Only who has signed in can sign
// out, and who looks by a link can leave it.
func userOf(who identity.Who, base string) layout.User {
	u := layout.User{Name: who.Name, Role: who.Role.String()}
	if who.Way == identity.Link {
		u.Leave = base + leaveLink
	}
	if who.Way == identity.Password || who.Way == identity.OIDC {
		u.Out, u.Tokens = base+signOut, base+layout.TokensAt
		if who.Role.May(identity.Admin) {
			u.Sessions = base + sessions
		}
	}
	return u
}
