package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/oidc/oidctest"
)

const basePath = "/mayfly"

// isBelow reports whether a path of this host is below the base path.
func isBelow(at string) bool {
	rest, ok := strings.CutPrefix(at, basePath)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "/?#"))
}

// A crawl follows all links of pages below a base path.
type crawl struct {
	*surfer
	s      *Server
	origin *regexp.Regexp // matches URLs of the dashboard
	seen   map[string]bool
	next   []string
	pages  int
}

// likeness returns an address without the values of its parameters. The crawl opens one of the
// addresses that have the same likeness.
func likeness(method, at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return at
	}
	var names []string
	for name := range u.Query() {
		names = append(names, name)
	}
	slices.Sort(names)
	return method + " " + u.Path + "?" + strings.Join(names, "&")
}

// found reports whether an address that a page contains is a path to follow. A path that is not
// below the base path is an error.
func (c *crawl) found(where, at string) (ok bool) {
	if strings.HasPrefix(at, "/") && !isBelow(at) {
		c.Errorf("%s links to %s, which is not below %s", where, at, basePath)
		return false
	}
	return strings.HasPrefix(at, "/")
}

// open requests an address, checks the response and queues its links.
func (c *crawl) open(at string) {
	got := c.goes(http.MethodGet, strings.TrimSuffix(c.s.Dashboard, basePath)+at, nil)
	for _, text := range got.header.Values("Set-Cookie") {
		cookie, err := http.ParseSetCookie(text)
		if err != nil || strings.TrimSuffix(cookie.Path, "/") != basePath {
			c.Errorf("%s sets %q", at, text)
		}
	}
	if got.code >= 400 {
		c.Errorf("%s: %d %.300s", at, got.code, got.text)
	}
	if to := got.header.Get("Location"); to != "" && c.found(at, to) {
		c.next = append(c.next, to)
	}
	for _, m := range c.origin.FindAllStringSubmatch(got.text, -1) {
		if !isBelow(m[1]) {
			c.Errorf("%s mentions %s, which is not below %s", at, m[0], basePath)
		}
	}
	if !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
		return
	}
	c.pages++
	page, err := goquery.NewDocumentFromReader(strings.NewReader(got.text))
	if err != nil {
		c.Fatal(err)
	}
	page.Find("*").Each(func(_ int, e *goquery.Selection) {
		for _, a := range e.Nodes[0].Attr {
			c.attribute(at, a.Key, a.Val, e)
		}
	})
}

// attribute checks an attribute of an element.
func (c *crawl) attribute(at, name, text string, of *goquery.Selection) {
	where := at + " <" + goquery.NodeName(of) + " " + name + ">"
	switch {
	case name == "data-live", name == "data-ask" && strings.HasSuffix(at, "/api"): // a topic, and a path of the API
	case name == "href", name == "src":
		if c.found(where, text) {
			to, _, _ := strings.Cut(text, "#")
			c.next = append(c.next, to)
		}
	case name == "action", name == "formaction":
		if c.found(where, text) && methodOf(of) == "post" {
			c.post(text)
		}
	case strings.HasPrefix(name, "data-"), name == "value", name == "placeholder":
		c.found(where, text)
	}
}

// methodOf returns the method of a form or of a form's button.
func methodOf(of *goquery.Selection) string {
	form := of.Closest("form")
	if id, ok := of.Attr("form"); ok {
		form = of.Parents().Last().Find("#" + id)
	}
	return strings.ToLower(of.AttrOr("formmethod", form.AttrOr("method", "get")))
}

// post sends an empty form: a handler has to refuse it, not the router.
func (c *crawl) post(to string) {
	if at := likeness(http.MethodPost, to); !c.seen[at] {
		c.seen[at] = true
		if got := c.goes(http.MethodPost, strings.TrimSuffix(c.s.Dashboard, basePath)+to, url.Values{}); got.code == http.StatusNotFound {
			c.Errorf("POST %s: %d %.300s", to, got.code, got.text)
		}
	}
}

// TestEveryAddressHasTheBasePath follows all links from the overview.
func TestEveryAddressHasTheBasePath(t *testing.T) {
	t.Parallel()
	s := Start(t, server.Config{Store: "memory:", BasePath: basePath})
	if !strings.HasSuffix(s.Dashboard, basePath) || s.API != s.Dashboard+"/api/v1" || !strings.Contains(s.Curl, s.API) || !strings.Contains(s.Out.String(), s.Dashboard+"\n") {
		t.Errorf("the server reports the addresses %s and %s: %s", s.Dashboard, s.API, s.Out)
	}
	ask := func(at, body string) {
		t.Helper()
		if code, text := Request(t, http.MethodPost, s.API+at, body); code >= 300 {
			t.Fatal(at, code, text)
		}
	}
	ask("/entities", `{"kind":"queue","path":"orders"}`)
	ask("/entities", `{"kind":"queue","path":"chats","properties":{"RequiresSession":true}}`)
	ask("/entities", `{"kind":"queue","path":"reply","properties":{"AutoDeleteOnIdle":"PT1H"}}`)
	ask("/entities", `{"kind":"topic","path":"prices"}`)
	ask("/entities", `{"kind":"topic","path":"nobody"}`)
	ask("/entities", `{"kind":"subscription","path":"prices/subscriptions/eu"}`)
	ask("/send/orders", `[{"body":"{\"a\":1}","timeToLive":"1h"},{"body":"b"},{"body":"c","scheduledEnqueueTime":"2126-01-01T00:00:00Z"}]`)
	ask("/send/chats", `{"body":"x","sessionId":"anna"}`)
	ask("/send/nobody", `{"body":"x"}`)
	ask("/receive/orders", `{"mode":"peek-lock","limit":1}`)
	ask("/alert-rules", `{"name":"late","when":"expiring","in":"orders","within":"10m","then":"notify"}`)
	ask("/jobs", `{"kind":"copy","paths":["orders"],"to":"reply"}`)
	ask("/namespaces", `{"name":"shop"}`)
	ask("/tokens", `{"name":"ci","role":"operator"}`)
	ask("/playbacks", `{"scene":"deadline"}`)

	c := &crawl{surfer: surfing(t), s: s, seen: map[string]bool{}, next: []string{basePath, basePath + "/"}}
	c.origin = regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(s.Dashboard, basePath)) + `(/[^\s"'<>&]*)`)
	for _, at := range []string{"/readyz", "/healthz", "/livez", "/metrics", "/grafana.json", "/docs/api", "/api/v1/openapi.json", "/n", "/tokens/link"} {
		c.next = append(c.next, basePath+at)
	}
	for len(c.next) > 0 {
		at := c.next[0]
		c.next = c.next[1:]
		if of := likeness(http.MethodGet, at); !c.seen[of] {
			c.seen[of] = true
			c.open(at)
		}
	}
	if c.pages < 100 {
		t.Errorf("the crawl reached only %d pages", c.pages)
	}

	var doc struct{ Servers []struct{ URL string } }
	if err := json.Unmarshal([]byte(Get(t, s.API+"/openapi.json")), &doc); err != nil || len(doc.Servers) != 1 || doc.Servers[0].URL != basePath+"/api/v1" {
		t.Errorf("the document is of %v, %v", doc.Servers, err)
	}
	var shop api.Namespace
	if err := json.Unmarshal([]byte(Get(t, s.API+"/namespaces/shop")), &shop); err != nil || shop.Address != basePath+"/api/v1/n/shop" || shop.Dashboard != basePath+"/n/shop" {
		t.Errorf("%+v, %v", shop, err)
	}
}

func TestNothingIsBesideTheBasePath(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", BasePath: basePath})
	root := strings.TrimSuffix(s.Dashboard, basePath)
	ana := surfing(t)
	for at, want := range map[string]struct {
		code int
		says string
	}{
		"/":                         {302, basePath + "/"},
		"/mayfly":                   {302, basePath + "/n/default"},
		"/mayfly/":                  {302, basePath + "/n/default"},
		"/mayfly/readyz":            {200, "ready"},
		"/mayfly/n/default":         {200, "<html"},
		"/n/default":                {404, "below " + basePath + "/."},
		"/readyz":                   {404, "below " + basePath + "/."},
		"/api/v1/entities":          {404, "below " + basePath + "/."},
		"/mayflyer":                 {404, "below " + basePath + "/."},
		"/Mayfly/n/default":         {404, "below " + basePath + "/."},
		"/mayfly/mayfly/":           {404, "<html"},
		"/mayfly/api/v1/no":         {404, `"instance":"/mayfly/api/v1/no"`},
		"/%6dayfly/n/a%2Fb":         {404, "below " + basePath + "/."},
		"/mayfly/n/default/q/a%2Fb": {404, "<html"},
	} {
		if got := ana.goes(http.MethodGet, root+at, nil); got.code != want.code || !strings.Contains(got.header.Get("Location")+got.text, want.says) {
			t.Errorf("%s: %d %s %.300s, want %d %q", at, got.code, got.header.Get("Location"), got.text, want.code, want.says)
		}
	}
	if text := Get(t, s.Admin+"/health"); !strings.Contains(text, "healthy") {
		t.Errorf("the admin port's health: %s", text)
	}
}

// TestCommandsBelowABasePath checks that commands work with the server's URL, and find it by
// the variables of the server.
func TestCommandsBelowABasePath(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", BasePath: basePath})
	for _, args := range [][]string{{"entities", "create", "queue", "orders"}, {"send", "orders", "hello"}, {"entities", "list"}, {"healthcheck"}} {
		if out, complaint, code := RunCommand(t, "", append(args, "--server", s.Dashboard+"/")...); code != cli.ExitOK {
			t.Errorf("%v: %d %s %s", args, code, out, complaint)
		}
	}
	if out, complaint, code := RunCommand(t, "", "scenes", "play", "deadline", "--keep", "--server", s.Dashboard); code != cli.ExitOK || !strings.Contains(out, "In the browser: "+s.Dashboard+"/n/") || strings.Contains(out, basePath+basePath) {
		t.Errorf("%d %s %s", code, out, complaint)
	}
	t.Setenv("MAYFLY_HTTP", strings.TrimSuffix(strings.TrimPrefix(s.Dashboard, "http://"), basePath))
	t.Setenv("MAYFLY_BASE_PATH", basePath)
	if out, complaint, code := RunCommand(t, "", "healthcheck"); code != cli.ExitOK {
		t.Errorf("%d %s %s", code, out, complaint)
	}
}

// TestSignInBelowABasePath signs in with a password, shares a link with another visitor, and
// signs out.
func TestSignInBelowABasePath(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", Auth: UsersFile(t), BasePath: basePath})
	root := strings.TrimSuffix(s.Dashboard, basePath)
	ana, bob := surfing(t), surfing(t)
	want := func(who *surfer, method, at string, form url.Values, code int, says string) string {
		t.Helper()
		got := who.goes(method, at, form)
		if to := got.header.Get("Location"); got.code != code || !strings.Contains(to+got.text, says) || to != "" && !isBelow(to) {
			t.Fatalf("%s: %d %s %.600s; want %d %q", at, got.code, to, got.text, code, says)
		}
		return got.text
	}
	token := func(page string) string { return FormToken.FindStringSubmatch(page)[1] }
	want(ana, "GET", s.Dashboard+"/n/default/queues?q=a", nil, 303, basePath+"/login?to=%2Fmayfly%2Fn%2Fdefault%2Fqueues%3Fq%3Da")
	page := want(ana, "GET", s.Dashboard+"/login?to=%2Fmayfly%2Fn%2Fdefault%2Fqueues", nil, 200, `action="`+basePath+`/login"`)
	form := url.Values{"csrf": {token(page)}, "user": {"ana"}, "password": {"password of ana"}, "to": {basePath + "/n/default/queues"}}
	for _, to := range []string{"/n/default/queues", "/elsewhere", basePath + "/../elsewhere", basePath + "x", "//example.com"} {
		other := surfing(t)
		page := want(other, "GET", s.Dashboard+"/login", nil, 200, "")
		form := url.Values{"csrf": {token(page)}, "user": {"ana"}, "password": {"password of ana"}, "to": {to}}
		if got := other.goes("POST", s.Dashboard+"/login", form); got.header.Get("Location") != basePath+"/" {
			t.Errorf("%s returned %d %q", to, got.code, got.header.Get("Location"))
		}
	}
	if got := ana.goes("POST", s.Dashboard+"/login", form); got.header.Get("Location") != basePath+"/n/default/queues" {
		t.Fatalf("signing in returned %d %q", got.code, got.header.Get("Location"))
	}
	want(ana, "GET", s.Dashboard+"/n/default/queues", nil, 200, `formaction="`+basePath+`/logout"`)
	u, err := url.Parse(root + "/beside")
	if err != nil {
		t.Fatal(err)
	}
	if sent := ana.Jar.Cookies(u); len(sent) > 0 {
		t.Errorf("paths beside the base path get cookies: %v", sent)
	}

	page = want(ana, "GET", s.Dashboard+"/tokens/link", nil, 200, "")
	page = want(ana, "POST", s.Dashboard+"/tokens/link", url.Values{"csrf": {token(page)}, "name": {"demo"}, "namespace": {"default"}, "page": {s.Dashboard + "/n/default/topics"}, "for": {"24h0m0s"}}, 200, s.Dashboard+"/l/")
	link := regexp.MustCompile(regexp.QuoteMeta(s.Dashboard) + `/l/\w+`).FindString(page)
	if got := bob.goes("GET", link, nil); got.header.Get("Location") != basePath+"/n/default/topics" {
		t.Fatalf("the link returned %d %q", got.code, got.header.Get("Location"))
	}
	page = want(bob, "GET", s.Dashboard+"/n/default/topics", nil, 200, basePath+"/l/leave")
	want(bob, "GET", s.Dashboard+"/", nil, 302, basePath+"/n/default")
	want(bob, "GET", s.Dashboard+"/tokens", nil, 403, basePath+"/n/default")
	if got := bob.goes("POST", s.Dashboard+"/l/leave", url.Values{"csrf": {token(page)}, "back": {basePath + "/n/default/topics"}}); got.header.Get("Location") != basePath+"/n/default/topics" {
		t.Errorf("leaving returned %d %q", got.code, got.header.Get("Location"))
	}
	want(bob, "GET", s.Dashboard+"/n/default/topics", nil, 303, basePath+"/login")

	page = want(ana, "GET", s.Dashboard+"/n/default/share", nil, 200, "")
	page = want(ana, "POST", s.Dashboard+"/n/default/share", url.Values{"csrf": {token(page)}, "for": {"1h0m0s"}}, 200, s.Dashboard+"/l/")
	link = regexp.MustCompile(regexp.QuoteMeta(s.Dashboard) + `/l/\w+`).FindString(page)
	if got := bob.goes("GET", link, nil); !strings.HasPrefix(got.header.Get("Location"), basePath+"/n/default?follow=") {
		t.Errorf("the presentation's link returned %d %q", got.code, got.header.Get("Location"))
	}
	want(ana, "GET", s.Dashboard+"/follow/nobody", nil, 303, basePath+"/n/default?follow=nobody")

	page = want(ana, "GET", s.Dashboard+"/sessions", nil, 200, `action="`+basePath+`/sessions/end"`)
	want(ana, "POST", s.Dashboard+"/logout", url.Values{"csrf": {token(page)}}, 303, basePath+"/login")
	want(ana, "GET", s.Dashboard+"/n/default", nil, 303, basePath+"/login")
}

// TestSignInWithAProviderBelowABasePath checks that below a base path a user can sign in with a
// provider and returns to the requested page.
func TestSignInWithAProviderBelowABasePath(t *testing.T) {
	provider := oidctest.Start(t, "http://127.0.0.1"+basePath+oidc.CallbackPath) // at any port
	s := Start(t, server.Config{Store: "memory:", BasePath: basePath, OIDC: &oidc.Config{
		Issuer: provider.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Title: "the company",
		Roles: []oidc.Rule{{Value: "team", Role: auth.Operator}},
	}})
	provider.Is(oidctest.Trouble{Claims: map[string]any{"roles": []string{"team"}}})
	ana := surfing(t)
	if got := ana.goes("GET", s.Dashboard+"/login?to=%2Fmayfly%2Fn%2Fdefault%2Fqueues", nil); !strings.Contains(got.text, `href="`+basePath+oidc.SignInPath+`?to=%2Fmayfly%2Fn%2Fdefault%2Fqueues"`) {
		t.Fatalf("%d %s", got.code, got.text)
	}
	to := ana.goes("GET", s.Dashboard+oidc.SignInPath+"?to=%2Fmayfly%2Fn%2Fdefault%2Fqueues", nil).header.Get("Location")
	if !strings.Contains(to, url.QueryEscape(s.Dashboard+oidc.CallbackPath)) {
		t.Fatalf("redirected to %s", to)
	}
	back := provider.SignIn(to, "ana")
	if got := ana.goes("GET", back, nil); got.header.Get("Location") != basePath+"/n/default/queues" {
		t.Fatalf("%s: %d %q %s", back, got.code, got.header.Get("Location"), got.text)
	}
	page := ana.goes("GET", s.Dashboard+"/n/default/queues", nil)
	if page.code != 200 || !strings.Contains(page.text, "ana") {
		t.Fatalf("%d %s", page.code, page.text)
	}
	got := ana.goes("POST", s.Dashboard+"/logout", url.Values{"csrf": {FormToken.FindStringSubmatch(page.text)[1]}})
	if to := got.header.Get("Refresh"); !strings.Contains(to, url.QueryEscape(s.Dashboard+oidc.CallbackPath)) || !strings.Contains(to, "id_token_hint=") {
		t.Errorf("signing out returned %d %q", got.code, to)
	}
	if got := ana.goes("GET", s.Dashboard+oidc.CallbackPath+"?state=signed-out", nil); got.header.Get("Location") != basePath+"/login" {
		t.Errorf("coming back returned %d %q", got.code, got.header.Get("Location"))
	}
}

// TestPassedOnBelowABasePath checks that servers on one store with the same base path forward
// requests to each other.
func TestPassedOnBelowABasePath(t *testing.T) {
	owner, other, _, _ := StartTwo(t, server.Config{BasePath: basePath})
	if code, text := Request(t, http.MethodPost, other.API+"/send/orders%2Flate?create=queue", `{"body":"x"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	for at, want := range map[string]string{
		"/":                          "orders/late",
		"/n/default/q/orders%2Flate": `href="` + basePath + `/n/default/q/orders%2Flate`,
		"/readyz":                    "forwarded to the server at " + owner.Dashboard,
	} {
		if code, text := Request(t, http.MethodGet, other.Dashboard+at, ""); code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d, no %q in %.2000s", at, code, want, text)
		}
	}
}
