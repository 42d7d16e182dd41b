package main

import (
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSharingOutlivesTheServer: who has shared pages, and finds the server started anew,
// can take the link back that others still follow by.
func TestSharingOutlivesTheServer(t *testing.T) {
	c := Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "mayfly.db"), Auth: usersFile(t)}
	s := serving(t, c)
	ana := s.signedIn(t, "ana")
	const share = "/n/default/share"
	_, text := ana.submit(t, s.Dashboard, share, url.Values{"name": {"Ana"}, "at": {s.Dashboard}, "for": {"4h0m0s"}})
	path := regexp.MustCompile(`/l/mfl_\w+`).FindString(text)
	if path == "" {
		t.Fatalf("shared: %.3000s", text)
	}
	bob := asker{jar: &cookies{}}
	if code, text := bob.asks(t, http.MethodGet, s.Dashboard+path, ""); code != http.StatusSeeOther {
		t.Fatal(code, text)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}

	s = serving(t, c)
	const stop, unknown = `action="/n/default/share/stop"`, "cannot be shown again"
	shows := func(who *cookies, when string, stops bool) {
		t.Helper()
		if _, text := who.get(t, s.Dashboard+share); strings.Contains(text, stop) != stops || strings.Contains(text, unknown) != stops {
			t.Errorf("%s: %.5000s", when, text)
		}
	}
	looks := func(when string, want int) {
		t.Helper()
		if code, text := bob.asks(t, http.MethodGet, s.Dashboard+"/n/default", ""); code != want {
			t.Errorf("%s the audience is answered with %d: %.300s", when, code, text)
		}
	}
	looks("after a restart", http.StatusOK)
	again := s.signedIn(t, "ana")
	shows(again, "another browser of hers", false)
	for _, c := range ana.all {
		if strings.HasPrefix(c.Name, "mayfly_talk") {
			again.all = append(again.all, c)
		}
	}
	shows(again, "after a restart", true)
	_, text = again.get(t, s.Dashboard+share)
	token := formToken.FindStringSubmatch(text)
	if token == nil {
		t.Fatal("there is no form")
	}
	if code, text := again.post(t, s.Dashboard+share+"/stop", url.Values{"csrf": {token[1]}}); code != http.StatusOK {
		t.Error(code, text)
	}
	looks("taken back,", http.StatusUnauthorized)
	shows(again, "taken back", false)
}
