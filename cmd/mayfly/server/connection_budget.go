package server

import (
	"cmp"
	"net"
	"slices"

	"mayfly/engine/namespaces"
	"mayfly/storage"
	"mayfly/web/connlimit"
)

// Numbers of open files to reserve for everything but clients' connections.
const (
	filesOfServer    = 64  // listeners, logs, certificates, files being sent
	filesOfNamespace = 4   // of a store in files
	filesOfDatabase  = 256 // connections to MongoDB and between servers
)

// connectionBudget returns the budget of the connections of all ports. On a shared store, a
// connection may be forwarded to another server, which takes one more file.
func (c *Config) connectionBudget() *connlimit.Budget {
	others, each := filesOfServer+filesOfNamespace*(1+max(0, cmp.Or(c.MaxNamespaces, namespaces.DefaultMax))), 1
	if storage.Shared(c.Store) {
		others, each = filesOfServer+filesOfDatabase, 2
	}
	most := connlimit.FitFiles(c.MaxConnections, others, each)
	if most < c.MaxConnections {
		c.Logger.Warn("the limit of open files is too low for --max-connections", "connections", most, "wanted", c.MaxConnections)
	}
	return connlimit.New(connlimit.Options{Max: most, Trusted: c.trustedProxies, Logger: c.Logger, Reserve: true})
}

// withBudget returns p with listeners whose connections count against b.
func (p ports) withBudget(b *connlimit.Budget) ports {
	for at, kind := range map[*net.Listener]connlimit.Kind{
		&p.dashboard: connlimit.HTTP, &p.admin: connlimit.HTTP, &p.https: connlimit.HTTP,
		&p.amqp: connlimit.AMQP, &p.amqps: connlimit.AMQP, &p.peer: connlimit.Cluster,
	} {
		if *at != nil {
			*at = b.Listen(*at, kind)
		}
	}
	p.namespacePorts = slices.Clone(p.namespacePorts)
	for i, o := range p.namespacePorts {
		kind := connlimit.HTTP
		if o.Kind == KindAMQP || o.Kind == KindAMQPS {
			kind = connlimit.AMQP
		}
		p.namespacePorts[i].Listener = b.Listen(o.Listener, kind)
	}
	return p
}
