package web_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web"
	"mayfly/web/auth/sas"
)

// addNamespace adds a namespace that has a queue of the same name as the first one's, and one of its
// own.
func (w *world) addNamespace(name string) *web.Namespace {
	return w.addNamespaceWith(name, func(g *echo.Group) {
		g.GET("/n/:ns", func(c echo.Context) error { return c.String(200, "page of "+name) })
	})
}

func (w *world) addNamespaceWith(name string, pages func(*echo.Group)) *web.Namespace {
	w.Helper()
	b := brokertest.Open(w, broker.Options{Name: name})
	for _, q := range []engine.Path{"q", "own"} {
		b.CreateQueue(q, engine.Config{})
	}
	sp := w.server.AddNamespace(name)
	sp.Open(web.Services{Broker: b.Broker, Pages: pages})
	return sp
}

// TestNamespaceOfRequest: every API and page finds the namespace that a request is for.
func TestNamespaceOfRequest(t *testing.T) {
	w := serve(t, web.Options{Hosts: []string{"shop", "shop.example", "bus.example"}}, web.Services{Pages: func(g *echo.Group) {
		g.GET("/n/:ns", func(c echo.Context) error { return c.String(200, "page of its own") })
	}}, "shop", "default", "other")
	w.addNamespace("shop")
	token := func(of string) string { return sas.Sign("sb://"+of+"/q", "root", "key", time.Now().Add(time.Hour)) }
	const shop, own, neither = "shop", "own", "neither"
	for name, tc := range map[string]struct {
		address, path string
		headers       []string
		want          string
	}{
		"the page":                       {w.dashboard, "/n/shop", nil, shop},
		"the page, in capitals":          {w.dashboard, "/n/SHOP", nil, shop},
		"the page of its own":            {w.dashboard, "/n/default", nil, own},
		"the page of nobody":             {w.dashboard, "/n/shops", nil, own},
		"the page, host of another":      {w.dashboard, "/n/default", []string{"Host", "shop.localhost"}, own},
		"the API":                        {w.dashboard, "/api/v1/n/shop/entities/own", nil, shop},
		"the API, in capitals":           {w.dashboard, "/api/v1/n/Shop/entities/own", nil, shop},
		"the API, escaped":               {w.dashboard, "/api/v1/n/Shop/entities/%6fwn", nil, shop},
		"the API without a name":         {w.dashboard, "/api/v1/entities/own", nil, own},
		"the API without a name, hosted": {w.dashboard, "/api/v1/entities/own", []string{"Host", "shop.localhost"}, own},
		"the API by its own name":        {w.dashboard, "/api/v1/n/default/entities/own", nil, own},
		"the API of nobody":              {w.dashboard, "/api/v1/n/shops/entities/own", nil, neither},
		"REST":                           {w.admin, "/own", nil, own},
		"REST, by host":                  {w.admin, "/own", []string{"Host", "shop.localhost"}, shop},
		"REST, by host with a port":      {w.admin, "/own", []string{"Host", "Shop.localhost:5300"}, shop},
		"REST, by host alone":            {w.admin, "/own", []string{"Host", "shop"}, shop},
		"REST, by another domain":        {w.admin, "/own", []string{"Host", "shop.example"}, shop},
		"REST, by another's host":        {w.admin, "/own", []string{"Host", "other.localhost"}, neither},
		"REST, by another's name":        {w.admin, "/own", []string{"Host", "bus.example"}, own},
		"REST, by token":                 {w.admin, "/own", []string{"Authorization", token("shop.localhost")}, shop},
		"REST, by token of another":      {w.admin, "/own", []string{"Authorization", token("other.localhost")}, neither},
		"REST, by token of a name":       {w.admin, "/own", []string{"Authorization", token("other.servicebus.windows.net")}, own},
		"REST, own host before token":    {w.admin, "/own", []string{"Host", "default.localhost", "Authorization", token("shop.localhost")}, own},
		"REST, by port":                  {w.ports["shop"], "/own", nil, shop},
		"REST, port before host":         {w.ports["shop"], "/own", []string{"Host", "default.localhost"}, shop},
		"REST, port before no host":      {w.ports["shop"], "/own", []string{"Host", "other.localhost"}, shop},
		"REST, port before token":        {w.ports["shop"], "/own", []string{"Authorization", token("default.localhost")}, shop},
		"REST, by port of its own":       {w.ports["default"], "/own", []string{"Host", "shop.localhost"}, own},
		"REST, by port of none":          {w.ports["other"], "/own", nil, neither},
		"REST, port of none before host": {w.ports["other"], "/own", []string{"Host", "shop.localhost"}, neither},
		"Atom, by port":                  {w.ports["shop"], "/$Resources/Queues", []string{"Host", "default.localhost"}, shop},
		"Atom, by port of none":          {w.ports["other"], "/$Resources/Queues", nil, neither},
		"REST, host before token":        {w.admin, "/own", []string{"Host", "shop.localhost", "Authorization", token("other.localhost")}, shop},
	} {
		got, body := w.ask("GET", tc.address, tc.path, tc.headers...)
		is := own
		switch {
		case strings.Contains(body, "does not exist"):
			is = neither
		case body == "page of shop", got.StatusCode == 200 && strings.Contains(body, "own") && body != "page of its own":
			is = shop
		}
		if is != tc.want {
			t.Errorf("%s: the response is from %s; want %s: %d %.200s", name, is, tc.want, got.StatusCode, body)
		}
	}
}

// TestPageOfAllNamespaces: the page of all namespaces is available as long as one of them is.
func TestPageOfAllNamespaces(t *testing.T) {
	pages := func(of string) func(*echo.Group) {
		return func(g *echo.Group) {
			for _, at := range []string{"/namespaces", "/namespaces/x/remove", "/namespacesother"} {
				g.GET(at, func(c echo.Context) error { return c.String(200, of) })
			}
		}
	}
	w := serve(t, web.Options{}, web.Services{Pages: pages("own")})
	shop := w.addNamespaceWith("shop", pages("shop"))
	till := w.addNamespaceWith("till", pages("till"))
	is := func(path, want string) {
		t.Helper()
		if _, body := w.ask("GET", w.dashboard, path); !strings.Contains(body, want) {
			t.Errorf("%s: %.200s; want %s", path, body, want)
		}
	}
	is("/namespaces", "own")
	w.server.StandBy(web.Standby{Namespace: "default", Cause: "The disk is gone."})
	is("/namespaces", "shop")
	is("/namespaces/x/remove", "shop")
	is("/namespacesother", "The disk is gone.")
	shop.StandBy(web.Standby{Namespace: "shop"})
	is("/namespaces", "till")
	till.StandBy(web.Standby{Namespace: "till"})
	is("/namespaces", "The disk is gone.")
}

// TestAwaitNamespace: a page or an API request for an unknown namespace calls AwaitNamespace, with
// a deadline, and finds the namespace if it exists afterwards.
func TestAwaitNamespace(t *testing.T) {
	for name, path := range map[string]string{"the page": "/n/Shop", "the API": "/api/v1/n/shop/entities/own"} {
		var w *world
		var names []string
		w = serve(t, web.Options{AwaitNamespace: func(ctx context.Context, name string) {
			if _, ends := ctx.Deadline(); !ends {
				t.Error("the request waits for ever")
			}
			names = append(names, name)
			w.addNamespace("shop")
		}}, web.Services{})
		if got, body := w.ask("GET", w.dashboard, path); got.StatusCode != 200 || len(names) != 1 || names[0] != "shop" {
			t.Errorf("%s: %d %.200s; waited for %q", name, got.StatusCode, body, names)
		}
		w.ask("GET", w.dashboard, "/api/v1/entities")
		if len(names) != 1 {
			t.Errorf("%s: waited for %q", name, names)
		}
	}
}

// TestNamespaceStandsByAndIsRemoved: each namespace becomes a standby and is removed independently
// of others.
func TestNamespaceStandsByAndIsRemoved(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{}, "shop")
	shop := w.addNamespace("shop")
	status := func(address, path string, want int) {
		t.Helper()
		if got, body := w.ask("GET", address, path, "Host", "shop.localhost"); got.StatusCode != want {
			t.Errorf("%s: %d, want %d: %.200s", path, got.StatusCode, want, body)
		}
	}
	status(w.dashboard, "/api/v1/n/shop/entities/own", 200)
	shop.StandBy(web.Standby{Namespace: "shop", Cause: "The disk is gone."})
	status(w.dashboard, "/api/v1/n/shop/entities/own", 503)
	status(w.dashboard, "/n/shop", 503)
	status(w.admin, "/own", 503)
	status(w.ports["shop"], "/own", 503)
	status(w.dashboard, "/api/v1/entities/q", 200)
	status(w.dashboard, "/readyz", 200)
	w.server.RemoveNamespace("shop")
	status(w.dashboard, "/api/v1/n/shop/entities/own", 404)
	for _, port := range []string{w.admin, w.ports["shop"]} {
		status(port, "/q", 410) // the server's own namespace answers
	}
}

// TestNamespaceThatIsNotKnownYet: until the server knows all namespaces, requests to a host that
// may name one are asked to retry.
func TestNamespaceThatIsNotKnownYet(t *testing.T) {
	w := serve(t, web.Options{NamespacesIncomplete: true, Hosts: []string{"shop"}}, web.Services{}, "shop")
	w.addNamespace("till")
	status := func(host string, want int, text string) {
		t.Helper()
		if got, body := w.ask("GET", w.admin, "/q", "Host", host); got.StatusCode != want || !strings.Contains(body, text) {
			t.Errorf("%s: %d, want %d: %.200s", host, got.StatusCode, want, body)
		}
	}
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]:80", "default.localhost", "till.localhost"} {
		status(host, 200, "")
	}
	const unsure = "still loading its namespaces"
	status("shop", 503, unsure)
	status("shop.localhost", 503, unsure)
	at := func(want int, text string) {
		t.Helper()
		if got, body := w.ask("GET", w.ports["shop"], "/q"); got.StatusCode != want || !strings.Contains(body, text) {
			t.Errorf("at its port: %d, want %d: %.200s", got.StatusCode, want, body)
		}
	}
	at(503, unsure)
	path := func(at string, want int, text string) {
		t.Helper()
		if got, body := w.ask("GET", w.dashboard, at, "Accept", "text/html"); got.StatusCode != want || !strings.Contains(body, text) {
			t.Errorf("%s: %d, want %d: %.300s", at, got.StatusCode, want, body)
		}
	}
	const learning = "or to find its owner"
	path("/n/shop/queues", 503, "or to learn who does")
	path("/api/v1/n/shop/entities", 503, learning)
	path("/api/v1/n/SHOP/entities", 503, learning)
	path("/api/v1/n/no_name/entities", 404, "does not exist")
	path("/api/v1/n/till/entities", 200, "")
	path("/api/v1/n/default/entities", 200, "")
	w.server.NamespacesComplete()
	path("/n/shop/queues", 404, "")
	path("/api/v1/n/shop/entities", 404, "does not exist")
	status("shop", 200, "")
	status("shop.localhost", 410, "The namespace 'shop' does not exist.")
	at(410, "The namespace 'shop' does not exist.")
	w.addNamespace("shop")
	status("shop.localhost", 200, "")
	at(200, "")
}
