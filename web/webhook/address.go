package webhook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"mayfly/engine"
)

// CheckAddress returns an error if a rule may not have a webhook at this address. A host name other
// than localhost is looked up and checked only when a connection is made.
func (s *Sender) CheckAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return engine.Refuse(engine.ErrArgument, "The address of a webhook must begin with http:// or https:// and have a host.")
	case u.User != nil:
		return engine.Refuse(engine.ErrArgument, "The address of a webhook must not have a name and password. Set a secret instead.")
	case u.Fragment != "":
		return engine.Refuse(engine.ErrArgument, "The address of a webhook must not have a fragment.")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if at, err := netip.ParseAddr(host); err == nil {
		return s.checkIP(at)
	}
	if !s.o.AllowPrivate && (host == "localhost" || strings.HasSuffix(host, ".localhost")) {
		return errPrivate(host)
	}
	return nil
}

func errPrivate(host string) error {
	return engine.Refuse(engine.ErrArgument, "'%s' is on this machine or in a private network; a server that others can reach sends webhooks there only with --allow-private-webhooks.", host)
}

// reservedPrefixes returns address ranges with special uses, and IPv6 ranges that embed IPv4
// addresses.
func reservedPrefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, p := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10"} {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// checkIP returns an error if no connection may be made to the address `at`.
func (s *Sender) checkIP(at netip.Addr) error {
	at = at.Unmap().WithZone("")
	if at.IsLinkLocalUnicast() || at.IsMulticast() || at.IsUnspecified() || at.IsInterfaceLocalMulticast() {
		return engine.Refuse(engine.ErrArgument, "'%s' cannot be the address of a webhook.", at)
	}
	if s.o.AllowPrivate {
		return nil
	}
	if at.IsLoopback() || at.IsPrivate() {
		return errPrivate(at.String())
	}
	for _, p := range s.reserved {
		if p.Contains(at) {
			return errPrivate(at.String())
		}
	}
	return nil
}

// transport returns a RoundTripper that connects only to allowed addresses. It uses no proxy, because
// a proxy could decide itself where a connection goes.
func (s *Sender) transport() http.RoundTripper {
	dial := net.Dialer{Timeout: requestTimeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("invalid address: %w", err)
		}
		return s.checkIP(at.Addr())
	}}
	return &http.Transport{
		DialContext: dial.DialContext, TLSHandshakeTimeout: requestTimeout, ResponseHeaderTimeout: requestTimeout, MaxResponseHeaderBytes: 16 << 10,
		MaxConnsPerHost: 8, MaxIdleConns: 16, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
	}
}
