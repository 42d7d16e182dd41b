package rest

import (
	"log/slog"
	"regexp"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web/webtest"
)

// A world is the REST API on a real broker.
type world struct {
	*webtest.Client
	broker *brokertest.Broker
}

func start(t *testing.T, o broker.Options) *world {
	t.Helper()
	b := brokertest.Open(t, o)
	e := echo.New()
	Mount(e, Options{Broker: b.Broker, Logger: slog.New(slog.DiscardHandler)})
	return &world{webtest.Serve(t, e), b}
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
	w.broker.CreateEntity(kind, p, c)
}

// totals are counts that a refused request must not change.
func (w *world) totals() (c engine.Counts) {
	w.Helper()
	if err := w.broker.Read(w.Context(), func(r broker.Reader) error { c, _ = r.Totals(); return nil }); err != nil {
		w.Fatal(err)
	}
	return c
}

var errorShape = regexp.MustCompile(`^<Error><Code>(\d+)</Code><Detail>(.+ )TrackingId:[^,]*, SystemTracker:[^,]+, Timestamp:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d</Detail></Error>$`)
