package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/gorilla/websocket"
)

// trusting is how a client is told of the CA of a server.
func trusting(t *testing.T, r Ready) *tls.Config {
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

// resolved is a transport for which every name is one address, as a hosts file
// would have it.
func resolved(c *tls.Config, to string) *http.Transport {
	return &http.Transport{TLSClientConfig: c, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", to)
	}}
}

// TestTLS: SDKs that are told to trust the CA connect as to Service Bus itself:
// by AMQP with TLS, by WebSockets, and by HTTPS, under the service's names too.
func TestTLS(t *testing.T) {
	s := serving(t, Config{Store: "memory:", AMQPS: "127.0.0.1:0", HTTPS: "127.0.0.1:0", TLSDir: filepath.Join(t.TempDir(), "tls"), TLSNames: []string{"broker"}})
	made(t, s.Ready, "q")
	trust := trusting(t, s.Ready)
	const key = ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE"

	t.Run("AMQP", func(t *testing.T) {
		named := trust.Clone()
		named.ServerName = "localhost" // the SDK takes a port for a part of the name
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
				t.Errorf("its lock is at %s", at)
			}
		})
	}
	t.Run("others", func(t *testing.T) {
		// A name that no certificate is for, even from a client that does not care.
		client := http.Client{Transport: resolved(&tls.Config{InsecureSkipVerify: true}, at)} //nolint:gosec // it does not care
		w, err := client.Get("https://evil.example/health")
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if w.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("under a foreign name: %s", w.Status)
		}
		// The names of the certificate are good for TLS only.
		client.Transport = resolved(nil, strings.TrimPrefix(s.Admin, "http://"))
		if w, err = client.Get("http://shop.servicebus.windows.net/health"); err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if w.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("without TLS: %s", w.Status)
		}
	})
	if text := s.out.String(); !strings.Contains(text, s.AMQPS) || !strings.Contains(text, s.HTTPS) || !strings.Contains(text, s.CA) {
		t.Errorf("printed is %s", text)
	}
}

// TestReadyTellsSDKs: the connection strings work as they stand.
func TestReadyTellsSDKs(t *testing.T) {
	s := serving(t, Config{Store: "memory:", ReadyJSON: true})
	made(t, s.Ready, "q")
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
	if err := json.Unmarshal(s.out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"amqp": true, "connectionString": true, "adminConnectionString": true, "amqps": false, "https": false, "ca": false} {
		if _, ok := got[name]; ok != there {
			t.Errorf("%s is there: %v", name, ok)
		}
	}
}

func TestConnectionString(t *testing.T) {
	for at, want := range map[string]string{
		"127.0.0.1:5672": "sb://localhost;", "127.0.0.1:5673": "sb://localhost:5673;", "0.0.0.0:5672": "sb://localhost;", "[::]:1": "sb://localhost:1;",
		"10.1.2.3:5672": "sb://10.1.2.3;", "10.1.2.3:5673": "sb://10.1.2.3:5673;", "[fd00::1]:5672": "sb://[fd00::1];", "[fd00::1]:1": "sb://[fd00::1]:1;",
	} {
		a, err := net.ResolveTCPAddr("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if got := connectionString("localhost", a, portAMQP); !strings.HasPrefix(got, "Endpoint="+want) || !strings.HasSuffix(got, ";UseDevelopmentEmulator=true;") {
			t.Errorf("%s: got %s", at, got)
		}
	}
}

// TestWithoutAMQP: a server whose AMQP port another program has.
func TestWithoutAMQP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	err := run(ctx, Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: noPort, Store: "memory:", Ready: func(r Ready) {
		if r.AMQP != "" || r.ConnectionString != "" {
			t.Errorf("it says %+v", r)
		}
		get(t, r.Admin+"/health")
		cancel()
	}}, &out)
	if err != nil || strings.Contains(out.String(), "AMQP") {
		t.Errorf("got %v, printed %s", err, &out)
	}
}
