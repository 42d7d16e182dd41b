package origin

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Hosts are the names by which requests may call a listener. Its zero value allows loopback
// names only, including localhost and its subdomains. It must not be changed once in use, and
// so is safe for concurrent use.
type Hosts struct {
	// Listener is the listener's address, which is allowed. If it is unspecified (0.0.0.0,
	// ::), every address is allowed, because the listener has them all: a page can be rebound
	// to a name of its own, never to an address.
	Listener net.Addr
	// Allowed are further names, without a port, in any case.
	Allowed []string
	// Certified returns the names in the listener's certificate, in the certificate's form:
	// *.a.example is any one label below a.example. Nil means that it has no certificate. A
	// browser that has been rebound finds no certificate for the name of its page.
	Certified func() []string
}

// Check returns nil if the request names an allowed host, whatever its port: ports are mapped
// by containers and tunnels, and are no secret.
func (h Hosts) Check(r *http.Request) error {
	name := hostname(r.Host)
	if name == "" || !h.Has(name) {
		return &HostError{Host: r.Host}
	}
	return nil
}

// Has reports whether `name`, in lower case and without port and brackets, is a name of this server.
func (h Hosts) Has(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // reserved for loopback (RFC 6761, 6.3)
		return true
	}
	for _, a := range h.Allowed {
		if strings.EqualFold(strings.TrimSuffix(a, "."), name) {
			return true
		}
	}
	if h.certified(name) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && h.address(ip.Unmap().WithZone(""))
}

func (h Hosts) certified(name string) bool {
	if h.Certified == nil {
		return false
	}
	label, parent, _ := strings.Cut(name, ".")
	for _, c := range h.Certified() {
		if below, wild := strings.CutPrefix(c, "*."); wild && label != "" && strings.EqualFold(below, parent) || strings.EqualFold(c, name) {
			return true
		}
	}
	return false
}

func (h Hosts) address(ip netip.Addr) bool {
	if ip.IsLoopback() {
		return true
	}
	own, ok := h.Listener.(*net.TCPAddr)
	if !ok {
		return false
	}
	at := own.AddrPort().Addr().Unmap().WithZone("")
	return at.IsUnspecified() || at == ip
}

// hostname returns the name in a Host header in lower case, without its port, brackets and
// final dot.
func hostname(host string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// A HostError reports that a request named a host that is not allowed.
type HostError struct {
	Host string // as in the request; empty if there was none
}

func (e *HostError) Error() string {
	if e.Host == "" {
		return "The request names no host."
	}
	host := e.Host
	if len(host) > 128 {
		host = host[:128] + "…"
	}
	return fmt.Sprintf("This server does not answer to the host %q. To allow that host, start the server with --allow-host.", host)
}

// Status returns the status of the answer: 421, or 400 if there is no host at all.
func (e *HostError) Status() int {
	if e.Host == "" {
		return http.StatusBadRequest
	}
	return http.StatusMisdirectedRequest
}
