package main

import (
	"cmp"
	"os"
	"strings"

	"mayfly/engine"
	"mayfly/web/relay"
)

// advertised is what others are told while the namespace is this server's.
func (p *program) advertised() engine.Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "" // others are told the addresses
	}
	o := engine.Owner{
		Dashboard: cmp.Or(p.c.Advertise, addressAbroad(p.ports.dashboard.Addr())+p.c.BasePath), Admin: addressAbroad(p.ports.admin.Addr()), Host: host,
	}
	if at := p.ports.peer; at != nil {
		place := relay.PlaceOf(p.process, at.Addr(), host)
		if p.c.PeerAt != "" {
			place.Addresses = []string{p.c.PeerAt}
		}
		o.Peer = place.String()
	}
	if at := cmp.Or(p.ports.amqp, p.ports.amqps); at != nil {
		o.AMQP = strings.TrimPrefix(addressAbroad(at.Addr()), "http://")
	}
	return o
}

// nameOf is where people find an owner.
func nameOf(o engine.Owner) string { return cmp.Or(o.Dashboard, o.Host, "an unknown address") }
