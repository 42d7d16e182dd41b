package rest

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/labstack/echo/v4"

	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web/auth/origin"
)

// sharing gives each request a Share of the budget for bodies.
func sharing(budget *origin.BodyBudget) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			share := budget.NewShare("")
			defer share.Release()
			c.SetRequest(c.Request().WithContext(origin.WithShare(c.Request().Context(), share)))
			return next(c)
		}
	}
}

// While the budget for bodies is used up, a large description has to wait for it, as a large list
// of messages has. A description of the usual size does not.
func TestDescriptionsWaitForTheBodyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		b := brokertest.Open(t, broker.Options{})
		budget := origin.NewBodyBudget()
		e := echo.New()
		e.Use(sharing(budget))
		Mount(e, Options{Broker: b.Broker, Logger: log})
		full := [2]*origin.Share{budget.NewShare(""), budget.NewShare("")}
		for _, half := range full {
			if !half.TryGrow(1 << 40) {
				t.Fatal("the budget is not free")
			}
		}
		put := func(path string, padding, want int) {
			t.Helper()
			body := `<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">` + strings.Repeat(" ", padding) + "</QueueDescription>"
			got := httptest.NewRecorder()
			if e.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodPut, path, strings.NewReader(body))); got.Code != want {
				t.Errorf("%s: %d %s; want %d", path, got.Code, got.Body, want)
			}
		}
		put("/small", 0, http.StatusCreated)
		put("/large", 100_000, http.StatusServiceUnavailable)
		full[0].Release()
		put("/large", 100_000, http.StatusCreated)
		full[1].Release()
	})
}

// Clients that announce large descriptions and send nothing occupy no room.
func TestAnnouncedDescriptionsTakeNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		b := brokertest.Open(t, broker.Options{})
		budget := origin.NewBodyBudget()
		e := echo.New()
		e.Use(sharing(budget))
		Mount(e, Options{Broker: b.Broker, Logger: log})
		for range 10 {
			body, out := io.Pipe()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/slow", body)
			r.ContentLength = 500_000
			go e.ServeHTTP(httptest.NewRecorder(), r)
			defer out.Close()
		}
		synctest.Wait()
		for range 2 {
			half := budget.NewShare("")
			defer half.Release()
			if !half.TryGrow(1 << 40) {
				t.Error("the announced descriptions take room")
			}
		}
	})
}
