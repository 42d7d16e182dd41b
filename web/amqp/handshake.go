package amqp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"time"

	"mayfly/web/amqp/wire"
	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
	"mayfly/web/connlimit"
)

// handshakeTimeout is how long a client may take from connecting to its open.
const handshakeTimeout = 30 * time.Second

// mechanisms are the SASL mechanisms in the service's order. Clients authenticate by
// tokens later, so any client may use any mechanism.
var mechanisms = []string{
	"MSSBCBS", "PLAIN", "ANONYMOUS", "EXTERNAL",
}

// serve serves a connection until it ends. `by` describes the client of a connection that another
// server forwarded; it is nil for a client that connected here. `namespace` is the namespace of the
// port, or empty for a port of all namespaces.
func (s *Server) serve(nc net.Conn, by *cluster.ClientInfo, namespace string) {
	defer nc.Close()
	limited := connlimit.Unwrap(nc)
	if limited == nil {
		limited = s.connections.Adopt(nc)
		defer func() { _ = limited.Close() }() //nolint:errcheck // frees the place; nc is closed already
	}
	limited.RestartHandshake() // on a WebSocket, the HTTP request was the first handshake
	if by != nil {
		limited.SetClient(by.Client)
	}
	_ = nc.SetDeadline(time.Now().Add(handshakeTimeout))                                        //nolint:errcheck // the read returns the error
	closing := context.AfterFunc(s.openContext, func() { _ = nc.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // the read returns the error
	err := limited.ReadHeader()                                                                 // from here on, RemoteAddr returns the client's address
	c := newConn(s, nc)
	c.forwarded, c.portNamespace, c.connLimit, c.network = by, namespace, limited, limited.Network()
	if err == nil {
		err = c.handshake()
	}
	closing()
	if err != nil {
		_ = nc.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // a TLS handshake that has not begun fails at once
		s.logUnopened(nc, err)
		c.closeUnopened(err)
		return
	}
	if !limited.Admit() {
		why := &wire.Error{Condition: wire.CondResourceLimitExceeded, Description: limited.FullText()}
		c.logRefused("", why)
		writeClose(nc, why)
		return
	}
	if c.forward != nil {
		limited.Opened(true)
		limited.Use(true, true) // the owner of the namespace has its own budget
		c.forward()
		return
	}
	limited.Opened(s.policy != sas.Enforce)
	if err := c.namespace.admitConnection(c); err != nil {
		c.logRefused("", errorOf(err))
		writeClose(nc, errorOf(err))
		return
	}
	defer c.namespace.removeConnection(c)
	limited.OnEvict(func(why string) {
		c.closeWithError(&wire.Error{Condition: wire.CondConnectionForced, Description: why})
	})
	defer limited.OnEvict(nil)
	_ = nc.SetDeadline(time.Time{}) //nolint:errcheck // the next read or write returns the error
	c.expectToken()
	c.run()
}

// writeClose closes a connection with an error.
func writeClose(nc net.Conn, why *wire.Error) {
	writeLast(nc, wire.AppendFrame(nil, 0, &wire.Close{Error: why}))
}

// writeLast sends b, and then reads and drops what the client sends until the client closes the
// connection, for at most clientCloseTimeout and maxDiscarded bytes. If the server closed the
// connection while bytes of the client were on their way, the client might never read b.
func writeLast(nc net.Conn, b []byte) {
	_ = nc.SetDeadline(time.Now().Add(clientCloseTimeout)) //nolint:errcheck // the write returns the error
	if _, err := nc.Write(b); err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, nc, maxDiscarded) //nolint:errcheck // any error ends the connection
}

// maxDiscarded is the maximum number of bytes that writeLast reads from the client.
const maxDiscarded = 64 << 10

// handshake handles everything up to the client's open: protocol headers and SASL, which
// is optional.
func (c *conn) handshake() error {
	if c.forwarded != nil { // the forwarding server has handled everything before the open
		if c.forwarded.Rule != "" {
			c.authorization.plain, c.authorization.hasPlain = sas.KeyCredential(c.forwarded.Rule, c.forwarded.Key), true
		}
		return c.handleOpen()
	}
	for {
		p, err := c.r.Protocol()
		if err != nil {
			return c.answerUnsupported(err)
		}
		switch p {
		case wire.ProtocolSASL:
			if err := c.authenticate(); err != nil {
				return err
			}
			continue
		case wire.ProtocolAMQP:
		default:
			return c.answerUnsupported(fmt.Errorf("the client speaks %s", p))
		}
		if _, err := c.nc.Write(wire.ProtocolAMQP.Append(nil)); err != nil {
			return fmt.Errorf("answer the protocol header: %w", err)
		}
		c.headersExchanged = true
		c.r.MaxFrame = maxOpenSize
		return c.handleOpen()
	}
}

// httpResponse is the response to an HTTP client. It contains no names of this machine, because any
// client may get it.
const httpResponse = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: 71\r\n\r\n" +
	"This port speaks AMQP. For HTTP, use the ports of --http and --admin.\r\n"

// answerUnsupported answers an unsupported protocol with the header of AMQP, or an HTTP request
// with httpResponse. It returns err.
func (c *conn) answerUnsupported(err error) error {
	if stranger, ok := errors.AsType[*wire.NotAMQPError](err); ok && stranger.IsHTTP() {
		writeLast(c.nc, []byte(httpResponse))
		return err
	}
	_, _ = c.nc.Write(wire.ProtocolAMQP.Append(nil)) //nolint:errcheck // the connection ends anyway
	return err
}

func (c *conn) authenticate() error {
	if c.saslDone {
		return c.answerUnsupported(fmt.Errorf("the client requested SASL twice"))
	}
	c.saslDone = true
	hello := wire.AppendFrame(wire.ProtocolSASL.Append(nil), 0, &wire.Mechanisms{Mechanisms: mechanisms})
	if _, err := c.nc.Write(hello); err != nil {
		return fmt.Errorf("offer SASL: %w", err)
	}
	f, err := c.r.Frame()
	if err != nil {
		return fmt.Errorf("read the client's choice of SASL: %w", err)
	}
	var choice wire.Init
	if f.Type != wire.FrameSASL {
		err = fmt.Errorf("a frame of type %d arrived before SASL had ended", f.Type)
	} else {
		err = choice.Decode(f.Body)
	}
	if err != nil {
		return err
	}
	c.recordPlainKey(&choice)
	outcome := wire.Outcome{Result: wire.SASLAuth}
	if slices.Contains(mechanisms, choice.Mechanism) {
		outcome = wire.Outcome{Result: wire.SASLOK, AdditionalData: []byte("Welcome!")}
	}
	if _, err := c.nc.Write(wire.AppendFrame(nil, 0, &outcome)); err != nil {
		return fmt.Errorf("send the SASL outcome: %w", err)
	}
	if outcome.Result != wire.SASLOK {
		return fmt.Errorf("unknown SASL mechanism %q", choice.Mechanism)
	}
	return nil
}

// maxOpenSize is the maximum size of the first frame, in bytes. AMQP's 512 are too few for an
// open with the names of a product, a platform and an application.
const maxOpenSize = 4096

// handleOpen reads the client's open, and either answers it or prepares to forward the connection.
func (c *conn) handleOpen() error {
	f, err := c.r.Frame()
	for err == nil && f.IsHeartbeat() {
		f, err = c.r.Frame()
	}
	var open wire.Open
	if err == nil {
		err = decodeOpen(&open, f)
	}
	if err != nil {
		return err
	}
	c.peer = peer{
		container: printable(open.ContainerID, maxNameLength), host: open.Hostname.Or(""), properties: open.Properties,
		channelMax: open.ChannelMax.Or(math.MaxUint16),
		maxFrame:   max(min(open.MaxFrameSize.Or(maxFrameOut), maxFrameOut), wire.MinMaxFrameSize),
		idle:       time.Duration(open.IdleTimeOut.Or(0)) * time.Millisecond,
	}
	if c.namespace = c.findNamespace(); c.connLimit.Admit() && c.forwardToOwner(f) {
		return nil
	}
	c.peer.host = ""
	c.limits = c.namespace.currentLimits()
	c.r.MaxFrame = c.limits.frameSize
	answer := wire.AppendFrame(nil, 0, &wire.Open{
		ContainerID:  serverContainerID,
		MaxFrameSize: wire.Some(c.limits.frameSize),
		ChannelMax:   wire.Some(uint16(c.limits.sessions - 1)),
		IdleTimeOut:  wire.Some(uint32(c.s.idle / time.Millisecond)),
	})
	if _, err := c.nc.Write(answer); err != nil {
		return fmt.Errorf("answer the open: %w", err)
	}
	return nil
}

// decodeOpen decodes the first frame of a client, which must be an open on channel 0: no
// other channel may be used before channel-max is agreed.
func decodeOpen(open *wire.Open, f wire.Frame) error {
	if f.Type != wire.FrameAMQP {
		return &wire.ProtocolError{Condition: wire.CondFramingError, Text: fmt.Sprintf("The open must be in an AMQP frame, not in one of type %d.", f.Type)}
	}
	code, err := wire.CodeOf(f.Body)
	switch {
	case err != nil:
		return err
	case code != wire.CodeOpen:
		return &wire.ProtocolError{Condition: wire.CondIllegalState, Text: fmt.Sprintf("The first frame must be an open, not %v.", code)}
	case f.Channel != 0:
		return &wire.ProtocolError{Condition: wire.CondFramingError, Text: fmt.Sprintf("The open must be on channel 0, not %d.", f.Channel)}
	}
	return open.Decode(f.Body)
}

// closeUnopened answers a frame that should have been the client's open with an open and a
// close, because each peer must send an open before its close (AMQP 1.0, part 2, 2.4.1 and
// 2.4.3).
func (c *conn) closeUnopened(err error) {
	why, ok := errors.AsType[*wire.ProtocolError](err)
	if !ok || !c.headersExchanged {
		return
	}
	c.peer.maxFrame = wire.MinMaxFrameSize
	b := wire.AppendFrame(nil, 0, &wire.Open{ContainerID: serverContainerID})
	writeLast(c.nc, c.appendFitting(b, 0, &wire.Close{Error: why.AMQP()}))
}

// serverContainerID is the container id in the server's open.
const serverContainerID = "mayfly_G0"

// maxFrameOut is the maximum size of the server's frames in bytes, even if a client
// accepts larger ones.
const maxFrameOut = 64 << 10
