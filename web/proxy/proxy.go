// Package proxy determines the client's address of a request or connection, and whether
// the client speaks TLS, from the headers of trusted proxies in front of the server. It is
// the only package that reads X-Forwarded-For, X-Forwarded-Proto and PROXY headers, which
// github.com/pires/go-proxyproto parses.
package proxy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Trusted are the networks of trusted proxies. The zero value trusts none. It is safe for
// concurrent use.
type Trusted []netip.Prefix

// Parse parses networks such as 10.0.0.0/8 and single addresses.
func Parse(given []string) (t Trusted, err error) {
	for _, g := range given {
		g = strings.TrimSpace(g)
		p, err := netip.ParsePrefix(g)
		if err != nil {
			var ip netip.Addr
			if ip, err = netip.ParseAddr(g); err == nil {
				p, err = ip.Unmap().Prefix(ip.Unmap().BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither a network such as 10.0.0.0/8 nor an address", g)
		}
		t = append(t, p.Masked())
	}
	return t, nil
}

// Has reports whether address, which has no port, is that of a trusted proxy.
func (t Trusted) Has(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && t.has(ip)
}

func (t Trusted) has(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for _, p := range t {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// secureKey is the context key that records that the client speaks TLS with the trusted
// proxy.
type secureKey struct{}

// forwarded are the headers in which proxies describe the client.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"} //nolint:gochecknoglobals // not changed

// Request returns r with the client's address as RemoteAddr, if a trusted proxy names the
// client; otherwise RemoteAddr stays that of the connection. It removes the headers in
// which proxies describe clients, so that no other code trusts them by mistake.
func (t Trusted) Request(r *http.Request) *http.Request {
	ip, trusted := t.Client(r)
	proto := r.Header.Values("X-Forwarded-Proto")
	for _, h := range forwarded {
		if _, ok := r.Header[h]; ok {
			r.Header.Del(h)
		}
	}
	if !trusted {
		return r
	}
	ctx := r.Context()
	if n := len(proto); n > 0 && strings.EqualFold(lastElement(proto[n-1]), "https") {
		ctx = context.WithValue(ctx, secureKey{}, true)
	}
	out := r.WithContext(ctx)
	if ip != "" {
		out.RemoteAddr = net.JoinHostPort(ip, "0") // the header has no port
	}
	return out
}

// Client returns the client's address from X-Forwarded-For, and whether the request comes
// from a trusted proxy at all. Each proxy appends its peer's address at the end of the list, so
// Client reads the list backwards, past addresses of trusted proxies. It returns the first other
// address, because those before it may be forged, or else the last valid address that it read, or "".
func (t Trusted) Client(r *http.Request) (address string, trusted bool) {
	if len(t) == 0 || !t.Has(Address(r)) {
		return "", false
	}
	all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(all) {
		ip, ok := parse(text)
		if !ok {
			break // the rest may be forged
		}
		address = ip.String()
		if !t.has(ip) {
			break
		}
	}
	return address, true
}

// parse parses an address with or without a port.
func parse(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if ip, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return ip.Unmap(), true
	}
	at, err := netip.ParseAddrPort(text)
	return at.Addr().Unmap(), err == nil
}

// lastElement returns the last element of a list in a header, which the nearest proxy has added.
func lastElement(list string) string {
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}

// Secure reports whether the client of r speaks TLS, with this server or with a trusted
// proxy in front of it. It decides about https in links and Secure in cookies.
func Secure(r *http.Request) bool {
	secure, _ := r.Context().Value(secureKey{}).(bool)
	return secure || r.TLS != nil
}

// Origin returns the scheme and host by which the client of r reaches the server, as far as
// the server can tell, such as https://bus.example:8443.
func Origin(r *http.Request) string {
	if Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Address returns the address of the client of a request, without the port.
func Address(r *http.Request) string { return Host(r.RemoteAddr) }

// Host returns an address without its port.
func Host(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// Network returns the key under which a client's address, without port, is counted: an
// IPv4 address itself, and of an IPv6 address its /64, the network of one subscriber.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return ip.String()
	}
	net, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return net.String()
}
