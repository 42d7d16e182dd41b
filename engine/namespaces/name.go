package namespaces

import (
	"net"
	"net/netip"
	"strings"

	"mayfly/engine"
)

// maxNameLength is the maximum length of a namespace's name, that of a DNS label.
const maxNameLength = 63

// ParseName returns a name in its normal form, lower case. A name is a DNS label: 1 to 63 letters,
// digits and hyphens, with a letter or digit at both ends (Azure Service Bus allows 6 to 50). It
// must not be the first label of an IP address, such as 127, or localhost. The error is
// engine.ErrArgument.
func ParseName(text string) (string, error) {
	name := strings.ToLower(text)
	switch {
	case name == "":
		return "", engine.Refuse(engine.ErrArgument, "A namespace needs a name.")
	case len(name) > maxNameLength:
		return "", engine.Refuse(engine.ErrArgument, "The name of a namespace must have at most %d characters, not %d.", maxNameLength, len(name))
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "", name[0] == '-', name[len(name)-1] == '-':
		return "", engine.Refuse(engine.ErrArgument, "'%s' cannot be the name of a namespace. Use letters, digits and hyphens, with a letter or digit at both ends.", text)
	case name == "localhost", strings.Trim(name, "0123456789") == "":
		return "", engine.Refuse(engine.ErrArgument, "'%s' cannot be the name of a namespace, because addresses of servers begin with it.", name)
	}
	return name, nil
}

// HostLabel returns the first label of a host, in lower case, which may name a namespace. host may
// have a port. The result is empty for an IP address and for an empty host.
func HostLabel(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ""
	}
	label, _, _ := strings.Cut(host, ".")
	return strings.ToLower(label)
}

// IsNamespaceHost reports whether a host has the form NAME.localhost, which always means this
// machine (RFC 6761, 6.3), so that it can only mean the namespace NAME. If that does not exist, no
// other namespace may answer. host may have a port.
func IsNamespaceHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, parent, _ := strings.Cut(strings.TrimSuffix(host, "."), ".")
	return strings.EqualFold(parent, "localhost") || strings.HasSuffix(strings.ToLower(parent), ".localhost")
}
