package web_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/static"
	"mayfly/web"
	"mayfly/web/api"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/password"
	"mayfly/web/auth/token"
	"mayfly/web/webtest"
)

// waiting returns a standby that has waited for two minutes.
func waiting() web.Standby {
	return web.Standby{
		Namespace: "shop",
		Owner:     engine.Owner{Dashboard: "http://till-2.example:8080", Admin: "http://till-2.example:5300", Host: "till-2<b>", Epoch: 7},
		Since:     time.Now().Add(-2 * time.Minute), TakeoverAfter: 10 * time.Second, StoredIn: "MongoDB at db.example",
	}
}

// standing returns a world without a broker.
func standing(t *testing.T, s web.Standby) *world {
	t.Helper()
	w := serve(t, web.Options{Hosts: []string{"bus.example"}}, web.Services{})
	w.server.StandBy(s)
	return w
}

// TestStandbyAnswersEveryAddress: every answer names the server that owns the namespace, in a
// form that the client can read.
func TestStandbyAnswersEveryAddress(t *testing.T) {
	w := standing(t, waiting())
	const xml, problem, page, text, js = "application/xml; charset=utf-8", "application/problem+json", "text/html; charset=UTF-8", "text/plain; charset=UTF-8", "application/json"
	const url = "http://till-2.example:8080"
	for name, tc := range map[string]struct {
		address, method, path string
		status                int
		form, want            string
	}{
		"alive":             {w.dashboard, "GET", "/healthz", 200, text, "ok\n"},
		"alive, as others":  {w.dashboard, "GET", "/livez", 200, text, "ok\n"},
		"not ready":         {w.dashboard, "GET", "/readyz", 503, text, url},
		"the socket":        {w.dashboard, "GET", "/live", 503, text, url},
		"style":             {w.dashboard, "GET", static.URL("app.css"), 200, "text/css; charset=utf-8", ""},
		"old style":         {w.dashboard, "GET", "/static/app-old.css", 404, text, ""},
		"the overview":      {w.dashboard, "GET", "/n/shop", 503, page, url},
		"the root":          {w.dashboard, "GET", "/", 503, page, url},
		"any page":          {w.dashboard, "GET", "/n/shop/q/orders?tab=locked", 503, page, url},
		"a form":            {w.dashboard, "POST", "/n/shop/q/orders/send", 503, page, url},
		"API, health":       {w.dashboard, "GET", "/api/v1/health", 503, problem, url},
		"API, looking":      {w.dashboard, "GET", "/api/v1/entities/a%2Fb", 503, problem, url},
		"API, sending":      {w.dashboard, "POST", "/api/v1/send/q", 503, problem, url},
		"API, settling":     {w.dashboard, "POST", "/api/v1/settle", 503, problem, url},
		"API, who is there": {w.dashboard, "GET", "/api/v1/connections?entity=orders", 503, problem, url},
		"API, one of them":  {w.dashboard, "GET", "/api/v1/connections/1-1", 503, problem, url},
		"API, end of one":   {w.dashboard, "DELETE", "/api/v1/connections/1-1", 503, problem, url},
		"who is there":      {w.dashboard, "GET", "/n/shop/connections", 503, page, url},
		"end of one":        {w.dashboard, "POST", "/n/shop/connections/1-1/disconnect", 503, page, url},
		"API, nowhere":      {w.dashboard, "DELETE", "/api/v2/x", 503, problem, url},
		"REST, sending":     {w.admin, "POST", "/q/messages", 503, xml, url},
		"REST, receiving":   {w.admin, "DELETE", "/q/messages/head?timeout=60", 503, xml, url},
		"REST, settling":    {w.admin, "PUT", "/q/messages/1/x", 503, xml, url},
		"REST, nowhere":     {w.admin, "GET", "/", 503, xml, url},
		"emulator's health": {w.admin, "GET", "/health", 503, js, url},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{T: t}
			got, body := w.ask(tc.method, tc.address, tc.path)
			if got.StatusCode != tc.status || got.Header.Get("Content-Type") != tc.form || !strings.Contains(body, tc.want) {
				t.Errorf("got %d %s %s", got.StatusCode, got.Header.Get("Content-Type"), body)
			}
			if tc.status == 503 && tc.form != js && got.Header.Get("Retry-After") == "" {
				t.Error("the response lacks Retry-After")
			}
			if got.Header.Get("X-Request-Id") == "" || got.Header.Get("Content-Security-Policy") == "" {
				t.Errorf("headers are missing: %v", got.Header)
			}
			if tc.status == 503 && (tc.form == page) != (got.Header.Get(web.StandbyHeader) != "") {
				t.Errorf("the response is marked %q", got.Header.Get(web.StandbyHeader))
			}
			if got, body := w.ask(tc.method, tc.address, tc.path, "Host", "evil.example"); got.StatusCode != 421 || strings.Contains(body, url) {
				t.Errorf("a foreign host got %d %s", got.StatusCode, body)
			}
		})
	}
}

func TestStandbyPage(t *testing.T) {
	w := standing(t, waiting())
	got, text := w.ask("GET", w.dashboard, "/n/shop/queues")
	for _, want := range []string{
		`<meta http-equiv="refresh" content="2">`, `<a href="http://till-2.example:8080">`, "till-2&lt;b&gt;", ">7<", "10s", "2m", "MongoDB at db.example", "shop", "Standing by",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if got.Header.Get("Retry-After") != "2" || strings.Contains(text, "data-live") {
		t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
	}
	if _, text := w.ask("GET", w.dashboard, "/", "Cookie", "mayfly_theme=dark"); !strings.Contains(text, `data-theme="dark"`) {
		t.Error("the page has another theme")
	}

	evil := waiting()
	evil.Owner.Dashboard = "javascript:alert(1)"
	w.server.StandBy(evil)
	if _, text := w.ask("GET", w.dashboard, "/"); strings.Contains(text, "javascript:") {
		t.Errorf("the page has a link with an unsafe scheme: %s", text)
	}
	w.server.StandBy(web.Standby{Namespace: "shop", Cause: "MongoDB at db.example does not answer."})
	if _, text := w.ask("GET", w.dashboard, "/"); !strings.Contains(text, "does not answer.") || strings.Contains(text, "Standing by</h1>") {
		t.Errorf("the reason is missing: %s", text)
	}
	if _, text := w.ask("GET", w.dashboard, "/readyz"); text != "Standing by: MongoDB at db.example does not answer.\n" {
		t.Errorf("got %q", text)
	}
	w.server.StandBy(web.Standby{})
	if _, text := w.ask("GET", w.dashboard, "/readyz"); !strings.Contains(text, "about to own the namespace default") {
		t.Errorf("got %q", text)
	}
}

func TestStandbyProblemNamesTheOwner(t *testing.T) {
	w := standing(t, waiting())
	_, text := w.ask("GET", w.dashboard, "/api/v1/entities")
	var p api.Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	if p.Status != 503 || p.Code != "ServiceBusy" || p.Owner != waiting().Owner.Dashboard || p.Detail != "Standing by: the server at http://till-2.example:8080 owns the namespace shop." {
		t.Errorf("got %+v", p)
	}
	w.server.StandBy(web.Standby{})
	if _, text := w.ask("GET", w.dashboard, "/api/v1/entities"); strings.Contains(text, `"owner"`) {
		t.Errorf("an unknown owner is in the response: %s", text)
	}
	if _, text := w.ask("POST", w.admin, "/q/messages"); !strings.Contains(text, "<Code>503</Code>") || !strings.Contains(text, "SubCode=50004") || !strings.Contains(text, "SystemTracker:default") {
		t.Errorf("got %s", text)
	}
}

// TestStandbyRefuses: during a standby a link's visitor gets 503 with Retry-After, and a form
// without a valid token 403, neither of them as an internal error.
func TestStandbyRefuses(t *testing.T) {
	registry, log := token.New(token.Options{Open: true}), slog.New(slog.DiscardHandler)
	t.Cleanup(registry.Close)
	handler := password.New(password.Options{Sessions: password.NewSessions(), Forms: origin.NewForms(), Logger: log})
	w := serve(t, web.Options{Auth: auth.Sources{registry.Tokens(), registry.Links(), auth.OpenSource{}}, AuthRoutes: []web.AuthRoutes{handler}}, web.Services{})
	w.server.StandBy(waiting())
	_, port, err := net.SplitHostPort(w.dashboard)
	if err != nil {
		t.Fatal(err)
	}
	got, text := w.ask("GET", w.dashboard, "/n/shop", "Cookie", "mayfly_link_"+port+"=aaaaaaaaaa.x")
	if got.StatusCode != 503 || got.Header.Get("Retry-After") == "" || strings.Contains(text, "failed") {
		t.Errorf("a visitor with a link got %d %s", got.StatusCode, text)
	}
	if got, text := w.ask("POST", w.dashboard, "/login"); got.StatusCode != 403 || !strings.Contains(text, "Reload the page") {
		t.Errorf("a form without a valid token returned %d %s", got.StatusCode, text)
	}
}

// TestSwapKeepsConnections: the handlers behind the ports change while a client keeps its
// connection.
func TestSwapKeepsConnections(t *testing.T) {
	w := serve(t, web.Options{Logger: slog.New(slog.DiscardHandler)}, web.Services{})
	dialled := 0
	client := webtest.Client{T: t, URL: "http://" + w.admin, HTTP: &http.Client{Transport: &http.Transport{DialContext: (&counting{n: &dialled}).dial}}}
	ask := func() int { return client.Ask("POST", "/q/messages", "x").StatusCode }
	for round := range 3 {
		if got := ask(); got != 201 {
			t.Errorf("round %d: %d with a broker", round, got)
		}
		w.server.StandBy(waiting())
		if got := ask(); got != 503 {
			t.Errorf("round %d: %d without", round, got)
		}
		w.server.Open(web.Services{Broker: w.broker.Broker})
	}
	if dialled != 1 {
		t.Errorf("the client made %d connections", dialled)
	}
}

type counting struct {
	net.Dialer
	n *int
}

func (c *counting) dial(ctx context.Context, network, address string) (net.Conn, error) {
	*c.n++
	return c.DialContext(ctx, network, address)
}
