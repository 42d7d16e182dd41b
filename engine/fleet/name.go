package fleet

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"mayfly/engine"
)

// longestName is how long a namespace's name may be: a label of DNS.
const longestName = 63

// ParseName is a name in the one way it is kept: in lower case. A name is a label
// of DNS: 1 to 63 letters, digits and hyphens, with a letter or digit at either
// end (the hosted service: 6 to 50). It is none that an address begins with, such
// as 127 or localhost. The error is engine.ErrArgument.
func ParseName(text string) (string, error) {
	name := strings.ToLower(text)
	switch {
	case name == "":
		return "", refuseName("A namespace needs a name.")
	case len(name) > longestName:
		return "", refuseName("The name of a namespace has at most %d characters, not %d.", longestName, len(name))
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "", name[0] == '-', name[len(name)-1] == '-':
		return "", refuseName("The name of a namespace has letters, digits and hyphens, and a letter or digit at either end, not '%s'.", text)
	case name == "localhost", strings.Trim(name, "0123456789") == "":
		return "", refuseName("A namespace cannot be called '%s': addresses of servers begin so.", name)
	}
	return name, nil
}

func refuseName(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

// Label is what of a host, with or without a port, may name a namespace: its
// first label, in lower case. It is empty for an address and for none.
func Label(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ""
	}
	label, _, _ := strings.Cut(host, ".")
	return strings.ToLower(label)
}

// Meant tells whether a host, with or without a port, can mean nothing but the
// namespace that its label names: NAME.localhost, which leads to this machine and
// to nobody else's (RFC 6761, 6.3). Where there is no such namespace, nobody else
// is to answer.
func Meant(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, parent, _ := strings.Cut(strings.TrimSuffix(host, "."), ".")
	return strings.EqualFold(parent, "localhost") || strings.HasSuffix(strings.ToLower(parent), ".localhost")
}
