package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/cmd/mayfly/server"
)

// behind connects like a proxy that names a client by the PROXY protocol.
func behind(t *testing.T, at, client string) net.Conn {
	t.Helper()
	var d net.Dialer
	nc, err := d.DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() }) // it may be closed already
	if _, err := fmt.Fprintf(nc, "PROXY TCP4 %s 127.0.0.1 4711 5672\r\n", client); err != nil {
		t.Fatal(err)
	}
	return nc
}

// consumer receives from a queue that has one message. Once the message has arrived, the server
// knows the remaining credit. While the server still counts connections that are just closed, it
// may refuse one, and consumer dials again.
func consumer(t *testing.T, dial func() net.Conn, queue string) *goamqp.Receiver {
	t.Helper()
	var s *goamqp.Session
	Eventually(t, "the server has room for a connection", func() bool {
		c, err := goamqp.NewConn(t.Context(), dial(), &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous(), HostName: "localhost"})
		if err == nil {
			s, err = c.NewSession(t.Context(), nil)
		}
		if err != nil && !full(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	r, err := s.NewReceiver(t.Context(), queue, &goamqp.ReceiverOptions{Credit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Receive(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// full reports whether a connection was refused because the server has reached its limit.
func full(err error) bool {
	e, ok := errors.AsType[*goamqp.ConnError](err)
	return ok && e.RemoteErr != nil && e.RemoteErr.Condition == goamqp.ErrCondResourceLimitExceeded
}

// askedAlone sends a request on its own connection and returns the response.
func askedAlone(t *testing.T, method, url string, header http.Header) (status int, answered http.Header, text string) {
	t.Helper()
	return askedBy(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, method, url, "", header)
}

func askedBy(t *testing.T, by *http.Client, method, url, body string, header http.Header) (status int, answered http.Header, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	w, err := by.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	raw, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, w.Header, string(raw)
}

// TestConnections checks that the flags limit the connections of all ports. If clients within
// their shares use all connections, none is closed: new ones are refused, and health checks
// still work. A trusted proxy names the clients.
func TestConnections(t *testing.T) {
	s := Start(t, server.Config{
		Store: "memory:", AMQPS: "127.0.0.1:0", TLSDir: filepath.Join(t.TempDir(), "tls"),
		MaxConnections: 4, TrustProxy: []string{"127.0.0.1"},
	})
	CreateQueue(t, s.Ready, "q")
	for _, queue := range []string{"q1", "q2", "q3", "q4"} {
		CreateQueue(t, s.Ready, queue)
		if code, text := Request(t, http.MethodPost, s.Admin+"/"+queue+"/messages", "first"); code != http.StatusCreated {
			t.Fatal(code, text)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	trust := TrustingTLS(t, s.Ready)
	trust.ServerName = "localhost"
	from := func(address string) func() net.Conn { return func() net.Conn { return behind(t, s.AMQP, address) } }
	consumers := []*goamqp.Receiver{
		consumer(t, from("203.0.113.1"), "q1"), consumer(t, from("203.0.113.2"), "q2"), consumer(t, from("203.0.113.3"), "q3"),
		consumer(t, func() net.Conn { return tls.Client(behind(t, s.AMQPS, "203.0.113.4"), trust) }, "q4"),
	}
	for url, want := range map[string]int{
		s.Dashboard + "/livez": 200, s.Dashboard + "/readyz": 200, s.Dashboard + "/healthz": 200, s.Admin + "/health": 200,
		s.Dashboard + "/": 503, s.API + "/entities": 503, s.Admin + "/q/messages": 503,
	} {
		status, header, text := askedAlone(t, http.MethodGet, url, nil)
		if status != want || want == 503 && (header.Get("Retry-After") == "" || !strings.Contains(text, "--max-connections")) {
			t.Errorf("%s: %d %v %s", url, status, header, text)
		}
	}
	c, err := goamqp.NewConn(t.Context(), behind(t, s.AMQP, "203.0.113.5"), &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous(), HostName: "localhost"})
	if err == nil {
		_, err = c.NewSession(t.Context(), nil)
	}
	if !full(err) {
		t.Errorf("a further AMQP client got %v", err)
	}
	last := consumers[3] // the one with TLS
	for _, r := range consumers[:3] {
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	one := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}} // a client that keeps its connection
	defer one.CloseIdleConnections()
	if status, _, text := askedBy(t, one, http.MethodPost, s.API+"/send/q4", `{"body":"x"}`, http.Header{"Content-Type": {"application/json"}}); status != http.StatusCreated {
		t.Fatalf("no connection without a link was closed for a request: %d %s", status, text)
	}
	if _, err := last.Receive(t.Context(), nil); err != nil {
		t.Errorf("the waiting consumer got %v", err)
	}
	if _, _, text := askedBy(t, one, http.MethodGet, s.API+"/connections", "", nil); !strings.Contains(text, `"tls":true`) || strings.Contains(text, `"webSocket":true`) {
		t.Errorf("the listed connections are %s", text)
	}
	_, _, text := askedBy(t, one, http.MethodGet, s.Dashboard+"/metrics", "", nil)
	for _, line := range []string{`mayfly_open_connections{stage="used"}`, "mayfly_open_connections_limit 4\n", `mayfly_connections_closed_total{reason="link"}`} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics have no %q", line)
		}
	}
	if strings.Contains(text, `mayfly_connections_closed_total{reason="link"} 0`) {
		t.Error("the metrics do not count the closed connection")
	}
}

// TestTrustProxy checks that headers that describe a client only count from trusted proxies.
func TestTrustProxy(t *testing.T) {
	for name, tc := range map[string]struct {
		trusts []string
		secure bool
		client string
	}{
		"trusted": {[]string{"127.0.0.0/8", "::1"}, true, "203.0.113.1:4711"},
		"not":     {nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := Start(t, server.Config{Store: "memory:", TrustProxy: tc.trusts})
			CreateQueue(t, s.Ready, "q")
			_, _, text := askedAlone(t, http.MethodGet, s.Admin+"/$Resources/queues?api-version=2021-05", http.Header{"X-Forwarded-Proto": {"https"}})
			if got := strings.Contains(text, "https://127.0.0.1"); got != tc.secure {
				t.Errorf("links with https: %v\n%.500s", got, text)
			}
			c, err := goamqp.NewConn(t.Context(), behind(t, s.AMQP, "203.0.113.1"), &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous(), HostName: "localhost"})
			if (err == nil) != (tc.client != "") {
				t.Fatalf("a connection with a PROXY header: %v", err)
			}
			if err != nil {
				return
			}
			defer c.Close()
			if _, err := c.NewSession(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if _, _, text := askedAlone(t, http.MethodGet, s.API+"/connections", nil); !strings.Contains(text, tc.client) {
				t.Errorf("the listed connections are %s", text)
			}
		})
	}
	if err := server.Run(context.Background(), server.Config{Store: "memory:", TrustProxy: []string{"everybody"}}, io.Discard); err == nil || !strings.Contains(err.Error(), "--trust-proxy") {
		t.Errorf("an invalid address of a proxy: %v", err)
	}
}

// TestBrokenProxyHeader checks that a connection with an invalid PROXY header ends at once,
// before a TLS handshake.
func TestBrokenProxyHeader(t *testing.T) {
	s := Start(t, server.Config{
		Store: "memory:", AMQPS: "127.0.0.1:0", HTTPS: "127.0.0.1:0", TLSDir: filepath.Join(t.TempDir(), "tls"), TrustProxy: []string{"127.0.0.1"},
	})
	for _, at := range []string{s.AMQP, s.AMQPS, strings.TrimPrefix(s.HTTPS, "https://")} {
		nc, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetDeadline(time.Now().Add(5 * time.Second)) //nolint:errcheck // the read reports it
		if _, err := io.WriteString(nc, "PROXY nonsense\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, nc); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", at, err)
		}
	}
}
