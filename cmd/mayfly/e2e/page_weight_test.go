package e2e

import (
	"io"
	"net/http"
	"regexp"
	"testing"

	"mayfly/cmd/mayfly/server"
)

// firstLoad is the limit of bytes that a browser with an empty cache loads in addition to its
// first page. It is close to the current size, so that an increase is a conscious decision.
const firstLoad = 49_100

// TestFirstLoad loads the overview like a browser with an empty cache: with every script,
// stylesheet and drawing of the page, compressed.
func TestFirstLoad(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	get := func(at string) (body []byte, coding string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Dashboard+at, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		if body, err = io.ReadAll(got.Body); err != nil || got.StatusCode != http.StatusOK {
			t.Fatal(at, got.Status, err)
		}
		return body, got.Header.Get("Content-Encoding")
	}
	page, coding := get("/n/default")
	if coding != "" {
		t.Error("the page is compressed, though it contains a form token")
	}
	named, total := map[string]bool{}, 0
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"#]*/static/[^"#]*)`).FindAllSubmatch(page, -1) {
		at := string(m[1])
		if named[at] {
			continue
		}
		named[at] = true
		body, coding := get(at)
		if coding != "gzip" {
			t.Errorf("%s is not compressed", at)
		}
		total += len(body)
		t.Logf("%6d %s", len(body), at)
	}
	if len(named) < 5 {
		t.Errorf("the page names only %v", named)
	}
	if t.Logf("%6d together", total); total > firstLoad {
		t.Errorf("the first load is %d bytes, more than %d", total, firstLoad)
	}
}
