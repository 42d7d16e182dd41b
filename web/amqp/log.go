package amqp

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
	"mayfly/web/loglimit"
	"mayfly/web/proxy"
)

// logRefused logs that a client is refused at an address, and why.
func (c *conn) logRefused(address string, why *wire.Error) {
	switch why.Condition {
	case errorcodes.CondTimeout, errorcodes.CondSessionCannotBeLocked:
		return // this happens to every client that waits for sessions
	}
	if !c.s.repeats.First(loglimit.Line{Client: hostOf(c.nc), Subject: address, Reason: string(why.Condition)}) {
		return
	}
	c.log.Info("an AMQP client was refused", "container", c.peer.container, "address", address, "condition", string(why.Condition), "description", why.Description)
}

// logRefusedRequest logs that a request to $management for an entity was refused, if it is
// about rules or its operation is unknown. Errors about messages and sessions, such as a
// lost lock, happen to every client.
func (c *conn) logRefusedRequest(m *request, path engine.Path, why *wire.Error) {
	v, _ := m.applicationProperties.Lookup("operation")
	operation, _ := v.Str()
	if _, known := operations[operation]; known && !strings.HasSuffix(operation, "-rule") && !strings.HasSuffix(operation, "-rules") {
		return
	}
	if !c.s.repeats.First(loglimit.Line{Client: hostOf(c.nc), Subject: string(path) + " " + operation, Reason: why.Description}) {
		return
	}
	c.log.Info("a request to $management was refused", "container", c.peer.container, "path", string(path), "operation", operation,
		"condition", string(why.Condition), "description", why.Description)
}

// logClosed logs that the server closes a connection because of its client's error or silence.
// SDKs do not show the reason: they report a time-out and connect again.
func (c *conn) logClosed(why *wire.Error) {
	if !c.s.repeats.First(loglimit.Line{Client: hostOf(c.nc), Subject: c.peer.container, Reason: why.Description}) {
		return
	}
	c.log.Info("an AMQP connection was closed", "container", c.peer.container, "condition", string(why.Condition), "description", why.Description)
}

// logEnded logs that the server ends a session because of its client's error.
func (s *session) logEnded(why *wire.Error) {
	c := s.c
	if !c.s.repeats.First(loglimit.Line{Client: hostOf(c.nc), Subject: c.peer.container, Reason: why.Description}) {
		return
	}
	c.log.Info("an AMQP session was ended", "container", c.peer.container, "channel", s.channel, "condition", string(why.Condition), "description", why.Description)
}

// logWaitsForMemory logs that a receiver waits for memory.
func (c *conn) logWaitsForMemory(o *sender) {
	if !c.s.repeats.First(loglimit.Line{Client: hostOf(c.nc), Subject: c.peer.container, Reason: "memory"}) {
		return
	}
	c.log.Info("a receiver waits for memory until clients settle messages; --limit link-bytes bounds the memory of links and unsettled deliveries",
		"container", c.peer.container, "path", string(o.path), "unsettled", o.unsettledCount, "bytes", c.linkUsage.bytes)
}

// logSessionLocksReached logs that the receiver of a session gets nothing until its client settles
// messages.
func (c *conn) logSessionLocksReached(o *sender) {
	if !c.s.repeats.First(loglimit.Line{Client: hostOf(c.nc), Subject: c.peer.container, Reason: "session locks"}) {
		return
	}
	c.log.Info("a receiver has as many messages of its session locked as --limit session-locks allows; it gets more when it settles some",
		"container", c.peer.container, "path", string(o.path), "session", printable(o.acceptedSession.ID, maxNameLength), "unsettled", o.unsettledCount)
}

// logUnopened logs that a connection ended before its open. A client that disconnects without
// an error, such as a port check, is logged at debug.
func (s *Server) logUnopened(nc net.Conn, err error) {
	at := nc.RemoteAddr().String()
	if why := s.tlsFailure(nc, err); why != "" {
		if s.repeats.First(loglimit.Line{Client: hostOf(nc), Reason: why}) {
			s.log.Info("a TLS connection failed", "client", at, "port", nc.LocalAddr().String(), "reason", why)
		}
		return
	}
	level := slog.LevelInfo
	if isDisconnect(err) || !s.repeats.First(loglimit.Line{Client: hostOf(nc), Reason: err.Error()}) {
		level = slog.LevelDebug
	}
	s.log.Log(s.ctx, level, "an AMQP connection ended before it was open", "client", at, "err", err.Error())
}

// tlsFailure returns the reason why TLS failed on a connection, or "" if it did not fail.
func (s *Server) tlsFailure(nc net.Conn, err error) string {
	secure, ok := nc.(*tls.Conn)
	if !ok || s.tlsFault == nil {
		return ""
	}
	why := s.tlsFault(secure)
	if why == "" && isDisconnect(err) && secure.ConnectionState().HandshakeComplete {
		why = "The client closed the connection after the TLS handshake, before any AMQP. Node.js clients do this when they do not trust the certificate."
	}
	return why
}

// isDisconnect reports whether err means that the client disconnected or sent nothing, which is
// no error of the client.
func isDisconnect(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || ok && t.Timeout()
}

func hostOf(nc net.Conn) string {
	return proxy.Host(nc.RemoteAddr().String())
}
