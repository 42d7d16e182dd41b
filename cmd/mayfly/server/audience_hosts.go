package server

import (
	"net/url"
	"slices"
	"strings"

	"mayfly/web/auth/origin"
)

// audienceHosts returns a function that reports whether a token's audience may name this
// server by host. Beside loopback's names, these are --allow-host, --tls-name and the other
// names of the certificate, the host of --advertise, and the addresses of the listeners.
func (p ports) audienceHosts(c Config) func(host string) bool {
	allowed := slices.Clone(c.AllowHosts)
	if u, err := url.Parse(c.Advertise); err == nil && u.Hostname() != "" {
		allowed = append(allowed, u.Hostname())
	}
	var all []origin.Hosts
	for _, l := range p.clientListeners() {
		all = append(all, origin.Hosts{Listener: l.Addr(), Allowed: allowed, Certified: p.certificateNames})
	}
	return func(host string) bool {
		return slices.ContainsFunc(all, func(h origin.Hosts) bool { return h.Has(host) })
	}
}

// certificateNames returns the names of the certificate except *.servicebus.windows.net. The local
// CA's certificate covers that name, but this server does not have every namespace of the
// hosted service; sas.Names accepts the name of the namespace itself.
func (p ports) certificateNames() []string {
	if p.certificate == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.certificate.Names()), func(name string) bool {
		return strings.EqualFold(name, "*.servicebus.windows.net")
	})
}
