package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"

	"mayfly/engine/fleet"
	"mayfly/web"
)

// What a namespace can have a port for, each called as the flag of the port that is for
// all namespaces.
const (
	kindAMQP  = "amqp"
	kindAMQPS = "amqps"
	kindAdmin = "admin"
	kindHTTPS = "https"
)

// A Listen is a port that belongs to one namespace, whatever host its clients name.
type Listen struct {
	Namespace string // in lower case; there may be none called so, yet
	Kind      string // one of the above
	Address   string
}

// flag is what comes before the address on the command line.
func (l Listen) flag() string { return "--listen " + l.Namespace + "=" + l.Kind + ":" }

// secure tells whether clients speak TLS.
func (l Listen) secure() bool { return l.Kind == kindAMQPS || l.Kind == kindHTTPS }

// parseListen reads --listen flags.
func parseListen(given []string) (all []Listen, err error) {
	for _, g := range given {
		name, rest, named := strings.Cut(strings.TrimSpace(g), "=")
		kind, address, ok := strings.Cut(rest, ":")
		if !named || !ok || !slices.Contains([]string{kindAMQP, kindAMQPS, kindAdmin, kindHTTPS}, kind) {
			return nil, fmt.Errorf("--listen is written NAMESPACE=KIND:ADDRESS, such as shop=amqp:127.0.0.1:5673, where KIND is amqp, amqps, admin or https, not %q", g)
		}
		if name, err = fleet.ParseName(name); err != nil {
			return nil, fmt.Errorf("--listen %s: %w", g, err)
		}
		all = append(all, Listen{Namespace: name, Kind: kind, Address: address})
	}
	return all, nil
}

// A port is one of a Listen.
type port struct {
	Listen
	net.Listener
}

// shared is the port of a kind that is for all namespaces; nil: there is none.
func (p ports) shared(kind string) net.Listener {
	switch kind {
	case kindAMQP:
		return p.amqp
	case kindAMQPS:
		return p.amqps
	case kindAdmin:
		return p.admin
	case kindHTTPS:
		return p.https
	default:
		panic("there is no port of kind " + kind)
	}
}

// reached is where clients come to a namespace, at a port of a kind, and what they call
// this machine there, so that they mean no other: localhost where the port is its own.
// Nil: nowhere.
func (p ports) reached(name, kind string) (at net.Addr, host string) {
	l, its := p.shared(kind), slices.IndexFunc(p.its, func(o port) bool { return o.Kind == kind && strings.EqualFold(o.Namespace, name) })
	switch {
	case l != nil && name == p.own:
		return l.Addr(), "localhost"
	case its >= 0:
		return p.its[its].Addr(), "localhost"
	case l != nil:
		return l.Addr(), name + ".localhost"
	default:
		return nil, ""
	}
}

// forClients are all listeners but that of other servers.
func (p ports) forClients() (all []net.Listener) {
	for _, l := range []net.Listener{p.dashboard, p.admin, p.amqp, p.amqps, p.https} {
		if l != nil {
			all = append(all, l)
		}
	}
	for _, o := range p.its {
		all = append(all, o.Listener)
	}
	return all
}

// forAdmin are the listeners that the admin port's answers are to be had at.
func (p ports) forAdmin() []net.Listener {
	all := []net.Listener{p.admin}
	secure := func(l net.Listener, namespace string) {
		all = append(all, web.Port{Listener: tls.NewListener(l, p.authority.Config("http/1.1")), Names: p.authority.Names, Namespace: namespace})
	}
	if p.https != nil {
		secure(p.https, "")
	}
	for _, o := range p.its {
		switch o.Kind {
		case kindAdmin:
			all = append(all, web.Port{Listener: o.Listener, Namespace: o.Namespace, AMQPAt: p.placeOfAMQP(o.Namespace)})
		case kindHTTPS:
			secure(o.Listener, o.Namespace)
		}
	}
	return all
}

// forAMQP are the listeners that AMQP is spoken at, those for all namespaces first.
func (p ports) forAMQP() (all []port) {
	secure := func(l net.Listener) net.Listener { return tls.NewListener(l, p.authority.Config()) }
	if p.amqp != nil {
		all = append(all, port{Listener: p.amqp})
	}
	if p.amqps != nil {
		all = append(all, port{Listener: secure(p.amqps)})
	}
	for _, o := range p.its {
		switch o.Kind {
		case kindAMQP:
			all = append(all, o)
		case kindAMQPS:
			all = append(all, port{o.Listen, secure(o.Listener)})
		}
	}
	return all
}

// placeOfAMQP is where AMQP is for clients of a namespace, in words; empty: nowhere.
func (p ports) placeOfAMQP(name string) string {
	for _, o := range [][2]string{{kindAMQP, ""}, {kindAMQPS, ", with TLS"}} {
		at, host := p.reached(name, o[0])
		switch {
		case at == nil:
		case host == "localhost":
			return at.String() + o[1]
		default:
			return at.String() + o[1] + ", by the name " + host
		}
	}
	return ""
}
