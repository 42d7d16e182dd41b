package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/demo"
	"mayfly/engine/namespaces/namespacestest"
	"mayfly/storage/memory"
	"mayfly/web/api"
	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/password"
	"mayfly/web/auth/token"
	"mayfly/web/dashboard"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
	"mayfly/web/exchange"
	"mayfly/web/presentation"
	"mayfly/web/webtest"
)

// byHeader trusts the role in a header.
type byHeader struct{}

func (byHeader) Identify(r *http.Request) (auth.Caller, error) {
	role, err := auth.ParseRole(r.Header.Get("Test-Role"))
	if err != nil {
		return auth.Caller{}, auth.ErrNoCredential
	}
	return auth.Caller{Name: "somebody", Role: role, Method: auth.Token}, nil
}

// A port is the dashboard's port with authentication, with every API, page and AuthRoutes.
type port struct {
	*echo.Echo
	broker *broker.Broker
	scenes *demo.Player
	forms  *origin.Forms
	rows   map[string]auth.Role // by method and pattern
}

func guarded(t *testing.T) *port {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	tested := brokertest.Open(t, broker.Options{})
	tested.CreateQueue("orders", engine.Config{})
	b := tested.Broker
	manager := namespacestest.Open(t, func() engine.Store { return new(memory.Store) })
	library, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	scenes := demo.NewPlayer(demo.Options{Namespaces: manager, Library: library, Logger: log})
	t.Cleanup(scenes.Close)
	uploads := exchange.NewUploads()
	t.Cleanup(uploads.Close)
	pages := route.Start(b, pages.Options{Document: api.Document, Scenes: scenes, Uploads: uploads, Namespaces: pages.NamespaceInfo{Namespaces: manager}, Logger: log})
	t.Cleanup(pages.Close)
	forms := origin.NewForms()
	registry := token.New(token.Options{Logger: log})
	t.Cleanup(registry.Close)
	s := New(Options{
		Logger: log, Auth: auth.Sources{byHeader{}}, Metrics: http.NotFoundHandler(),
		AuthRoutes: []AuthRoutes{
			password.New(password.Options{Sessions: password.NewSessions(), Forms: forms, Logger: log}),
			&token.LinkHandler{Registry: registry, CheckForm: forms.Check, ReturnPath: func(to string) string { return password.ReturnPath("", to) }},
			openID(t),
		},
	})
	handler := dashboard.New(dashboard.Options{Broker: b, Namespaces: manager, Scenes: scenes, Uploads: uploads, Presentations: new(presentation.Registry), Tokens: registry, Pages: pages, Forms: forms, Logger: log})
	e, ok := s.Namespace.newDashboard(Services{
		Broker: b, Namespaces: manager, Scenes: scenes, Pages: handler.Mount, PageRole: route.Routes().RequiredRole, PageError: handler.Error, Live: http.NotFoundHandler(),
	}).(*echo.Echo)
	if !ok {
		t.Fatal("the handler of the dashboard is not an Echo")
	}
	p := &port{Echo: e, broker: b, scenes: scenes, forms: forms, rows: map[string]auth.Role{}}
	for _, r := range e.Routes() {
		if r.Method == echo.RouteNotFound {
			continue
		}
		role, declared := s.lookupRole(route.Routes().RequiredRole, r.Method, r.Path)
		if !declared {
			t.Errorf("%s %s has no row with a role", r.Method, r.Path)
		}
		p.rows[r.Method+" "+r.Path] = role
	}
	return p
}

// openID returns the AuthRoutes of a provider that does not answer.
func openID(t *testing.T) AuthRoutes {
	t.Helper()
	p, err := oidc.New(oidc.Config{
		Issuer: "https://login.example.com", ClientID: "mayfly", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}},
		Transport: absent{}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &oidc.Handler{
		Provider: p, ReturnPath: func(to string) string { return password.ReturnPath("", to) },
		Failed:      func(*http.Request, string, string, error) {},
		ShowFailure: func(c echo.Context, status int, why, _, _, _ string) error { return c.String(status, why) },
	}
}

// absent is the network of a machine without a network.
type absent struct{}

func (absent) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("there is no network")
}

// TestEveryAddressTakesARole: every registered address has a row in one of the tables, which
// testdata/roles.txt lists completely; and is refused to every lower role, and to unknown
// callers.
func TestEveryAddressTakesARole(t *testing.T) {
	e := guarded(t)
	rows := e.rows
	var table strings.Builder
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		table.WriteString(row + " " + rows[row].String() + "\n")
	}
	webtest.Golden(t, "testdata/roles.txt", table.String())
	for row, needs := range rows {
		method, pattern, _ := strings.Cut(row, " ")
		for _, role := range append([]auth.Role{auth.None}, auth.Roles()...) {
			code, text := ask(t, e, method, concrete(pattern), role)
			got := "may"
			switch {
			case code == http.StatusUnauthorized && needs != auth.None: // an invalid link is refused by its own handler
				got = "is not known"
			case code == http.StatusForbidden && strings.Contains(text, "the role "+needs.String()):
				got = "may not"
			}
			want := "may"
			switch {
			case role.Includes(needs):
			case role == auth.None:
				want = "is not known"
			default:
				want = "may not"
			}
			if got != want {
				t.Errorf("%s, which requires %s: %s %s, want %s: %d", row, needs, role, got, want, code)
			}
		}
	}
}

// TestEveryParameterTakesARole: the document names the query parameters that require a higher
// role than their route, and testdata/parameters.txt lists all of them. A request with only
// the route's role is refused with such a parameter and changes nothing. With any other
// parameter it is not refused.
func TestEveryParameterTakesARole(t *testing.T) {
	e, more := guarded(t), 0
	var table strings.Builder
	for _, o := range api.Document().Ordered {
		pattern := "/api/v1" + echoed(o.Path)
		needs, ok := e.rows[o.Method+" "+pattern]
		if !ok {
			t.Errorf("%s %s is in the document, but is not registered", o.Method, pattern)
		}
		for _, p := range o.Parameters {
			if p.In != "query" {
				continue
			}
			takes := needs
			if p.Role != "" {
				role, err := auth.ParseRole(p.Role)
				if err != nil || needs.Includes(role) || !strings.HasSuffix(p.Description, "Requires the role "+p.Role+".") {
					t.Errorf("%s of %s requires %q beside %s: %v, %s", p.Name, o.ID, p.Role, needs, err, p.Description)
				}
				takes, more = role, more+1
			}
			fmt.Fprintf(&table, "%s %s %s %s\n", o.Method, pattern, p.Name, takes)
			if o.Method != http.MethodGet && takes == needs && needs == auth.Admin {
				continue // no role is higher
			}
			for _, role := range []auth.Role{auth.Viewer, auth.Operator, auth.Admin} {
				if !role.Includes(needs) {
					continue
				}
				at := concrete(pattern)
				if o.Method != http.MethodGet {
					at = strings.Replace(at, "orders", "nothing", 1)
				}
				code, text := ask(t, e, o.Method, at+"?"+url.Values{p.Name: {fmt.Sprint(cmp.Or[any](p.Example, "x"))}}.Encode(), role)
				if may := code != http.StatusForbidden || !strings.Contains(text, "the role "); may != role.Includes(takes) {
					t.Errorf("%s %s with %s as %s: %d %s", o.Method, at, p.Name, role, code, text)
				}
			}
		}
	}
	if more < 2 {
		t.Errorf("%d parameters require more than their route", more)
	}
	if _, all := ask(t, e, http.MethodGet, "/api/v1/entities", auth.Viewer); strings.Count(all, `"path"`) != 1 {
		t.Errorf("a refused request created something: %s", all)
	}
	webtest.Golden(t, "testdata/parameters.txt", table.String())
}

// echoed returns a path of the document in Echo's syntax.
func echoed(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		switch {
		case p == "{path}":
			parts[i] = "*"
		case strings.HasPrefix(p, "{"):
			parts[i] = ":" + strings.Trim(p, "{}")
		}
	}
	return strings.Join(parts, "/")
}

// concrete returns an address that matches a pattern.
func concrete(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, p := range parts {
		switch {
		case p == ":ns":
			parts[i] = "default"
		case p == "*", strings.HasPrefix(p, ":"):
			parts[i] = "orders"
		}
	}
	return strings.Join(parts, "/")
}

func ask(t *testing.T, h http.Handler, method, at string, role auth.Role) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, at, http.NoBody)
	r.Host = "localhost"
	r.Header.Set("Test-Role", role.String())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestUnknownCallersLearnNothing: an unknown caller learns nothing about the content, in a page, a
// problem or on the way to signing in.
func TestUnknownCallersLearnNothing(t *testing.T) {
	e := guarded(t)
	r := httptest.NewRequest(http.MethodGet, "/n/default/q/orders?tab=rules", http.NoBody)
	r.Host = "localhost"
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || to != "/login?to=%2Fn%2Fdefault%2Fq%2Forders%3Ftab%3Drules" {
		t.Errorf("a browser is redirected to %q, %d", to, w.Code)
	}
	for _, at := range []string{"/n/default/q/orders", "/n/default", "/", "/nowhere", "/api/v1/entities/orders", "/api/v1/nothing"} {
		code, text := ask(t, e, http.MethodGet, at, auth.None)
		if code != http.StatusUnauthorized || strings.Contains(strings.ReplaceAll(text, at, ""), "default") {
			t.Errorf("%s: %d %s", at, code, text)
		}
	}
	for name, tc := range map[string]struct {
		method, at, site string
		code             int
	}{
		"what is not there":      {http.MethodGet, "/static/app-old.css", "", http.StatusNotFound},
		"a form without a token": {http.MethodPost, "/login", "", http.StatusForbidden},
		"from another site":      {http.MethodPost, "/n/default/q/orders/send", "cross-site", http.StatusForbidden},
		"a page from there":      {http.MethodPost, "/nowhere", "cross-site", http.StatusForbidden},
	} {
		r := httptest.NewRequest(tc.method, tc.at, http.NoBody)
		r.Host = "localhost"
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Sec-Fetch-Site", tc.site)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if text := w.Body.String(); w.Code != tc.code || strings.Contains(text, "default") || strings.Contains(text, "<") {
			t.Errorf("%s: %d %s", name, w.Code, text)
		}
	}
	if code, text := ask(t, e, http.MethodGet, "/static/app-old.css", auth.Viewer); code != http.StatusNotFound || !strings.Contains(text, "<html") {
		t.Errorf("an unknown caller got %d %s", code, text)
	}
	if code, _ := ask(t, e, http.MethodPut, "/api/v1/health", auth.Viewer); code != http.StatusMethodNotAllowed {
		t.Errorf("an unknown method returned %d", code)
	}
	if code, _ := ask(t, e, http.MethodGet, "/api/v1/access-rules?keys=true", auth.Operator); code != http.StatusForbidden {
		t.Errorf("an operator sees keys: %d", code)
	}
}

// TestWithin: belongsTo finds the namespace that a path is in, whatever the case of its name, and
// none for paths of the server itself.
func TestWithin(t *testing.T) {
	s := New(Options{Logger: slog.New(slog.DiscardHandler)})
	s.StandBy(Standby{Namespace: "Shop"})
	s.AddNamespace("till")
	for at, of := range map[string]string{
		"/n/Shop": "shop", "/n/Shop/queues": "shop", "/n/shop": "shop", "/n/SHOP/q/a": "shop", "/api/v1/n/Shop/entities": "shop", "/api/v1/n/shop/entities": "shop",
		"/live": "shop", "/api/v1/entities": "shop", "/n/Till/queues": "till", "/api/v1/n/TILL/entities": "till",
		"/n/Shops": "", "/n/Sho": "", "/n/": "", "/": "", "/namespaces": "", "/api/v1/n/Shop/namespaces": "", "/api/v1/n/shops/entities": "", "/api/v1/n/Shop": "", "/api/v1/n/ſhop/entities": "",
	} {
		for _, name := range []string{"shop", "till"} {
			if is := s.belongsTo(name, at); is != (name == of) {
				t.Errorf("%s in %s is %t", at, name, is)
			}
		}
	}
}
