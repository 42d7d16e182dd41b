package oidc_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
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
	"time"

	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/oidc/oidctest"
)

const (
	host     = "mayfly.localhost:8080"
	redirect = "http://" + host + "/login/openid/back"
)

// A world is a user's browser between Mayfly and a provider.
type world struct {
	*testing.T
	theirs *oidctest.Provider
	c      oidc.Config
	ours   *oidc.Provider
	jar    []*http.Cookie
}

func start(t *testing.T, change ...func(*oidc.Config)) *world {
	t.Helper()
	w := &world{T: t, theirs: oidctest.Start(t, redirect)}
	c := oidc.Config{
		Issuer: w.theirs.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Logger: slog.New(slog.DiscardHandler),
		Roles: []oidc.Rule{{Value: "team", Role: auth.Operator}, {Value: "ops", Role: auth.Admin}, {Value: "staff", Role: auth.Viewer}},
	}
	for _, f := range change {
		f(&c)
	}
	w.c = c
	w.again()
	return w
}

func (w *world) visit(at string) (*http.Request, *httptest.ResponseRecorder) {
	r := httptest.NewRequestWithContext(context.Background(), "GET", at, nil)
	for _, c := range w.jar {
		r.AddCookie(c)
	}
	return r, httptest.NewRecorder()
}

// keep stores the cookies of an answer in the browser.
func (w *world) keep(answer *httptest.ResponseRecorder) {
	for _, c := range answer.Result().Cookies() {
		w.jar = nil // the browser has one cookie at most
		if c.MaxAge >= 0 {
			w.jar = append(w.jar, c)
		}
	}
}

// begin returns where a user is sent to sign in.
func (w *world) begin() string {
	w.Helper()
	r, answer := w.visit("http://" + host + "/login/openid")
	to, err := w.ours.Begin(answer, r, redirect, "/n/default/queues")
	if err != nil {
		w.Fatal(err)
	}
	w.keep(answer)
	return to
}

// finish returns the user of a browser that comes back from the provider.
func (w *world) finish(back string) (oidc.User, error) {
	r, answer := w.visit(back)
	user, err := w.ours.Finish(answer, r)
	w.keep(answer)
	return user, err
}

// through signs `user` in while the provider behaves as t says, and returns the result of Finish.
func (w *world) through(user string, t oidctest.Trouble) (oidc.User, error) {
	w.Helper()
	w.theirs.Is(t)
	return w.finish(w.theirs.SignIn(w.begin(), user))
}

// TestBegunAtAnother: a sign-in that began at one server finishes at another that has the key,
// and at no other.
func TestBegunAtAnother(t *testing.T) {
	w := start(t)
	w.theirs.Is(oidctest.Trouble{Claims: map[string]any{"roles": "team"}})
	for key, want := range map[byte]error{7: nil, 8: oidc.ErrState} {
		w.ours.ShareKey([32]byte{7})
		back := w.theirs.SignIn(w.begin(), "ana")
		w.again()
		w.ours.ShareKey([32]byte{key})
		if user, err := w.finish(back); !errors.Is(err, want) || user.Name == "ana" != (want == nil) {
			t.Errorf("at a server with the key %d: %+v, %v", key, user, err)
		}
	}
}

func TestSignIn(t *testing.T) {
	w := start(t)
	for name, tc := range map[string]struct {
		claims map[string]any
		want   oidc.User
		err    error
	}{
		"one value":        {map[string]any{"roles": "team"}, oidc.User{Name: "ana", Role: auth.Operator}, nil},
		"the highest":      {map[string]any{"roles": []string{"staff", "ops", "team"}}, oidc.User{Name: "ana", Role: auth.Admin}, nil},
		"others beside it": {map[string]any{"roles": []any{"x", 7, nil, "staff"}}, oidc.User{Name: "ana", Role: auth.Viewer}, nil},
		"unknown ones":     {map[string]any{"roles": []string{"admin", "TEAM", "*"}}, oidc.User{}, oidc.ErrNoRole},
		"none":             {nil, oidc.User{}, oidc.ErrNoRole},
		"no list":          {map[string]any{"roles": map[string]any{"team": true}}, oidc.User{}, oidc.ErrNoRole},
		"an email":         {map[string]any{"roles": "team", "preferred_username": nil, "email": "ana@example.com"}, oidc.User{Name: "ana@example.com", Role: auth.Operator}, nil},
		"a subject":        {map[string]any{"roles": "team", "preferred_username": 5}, oidc.User{Name: "id-ana", Role: auth.Operator}, nil},
		"a hostile name":   {map[string]any{"roles": "team", "preferred_username": "a\u202e\x00\n<b>" + strings.Repeat("é", 200)}, oidc.User{Name: "a<b>" + strings.Repeat("é", 96), Role: auth.Operator}, nil},
	} {
		user, err := w.through("ana", oidctest.Trouble{Claims: tc.claims})
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v", name, err)
		}
		if tc.err != nil {
			continue
		}
		if user.Hint == "" {
			t.Errorf("%s: there is no hint for a sign-out", name)
		}
		tc.want.Subject = w.theirs.Issuer + " id-ana"
		tc.want.ReturnTo, user.Hint = "/n/default/queues", ""
		if user != tc.want {
			t.Errorf("%s: %+v", name, user)
		}
	}
}

// TestOtherClaims: claims may be nested, and have addresses as names; and * matches every
// user.
func TestOtherClaims(t *testing.T) {
	for claim, claims := range map[string]map[string]any{
		"realm_access.roles":        {"realm_access": map[string]any{"roles": []string{"team"}}},
		"https://example.com/roles": {"https://example.com/roles": []string{"team"}},
		"groups":                    {"groups": []string{"team"}},
	} {
		w := start(t, func(c *oidc.Config) { c.RoleClaim, c.NameClaim = claim, "nick" })
		claims["nick"] = "nan"
		if user, err := w.through("ana", oidctest.Trouble{Claims: claims}); user.Role != auth.Operator || user.Name != "nan" || err != nil {
			t.Errorf("%s: %+v, %v", claim, user, err)
		}
		delete(claims, "nick")
		if _, err := w.through("ana", oidctest.Trouble{Claims: claims}); !errors.Is(err, oidc.ErrToken) {
			t.Errorf("without a name: %v", err)
		}
	}
	w := start(t, func(c *oidc.Config) { c.Roles = []oidc.Rule{{Value: "*", Role: auth.Viewer}} })
	if user, err := w.through("ana", oidctest.Trouble{}); user.Role != auth.Viewer || err != nil {
		t.Errorf("every user: %+v, %v", user, err)
	}
}

// TestUserInfo: roles that the ID token lacks are read from the provider's userinfo endpoint, whose
// answer must be about the same user.
func TestUserInfo(t *testing.T) {
	for name, tc := range map[string]struct {
		info map[string]any
		err  error
	}{
		"told there":       {map[string]any{"roles": []string{"team"}, "preferred_username": "not this"}, nil},
		"of somebody else": {map[string]any{"roles": []string{"team"}, "sub": "id-eva"}, oidc.ErrToken},
		"nothing there":    {map[string]any{"x": 1}, oidc.ErrNoRole},
	} {
		w := start(t)
		user, err := w.through("ana", oidctest.Trouble{Info: tc.info})
		if !errors.Is(err, tc.err) || err == nil && (user.Role != auth.Operator || user.Name != "ana") {
			t.Errorf("%s: %+v, %v", name, user, err)
		}
	}
}

// TestTokensThatCannotBeTrusted: all of these are refused.
func TestTokensThatCannotBeTrusted(t *testing.T) {
	now := time.Now().Unix()
	w := start(t)
	for name, is := range map[string]oidctest.Trouble{
		"another nonce":         {Claims: map[string]any{"nonce": "another"}},
		"no nonce":              {Claims: map[string]any{"nonce": nil}},
		"another audience":      {Claims: map[string]any{"aud": []string{"another"}}},
		"two audiences":         {Claims: map[string]any{"aud": []string{"mayfly", "another"}}},
		"of another client":     {Claims: map[string]any{"aud": []string{"mayfly", "another"}, "azp": "another"}},
		"another issuer":        {Claims: map[string]any{"iss": "https://example.com"}},
		"expired":               {Claims: map[string]any{"exp": now - 70}},
		"without an end":        {Claims: map[string]any{"exp": nil}},
		"not yet good":          {Claims: map[string]any{"nbf": now + 3600}},
		"of nobody":             {Claims: map[string]any{"sub": nil}},
		"signed by another key": {Stray: true},
	} {
		if is.Claims == nil {
			is.Claims = map[string]any{}
		}
		is.Claims["roles"] = "ops"
		if user, err := w.through("ana", is); !errors.Is(err, oidc.ErrToken) || user.Role != auth.None || user.Name != "" {
			t.Errorf("%s: %+v, %v", name, user, err)
		}
	}
	for name, claims := range map[string]map[string]any{
		"a clock that is behind": {"exp": now - 30},
		"an authorized party":    {"azp": "mayfly", "aud": []string{"mayfly", "another"}},
	} {
		claims["roles"] = "ops"
		if user, err := w.through("ana", oidctest.Trouble{Claims: claims}); user.Role != auth.Admin || err != nil {
			t.Errorf("%s: %+v, %v", name, user, err)
		}
	}
}

// TestState: a sign-in can be finished once, and only in the browser and at the server in which it
// began. Changed states and cookies are refused.
func TestState(t *testing.T) {
	w := start(t)
	w.theirs.Is(oidctest.Trouble{Claims: map[string]any{"roles": "ops"}})
	back := w.theirs.SignIn(w.begin(), "ana")
	jar := w.jar
	refuse := func(name, back string, jar ...*http.Cookie) {
		t.Helper()
		w.jar = jar
		if user, err := w.finish(back); !errors.Is(err, oidc.ErrState) {
			t.Errorf("%s: %+v, %v", name, user, err)
		}
	}
	refuse("another browser", back)
	w.begin()
	refuse("another sign-in of this one", back, w.jar...)
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for _, state := range []string{"", "x", q.Get("state") + "x"} {
		q.Set("state", state)
		refuse("the state "+state, redirect+"?"+q.Encode(), jar...)
	}
	forged := *jar[0]
	forged.Value = forged.Value[:len(forged.Value)-2] + "AA"
	refuse("a forged cookie", back, &forged)
	forged.Value = "AAAA"
	refuse("a short cookie", back, &forged)
	again, err := oidc.New(oidc.Config{Issuer: w.theirs.Issuer, ClientID: "x", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}})
	if err != nil {
		t.Fatal(err)
	}
	r, answer := w.visit(back)
	r.AddCookie(jar[0])
	if _, err := again.Finish(answer, r); !errors.Is(err, oidc.ErrState) {
		t.Error("after a restart:", err)
	}
	w.jar = jar
	if user, err := w.finish(back); user.Role != auth.Admin || err != nil {
		t.Fatal(user, err)
	}
	if len(w.jar) != 0 {
		t.Error("the cookie was not deleted", w.jar)
	}
	refuse("once more", back)
	w.jar = jar                               // an attacker has kept it
	w.theirs.Is(oidctest.Trouble{Down: true}) // the provider is not asked
	refuse("kept and used again", back, w.jar...)
}

// TestDenied: the provider's reason for a refusal is in the error.
func TestDenied(t *testing.T) {
	w := start(t)
	to := w.begin()
	state := mustQuery(t, to).Get("state")
	user, err := w.finish(redirect + "?" + url.Values{"state": {state}, "error": {"access_denied"}, "error_description": {"<b>No</b>"}}.Encode())
	if d, ok := errors.AsType[*oidc.Denial](err); !ok || d.Code != "access_denied" || d.Text != "<b>No</b>" || user.ReturnTo != "/n/default/queues" {
		t.Error(user, err)
	}
	for name, add := range map[string]url.Values{
		"no code": {}, "a large code": {"code": {strings.Repeat("x", 5000)}}, "a wrong code": {"code": {"ory_ac_x.y"}},
	} {
		add.Set("state", mustQuery(t, w.begin()).Get("state"))
		if user, err := w.finish(redirect + "?" + add.Encode()); !errors.Is(err, oidc.ErrDenied) || user.Role != auth.None {
			t.Errorf("%s: %v", name, err)
		}
	}
	add := url.Values{"state": {mustQuery(t, w.begin()).Get("state")}, "code": {"x"}, "iss": {"https://example.com"}}
	if _, err := w.finish(redirect + "?" + add.Encode()); !errors.Is(err, oidc.ErrToken) {
		t.Error("an answer of another provider:", err)
	}
}

func mustQuery(t *testing.T, at string) url.Values {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// TestAuthorizationRequest checks the authorization request and the cookie of a sign-in.
func TestAuthorizationRequest(t *testing.T) {
	w := start(t)
	q := mustQuery(t, w.begin())
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "mayfly", "redirect_uri": redirect, "scope": "openid profile email", "code_challenge_method": "S256",
	} {
		if q.Get(name) != want {
			t.Errorf("%s is %q", name, q.Get(name))
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if len(q.Get(name)) < 20 {
			t.Errorf("%s is %q", name, q.Get(name))
		}
	}
	c := w.jar[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 || strings.Contains(c.Value, q.Get("nonce")) {
		t.Errorf("the cookie is %s", c)
	}
	r, answer := w.visit("https://" + host + "/")
	r.TLS = &tls.ConnectionState{}
	if _, err := w.ours.Begin(answer, r, redirect, ""); err != nil || !answer.Result().Cookies()[0].Secure {
		t.Error("with TLS the cookie is not Secure", err)
	}
}

// TestSecretInHeader: the client sends its secret in the Authorization header if the provider
// requires that, and a wrong secret is refused.
func TestSecretInHeader(t *testing.T) {
	w := start(t)
	if user, err := w.through("ana", oidctest.Trouble{Basic: true, Claims: map[string]any{"roles": "ops"}}); user.Role != auth.Admin || err != nil {
		t.Error(user, err)
	}
	w = start(t, func(c *oidc.Config) { c.Secret = "wrong" })
	if user, err := w.through("ana", oidctest.Trouble{Claims: map[string]any{"roles": "ops"}}); !errors.Is(err, oidc.ErrDenied) {
		t.Error(user, err)
	}
}

// TestKeyRotation: users can sign in after the provider has replaced its signing key, several times
// in a row.
func TestKeyRotation(t *testing.T) {
	w := start(t)
	for range 3 {
		if user, err := w.through("ana", oidctest.Trouble{Rotate: true, Claims: map[string]any{"roles": "ops"}}); user.Role != auth.Admin || err != nil {
			t.Error(user, err)
		}
	}
}

// TestProviderIsDown: the error names the cause, and the provider is asked again, but not too
// often.
func TestProviderIsDown(t *testing.T) {
	w := start(t)
	fails := func(is oidctest.Trouble) {
		t.Helper()
		w.theirs.Is(is)
		r, answer := w.visit("http://" + host)
		if _, err := w.ours.Begin(answer, r, redirect, ""); !errors.Is(err, oidc.ErrUnavailable) {
			t.Errorf("%+v: %v", is, err)
		}
		if len(answer.Result().Cookies()) > 0 {
			t.Error("a sign-in began")
		}
	}
	fails(oidctest.Trouble{Down: true})
	fails(oidctest.Trouble{}) // the provider was just asked
	eventually(t, func() bool {
		r, answer := w.visit("http://" + host)
		_, err := w.ours.Begin(answer, r, redirect, "")
		return err == nil
	})
	// From now on the provider's document is known, even if the provider goes down.
	back := w.theirs.SignIn(w.begin(), "ana")
	w.theirs.Is(oidctest.Trouble{Down: true})
	if _, err := w.finish(back); !errors.Is(err, oidc.ErrUnavailable) {
		t.Error("the exchange of the code:", err)
	}
	for name, is := range map[string]oidctest.Trouble{"huge": {Huge: true}, "another": {Issuer: "https://example.com"}} {
		w = start(t)
		t.Log(name)
		fails(is)
	}
}

// eventually waits for a condition that takes a second of real time at most.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	each := time.NewTicker(50 * time.Millisecond)
	defer each.Stop()
	for end := time.After(20 * time.Second); !is(); {
		select {
		case <-each.C:
		case <-end:
			t.Fatal("the condition was not met in time")
		}
	}
}

// TestUnresponsiveProvider: a provider that does not answer delays a request only briefly, and
// redirects to other hosts are not followed.
func TestUnresponsiveProvider(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	secrets := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		secrets <- fmt.Sprint(string(raw), err)
	}))
	defer elsewhere.Close()
	leads := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer leads.Close()
	round := httptest.NewServer(http.RedirectHandler("/", http.StatusFound))
	defer round.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, issuer := range map[string]string{"nobody": gone.URL, "elsewhere": leads.URL, "round": round.URL} {
		p, err := oidc.New(oidc.Config{Issuer: issuer, ClientID: "x", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		if _, err := p.Begin(httptest.NewRecorder(), r, redirect, ""); !errors.Is(err, oidc.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(secrets) > 0 {
		t.Error("a redirect was followed")
	}
}

// TestAddressesOfTheDocument: no address may be less safe than the issuer's.
func TestAddressesOfTheDocument(t *testing.T) {
	for name, tc := range map[string]struct {
		claim, at string
		err       error
	}{
		"as it should be":              {"jwks_uri", "https://keys.example/keys", nil},
		"without userinfo":             {"userinfo_endpoint", "", nil},
		"people sent without TLS":      {"authorization_endpoint", "http://login.example/authorize", oidc.ErrUnavailable},
		"codes without TLS":            {"token_endpoint", "http://login.example/token", oidc.ErrUnavailable},
		"keys without TLS":             {"jwks_uri", "http://login.example/keys", oidc.ErrUnavailable},
		"no keys":                      {"jwks_uri", "", oidc.ErrUnavailable},
		"userinfo without TLS":         {"userinfo_endpoint", "http://login.example/userinfo", oidc.ErrUnavailable},
		"keys at an address of a file": {"jwks_uri", "file:///etc/keys", oidc.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			theirs := httptest.NewTLSServer(mux)
			defer theirs.Close()
			mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
				d := map[string]string{
					"issuer": theirs.URL, "authorization_endpoint": "https://login.example/authorize", "token_endpoint": "https://login.example/token",
					"jwks_uri": "https://login.example/keys", "userinfo_endpoint": "https://login.example/userinfo",
				}
				if d[tc.claim] = tc.at; tc.at == "" {
					delete(d, tc.claim)
				}
				w.Header().Set("Content-Type", "application/json")
				if err := json.NewEncoder(w).Encode(d); err != nil {
					t.Error(err)
				}
			})
			p, err := oidc.New(oidc.Config{
				Issuer: theirs.URL, ClientID: "x", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}, Transport: theirs.Client().Transport, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			if _, err := p.Begin(httptest.NewRecorder(), r, redirect, ""); !errors.Is(err, tc.err) {
				t.Error(err)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	good := oidc.Config{Issuer: "https://login.example.com/realms/x", ClientID: "mayfly", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}}
	if p, err := oidc.New(good); err != nil || p.Title() != "login.example.com" {
		t.Error(err)
	}
	for name, change := range map[string]func(*oidc.Config){
		"no issuer": func(c *oidc.Config) { c.Issuer = "" }, "no URL": func(c *oidc.Config) { c.Issuer = "login.example.com" },
		"another scheme": func(c *oidc.Config) { c.Issuer = "file:///x" }, "a query": func(c *oidc.Config) { c.Issuer += "?a=b" },
		"without TLS": func(c *oidc.Config) { c.Issuer = "http://login.example.com" }, "no client": func(c *oidc.Config) { c.ClientID = "" },
		"no roles": func(c *oidc.Config) { c.Roles = nil },
	} {
		c := good
		if change(&c); true {
			if _, err := oidc.New(c); err == nil {
				t.Errorf("%s: the configuration was accepted", name)
			}
		}
	}
	plain := good
	plain.Issuer, plain.Insecure = "http://login.example.com", true
	if _, err := oidc.New(plain); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]oidc.Rule{
		"a=admin": {"a", auth.Admin}, "cn=ops,dc=x=operator": {"cn=ops,dc=x", auth.Operator}, "*=viewer": {"*", auth.Viewer},
		"=admin": {}, "a": {}, "a=root": {}, "a=": {}, "a=none": {},
	} {
		if r, err := oidc.ParseRule(text); (err != nil) != (want == oidc.Rule{}) || err == nil && r != want {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}
