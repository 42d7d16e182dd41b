package dashboard_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"mayfly/engine/longtest"
	"mayfly/views/locale"
	"mayfly/web/auth"
)

// englishWords are common English words that look like no Czech word.
var englishWords = regexp.MustCompile(`\b([Tt]he|is|are|was|were|which|[Tt]here|cannot|can|must|has|have|with|of|not|and|or|than|[Tt]his|[Tt]hat|[Ww]hat|where|already|it|[Ii]t|for|from|an|at|most|least|allowed|expected|value|characters|missing)\b`)

// given is English text of messages, not of pages: the descriptions of dead letters.
var given = regexp.MustCompile(`it was bad|The message expired and was dead lettered\.`)

// unmarked returns the texts of a Czech page that have at least two English words and are not
// marked as English. It skips code, scripts and input.
func unmarked(page *goquery.Document) (said []string) {
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			switch n.Data {
			case "script", "style", "template", "code", "pre", "textarea", "kbd", "samp":
				return
			}
			for _, a := range n.Attr {
				if a.Key == "lang" && a.Val != "cs" {
					return
				}
			}
		}
		if n.Type == html.TextNode && len(englishWords.FindAllString(given.ReplaceAllString(n.Data, ""), 2)) == 2 {
			said = append(said, strings.Join(strings.Fields(n.Data), " "))
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	for _, n := range page.Find("body").Nodes {
		walk(n)
	}
	return said
}

// typed matches a time as it is typed, in every language.
var typed = regexp.MustCompile(`(?:^|[\s(,;:])(\d+(?:ms|[smhd])|\d[ \x{a0}]m)(?:$|[\s),;:.])`)

// typedTimes returns the times on a page that are written as they are typed, outside of
// instructions for typing.
func typedTimes(page *goquery.Document) (all []string) {
	read := page.Find("body").Clone()
	read.Find("script, template, code, pre, textarea, kbd, option, .tip, .err, .field .badge, [lang=en]").Remove()
	read.Find("*").Contents().Each(func(_ int, text *goquery.Selection) {
		if n := text.Get(0); n.Type == html.TextNode {
			all = append(all, typed.FindAllString(n.Data, -1)...)
		}
	})
	return all
}

// czech counts requests by their method, path and status.
var czech sync.Map

// inCzech repeats a GET or a refused request in Czech. The page may not have unmarked English
// text (WCAG 3.1.2), nor times in another format than the language's. Without MAYFLY_LONG=1 it
// does so for the first and every eighth request of the same address.
func (w *world) inCzech(r *http.Request, body []byte, status int) {
	w.Helper()
	if r.Method != http.MethodGet && status < http.StatusBadRequest || status >= http.StatusInternalServerError {
		return
	}
	if n, _ := czech.LoadOrStore(fmt.Sprint(r.Method, r.URL.Path, status), new(atomic.Int64)); (n.(*atomic.Int64).Add(1)-1)%longtest.Reduced(w.T, 1, int64(8)) != 0 {
		return
	}
	ctx := context.WithoutCancel(r.Context())
	if w.caller.IsKnown() {
		ctx = auth.WithCaller(ctx, w.caller)
	}
	again := r.Clone(ctx)
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.Header.Set("Accept-Language", "cs")
	again.Header.Del("Cookie")
	for _, c := range r.Cookies() {
		if c.Name != locale.Cookie && !strings.Contains(c.Name, "notice") { // the notice about the last form is in English
			again.AddCookie(c)
		}
	}
	rec := w.answer(again)
	if !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") {
		return
	}
	page, err := goquery.NewDocumentFromReader(rec.Body)
	w.must(err)
	for _, text := range unmarked(page) {
		w.Errorf("%s %s has English text on a Czech page: %s", r.Method, r.URL, text)
	}
	for _, text := range typedTimes(page) {
		w.Errorf("%s %s has a time on a Czech page that is not in the Czech format: %s", r.Method, r.URL, text)
	}
}
