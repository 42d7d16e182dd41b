package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
	"mayfly/web/presentation"
)

// A guesthouse is a server with two scenes, which an admin plays and shares by links.
type guesthouse struct {
	*testing.T
	*Server
	admin string
	plays [2]string
}

func newGuesthouse(t *testing.T) *guesthouse {
	t.Helper()
	s := Start(t, server.Config{Store: "memory:", Auth: UsersFile(t)})
	h := &guesthouse{T: t, Server: s, admin: s.CreateToken(t, s.SignIn(t, "ana"), "admin")}
	for i := range h.plays {
		var p api.Playback
		h.makes("playbacks", `{"scene":"deadline"}`, &p)
		h.plays[i] = p.Name
	}
	return h
}

func (h *guesthouse) makes(at, body string, what any) {
	h.Helper()
	if code, text := h.RequestWithToken(h.T, h.admin, http.MethodPost, "/api/v1/"+at, body); code != http.StatusCreated || json.Unmarshal([]byte(text), what) != nil {
		h.Fatal(at, code, text)
	}
}

// guest returns a visitor who has opened a link to a page.
func (h *guesthouse) guest(namespace, page string) Credentials {
	h.Helper()
	var link api.Token
	h.makes("n/"+namespace+"/links", `{"name":"demo","page":"/n/`+namespace+page+`"}`, &link)
	jar := &CookieJar{}
	if code, text := jar.Get(h.T, link.URL); code != http.StatusSeeOther {
		h.Fatal(code, text)
	}
	return Credentials{Jar: jar}
}

// sees returns the statuses of a namespace's page, socket and API.
func (h *guesthouse) sees(who Credentials, namespace string) string {
	h.Helper()
	page, _ := who.Request(h.T, http.MethodGet, h.Dashboard+"/n/"+namespace+"/queues", "")
	_, socket := who.OpenLive(h.T, h.Dashboard, "/n/"+namespace+"/live")
	entities, _ := who.Request(h.T, http.MethodGet, h.Dashboard+"/api/v1/n/"+namespace+"/entities", "")
	return fmt.Sprint(page, socket, entities)
}

// TestGuestSeesNoScene checks that a visitor only sees the scene of the link and the scenes
// that the presenter shows, and of the latter only the pages.
func TestGuestSeesNoScene(t *testing.T) {
	h := newGuesthouse(t)
	want := func(when string, who Credentials, of map[string]string) {
		t.Helper()
		for namespace, want := range of {
			if got := h.sees(who, namespace); got != want {
				t.Errorf("%s: %s got %s, want %s", when, namespace, got, want)
			}
		}
	}
	const all, pages, nothing = "200 101 200", "200 101 403", "403 403 403"
	want("a link for a namespace", h.guest("default", ""), map[string]string{"default": all, h.plays[0]: nothing, h.plays[1]: nothing})
	want("a link for a scene", h.guest(h.plays[0], ""), map[string]string{"default": nothing, h.plays[0]: all, h.plays[1]: nothing})

	key := presentation.NewKey()
	id, err := presentation.ID(key)
	if err != nil {
		t.Fatal(err)
	}
	follows, other := h.guest("default", "?follow="+id), h.guest("default", "")
	want("before the presenter goes there", follows, map[string]string{h.plays[0]: nothing, h.plays[1]: nothing})
	leads := func(to string) {
		t.Helper()
		page := "/n/" + to
		ana, code := Credentials{Bearer: h.admin}.OpenLive(t, h.Dashboard, page+"/live")
		if code != http.StatusSwitchingProtocols {
			t.Fatal(code)
		}
		if err := ana.WriteJSON(map[string]string{"op": "present", "topic": key, "page": page + "/queues"}); err != nil {
			t.Fatal(err)
		}
	}
	leads(h.plays[0])
	Eventually(t, "the audience follows into the scene", func() bool { return h.sees(follows, h.plays[0]) == pages })
	want("led to another", follows, map[string]string{"default": all, h.plays[1]: nothing})
	want("led by nobody", other, map[string]string{"default": all, h.plays[0]: nothing, h.plays[1]: nothing})
	leads("default")
	leads(h.plays[1])
	Eventually(t, "the audience follows into the next scene", func() bool { return h.sees(follows, h.plays[1]) == pages })
	want("after that", follows, map[string]string{"default": all, h.plays[0]: pages})
}

// TestGuestStaysInAScene checks that links and tokens for a scene survive its reset. Those for a
// deleted namespace do not give access to a new one with its name.
func TestGuestStaysInAScene(t *testing.T) {
	h := newGuesthouse(t)
	at := h.plays[0]
	guest := h.guest(at, "")
	var token api.Token
	h.makes("tokens", `{"name":"ci","role":"operator","namespace":"`+at+`"}`, &token)
	program := Credentials{Bearer: token.Secret}
	want := func(when, want string) {
		t.Helper()
		for name, who := range map[string]Credentials{"link": guest, "token": program} {
			if got := h.sees(who, at); got != want {
				t.Errorf("%s: a client with a %s got %s, want %s", when, name, got, want)
			}
		}
	}
	do := func(method, path, body string) {
		t.Helper()
		if code, text := h.RequestWithToken(t, h.admin, method, "/api/v1/"+path, body); code >= 300 {
			t.Fatal(path, code, text)
		}
	}
	do(http.MethodPost, "playbacks/"+at+"/next?step=0", ``)
	want("as it was", "200 101 200")
	do(http.MethodPost, "playbacks/"+at+"/back?step=1", ``)
	want("a step back", "200 101 200")
	do(http.MethodPost, "playbacks/"+at+"/reset", ``)
	want("at the beginning", "200 101 200")
	do(http.MethodDelete, "playbacks/"+at, ``)
	h.makes("namespaces", `{"name":"`+at+`","temporary":true}`, new(api.Namespace))
	want("another of that name", "401 401 401")
}

// TestGuestIsShownOneNamespace checks that pages lead a visitor with a read-only link only to
// pages of the link's namespace and to the documentation, and that neither pages nor the API reveal other namespaces or
// the scenes of others.
func TestGuestIsShownOneNamespace(t *testing.T) {
	h := newGuesthouse(t)
	for _, name := range []string{"arcade", "backroom"} {
		h.makes("namespaces", `{"name":"`+name+`"}`, new(api.Namespace))
	}
	for _, namespace := range []string{"default", "arcade"} {
		if code, text := h.RequestWithToken(t, h.admin, http.MethodPost, "/api/v1/n/"+namespace+"/send/orders?create=queue", `{"body":"hello"}`); code != http.StatusCreated {
			t.Fatal(code, text)
		}
	}
	for namespace, others := range map[string][]string{
		"default": {"arcade", "backroom", h.plays[0], h.plays[1]}, "arcade": {"backroom", h.plays[0], h.plays[1]}, h.plays[0]: {"arcade", "backroom", h.plays[1]},
	} {
		seen := h.crawl(h.guest(namespace, ""), namespace, func(at, text string) {
			for _, name := range others {
				if strings.Contains(text, name) {
					t.Errorf("%s mentions %s", at, name)
				}
			}
		})
		if seen < 40 {
			t.Errorf("of %s, the crawl got only %d responses", namespace, seen)
		}
	}
}

// crawl follows all links of a visitor's pages and all GET routes of a namespace's API, calls f
// with each response, and returns their number.
func (h *guesthouse) crawl(guest Credentials, namespace string, f func(at, text string)) int {
	h.Helper()
	home, seen := "/n/"+namespace, map[string]bool{}
	below := []string{home + "/", "/api/v1" + home + "/", "/docs"}
	if namespace == "default" {
		below = append(below, "/api/v1/openapi.json")
	}
	queue := []string{home, home + "/go?drawer=1", home + "/go?q=back", home + "/go?q=dead"}
	for _, o := range api.Document().Ordered {
		if o.Method == http.MethodGet && !strings.Contains(o.Path, "{") {
			queue = append(queue, "/api/v1"+home+o.Path)
		}
	}
	for n := 0; n < len(queue) && n < 400; n++ {
		at := queue[n]
		code, text := guest.Request(h.T, http.MethodGet, h.Dashboard+at, "")
		if strings.HasPrefix(at, home) && code == http.StatusForbidden && strings.Contains(text, "alone.") {
			h.Errorf("%s: %d", at, code)
		}
		f(at, text)
		page, err := goquery.NewDocumentFromReader(strings.NewReader(text))
		if err != nil {
			h.Fatal(err)
		}
		page.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
			to, err := url.Parse(a.AttrOr("href", ""))
			if err != nil || to.Host != "" || !strings.HasPrefix(to.Path, "/") || seen[to.Path] {
				return
			}
			if seen[to.Path] = true; to.Path != home && !slices.ContainsFunc(below, func(p string) bool { return strings.HasPrefix(to.Path, p) }) {
				h.Errorf("%s links to %s", at, to)
			}
			queue = append(queue, to.RequestURI())
		})
	}
	return len(queue)
}
