package main

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
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"mayfly/storage/mongo/mongotest"
	"mayfly/web/api"
)

func TestParseListen(t *testing.T) {
	got, err := parseListen([]string{"Shop=amqp:127.0.0.1:5673", " till=https:[::1]:0"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Listen{{"shop", "amqp", "127.0.0.1:5673"}, {"till", "https", "[::1]:0"}}, got); d != "" {
		t.Error(d)
	}
}

// A server is of this machine alone if all its ports are, and lets all of them go.
func TestPortsBeyondLoopback(t *testing.T) {
	for at, want := range map[string]bool{"127.0.0.1:0": true, "0.0.0.0:0": false} {
		p, err := openPorts(t.Context(), Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", Insecure: true, Listen: []Listen{{"shop", kindAMQP, at}}})
		if err != nil {
			t.Fatal(err)
		}
		if p.loopback() != want {
			t.Errorf("%s: it is of this machine alone: %v", at, !want)
		}
		p.close()
		if err := p.its[0].Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: it was still open, or %v", at, err)
		}
	}
}

// ofShop are free ports for namespaces, as flags.
func ofShop(t *testing.T, flags ...string) []Listen {
	t.Helper()
	for i, f := range flags {
		flags[i] = f + ":127.0.0.1:0"
	}
	all, err := parseListen(flags)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// at is where a port of a namespace is.
func (r Ready) at(t *testing.T, namespace, kind string) Listening {
	t.Helper()
	i := slices.IndexFunc(r.Listen, func(l Listening) bool { return l.Namespace == namespace && l.Kind == kind })
	if i < 0 {
		t.Fatalf("there is no port of %s for %s among %+v", kind, namespace, r.Listen)
	}
	return r.Listen[i]
}

// Two namespaces with a port each, both at localhost, have their own messages, whatever
// host a client names, at every door; where there is no such namespace, it is told so.
func TestPortsOfNamespaces(t *testing.T) {
	s := serving(t, Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db"), Definition: ordersOnly(t), Listen: ofShop(t, "shop=amqp", "shop=admin", "till=amqp")})
	shop, till, admin := s.at(t, "shop", kindAMQP), s.at(t, "till", kindAMQP), s.at(t, "shop", kindAdmin)
	for _, l := range s.Listen {
		if want := fmt.Sprintf("  %-11s  %s %s\n", l.Namespace, l.Kind, l.At); !strings.Contains(s.out.String(), want) {
			t.Errorf("nothing is printed of %q: %s", want, s.out)
		}
	}

	const none = "There is no namespace 'shop'."
	nowhere := func(when string) {
		t.Helper()
		for _, host := range []string{"localhost", "default.localhost", "till.localhost"} {
			if err := sendsAs(t, shop.At, host, "lost"); err == nil || !strings.Contains(err.Error(), none) {
				t.Errorf("%s, AMQP to %s: %v", when, host, err)
			}
			if code, text := s.says(t, "POST", admin.At+"/orders/messages", host, "lost"); code != 410 || !strings.Contains(text, none) {
				t.Errorf("%s, REST to %s: %d %s", when, host, code, text)
			}
			if code, text := s.says(t, "GET", admin.At+"/$Resources/Queues", host, ""); code != 410 || !strings.Contains(text, none) {
				t.Errorf("%s, Atom to %s: %d %s", when, host, code, text)
			}
		}
		if err := sendsInSocket(t, admin.At, "localhost", "lost"); err == nil || !strings.Contains(err.Error(), none) {
			t.Errorf("%s, WebSocket: %v", when, err)
		}
	}
	nowhere("before it is made")

	furnishSpaces(t, s.API)
	var all api.Namespaces
	if err := json.Unmarshal([]byte(s.must(t, 200, "GET", s.API+"/namespaces", "", "")), &all); err != nil {
		t.Fatal(err)
	}
	for _, n := range all.Namespaces {
		want := map[string]string{"default": s.ConnectionString, "shop": shop.ConnectionString, "till": till.ConnectionString}[n.Name]
		if n.ConnectionString != want || !strings.HasPrefix(want, "Endpoint=sb://localhost:") || !strings.HasSuffix(want, ";UseDevelopmentEmulator=true;") {
			t.Errorf("%s is at %s; want %s", n.Name, n.ConnectionString, want)
		}
		if entities := strings.Contains(n.AdminConnectionString, "sb://localhost:"); entities != (n.Name != "till") || n.Name == "shop" && n.AdminConnectionString != admin.ConnectionString {
			t.Errorf("the entities of %s are at %s", n.Name, n.AdminConnectionString)
		}
		page := s.must(t, 200, "GET", s.Dashboard+"/n/"+n.Name, "", "")
		if endpoint, _, _ := strings.Cut(want, ";"); !strings.Contains(page, endpoint+";") {
			t.Errorf("the page of %s does not tell %s", n.Name, endpoint)
		}
		sends(t, want, "to "+n.Name)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "default.localhost", "till.localhost", "none.localhost", "till.servicebus.windows.net"} {
		if err := sendsAs(t, shop.At, host, host); err != nil {
			t.Errorf("AMQP to %s: %v", host, err)
		}
	}
	if err := sendsInSocket(t, admin.At, "till.localhost", "socket"); err != nil {
		t.Error(err)
	}
	s.must(t, 201, "POST", admin.At+"/orders/messages", "till.localhost", "REST")
	s.must(t, 201, "PUT", admin.At+"/made?api-version=2021-05", "till.localhost", `<QueueDescription/>`)
	for name, want := range map[string]string{
		"shop":    "to shop,localhost,127.0.0.1,default.localhost,till.localhost,none.localhost,till.servicebus.windows.net,socket,REST",
		"till":    "to till",
		"default": "to default",
	} {
		if got := bodies(t, s, name); got != want {
			t.Errorf("%s has %s; want %s", name, got, want)
		}
		code, _ := s.says(t, "GET", s.API+"/n/"+name+"/entities/made", "", "")
		if (code == 200) != (name == "shop") {
			t.Errorf("the queue made at shop's port: %d in %s", code, name)
		}
	}
	if text := stray(t, admin.At); !strings.Contains(text, "AMQP is on "+shop.At+".") {
		t.Errorf("AMQP at shop's port of HTTP hears %s", text)
	}

	s.must(t, 200, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
	nowhere("when it was removed")
	for _, name := range []string{"till", "default"} {
		if got := bodies(t, s, name); got != "to "+name {
			t.Errorf("in the end %s has %s", name, got)
		}
	}
}

// bodies are those of the messages of a namespace's orders.
func bodies(t *testing.T, s *server, namespace string) string {
	t.Helper()
	var all struct {
		Messages []struct{ Body string }
	}
	if err := json.Unmarshal([]byte(s.must(t, 200, "GET", s.API+"/n/"+namespace+"/peek/orders", "", "")), &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range all.Messages {
		out = append(out, m.Body)
	}
	return strings.Join(out, ",")
}

// sends has the Go SDK send a message to orders.
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

// sendsAs sends a message to orders at an address of AMQP that it calls host.
func sendsAs(t *testing.T, at, host, body string) error {
	t.Helper()
	nc, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return sendsOn(t, nc, host, body)
}

// sendsInSocket is the same in a WebSocket at an address of HTTP.
func sendsInSocket(t *testing.T, at, host, body string) error {
	t.Helper()
	nc, err := dialled(t, at, websocket.Dialer{Subprotocols: []string{"amqp"}})
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

// stray is what a client of AMQP hears at a port of HTTP.
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

// Ports of one namespace with TLS are like the others with TLS.
func TestSecurePortsOfNamespaces(t *testing.T) {
	s := serving(t, Config{Store: "memory:", Definition: ordersOnly(t), TLSDir: filepath.Join(t.TempDir(), "tls"), Listen: ofShop(t, "shop=amqps", "shop=https")})
	furnishSpaces(t, s.API)
	trust := trusting(t, s.Ready)
	trust.ServerName, trust.InsecureSkipVerify = "till.localhost", true // no certificate is for that
	c, err := amqp.Dial(t.Context(), "amqps://"+s.at(t, "shop", kindAMQPS).At, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), TLSConfig: trust})
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
	client := http.Client{Transport: &http.Transport{TLSClientConfig: trusting(t, s.Ready)}}
	w, err := client.Post(s.at(t, "shop", kindHTTPS).At+"/orders/messages", "text/plain", strings.NewReader("REST"))
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	if got := bodies(t, s, "shop"); w.StatusCode != http.StatusCreated || got != "AMQP,REST" {
		t.Errorf("%s, and shop has %s", w.Status, got)
	}
	if l := s.at(t, "shop", kindAMQPS); l.ConnectionString != "" {
		t.Errorf("without TLS it is to be had by %s", l.ConnectionString)
	}
}

// What comes to a port of a namespace that another server owns is passed on to it.
func TestPortsArePassedOn(t *testing.T) {
	url := mongotest.URL(t)
	a := stand(t, Config{Store: url, Listen: ofShop(t, "shop=amqp", "shop=admin")}).next(stateReady)
	b := stand(t, Config{Store: url}).next(stateStandby)
	if code, text := request(t, "POST", b.Dashboard+"/api/v1/namespaces", `{"name":"shop","definitions":{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders"}]}]}}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	eventually(t, "a passes on to b", func() bool {
		code, text := request(t, "GET", a.Dashboard+"/readyz?namespace=shop", "")
		return code == http.StatusOK && strings.Contains(text, "is passed on to the server at "+b.Dashboard)
	})
	if err := sendsAs(t, a.at(t, "shop", kindAMQP).At, "default.localhost", "AMQP"); err != nil {
		t.Error(err)
	}
	if err := sendsInSocket(t, a.at(t, "shop", kindAdmin).At, "localhost", "socket"); err != nil {
		t.Error(err)
	}
	if code, text := request(t, "POST", a.at(t, "shop", kindAdmin).At+"/orders/messages", "REST"); code != http.StatusCreated {
		t.Error(code, text)
	}
	if got := bodies(t, &server{Ready: b}, "shop"); got != "AMQP,socket,REST" {
		t.Errorf("shop has %s", got)
	}
}

// A port that a namespace shares with nobody is one of the server's own, if that is
// called so.
func TestPortsOfTheServersOwn(t *testing.T) {
	s := serving(t, Config{Store: "memory:", Definition: ordersOnly(t), Namespace: "Main", Listen: ofShop(t, "main=amqp")})
	for host, at := range map[string]string{"shop.servicebus.windows.net": s.at(t, "main", kindAMQP).At, "localhost": s.AMQP} {
		if err := sendsAs(t, at, host, "x"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := sendsAs(t, s.AMQP, "none.localhost", "x"); err == nil {
		t.Error("it is not asked for hosts at the other")
	}
	if n := entity(t, s, "orders").Counts.Active; n != 2 || s.ConnectionString == s.Listen[0].ConnectionString {
		t.Errorf("there are %d messages; it is to be had by %s", n, s.ConnectionString)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := run(ctx, Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: noPort, Store: "memory:", Listen: ofShop(t, "default=amqp"), Ready: func(r Ready) {
		if at := r.at(t, "default", kindAMQP); r.AMQP != at.At || r.ConnectionString != at.ConnectionString {
			t.Errorf("where it has no other: %+v", r)
		}
		cancel()
	}}, new(strings.Builder))
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
