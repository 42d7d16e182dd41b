package main

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

	"mayfly/engine"
	"mayfly/storage/mongo"
	"mayfly/storage/mongo/mongotest"
	"mayfly/web/relay"
)

// soon is more than one of these may take, on a busy machine too, and less than what
// clients wait of their own accord.
const soon = 10 * time.Second

// heldOff asks a server that cannot have its owner answer, at each of its doors: it says
// so, and says why in words that have want in them.
func heldOff(t *testing.T, r Ready, want string) {
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
		t.Errorf("AMQP is told %q", why)
	}
}

// TestPassedOnOnceOnly: of two servers that each take the other for the owner, each
// passes on, and the other says that it is not.
func TestPassedOnOnceOnly(t *testing.T) {
	url := mongotest.URL(t)
	var at [2]Ready
	var on [2]*shelf
	var all [2]*standing
	for i := range on {
		on[i] = newShelf()
		all[i] = stand(t, Config{Store: url, open: on[i].open})
		at[i] = all[i].next(stateReady)
	}
	one, two := on[0].owned(), on[1].owned()
	if one.Peer == "" || two.Peer == "" {
		t.Fatalf("they tell of no port: %+v, %+v", one, two)
	}
	// One goes to the other, and is answered.
	on[0].seize(two)
	all[0].next(stateStandby)
	eventually(t, "requests are passed on", func() bool {
		code, text := request(t, http.MethodGet, at[0].Dashboard+"/readyz", "")
		return code == http.StatusOK && strings.Contains(text, at[1].Dashboard)
	})
	on[1].seize(one)
	all[1].next(stateStandby)
	for i := range at {
		// What the other says comes back: that this one is the owner.
		heldOff(t, at[i], at[i].Dashboard)
	}
	// It is over when they know better.
	on[1].release()
	all[1].next(stateReady)
	if code, text := request(t, http.MethodGet, at[0].Dashboard+"/readyz", ""); code != http.StatusOK {
		t.Error(code, text)
	}
}

// TestOwnerThatIsNotThere: the owner is gone, dumb, of another cluster or lets everybody
// in; or it goes while it answers, and then it is said that it may have done something.
func TestOwnerThatIsNotThere(t *testing.T) {
	url := mongotest.URL(t)
	on := newShelf()
	s := stand(t, Config{Store: url, open: on.open})
	r := s.next(stateReady)
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
	serve := func(t *testing.T, secret relay.Secret) string {
		l := listen(t)
		far := relay.New(relay.Options{
			Name: "FAR", Logger: slog.New(slog.DiscardHandler),
			HTTP: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; panic(http.ErrAbortHandler) }),
			AMQP: func(c *relay.Conn) { asked <- struct{}{}; _ = c.Close() },
		})
		if err := far.Know(secret); err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- far.Serve(l) }()
		t.Cleanup(func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = far.Close(ctx) // in the middle of things
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
		"of another cluster": func(t *testing.T) string { return serve(t, relay.Secret{1}) },
	} {
		t.Run(name, func(t *testing.T) {
			on.seize(gone(at(t)))
			s.next(stateStandby)
			heldOff(t, r, "http://till-2.example:8080")
			on.release()
			s.next(stateReady)
		})
	}
	if len(asked) > 0 {
		t.Error("another cluster's server was asked")
	}
	t.Run("it goes as it answers", func(t *testing.T) {
		on.seize(gone(serve(t, raw)))
		s.next(stateStandby)
		const unsure = "whether it has done it is not known"
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
			code, text := request(t, q.method, q.at, "")
			if code != http.StatusServiceUnavailable || !strings.Contains(text, "http://till-2.example:8080") {
				t.Errorf("%s %s: %d %.2000s", q.method, q.at, code, text)
			}
			if said := strings.Contains(text, "hether it has done"); said != (q.unsure != "") || !strings.Contains(text, q.unsure) {
				t.Errorf("%s %s: not known is said: %v, in %.2000s", q.method, q.at, said, text)
			}
			<-asked
		}
		on.release()
		s.next(stateReady)
	})
}
