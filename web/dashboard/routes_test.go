package dashboard_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/labstack/echo/v4"

	"mayfly/web/dashboard"
	"mayfly/web/dashboard/route"
	"mayfly/web/presentation"
)

// TestRoutesAreMounted: the addresses that the server handles are exactly those of the table of
// routes.
func TestRoutesAreMounted(t *testing.T) {
	withinNamespaces(t, openManager, func(w *world) {
		e := echo.New()
		dashboard.New(dashboard.Options{Broker: w.b.Broker, Namespaces: w.manager, Scenes: w.scenes, Pages: w.pages, Presentations: new(presentation.Registry), Tokens: w.tokens}).Mount(e.Group(""))
		mounted := map[string]bool{}
		for _, r := range e.Routes() {
			if _, ok := route.Routes().RequiredRole(r.Method, r.Path); !ok {
				t.Errorf("%s %s is mounted, but is not a route", r.Method, r.Path)
			}
			mounted[r.Method+" "+r.Path] = true
		}
		for _, r := range route.Routes().Routes() {
			for _, pattern := range r.Patterns() {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					if r.Has(method) != mounted[method+" "+pattern] {
						t.Errorf("%s %s is mounted: %v", method, pattern, !r.Has(method))
					}
				}
			}
		}
	})
}

// TestLinksHaveRoutes: every link, form and button of the pages in package story, and every address
// that the script requests for them, leads to a route with the method that it is sent with.
func TestLinksHaveRoutes(t *testing.T) {
	files, err := filepath.Glob("../../views/story/testdata/*.html")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := goquery.NewDocumentFromReader(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		check := func(method, href string) {
			if strings.HasPrefix(href, "/") && !strings.HasPrefix(href, "/api/v1/") && route.Routes().Match(method, href) == nil {
				t.Errorf("%s: %s %s has no route", filepath.Base(file), method, href)
			}
		}
		doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
			check(http.MethodGet, a.AttrOr("href", ""))
		})
		for attr, method := range map[string]string{"data-live": http.MethodGet, "data-pin": http.MethodPost, "data-try": http.MethodPost} {
			doc.Find("[" + attr + "]").Each(func(_ int, of *goquery.Selection) { check(method, of.AttrOr(attr, "")) })
		}
		submits := func(form *goquery.Selection) *goquery.Selection {
			of := form.Find("button[type=submit], button:not([type])")
			if id, ok := form.Attr("id"); ok {
				of = of.AddSelection(doc.Find("button[form=" + id + "]"))
			}
			return of
		}
		doc.Find("form[action]").Each(func(_ int, form *goquery.Selection) {
			if s := submits(form); s.Length() > 0 && s.Not("[formaction]").Length() == 0 {
				return // every button has an address of its own
			}
			check(strings.ToUpper(form.AttrOr("method", "get")), form.AttrOr("action", ""))
		})
		doc.Find("[formaction]").Each(func(_ int, button *goquery.Selection) {
			form := button.Closest("form")
			if id, ok := button.Attr("form"); ok {
				form = doc.Find("form#" + id)
			}
			check(strings.ToUpper(button.AttrOr("formmethod", form.AttrOr("method", "get"))), button.AttrOr("formaction", ""))
		})
	}
}
