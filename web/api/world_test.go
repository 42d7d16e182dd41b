package api

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/storage/memory"
	"mayfly/web/access"
	"mayfly/web/figures"
	"mayfly/web/peers/peerstest"
)

// A world is a door on a real broker.
type world struct {
	*testing.T
	broker  *broker.Broker
	server  *httptest.Server
	peers   *peerstest.Source
	figures *figures.Recorder
}

func start(t *testing.T, o broker.Options) *world {
	t.Helper()
	return startOn(t, new(memory.Store), o)
}

func startOn(t *testing.T, store engine.Store, o broker.Options) *world {
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
	clients, kept := new(peerstest.Source), figures.New()
	e := echo.New()
	e.HTTPErrorHandler = Mount(e.Group("/api/v1"), Options{Broker: b, Peers: clients, Jobs: jobs, Figures: kept, Room: access.NewRoom(), Logger: o.Logger})
	s := httptest.NewServer(e)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		jobs.Close()
		b.Close()
	})
	return &world{t, b, s, clients, kept}
}

// want asks and checks the status; an answer is read into out unless that is
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
	r, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
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

// everything is what a refused request must leave as it was: all entities with
// their descriptions and counts.
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

// eventually waits for what another goroutine will do.
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
