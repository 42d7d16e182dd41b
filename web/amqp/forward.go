package amqp

import (
	"context"
	"strings"
	"time"

	"mayfly/web/amqp/wire"
	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
)

// findNamespace returns the namespace that the forwarding server, the port or the client's host
// names. If this server does not have it, the result refuses connections.
func (c *conn) findNamespace() *Namespace {
	switch {
	case c.forwarded != nil:
	case c.portNamespace != "":
		return c.s.namespaceByName(c.portNamespace)
	default:
		return c.s.namespaceByHost(c.peer.host, serverName(c.nc))
	}
	if sp := c.s.Find(strings.ToLower(c.forwarded.Namespace)); sp != nil {
		return sp
	}
	sp := newNamespace(c.s)
	sp.standbyReason = "This server has not loaded the namespace yet."
	return sp
}

// forwardToOwner sends the client's open f to the owner of the namespace, which answers it, and
// sets c.forward. It returns false if the namespace is served here, if its owner cannot take the
// connection, or if another server has forwarded the connection here.
func (c *conn) forwardToOwner(f wire.Frame) (ok bool) {
	if c.forwarded != nil {
		return false
	}
	defer func() { c.saslRule, c.saslKey = "", "" }() // not needed afterwards
	forwarder, leave := c.namespace.reserveForward()
	if forwarder == nil {
		return false
	}
	is := cluster.ClientInfo{Client: c.nc.RemoteAddr().String(), ServerName: serverName(c.nc), Rule: c.saslRule, Key: c.saslKey}
	is.Secure, is.WebSocket = c.transport()
	is.Hosts, is.Own = sas.Names{IsServer: c.s.names}.Served(c.peer.host, serverName(c.nc)), c.isOwn()
	ctx, cancel := context.WithTimeout(c.ctx, handshakeTimeout)
	defer cancel()
	owner, err := forwarder.OpenAMQP(ctx, is)
	if err == nil {
		_ = owner.SetWriteDeadline(time.Now().Add(handshakeTimeout)) //nolint:errcheck // the write returns the error
		if _, err = owner.Write(append(f.Append(nil), c.r.ReadAhead()...)); err != nil {
			_ = owner.Close()
		}
	}
	if err != nil {
		leave()
		c.log.Debug("an AMQP connection was not forwarded", "owner", forwarder.Endpoint().String(), "err", err)
		return false
	}
	_ = owner.SetWriteDeadline(time.Time{}) //nolint:errcheck // later writes return the error
	c.forward = func() {
		defer leave()
		defer c.stop()
		_ = c.nc.SetDeadline(time.Time{})                                                      //nolint:errcheck // the next read or write returns the error
		cut := context.AfterFunc(c.s.openContext, func() { _ = c.nc.SetDeadline(time.Now()) }) //nolint:errcheck // the next read or write returns the error
		defer cut()
		forwarder.Join(c.nc, owner)
	}
	return true
}

// reserveForward counts a connection that is to be forwarded, and returns the forwarder for it. It
// returns nil if the connection cannot be forwarded, for example because the limit of connections
// is reached. leave reverses the count.
func (sp *Namespace) reserveForward() (forwarder *cluster.Forwarder, leave func()) {
	s := sp.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp.forwarder == nil || s.closed {
		return nil, nil
	}
	if sp.forwardedCount >= sp.limits.connections {
		return nil, nil
	}
	sp.forwardedCount++
	return sp.forwarder, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		sp.forwardedCount--
	}
}
