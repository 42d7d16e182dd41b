package certificate_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"

	"mayfly/web/connlimit"
)

// one is a listener of a single connection.
type one struct {
	net.Listener
	nc net.Conn
}

func (l one) Accept() (net.Conn, error) { return l.nc, nil }

// openSSL is a connection on which a TLS 1.3 client sends its alert as OpenSSL does:
// unencrypted, because it has not changed its keys yet.
type openSSL struct {
	net.Conn
	hello bool // the client's hello was written
}

func (c *openSSL) Write(b []byte) (int, error) {
	if !c.hello {
		c.hello = true
		return c.Conn.Write(b)
	}
	_, err := c.Conn.Write([]byte{21, 3, 3, 0, 2, 2, 48}) // unknown_ca
	return len(b), err
}

// TestFault: Fault explains clients that do not trust the certificate or do not speak TLS, but
// not clients that just disconnect.
func TestFault(t *testing.T) {
	w := newWorld(t)
	a := w.open("broker")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.read("ca.pem"))
	shakes := func(c *tls.Config) func(net.Conn) {
		return func(nc net.Conn) { _ = tls.Client(nc, c).Handshake() } //nolint:errcheck // it may fail
	}
	says := func(text string) func(net.Conn) {
		return func(nc net.Conn) { _, _ = nc.Write([]byte(text)) } //nolint:errcheck // it may be cut off
	}
	const trust = "The client does not trust the certificate ("
	for name, tc := range map[string]struct {
		client func(nc net.Conn)
		want   string
	}{
		"no trust, 1.3": {shakes(&tls.Config{ServerName: "broker", Time: w.now, RootCAs: x509.NewCertPool()}), trust + "bad certificate"},
		"no trust, 1.2": {shakes(&tls.Config{ServerName: "broker", Time: w.now, RootCAs: x509.NewCertPool(), MaxVersion: tls.VersionTLS12}), trust + "bad certificate"},
		"another name":  {shakes(&tls.Config{ServerName: "evil.example", Time: w.now, RootCAs: pool}), trust + "bad certificate"},
		"no trust, OpenSSL": {func(nc net.Conn) {
			shakes(&tls.Config{ServerName: "broker", Time: w.now, RootCAs: x509.NewCertPool()})(&openSSL{Conn: nc})
		}, trust + "unknown certificate authority"},
		"trust":           {shakes(&tls.Config{ServerName: "broker", Time: w.now, RootCAs: pool}), ""},
		"an old protocol": {shakes(&tls.Config{ServerName: "broker", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}), "The TLS handshake failed: "},
		"AMQP":            {says("AMQP\x00\x01\x00\x00"), "The client speaks AMQP without TLS, but this port requires TLS."},
		"HTTP":            {says("GET / HTTP/1.1\r\n\r\n"), "The client speaks HTTP without TLS, but this port requires TLS."},
		"anything":        {says("hello there"), "The client speaks another protocol without TLS, but this port requires TLS."},
		"nothing":         {func(net.Conn) {}, ""},
		"it goes halfway": {says("\x16\x03\x01\x00\x80\x01"), "The client closed the connection during the TLS handshake."},
		"half a word":     {says("AM"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			nc, err := a.Listen(one{nc: far}).Accept()
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			server := nc.(*tls.Conn)
			go func() {
				defer close(served)
				_ = server.Handshake() //nolint:errcheck // Fault reports it
				_ = far.Close()
			}()
			go func() {
				tc.client(near)
				_ = near.Close()
			}()
			<-served
			got := a.Fault(server)
			if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if strings.HasPrefix(got, trust) && !strings.Contains(got, w.path("ca.pem")) {
				t.Errorf("%q does not name the CA's file", got)
			}
		})
	}
}

// TestCountedBelowTLS: connlimit.Unwrap finds the counted connection below a TLS connection.
func TestCountedBelowTLS(t *testing.T) {
	a := newWorld(t).open("broker")
	near, far := net.Pipe()
	defer near.Close()
	counted := connlimit.New(connlimit.Options{}).Adopt(far)
	defer counted.Close()
	nc, err := a.Listen(one{nc: counted}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	if connlimit.Unwrap(nc) != counted {
		t.Error("the budget did not find the connection")
	}
}
