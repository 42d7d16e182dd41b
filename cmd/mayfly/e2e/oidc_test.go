package e2e

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"mayfly/cmd/mayfly/server"
	"mayfly/storage/mongo/mongotest"
	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/oidc/oidctest"
)

// A surfer is a browser that does not follow redirects.
type surfer struct {
	*testing.T
	http.Client
}

func surfing(t *testing.T) *surfer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &surfer{T: t, Client: http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// An answered is a server's response.
type answered struct {
	code   int
	header http.Header
	text   string
}

// goes requests an address, and sends form unless it is empty.
func (s *surfer) goes(method, at string, form url.Values) answered {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, at, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w, err := s.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answered{w.StatusCode, w.Header, string(text)}
}

// TestSignInWithAProvider goes from a page to the provider and back, as a user with an account
// at the provider.
func TestSignInWithAProvider(t *testing.T) {
	const known = "http://mayfly.localhost"
	provider := oidctest.Start(t, known+oidc.CallbackPath)
	s := Start(t, server.Config{Store: "memory:", Advertise: known, OIDC: &oidc.Config{
		Issuer: provider.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Title: "the company",
		Roles: []oidc.Rule{{Value: "team", Role: auth.Operator}},
	}})
	ana := surfing(t)
	visit := func(at string) (code int, to, text string) {
		t.Helper()
		w := ana.goes(http.MethodGet, s.Dashboard+at, nil)
		return w.code, w.header.Get("Location"), w.text
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
		// The provider knows the server by another name, so the sign-in starts there.
		at := want(oidc.SignInPath+"?to=%2Fn%2Fdefault%2Fqueues", 303, known+oidc.SignInPath+"?")
		to := want(strings.TrimPrefix(at, known), 303, provider.Issuer+"/authorize?")
		return strings.TrimPrefix(provider.SignIn(to, user), known)
	}
	want(back("eva"), 403, "the company knows you, but you have no role here")
	provider.Is(oidctest.Trouble{Claims: map[string]any{"roles": []string{"team"}}})
	at := back("ana")
	if to := want(at, 303, ""); to != "/n/default/queues" {
		t.Errorf("redirected to %q", to)
	}
	want("/n/default/queues", 200, "ana")
	want("/namespaces", 200, "ana")
	want("/sessions", 403, "")
	_, _, page := visit("/n/default/queues")
	out := func() string {
		t.Helper()
		w := ana.goes(http.MethodPost, s.Dashboard+"/logout", url.Values{"csrf": {FormToken.FindStringSubmatch(page)[1]}})
		if w.code == http.StatusOK && w.header.Get("Cache-Control") != "no-store" {
			t.Error("the page with the provider's token may be cached")
		}
		return w.header.Get("Refresh") + w.header.Get("Location")
	}
	if to := out(); !strings.HasPrefix(to, "0; url="+provider.Issuer+"/end?") || !strings.Contains(to, url.QueryEscape(known+oidc.CallbackPath)) {
		t.Errorf("signing out redirects to %q", to)
	}
	want("/n/default/queues", 303, "/login")
	if to := out(); to != "/login" {
		t.Errorf("signing out again redirects to %q", to)
	}
	want(oidc.CallbackPath+"?state=signed-out", 303, "/login")
	want(at, 403, "Sign in again")
	u, err := url.Parse(want(oidc.SignInPath+"?led=", 303, "state="))
	if err != nil {
		t.Fatal(err)
	}
	want(oidc.CallbackPath+"?error=access_denied&error_description=%3Cb%3Eno%3C%2Fb%3E&state="+u.Query().Get("state"), 403, "access_denied: &lt;b&gt;no&lt;/b&gt;")
	for _, to := range []string{"//example.com", "https://example.com", "/\\example.com"} {
		at := want(oidc.SignInPath+"?to="+url.QueryEscape(to), 303, known+oidc.SignInPath+"?")
		u, err := url.Parse(want(strings.TrimPrefix(at, known), 303, provider.Issuer))
		if err != nil {
			t.Fatal(err)
		}
		at = strings.TrimPrefix(provider.SignIn(u.String(), "ana"), known)
		if to := want(at, 303, ""); to != "/" {
			t.Errorf("redirected to %q", to)
		}
	}
}

// TestSignsInBehindAProxy checks that the header of the response to a sign-in has at most 4 KiB,
// the default limit of proxies, however many claims the provider sends.
func TestSignsInBehindAProxy(t *testing.T) {
	provider := oidctest.Start(t, "http://127.0.0.1"+oidc.CallbackPath) // at any port
	s := Start(t, server.Config{Store: "memory:", OIDC: &oidc.Config{
		Issuer: provider.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Title: "the company", Roles: []oidc.Rule{{Value: "team", Role: auth.Operator}},
	}})
	hints := map[bool]int{}
	for told := 0; told < 4000; told += 100 {
		provider.Is(oidctest.Trouble{Claims: map[string]any{"roles": []string{"team", strings.Repeat("x", told)}}})
		ana := surfing(t)
		to := ana.goes(http.MethodGet, s.Dashboard+oidc.SignInPath+"?to=/n/default/queues?q="+strings.Repeat("x", 900), nil).header.Get("Location")
		w := ana.goes(http.MethodGet, provider.SignIn(to, "ana"), nil)
		head := len("HTTP/1.1 303 See Other\r\n\r\n")
		for name, values := range w.header {
			for _, v := range values {
				head += len(name) + len(v) + len(": \r\n")
			}
		}
		if w.code != http.StatusSeeOther || head > 4096 {
			t.Errorf("claims of %d bytes: status %d, with a header of %d bytes", told, w.code, head)
		}
		hints[strings.Contains(strings.Join(w.header.Values("Set-Cookie"), "\n"), "mayfly_openid_hint=ey")]++
	}
	if hints[true] < 8 || hints[false] == 0 {
		t.Errorf("the hint was kept for %d sign-ins, and not for %d", hints[true], hints[false])
	}
}

// balanced returns an address that distributes requests to servers in turn.
func balanced(t *testing.T, servers ...string) string {
	t.Helper()
	var n atomic.Int64
	b := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		at, err := url.Parse(servers[int(n.Add(1))%len(servers)])
		if err != nil {
			t.Error(err)
		}
		r.SetURL(at)
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(b.Close)
	return b.URL
}

// TestSignsOutAtAnyServer checks that a user who has signed in at one of several servers can
// sign out at any, and is redirected to the provider's sign-out, even from a server that has
// never contacted the provider. If the provider does not respond, the user is signed out here
// and informed. It does not matter which servers handle requests in between.
func TestSignsOutAtAnyServer(t *testing.T) {
	provider := oidctest.Start(t, "http://127.0.0.1"+oidc.CallbackPath) // at any port
	team := map[string]any{"roles": []string{"team"}}
	provider.Is(oidctest.Trouble{Claims: team})
	c := server.Config{Store: mongotest.URL(t), OIDC: &oidc.Config{
		Issuer: provider.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Title: "the company", Roles: []oidc.Rule{{Value: "team", Role: auth.Operator}},
	}}
	first := StartStandby(t, c).Next(server.StateReady).Dashboard
	var others []string
	for range 3 {
		others = append(others, StartStandby(t, c).Next(server.StateStandby).Dashboard)
	}
	for _, at := range others {
		Eventually(t, "the server at "+at+" knows what it shares with the first", func() bool {
			return strings.Contains(surfing(t).goes(http.MethodGet, at+"/readyz", nil).text, "are forwarded")
		})
	}
	signsInAt := func(at string) *surfer {
		t.Helper()
		ana := surfing(t)
		to := ana.goes(http.MethodGet, at+oidc.SignInPath, nil).header.Get("Location")
		if w := ana.goes(http.MethodGet, provider.SignIn(to, "ana"), nil); w.header.Get("Location") != "/" {
			t.Fatal(w)
		}
		return ana
	}
	signsIn := func() *surfer { return signsInAt(first) }
	signsOut := func(ana *surfer, at string) (to, said string) {
		t.Helper()
		page := ana.goes(http.MethodGet, at+"/n/default/queues", nil).text
		token := FormToken.FindStringSubmatch(page)
		if token == nil {
			t.Fatalf("the user is not signed in at %s: %s", at, page)
		}
		w := ana.goes(http.MethodPost, at+"/logout", url.Values{"csrf": {token[1]}})
		said = ana.goes(http.MethodGet, at+"/login", nil).text
		if w := ana.goes(http.MethodGet, at+"/n/default/queues", nil); w.code != http.StatusSeeOther {
			t.Errorf("the user has signed out, but queues are answered with %d", w.code)
		}
		return strings.TrimPrefix(w.header.Get("Refresh"), "0; url=") + w.header.Get("Location"), said
	}
	for name, at := range map[string]string{"where she signed in": first, "at another": others[0]} {
		to, _ := signsOut(signsIn(), at)
		text := surfing(t).goes(http.MethodGet, to, nil).text
		if !strings.Contains(text, "id-ana") || !strings.Contains(text, `href="`+at+oidc.CallbackPath+`?state=signed-out"`) {
			t.Errorf("%s: %s returned %s", name, to, text)
		}
	}
	at := balanced(t, first, others[0])
	to, _ := signsOut(signsInAt(at), at)
	if text := surfing(t).goes(http.MethodGet, to, nil).text; !strings.Contains(text, "id-ana") || !strings.Contains(text, at+oidc.CallbackPath) {
		t.Errorf("with servers in turn: %s returned %s", to, text)
	}
	forgets := signsIn()
	forgets.Jar.SetCookies(&url.URL{Scheme: "http", Host: "127.0.0.1", Path: "/logout"}, []*http.Cookie{{Name: "mayfly_openid_hint", Path: "/logout", MaxAge: -1}})
	to, _ = signsOut(forgets, others[1])
	if text := surfing(t).goes(http.MethodGet, to, nil).text; !strings.Contains(text, "Who are you?") || !strings.Contains(text, others[1]+oidc.CallbackPath) {
		t.Errorf("without a hint: %s returned %s", to, text)
	}
	alone := signsIn()
	provider.Is(oidctest.Trouble{Down: true})
	if to, said := signsOut(alone, others[2]); to != "/login" || !strings.Contains(said, "You are signed out here. the company does not answer") {
		t.Errorf("the provider is down: redirected to %s, with the notice %s", to, said)
	}
}

// TestTriesWithAProvider checks that failed sign-ins with a provider are limited as those with a
// password, and that successful ones do not count.
func TestTriesWithAProvider(t *testing.T) {
	provider := oidctest.Start(t, "http://mayfly.localhost"+oidc.CallbackPath)
	provider.Is(oidctest.Trouble{Claims: map[string]any{"roles": []string{"team"}}})
	var log bytes.Buffer
	s := Start(t, server.Config{Store: "memory:", Advertise: "http://mayfly.localhost", Logger: slog.New(slog.NewTextHandler(&log, nil)), OIDC: &oidc.Config{
		Issuer: provider.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Roles: []oidc.Rule{{Value: "team", Role: auth.Operator}},
	}})
	see := func(jar *CookieJar, at string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Dashboard+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range jar.All {
			r.AddCookie(c)
		}
		w, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if jar.All = append(jar.All, w.Cookies()...); w.StatusCode == http.StatusTooManyRequests {
			return w.StatusCode, w.Header.Get("Retry-After")
		}
		return w.StatusCode, w.Header.Get("Location")
	}
	for i := range 15 { // they would be thirty tries if they counted
		jar := &CookieJar{}
		_, to := see(jar, oidc.SignInPath+"?led=")
		if code, to := see(jar, strings.TrimPrefix(provider.SignIn(to, "ana"), "http://mayfly.localhost")); code != 303 || to != "/" {
			t.Fatal(i, code, to)
		}
	}
	refused := 0
	for range 40 {
		if code, after := see(&CookieJar{}, oidc.CallbackPath+"?state=x&code=y"); code == http.StatusTooManyRequests && after != "" {
			refused++
		}
	}
	if code, _ := see(&CookieJar{}, oidc.SignInPath+"?led="); refused < 5 || code != http.StatusTooManyRequests {
		t.Errorf("%d of 40 are refused, and a new sign-in is answered with %d", refused, code)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "sign-in failed"); n == 0 || n > 20 {
		t.Errorf("the log reports it %d times", n)
	}
}

// TestProviderThatIsDown checks that the server starts, and that signing in reports the error.
func TestProviderThatIsDown(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", OIDC: &oidc.Config{Issuer: "http://127.0.0.1:1", ClientID: "x", Title: "the company", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}}})
	if code, text := Request(t, http.MethodGet, s.Dashboard+oidc.SignInPath, ""); code != 503 || !strings.Contains(text, "the company does not answer") {
		t.Error(code, text)
	}
	if code, text := Request(t, http.MethodGet, s.Dashboard+"/login", ""); code != 200 || strings.Contains(text, "password") {
		t.Error(code, text)
	}
}

func TestFlagsOfAProvider(t *testing.T) {
	for says, args := range map[string][]string{
		"require --oidc-issuer": {"--oidc-client", "x"},
		"the client ID":         {"--oidc-issuer", "https://login.example.com"},
		"no claim value":        {"--oidc-issuer", "https://login.example.com", "--oidc-client", "x"},
		"has no TLS":            {"--oidc-issuer", "http://login.example.com", "--oidc-client", "x", "--oidc-role", "*=viewer"},
		"VALUE=ROLE":            {"--oidc-issuer", "https://login.example.com", "--oidc-client", "x", "--oidc-role", "viewer"},
		"--oidc-secret: open":   {"--oidc-issuer", "https://login.example.com", "--oidc-client", "x", "--oidc-role", "*=viewer", "--oidc-secret", "@/nowhere/to/be/found"},
	} {
		if out, complaint, code := RunCommand(t, "", append([]string{"serve", "--store", "memory:"}, args...)...); code != 2 || !strings.Contains(complaint, says) {
			t.Errorf("%q: %d %q %q", args, code, out, complaint)
		}
	}
}
