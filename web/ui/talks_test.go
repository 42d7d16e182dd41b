package ui_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/views/page"
	"mayfly/web/show"
	"mayfly/web/talk"
	"mayfly/web/ui"
)

// TestTalksOfTwoServers: what a browser presents at one port of a host is not what it
// presents at another, and with TLS its key does not travel without.
func TestTalksOfTwoServers(t *testing.T) {
	within(t, func(w *world) {
		e, d := echo.New(), ui.New(ui.Options{Broker: w.b, Pages: w.pages, Hall: new(talk.Hall), Logger: slog.New(slog.DiscardHandler)})
		d.Mount(e.Group(""))
		w.door = e
		for _, at := range []string{"http://example.com:8080", "https://example.com:8443"} {
			if got := w.post(at+"/n/default/share", page.ShareFor, show.ShareFor()[0].String()); got.status != http.StatusOK {
				t.Fatal(at, got.status, got.text)
			}
		}
		keys := 0
		for name, c := range w.cookies {
			if !strings.HasPrefix(name, "mayfly_talk") {
				continue
			}
			if keys++; c.Secure != strings.HasSuffix(name, "_8443") || !c.HttpOnly {
				t.Errorf("the cookie is %s", c)
			}
		}
		if keys != 2 {
			t.Errorf("the browser has the keys of %d talks", keys)
		}
		if w.post("https://example.com:8443/n/default/share/stop"); len(w.cookies) == 0 || w.cookies["mayfly_talk_8080"] == nil || w.cookies["mayfly_talk_8443"] != nil {
			t.Errorf("the end of one leaves %v", w.cookies)
		}
	})
}
