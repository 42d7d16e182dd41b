package cluster_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/web/cluster"
)

// A wiretap forwards connections to a server and records their bytes.
type wiretap struct {
	net.Listener
	mu      sync.Mutex
	streams []*bytes.Buffer // one for each connection; guarded by mu
	all     sync.WaitGroup
}

func tap(t *testing.T, to string) *wiretap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wiretap{Listener: l}
	w.all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			w.all.Go(func() { w.carry(nc, to) })
		}
	})
	t.Cleanup(func() { l.Close(); w.all.Wait() })
	return w
}

func (w *wiretap) carry(nc net.Conn, to string) {
	defer nc.Close()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	b := new(bytes.Buffer)
	w.mu.Lock()
	w.streams = append(w.streams, b)
	w.mu.Unlock()
	w.all.Go(func() {
		defer far.Close()
		chunk := make([]byte, 4096)
		for {
			n, err := nc.Read(chunk)
			w.mu.Lock()
			b.Write(chunk[:n])
			w.mu.Unlock()
			if _, bad := far.Write(chunk[:n]); err != nil || bad != nil {
				return
			}
		}
	})
	_, _ = io.Copy(nc, far) //nolint:errcheck // any error ends the connection
}

// heard returns the bytes of all connections so far.
func (w *wiretap) heard() (out [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.streams {
		out = append(out, bytes.Clone(b.Bytes()))
	}
	return out
}

// An attacker between two servers can read no forwarded data, and gains nothing by replaying it.
func TestAttackerBetweenServers(t *testing.T) {
	var asked sync.WaitGroup
	took := make(chan string, 16)
	o := farOff(t, secret, cluster.Options{
		Name: "FAR", HTTP: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { took <- r.URL.Path }),
		AMQP: func(c *cluster.Conn) { took <- c.Client.Key; c.Close() },
	})
	w := tap(t, o.endpoint.Addresses[0])
	l := near(t, secret, cluster.Options{}).Forwarder("shop", cluster.Endpoint{Name: "FAR", Addresses: []string{w.Addr().String()}})
	defer l.Close()
	url, came := startRelay(t, l, cluster.Dashboard)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/confidential", strings.NewReader("confidential"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer confidential")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	if err := <-came; err != nil {
		t.Fatal(err)
	}
	owner, err := l.OpenAMQP(t.Context(), cluster.ClientInfo{Rule: "ci", Key: "confidential"})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	for _, want := range []string{"/confidential", "confidential"} {
		if path := <-took; path != want {
			t.Errorf("the server received %q, want %q", path, want)
		}
	}
	streams := w.heard()
	if len(streams) != 2 {
		t.Fatalf("got %d connections", len(streams))
	}
	for _, bytes := range streams {
		if text := string(bytes); strings.Contains(text, "confidential") || strings.Contains(text, "shop") || len(text) < 500 {
			t.Errorf("the data can be read: %d bytes %.300q", len(text), text)
		}
		asked.Go(func() {
			nc, err := net.Dial("tcp", o.endpoint.Addresses[0])
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			_, _ = nc.Write(bytes) //nolint:errcheck // the server may have hung up already
			if _, err := io.Copy(io.Discard, nc); errors.Is(err, context.DeadlineExceeded) {
				t.Error("the server does not end the connection")
			}
		})
	}
	asked.Wait()
	if len(took) > 0 {
		t.Errorf("replayed bytes were accepted: %q", <-took)
	}
}

// A server at the owner's address that accepts every client gets no password, no token
// and no request.
func TestImpostorLearnsNothing(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"FAR"}}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1", "mayfly-amqp"},
	})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan []byte, 16)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer nc.Close()
				text, _ := io.ReadAll(nc) //nolint:errcheck // the assertions come later
				heard <- text
			})
		}
	})
	line := near(t, secret, cluster.Options{}).Forwarder("shop", cluster.Endpoint{Name: "FAR", Addresses: []string{l.Addr().String()}})
	url, came := startRelay(t, line, cluster.Dashboard)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/confidential", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer confidential")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	if err := <-came; err == nil || w.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the response is %d after %v", w.StatusCode, err)
	}
	if nc, err := line.OpenAMQP(t.Context(), cluster.ClientInfo{Key: "confidential"}); err == nil {
		t.Error("an AMQP connection reached the impostor")
		nc.Close()
	}
	l.Close()
	all.Wait()
	close(heard)
	n := 0
	for text := range heard {
		n++
		if len(text) > 0 {
			t.Errorf("the impostor received %q", text)
		}
	}
	if n < 2 {
		t.Errorf("only %d connections arrived", n)
	}
}

// If an owner's address accepts the connection and sends nothing, the forwarding server gives up
// after a timeout, tries the owner's next address, and returns 503 if there is none.
func TestMuteOwnerIsGivenUp(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, but no server does
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	o := farOff(t, secret, cluster.Options{Name: "FAR", HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })})
	n := near(t, secret, cluster.Options{})
	alone, came := startRelay(t, n.Forwarder("shop", cluster.Endpoint{Name: "FAR", Addresses: []string{mute.Addr().String()}}), cluster.Dashboard)
	code := func(url string) int {
		t.Helper()
		w, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		return w.StatusCode
	}
	if got := code(alone); got != http.StatusServiceUnavailable {
		t.Errorf("the response is %d", got)
	}
	if err := <-came; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the attempt ended with %v", err)
	}
	both, came := startRelay(t, n.Forwarder("shop", cluster.Endpoint{Name: "FAR", Addresses: []string{mute.Addr().String(), o.endpoint.Addresses[0]}}), cluster.Dashboard)
	if got := code(both); got != http.StatusTeapot {
		t.Errorf("with another address: the response is %d after %v", got, <-came)
	}
}

// A forwarded request without a valid ClientInfo is refused, even from a server that knows the
// secret: it may have another version, or a bug.
func TestPassedOnWithoutWord(t *testing.T) {
	asked := make(chan cluster.ClientInfo, 16)
	o := farOff(t, secret, cluster.Options{Name: "FAR", HTTP: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, _ := cluster.ClientFromContext(r.Context())
		asked <- p
	})})
	keys, err := cluster.KeysOf(secret, "FAR")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing": "", "no base64": "{}", "no JSON": base64.StdEncoding.EncodeToString([]byte("shop")), "no namespace": base64.StdEncoding.EncodeToString([]byte(`{"who":{"Role":3}}`)),
	} {
		t.Run(name, func(t *testing.T) {
			c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&tls.Dialer{Config: keys}).DialContext(ctx, "tcp", o.endpoint.Addresses[0])
			}}}
			defer c.CloseIdleConnections()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://FAR/n/shop", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if text != "" {
				r.Header.Set("Mayfly-Passed-On", text)
			}
			w, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			w.Body.Close()
			if w.StatusCode != http.StatusBadRequest {
				t.Errorf("the response is %d", w.StatusCode)
			}
		})
	}
	if len(asked) > 0 {
		t.Errorf("the owner got the request %+v", <-asked)
	}
}
