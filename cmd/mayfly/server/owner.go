package server

import (
	"cmp"
	"os"
	"strings"

	"mayfly/engine"
	"mayfly/web/cluster"
)

// advertised returns the addresses of this server that other servers use and show while it owns a
// namespace.
func (p *serverRun) advertised() engine.Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "" // other servers then use the addresses
	}
	o := engine.Owner{
		Dashboard: cmp.Or(p.config.Advertise, remoteURL(p.ports.dashboard.Addr())+p.config.BasePath), Admin: remoteURL(p.ports.admin.Addr()), Host: host,
	}
	if at := p.ports.peer; at != nil {
		place := cluster.EndpointOf(p.processID, at.Addr(), host)
		if p.config.PeerAdvertise != "" {
			place.Addresses = []string{p.config.PeerAdvertise}
		}
		o.Peer = place.String()
	}
	if at := cmp.Or(p.ports.amqp, p.ports.amqps); at != nil {
		o.AMQP = strings.TrimPrefix(remoteURL(at.Addr()), "http://")
	}
	return o
}

// ownerAddress returns the address at which people find an owner.
func ownerAddress(o engine.Owner) string { return cmp.Or(o.Dashboard, o.Host, "an unknown address") }
