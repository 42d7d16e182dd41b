package amqp

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"mayfly/web/amqp/wire"
)

const (
	refusalsEvery = 30 * time.Second // that the same is logged of the same client
	mostRefusals  = 1_000            // that are remembered
)

// refusals are what was logged of clients that were not served. SDKs hide what
// they are told, or try again for minutes: whoever runs the server is to find
// the reason in its log, and no more than that.
type refusals struct {
	mu   sync.Mutex
	last map[refusal]time.Time // guarded by mu
}

type refusal struct{ host, address, what string }

// news tells whether r was not logged lately, and notes that it is now.
func (l *refusals) news(r refusal, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.last[r]; ok && now.Sub(at) < refusalsEvery {
		return false
	}
	if l.last == nil || len(l.last) >= mostRefusals {
		l.last = map[refusal]time.Time{}
	}
	l.last[r] = now
	return true
}

// refused logs that a client is not served at an address, and why.
func (c *conn) refused(address string, why *wire.Error) {
	switch why.Condition {
	case condTimeout, condSessionLocked:
		return // that happens to every client which waits for sessions
	}
	if !c.s.refusals.news(refusal{hostOf(c.nc), address, string(why.Condition)}, time.Now()) {
		return
	}
	c.log.Info("an AMQP client was refused", "container", c.peer.container, "address", address, "condition", string(why.Condition), "description", why.Description)
}

// unopened logs that a connection ended before it was open: at debug what looks
// like somebody who only tried whether the port is there.
func (s *Server) unopened(nc net.Conn, err error) {
	level := slog.LevelInfo
	timeout, ok := errors.AsType[net.Error](err)
	if errors.Is(err, io.EOF) || ok && timeout.Timeout() || !s.refusals.news(refusal{hostOf(nc), "", err.Error()}, time.Now()) {
		level = slog.LevelDebug
	}
	s.log.Log(s.ctx, level, "an AMQP connection ended before it was open", "client", nc.RemoteAddr(), "err", err)
}

func hostOf(nc net.Conn) string {
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		return nc.RemoteAddr().String()
	}
	return host
}
