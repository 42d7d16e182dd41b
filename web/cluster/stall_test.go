package cluster_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/web/cluster"
	"mayfly/web/timeout"
)

// pipes is a listener of in-memory connections.
type pipes struct {
	come chan net.Conn
	over chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.come:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.over); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A forwarded request whose body does not arrive ends, with and without the header that
// names its client.
func TestStalledRequestsOfServersEnd(t *testing.T) {
	keys, err := cluster.KeysOf(secret, "FAR")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		far := near(t, secret, cluster.Options{Name: "FAR", HTTP: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })}) //nolint:errcheck // any error ends the request
		served := make(chan error, 1)
		go func() { served <- far.Serve(l) }()
		for _, header := range []string{"", "Mayfly-Passed-On: e30\r\n", "Mayfly-Passed-On: eyJuYW1lc3BhY2UiOiJhIn0=\r\n"} {
			ours, theirs := net.Pipe()
			l.come <- theirs
			nc, began := tls.Client(ours, keys), time.Now()
			go func() {
				_, _ = io.WriteString(nc, "POST / HTTP/1.1\r\nHost: h\r\n"+header+"Content-Length: 1000\r\n\r\nx") //nolint:errcheck // any error ends the request
			}()
			text, _ := io.ReadAll(nc) //nolint:errcheck // any error ends the connection
			if after := time.Since(began); after > timeout.StallTimeout+time.Second {
				t.Errorf("with %q the request ended after %s: %q", header, after, text)
			}
		}
		if err := far.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil && !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	})
}

// A client of a WebSocket or of AMQP that stops reading is disconnected after the owner
// has closed its end.
func TestClientsThatTakeNothingAreGivenUp(t *testing.T) {
	t.Run("WebSocket", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			l := &pipes{make(chan net.Conn, 1), make(chan struct{})}
			l.come <- theirs
			wrote := make(chan error, 1)
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				nc, rw, err := http.NewResponseController(cluster.Finally(w)).Hijack()
				if err == nil {
					_, err = rw.WriteString(strings.Repeat("x", 1<<20))
					err = errors.Join(err, rw.Flush())
					nc.Close()
				}
				wrote <- err
			})}
			go func() { _ = s.Serve(l) }() //nolint:errcheck // any error ends the server
			if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
			_ = s.Close()
		})
	})
	t.Run("AMQP", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := near(t, secret, cluster.Options{Name: "NEAR"})
			line := r.Forwarder("shop", cluster.Endpoint{Name: "FAR"})
			client, of := net.Pipe()
			owner, far := net.Pipe()
			go func() { // the owner gives up its client
				_ = far.SetWriteDeadline(time.Now().Add(timeout.StallTimeout)) //nolint:errcheck // any error ends the connection
				_, _ = far.Write(make([]byte, 1<<20))                          //nolint:errcheck // any error ends the connection
				_ = far.Close()
			}()
			began := time.Now()
			line.Join(of, owner)
			if after := time.Since(began); after > 2*timeout.StallTimeout {
				t.Errorf("the connection ended after %s", after)
			}
			_, _ = bufio.NewReader(client).ReadByte() //nolint:errcheck // any error ends the connection
			line.Close()
			_ = r.Close(t.Context())
		})
	})
}
