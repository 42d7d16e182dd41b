package web_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/web"
	"mayfly/web/api"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/password"
	"mayfly/web/auth/token"
	"mayfly/web/webtest"
)

// guarded returns a world in which only keys of its Registry give access.
func guarded(t *testing.T, log *slog.Logger) (*world, *token.Registry, *origin.Forms) {
	t.Helper()
	registry, forms := token.New(token.Options{Logger: slog.New(slog.DiscardHandler)}), origin.NewForms()
	t.Cleanup(registry.Close)
	ui := func(g *echo.Group) {
		g.GET("/n/:ns", func(c echo.Context) error {
			return c.String(200, "hello "+auth.FromContext(c.Request().Context()).Name)
		})
		g.GET("/namespaces", func(c echo.Context) error { return c.String(200, "all of them") })
	}
	w := serve(t, web.Options{Logger: log, Auth: auth.Sources{registry.Tokens(), registry.Links()}, AuthRoutes: []web.AuthRoutes{&token.LinkHandler{Registry: registry, CheckForm: forms.Check, ReturnPath: func(to string) string { return password.ReturnPath("", to) }}}, SceneVisible: func(caller auth.Caller, name string) bool {
		return caller.Presentation == "monday" && name == "deadline-1"
	}},
		web.Services{Pages: ui, Tokens: registry, PageRole: func(string, string) (auth.Role, bool) { return auth.Viewer, true }})
	leave, err := registry.Serve(t.Context(), w.broker.Broker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(leave)
	return w, registry, forms
}

// TestLinkIsOpened: a link's secret is in an address once, and in no log.
func TestLinkIsOpened(t *testing.T) {
	var log bytes.Buffer
	w, registry, _ := guarded(t, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	name := w.broker.Name()
	k, path, err := registry.CreateLink(t.Context(), auth.Caller{Name: "ana", Role: auth.Admin, Method: auth.Password}, "ana", token.Request{Name: "demo", Namespace: name, Page: "/n/" + name + "?follow=monday"})
	if err != nil {
		t.Fatal(err)
	}
	browser := webtest.Browser(t, "http://"+w.dashboard)
	get := func(path string) (webtest.Answer, string) {
		t.Helper()
		a := browser.Ask("GET", path, "", "Accept", "text/html")
		return a, a.Body
	}
	if got, _ := get("/n/" + name); got.StatusCode != 401 {
		t.Error("before:", got.StatusCode)
	}
	got, _ := get(path)
	if at := got.Header.Get("Location"); got.StatusCode != 303 || at != "/n/"+name+"?follow=monday" || got.Header.Get("Referrer-Policy") != "no-referrer" || got.Header.Get("Cache-Control") != "no-store" {
		t.Error(got.StatusCode, got.Header)
	}
	for path, want := range map[string]string{
		"/n/" + name: "200 hello link demo of ana", "/": "302", "/n/other": "403 The link shows the namespace " + name + " and scenes", "/n/deadline-1": "200", "/n/deadline-12": "403", "/live": "404", "/n/" + name + "s": "403",
		"/namespaces": "403", "/metrics": "403", "/grafana.json": "403",
		"/api/v1/entities": "200", "/api/v1/n/" + name + "/entities": "200", "/api/v1/tokens": "200 {\"tokens\":[]}",
		"/api/v1/namespaces": "403", "/api/v1/n/" + name + "/namespaces": "403", "/api/v1/n/other/entities": "403", "/api/v1/n/deadline-1/entities": "403", "/healthz": "200",
	} {
		got, text := get(path)
		if is := fmt.Sprint(got.StatusCode, " ", text); !strings.HasPrefix(is, want) && !(strings.HasPrefix(is, want[:3]) && strings.Contains(is, want[4:])) {
			t.Errorf("%s: %s, want %s", path, is, want)
		}
	}
	if got, text := w.ask("POST", w.dashboard, "/api/v1/links"); got.StatusCode != 401 {
		t.Error(got.StatusCode, text)
	}
	if _, err := registry.Revoke(t.Context(), auth.Caller{Name: "ana", Role: auth.Admin, Method: auth.Password}, "ana", k.ID); err != nil {
		t.Fatal(err)
	}
	got, text := get("/n/" + name)
	if got.StatusCode != 401 || !strings.Contains(text, "This link has ended") || len(got.Cookies()) != 1 || got.Cookies()[0].MaxAge >= 0 {
		t.Error("after the link was revoked:", got.StatusCode, text, got.Cookies())
	}
	for _, dead := range []string{path, token.LinkPath + "mfl_x"} {
		got, text = get(dead)
		if got.StatusCode != 401 || len(got.Cookies()) > 0 || !strings.Contains(text, "This link has ended") {
			t.Error("opened again:", got.StatusCode, text)
		}
		if got, text := w.ask("GET", w.dashboard, dead); got.StatusCode != 401 || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain") {
			t.Error("not by a browser:", got.StatusCode, text)
		}
	}
	if secret := path[len(token.LinkPath)+15:]; strings.Contains(log.String(), secret) {
		t.Error("the log contains the secret")
	}
	if !strings.Contains(log.String(), token.LinkPath) {
		t.Error("the log lacks the request")
	}
}

// TestLinkIsLeft: the browser drops the link only by a form with a valid token.
func TestLinkIsLeft(t *testing.T) {
	w, registry, forms := guarded(t, nil)
	name := w.broker.Name()
	_, path, err := registry.CreateLink(t.Context(), auth.Caller{Name: "ana", Role: auth.Admin, Method: auth.Password}, "ana", token.Request{Name: "demo", Namespace: name})
	if err != nil {
		t.Fatal(err)
	}
	for tab, good := range map[string]bool{"a form of ours": true, "another": false} {
		answer := httptest.NewRecorder()
		csrf := origin.NewForms().Token(answer, httptest.NewRequestWithContext(t.Context(), "GET", "http://"+w.dashboard+"/", nil))
		if good {
			csrf = forms.Token(answer, httptest.NewRequestWithContext(t.Context(), "GET", "http://"+w.dashboard+"/", nil))
		}
		browser := webtest.Browser(t, "http://"+w.dashboard, answer.Result().Cookies()...)
		do := func(method, path, body string) (status int, to string) {
			t.Helper()
			a := browser.Ask(method, path, body, "Content-Type", "application/x-www-form-urlencoded")
			return a.StatusCode, a.Header.Get("Location")
		}
		do("GET", path, "")
		form := url.Values{origin.FormField: {csrf}, "back": {"//evil.example/"}}.Encode()
		status, to := do("POST", token.LeavePath, form)
		after, _ := do("GET", "/n/"+name, "")
		if good && (status != 303 || to != "/" || after != 401) || !good && (status == 303 || after != 200) {
			t.Errorf("%s: %d to %q, then %d", tab, status, to, after)
		}
	}
}

// TestTokenWithin: a token for one namespace gives no access to the server's own pages.
func TestTokenWithin(t *testing.T) {
	w, registry, _ := guarded(t, nil)
	_, secret, err := registry.CreateToken(t.Context(), auth.Caller{Name: "ana", Role: auth.Admin, Method: auth.Password}, "ana", token.Request{Name: "ci", Role: auth.Admin, Namespace: w.broker.Name()})
	if err != nil {
		t.Fatal(err)
	}
	_, others, err := registry.CreateToken(t.Context(), auth.Caller{Name: "ana", Role: auth.Admin, Method: auth.Password}, "ana", token.Request{Name: "till", Role: auth.Admin, Namespace: "till"})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for by, wants := range map[string]map[string]int{ // scenes and sockets of other namespaces are for links only
		secret: {"/n/" + w.broker.Name(): 200, "/n/deadline-1": 403, "/live": 404},
		others: {"/n/" + w.broker.Name(): 403, "/n/deadline-1": 403, "/live": 403},
	} {
		for at, want := range wants {
			if got, text := w.ask("GET", w.dashboard, at, "Authorization", "Bearer "+by); got.StatusCode != want {
				t.Errorf("%s: %d %s", at, got.StatusCode, text)
			}
		}
	}
	for _, o := range api.Document().Ordered {
		if o.Method != "GET" || strings.Contains(o.Path, "{") {
			continue
		}
		ofServer := slices.ContainsFunc(o.Tags, func(tag string) bool { return tag == "Namespaces" || tag == "Scenes" })
		for _, below := range []string{"/api/v1", "/api/v1/n/" + w.broker.Name()} {
			got, _ := w.ask("GET", w.dashboard, below+o.Path, "Authorization", "Bearer "+secret)
			if (got.StatusCode == 403) != ofServer || got.StatusCode == 401 {
				t.Errorf("%s: %d", o.Path, got.StatusCode)
			}
			if ofServer {
				refused++
			}
		}
	}
	if refused < 6 {
		t.Error("of the requests for all namespaces, only so many are refused:", refused)
	}
}

// TestUnknownToken: an unknown token is refused, also on an open server.
func TestUnknownToken(t *testing.T) {
	registry := token.New(token.Options{Open: true})
	w := serve(t, web.Options{Auth: auth.Sources{registry.Tokens(), registry.Links(), auth.OpenSource{}}}, web.Services{})
	leave, err := registry.Serve(t.Context(), w.broker.Broker)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	for token, want := range map[string]int{"": 200, "Bearer x": 401, "Bearer mft_aaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAA": 401, "Basic eDp5": 200} {
		got, _ := w.ask("GET", w.dashboard, "/api/v1/entities", "Authorization", token)
		if got.StatusCode != want || (want == 401) != (got.Header.Get("WWW-Authenticate") != "") {
			t.Errorf("%q: %d %s", token, got.StatusCode, got.Header.Get("WWW-Authenticate"))
		}
	}
}
