package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/static"
	"mayfly/web/access"
	"mayfly/web/api"
	"mayfly/web/figures"
	"mayfly/web/peers"
	"mayfly/web/rest"
)

// Doors are what is behind the ports while a broker serves. Only Broker is
// needed.
type Doors struct {
	Broker *broker.Broker
	// Peers are the clients that stay connected. Zero: there are none.
	Peers peers.Source
	// Jobs are the broker's. Zero: there are none.
	Jobs *job.Jobs
	// Figures are what is remembered of rates and depths. Zero: nothing is.
	Figures *figures.Recorder
	// UI adds the pages to the root group. Zero: one page that says there are
	// none.
	UI func(*echo.Group)
	// UIError presents the errors of pages, and of addresses that do not exist.
	// Zero: a line of text.
	UIError echo.HTTPErrorHandler
	// Metrics answers /metrics. Zero: there are none.
	Metrics http.Handler
	// Live serves the socket at /live. Zero: there is none.
	Live http.Handler
	// Reset takes the namespace back to where it began, at the word of actor. Zero:
	// nobody may do that.
	Reset func(ctx context.Context, actor string) (Reset, error)
}

func (s *Server) newAdmin(d Doors) http.Handler {
	e := s.base(adminPolicy)
	mountReset(e, func(r *http.Request) error { return rest.Manager(d.Broker, s.o.SAS, r) }, d.Reset)
	rest.Mount(e, rest.Options{Broker: d.Broker, Room: s.room, Logger: s.o.Logger, SAS: s.o.SAS})
	return e
}

func (s *Server) newDashboard(d Doors) http.Handler {
	e := s.base(pagePolicy)
	s.plainRoutes(e)
	e.GET("/readyz", func(c echo.Context) error { return ready(c, d.Broker) })
	if d.Metrics != nil {
		e.GET("/metrics", echo.WrapHandler(d.Metrics))
	}
	if d.Live != nil {
		e.GET("/live", echo.WrapHandler(d.Live))
	}
	presentAPI := api.Mount(e.Group("/api/v1"), api.Options{Broker: d.Broker, Peers: d.Peers, Jobs: d.Jobs, Figures: d.Figures, Room: s.room, Logger: s.o.Logger})
	presentPage := d.UIError
	if presentPage == nil {
		presentPage = s.plainError
	}
	e.HTTPErrorHandler = s.present(presentAPI, presentPage)
	if d.UI != nil {
		d.UI(e.Group(""))
	} else {
		e.GET("/", func(c echo.Context) error {
			return c.String(http.StatusOK, "Mayfly runs. This build has no pages; the JSON API is at /api/v1.\n")
		})
	}
	return e
}

// plainRoutes are those of the dashboard's port that ask nobody.
func (s *Server) plainRoutes(e *echo.Echo) {
	e.GET("/healthz", alive)
	e.GET("/livez", alive)
	e.GET(static.Prefix+"*", serveStatic)
	e.GET("/grafana.json", func(c echo.Context) error { return c.JSONBlob(http.StatusOK, static.Grafana()) })
}

// present leaves the errors of the dashboard's port to whom they belong.
func (s *Server) present(ofAPI, ofPages echo.HTTPErrorHandler) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		if strings.HasPrefix(c.Request().URL.Path, "/api/") {
			ofAPI(err, c)
			return
		}
		// What a foreign host is told must say nothing of what is in here.
		if _, foreign := errors.AsType[*access.HostError](err); foreign {
			s.plainError(err, c)
			return
		}
		ofPages(err, c)
	}
}
