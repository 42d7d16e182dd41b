package web

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet/fleettest"
	"mayfly/engine/scene"
	"mayfly/storage/memory"
	"mayfly/web/access"
	"mayfly/web/api"
	"mayfly/web/identity"
	"mayfly/web/intake"
	"mayfly/web/keys"
	"mayfly/web/login"
	"mayfly/web/oidc"
	"mayfly/web/show"
	"mayfly/web/talk"
	"mayfly/web/ui"
)

var update = flag.Bool("update", false, "write the table of roles anew")

// byHeader knows who a request says that it is of.
type byHeader struct{}

func (byHeader) Identify(r *http.Request) (identity.Who, error) {
	role, err := identity.ParseRole(r.Header.Get("Test-Role"))
	if err != nil {
		return identity.Who{}, identity.ErrNone
	}
	return identity.Who{Name: "somebody", Role: role, Way: identity.Token}, nil
}

// A port is a dashboard's that asks everybody, with every door and gate that there is.
type port struct {
	*echo.Echo
	broker *broker.Broker
	scenes *scene.Stages
	forms  *access.Forms
	rows   map[string]identity.Role // by method and pattern
}

func guarded(t *testing.T) *port {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store := func() engine.Store { return new(memory.Store) }
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return store(), nil }, broker.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if _, err := b.Create(t.Context(), engine.Queue, "orders", engine.Config{}, ""); err != nil {
		t.Fatal(err)
	}
	ships := fleettest.Open(t, store)
	library, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	scenes := scene.Start(scene.Options{Fleet: ships, Library: library, Logger: log})
	t.Cleanup(scenes.Close)
	shelf := intake.NewShelf()
	t.Cleanup(shelf.Close)
	pages := show.Start(b, show.Options{Document: api.Document, Scenes: scenes, Shelf: shelf, Spaces: show.Spaces{Fleet: ships}, Logger: log})
	t.Cleanup(pages.Close)
	forms := access.NewForms()
	ring := keys.New(keys.Options{Logger: log})
	t.Cleanup(ring.Close)
	s := New(Options{
		Logger: log, Who: identity.Sources{byHeader{}}, Metrics: http.NotFoundHandler(),
		Gates: []Gate{
			login.New(login.Options{Sessions: login.NewSessions(), Forms: forms, Logger: log}),
			&keys.Gate{Ring: ring, Check: forms.Check, Within: func(to string) string { return login.Within("", to) }},
			openID(t),
		},
	})
	door := ui.New(ui.Options{Broker: b, Fleet: ships, Scenes: scenes, Shelf: shelf, Hall: new(talk.Hall), Keys: ring, Pages: pages, Forms: forms, Logger: log})
	e, ok := s.Space.newDashboard(Doors{
		Broker: b, Fleet: ships, Scenes: scenes, UI: door.Mount, UINeeds: ui.Needs, UIError: door.Error, Live: http.NotFoundHandler(),
	}).(*echo.Echo)
	if !ok {
		t.Fatal("the dashboard is no Echo")
	}
	p := &port{Echo: e, broker: b, scenes: scenes, forms: forms, rows: map[string]identity.Role{}}
	for _, r := range e.Routes() {
		if r.Method == echo.RouteNotFound {
			continue
		}
		role, said := s.said(ui.Needs, r.Method, r.Path)
		if !said {
			t.Errorf("nobody says which role %s %s takes", r.Method, r.Path)
		}
		p.rows[r.Method+" "+r.Path] = role
	}
	return p
}

// openID is the gate of a provider that does not answer.
func openID(t *testing.T) Gate {
	t.Helper()
	p, err := oidc.New(oidc.Config{
		Issuer: "https://login.example.com", ClientID: "mayfly", Roles: []oidc.Rule{{Value: "*", Role: identity.Viewer}},
		Transport: absent{}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &oidc.Door{
		Provider: p, Within: func(to string) string { return login.Within("", to) },
		Failed: func(*http.Request, string, string, error) {},
		Refuse: func(c echo.Context, status int, why, _, _, _ string) error { return c.String(status, why) },
	}
}

// absent is the network of a machine that has none.
type absent struct{}

func (absent) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("there is no network")
}

// TestEveryAddressTakesARole: every address that is registered has a row in one of the
// tables, which testdata/roles.txt shows as a whole; and is refused to every role that
// is less, and to nobody.
func TestEveryAddressTakesARole(t *testing.T) {
	e := guarded(t)
	rows := e.rows
	var table strings.Builder
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		table.WriteString(row + " " + rows[row].String() + "\n")
	}
	const golden = "testdata/roles.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table.String()); diff != "" {
		t.Errorf("the table of roles is another (go test ./web -run EveryAddress -update):\n%s", diff)
	}
	for row, needs := range rows {
		method, pattern, _ := strings.Cut(row, " ")
		for _, role := range append([]identity.Role{identity.None}, identity.Roles()...) {
			code, text := ask(t, e, method, concrete(pattern), role)
			got := "may"
			switch {
			case code == http.StatusUnauthorized && needs != identity.None: // a bad link is refused by its own door
				got = "is not known"
			case code == http.StatusForbidden && strings.Contains(text, "the role "+needs.String()):
				got = "may not"
			}
			want := "may"
			switch {
			case role.May(needs):
			case role == identity.None:
				want = "is not known"
			default:
				want = "may not"
			}
			if got != want {
				t.Errorf("%s, which takes %s: %s %s, want %s: %d", row, needs, role, got, want, code)
			}
		}
	}
}

// concrete is an address of a pattern.
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

func ask(t *testing.T, h http.Handler, method, at string, role identity.Role) (int, string) {
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

// TestNobodyIsToldNothing: of what is there, in a page, a problem or on the way to
// signing in.
func TestNobodyIsToldNothing(t *testing.T) {
	e := guarded(t)
	r := httptest.NewRequest(http.MethodGet, "/n/default/q/orders?tab=rules", http.NoBody)
	r.Host = "localhost"
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || to != "/login?to=%2Fn%2Fdefault%2Fq%2Forders%3Ftab%3Drules" {
		t.Errorf("a browser is led to %q, %d", to, w.Code)
	}
	for _, at := range []string{"/n/default/q/orders", "/n/default", "/", "/nowhere", "/api/v1/entities/orders", "/api/v1/nothing"} {
		code, text := ask(t, e, http.MethodGet, at, identity.None)
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
	if code, text := ask(t, e, http.MethodGet, "/static/app-old.css", identity.Viewer); code != http.StatusNotFound || !strings.Contains(text, "<html") {
		t.Errorf("somebody is told without a page: %d %s", code, text)
	}
	if code, _ := ask(t, e, http.MethodPut, "/api/v1/health", identity.Viewer); code != http.StatusMethodNotAllowed {
		t.Errorf("a method that is not there is answered with %d", code)
	}
	if code, _ := ask(t, e, http.MethodGet, "/api/v1/access?keys=true", identity.Operator); code != http.StatusForbidden {
		t.Errorf("an operator is shown keys: %d", code)
	}
}

// TestWithin: what is of one namespace is so however its name is spelled.
func TestWithin(t *testing.T) {
	s := New(Options{Logger: slog.New(slog.DiscardHandler)})
	s.StandBy(Standby{Namespace: "Shop"})
	s.Add("till")
	for at, of := range map[string]string{
		"/n/Shop": "shop", "/n/Shop/queues": "shop", "/n/shop": "shop", "/n/SHOP/q/a": "shop", "/api/v1/n/Shop/entities": "shop", "/api/v1/n/shop/entities": "shop",
		"/live": "shop", "/api/v1/entities": "shop", "/n/Till/queues": "till", "/api/v1/n/TILL/entities": "till",
		"/n/Shops": "", "/n/Sho": "", "/n/": "", "/": "", "/namespaces": "", "/api/v1/n/Shop/namespaces": "", "/api/v1/n/shops/entities": "", "/api/v1/n/Shop": "", "/api/v1/n/ſhop/entities": "",
	} {
		for _, name := range []string{"shop", "till"} {
			if is := s.within(name, at); is != (name == of) {
				t.Errorf("%s is within %s: %t", at, name, is)
			}
		}
	}
}
