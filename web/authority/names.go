package authority

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// CheckName is a name or an address as a certificate has it: in lower case, and
// without a dot at its end. The error says what is wrong in a sentence.
func CheckName(text string) (string, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		if ip.Zone() != "" {
			return "", fmt.Errorf("a certificate cannot be for %q: an address in it has no zone", text)
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
		return "", fmt.Errorf("a certificate cannot be for %q: it is for a DNS name, which may begin with *. and one more, or for an address", text)
	}
	return name, nil
}

// split is DNS names and addresses apart.
func split(names []string) (dns []string, ips []net.IP) {
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			ips = append(ips, ip)
		} else {
			dns = append(dns, n)
		}
	}
	return dns, ips
}

// named is what a certificate is for.
func named(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// constraints are what a CA may sign certificates for.
type constraints struct {
	dns []string
	ips []*net.IPNet
}

// constrain is what it takes to be for names, and for what another CA could
// sign, if there is one.
func constrain(names []string, also *x509.Certificate) (c constraints) {
	dns, ips := split(names)
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

// apply writes the constraints into a certificate that is to be signed.
func (c constraints) apply(to *x509.Certificate) {
	to.PermittedDNSDomainsCritical = true
	to.PermittedDNSDomains, to.PermittedIPRanges = c.dns, c.ips
}
