package web

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A distant connection has a remote address of its own.
type distant struct {
	net.Conn
	from string
}

func (d distant) RemoteAddr() net.Addr {
	at, _ := net.ResolveTCPAddr("tcp", d.from) //nolint:errcheck // it is a valid address
	return at
}

// TestTLSFaultsAreLoggedOnce: a TLS failure is logged once in 30 seconds for one client and
// reason, however often the client retries.
func TestTLSFaultsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		why := "The client does not trust the certificate."
		s := New(Options{Logger: slog.New(slog.NewTextHandler(&out, nil)), TLSFault: func(*tls.Conn) string { return why }})
		fails := func(from string, lines int) {
			t.Helper()
			out.Reset()
			for range 3 {
				ours, theirs := net.Pipe()
				s.logTLSFault(tls.Server(distant{ours, from}, &tls.Config{}), http.StateClosed)
				_ = theirs.Close() // never fails
			}
			if got := strings.Count(out.String(), "TLS connection failed"); got != lines {
				t.Errorf("%s caused %d log lines, want %d", from, got, lines)
			}
		}
		fails("192.0.2.7:1", 1)
		fails("192.0.2.7:2", 0)
		fails("192.0.2.8:1", 1)
		why = "The client speaks AMQP without TLS."
		fails("192.0.2.7:3", 1)
		time.Sleep(30 * time.Second)
		fails("192.0.2.7:4", 1)
		why = ""
		fails("192.0.2.9:1", 0)
	})
}
