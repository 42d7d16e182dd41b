package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mayfly/web/auth"
	"mayfly/web/auth/token"
)

var (
	ana = auth.Caller{Name: "ana", Role: auth.Admin, Method: auth.Password}
	ben = auth.Caller{Name: "ben", Role: auth.Operator, Method: auth.Password}
	eva = auth.Caller{Name: "eva", Role: auth.Viewer, Method: auth.Password}
)

// keyed returns the keys that an admin can list.
func (w *world) keyed() []token.Key {
	w.Helper()
	all, err := w.tokens.List(ana)
	w.must(err)
	return all
}

// identified returns the caller with a secret.
func (w *world) identified(secret string) (auth.Caller, error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	return w.tokens.Tokens().Identify(r)
}

// names returns the names of the keys in the list.
func (a answer) names() string {
	return strings.Join(a.Find(".passes td.name strong").Map(func(_ int, s *goquery.Selection) string { return s.Text() }), " ")
}

// TestTokenIsToldOnce: the page makes the requested token, and its secret is in one answer and
// nowhere else, also if the form is sent again.
func TestTokenIsToldOnce(t *testing.T) {
	within(t, func(w *world) {
		w.caller = ben
		w.see("/tokens").wants(http.StatusOK, "There are none", "You see your own")
		form := w.see("/tokens/new")
		if roles := form.Find("input[name=role]").Length(); roles != 2 {
			t.Errorf("an operator can choose %d roles", roles)
		}
		once, _ := form.Find("input[name=once]").Attr("value")
		typed := url.Values{"csrf": {w.token()}, "once": {once}, "name": {"ci"}, "role": {"operator"}, "namespace": {""}, "for": {"24h0m0s"}}
		made := w.send("/tokens/new", typed)
		made.wants(http.StatusOK, "The token ci is made")
		secret := made.Find(`[data-secret=token] [data-act=copy]`).AttrOr("data-text", "")
		if made.header.Get("Cache-Control") != "no-store" || made.Find("body").AttrOr("data-live", "") != "" {
			t.Error("the page with the secret may be cached, or is live")
		}
		if curl := made.Find(`.secret:not([data-secret]) [data-act=copy]`).AttrOr("data-text", ""); curl != "curl -H 'Authorization: Bearer "+secret+"' http://example.com/api/v1/entities" {
			t.Errorf("the line is %q", curl)
		}
		who, err := w.identified(secret)
		if err != nil || who.Role != auth.Operator || who.Namespace != "" || time.Until(who.Expires) != 24*time.Hour {
			t.Errorf("%+v, %v", who, err)
		}
		again := w.send("/tokens/new", typed)
		if again.status != http.StatusSeeOther || again.to != "/tokens" || len(w.keyed()) != 1 {
			t.Errorf("sent again: %d %s, and got %d tokens", again.status, again.to, len(w.keyed()))
		}
		list := w.see("/tokens")
		list.wants(http.StatusOK, "ci was made already")
		for _, at := range []string{"/tokens", "/tokens/new", "/tokens/" + w.keyed()[0].ID + "/revoke", "/n/default/activity?scope=all"} {
			if strings.Contains(w.see(at).text, secret[15:]) {
				t.Errorf("%s contains the secret", at)
			}
		}
		for name, fields := range map[string][]string{
			"above one's own role": {"name", "x", "role", "admin", "for", "24h0m0s"},
			"an unknown role":      {"name", "x", "role", "root", "for", "24h0m0s"},
			"no name":              {"name", " ", "role", "viewer", "for", "24h0m0s"},
			"a name of two lines":  {"name", "a\nb", "role", "viewer", "for", "24h0m0s"},
			"another time":         {"name", "x", "role", "viewer", "for", "25h"},
			"no such namespace":    {"name", "x", "role", "viewer", "for", "24h0m0s", "namespace", "till"},
		} {
			if a := w.post("/tokens/new", fields...); a.status != http.StatusUnprocessableEntity && a.status != http.StatusConflict || a.Find(".err, .notice[role=alert]").Length() != 1 {
				t.Errorf("%s: %d, %d errors", name, a.status, a.Find(".err, .notice[role=alert]").Length())
			}
		}
		if len(w.keyed()) != 1 {
			t.Error("a token was made")
		}
	})
}

// TestTokensOfOthers: users see and revoke their own tokens, an admin all.
func TestTokensOfOthers(t *testing.T) {
	within(t, func(w *world) {
		made := func(who auth.Caller, name string) string {
			w.caller = who
			w.post("/tokens/new", "name", name, "role", "viewer", "for", "0s").wants(http.StatusOK, name)
			return "/tokens/" + w.keyed()[0].ID + "/revoke"
		}
		of := map[string]string{}
		for _, who := range []auth.Caller{ana, ben, eva} {
			of[who.Name] = made(who, "of-"+who.Name)
			w.pass(time.Second)
		}
		for _, tc := range []struct {
			who   auth.Caller
			names string
		}{{ana, "of-eva of-ben of-ana"}, {ben, "of-ben"}, {eva, "of-eva"}} {
			w.caller = tc.who
			if names := w.see("/tokens").names(); names != tc.names {
				t.Errorf("%s sees %s", tc.who.Name, names)
			}
		}
		w.caller = eva
		for _, whose := range []string{"ana", "ben"} {
			if a, b := w.get(of[whose]), w.post(of[whose]); a.status != http.StatusNotFound || b.status != http.StatusNotFound {
				t.Errorf("a viewer got the confirmation to revoke a token of %s: %d, and revoked: %d", whose, a.status, b.status)
			}
		}
		w.see(of["eva"]).wants(http.StatusOK, "Revoke the token of-eva?")
		if says, at := w.done(of["eva"]); at != "/tokens" || !strings.Contains(says, "of-eva is revoked") {
			t.Errorf("redirected to %s: %s", at, says)
		}
		w.caller = ana
		w.done(of["ben"])
		if names := w.see("/tokens").names(); names != "of-ana" {
			t.Errorf("the remaining tokens are %s", names)
		}
		w.caller = eva
		w.post("/tokens/link", "name", "x", "namespace", "default", "for", "8h0m0s").wants(http.StatusConflict, "Only operators and admins can create links.")
	})
}

// TestTokensThatAreNotGood: the list shows which tokens are invalid, and which end with
// another.
func TestTokensThatAreNotGood(t *testing.T) {
	within(t, func(w *world) {
		w.caller = auth.OpenCaller()
		w.see("/tokens").wants(http.StatusOK, "This server asks nobody who they are")
		w.post("/tokens/new", "name", "early", "role", "admin", "for", "0s")
		w.caller = ana
		if text := w.see("/tokens").text; strings.Contains(text, "asks nobody") {
			t.Error("a server that requires sign-in shows that it does not")
		}
		made := w.post("/tokens/new", "name", "short", "role", "admin", "for", "24h0m0s")
		who, err := w.identified(made.Find(`[data-secret=token] [data-act=copy]`).AttrOr("data-text", ""))
		w.must(err)
		w.caller = who
		w.post("/tokens/new", "name", "child", "role", "viewer", "for", "0s").wants(http.StatusOK, "child")
		w.caller = ana
		list := w.see("/tokens")
		state := func(name string) string {
			row := list.Find(".passes tr").FilterFunction(func(_ int, s *goquery.Selection) bool { return s.Find("td.name strong").Text() == name })
			return row.Find(".badge").Text()
		}
		if state("early") != "not good" || state("short") != "" || state("child") != "" {
			t.Errorf("the state of early is %q, of short %q, of child %q", state("early"), state("short"), state("child"))
		}
		list.wants(http.StatusOK, "with the token short")
		var id string
		for _, k := range w.keyed() {
			if k.Name == "short" {
				id = k.ID
			}
		}
		w.see("/tokens/"+id+"/revoke").wants(http.StatusOK, "What was made with it goes too:", "child", "Revoke all 2")
		w.pass(24 * time.Hour)
		if list = w.see("/tokens"); state("short") != "expired" || state("child") != "expired" {
			t.Errorf("short is %q, child %q", state("short"), state("child"))
		}
	})
}

// TestLinkOfThePage: a link opens a page whose address was copied from a browser, in its own
// namespace only, and has a code to scan.
func TestLinkOfThePage(t *testing.T) {
	within(t, func(w *world) {
		w.caller = ben
		for typed, leads := range map[string]string{
			"": "/n/default", "/n/default/queues": "/n/default/queues", " http://127.0.0.1:8080/n/default/queues?q=a+b ": "/n/default/queues?q=a+b",
			"/n/other": "", "https://example.com/": "", "/settings": "", "javascript:alert(1)": "",
		} {
			a := w.post("/tokens/link", "name", "demo", "namespace", "default", "page", typed, "for", "8h0m0s")
			if leads == "" {
				if a.status != http.StatusUnprocessableEntity || a.Find("#f-page-e").Length() != 1 {
					t.Errorf("%q: %d", typed, a.status)
				}
				continue
			}
			a.wants(http.StatusOK, "The link demo is made")
			is := a.Find(".made [data-act=copy]").AttrOr("data-text", "")
			secret := regexp.MustCompile(`^http://example\.com/l/(mfl_\w+)$`).FindStringSubmatch(is)
			if secret == nil || a.Find("svg.qr").AttrOr("aria-label", "") != "QR code of the link "+is {
				t.Fatalf("%q: %s, drawn %s", typed, is, a.Find("svg.qr").AttrOr("aria-label", ""))
			}
			k, err := w.tokens.OpenLink(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), secret[1])
			if err != nil || k.Page != leads || k.Namespace != "default" || k.Role != auth.Viewer || time.Until(k.Expires) != 8*time.Hour {
				t.Errorf("%q: %+v, %v", typed, k, err)
			}
		}
	})
}
