package api

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/engine/namespaces/fleettest"
	"mayfly/engine/stats"
	"mayfly/storage/memory"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
	"mayfly/web/connections/peerstest"
	"mayfly/web/webhook"
)

// A world is the API with a real broker.
type world struct {
	*testing.T
	broker  *broker.Broker
	server  *httptest.Server
	peers   *peerstest.Source
	figures *stats.Recorder
	safe    *httptest.Server    // like server, in Safe mode
	fleet   *namespaces.Manager // namespaces of another server
}

func start(t *testing.T, o broker.Options) *world {
	t.Helper()
	return startOn(t, new(memory.Store), o)
}

func startOn(t *testing.T, store engine.Store, o broker.Options) *world {
	t.Helper()
	return startTelling(t, store, o, webhook.Options{})
}

// asAnybody identifies every caller as an open server does.
func asAnybody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !auth.FromRequest(c.Request()).IsKnown() {
			c.SetRequest(c.Request().WithContext(auth.WithCaller(c.Request().Context(), auth.OpenCaller())))
		}
		return next(c)
	}
}

func startTelling(t *testing.T, store engine.Store, o broker.Options, told webhook.Options) *world {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return store, nil }, o)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := job.Open(t.Context(), b, o.Logger)
	if err != nil {
		t.Fatal(err)
	}
	told.Logger = o.Logger
	hooks := webhook.New(told)
	rules, err := alert.Open(t.Context(), b, alert.Options{Logger: o.Logger, Send: hooks.Offer, AllowURL: hooks.CheckAddress})
	if err != nil {
		t.Fatal(err)
	}
	clients, kept, ships := new(peerstest.Source), stats.New(), fleettest.Open(t, func() engine.Store { return new(memory.Store) })
	ring := token.New(token.Options{Open: true, Logger: o.Logger})
	leave, err := ring.Serve(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	library, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	stages := demo.NewPlayer(demo.Options{Namespaces: ships, Library: library, Logger: o.Logger})
	if err := stages.LoadSaved(t.Context(), ships.List()[0].Broker); err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	e.Use(asAnybody)
	e.HTTPErrorHandler = Mount(e.Group("/api/v1"), Options{Broker: b, Clients: clients, Jobs: jobs, AlertRules: rules, Webhooks: hooks, Stats: kept, Namespaces: ships, Tokens: ring, Scenes: stages, Logger: o.Logger})
	s := httptest.NewServer(e)
	guarded := echo.New()
	guarded.Use(asAnybody)
	guarded.HTTPErrorHandler = Mount(guarded.Group("/api/v1"), Options{Broker: b, Clients: clients, Jobs: jobs, AlertRules: rules, Webhooks: hooks, Stats: kept, Namespaces: ships, Tokens: ring, Scenes: stages, Safe: true, Logger: o.Logger})
	safe := httptest.NewServer(guarded)
	t.Cleanup(func() {
		safe.CloseClientConnections()
		safe.Close()
		s.CloseClientConnections()
		s.Close()
		stages.Close()
		leave()
		ring.Close()
		jobs.Close()
		rules.Close()
		hooks.Close()
		b.Close()
	})
	return &world{T: t, broker: b, server: s, peers: clients, figures: kept, safe: safe, fleet: ships}
}

// want sends a request and checks the status; it decodes the answer into out unless that is
// nil.
func (w *world) want(status int, method, path, body string, out any) {
	w.Helper()
	got, text := w.ask(method, path, body)
	if got.StatusCode != status {
		w.Fatalf("%s %s: got %d %s, want %d", method, path, got.StatusCode, text, status)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			w.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
}

// An answer is a response whose body was read.
type answer struct {
	StatusCode int
	Header     http.Header
}

func (w *world) ask(method, path, body string) (answer, string) {
	w.Helper()
	return w.askWith(method, path, body, nil)
}

func (w *world) askWith(method, path, body string, header http.Header) (answer, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	maps.Copy(r.Header, header)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		w.Fatal(err)
	}
	conform(w.T, method, path, body, got.StatusCode, got.Header.Get("Content-Type"), text)
	return answer{got.StatusCode, got.Header}, string(text)
}

// everything returns all entities with their properties and counts, which a refused request
// must not change.
func (w *world) everything() string {
	w.Helper()
	_, text := w.ask("GET", "/entities", "")
	var all Entities
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		w.Fatal(err)
	}
	for i := range all.Entities {
		all.Entities[i].AccessedAt = nil // a refused receive may count as use
	}
	raw, err := json.Marshal(all)
	if err != nil {
		w.Fatal(err)
	}
	return string(raw)
}

func (w *world) entity(path string) (e Entity) {
	w.Helper()
	w.want(200, "GET", "/entities/"+path, "", &e)
	return e
}

// eventually waits for an effect of another goroutine.
func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	end := time.After(10 * time.Second)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-end:
			w.Fatalf("never: %s", what)
		case <-again.C:
		}
	}
}
