package dashboard_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	adminpage "mayfly/views/page/admin"
	"mayfly/web/dashboard"
	"mayfly/web/dashboard/admin"
	"mayfly/web/presentation"
)

// TestLinkIsDrawnForOthers: a visitor at loopback sees that others cannot reach that address,
// and how they could; at another name there is a code to scan, and no such warning.
func TestLinkIsDrawnForOthers(t *testing.T) {
	within(t, func(w *world) {
		e, d := echo.New(), dashboard.New(dashboard.Options{Broker: w.b.Broker, Pages: w.pages, Presentations: new(presentation.Registry), Logger: slog.New(slog.DiscardHandler)})
		d.Mount(e.Group(""))
		w.handler = e
		for at, only := range map[string]bool{"http://127.0.0.1:8080": true, "http://localhost:8080": true, "http://[::1]:8080": true, "http://mayfly.example:8080": false} {
			for what, a := range map[string]answer{"before": w.get(at + "/n/default/share"), "begun": w.post(at+"/n/default/share", adminpage.ShareFor, admin.ShareLifetimes()[0].String())} {
				if told := strings.Contains(a.text, "--insecure") && strings.Contains(a.text, "--http 0.0.0.0:8080 --auth"); told != only {
					t.Errorf("%s, %s: the hint for other machines is shown: %v, want %v", at, what, told, only)
				}
			}
			if a := w.get(at + "/n/default/share"); a.Find("svg.qr").Length() == 0 != only || !strings.Contains(a.Find(".snippet code").Text(), at+"/follow/") {
				t.Errorf("%s: got %d codes, and the link %s", at, a.Find("svg.qr").Length(), a.Find(".snippet code").Text())
			}
			w.post(at + "/n/default/share/stop")
		}
	})
}

// TestTalksOfTwoServers: a browser can present at two ports of a host at once, each with its own
// cookie for the presenter's key, which is Secure only at the port with TLS. Stopping one
// presentation keeps the cookie of the other.
func TestTalksOfTwoServers(t *testing.T) {
	within(t, func(w *world) {
		e, d := echo.New(), dashboard.New(dashboard.Options{Broker: w.b.Broker, Pages: w.pages, Presentations: new(presentation.Registry), Logger: slog.New(slog.DiscardHandler)})
		d.Mount(e.Group(""))
		w.handler = e
		for _, at := range []string{"http://example.com:8080", "https://example.com:8443"} {
			if got := w.post(at+"/n/default/share", adminpage.ShareFor, admin.ShareLifetimes()[0].String()); got.status != http.StatusOK {
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
			t.Errorf("the browser has the keys of %d presentations", keys)
		}
		if w.post("https://example.com:8443/n/default/share/stop"); len(w.cookies) == 0 || w.cookies["mayfly_talk_8080"] == nil || w.cookies["mayfly_talk_8443"] != nil {
			t.Errorf("the end of one presentation leaves %v", w.cookies)
		}
	})
}
