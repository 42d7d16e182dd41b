package relay

import (
	"net"
	"slices"
	"strings"
)

// A Place is where a server takes what others pass on to it.
type Place struct {
	Name      string   // of the server, and of no other: letters and digits
	Addresses []string // each a host and a port; one of them leads there
}

// String is what ParsePlace reads: NAME@HOST:PORT,HOST:PORT.
func (p Place) String() string { return p.Name + "@" + strings.Join(p.Addresses, ",") }

// ParsePlace reads what a server has told of itself; not ok: it says of no place.
func ParsePlace(text string) (p Place, ok bool) {
	name, addresses, ok := strings.Cut(text, "@")
	if !ok || name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return Place{}, false
	}
	p = Place{Name: name, Addresses: strings.Split(addresses, ",")}
	for _, a := range p.Addresses {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return Place{}, false
		}
	}
	return p, true
}

// mostAddresses is how many a Place has that are found out.
const mostAddresses = 4

// PlaceOf is where a listener is to be found: at its address or, if it listens on all
// of the machine, at those that others may have it by, and at the machine's name.
func PlaceOf(name string, at net.Addr, host string) Place {
	p := Place{Name: name, Addresses: []string{at.String()}}
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return p
	}
	_, port, _ := net.SplitHostPort(at.String()) //nolint:errcheck // it is one
	p.Addresses = nil
	all, _ := net.InterfaceAddrs() //nolint:errcheck // then there is the name
	var local []string
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok, n.IP.IsLinkLocalUnicast():
		case n.IP.IsLoopback():
			local = append(local, net.JoinHostPort(n.IP.String(), port))
		case len(p.Addresses) < mostAddresses:
			p.Addresses = append(p.Addresses, net.JoinHostPort(n.IP.String(), port))
		}
	}
	if host != "" {
		p.Addresses = append(p.Addresses, net.JoinHostPort(host, port))
	}
	if len(p.Addresses) == 0 {
		p.Addresses = local
	}
	return Place{Name: name, Addresses: slices.Compact(p.Addresses)}
}
