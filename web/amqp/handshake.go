package amqp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"mayfly/web/amqp/wire"
	"mayfly/web/relay"
	"mayfly/web/sas"
)

// handshakePatience is how long a client has from connecting to its open.
const handshakePatience = 30 * time.Second

// mechanisms are the ways to authenticate, in the service's order. Who a client
// is its tokens say later, so that each of them is good for anybody.
func mechanisms() []string { return []string{"MSSBCBS", "PLAIN", "ANONYMOUS", "EXTERNAL"} }

// mostOpening is how many connections may be on their way to their open at the
// same time, for which each may take handshakePatience. One more is closed
// without a word.
const mostOpening = 1_000

// serve is the life of a connection. What another server has told of one that it
// passes on is in by; nil: it is the client's own, at a port of the namespace, or of none.
func (s *Server) serve(nc net.Conn, by *relay.Passed, namespace string) {
	defer nc.Close()
	if s.opening.Add(1) > mostOpening {
		s.opening.Add(-1)
		return
	}
	_ = nc.SetDeadline(time.Now().Add(handshakePatience))                                //nolint:errcheck // the read says it
	closing := context.AfterFunc(s.open, func() { _ = nc.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // likewise
	c := newConn(s, nc)
	c.by, c.port = by, namespace
	err := c.handshake()
	s.opening.Add(-1)
	closing()
	if err != nil {
		s.unopened(nc, err)
		return
	}
	if c.onward != nil {
		c.onward()
		return
	}
	if err := c.at.join(c); err != nil {
		c.refused("", asError(err))
		sayGoodbye(nc, asError(err))
		return
	}
	defer c.at.part(c)
	_ = nc.SetDeadline(time.Time{}) //nolint:errcheck // likewise
	c.run()
}

// sayGoodbye closes a connection that is not let in.
func sayGoodbye(nc net.Conn, why *wire.Error) {
	sayLast(nc, wire.AppendFrame(nil, 0, &wire.Close{Error: why}))
}

// sayLast says the last that there is to say to a client, and waits a moment for it
// to close the connection: were it closed while something of the client's is on its
// way, the client might never read this.
func sayLast(nc net.Conn, b []byte) {
	_ = nc.SetDeadline(time.Now().Add(lingering)) //nolint:errcheck // the write says it
	if _, err := nc.Write(b); err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, nc, mostIgnored) //nolint:errcheck // whatever ends it, it is over
}

// mostIgnored is how much of what a client says is read that is not let in.
const mostIgnored = 64 << 10

// handshake is everything up to the client's open: protocol headers and SASL,
// which may be left out.
func (c *conn) handshake() error {
	if c.by != nil { // all before the open was said to the server that passes it on
		if c.by.Rule != "" {
			c.claims.plain = sas.OfKey(c.by.Rule, c.by.Key)
		}
		return c.opened()
	}
	for {
		p, err := c.r.Protocol()
		if err != nil {
			return c.dismiss(err)
		}
		switch p {
		case wire.ProtocolSASL:
			if err := c.sasl(); err != nil {
				return err
			}
			continue
		case wire.ProtocolAMQP:
		default:
			return c.dismiss(fmt.Errorf("the client speaks %s", p))
		}
		if _, err := c.nc.Write(wire.ProtocolAMQP.Append(nil)); err != nil {
			return fmt.Errorf("answer the protocol header: %w", err)
		}
		return c.opened()
	}
}

// notHTTP is what who speaks HTTP is told. It is without names of this machine, for
// anybody may hear it.
const notHTTP = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: 65\r\n\r\n" +
	"This is a port of AMQP. HTTP is at those of --http and --admin.\r\n"

// dismiss answers what is not the protocol spoken here, with the one that is.
func (c *conn) dismiss(err error) error {
	if stranger, ok := errors.AsType[*wire.StrangerError](err); ok && stranger.HTTP() {
		sayLast(c.nc, []byte(notHTTP))
		return err
	}
	_, _ = c.nc.Write(wire.ProtocolAMQP.Append(nil)) //nolint:errcheck // a farewell
	return err
}

func (c *conn) sasl() error {
	if c.authenticated {
		return c.dismiss(fmt.Errorf("SASL was asked for twice"))
	}
	c.authenticated = true
	hello := wire.AppendFrame(wire.ProtocolSASL.Append(nil), 0, &wire.Mechanisms{Mechanisms: mechanisms()})
	if _, err := c.nc.Write(hello); err != nil {
		return fmt.Errorf("offer SASL: %w", err)
	}
	f, err := c.r.Frame()
	if err != nil {
		return fmt.Errorf("read the client's choice of SASL: %w", err)
	}
	var choice wire.Init
	if f.Type != wire.FrameSASL {
		err = fmt.Errorf("a frame of type %d came before SASL had ended", f.Type)
	} else {
		err = choice.Decode(f.Body)
	}
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	c.takePlain(&choice)
	outcome := wire.Outcome{Result: wire.SASLAuth}
	if slices.Contains(mechanisms(), choice.Mechanism) {
		outcome = wire.Outcome{Result: wire.SASLOK, AdditionalData: []byte("Welcome!")}
	}
	if _, err := c.nc.Write(wire.AppendFrame(nil, 0, &outcome)); err != nil {
		return fmt.Errorf("tell the outcome of SASL: %w", err)
	}
	if outcome.Result != wire.SASLOK {
		return fmt.Errorf("there is no SASL mechanism %q", choice.Mechanism)
	}
	return nil
}

// opened reads the client's open and answers it.
func (c *conn) opened() error {
	f, err := c.r.Frame()
	for err == nil && f.Heartbeat() {
		f, err = c.r.Frame()
	}
	var open wire.Open
	if err == nil {
		err = open.Decode(f.Body)
	}
	if err == nil && f.Type != wire.FrameAMQP {
		err = fmt.Errorf("the open came in a frame of type %d", f.Type)
	}
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	c.peer = peer{
		container: open.ContainerID, host: open.Hostname.Or(""), properties: open.Properties,
		maxFrame: max(min(open.MaxFrameSize.Or(largestFrame), largestFrame), wire.MinMaxFrameSize),
		idle:     time.Duration(open.IdleTimeOut.Or(0)) * time.Millisecond,
	}
	if c.at = c.spaceFor(); c.pass(f) {
		return nil
	}
	c.limits = c.at.limitsNow()
	c.r.MaxFrame = c.limits.frameSize
	answer := wire.AppendFrame(nil, 0, &wire.Open{
		ContainerID:  container,
		MaxFrameSize: wire.Some(c.limits.frameSize),
		ChannelMax:   wire.Some(uint16(c.limits.sessions - 1)),
		IdleTimeOut:  wire.Some(uint32(c.s.idle / time.Millisecond)),
	})
	if _, err := c.nc.Write(answer); err != nil {
		return fmt.Errorf("answer the open: %w", err)
	}
	return nil
}

// container is what the server calls itself in its open.
const container = "mayfly_G0"

// largestFrame is the most that this server sends in one frame, whatever a
// client takes.
const largestFrame = 64 << 10
