package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mayfly/web/api"
	"mayfly/web/identity"
	"mayfly/web/oidc"
	"mayfly/web/users"
)

func TestTokensOnTheCommandLine(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	says := func(code int, want string, args ...string) string {
		t.Helper()
		out, complaint, got := typed(t, "", append(args, "--server", s.Dashboard)...)
		if got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("%q: %d %q %q; want %d %q", args, got, out, complaint, code, want)
		}
		return strings.TrimSpace(out)
	}
	secret := says(0, "operator, good until it is revoked. It is told this once:", "tokens", "create", "ci", "--role", "operator")
	viewer := says(0, "mft_", "tokens", "create", "looker", "--role", "viewer", "--for", "1h")
	id := strings.Split(secret, "_")[1]
	if strings.ContainsAny(secret, " \n") {
		t.Fatalf("standard output has more than the token: %q", secret)
	}
	says(0, "Sent 1 message", "send", "orders", "hello", "--create") // an open server asks nobody
	says(0, "hello", "peek", "orders", "--token", viewer)
	says(4, "This is for the role operator; yours is viewer.", "send", "orders", "hello", "--token", viewer)
	says(0, "Sent 1 message", "send", "orders", "hello", "--token", secret)
	says(4, "This is for the role admin; yours is operator.", "entities", "delete", "orders", "--yes", "--token", secret)
	says(4, "cannot be operator", "tokens", "create", "more", "--role", "operator", "--token", viewer)
	says(4, "The token is not known here", "peek", "orders", "--token", "mft_wrong")

	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(viewer+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(0, "hello", "peek", "orders", "--token", "@"+file)
	says(2, "--token: ", "peek", "orders", "--token", "@"+file+".not")
	if err := os.WriteFile(file, []byte(strings.Repeat("x", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	says(2, "has no token", "peek", "orders", "--token", "@"+file)
	for _, wrong := range []string{"my secret", "secret\x01", strings.Repeat("secret", 1000)} {
		if out, complaint, code := typed(t, "", "peek", "orders", "--server", s.Dashboard, "--token", wrong); code != 2 || strings.Contains(out+complaint, "secret") {
			t.Errorf("%d %q %q", code, out, complaint)
		}
	}

	says(0, "ci", "tokens")
	says(0, `"kind":"token"`, "tokens", "--json")
	says(0, "looker", "tokens", "--token", viewer)
	if all := says(0, "", "tokens", "--token", viewer); strings.Contains(all, " ci ") {
		t.Errorf("a viewer is told of all: %s", all)
	}
	link := says(0, "to the namespace default, good until ", "tokens", "link", "demo", "--page", "/n/default/queues", "--for", "2h")
	if !strings.HasPrefix(link, s.Dashboard+"/l/mfl_") {
		t.Errorf("the link is %q", link)
	}
	says(4, "A link leads to a page of its namespace", "tokens", "link", "demo", "--page", "https://example.com")
	says(4, "up to 100 characters", "tokens", "create", strings.Repeat("x", 101), "--role", "viewer")
	says(4, "There is no namespace 'till'", "tokens", "create", "x", "--role", "viewer", "--within", "till")
	says(4, "A token is good for a minute to 3650 days.", "tokens", "create", "x", "--role", "viewer", "--for", "1s")
	says(3, "There is no such token or link.", "tokens", "revoke", id, "--token", viewer)
	says(0, "Revoked the token ci.", "tokens", "revoke", id)
	says(3, "There is no such token or link.", "tokens", "revoke", id)
	says(4, "was revoked", "peek", "orders", "--token", secret)
	told := s.must(t, 200, "GET", s.API+"/activity", "", "")
	for _, said := range []string{`"kind":"token-made","group":"access","audited":true`, `"kind":"token-revoked","group":"access"`, `"reason":"ci (operator)"`, `"kind":"link-made","group":"access"`, `"reason":"demo (/n/default/queues)"`} {
		if !strings.Contains(told, said) {
			t.Errorf("activity does not tell %s: %s", said, told)
		}
	}
}

// TestRevokedAsItWaits: what a token has begun ends when it is revoked.
func TestRevokedAsItWaits(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	out, _, _ := typed(t, "", "tokens", "create", "ci", "--role", "operator", "--server", s.Dashboard)
	secret := strings.TrimSpace(out)
	s.must(t, 201, "POST", s.API+"/entities", "", `{"kind":"queue","path":"orders"}`)
	ended := make(chan string, 1)
	go func() {
		_, complaint, code := typed(t, "", "receive", "orders", "--wait", "5m", "--server", s.Dashboard, "--token", secret)
		ended <- fmt.Sprint(code, " ", complaint)
	}()
	select {
	case is := <-ended:
		t.Fatal("it does not wait:", is)
	case <-time.After(300 * time.Millisecond):
	}
	s.must(t, 200, "DELETE", s.API+"/tokens/"+strings.Split(secret, "_")[1], "", "")
	select {
	case is := <-ended:
		if !strings.HasPrefix(is, "4 ") {
			t.Error(is)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it waits on")
	}
}

// TestTokensOfAWayThatIsGone: whoever signed in by a way that there is no longer has no
// role, and what they made gives none; it does again where there is that way, and where
// nobody is asked.
func TestTokensOfAWayThatIsGone(t *testing.T) {
	c := Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db")}
	passwords, provider := c, c
	passwords.Auth = usersFile(t)
	provider.OIDC = &oidc.Config{Issuer: "http://127.0.0.1:1", ClientID: "x", Roles: []oidc.Rule{{Value: "*", Role: identity.Viewer}}}

	s := serving(t, passwords)
	jar := &cookies{}
	_, page := jar.get(t, s.Dashboard+"/login")
	_, form, ok := strings.Cut(page, `name="csrf" value="`)
	if !ok {
		t.Fatalf("there is no form in %.2000s", page)
	}
	token, _, _ := strings.Cut(form, `"`)
	if code, text := jar.post(t, s.Dashboard+"/login", url.Values{"csrf": {token}, "user": {"ana"}, "password": {"password of ana"}}); code != http.StatusSeeOther {
		t.Fatal(code, text)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.API+"/tokens", strings.NewReader(`{"name":"ci","role":"admin"}`))
	if err != nil {
		t.Fatal(err)
	}
	var made api.Token
	if code, text := jar.do(t, r); code != http.StatusCreated || json.Unmarshal([]byte(text), &made) != nil {
		t.Fatal(code, text)
	}
	for _, tc := range []struct {
		name string
		with Config
		code int
	}{{"as it was", passwords, 200}, {"a provider alone", provider, 401}, {"as it was, again", passwords, 200}, {"nobody is asked", c, 200}} {
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
		s = serving(t, tc.with)
		if code, text := s.says(t, "GET", s.API+"/namespaces", "", "", "Authorization", "Bearer "+made.Secret); code != tc.code {
			t.Errorf("%s: %d %s", tc.name, code, text)
		}
	}
}

// TestTokensOfANamespaceThatWas: they are not good for the next one that is called so.
func TestTokensOfANamespaceThatWas(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	s.must(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	var made api.Token
	if err := json.Unmarshal([]byte(s.must(t, 201, "POST", s.API+"/tokens", "", `{"name":"ci","role":"viewer","namespace":"shop"}`)), &made); err != nil {
		t.Fatal(err)
	}
	sees := func(want int) {
		t.Helper()
		s.must(t, want, "GET", s.Dashboard+"/api/v1/n/shop/entities", "", "", "Authorization", "Bearer "+made.Secret)
	}
	sees(200)
	s.must(t, 200, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
	s.must(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	sees(401)
}

// TestWhoIsGone: whoever is not in the file any more, and nobody of whom that is not known.
func TestWhoIsGone(t *testing.T) {
	file, err := users.Open(usersFile(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		people people
		name   string
		way    identity.Way
		gone   bool
	}{
		"in the file":         {people{file: file}, "ANA", identity.Password, false},
		"not in the file":     {people{file: file}, "ben", identity.Password, true},
		"without a file":      {people{elsewhere: true}, "ben", identity.Password, false},
		"a provider's":        {people{file: file, elsewhere: true}, "ben", identity.OIDC, false},
		"of an open server's": {people{}, "", identity.Open, false},
	} {
		if got := tc.people.gone(tc.name, tc.way); got != tc.gone {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWhatAProviderCallsPeople: they choose it, and are not taken for others by it.
func TestWhatAProviderCallsPeople(t *testing.T) {
	file, err := users.Open(usersFile(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	alone, beside := people{elsewhere: true}, people{file: file, elsewhere: true}
	for name, want := range map[string][2]string{
		"ana":             {"ana", "ana (the company)"},
		"ana@example.com": {"ana@example.com", "ana@example.com (the company)"},
		"token ci of ana": {"token ci of ana (the company)", "token ci of ana (the company)"},
		"users file":      {"users file (the company)", "users file (the company)"},
	} {
		if got := [2]string{alone.called(name, "the company"), beside.called(name, "the company")}; got != want {
			t.Errorf("%s is called %q, want %q", name, got, want)
		}
	}
}
