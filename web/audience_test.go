package web_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web"
	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
)

// far serves the requests that other servers forward to s, and returns a Forwarder to it.
func far(t *testing.T, s *web.Server, namespace string) *cluster.Forwarder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]*cluster.Relay{}
	for i, name := range []string{"FAR", "NEAR"} {
		ends[i] = cluster.New(cluster.Options{Name: name, HTTP: s.ForwardedHandler(), Logger: slog.New(slog.DiscardHandler)})
		if err := ends[i].SetSecret(cluster.Secret{1}); err != nil {
			t.Fatal(err)
		}
	}
	served := make(chan error, 1)
	go func() { served <- ends[0].Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, end := range ends {
			_ = end.Close(ctx) // no request is running
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return ends[1].Forwarder(namespace, cluster.EndpointOf("FAR", l.Addr(), ""))
}

// TestAudiencesOfPassedRequests: a token is valid for the same hosts whether the server that
// the client uses owns the namespace or forwards the request: for its own names, not for those
// of the owner.
func TestAudiencesOfPassedRequests(t *testing.T) {
	called := func(name string) web.Options {
		return web.Options{Logger: slog.New(slog.DiscardHandler), SAS: sas.Enforce, Hosts: []string{name}, IsServerName: func(host string) bool { return host == name || host == "192.0.2.7" && name == "bus.near" }}
	}
	var brokers []*broker.Broker
	for _, name := range []string{"default", "shop"} {
		b := brokertest.Open(t, broker.Options{Name: name})
		if _, err := b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "root", Rights: engine.ManageRight, PrimaryKey: "key"}, ""); err != nil {
			t.Fatal(err)
		}
		b.CreateQueue("q", engine.Config{})
		brokers = append(brokers, b.Broker)
	}
	owner, passing, at := web.New(called("bus.near")), web.New(called("bus.near")), web.New(called("bus.far"))
	for _, s := range []*web.Server{owner, at} {
		s.Open(web.Services{Broker: brokers[0]})
		s.AddNamespace("shop").Open(web.Services{Broker: brokers[1]})
	}
	passing.StandBy(web.Standby{Namespace: "default", Forwarder: far(t, at, "default")})
	passing.AddNamespace("shop").StandBy(web.Standby{Namespace: "shop", Forwarder: far(t, at, "shop")})
	for name, tc := range map[string]struct {
		host, audience string
		want           int
	}{
		"the server's name":                    {"bus.near", "sb://bus.near/q", 201},
		"with a port":                          {"bus.near:5300", "http://Bus.Near:5300/q", 201},
		"a name that the request does not use": {"localhost", "sb://bus.near/q", 201},
		"loopback":                             {"localhost", "sb://localhost/q", 201},
		"an address":                           {"localhost", "sb://192.0.2.7/q", 201},
		"a foreign host":                       {"bus.near", "sb://evil.example/q", 401},
		"a label of a foreign host":            {"localhost", "sb://bus.evil.example/q", 401},
		"another namespace":                    {"shop.localhost", "sb://shop.localhost/q", 201},
		"another namespace, as hosted":         {"shop.localhost", "sb://shop.servicebus.windows.net/q", 201},
		"loopback, of another namespace":       {"shop.localhost", "sb://localhost/q", 401},
		"the server, of another namespace":     {"shop.localhost", "sb://bus.near/q", 401},
		"an address, of another namespace":     {"shop.localhost", "sb://192.0.2.7/q", 401},
	} {
		for way, s := range map[string]*web.Server{"owned": owner, "passed on": passing} {
			r := sendTo(t, tc.host, tc.audience)
			w := httptest.NewRecorder()
			if s.Admin().ServeHTTP(w, r); w.Code != tc.want {
				t.Errorf("%s, %s: %d %s; want %d", name, way, w.Code, w.Body, tc.want)
			}
		}
	}
}

// sendTo returns a request to send a message to the queue q, with a token for audience.
func sendTo(t *testing.T, host, audience string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/q/messages", strings.NewReader("x"))
	r.Header.Set("Authorization", sas.Sign(audience, "root", "key", time.Now().Add(time.Hour)))
	return r
}

// TestAudiencesAtPortOfPassedRequests: at a port of a namespace, each name of the server is
// one of that namespace, also if another server owns it.
func TestAudiencesAtPortOfPassedRequests(t *testing.T) {
	called := web.Options{Logger: slog.New(slog.DiscardHandler), SAS: sas.Enforce}
	b := open(t)
	if _, err := b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "root", Rights: engine.ManageRight, PrimaryKey: "key"}, ""); err != nil {
		t.Fatal(err)
	}
	at, passing := web.New(called), web.New(called)
	at.AddNamespace("shop").Open(web.Services{Broker: b.Broker})
	passing.AddNamespace("shop").StandBy(web.Standby{Namespace: "shop", Forwarder: far(t, at, "shop")})
	var ports [2]net.Listener
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l
	}
	served := make(chan error, 1)
	go func() { served <- passing.Serve(ports[0], web.Port{Listener: ports[1], Namespace: "shop"}) }()
	r := sendTo(t, ports[1].Addr().String(), "sb://localhost/q")
	r.RequestURI = "" // it must be empty in a client's request
	w, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Body.Close() // only the status is checked
	if w.StatusCode != http.StatusCreated {
		t.Errorf("%d", w.StatusCode)
	}
	if err := errors.Join(passing.Shutdown(context.Background()), <-served); err != nil {
		t.Error(err)
	}
}
