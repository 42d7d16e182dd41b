package certificate

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// CheckName returns a name or an address in the form of a certificate: in lower case, without
// a dot at its end. The error is a sentence.
func CheckName(text string) (string, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		if ip.Zone() != "" {
			return "", fmt.Errorf("a certificate cannot be for %q: an address must have no zone", text)
		}
		return ip.Unmap().String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	labels := strings.Split(strings.TrimPrefix(name, "*."), ".")
	ok := len(name) <= 253 && !(strings.HasPrefix(name, "*.") && len(labels) < 2)
	for _, l := range labels {
		ok = ok && l != "" && len(l) <= 63 && l[0] != '-' && l[len(l)-1] != '-' && strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
	}
	if !ok {
		return "", fmt.Errorf("a certificate cannot be for %q: the name must be an address or a DNS name (*.example.com is one, too)", text)
	}
	return name, nil
}

// splitNames separates DNS names from addresses.
func splitNames(names []string) (dns []string, ips []net.IP) {
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			ips = append(ips, ip)
		} else {
			dns = append(dns, n)
		}
	}
	return dns, ips
}

// namesOf returns the names of a certificate.
func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// constraints are the names that a CA may sign certificates for.
type constraints struct {
	dns []string
	ips []*net.IPNet
}

// newConstraints returns constraints that permit the given names, and those that the CA `also`
// permits, if it is not nil.
func newConstraints(names []string, also *x509.Certificate) (c constraints) {
	dns, ips := splitNames(names)
	for _, n := range dns {
		c.dns = append(c.dns, strings.TrimPrefix(n, "*."))
	}
	for _, ip := range ips {
		if v4 := ip.To4(); v4 != nil {
			ip = v4
		}
		c.ips = append(c.ips, &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))})
	}
	if also != nil {
		c.dns = append(c.dns, also.PermittedDNSDomains...)
		c.ips = append(c.ips, also.PermittedIPRanges...)
	}
	slices.Sort(c.dns)
	c.dns = slices.Compact(c.dns)
	slices.SortFunc(c.ips, func(a, b *net.IPNet) int { return strings.Compare(a.String(), b.String()) })
	c.ips = slices.CompactFunc(c.ips, func(a, b *net.IPNet) bool { return a.String() == b.String() })
	return c
}

// apply sets the constraints of a certificate before it is signed.
func (c constraints) apply(to *x509.Certificate) {
	to.PermittedDNSDomainsCritical = true
	to.PermittedDNSDomains, to.PermittedIPRanges = c.dns, c.ips
}
