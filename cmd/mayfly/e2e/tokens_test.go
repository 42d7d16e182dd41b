package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
)

func TestTokensOnTheCommandLine(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	says := func(code int, want string, args ...string) string {
		t.Helper()
		out, complaint, got := RunCommand(t, "", append(args, "--server", s.Dashboard)...)
		if got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("%q: %d %q %q; want %d %q", args, got, out, complaint, code, want)
		}
		return strings.TrimSpace(out)
	}
	secret := says(0, "operator, valid until it is revoked. It is shown only once:", "tokens", "create", "ci", "--role", "operator")
	viewer := says(0, "mft_", "tokens", "create", "looker", "--role", "viewer", "--expires-in", "1h")
	id := strings.Split(secret, "_")[1]
	if strings.ContainsAny(secret, " \n") {
		t.Fatalf("standard output has more than the token: %q", secret)
	}
	says(0, "Sent 1 message", "send", "orders", "hello", "--create") // an open server needs no token
	says(0, "hello", "peek", "orders", "--token", viewer)
	says(4, "This requires the role operator; yours is viewer.", "send", "orders", "hello", "--token", viewer)
	says(0, "Sent 1 message", "send", "orders", "hello", "--token", secret)
	says(4, "This requires the role admin; yours is operator.", "entities", "delete", "orders", "--yes", "--token", secret)
	says(4, "with the role operator", "tokens", "create", "more", "--role", "operator", "--token", viewer)
	says(4, "The token does not exist or was revoked", "peek", "orders", "--token", "mft_wrong")

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
		if out, complaint, code := RunCommand(t, "", "peek", "orders", "--server", s.Dashboard, "--token", wrong); code != 2 || strings.Contains(out+complaint, "secret") {
			t.Errorf("%d %q %q", code, out, complaint)
		}
	}

	says(0, "ci", "tokens")
	says(0, `"kind":"token"`, "tokens", "--json")
	says(0, "looker", "tokens", "--token", viewer)
	if all := says(0, "", "tokens", "--token", viewer); strings.Contains(all, " ci ") {
		t.Errorf("a viewer sees all tokens: %s", all)
	}
	link := says(0, "to the namespace default, valid until ", "tokens", "link", "demo", "--page", "/n/default/queues", "--expires-in", "2h")
	if !strings.HasPrefix(link, s.Dashboard+"/l/mfl_") {
		t.Errorf("the link is %q", link)
	}
	says(4, "A link must open a page of its namespace", "tokens", "link", "demo", "--page", "https://example.com")
	says(4, "at most 100 characters", "tokens", "create", strings.Repeat("x", 101), "--role", "viewer")
	says(4, "The namespace 'till' does not exist", "tokens", "create", "x", "--role", "viewer", "--only-namespace", "till")
	says(4, "The lifetime of a token must be from a minute to 3650 days.", "tokens", "create", "x", "--role", "viewer", "--expires-in", "1s")
	says(3, "The token or link does not exist.", "tokens", "revoke", id, "--token", viewer)
	says(0, "Revoked the token ci.", "tokens", "revoke", id)
	says(3, "The token or link does not exist.", "tokens", "revoke", id)
	says(4, "was revoked", "peek", "orders", "--token", secret)
	told := s.MustRequest(t, 200, "GET", s.API+"/activity", "", "")
	for _, said := range []string{`"kind":"token-created","group":"access","audited":true`, `"kind":"token-revoked","group":"access"`, `"reason":"ci (operator)"`, `"kind":"link-created","group":"access"`, `"reason":"demo (/n/default/queues)"`} {
		if !strings.Contains(told, said) {
			t.Errorf("the activity lacks %s: %s", said, told)
		}
	}
}

// TestRevokedAsItWaits checks that a receive that waits for messages ends with an error when its
// token is revoked.
func TestRevokedAsItWaits(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	out, _, _ := RunCommand(t, "", "tokens", "create", "ci", "--role", "operator", "--server", s.Dashboard)
	secret := strings.TrimSpace(out)
	s.MustRequest(t, 201, "POST", s.API+"/entities", "", `{"kind":"queue","path":"orders"}`)
	ended := make(chan string, 1)
	go func() {
		_, complaint, code := RunCommand(t, "", "receive", "orders", "--wait", "5m", "--server", s.Dashboard, "--token", secret)
		ended <- fmt.Sprint(code, " ", complaint)
	}()
	select {
	case is := <-ended:
		t.Fatal("the receiver does not wait:", is)
	case <-time.After(300 * time.Millisecond):
	}
	s.MustRequest(t, 200, "DELETE", s.API+"/tokens/"+strings.Split(secret, "_")[1], "", "")
	select {
	case is := <-ended:
		if !strings.HasPrefix(is, "4 ") {
			t.Error(is)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the receiver still waits")
	}
}

// TestTokensOfAWayThatIsGone checks that users whose way of signing in no longer exists have no
// role, nor have their tokens; they have one again once the way exists again, and on a server
// without sign-in.
func TestTokensOfAWayThatIsGone(t *testing.T) {
	c := server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db")}
	passwords, provider := c, c
	passwords.Auth = UsersFile(t)
	provider.OIDC = &oidc.Config{Issuer: "http://127.0.0.1:1", ClientID: "x", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}}

	s := Start(t, passwords)
	jar := &CookieJar{}
	_, page := jar.Get(t, s.Dashboard+"/login")
	_, form, ok := strings.Cut(page, `name="csrf" value="`)
	if !ok {
		t.Fatalf("there is no form in %.2000s", page)
	}
	token, _, _ := strings.Cut(form, `"`)
	if code, text := jar.Post(t, s.Dashboard+"/login", url.Values{"csrf": {token}, "user": {"ana"}, "password": {"password of ana"}}); code != http.StatusSeeOther {
		t.Fatal(code, text)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.API+"/tokens", strings.NewReader(`{"name":"ci","role":"admin"}`))
	if err != nil {
		t.Fatal(err)
	}
	var made api.Token
	if code, text := jar.Do(t, r); code != http.StatusCreated || json.Unmarshal([]byte(text), &made) != nil {
		t.Fatal(code, text)
	}
	for _, tc := range []struct {
		name string
		with server.Config
		code int
	}{{"as it was", passwords, 200}, {"a provider alone", provider, 401}, {"as it was, again", passwords, 200}, {"nobody is asked", c, 200}} {
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		s = Start(t, tc.with)
		if code, text := s.RequestHost(t, "GET", s.API+"/namespaces", "", "", "Authorization", "Bearer "+made.Secret); code != tc.code {
			t.Errorf("%s: %d %s", tc.name, code, text)
		}
	}
}

// TestTokensOfANamespaceThatWas checks that tokens for a deleted namespace do not work for a new
// one of that name.
func TestTokensOfANamespaceThatWas(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	var made api.Token
	if err := json.Unmarshal([]byte(s.MustRequest(t, 201, "POST", s.API+"/tokens", "", `{"name":"ci","role":"viewer","namespace":"shop"}`)), &made); err != nil {
		t.Fatal(err)
	}
	sees := func(want int) {
		t.Helper()
		s.MustRequest(t, want, "GET", s.Dashboard+"/api/v1/n/shop/entities", "", "", "Authorization", "Bearer "+made.Secret)
	}
	sees(200)
	s.MustRequest(t, 200, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	sees(401)
}
