package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/engine/job"
	"mayfly/engine/rescue"
	"mayfly/engine/scene"
	"mayfly/static"
	"mayfly/web/access"
	"mayfly/web/api"
	"mayfly/web/figures"
	"mayfly/web/hook"
	"mayfly/web/identity"
	"mayfly/web/keys"
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
	// Rules are the broker's, for rescue and alerts, and Hooks what they tell. Zero:
	// there are none.
	Rules *rescue.Rules
	Hooks *hook.Sender
	// Figures are what is remembered of rates and depths. Zero: nothing is.
	Figures *figures.Recorder
	// Keys are the server's tokens and links. Zero: there are none.
	Keys *keys.Ring
	// Fleet are the server's namespaces. Zero: there is this one alone.
	Fleet *fleet.Fleet
	// Scenes are those of Fleet. Zero: there are none.
	Scenes *scene.Stages
	// Connections are what SDKs are given for one of them, for messages and for
	// entities. Zero: nobody knows.
	Connections func(name string) (messages, admin string)
	// UI adds the pages to the root group. Zero: one page that says there are
	// none.
	UI func(*echo.Group)
	// UINeeds is the role that one of them takes, by its method and pattern; false:
	// it is none of them. Zero: all are for admins.
	UINeeds func(method, pattern string) (identity.Role, bool)
	// UIError presents the errors of pages, and of addresses that do not exist.
	// Zero: a line of text.
	UIError echo.HTTPErrorHandler
	// Live serves the socket at /live. Zero: there is none.
	Live http.Handler
	// Safe has pages and the API refuse what does away with something for good. The
	// pages are told by whoever makes them.
	Safe bool
	// Reset takes the namespace back to where it began, at the word of actor. Zero:
	// nobody may do that.
	Reset func(ctx context.Context, actor string) (Reset, error)
}

func (s *Server) newAdmin(d Doors) http.Handler {
	e := s.base(adminPolicy)
	e.Pre(s.tunnelled)
	mountReset(e, func(r *http.Request) error { return rest.Manager(d.Broker, s.o.SAS, r) }, d.Reset)
	rest.Mount(e, rest.Options{Broker: d.Broker, Room: s.room, Logger: s.o.Logger, SAS: s.o.SAS})
	return e
}

func (sp *Space) newDashboard(d Doors) http.Handler {
	s := sp.s
	e := s.pages(d.UINeeds)
	e.GET("/readyz", func(c echo.Context) error { return s.ready(c, d.Fleet, health(d.Broker)) })
	if d.Live != nil {
		e.GET("/live", echo.WrapHandler(d.Live))
		e.GET(belowPages+d.Broker.Name()+"/live", echo.WrapHandler(d.Live))
	}
	at, also := sp.apis(e, d)
	presentAPI := api.Mount(at, api.Options{Base: s.o.Base, Broker: d.Broker, Peers: d.Peers, Jobs: d.Jobs, Rules: d.Rules, Hooks: d.Hooks, Figures: d.Figures, Safe: d.Safe, Fleet: d.Fleet, Keys: d.Keys, Scenes: d.Scenes, Connections: d.Connections, Room: s.room, Logger: s.o.Logger}, also...)
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
	if s.o.Metrics != nil {
		e.GET("/metrics", echo.WrapHandler(s.o.Metrics))
	}
	e.GET("/grafana.json", func(c echo.Context) error { return c.JSONBlob(http.StatusOK, static.Grafana()) })
}

// present leaves the errors of the dashboard's port to whom they belong.
func (s *Server) present(ofAPI, ofPages echo.HTTPErrorHandler) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		if strings.HasPrefix(c.Request().URL.Path, "/api/") {
			ofAPI(err, c)
			return
		}
		if to := s.toSignIn(err, c.Request()); to != "" && !c.Response().Committed {
			_ = c.Redirect(http.StatusSeeOther, to) //nolint:errcheck // a client that has gone away is not ours to report
			return
		}
		if s.unshown(err, c) {
			return
		}
		// What a foreign host and nobody are told must say nothing of what is in here.
		if _, foreign := errors.AsType[*access.HostError](err); foreign || unknown(err) || !s.open() && !identity.Asking(c.Request()).Known() {
			s.plainError(err, c)
			return
		}
		ofPages(err, c)
	}
}
