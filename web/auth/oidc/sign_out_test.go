package oidc_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/oidc/oidctest"
)

// end returns where a user signs out of the provider.
func (w *world) end(caller auth.Caller, hint, redirect string) string {
	w.Helper()
	at, err := w.ours.SignOutURL(w.Context(), caller, hint, redirect)
	if err != nil {
		w.Fatal(err)
	}
	return at
}

func (w *world) see(at string) (int, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, at, nil)
	if err != nil {
		w.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (w *world) signsIn(user string) (is auth.Caller, hint string) {
	w.Helper()
	signedIn, err := w.through(user, oidctest.Trouble{Claims: map[string]any{"roles": "team"}})
	if err != nil {
		w.Fatal(err)
	}
	return auth.Caller{Name: signedIn.Name, Subject: signedIn.Subject, Role: signedIn.Role, Method: auth.OIDC}, signedIn.Hint
}

// again replaces the server with one at which no user has signed in.
func (w *world) again() {
	w.Helper()
	ours, err := oidc.New(w.c)
	if err != nil {
		w.Fatal(err)
	}
	w.ours = ours
}

// TestEnd: a user who signs out is redirected to the provider, which identifies the user by the
// hint or asks, and redirects back. This also works at a server that has never contacted the
// provider.
func TestEnd(t *testing.T) {
	w := start(t)
	ana, hint := w.signsIn("ana")
	for _, before := range []string{"this server has asked it", "none has"} {
		if code, text := w.see(w.end(ana, hint, redirect)); code != 200 || !strings.Contains(text, "id-ana") || !strings.Contains(text, `href="`+redirect+`?state=signed-out"`) {
			t.Errorf("%s: %d %s", before, code, text)
		}
		if code, text := w.see(w.end(ana, "", redirect)); code != 200 || !strings.Contains(text, "Who") || !strings.Contains(text, `href="`+redirect+`?state=signed-out"`) {
			t.Errorf("%s, without a hint: %d %s", before, code, text)
		}
		if code, text := w.see(w.end(ana, hint, "http://example.com/login/openid/back")); code != 400 {
			t.Errorf("%s, with an unknown redirect address: %d %s", before, code, text)
		}
		w.again()
	}
}

// TestHints: the provider gets a hint that is about the user who signs out and was issued by
// it for this client, however long ago.
func TestHints(t *testing.T) {
	w := start(t)
	ana, anas := w.signsIn("ana")
	_, eves := w.signsIn("eve")
	token := func(issuer string) string {
		claims := fmt.Sprintf(`{"iss":%q,"sub":"id-ana","aud":%q,"exp":1}`, issuer, oidctest.Client)
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".x123"
	}
	for name, tc := range map[string]struct {
		hint  string
		given bool
	}{
		"hers":               {anas, true},
		"another's":          {eves, false},
		"an old one":         {token(w.theirs.Issuer), true},
		"another provider's": {token("https://b.example"), false},
		"none":               {"", false},
		"no token":           {"hint", false},
	} {
		at, err := url.Parse(w.end(ana, tc.hint, redirect))
		if err != nil || at.Query().Has("id_token_hint") != tc.given || at.Query().Get("client_id") != oidctest.Client || at.Query().Get("post_logout_redirect_uri") != redirect {
			t.Errorf("%s: %s, %v", name, at, err)
		}
	}
	w.c.ClientID = "another"
	w.again()
	if at := w.end(ana, anas, redirect); strings.Contains(at, "id_token_hint") {
		t.Errorf("a hint for another client was sent: %s", at)
	}
}

// TestNoEnd: a user is not redirected to a provider that has no sign-out, or where they have
// not signed in.
func TestNoEnd(t *testing.T) {
	w := start(t)
	ana, hint := w.signsIn("ana")
	for name, caller := range map[string]auth.Caller{
		"with a password": {Name: "ana", Method: auth.Password}, "with another provider": {Name: "ana", Method: auth.OIDC, Subject: w.theirs.Issuer + ".example id-ana"},
	} {
		if at := w.end(caller, hint, redirect); at != "" {
			t.Errorf("%s: %s", name, at)
		}
	}
	w.theirs.Is(oidctest.Trouble{NoEnd: true})
	w.again()
	if at := w.end(ana, hint, redirect); at != "" {
		t.Errorf("without a sign-out address, the user is redirected to %s", at)
	}
}

// TestEndOfSilence: a provider that does not answer delays a sign-out by three seconds at
// most, and one that fails does not delay it.
func TestEndOfSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			answer func(r *http.Request) (*http.Response, error)
			within time.Duration
		}{
			"silent": {func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}, 3 * time.Second},
			"nowhere": {func(*http.Request) (*http.Response, error) {
				return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
			}, 0},
		} {
			p, err := oidc.New(oidc.Config{Issuer: "https://a.example", ClientID: "x", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}, Transport: transport(tc.answer), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			began, caller := time.Now(), auth.Caller{Method: auth.OIDC, Subject: "https://a.example id-ana"}
			if at, err := p.SignOutURL(t.Context(), caller, "", redirect); !errors.Is(err, oidc.ErrUnavailable) || at != "" || time.Since(began) != tc.within {
				t.Errorf("%s: %q, %v after %v", name, at, err, time.Since(began))
			}
		}
	})
}

// TestEndsBeforeASignIn: a sign-out that gave up waiting for the provider does not make a
// sign-in fail, which waits longer.
func TestEndsBeforeASignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slowly := func(r *http.Request) (*http.Response, error) {
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(5 * time.Second):
			}
			const document = `{"issuer": "https://a.example", "authorization_endpoint": "https://a.example/in", "token_endpoint": "https://a.example/token", "jwks_uri": "https://a.example/keys"}`
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(document)), Request: r}, nil
		}
		p, err := oidc.New(oidc.Config{Issuer: "https://a.example", ClientID: "x", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}, Transport: transport(slowly), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.SignOutURL(t.Context(), auth.Caller{Method: auth.OIDC, Subject: "https://a.example id-ana"}, "", redirect); !errors.Is(err, oidc.ErrUnavailable) {
			t.Errorf("after five seconds the provider is still being asked: %v", err)
		}
		r, w := httptest.NewRequest(http.MethodGet, "https://"+host+"/openid", nil), httptest.NewRecorder()
		if at, err := p.Begin(w, r.WithContext(t.Context()), redirect, "/"); err != nil || !strings.HasPrefix(at, "https://a.example/in?") {
			t.Errorf("a sign-in redirects to %q: %v", at, err)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestKeepsTheHint: the browser keeps the hint for the sign-out address, until the sign-out; a
// hint that is too large deletes the previous one.
func TestKeepsTheHint(t *testing.T) {
	w := start(t)
	var began []auth.Caller
	d := &oidc.Handler{
		Provider: w.ours, UserName: func(name string) string { return name }, ReturnPath: func(to string) string { return to },
		StartSession:    func(_ http.ResponseWriter, _ *http.Request, caller auth.Caller) { began = append(began, caller) },
		SessionLifetime: time.Hour, SignOutPath: "/logout",
	}
	e := echo.New()
	d.Mount(e.Group(""))
	signsIn := func(claims map[string]any) *http.Cookie {
		t.Helper()
		w.theirs.Is(oidctest.Trouble{Claims: claims})
		r, got := w.visit(w.theirs.SignIn(w.begin(), "ana"))
		e.ServeHTTP(got, r)
		for _, c := range got.Result().Cookies() {
			if c.Name == "mayfly_openid_hint" {
				return c
			}
		}
		t.Fatalf("%d: there is no hint", got.Code)
		return nil
	}
	c := signsIn(map[string]any{"roles": "team"})
	if c.Value == "" || c.Path != "/logout" || c.MaxAge != 3600 || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure {
		t.Errorf("%+v", c)
	}
	r, got := httptest.NewRequest(http.MethodPost, "https://"+host+"/logout", nil), httptest.NewRecorder()
	r.AddCookie(c)
	at, err := d.SignOutURL(got, r, began[0])
	if err != nil || !strings.Contains(at, url.QueryEscape(c.Value)) {
		t.Errorf("%s, %v", at, err)
	}
	if gone := got.Result().Cookies(); len(gone) != 1 || gone[0].Name != c.Name || gone[0].Path != "/logout" || gone[0].MaxAge >= 0 || !gone[0].Secure {
		t.Errorf("%+v", gone)
	}
	if c := signsIn(map[string]any{"roles": []string{"team", strings.Repeat("x", 4000)}}); c.Value != "" || c.MaxAge >= 0 {
		t.Errorf("%+v", c)
	}
}
