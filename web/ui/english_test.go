package ui_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"mayfly/views/locale"
)

// englishWords are common ones that no Czech word looks like.
var englishWords = regexp.MustCompile(`\b([Tt]he|is|are|was|were|which|[Tt]here|cannot|can|must|has|have|with|of|not|and|or|than|[Tt]his|[Tt]hat|[Ww]hat|where|already|it|[Ii]t|for|from|an|at|most|least|allowed|expected|value|characters|missing)\b`)

// given is English that nobody says in these tests but messages have: the descriptions of
// dead letters, which whoever puts them aside gives.
var given = regexp.MustCompile(`it was bad|The message expired and was dead lettered\.`)

// unmarked are the English sentences of a page that is in Czech, but for those that it
// says to be English, and what is written by and for machines.
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

// typed is a time as it is typed, in every language.
var typed = regexp.MustCompile(`(?:^|[\s(,;:])(\d+(?:ms|[smhd])|\d[ \x{a0}]m)(?:$|[\s),;:.])`)

// typedTimes are those of a page that stand where nothing is said about typing them.
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

// inCzech has the same asked for in Czech that was looked at, or was refused, and nothing
// in the page may be English without saying so (WCAG 3.1.2), nor a time be written but as
// the language does.
func (w *world) inCzech(r *http.Request, body []byte, status int) {
	w.Helper()
	if r.Method != http.MethodGet && status < http.StatusBadRequest || status >= http.StatusInternalServerError {
		return
	}
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.Header.Set("Accept-Language", "cs")
	again.Header.Del("Cookie")
	for _, c := range r.Cookies() {
		if c.Name != locale.Cookie && !strings.Contains(c.Name, "notice") { // what is said of the last form was said in English
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
		w.Errorf("%s %s says in a page in Czech: %s", r.Method, r.URL, text)
	}
	for _, text := range typedTimes(page) {
		w.Errorf("%s %s has a time in a page in Czech that is as one types it: %s", r.Method, r.URL, text)
	}
}
