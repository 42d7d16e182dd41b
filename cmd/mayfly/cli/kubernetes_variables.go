package cli

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A serviceLink is a kind of variable that Kubernetes injects into containers for each
// Service. Here the name of the Service begins with mayfly: mayfly, mayfly-amqp, mayfly-0.
type serviceLink struct {
	suffix *regexp.Regexp // of the name, after the Service's
	valid  func(value string) bool
}

// serviceLinks are all kinds of these variables. One name may match several: MAYFLY_SERVICE_PORT
// is a number for the Service mayfly, and an address for mayfly-service.
var serviceLinks = []serviceLink{
	{regexp.MustCompile(`_(?:SERVICE_HOST|PORT_[0-9]+_(?:TCP|UDP|SCTP)_ADDR)$`), isAddress},
	{regexp.MustCompile(`_(?:SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)_PORT)$`), isPort},
	{regexp.MustCompile(`_PORT_[0-9]+_(?:TCP|UDP|SCTP)_PROTO$`), isProtocol},
	{regexp.MustCompile(`_PORT(?:_[0-9]+_(?:TCP|UDP|SCTP))?$`), isURL},
}

// isServiceLink reports whether a variable looks like one that Kubernetes injects, by its
// name and its value: MAYFLY_PORT=tcp://10.0.0.1:5672 does, MAYFLY_PORT=8080 is a user's
// mistake. A test checks that no flag's variable has such a name, because a cluster would
// set that flag.
func isServiceLink(name, value string) bool {
	return slices.ContainsFunc(serviceLinks, func(l serviceLink) bool { return l.matchesName(name) && l.valid(value) })
}

func (l serviceLink) matchesName(name string) bool {
	return strings.HasPrefix(name, "MAYFLY_") && l.suffix.MatchString(name)
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isProtocol(u.Scheme) && isPort(u.Port()) && u.Hostname() != ""
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

func isProtocol(text string) bool { return text == "tcp" || text == "udp" || text == "sctp" }

// IsServiceLinkName reports whether Kubernetes sets a variable of this name for a Service.
func IsServiceLinkName(name string) bool {
	return slices.ContainsFunc(serviceLinks, func(l serviceLink) bool { return l.matchesName(name) })
}
