package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/server"
	"mayfly/storage/mongo/mongotest"
	"mayfly/web/api"
)

// ofShop parses flags of the form NAMESPACE=KIND, and returns ports with these namespaces and kinds
// on free port numbers.
func ofShop(t *testing.T, flags ...string) []server.NamespacePort {
	t.Helper()
	var all []server.NamespacePort
	for _, f := range flags {
		namespace, kind, ok := strings.Cut(f, "=")
		if !ok {
			t.Fatalf("%s has no kind", f)
		}
		all = append(all, server.NamespacePort{Namespace: namespace, Kind: kind, Address: "127.0.0.1:0"})
	}
	return all
}

// portOf returns the port of a namespace.
func portOf(t *testing.T, r server.Ready, namespace, kind string) server.NamespacePortInfo {
	t.Helper()
	i := slices.IndexFunc(r.Listen, func(l server.NamespacePortInfo) bool { return l.Namespace == namespace && l.Kind == kind })
	if i < 0 {
		t.Fatalf("no port of %s for %s among %+v", kind, namespace, r.Listen)
	}
	return r.Listen[i]
}

// TestPortsOfNamespaces checks that a port of a namespace gives access to that namespace only, by
// every protocol and whatever host a client names. If the namespace does not exist, the client gets
// an error.
func TestPortsOfNamespaces(t *testing.T) {
	s := Start(t, server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db"), ConfigFile: OrdersConfig(t), Listen: ofShop(t, "shop=amqp", "shop=admin", "till=amqp")})
	shop, till, admin := portOf(t, s.Ready, "shop", server.KindAMQP), portOf(t, s.Ready, "till", server.KindAMQP), portOf(t, s.Ready, "shop", server.KindAdmin)
	for _, l := range s.Listen {
		if want := fmt.Sprintf("  %-11s  %s %s\n", l.Namespace, l.Kind, l.Address); !strings.Contains(s.Out.String(), want) {
			t.Errorf("%q was not printed: %s", want, s.Out)
		}
	}

	const none = "The namespace 'shop' does not exist."
	nowhere := func(when string) {
		t.Helper()
		for _, host := range []string{"localhost", "default.localhost", "till.localhost"} {
			if err := sendsAs(t, shop.Address, host, "lost"); err == nil || !strings.Contains(err.Error(), none) {
				t.Errorf("%s, AMQP to %s: %v", when, host, err)
			}
			if code, text := s.RequestHost(t, "POST", admin.Address+"/orders/messages", host, "lost"); code != 410 || !strings.Contains(text, none) {
				t.Errorf("%s, REST to %s: %d %s", when, host, code, text)
			}
			if code, text := s.RequestHost(t, "GET", admin.Address+"/$Resources/Queues", host, ""); code != 410 || !strings.Contains(text, none) {
				t.Errorf("%s, Atom to %s: %d %s", when, host, code, text)
			}
		}
		if err := sendsInSocket(t, admin.Address, "localhost", "lost"); err == nil || !strings.Contains(err.Error(), none) {
			t.Errorf("%s, WebSocket: %v", when, err)
		}
	}
	nowhere("before it is made")

	FillNamespaces(t, s.API)
	var all api.Namespaces
	if err := json.Unmarshal([]byte(s.MustRequest(t, 200, "GET", s.API+"/namespaces", "", "")), &all); err != nil {
		t.Fatal(err)
	}
	for _, n := range all.Namespaces {
		want := map[string]string{"default": s.ConnectionString, "shop": shop.ConnectionString, "till": till.ConnectionString}[n.Name]
		if n.ConnectionString != want || !strings.HasPrefix(want, "Endpoint=sb://localhost:") || !strings.HasSuffix(want, ";UseDevelopmentEmulator=true;") {
			t.Errorf("%s has the connection string %s; want %s", n.Name, n.ConnectionString, want)
		}
		if entities := strings.Contains(n.AdminConnectionString, "sb://localhost:"); entities != (n.Name != "till") || n.Name == "shop" && n.AdminConnectionString != admin.ConnectionString {
			t.Errorf("the entities of %s are at %s", n.Name, n.AdminConnectionString)
		}
		page := s.MustRequest(t, 200, "GET", s.Dashboard+"/n/"+n.Name, "", "")
		if endpoint, _, _ := strings.Cut(want, ";"); !strings.Contains(page, endpoint+";") {
			t.Errorf("the page of %s does not show %s", n.Name, endpoint)
		}
		sends(t, want, "to "+n.Name)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "default.localhost", "till.localhost", "none.localhost", "till.servicebus.windows.net"} {
		if err := sendsAs(t, shop.Address, host, host); err != nil {
			t.Errorf("AMQP to %s: %v", host, err)
		}
	}
	if err := sendsInSocket(t, admin.Address, "till.localhost", "socket"); err != nil {
		t.Error(err)
	}
	s.MustRequest(t, 201, "POST", admin.Address+"/orders/messages", "till.localhost", "REST")
	s.MustRequest(t, 201, "PUT", admin.Address+"/made?api-version=2021-05", "till.localhost", `<QueueDescription/>`)
	for name, want := range map[string]string{
		"shop":    "to shop,localhost,127.0.0.1,default.localhost,till.localhost,none.localhost,till.servicebus.windows.net,socket,REST",
		"till":    "to till",
		"default": "to default",
	} {
		if got := bodies(t, s, name); got != want {
			t.Errorf("%s has %s; want %s", name, got, want)
		}
		code, _ := s.RequestHost(t, "GET", s.API+"/n/"+name+"/entities/made", "", "")
		if (code == 200) != (name == "shop") {
			t.Errorf("the queue created at shop's port: %d in %s", code, name)
		}
	}
	if text := stray(t, admin.Address); !strings.Contains(text, "AMQP is on "+shop.Address+".") {
		t.Errorf("AMQP at shop's HTTP port got %s", text)
	}

	s.MustRequest(t, 200, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
	nowhere("when it was removed")
	for _, name := range []string{"till", "default"} {
		if got := bodies(t, s, name); got != "to "+name {
			t.Errorf("at the end %s has %s", name, got)
		}
	}
}

// bodies returns the bodies of the messages in a namespace's queue orders.
func bodies(t *testing.T, s *Server, namespace string) string {
	t.Helper()
	var all struct {
		Messages []struct{ Body string }
	}
	if err := json.Unmarshal([]byte(s.MustRequest(t, 200, "GET", s.API+"/n/"+namespace+"/peek/orders", "", "")), &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range all.Messages {
		out = append(out, m.Body)
	}
	return strings.Join(out, ",")
}

// sends uses the Go SDK to send a message to orders.
func sends(t *testing.T, connection, body string) {
	t.Helper()
	c, err := azservicebus.NewClientFromConnectionString(connection, &azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	sender, err := c.NewSender("orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.SendMessage(t.Context(), &azservicebus.Message{Body: []byte(body)}, nil); err != nil {
		t.Errorf("%s: %v", connection, err)
	}
}

// sendsAs sends a message to orders at an AMQP address, with host as the host name.
func sendsAs(t *testing.T, at, host, body string) error {
	t.Helper()
	nc, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return sendsOn(t, nc, host, body)
}

// sendsInSocket is sendsAs over a WebSocket at an HTTP address.
func sendsInSocket(t *testing.T, at, host, body string) error {
	t.Helper()
	nc, err := DialWebSocket(t, at, websocket.Dialer{Subprotocols: []string{"amqp"}})
	if err != nil {
		t.Fatal(err)
	}
	return sendsOn(t, nc, host, body)
}

func sendsOn(t *testing.T, nc net.Conn, host, body string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := amqp.NewConn(ctx, nc, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), HostName: host})
	if err != nil {
		return err
	}
	defer c.Close()
	session, err := c.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	sender, err := session.NewSender(ctx, "orders", nil)
	if err != nil {
		return err
	}
	return sender.Send(ctx, amqp.NewMessage([]byte(body)), nil)
}

// stray sends AMQP's protocol header to an HTTP port, and returns the response.
func stray(t *testing.T, at string) string {
	t.Helper()
	nc, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Write([]byte("AMQP\x00\x01\x00\x00")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := nc.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// TestSecurePortsOfNamespaces checks that ports of a namespace with TLS accept AMQP and HTTP
// clients that trust the CA, whatever server name they send.
func TestSecurePortsOfNamespaces(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", ConfigFile: OrdersConfig(t), TLSDir: filepath.Join(t.TempDir(), "tls"), Listen: ofShop(t, "shop=amqps", "shop=https")})
	FillNamespaces(t, s.API)
	trust := TrustingTLS(t, s.Ready)
	trust.ServerName, trust.InsecureSkipVerify = "till.localhost", true // no certificate has that name
	c, err := amqp.Dial(t.Context(), "amqps://"+portOf(t, s.Ready, "shop", server.KindAMQPS).Address, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), TLSConfig: trust})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	session, err := c.NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := session.NewSender(t.Context(), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.Send(t.Context(), amqp.NewMessage([]byte("AMQP")), nil); err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: TrustingTLS(t, s.Ready)}}
	w, err := client.Post(portOf(t, s.Ready, "shop", server.KindHTTPS).Address+"/orders/messages", "text/plain", strings.NewReader("REST"))
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	if got := bodies(t, s, "shop"); w.StatusCode != http.StatusCreated || got != "AMQP,REST" {
		t.Errorf("%s, and shop has %s", w.Status, got)
	}
	if l := portOf(t, s.Ready, "shop", server.KindAMQPS); l.ConnectionString != "" {
		t.Errorf("a port with a certificate has the connection string %s", l.ConnectionString)
	}
}

// TestPortsArePassedOn checks that connections to a port of a namespace are forwarded if another
// server owns the namespace.
func TestPortsArePassedOn(t *testing.T) {
	url := mongotest.URL(t)
	a := StartStandby(t, server.Config{Store: url, Listen: ofShop(t, "shop=amqp", "shop=admin")}).Next(server.StateReady)
	b := StartStandby(t, server.Config{Store: url}).Next(server.StateStandby)
	if code, text := Request(t, "POST", b.Dashboard+"/api/v1/namespaces", `{"name":"shop","definitions":{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders"}]}]}}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	Eventually(t, "server a forwards to server b", func() bool {
		code, text := Request(t, "GET", a.Dashboard+"/readyz?namespace=shop", "")
		return code == http.StatusOK && strings.Contains(text, "are forwarded to the server at "+b.Dashboard)
	})
	if err := sendsAs(t, portOf(t, a, "shop", server.KindAMQP).Address, "default.localhost", "AMQP"); err != nil {
		t.Error(err)
	}
	if err := sendsInSocket(t, portOf(t, a, "shop", server.KindAdmin).Address, "localhost", "socket"); err != nil {
		t.Error(err)
	}
	if code, text := Request(t, "POST", portOf(t, a, "shop", server.KindAdmin).Address+"/orders/messages", "REST"); code != http.StatusCreated {
		t.Error(code, text)
	}
	if got := bodies(t, &Server{Ready: b}, "shop"); got != "AMQP,socket,REST" {
		t.Errorf("shop has %s", got)
	}
}

// TestPortsOfTheServersOwn checks that --listen may name the server's own namespace, and that such
// a port ignores the host name of a client.
func TestPortsOfTheServersOwn(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", ConfigFile: OrdersConfig(t), Namespace: "Main", Listen: ofShop(t, "main=amqp")})
	for host, at := range map[string]string{"shop.servicebus.windows.net": portOf(t, s.Ready, "main", server.KindAMQP).Address, "localhost": s.AMQP} {
		if err := sendsAs(t, at, host, "x"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := sendsAs(t, s.AMQP, "none.localhost", "x"); err == nil {
		t.Error("a message for an unknown namespace was accepted")
	}
	if n := Entity(t, s, "orders").Counts.Active; n != 2 || s.ConnectionString == s.Listen[0].ConnectionString {
		t.Errorf("got %d messages; the connection string is %s", n, s.ConnectionString)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := server.Run(ctx, server.Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: server.NoListener, Store: "memory:", Listen: ofShop(t, "default=amqp"), Ready: func(r server.Ready) {
		if at := portOf(t, r, "default", server.KindAMQP); r.AMQP != at.Address || r.ConnectionString != at.ConnectionString {
			t.Errorf("without --amqp: %+v", r)
		}
		cancel()
	}}, new(strings.Builder))
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
