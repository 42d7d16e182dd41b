package oidc_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mayfly/web/oidc/oidctest"
)

// TestEnd: who signs out is led to where the provider has that be done, which knows by
// the hint who that is, and leads back.
func TestEnd(t *testing.T) {
	w := start(t)
	if at := w.ours.End("hint", redirect); at != "" {
		t.Errorf("before anybody has asked the provider it is at %s", at)
	}
	who, err := w.through("ana", oidctest.Trouble{Claims: map[string]any{"roles": "team"}})
	if err != nil {
		t.Fatal(err)
	}
	see := func(at string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	if code, text := see(w.ours.End(who.Hint, redirect)); code != 200 || !strings.Contains(text, "id-ana") || !strings.Contains(text, `href="`+redirect+`?state=signed-out"`) {
		t.Errorf("%d %s", code, text)
	}
	for name, at := range map[string]string{
		"another's hint": w.ours.End(strings.Replace(who.Hint, ".", ".e30", 1), redirect), "a stranger's address": w.ours.End(who.Hint, "http://example.com/login/openid/back"),
	} {
		if code, text := see(at); code != 400 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	// A large one would not be taken in an address.
	at, err := url.Parse(w.ours.End(strings.Repeat("x", 5000), redirect))
	if err != nil || at.Query().Has("id_token_hint") || at.Query().Get("client_id") != oidctest.Client {
		t.Error(at, err)
	}
}

// TestNoEnd: a provider that has nowhere to sign out is not asked to.
func TestNoEnd(t *testing.T) {
	w := start(t)
	who, err := w.through("ana", oidctest.Trouble{Claims: map[string]any{"roles": "team"}, NoEnd: true})
	if at := w.ours.End(who.Hint, redirect); err != nil || at != "" {
		t.Errorf("%s, %v", at, err)
	}
}
