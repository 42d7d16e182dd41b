package identity

import (
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
