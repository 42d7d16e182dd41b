package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// amqpHintListener answers AMQP clients that connect to an HTTP port without TLS. The answer is HTTP,
// because SDKs show the text of an answer that they do not understand. Without it they would
// wait until the timeout for headers.
type amqpHintListener struct {
	net.Listener
	log         *slog.Logger
	amqpAddress string        // the address of AMQP, for people; empty if there is none
	logged      *atomic.Int64 // when a client was last logged, in seconds since 1970
}

const (
	hintLogInterval = 30 * time.Second // between log entries at info
	hintTimeout     = time.Second      // for the client to take the answer
	maxHintRead     = 64 << 10         // bytes of the client that are read meanwhile
)

// Accept returns a connection whose first bytes are checked when they are read. Listeners with
// TLS have no such check: only the HTTP server sees their decrypted bytes.
func (l *amqpHintListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &amqpHintConn{Conn: nc, listener: l}, nil
}

// amqpHintConn is a connection that may be an AMQP client's. Read is for one goroutine, as the HTTP
// server calls it.
type amqpHintConn struct {
	net.Conn
	listener *amqpHintListener
	matched  int // bytes that match AMQP's header so far; -1 if they do not
}

var _ interface{ CloseWrite() error } = (*amqpHintConn)(nil) // net/http looks for it

// NetConn returns the connection below; see connlimit.Unwrap.
func (c *amqpHintConn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the writing side. The server of HTTP calls it before it closes a
// connection with an unread body, so that the client still reads the answer.
func (c *amqpHintConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c *amqpHintConn) Read(b []byte) (int, error) {
	const header = "AMQP"
	n, err := c.Conn.Read(b)
	for i := 0; c.matched >= 0 && i < n; i++ {
		if b[i] != header[c.matched] {
			c.matched = -1
		} else if c.matched++; c.matched == len(header) {
			c.sendHint()
			return 0, io.EOF
		}
	}
	return n, err
}

// sendHint answers the AMQP client with the hint, and then waits a moment for the client to close the
// connection. It logs the client.
func (c *amqpHintConn) sendHint() {
	hint := "this port speaks HTTP; "
	if c.listener.amqpAddress != "" {
		hint += "AMQP is on " + c.listener.amqpAddress
	} else {
		hint += "this server has no AMQP port"
	}
	level, now := slog.LevelDebug, time.Now().Unix()
	if last := c.listener.logged.Load(); now-last >= int64(hintLogInterval/time.Second) && c.listener.logged.CompareAndSwap(last, now) {
		level = slog.LevelInfo
	}
	c.listener.log.Log(context.Background(), level, "an AMQP client connected to an HTTP port", "client", c.RemoteAddr(), "port", c.LocalAddr(), "hint", hint)
	text := "This is not an AMQP port: " + hint + ".\r\n"
	_ = c.SetDeadline(time.Now().Add(hintTimeout)) //nolint:errcheck // the write reports it
	if _, err := fmt.Fprintf(c.Conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text); err != nil {
		return
	}
	_ = c.CloseWrite()                               //nolint:errcheck // the connection is closed next
	_, _ = io.CopyN(io.Discard, c.Conn, maxHintRead) //nolint:errcheck // the connection is closed next
}
