package access

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Hosts are the names by which a listener may be called. Its zero value allows
// loopback names only, localhost and what is below it among them. It is not changed once in use, and so is safe for
// concurrent use.
type Hosts struct {
	// Listener is where it listens. Its address is allowed. Where that is
	// unspecified (0.0.0.0, ::), every address is, for the listener has them
	// all: a page can be rebound to a name of its own, never to an address.
	Listener net.Addr
	// Allowed are further names, without a port, in any case.
	Allowed []string
	// Certified are the names that the listener shows a certificate for, as that
	// has them: *.a.example is any one name below a.example. Nil: it shows none. A
	// browser that has been rebound finds no certificate for the name of its page.
	Certified func() []string
}

// Check returns nil if the request names one of ours, whatever its port: ports
// are mapped by containers and tunnels, and are no secret.
func (h Hosts) Check(r *http.Request) error {
	name := hostname(r.Host)
	switch name {
	case "":
		return &HostError{Host: r.Host}
	case "localhost":
		return nil
	}
	if strings.HasSuffix(name, ".localhost") { // nobody else can have one (RFC 6761, 6.3)
		return nil
	}
	for _, a := range h.Allowed {
		if strings.EqualFold(strings.TrimSuffix(a, "."), name) {
			return nil
		}
	}
	if h.certified(name) {
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil && h.address(ip.Unmap().WithZone("")) {
		return nil
	}
	return &HostError{Host: r.Host}
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

// hostname is a Host header's name in lower case, without its port, brackets
// and final dot; empty if it is none.
func hostname(host string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// A HostError says that a request named a host that is not ours.
type HostError struct {
	Host string // as it was given; empty if there was none
}

func (e *HostError) Error() string {
	if e.Host == "" {
		return "The request names no host."
	}
	host := e.Host
	if len(host) > 128 {
		host = host[:128] + "…"
	}
	return fmt.Sprintf("This server does not answer to the host %q. If it should, start it with --allow-host.", host)
}

// Status is what to answer: 421, or 400 where there is no host at all.
func (e *HostError) Status() int {
	if e.Host == "" {
		return http.StatusBadRequest
	}
	return http.StatusMisdirectedRequest
}
