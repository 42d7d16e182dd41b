package e2e

import (
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/server"
)

// TestSharingOutlivesTheServer checks that a presenter can still revoke a shared link after
// the server has restarted.
func TestSharingOutlivesTheServer(t *testing.T) {
	c := server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "mayfly.db"), Auth: UsersFile(t)}
	s := Start(t, c)
	ana := s.SignIn(t, "ana")
	const share = "/n/default/share"
	_, text := ana.Submit(t, s.Dashboard, share, url.Values{"name": {"Ana"}, "at": {s.Dashboard}, "for": {"4h0m0s"}})
	path := regexp.MustCompile(`/l/mfl_\w+`).FindString(text)
	if path == "" {
		t.Fatalf("shared: %.3000s", text)
	}
	bob := Credentials{Jar: &CookieJar{}}
	if code, text := bob.Request(t, http.MethodGet, s.Dashboard+path, ""); code != http.StatusSeeOther {
		t.Fatal(code, text)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	s = Start(t, c)
	const stop, unknown = `action="/n/default/share/stop"`, "cannot be shown again"
	shows := func(who *CookieJar, when string, stops bool) {
		t.Helper()
		if _, text := who.Get(t, s.Dashboard+share); strings.Contains(text, stop) != stops || strings.Contains(text, unknown) != stops {
			t.Errorf("%s: %.5000s", when, text)
		}
	}
	looks := func(when string, want int) {
		t.Helper()
		if code, text := bob.Request(t, http.MethodGet, s.Dashboard+"/n/default", ""); code != want {
			t.Errorf("%s the audience is answered with %d: %.300s", when, code, text)
		}
	}
	looks("after a restart", http.StatusOK)
	again := s.SignIn(t, "ana")
	shows(again, "another browser of hers", false)
	for _, c := range ana.All {
		if strings.HasPrefix(c.Name, "mayfly_talk") {
			again.All = append(again.All, c)
		}
	}
	shows(again, "after a restart", true)
	_, text = again.Get(t, s.Dashboard+share)
	token := FormToken.FindStringSubmatch(text)
	if token == nil {
		t.Fatal("there is no form")
	}
	if code, text := again.Post(t, s.Dashboard+share+"/stop", url.Values{"csrf": {token[1]}}); code != http.StatusOK {
		t.Error(code, text)
	}
	looks("taken back,", http.StatusUnauthorized)
	shows(again, "taken back", false)
}
