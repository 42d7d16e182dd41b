package server

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"mayfly/engine/namespaces"
	"mayfly/web"
)

// Kinds of ports of one namespace, named like the flags of the shared ports.
const (
	KindAMQP  = "amqp"
	KindAMQPS = "amqps"
	KindAdmin = "admin"
	KindHTTPS = "https"
)

// A NamespacePort is a port of one namespace, whatever host name its clients use.
type NamespacePort struct {
	Namespace string // in lower case; the namespace may not exist yet
	Kind      string // KindAMQP, KindAMQPS, KindAdmin or KindHTTPS
	Address   string
}

// flag returns the part of the flag before the address.
func (l NamespacePort) flag() string { return "--listen " + l.Namespace + "=" + l.Kind + ":" }

// usesTLS reports whether the port uses TLS.
func (l NamespacePort) usesTLS() bool { return l.Kind == KindAMQPS || l.Kind == KindHTTPS }

// parseListen parses --listen flags.
func parseListen(given []string) (all []NamespacePort, err error) {
	for _, g := range given {
		name, rest, named := strings.Cut(strings.TrimSpace(g), "=")
		kind, address, ok := strings.Cut(rest, ":")
		if !named || !ok || !slices.Contains([]string{KindAMQP, KindAMQPS, KindAdmin, KindHTTPS}, kind) {
			return nil, fmt.Errorf("--listen must be NAMESPACE=KIND:ADDRESS, such as shop=amqp:127.0.0.1:5673, where KIND is amqp, amqps, admin or https, not %q", g)
		}
		if name, err = namespaces.ParseName(name); err != nil {
			return nil, fmt.Errorf("--listen %s: %w", g, err)
		}
		all = append(all, NamespacePort{Namespace: name, Kind: kind, Address: address})
	}
	return all, nil
}

// An openPort is an open listener, of one namespace unless NamespacePort is zero.
type openPort struct {
	NamespacePort
	net.Listener
}

// sharedListener returns the port of a kind that all namespaces share, or nil if there is none.
func (p ports) sharedListener(kind string) net.Listener {
	switch kind {
	case KindAMQP:
		return p.amqp
	case KindAMQPS:
		return p.amqps
	case KindAdmin:
		return p.admin
	case KindHTTPS:
		return p.https
	default:
		panic("there is no port of kind " + kind)
	}
}

// clientAddress returns the address and the host name by which clients on this machine reach the
// namespace `name` at a port of a kind. The host name is localhost on the namespace's own port and
// for the server's own namespace, and NAME.localhost for others on a shared port. The address is
// nil if there is no such port.
func (p ports) clientAddress(name, kind string) (at net.Addr, host string) {
	l, its := p.sharedListener(kind), slices.IndexFunc(p.namespacePorts, func(o openPort) bool { return o.Kind == kind && strings.EqualFold(o.Namespace, name) })
	switch {
	case l != nil && name == p.ownNamespace:
		return l.Addr(), "localhost"
	case its >= 0:
		return p.namespacePorts[its].Addr(), "localhost"
	case l != nil:
		return l.Addr(), name + ".localhost"
	default:
		return nil, ""
	}
}

// clientListeners returns all listeners except the one for other servers.
func (p ports) clientListeners() (all []net.Listener) {
	for _, l := range []net.Listener{p.dashboard, p.admin, p.amqp, p.amqps, p.https} {
		if l != nil {
			all = append(all, l)
		}
	}
	for _, o := range p.namespacePorts {
		all = append(all, o.Listener)
	}
	return all
}

// adminListeners returns the listeners that serve what the admin port serves.
func (p ports) adminListeners() []net.Listener {
	all := []net.Listener{p.admin}
	secure := func(l net.Listener, namespace string) {
		all = append(all, web.Port{Listener: p.certificate.Listen(l, "http/1.1"), Names: p.certificate.Names, Namespace: namespace})
	}
	if p.https != nil {
		secure(p.https, "")
	}
	for _, o := range p.namespacePorts {
		switch o.Kind {
		case KindAdmin:
			all = append(all, web.Port{Listener: o.Listener, Namespace: o.Namespace, AMQPAddress: p.describeAMQP(o.Namespace)})
		case KindHTTPS:
			secure(o.Listener, o.Namespace)
		}
	}
	return all
}

// amqpPorts returns the AMQP listeners, those for all namespaces first.
func (p ports) amqpPorts() (all []openPort) {
	secure := func(l net.Listener) net.Listener { return p.certificate.Listen(l) }
	if p.amqp != nil {
		all = append(all, openPort{Listener: p.amqp})
	}
	if p.amqps != nil {
		all = append(all, openPort{Listener: secure(p.amqps)})
	}
	for _, o := range p.namespacePorts {
		switch o.Kind {
		case KindAMQP:
			all = append(all, o)
		case KindAMQPS:
			all = append(all, openPort{o.NamespacePort, secure(o.Listener)})
		}
	}
	return all
}

// describeAMQP describes where clients of a namespace reach AMQP. It returns "" if they cannot.
func (p ports) describeAMQP(name string) string {
	for _, o := range [][2]string{{KindAMQP, ""}, {KindAMQPS, ", with TLS"}} {
		at, host := p.clientAddress(name, o[0])
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
