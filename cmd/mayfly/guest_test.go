package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mayfly/web/api"
)

// TestGuestIsShownOneNamespace: whoever has opened a read-only link is led by its pages
// to no page that is of another namespace or of none, and not told what others there
// are.
func TestGuestIsShownOneNamespace(t *testing.T) {
	s := serving(t, Config{Store: "memory:", Auth: usersFile(t)})
	admin := s.token(t, s.signedIn(t, "ana"), "admin")
	for _, made := range [][2]string{{"/api/v1/namespaces", `{"name":"shop"}`}, {"/api/v1/namespaces", `{"name":"hidden"}`}, {"/api/v1/n/shop/send/orders?create=queue", `{"body":"hello"}`}} {
		if code, text := s.bearing(t, admin, http.MethodPost, made[0], made[1]); code >= http.StatusMultipleChoices {
			t.Fatal(made, code, text)
		}
	}
	var link api.Token
	if code, text := s.bearing(t, admin, http.MethodPost, "/api/v1/n/shop/links", `{"name":"demo"}`); code != http.StatusCreated || json.Unmarshal([]byte(text), &link) != nil {
		t.Fatal(code, text)
	}
	guest := &cookies{}
	guest.get(t, link.URL)
	seen, queue := map[string]bool{}, []string{"/n/shop", "/n/shop/go?drawer=1", "/n/shop/go?q=hidden"}
	for n := 0; n < len(queue) && n < 300; n++ {
		at := queue[n]
		code, text := guest.get(t, s.Dashboard+at)
		if code != http.StatusOK && code != http.StatusSeeOther && code != http.StatusFound && strings.Contains(text, "alone.") {
			t.Errorf("%s: %d", at, code)
		}
		if strings.Contains(strings.ReplaceAll(text, "q=hidden", ""), "/n/hidden") {
			t.Errorf("%s tells of another namespace", at)
		}
		page, err := goquery.NewDocumentFromReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		page.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
			to, err := url.Parse(a.AttrOr("href", ""))
			if err != nil || to.Host != "" || !strings.HasPrefix(to.Path, "/") || seen[to.Path] {
				return
			}
			if seen[to.Path] = true; to.Path != "/n/shop" && !strings.HasPrefix(to.Path, "/n/shop/") && !strings.HasPrefix(to.Path, "/api/v1/n/shop/") {
				t.Errorf("%s leads to %s", at, to)
			}
			queue = append(queue, to.RequestURI())
		})
	}
	if len(queue) < 20 {
		t.Errorf("there are %d pages: %q", len(queue), queue)
	}
}
