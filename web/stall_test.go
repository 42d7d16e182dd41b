package web_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/web"
	"mayfly/web/timeout"
)

// pipes is a listener of connections within the process.
type pipes struct {
	come chan net.Conn
	over chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.come:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.over); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5300} }

func (l *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.come <- theirs
	return ours
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// TestStalledRequestsEnd: every request ends of which only one byte of the body arrives, at
// every port, whatever its route is and however its body is framed.
func TestStalledRequestsEnd(t *testing.T) {
	const host = " HTTP/1.1\r\nHost: localhost\r\n"
	heads := map[string]string{
		"send":           "POST /q/messages" + host,
		"batch":          "POST /q/messages" + host + "Content-Type: application/vnd.microsoft.servicebus.json\r\n",
		"receive":        "DELETE /q/messages/head" + host,
		"description":    "PUT /made" + host,
		"nowhere":        "POST /none/of/these" + host,
		"sign-in":        "POST /login" + host + "Content-Type: application/x-www-form-urlencoded\r\n",
		"API":            "POST /api/v1/send/q" + host + "Content-Type: application/json\r\n",
		"import":         "POST /api/v1/import/q" + host + "Content-Type: application/x-ndjson\r\n",
		"alive":          "GET /livez" + host,
		"live":           "GET /live" + host,
		"AMQP":           "GET /$servicebus/websocket" + host,
		"AMQP, upgraded": "GET /$servicebus/websocket" + host + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
		"foreign host":   "POST /q/messages HTTP/1.1\r\nHost: evil.example\r\n",
		"cross-site":     "POST /q/messages" + host + "Sec-Fetch-Site: cross-site\r\n",
	}
	bodies := map[string]string{
		"length": "Content-Length: 1000\r\n\r\nx",
		"chunks": "Transfer-Encoding: chunked\r\n\r\n5\r\nx",
		"expect": "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
	}
	for _, port := range []string{"dashboard", "admin", "of a namespace", "TLS"} {
		t.Run(port, func(t *testing.T) {
			cert := certificate(t)
			synctest.Test(t, func(t *testing.T) {
				s := web.New(web.Options{Logger: slog.New(slog.DiscardHandler), AMQP: func(nc net.Conn, _ string) { _ = nc.Close() }})
				s.Open(web.Services{Broker: open(t).Broker})
				ports := map[string]*pipes{"dashboard": newPipes(), "admin": newPipes(), "of a namespace": newPipes(), "TLS": newPipes()}
				served := make(chan error)
				go func() {
					served <- s.Serve(ports["dashboard"], ports["admin"], web.Port{Listener: ports["of a namespace"], Namespace: "default"},
						web.Port{Listener: tls.NewListener(ports["TLS"], &tls.Config{Certificates: []tls.Certificate{cert}}), Names: func() []string { return nil }})
				}()
				over := make(chan string)
				for what, head := range heads {
					for framing, body := range bodies {
						nc := ports[port].dial()
						if port == "TLS" {
							nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
						}
						go func() {
							_, _ = io.WriteString(nc, head+body) //nolint:errcheck // the test checks the outcome
							_, _ = io.Copy(io.Discard, nc)       //nolint:errcheck // the test checks the outcome
							over <- what + ", " + framing
						}()
					}
				}
				left := len(heads) * len(bodies)
				late := time.After(timeout.StallTimeout + time.Second)
				for ; left > 0; left-- {
					select {
					case <-over:
					case <-late:
						t.Fatalf("%d requests have not ended", left)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = s.Shutdown(ctx) // no request is left
				if err := <-served; err != nil && !strings.Contains(err.Error(), "closed") {
					t.Error(err)
				}
			})
		})
	}
}
