package sas

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine/namespaces"
)

// Names are the hosts by which a token's audience may name one namespace. They depend on the
// server alone and not on headers of the request. The zero value has none.
//
// A host names the namespace by its label, as in NAME.localhost and
// NAME.servicebus.windows.net. A host of the server without a namespace's label, such as
// localhost, names the server's own namespace.
type Names struct {
	Namespace string
	// Own is set if hosts without a namespace's label name this namespace: it is the
	// server's own, or the client uses a port of this namespace.
	Own bool
	// IsServer reports whether host, in lower case and without a port, is a name or address
	// of the server beside loopback's. Nil means that the server has no others.
	IsServer func(host string) bool
	// IsOther reports whether label is the name of another namespace. Nil means that there
	// is none.
	IsOther func(label string) bool
	// Forwarded is set if another server forwarded the request. Any address counts then,
	// because this server does not know the addresses of the other.
	Forwarded bool
}

// ForwardedFrom returns the names for a client of another server, which forwards the request.
// own and hosts are that server's Own and its names.
func (n Names) ForwardedFrom(own bool, hosts []string) Names {
	server := n.IsServer
	n.Own, n.Forwarded = own, true
	n.IsServer = func(host string) bool { return slices.Contains(hosts, host) || server != nil && server(host) }
	return n
}

// Served returns the given hosts that are names or addresses of the server, in lower case, without a
// port and without duplicates. Another server passes them to ForwardedFrom.
func (n Names) Served(hosts ...string) (served []string) {
	for _, host := range hosts {
		if host, ok := parseHost(host); ok && n.isServer(host) && !slices.Contains(served, host) {
			served = append(served, host)
		}
	}
	return served
}

// serviceDomain is the domain of the hosted service's namespaces.
const serviceDomain = ".servicebus.windows.net"

// Has reports whether host, with or without a port, names the namespace.
func (n Names) Has(host string) bool {
	host, ok := parseHost(host)
	if !ok {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return n.Own && ip.Zone() == "" && (ip.IsLoopback() || n.Forwarded || n.isServer(ip.String()))
	}
	label := namespaces.HostLabel(host)
	named := n.Namespace != "" && label == strings.ToLower(n.Namespace)
	switch {
	case host == "localhost":
		return n.Own
	case namespaces.IsNamespaceHost(host):
		return named
	case host == label+serviceDomain && named:
		return true
	case !n.isServer(host):
		return false
	default:
		return named || n.Own && (n.IsOther == nil || !n.IsOther(label))
	}
}

func (n Names) isServer(host string) bool { return n.IsServer != nil && n.IsServer(host) }

// parseHost returns host in lower case, without port, brackets and final dot. It reports whether
// host is well-formed.
func parseHost(host string) (name string, ok bool) {
	name = strings.ToLower(host)
	if rest, bracketed := strings.CutPrefix(name, "["); bracketed {
		address, port, closed := strings.Cut(rest, "]")
		if ip, err := netip.ParseAddr(address); err != nil || !ip.Is6() {
			return "", false
		}
		return address, closed && (port == "" || port[0] == ':' && isPort(port[1:]))
	}
	if before, port, ported := strings.Cut(name, ":"); ported && !strings.Contains(port, ":") {
		if !isPort(port) {
			return "", false
		}
		name = before
	}
	name = strings.TrimSuffix(name, ".")
	return name, name != ""
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// schemes are the URL schemes of audiences.
var schemes = []string{
	"sb", "amqp", "amqps", "http", "https", "ws", "wss",
}

// splitAudience splits an audience, which is a URL with or without its scheme, into host and
// path. It reports whether the scheme is one of schemes or absent.
func splitAudience(audience string) (host, path string, ok bool) {
	if scheme, rest, has := strings.Cut(audience, "://"); has {
		if !slices.Contains(schemes, strings.ToLower(scheme)) {
			return "", "", false
		}
		audience = rest
	}
	audience, _, _ = strings.Cut(audience, "?")
	host, path, _ = strings.Cut(audience, "/")
	return host, path, true
}
