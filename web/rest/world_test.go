package rest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
)

// A world is the REST API on a real broker.
type world struct {
	*testing.T
	broker *broker.Broker
	server *httptest.Server
}

func start(t *testing.T, o broker.Options) *world {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, o)
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	Mount(e, Options{Broker: b, Logger: o.Logger})
	s := httptest.NewServer(e)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		b.Close()
	})
	return &world{t, b, s}
}

// create adds an entity; settings are pairs of property and value.
func (w *world) create(kind engine.EntityKind, p engine.Path, settings ...string) {
	w.Helper()
	var c engine.Config
	for i := 0; i < len(settings); i += 2 {
		prop, ok := engine.LookupProperty(kind, settings[i])
		if !ok {
			w.Fatalf("no property %s", settings[i])
		}
		if err := prop.Set(&c, w.broker.Limits(), kind, settings[i+1]); err != nil {
			w.Fatal(err)
		}
	}
	if _, err := w.broker.Create(w.Context(), kind, p, c, ""); err != nil {
		w.Fatal(err)
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request; headers are pairs.
func (w *world) ask(method, path, body string, headers ...string) answer {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1])
	}
	return w.do(r)
}

func (w *world) do(r *http.Request) answer {
	w.Helper()
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer{got.StatusCode, got.Header, string(text)}
}

// want is ask, and fails unless the status is the expected one.
func (w *world) want(status int, method, path, body string, headers ...string) answer {
	w.Helper()
	got := w.ask(method, path, body, headers...)
	if got.status != status {
		w.Fatalf("%s %s: got %d %s, want %d", method, path, got.status, got.body, status)
	}
	return got
}

func (w *world) counts(p engine.Path) (c engine.Counts) {
	w.Helper()
	if err := w.broker.Read(w.Context(), func(r broker.Reader) error {
		s, err := r.State(p)
		c = s.Counts
		return err
	}); err != nil {
		w.Fatal(err)
	}
	return c
}

// totals are counts that a refused request must not change.
func (w *world) totals() (c engine.Counts) {
	w.Helper()
	if err := w.broker.Read(w.Context(), func(r broker.Reader) error { c, _ = r.Totals(); return nil }); err != nil {
		w.Fatal(err)
	}
	return c
}

// eventually waits for a condition that another goroutine will meet.
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

var errorShape = regexp.MustCompile(`^<Error><Code>(\d+)</Code><Detail>(.+ )TrackingId:[^,]*, SystemTracker:[^,]+, Timestamp:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d</Detail></Error>$`)
