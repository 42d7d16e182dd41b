package hook

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

func refuse(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

// Admit says whether a rule may have a webhook at an address, as far as the address
// tells: a name is looked up when it is used.
func (s *Sender) Admit(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return refuse("The address of a webhook begins with http:// or https:// and has a host.")
	case u.User != nil:
		return refuse("The address of a webhook has no name and password in it; give it a secret instead.")
	case u.Fragment != "":
		return refuse("The address of a webhook has no fragment.")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if at, err := netip.ParseAddr(host); err == nil {
		return s.allowed(at)
	}
	if !s.o.Private && (host == "localhost" || strings.HasSuffix(host, ".localhost")) {
		return errPrivate(host)
	}
	return nil
}

func errPrivate(host string) error {
	return refuse("'%s' is on this machine or in a private network; a server that others can reach posts there only with --allow-private-webhooks.", host)
}

// reserved are ranges that lead to places of their own, and those in which addresses
// of the other kind are written.
func reserved() []netip.Prefix {
	var all []netip.Prefix
	for _, p := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10"} {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// allowed says whether a connection may be made to an address.
func (s *Sender) allowed(at netip.Addr) error {
	at = at.Unmap().WithZone("")
	if at.IsLinkLocalUnicast() || at.IsMulticast() || at.IsUnspecified() || at.IsInterfaceLocalMulticast() {
		return refuse("'%s' is an address that no webhook can have.", at)
	}
	if s.o.Private {
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

// transport makes connections to what is allowed alone, and through no proxy: that
// would be one more place which decides where they go.
func (s *Sender) transport() http.RoundTripper {
	dial := net.Dialer{Timeout: patience, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("an address that cannot be read: %w", err)
		}
		return s.allowed(at.Addr())
	}}
	return &http.Transport{
		DialContext: dial.DialContext, TLSHandshakeTimeout: patience, ResponseHeaderTimeout: patience, MaxResponseHeaderBytes: 16 << 10,
		MaxConnsPerHost: 8, MaxIdleConns: 16, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
	}
}
