package amqp_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
)

// line returns a Forwarder for a namespace, with which another server forwards connections to w.
func (w *world) line(namespace string) *cluster.Forwarder {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	ends := [2]*cluster.Relay{}
	for i, name := range []string{"FAR", "NEAR"} {
		ends[i] = cluster.New(cluster.Options{Name: name, AMQP: w.s.ServeForwarded, Logger: slog.New(slog.DiscardHandler)})
		if err := ends[i].SetSecret(cluster.Secret{1}); err != nil {
			w.t.Fatal(err)
		}
	}
	served := make(chan error, 1)
	go func() { served <- ends[0].Serve(l) }()
	w.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, end := range ends {
			_ = end.Close(ctx) // tests end while connections are open
		}
		if err := <-served; err != nil {
			w.t.Error(err)
		}
	})
	return ends[1].Forwarder(namespace, cluster.EndpointOf("FAR", l.Addr(), ""))
}

// TestAudiencesOfPassedConnections checks that $cbs accepts a token for the same hosts whether the
// client's server owns the namespace or forwards the connection: the names of that server count,
// not those of the owner.
func TestAudiencesOfPassedConnections(t *testing.T) {
	called := func(name string) amqp.Options {
		return amqp.Options{SAS: sas.Enforce, Names: func(host string) bool { return host == name }, Logger: slog.New(slog.DiscardHandler)}
	}
	server := func(name string) *world {
		w := newWorld(t, called(name), broker.Options{})
		_, shop := w.shop()
		for _, b := range []*broker.Broker{w.b.Broker, shop.Broker} {
			if _, err := b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "root", Rights: engine.ManageRight, PrimaryKey: "key"}, ""); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	owner, at := server("bus.near"), server("bus.far")
	passing := &world{t: t, s: amqp.New(called("bus.near"))}
	t.Cleanup(func() { passing.s.Close(context.Background()) })
	passing.s.StandBy("It stands by.", at.line("default"))
	passing.s.Add("shop").StandBy("It stands by.", at.line("shop"))
	for name, tc := range map[string]struct {
		port, host, audience string
		want                 int32
	}{
		"the server's name":                {"", "bus.near", "sb://bus.near/", 202},
		"loopback":                         {"", "localhost", "sb://localhost/", 202},
		"a foreign host":                   {"", "bus.near", "sb://evil.example/", 401},
		"another namespace":                {"", "shop.localhost", "sb://shop.localhost/", 202},
		"loopback, of another namespace":   {"", "shop.localhost", "sb://localhost/", 401},
		"a port of another namespace":      {"shop", "bus.near", "sb://bus.near/", 202},
		"loopback at such a port":          {"shop", "localhost", "sb://localhost/", 202},
		"the server, of another namespace": {"", "shop.localhost", "sb://bus.near/", 401},
	} {
		for way, w := range map[string]*world{"owned": owner, "passed on": passing} {
			nc, err := goamqp.NewConn(t.Context(), w.plugAt(tc.port), &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous(), HostName: tc.host})
			if err != nil {
				t.Fatal(err)
			}
			status, description, _ := counterOn(t, nc).put(sastoken, tc.audience, sas.Sign(tc.audience, "root", "key", time.Now().Add(time.Hour)))
			if status != tc.want {
				t.Errorf("%s, %s: %d %s; want %d", name, way, status, description, tc.want)
			}
			_ = nc.Close() // the server has answered
		}
	}
}
