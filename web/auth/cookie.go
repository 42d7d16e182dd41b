package auth

import (
	"cmp"
	"net"
	"net/http"

	"mayfly/web/proxy"
)

// SetCookie adds c to the answer to r, as Secure if the client speaks TLS with this server
// or with a trusted proxy. All cookies of the dashboard's port are set here, so that no
// cookie that was set over TLS travels in the clear.
func SetCookie(w http.ResponseWriter, r *http.Request, c *http.Cookie) {
	c.Secure = proxy.Secure(r)
	http.SetCookie(w, c)
}

// CookieName returns a cookie's name in answers to r, which differs for each port of a host:
// browsers send cookies to all ports of a host, and two servers on one machine must not share them.
func CookieName(r *http.Request, name string) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "_" + port
	}
	return name
}

// CookiePath returns the path of a cookie that all of the dashboard needs, by the path that
// the dashboard is served under: other servers may be beside it at the same port.
func CookiePath(base string) string { return cmp.Or(base, "/") }
