package atom_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web/rest"
	"mayfly/web/rest/atom"
	"mayfly/web/webtest"
)

// A world is the management API on a real broker.
type world struct {
	*webtest.Client
	broker *brokertest.Broker
}

func start(t *testing.T, o broker.Options, authorize func(*http.Request, atom.Request) error) *world {
	t.Helper()
	b := brokertest.Open(t, o)
	e := echo.New()
	e.Pre(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Response().Header().Set(echo.HeaderXRequestID, "an-id")
			return next(c)
		}
	})
	rest.Mount(e, rest.Options{Broker: b.Broker, Logger: slog.New(slog.DiscardHandler), Authorize: authorize})
	return &world{webtest.Serve(t, e), b}
}

// update updates an entity with a PUT.
func (w *world) update(status int, path, body string) webtest.Answer {
	w.Helper()
	return w.Want(status, http.MethodPut, path, body, "If-Match", "*")
}

// in returns an Atom entry with a description, such as QueueDescription, that contains `elements`.
func in(description, elements string) string {
	return `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><` + description +
		` xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">` + elements +
		`</` + description + `></content></entry>`
}

func queue(elements string) string        { return in("QueueDescription", elements) }
func topic(elements string) string        { return in("TopicDescription", elements) }
func subscription(elements string) string { return in("SubscriptionDescription", elements) }
func rule(elements string) string         { return in("RuleDescription", elements) }

// element returns the text of the first element called name, which includes its prefix,
// in a response.
func element(a webtest.Answer, name string) string {
	_, after, ok := strings.Cut(a.Body, "<"+name+">")
	if !ok {
		return ""
	}
	tag, _, _ := strings.Cut(name, " ")
	text, _, _ := strings.Cut(after, "</"+tag+">")
	return text
}
