package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"mayfly/web/identity"
	"mayfly/web/oidc"
	"mayfly/web/oidc/oidctest"
)

// TestSignInWithAProvider goes from a page to the provider and back to it, as somebody
// whom the provider knows.
func TestSignInWithAProvider(t *testing.T) {
	const known = "http://mayfly.localhost"
	provider := oidctest.Start(t, known+oidc.Back)
	s := serving(t, Config{Store: "memory:", Advertise: known, OIDC: &oidc.Config{
		Issuer: provider.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Title: "the company",
		Roles: []oidc.Rule{{Value: "team", Role: identity.Operator}},
	}})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	visit := func(at string) (code int, to, text string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Dashboard+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html")
		w, err := (&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		raw, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.StatusCode, w.Header.Get("Location"), string(raw)
	}
	want := func(at string, code int, says string) string {
		t.Helper()
		got, to, text := visit(at)
		if got != code || !strings.Contains(to+text, says) {
			t.Fatalf("%s: %d %s %s; want %d %q", at, got, to, text, code, says)
		}
		return to
	}
	login := want("/n/default/queues", 303, "/login?to=%2Fn%2Fdefault%2Fqueues")
	want(login, 200, "Sign in with the company")
	back := func(user string) string {
		t.Helper()
		// The provider knows the server by another name, under which the sign-in begins.
		at := want(oidc.SignIn+"?to=%2Fn%2Fdefault%2Fqueues", 303, known+oidc.SignIn+"?")
		to := want(strings.TrimPrefix(at, known), 303, provider.Issuer+"/authorize?")
		return strings.TrimPrefix(provider.SignIn(to, user), known)
	}
	want(back("eva"), 403, "the company knows you, but you have no role here")
	provider.Is(oidctest.Trouble{Claims: map[string]any{"roles": []string{"team"}}})
	at := back("ana")
	if to := want(at, 303, ""); to != "/n/default/queues" {
		t.Errorf("it leads to %q", to)
	}
	want("/n/default/queues", 200, "ana")
	want("/namespaces", 200, "ana")
	want("/sessions", 403, "")
	_, _, page := visit("/n/default/queues")
	out := func() string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Dashboard+"/logout", strings.NewReader(url.Values{"csrf": {formToken.FindStringSubmatch(page)[1]}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w, err := (&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if w.StatusCode == http.StatusOK && w.Header.Get("Cache-Control") != "no-store" {
			t.Error("the page that has the provider's token is kept")
		}
		return w.Header.Get("Refresh") + w.Header.Get("Location")
	}
	if to := out(); !strings.HasPrefix(to, "0; url="+provider.Issuer+"/end?") || !strings.Contains(to, url.QueryEscape(known+oidc.Back)) {
		t.Errorf("signing out leads to %q", to)
	}
	want("/n/default/queues", 303, "/login")
	if to := out(); to != "/login" {
		t.Errorf("signing out once more leads to %q", to)
	}
	want(oidc.Back+"?state=signed-out", 303, "/login")
	want(at, 403, "Sign in again")
	u, err := url.Parse(want(oidc.SignIn+"?led=", 303, "state="))
	if err != nil {
		t.Fatal(err)
	}
	want(oidc.Back+"?error=access_denied&error_description=%3Cb%3Eno%3C%2Fb%3E&state="+u.Query().Get("state"), 403, "access_denied: &lt;b&gt;no&lt;/b&gt;")
	for _, to := range []string{"//example.com", "https://example.com", "/\\example.com"} {
		at := want(oidc.SignIn+"?to="+url.QueryEscape(to), 303, known+oidc.SignIn+"?")
		u, err := url.Parse(want(strings.TrimPrefix(at, known), 303, provider.Issuer))
		if err != nil {
			t.Fatal(err)
		}
		at = strings.TrimPrefix(provider.SignIn(u.String(), "ana"), known)
		if to := want(at, 303, ""); to != "/" {
			t.Errorf("it leads to %q", to)
		}
	}
}

// TestTriesWithAProvider: as many as with a password, and who gets in has tried nothing.
func TestTriesWithAProvider(t *testing.T) {
	provider := oidctest.Start(t, "http://mayfly.localhost"+oidc.Back)
	provider.Is(oidctest.Trouble{Claims: map[string]any{"roles": []string{"team"}}})
	var log bytes.Buffer
	s := serving(t, Config{Store: "memory:", Advertise: "http://mayfly.localhost", Logger: slog.New(slog.NewTextHandler(&log, nil)), OIDC: &oidc.Config{
		Issuer: provider.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Roles: []oidc.Rule{{Value: "team", Role: identity.Operator}},
	}})
	see := func(jar *cookies, at string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Dashboard+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range jar.all {
			r.AddCookie(c)
		}
		w, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if jar.all = append(jar.all, w.Cookies()...); w.StatusCode == http.StatusTooManyRequests {
			return w.StatusCode, w.Header.Get("Retry-After")
		}
		return w.StatusCode, w.Header.Get("Location")
	}
	for i := range 15 { // thirty tries, if they were any
		jar := &cookies{}
		_, to := see(jar, oidc.SignIn+"?led=")
		if code, to := see(jar, strings.TrimPrefix(provider.SignIn(to, "ana"), "http://mayfly.localhost")); code != 303 || to != "/" {
			t.Fatal(i, code, to)
		}
	}
	refused := 0
	for range 40 {
		if code, after := see(&cookies{}, oidc.Back+"?state=x&code=y"); code == http.StatusTooManyRequests && after != "" {
			refused++
		}
	}
	if code, _ := see(&cookies{}, oidc.SignIn+"?led="); refused < 5 || code != http.StatusTooManyRequests {
		t.Errorf("%d of 40 are refused, and who begins is answered with %d", refused, code)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "somebody could not sign in"); n == 0 || n > 20 {
		t.Errorf("the log tells of it %d times", n)
	}
}

// TestProviderThatIsDown: the server starts, and says what is wrong to who wants to
// sign in.
func TestProviderThatIsDown(t *testing.T) {
	s := serving(t, Config{Store: "memory:", OIDC: &oidc.Config{Issuer: "http://127.0.0.1:1", ClientID: "x", Title: "the company", Roles: []oidc.Rule{{Value: "*", Role: identity.Viewer}}}})
	if code, text := request(t, http.MethodGet, s.Dashboard+oidc.SignIn, ""); code != 503 || !strings.Contains(text, "the company does not answer") {
		t.Error(code, text)
	}
	if code, text := request(t, http.MethodGet, s.Dashboard+"/login", ""); code != 200 || strings.Contains(text, "password") {
		t.Error(code, text)
	}
}

func TestFlagsOfAProvider(t *testing.T) {
	for says, args := range map[string][]string{
		"are for --oidc-issuer": {"--oidc-client", "x"},
		"no client ID":          {"--oidc-issuer", "https://login.example.com"},
		"nobody has a role":     {"--oidc-issuer", "https://login.example.com", "--oidc-client", "x"},
		"has no TLS":            {"--oidc-issuer", "http://login.example.com", "--oidc-client", "x", "--oidc-role", "*=viewer"},
		"VALUE=ROLE":            {"--oidc-issuer", "https://login.example.com", "--oidc-client", "x", "--oidc-role", "viewer"},
		"--oidc-secret: open":   {"--oidc-issuer", "https://login.example.com", "--oidc-client", "x", "--oidc-role", "*=viewer", "--oidc-secret", "@/nowhere/to/be/found"},
	} {
		if out, complaint, code := typed(t, "", append([]string{"serve", "--store", "memory:"}, args...)...); code != 2 || !strings.Contains(complaint, says) {
			t.Errorf("%q: %d %q %q", args, code, out, complaint)
		}
	}
}
