package cluster

import (
	"net"
	"slices"
	"strings"
)

// An Endpoint is where a server accepts connections of other servers.
type Endpoint struct {
	Name      string   // unique to the server: letters and digits
	Addresses []string // each a host and a port; at least one of them leads to the server
}

// String returns p in the form that ParseEndpoint parses: NAME@HOST:PORT,HOST:PORT.
func (p Endpoint) String() string { return p.Name + "@" + strings.Join(p.Addresses, ",") }

// ParseEndpoint parses an endpoint in the form of Endpoint.String, and reports whether it is valid.
func ParseEndpoint(text string) (p Endpoint, ok bool) {
	name, addresses, ok := strings.Cut(text, "@")
	if !ok || name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return Endpoint{}, false
	}
	p = Endpoint{Name: name, Addresses: strings.Split(addresses, ",")}
	for _, a := range p.Addresses {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return Endpoint{}, false
		}
	}
	return p, true
}

// maxAddresses is how many of the machine's addresses EndpointOf uses.
const maxAddresses = 4

// EndpointOf returns the endpoint of a listener: its address or, if it listens on all addresses,
// the machine's addresses that are not loopback, and the machine's name.
func EndpointOf(name string, at net.Addr, host string) Endpoint {
	p := Endpoint{Name: name, Addresses: []string{at.String()}}
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return p
	}
	_, port, _ := net.SplitHostPort(at.String()) //nolint:errcheck // an address of TCP has a port
	p.Addresses = nil
	all, _ := net.InterfaceAddrs() //nolint:errcheck // then only the name is left
	var local []string
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok, n.IP.IsLinkLocalUnicast():
		case n.IP.IsLoopback():
			local = append(local, net.JoinHostPort(n.IP.String(), port))
		case len(p.Addresses) < maxAddresses:
			p.Addresses = append(p.Addresses, net.JoinHostPort(n.IP.String(), port))
		}
	}
	if host != "" {
		p.Addresses = append(p.Addresses, net.JoinHostPort(host, port))
	}
	if len(p.Addresses) == 0 {
		p.Addresses = local
	}
	return Endpoint{Name: name, Addresses: slices.Compact(p.Addresses)}
}
