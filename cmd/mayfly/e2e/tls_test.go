package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/certificate"
)

// TrustingTLS returns a client's configuration that trusts the CA of a server.
func TrustingTLS(t *testing.T, r server.Ready) *tls.Config {
	t.Helper()
	raw, err := os.ReadFile(r.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		t.Fatalf("%s has no certificate", r.CA)
	}
	return &tls.Config{RootCAs: pool}
}

// resolved returns a transport that connects to one address for every name, like a hosts file.
func resolved(c *tls.Config, to string) *http.Transport {
	return &http.Transport{TLSClientConfig: c, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", to)
	}}
}

// TestTLS checks that SDKs that trust the CA connect as to Service Bus itself: over AMQP with TLS,
// WebSockets and HTTPS, also with the service's host names.
func TestTLS(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", AMQPS: "127.0.0.1:0", HTTPS: "127.0.0.1:0", TLSDir: filepath.Join(t.TempDir(), "tls"), TLSNames: []string{"broker"}})
	CreateQueue(t, s.Ready, "q")
	trust := TrustingTLS(t, s.Ready)
	const key = ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE"

	t.Run("AMQP", func(t *testing.T) {
		named := trust.Clone()
		named.ServerName = "localhost" // the SDK considers the port a part of the name
		c, err := azservicebus.NewClientFromConnectionString("Endpoint=sb://"+s.AMQPS+key, &azservicebus.ClientOptions{TLSConfig: named})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.WithoutCancel(t.Context()))
		passes(t, c, "q")
	})
	at := strings.TrimPrefix(s.HTTPS, "https://")
	for name, protocol := range map[string]string{"shop.servicebus.windows.net": "AMQPWSB10", "broker": "AMQPWSB10", "localhost": "amqp"} { // sdk-demands 5
		t.Run("WebSocket at "+name, func(t *testing.T) {
			d := websocket.Dialer{Subprotocols: []string{protocol}, TLSClientConfig: trust, NetDialContext: resolved(nil, at).DialContext}
			c, err := azservicebus.NewClientFromConnectionString("Endpoint=sb://"+name+key, &azservicebus.ClientOptions{
				NewWebSocketConn: func(_ context.Context, args azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
					return upgraded(t, args.Host, d)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.WithoutCancel(t.Context()))
			passes(t, c, "q")
		})
		t.Run("REST at "+name, func(t *testing.T) {
			client := http.Client{Transport: resolved(trust, at), Timeout: time.Minute}
			w, err := client.Post("https://"+name+"/q/messages", "text/plain", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			w.Body.Close()
			if w.StatusCode != http.StatusCreated || w.ProtoMajor != 1 {
				t.Errorf("got %s by %s", w.Status, w.Proto)
			}
			w, err = client.Post("https://"+name+"/q/messages/head", "text/plain", nil)
			if err != nil {
				t.Fatal(err)
			}
			w.Body.Close()
			if at := w.Header.Get("Location"); !strings.HasPrefix(at, "https://"+name+"/q/messages/") {
				t.Errorf("the location of the lock is %s", at)
			}
		})
	}
	t.Run("others", func(t *testing.T) {
		// A host name that is not in the certificate is refused, even if the client does not verify
		// it.
		client := http.Client{Transport: resolved(&tls.Config{InsecureSkipVerify: true}, at)}
		w, err := client.Get("https://evil.example/health")
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if w.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("under a foreign name: %s", w.Status)
		}
		// The host names in the certificate are only valid with TLS.
		client.Transport = resolved(nil, strings.TrimPrefix(s.Admin, "http://"))
		if w, err = client.Get("http://shop.servicebus.windows.net/health"); err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if w.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("without TLS: %s", w.Status)
		}
	})
	if text := s.Out.String(); !strings.Contains(text, s.AMQPS) || !strings.Contains(text, s.HTTPS) || !strings.Contains(text, s.CA) {
		t.Errorf("printed %s", text)
	}
}

// TestReadyTellsSDKs checks that SDKs can use the connection strings in Ready unchanged.
func TestReadyTellsSDKs(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", ReadyJSON: true})
	CreateQueue(t, s.Ready, "q")
	c, err := azservicebus.NewClientFromConnectionString(s.ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	passes(t, c, "q")
	if want := "Endpoint=sb://localhost:" + s.Admin[strings.LastIndex(s.Admin, ":")+1:] + ";"; !strings.HasPrefix(s.AdminConnectionString, want) {
		t.Errorf("got %s, want %s…", s.AdminConnectionString, want)
	}
	var got map[string]any
	if err := json.Unmarshal(s.Out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"amqp": true, "connectionString": true, "adminConnectionString": true, "amqps": false, "https": false, "ca": false} {
		if _, ok := got[name]; ok != there {
			t.Errorf("%s is there: %v", name, ok)
		}
	}
}

// TestWithoutAMQP checks that a server without an AMQP port serves HTTP, and reports and prints no
// AMQP address.
func TestWithoutAMQP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	err := server.Run(ctx, server.Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: server.NoListener, Store: "memory:", Ready: func(r server.Ready) {
		if r.AMQP != "" || r.ConnectionString != "" {
			t.Errorf("the server reports %+v", r)
		}
		Get(t, r.Admin+"/health")
		cancel()
	}}, &out)
	if err != nil || strings.Contains(out.String(), "AMQP") {
		t.Errorf("got %v, printed %s", err, &out)
	}
}

// TestTLSFault checks for each port with TLS that a client that does not trust the certificate or
// does not use TLS causes one log line, which names the file to trust.
func TestTLSFault(t *testing.T) {
	distrusts := func(t *testing.T, at string) {
		var d tls.Dialer
		if nc, err := d.DialContext(t.Context(), "tcp", at); err == nil {
			nc.Close()
			t.Error("a client accepts a CA that it does not know")
		}
	}
	speaksPlainly := func(t *testing.T, at string) {
		nc, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if _, err := nc.Write([]byte("AMQP\x00\x01\x00\x00")); err != nil {
			t.Error(err)
		}
	}
	for name, tc := range map[string]struct {
		at     func(server.Ready) string
		client func(*testing.T, string)
		want   string
	}{
		"AMQPS, no trust": {func(r server.Ready) string { return r.AMQPS }, distrusts, "does not trust the certificate (bad certificate). Make the client trust "},
		"AMQPS, no TLS":   {func(r server.Ready) string { return r.AMQPS }, speaksPlainly, "speaks AMQP without TLS"},
		"HTTPS, no trust": {func(r server.Ready) string { return strings.TrimPrefix(r.HTTPS, "https://") }, distrusts, "does not trust the certificate (bad certificate). Make the client trust "},
		"HTTPS, no TLS":   {func(r server.Ready) string { return strings.TrimPrefix(r.HTTPS, "https://") }, speaksPlainly, "speaks AMQP without TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logged := make(lineWriter, 100)
			s := Start(t, server.Config{
				Store: "memory:", AMQPS: "127.0.0.1:0", HTTPS: "127.0.0.1:0", TLSDir: filepath.Join(t.TempDir(), "tls"),
				Logger: slog.New(slog.NewTextHandler(logged, nil)),
			})
			tc.client(t, tc.at(s.Ready))
			for line := range logged {
				if !strings.Contains(line, "TLS connection failed") {
					continue // a line from the startup
				}
				if !strings.Contains(line, "level=INFO") || !strings.Contains(line, "port="+tc.at(s.Ready)) || !strings.Contains(line, tc.want) || strings.HasSuffix(tc.want, " ") && !strings.Contains(line, tc.want+s.CA) {
					t.Errorf("the log has %s", line)
				}
				return
			}
		})
	}
}

// A lineWriter receives the lines of a log.
type lineWriter chan string

func (w lineWriter) Write(b []byte) (int, error) {
	select {
	case w <- string(b):
	default: // more lines than the test reads
	}
	return len(b), nil
}

// TestListened checks that the certificate covers the address of a port with TLS, except one that
// the existing CA may not sign for: then the CA stays.
func TestListened(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "old")
	former, err := certificate.Open(certificate.Options{Dir: dir}) // its CA may not sign for 127.0.0.2
	if err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(former.CA())
	if err != nil {
		t.Fatal(err)
	}
	Start(t, server.Config{Store: "memory:", AMQPS: "127.0.0.2:0", TLSDir: dir})
	if is, err := os.ReadFile(former.CA()); err != nil || !bytes.Equal(is, was) {
		t.Errorf("there is a new CA, which no client trusts: %v", err)
	}
	s := Start(t, server.Config{Store: "memory:", AMQPS: "127.0.0.2:0", TLSDir: filepath.Join(t.TempDir(), "tls")})
	c, err := (&tls.Dialer{Config: TrustingTLS(t, s.Ready)}).DialContext(t.Context(), "tcp", s.AMQPS)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
