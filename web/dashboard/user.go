package dashboard

import (
	"mayfly/views/layout"
	"mayfly/web/auth"
)

// The addresses where a user signs out, where a link visitor drops the link, and where an
// admin lists sessions.
const (
	signOutPath        = "/logout"
	leaveLinkPath      = "/l/leave"
	signInSessionsPath = "/sessions"
)

// displayedUser returns the caller `who` for display on pages. Only a user with a session can sign
// out, and only a link visitor can drop the link.
func displayedUser(who auth.Caller, base string) layout.User {
	u := layout.User{Name: who.Name, Role: who.Role.String()}
	if who.Method == auth.Link {
		u.DropLink = base + leaveLinkPath
	}
	if who.Method == auth.Password || who.Method == auth.OIDC {
		u.SignOut, u.Tokens = base+signOutPath, base+layout.TokensPath
		if who.Role.Includes(auth.Admin) {
			u.Sessions = base + signInSessionsPath
		}
	}
	return u
}
