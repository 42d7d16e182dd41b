package identity

import (
	"cmp"
	"net"
	"net/http"
)

// CookieName is what a cookie of that name is called in answers to r: something else for
// each port of a host. Browsers do not tell ports apart, and two servers on one machine
// are two.
func CookieName(r *http.Request, name string) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "_" + port
	}
	return name
}

// CookiePath is where a cookie is for that all of the dashboard has to get, by the path
// that the dashboard is served under: beside it there may be others at the same port.
func CookiePath(base string) string { return cmp.Or(base, "/") }
