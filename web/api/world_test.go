package api

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/engine/namespaces/namespacestest"
	"mayfly/engine/stats"
	"mayfly/storage/memory"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
	"mayfly/web/connections/connectionstest"
	"mayfly/web/webhook"
	"mayfly/web/webtest"
)

// A world is the API with a real broker.
type world struct {
	*webtest.Client
	broker     *brokertest.Broker
	clients    *connectionstest.Source
	stats      *stats.Recorder
	safe       *webtest.Client     // like Client, in Safe mode
	namespaces *namespaces.Manager // namespaces of another server
}

func start(t *testing.T, o broker.Options) *world {
	t.Helper()
	return startOn(t, new(memory.Store), o)
}

func startOn(t *testing.T, store engine.Store, o broker.Options) *world {
	t.Helper()
	return startWithWebhooks(t, store, o, webhook.Options{})
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

func startWithWebhooks(t *testing.T, store engine.Store, o broker.Options, webhookOptions webhook.Options) *world {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	b := brokertest.OpenOn(t, store, o)
	jobs, err := job.Open(t.Context(), b.Broker, o.Logger)
	if err != nil {
		t.Fatal(err)
	}
	webhookOptions.Logger = o.Logger
	webhooks := webhook.New(webhookOptions)
	rules, err := alert.Open(t.Context(), b.Broker, alert.Options{Logger: o.Logger, Send: webhooks.Offer, AllowURL: webhooks.CheckAddress})
	if err != nil {
		t.Fatal(err)
	}
	clients, kept, manager := new(connectionstest.Source), stats.New(), namespacestest.Open(t, func() engine.Store { return new(memory.Store) })
	registry := token.New(token.Options{Open: true, Logger: o.Logger})
	leave, err := registry.Serve(t.Context(), b.Broker)
	if err != nil {
		t.Fatal(err)
	}
	library, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	stages := demo.NewPlayer(demo.Options{Namespaces: manager, Library: library, Logger: o.Logger})
	if err := stages.LoadSaved(t.Context(), manager.List()[0].Broker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stages.Close()
		leave()
		registry.Close()
		jobs.Close()
		rules.Close()
		webhooks.Close()
	})
	serve := func(safe bool) *webtest.Client {
		e := echo.New()
		e.Use(asAnybody)
		e.HTTPErrorHandler = Mount(e.Group("/api/v1"), Options{Broker: b.Broker, Clients: clients, Jobs: jobs, AlertRules: rules, Webhooks: webhooks, Stats: kept, Namespaces: manager, Tokens: registry, Scenes: stages, Safe: safe, Logger: o.Logger})
		return webtest.Serve(t, e)
	}
	return &world{Client: serve(false), broker: b, clients: clients, stats: kept, safe: serve(true), namespaces: manager}
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

func (w *world) ask(method, path, body string, headers ...string) (webtest.Answer, string) {
	w.Helper()
	a := w.Ask(method, "/api/v1"+path, body, headers...)
	conform(w.T, method, path, body, a.StatusCode, a.Header.Get("Content-Type"), []byte(a.Body))
	return a, a.Body
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
