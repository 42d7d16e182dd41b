package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/static"
	"mayfly/web"
)

func TestStaticFilesMayBeKept(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{})
	got, text := w.ask("GET", w.dashboard, static.URL("app.css"))
	if got.StatusCode != 200 || !strings.Contains(got.Header.Get("Cache-Control"), "immutable") || text == "" {
		t.Errorf("got %d %v", got.StatusCode, got.Header)
	}
	if got, _ := w.ask("GET", w.dashboard, "/static/app-old.css", "Accept-Encoding", "gzip"); got.StatusCode != 404 || got.Header.Get("Content-Encoding") != "" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the response to an old address is %d %v", got.StatusCode, got.Header)
	}
	if got, _ := w.ask("GET", w.dashboard, "/healthz"); got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a page may be cached: %v", got.Header)
	}
}

func TestStaticFilesAreCompressed(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{})
	at := static.URL("live.js")
	name := strings.TrimPrefix(at, static.Prefix)
	whole, _, _ := static.Open(name)
	plain, zipped := string(whole), string(static.Zipped(name))
	const gz, identity = "gzip", "identity"
	tag, tagOfZip := `"`+name+`"`, `"`+name+`.gz"`
	for about, tc := range map[string]struct {
		method  string
		headers []string
		status  int
		text    string
		coding  string
		tag     string
	}{
		"whoever takes it":         {"GET", []string{"Accept-Encoding", "gzip, deflate, br"}, 200, zipped, gz, tagOfZip},
		"written otherwise":        {"GET", []string{"Accept-Encoding", "br;q=1, GZIP ; q=0.5"}, 200, zipped, gz, tagOfZip},
		"any":                      {"GET", []string{"Accept-Encoding", "*"}, 200, zipped, gz, tagOfZip},
		"any but that":             {"GET", []string{"Accept-Encoding", "gzip;q=0, *"}, 200, plain, "", tag},
		"that, and no other":       {"GET", []string{"Accept-Encoding", "*;q=0, gzip"}, 200, zipped, gz, tagOfZip},
		"none":                     {"GET", []string{"Accept-Encoding", identity}, 200, plain, "", tag},
		"another":                  {"GET", []string{"Accept-Encoding", "br, gzipped"}, 200, plain, "", tag},
		"nonsense":                 {"GET", []string{"Accept-Encoding", "gzip;q=much"}, 200, plain, "", tag},
		"its head":                 {"HEAD", []string{"Accept-Encoding", gz}, 200, "", gz, tagOfZip},
		"the head of the plain":    {"HEAD", []string{"Accept-Encoding", identity}, 200, "", "", tag},
		"who has it":               {"GET", []string{"Accept-Encoding", gz, "If-None-Match", tagOfZip}, 304, "", "", tagOfZip},
		"who has the plain one":    {"GET", []string{"Accept-Encoding", identity, "If-None-Match", tag}, 304, "", "", tag},
		"who has the other one":    {"GET", []string{"Accept-Encoding", identity, "If-None-Match", tagOfZip}, 200, plain, "", tag},
		"who wants the other one":  {"GET", []string{"Accept-Encoding", gz, "If-Match", tag}, 412, "", gz, tagOfZip},
		"a part":                   {"GET", []string{"Accept-Encoding", gz, "Range", "bytes=3-12"}, 206, plain[3:13], "", tag},
		"a part of what there was": {"GET", []string{"Accept-Encoding", gz, "Range", "bytes=3-12", "If-Range", tagOfZip}, 200, plain, "", tag},
		"a part beyond the end":    {"GET", []string{"Accept-Encoding", gz, "Range", "bytes=9999999-"}, 416, "*", "", ""},
	} {
		t.Run(about, func(t *testing.T) {
			got, text := (&world{T: t}).ask(tc.method, w.dashboard, at, tc.headers...)
			if got.StatusCode != tc.status || tc.text != "*" && text != tc.text {
				t.Errorf("got %d with %d bytes, want %d with %d", got.StatusCode, len(text), tc.status, len(tc.text))
			}
			if h := got.Header; h.Get("Content-Encoding") != tc.coding || h.Get("Etag") != tc.tag || h.Get("Vary") != "Accept-Encoding" {
				t.Errorf("got %v", h)
			}
			if tc.status >= 300 {
				return
			}
			long := len(tc.text)
			if tc.method == "HEAD" {
				long = map[string]int{"": len(plain), gz: len(zipped)}[tc.coding]
			}
			if h := got.Header; got.ContentLength != int64(long) || h.Get("Content-Type") != "text/javascript; charset=utf-8" || !strings.Contains(h.Get("Cache-Control"), "immutable") {
				t.Errorf("%d bytes, want %d; %v", got.ContentLength, long, h)
			}
		})
	}
}

// TestNothingElseIsCompressed: only static files are compressed. A page has the form token, which
// an attacker could guess from compressed sizes.
func TestNothingElseIsCompressed(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{Pages: func(g *echo.Group) {
		g.GET("/n/:ns", func(c echo.Context) error { return c.HTML(http.StatusOK, strings.Repeat("page ", 1000)) })
	}})
	for _, at := range []string{"/n/default", "/api/v1/entities", "/readyz", "/grafana.json", "/nowhere"} {
		if got, _ := w.ask("GET", w.dashboard, at, "Accept-Encoding", "gzip"); got.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed", at)
		}
	}
}
