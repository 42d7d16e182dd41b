package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/engine/stats"
	"mayfly/static"
	"mayfly/web/api"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/sas"
	"mayfly/web/auth/token"
	"mayfly/web/connections"
	"mayfly/web/rest"
	"mayfly/web/webhook"
)

// Services are the services behind the ports while a broker serves. Only Broker is required.
type Services struct {
	Broker *broker.Broker
	// Clients lists the connected clients. Zero means none.
	Clients connections.Source
	// Jobs are the broker's jobs. Zero means none.
	Jobs *job.Jobs
	// AlertRules are the broker's alert rules, and Webhooks the webhooks that they call. Zero means
	// none.
	AlertRules *alert.Rules
	Webhooks   *webhook.Sender
	// Stats records rates and depths. Zero means that nothing is recorded.
	Stats *stats.Recorder
	// Tokens are the server's tokens and links. Zero means none.
	Tokens *token.Registry
	// Namespaces are the server's namespaces. Zero means that this is the only one.
	Namespaces *namespaces.Manager
	// Scenes plays scenes in Namespaces. Zero means that there are none.
	Scenes *demo.Player
	// ConnectionStrings returns a namespace's connection strings for messages and for entities. Zero
	// means that they are unknown.
	ConnectionStrings func(name string) (messages, admin string)
	// Pages adds the pages to the root group. Zero means one page that says that there are none.
	Pages func(*echo.Group)
	// PageRole returns the role that a page's route requires, by its method and pattern, and
	// false if the route is not a page's. Zero means that all require an admin.
	PageRole func(method, pattern string) (auth.Role, bool)
	// PageError presents the errors of pages, and of addresses that do not exist. Zero means a
	// line of text.
	PageError echo.HTTPErrorHandler
	// Live serves the socket at /live. Zero means that there is none.
	Live http.Handler
	// Safe makes the pages and the API reject irreversible deletions. The pages get it from
	// their own options.
	Safe bool
	// Reset resets the namespace to its initial state on behalf of actor. Zero means that a
	// reset is not allowed.
	Reset func(ctx context.Context, actor string) (Reset, error)
}

func (sp *Namespace) newAdmin(d Services) http.Handler {
	s, names := sp.s, func(r *http.Request) sas.Names { return sp.tokenNames(d.Broker.Name(), r) }
	e := s.newBase(adminPolicy)
	e.Pre(s.amqpWebSocket)
	mountReset(e, func(r *http.Request) error { return rest.Manager(d.Broker, s.o.SAS, names, r) }, d.Reset)
	rest.Mount(e, rest.Options{Broker: d.Broker, Logger: s.o.Logger, SAS: s.o.SAS, Names: names})
	return e
}

func (sp *Namespace) newDashboard(d Services) http.Handler {
	s := sp.s
	e := s.newDashboardBase(d.PageRole)
	e.GET(readyPath, func(c echo.Context) error { return s.ready(c, d.Namespaces, health(d.Broker)) })
	if d.Live != nil {
		e.GET("/live", echo.WrapHandler(d.Live))
		e.GET(pagesPrefix+d.Broker.Name()+"/live", echo.WrapHandler(d.Live))
	}
	at, also := sp.apiGroups(e, d)
	presentAPI := api.Mount(at, api.Options{Base: s.o.Base, Broker: d.Broker, Clients: d.Clients, Jobs: d.Jobs, AlertRules: d.AlertRules, Webhooks: d.Webhooks, Stats: d.Stats, Safe: d.Safe, Namespaces: d.Namespaces, Tokens: d.Tokens, Scenes: d.Scenes, ConnectionStrings: d.ConnectionStrings, Logger: s.o.Logger}, also...)
	presentPage := d.PageError
	if presentPage == nil {
		presentPage = s.textError
	}
	e.HTTPErrorHandler = s.presentErrors(presentAPI, presentPage)
	if d.Pages != nil {
		d.Pages(e.Group(""))
	} else {
		e.GET("/", func(c echo.Context) error {
			return c.String(http.StatusOK, "Mayfly runs. This build has no dashboard. The JSON API is at /api/v1.\n")
		})
	}
	return e
}

// serverRoutes adds the routes of the dashboard's port that depend on no namespace.
func (s *Server) serverRoutes(e *echo.Echo) {
	for _, path := range alivePaths {
		e.GET(path, alive)
	}
	e.GET(static.Prefix+"*", serveStatic)
	if s.o.Metrics != nil {
		e.GET("/metrics", echo.WrapHandler(s.o.Metrics))
	}
	e.GET("/grafana.json", func(c echo.Context) error { return c.JSONBlob(http.StatusOK, static.Grafana()) })
}

// presentErrors sends each error of the dashboard's port to the handler of its API or pages.
func (s *Server) presentErrors(ofAPI, ofPages echo.HTTPErrorHandler) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		if strings.HasPrefix(c.Request().URL.Path, "/api/") {
			ofAPI(err, c)
			return
		}
		if to := s.signInURL(err, c.Request()); to != "" && !c.Response().Committed {
			_ = c.Redirect(http.StatusSeeOther, to) //nolint:errcheck // the client may have gone away
			return
		}
		if s.linkError(err, c) {
			return
		}
		// The answer to a foreign host or an unknown caller must reveal nothing of the
		// content.
		if _, foreign := errors.AsType[*origin.HostError](err); foreign || isUnauthenticated(err) || !s.isOpen() && !auth.FromRequest(c.Request()).IsKnown() {
			s.textError(err, c)
			return
		}
		ofPages(err, c)
	}
}
