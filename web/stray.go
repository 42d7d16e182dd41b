package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// strays tells clients of AMQP that come to a port of HTTP without TLS, in words of
// HTTP: those are what SDKs show of an answer that they do not understand, and they
// would wait for it until the patience with headers ends.
type strays struct {
	net.Listener
	log    *slog.Logger
	where  string        // AMQP is, for people; empty: nowhere
	logged *atomic.Int64 // when one was logged last, in seconds since 1970
}

const (
	straysEvery    = 30 * time.Second // that one is logged
	strayPatience  = time.Second      // for it to take the answer
	strayMostHeard = 64 << 10         // bytes of it that are read meanwhile
)

// Accept has the connection be looked at when its first bytes are read. With TLS it
// is not: there only the server of HTTP says what the first bytes are.
func (l *strays) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if plain, ok := nc.(*net.TCPConn); ok {
		return &stray{TCPConn: plain, of: l}, err
	}
	return nc, err //nolint:wrapcheck // the server of HTTP knows what it means
}

// stray is a connection that may be one. Read is for one goroutine, as it is with
// the server of HTTP.
type stray struct {
	*net.TCPConn
	of   *strays
	seen int // bytes that began as AMQP does; -1: it does not
}

func (c *stray) Read(b []byte) (int, error) {
	const header = "AMQP"
	n, err := c.TCPConn.Read(b)
	for i := 0; c.seen >= 0 && i < n; i++ {
		if b[i] != header[c.seen] {
			c.seen = -1
		} else if c.seen++; c.seen == len(header) {
			c.tell()
			return 0, io.EOF
		}
	}
	return n, err //nolint:wrapcheck // likewise
}

// tell answers, and waits a moment for the client to go.
func (c *stray) tell() {
	hint := "this is a port of HTTP; "
	if c.of.where != "" {
		hint += "AMQP is on " + c.of.where
	} else {
		hint += "there is no port of AMQP"
	}
	level, now := slog.LevelDebug, time.Now().Unix()
	if last := c.of.logged.Load(); now-last >= int64(straysEvery/time.Second) && c.of.logged.CompareAndSwap(last, now) {
		level = slog.LevelInfo
	}
	c.of.log.Log(context.Background(), level, "an AMQP client came to a port of HTTP", "client", c.RemoteAddr(), "port", c.LocalAddr(), "hint", hint)
	text := "An AMQP client came here: " + hint + ".\r\n"
	_ = c.SetDeadline(time.Now().Add(strayPatience)) //nolint:errcheck // the write says it
	if _, err := fmt.Fprintf(c.TCPConn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text); err != nil {
		return
	}
	_ = c.CloseWrite()                                     //nolint:errcheck // whatever ends it, it is over
	_, _ = io.CopyN(io.Discard, c.TCPConn, strayMostHeard) //nolint:errcheck // likewise
}
