package web_test

import (
	"net/url"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/web"
	"mayfly/web/api"
)

// TestHeadOfTheAPI: whatever GET answers, HEAD answers without the body.
func TestHeadOfTheAPI(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{})
	w.broker.CreateQueue("orders", engine.Config{})
	well := 0
	for _, o := range api.Document().Ordered {
		if o.Method != "GET" {
			continue
		}
		at, query, _ := strings.Cut(o.Example.Address, "?")
		address := "/api/v1" + (&url.URL{Path: at, RawQuery: query}).String()
		got, _ := w.ask("GET", w.dashboard, address)
		head, none := w.ask("HEAD", w.dashboard, address)
		if head.StatusCode != got.StatusCode || head.Header.Get("Content-Type") != got.Header.Get("Content-Type") || none != "" {
			t.Errorf("%s: GET is %d %s, HEAD %d %s %q", address, got.StatusCode, got.Header.Get("Content-Type"), head.StatusCode, head.Header.Get("Content-Type"), none)
		}
		if got.StatusCode == 200 {
			well++
		}
	}
	if well < 10 {
		t.Errorf("only %d addresses were answered with success", well)
	}
}
