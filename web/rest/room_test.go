package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/access"
)

// A large description waits for room as a list of messages does; those that
// clients write do not.
func TestDescriptionsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		room := access.NewRoom()
		e := echo.New()
		Mount(e, Options{Broker: b, Room: room, Logger: log})
		leave, err := room.Take(t.Context(), 1<<40, 0) // all of it
		if err != nil {
			t.Fatal(err)
		}
		put := func(path string, spaces, want int) {
			t.Helper()
			body := `<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">` + strings.Repeat(" ", spaces) + "</QueueDescription>"
			got := httptest.NewRecorder()
			if e.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodPut, path, strings.NewReader(body))); got.Code != want {
				t.Errorf("%s: %d %s; want %d", path, got.Code, got.Body, want)
			}
		}
		put("/small", 0, http.StatusCreated)
		put("/large", 100_000, http.StatusServiceUnavailable)
		leave()
		put("/large", 100_000, http.StatusCreated)
	})
}
