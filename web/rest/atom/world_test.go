package atom_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/rest"
	"mayfly/web/rest/atom"
)

// A world is the management API on a real broker.
type world struct {
	*testing.T
	broker *broker.Broker
	server *httptest.Server
}

func start(t *testing.T, o broker.Options, authorize func(*http.Request, atom.Request) error) *world {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, o)
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	e.Pre(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Response().Header().Set(echo.HeaderXRequestID, "an-id")
			return next(c)
		}
	})
	rest.Mount(e, rest.Options{Broker: b, Logger: o.Logger, Authorize: authorize})
	s := httptest.NewServer(e)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		b.Close()
	})
	return &world{t, b, s}
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
		r.Header.Set(headers[i], headers[i+1])
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

// update updates an entity with a PUT.
func (w *world) update(status int, path, body string) answer {
	w.Helper()
	return w.want(status, http.MethodPut, path, body, "If-Match", "*")
}

func (w *world) state(p engine.Path) (s engine.EntityState) {
	w.Helper()
	if err := w.broker.Read(w.Context(), func(r broker.Reader) (err error) {
		s, err = r.State(p)
		return err
	}); err != nil {
		w.Fatal(err)
	}
	return s
}

// in returns an entry with a description that has these elements.
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
func (a answer) element(name string) string {
	_, after, ok := strings.Cut(a.body, "<"+name+">")
	if !ok {
		return ""
	}
	tag, _, _ := strings.Cut(name, " ")
	text, _, _ := strings.Cut(after, "</"+tag+">")
	return text
}
