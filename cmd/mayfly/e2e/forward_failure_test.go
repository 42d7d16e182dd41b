package e2e

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/go-amqp"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
	"mayfly/storage/mongo"
	"mayfly/storage/mongo/mongotest"
	"mayfly/web/cluster"
)

// soon is longer than any of these requests takes, even on a busy machine, and shorter than
// clients wait by default.
const soon = 10 * time.Second

// heldOff checks that a server that cannot reach the owner refuses requests by every protocol,
// with a reason that contains want.
func heldOff(t *testing.T, r server.Ready, want string) {
	t.Helper()
	ask := func(method, at, body string) (int, string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		w, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, "", err
		}
		defer w.Body.Close()
		text, err := io.ReadAll(w.Body)
		return w.StatusCode, string(text), err
	}
	for _, q := range []struct{ method, at, body string }{
		{"GET", r.Dashboard + "/n/default/queues", ""},
		{"GET", r.Dashboard + "/", ""},
		{"GET", r.Dashboard + "/live", ""},
		{"GET", r.Dashboard + "/readyz", ""},
		{"GET", r.Dashboard + "/api/v1/entities", ""},
		{"POST", r.Dashboard + "/api/v1/send/q", `{"body":"x"}`},
		{"POST", r.Dashboard + "/n/default/queues", "name=q"},
		{"POST", r.Admin + "/q/messages", "x"},
		{"DELETE", r.Admin + "/q/messages/head?timeout=60", ""},
		{"GET", r.Admin + "/health", ""},
	} {
		if code, text, err := ask(q.method, q.at, q.body); err != nil || code != http.StatusServiceUnavailable || !strings.Contains(text, want) {
			t.Errorf("%s %s: %d, %v, no %q in %.2000s", q.method, q.at, code, err, want, text)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	c, err := amqp.Dial(ctx, "amqp://"+r.AMQP, nil)
	if err == nil {
		defer c.Close()
		_, err = c.NewSession(ctx, nil)
	}
	if why := sentAway(t, err); !strings.Contains(why, "Standing by: the server at") {
		t.Errorf("AMQP got the error %q", why)
	}
}

// TestPassedOnOnceOnly checks that if two servers each consider the other the owner, a request
// is forwarded only once and then refused.
func TestPassedOnOnceOnly(t *testing.T) {
	url := mongotest.URL(t)
	var at [2]server.Ready
	var on [2]*SharedStore
	var all [2]*SharedServer
	for i := range on {
		on[i] = NewSharedStore()
		all[i] = StartStandby(t, server.Config{Store: url, OpenStore: on[i].Open})
		at[i] = all[i].Next(server.StateReady)
	}
	one, two := on[0].Owner(), on[1].Owner()
	if one.Peer == "" || two.Peer == "" {
		t.Fatalf("the servers report no port: %+v, %+v", one, two)
	}
	// The first server forwards to the second, which responds.
	on[0].Seize(two)
	all[0].Next(server.StateStandby)
	Eventually(t, "requests are forwarded", func() bool {
		code, text := Request(t, http.MethodGet, at[0].Dashboard+"/readyz", "")
		return code == http.StatusOK && strings.Contains(text, at[1].Dashboard)
	})
	on[1].Seize(one)
	all[1].Next(server.StateStandby)
	for i := range at {
		// The other server's response names this server as the owner.
		heldOff(t, at[i], at[i].Dashboard)
	}
	// The refusals end once the servers know the owner.
	on[1].Release()
	all[1].Next(server.StateReady)
	if code, text := Request(t, http.MethodGet, at[0].Dashboard+"/readyz", ""); code != http.StatusOK {
		t.Error(code, text)
	}
}

// TestOwnerThatIsNotThere checks an owner that is gone, does not respond, has another secret or
// accepts everything; and one that disappears during a request, whose outcome is reported as
// uncertain.
func TestOwnerThatIsNotThere(t *testing.T) {
	url := mongotest.URL(t)
	on := NewSharedStore()
	s := StartStandby(t, server.Config{Store: url, OpenStore: on.Open})
	r := s.Next(server.StateReady)
	catalogue := &mongo.Catalogue{URL: url}
	raw, err := catalogue.Secret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { catalogue.Close() })
	listen := func(t *testing.T) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	asked := make(chan struct{}, 64)
	serve := func(t *testing.T, secret cluster.Secret) string {
		l := listen(t)
		far := cluster.New(cluster.Options{
			Name: "FAR", Logger: slog.New(slog.DiscardHandler),
			HTTP: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; panic(http.ErrAbortHandler) }),
			AMQP: func(c *cluster.Conn) { asked <- struct{}{}; _ = c.Close() },
		})
		if err := far.SetSecret(secret); err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- far.Serve(l) }()
		t.Cleanup(func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = far.Close(ctx) // in the middle of a response
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
		return l.Addr().String()
	}
	gone := func(at string) engine.Owner {
		return engine.Owner{Dashboard: "http://till-2.example:8080", AMQP: "till-2.example:5672", Peer: "FAR@" + at}
	}
	for name, at := range map[string]func(*testing.T) string{
		"nobody listens":     func(t *testing.T) string { l := listen(t); l.Close(); return l.Addr().String() },
		"it is dumb":         func(t *testing.T) string { return listen(t).Addr().String() },
		"of another cluster": func(t *testing.T) string { return serve(t, cluster.Secret{1}) },
	} {
		t.Run(name, func(t *testing.T) {
			on.Seize(gone(at(t)))
			s.Next(server.StateStandby)
			heldOff(t, r, "http://till-2.example:8080")
			on.Release()
			s.Next(server.StateReady)
		})
	}
	if len(asked) > 0 {
		t.Error("the server of another cluster got a request")
	}
	t.Run("it goes as it answers", func(t *testing.T) {
		on.Seize(gone(serve(t, raw)))
		s.Next(server.StateStandby)
		const unsure = "may or may not have been executed"
		for _, q := range []struct {
			method, at string
			unsure     string
		}{
			{"POST", r.Dashboard + "/api/v1/send/q", unsure},
			{"POST", r.Admin + "/q/messages", unsure},
			{"DELETE", r.Admin + "/q/messages/head?timeout=60", unsure},
			{"POST", r.Dashboard + "/n/default/queues", "Whether it has done what you asked is not known"},
			{"GET", r.Dashboard + "/api/v1/entities", ""},
			{"GET", r.Dashboard + "/n/default/queues", ""},
		} {
			code, text := Request(t, q.method, q.at, "")
			if code != http.StatusServiceUnavailable || !strings.Contains(text, "http://till-2.example:8080") {
				t.Errorf("%s %s: %d %.2000s", q.method, q.at, code, text)
			}
			if said := strings.Contains(text, unsure) || strings.Contains(text, "Whether it has done"); said != (q.unsure != "") || !strings.Contains(text, q.unsure) {
				t.Errorf("%s %s: reports an unknown outcome: %v, in %.2000s", q.method, q.at, said, text)
			}
			<-asked
		}
		on.Release()
		s.Next(server.StateReady)
	})
}
