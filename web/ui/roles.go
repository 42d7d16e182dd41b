package ui

import (
	"strings"

	"mayfly/web/auth"
	"mayfly/web/show"
)

// RequiredRole returns the role that a route of the dashboard requires, by its method and pattern.
// False means that there is no such route.
func RequiredRole(method, pattern string) (auth.Role, bool) {
	return show.RequiredRole(method, pattern)
}

// Allowed reports whether a role may open an address as pages write it, with the base path.
// Addresses outside the dashboard are for everybody.
func Allowed(role auth.Role, base, method, href string) bool {
	if role.Includes(auth.Admin) {
		return true
	}
	at, ok := strings.CutPrefix(href, base)
	if !ok {
		return true
	}
	r := show.Match(method, at)
	return r == nil || role.Includes(r.RequiredRole(method))
}
