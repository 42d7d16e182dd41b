package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

// TestWhatIsOfferedIsAllowed checks that no link and no form on any page of a visitor with
// read-only access leads to a 403.
func TestWhatIsOfferedIsAllowed(t *testing.T) {
	t.Parallel()
	s := Start(t, server.Config{Store: "memory:", Auth: UsersFile(t)})
	admin := Credentials{Bearer: s.CreateToken(t, s.SignIn(t, "ana"), "admin")}
	furnishedByCommands(t, s, admin.Bearer)
	var link api.Token
	if code, text := admin.Request(t, "POST", s.API+"/links", `{"name":"guest"}`); code != http.StatusCreated || json.Unmarshal([]byte(text), &link) != nil {
		t.Fatal(code, text)
	}
	guest := Credentials{Jar: &CookieJar{}}
	guest.Jar.Get(t, link.URL)
	for name, who := range map[string]Credentials{"a viewer": {Jar: s.SignIn(t, "vera")}, "a link's holder": guest} {
		t.Run(name, func(t *testing.T) {
			w := walker{t: t, who: who, base: s.Dashboard, seen: map[string]bool{}}
			if !w.refused("/n/default/q/orders/delete") || w.refused("/n/default/language") {
				t.Fatal("the walker does not notice refused forms")
			}
			for _, at := range []string{"/n/default", "/n/default/go?q=o&drawer=1", "/n/default/go?q=ord&drawer=1"} {
				w.found("the start", "GET", at)
			}
			for len(w.pages) > 0 && w.looked < 1000 {
				at := w.pages[0]
				w.pages = w.pages[1:]
				w.look(at)
			}
			if w.looked < 100 || w.forms < 10 {
				t.Errorf("the walker found %d pages with %d forms", w.looked, w.forms)
			}
		})
	}
}

// A walker follows the links and forms of pages.
type walker struct {
	t     *testing.T
	who   Credentials
	base  string
	seen  map[string]bool // by method and address
	pages []string        // to be checked

	looked, forms int
}

// found requests an address of a page, once; of similar addresses only one.
func (w *walker) found(on, method, at string) {
	u, err := url.Parse(at)
	if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "/static/") {
		return
	}
	alike := method + " " + u.Path
	for _, word := range slices.Sorted(func(yield func(string) bool) {
		for name, values := range u.Query() {
			if slices.Contains([]string{"tab", "kind", "view", "place", "scope"}, name) {
				name += "=" + values[0]
			}
			if !yield(name) {
				return
			}
		}
	}) {
		alike += " " + word
	}
	if w.seen[alike] {
		return
	}
	w.seen[alike] = true
	if method == http.MethodGet {
		w.pages = append(w.pages, u.RequestURI()+" "+on)
		return
	}
	if w.forms++; w.refused(u.RequestURI()) {
		w.t.Errorf("%s has a form for %s, which is refused", on, at)
	}
}

// refused reports whether a form's route rejects the visitor. Without a form token nothing
// happens, but the role is checked first.
func (w *walker) refused(to string) bool {
	code, text := w.who.Request(w.t, http.MethodPost, w.base+to, "")
	return code == http.StatusUnauthorized || code == http.StatusForbidden && !strings.Contains(text, "This form is older than the server")
}

func (w *walker) look(page string) {
	at, on, _ := strings.Cut(page, " ")
	w.looked++
	code, text := w.who.Request(w.t, "GET", w.base+at, "")
	if code == http.StatusForbidden || code >= http.StatusInternalServerError {
		w.t.Errorf("%s links to %s, which returned %d", on, at, code)
		return
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	doc.Find("a[href], area[href]").Each(func(_ int, a *goquery.Selection) { w.found(at, http.MethodGet, a.AttrOr("href", "")) })
	for _, name := range []string{"try", "url"} {
		doc.Find("[data-" + name + "]").Each(func(_ int, on *goquery.Selection) {
			method := http.MethodGet
			if name == "try" {
				method = http.MethodPost
			}
			w.found(at, method, on.AttrOr("data-"+name, ""))
		})
	}
	doc.Find("button, input[type=submit], input[type=image]").Each(func(_ int, by *goquery.Selection) {
		if kind := by.AttrOr("type", "submit"); kind != "submit" && kind != "image" || by.Is("[disabled]") {
			return
		}
		form := by.Closest("form")
		if id, ok := by.Attr("form"); ok {
			form = doc.Find("form#" + id)
		}
		method := strings.ToUpper(by.AttrOr("formmethod", form.AttrOr("method", "get")))
		if to := by.AttrOr("formaction", form.AttrOr("action", "")); method == http.MethodGet || method == http.MethodPost {
			w.found(at, method, to)
		}
	})
}

// furnishedByCommands fills a server with everything that pages show.
func furnishedByCommands(t *testing.T, s *Server, token string) {
	t.Helper()
	does := func(args ...string) {
		t.Helper()
		if out, complaint, code := RunCommand(t, "", append(args, "--server", s.Dashboard, "--token", token)...); code != 0 {
			t.Fatalf("%q: %d %s%s", args, code, out, complaint)
		}
	}
	does("entities", "create", "queue", "orders", "DeadLetteringOnMessageExpiration=true")
	does("entities", "create", "queue", "replies", "AutoDeleteOnIdle=PT10M")
	does("entities", "create", "queue", "chats", "RequiresSession=true")
	does("entities", "create", "queue", "gone")
	does("entities", "create", "topic", "prices")
	does("entities", "create", "subscription", "prices/Subscriptions/eu", "DefaultMessageTimeToLive=PT1H")
	does("entities", "delete", "gone", "--yes")
	does("send", "orders", `{"order":{{n}}}`, "--repeat", "6", "--ttl", "1h", "-p", "region=eu", "--subject", "order {{n}}")
	does("send", "orders", "later", "--at", "1h")
	does("send", "chats", "hello", "--session-id", "anna")
	does("send", "prices", "12.5", "--ttl", "30m")
	for _, then := range []string{"defer", "dead-letter", "nothing", "complete"} {
		does("receive", "orders", "--then", then)
	}
	does("receive", "chats", "--session", "anna", "--then", "nothing")
	does("alerts", "create", "late", "--when", "expiring", "--in", "orders", "--within", "2h", "--then", "extend", "--extend-by", "10m", "--max-extensions", "3")
	does("jobs", "start", "copy", "--in", "orders", "--to", "replies", "--yes")
	does("views", "set", "by city", "seq", "json.order", "ttl")
	does("namespaces", "create", "shop")
	for at, body := range map[string]string{
		"PUT /templates/late": `{"body":"{{n}}","subject":"late"}`, "POST /playbacks": `{"scene":"deadline"}`,
	} {
		method, at, _ := strings.Cut(at, " ")
		if code, text := s.RequestWithToken(t, token, method, "/api/v1"+at, body); code >= http.StatusMultipleChoices {
			t.Fatal(at, code, text)
		}
	}
}
