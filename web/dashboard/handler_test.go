package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/connections"
)

func TestFirstStart(t *testing.T) {
	within(t, func(w *world) {
		if a := w.get("/"); a.status != http.StatusFound || a.to != "/n/default" {
			t.Fatalf("/ returned %d with the address %q", a.status, a.to)
		}
		w.see("/n/default").wants(200, "Nothing lives here yet", "curl http://127.0.0.1:5300/starter/messages")
		says, at := w.done("/n/default/starter")
		if at != "/n/default/q/starter" || !strings.Contains(says, "Sent 20 messages to starter") {
			t.Errorf("redirected to %s with the notice %q", at, says)
		}
		e := w.b.State("starter")
		if e.Counts.Active != 17 || e.Counts.Scheduled != 3 || !e.Config.DeadLetteringOnMessageExpiration {
			t.Errorf("the starter queue has %+v", e.Counts)
		}
		if n := w.see(at).Find("[data-list=rows] [data-key]").Length(); n != 20 {
			t.Errorf("%d rows are shown", n)
		}
		w.pass(16 * time.Second)
		w.see(at+"?tab=dead-letter").wants(200, "TTLExpiredException", "order.placed")
		w.done("/n/default/starter") // the queue exists already
		if n := w.b.State("starter").Counts.MessageCount(); n != 40 {
			t.Errorf("%d messages after the second time", n)
		}
	})
}

// TestOverviewTeachesOn: tutorials are offered beside the title while there is little content
// and no client is connected.
func TestOverviewTeachesOn(t *testing.T) {
	withinNamespaces(t, openManager, func(w *world) {
		offers := func(when string, want bool, home string) {
			w.Helper()
			a := w.see(home)
			if got := a.Find(`[data-slot=learn] [formaction$="/starter"]`).Length() == 1; got != want {
				w.Errorf("%s: the offer to fill a queue is %t, want %t", when, got, want)
			}
			if got := a.Find(`[data-slot=learn] a[href="/scenes"]`).Length() == 1; got != want {
				w.Errorf("%s: the offer of scenes is %t, want %t", when, got, want)
			}
		}
		const home = "/n/default"
		offers("the welcome says it", false, home)
		w.b.CreateQueue("a", engine.Config{})
		offers("one queue", true, home)
		w.done(home + "/starter")
		w.b.CreateQueue("b", engine.Config{})
		offers("three", true, home)
		w.b.CreateQueue("c", engine.Config{})
		offers("four", false, home)
		w.must(w.b.Delete(w.Context(), "c", broker.Unconfirmed, "test"))
		w.clients.Add(connections.Connection{ID: "c-1", Since: time.Now()})
		offers("a program is connected", false, home)
	})
}

func TestNoticeIsShownOnce(t *testing.T) {
	within(t, func(w *world) {
		a := w.post("/n/default/queues", "name", "orders")
		if n := w.see(a.to).Find("[data-notice] .notice").Length(); n != 1 {
			t.Errorf("got %d notices", n)
		}
		if n := w.see(a.to).Find("[data-notice] .notice").Length(); n != 0 {
			t.Errorf("got %d notices the second time", n)
		}
	})
}

// TestNoticePasses: a notice of success disappears by itself, later if it is longer; a warning
// stays until the user leaves the page.
func TestNoticePasses(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		for _, tc := range []struct{ what, to, stays string }{
			{"done", "/n/default/q/orders/send", "10"},
			{"done, with details", "/n/default/starter", "20"},
			{"a warning", "/n/default/undo/17", ""},
		} {
			a := w.post(tc.to, "body", "x")
			if n := w.see(a.to).Find("[data-notice] .notice"); n.Length() != 1 || n.AttrOr("data-stays", "") != tc.stays || n.Find("[data-act=dismiss]").Length() != len(tc.stays)/2 {
				html, err := n.Html()
				t.Errorf("%s: %s %v", tc.what, html, err)
			}
		}
	})
}

func TestForgedFormIsRefused(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{Subject: "one"})
		m := w.first("orders", engine.ClassAll)
		good := w.token()
		for name, form := range map[string]url.Values{
			"no token":      {"name": {"forged"}, "count": {"1"}, "confirm": {"orders"}},
			"a wrong token": {"csrf": {good + "x"}, "name": {"forged"}, "count": {"1"}, "confirm": {"orders"}},
		} {
			for _, to := range []string{
				"/n/default/queues", "/n/default/topics", "/n/default/starter", "/n/default/q/orders/edit", "/n/default/q/orders/delete",
				"/n/default/q/orders/send", "/n/default/q/orders/receive", "/n/default/q/orders/purge", "/n/default/q/orders/touch",
				"/n/default/q/orders/resubmit", "/n/default/q/orders/bulk/delete", m + "/delete", m + "/complete", m + "/dead-letter",
				m + "/extend", m + "/fetch", "/n/default/tombstones/1/restore",
			} {
				if a := w.send(to, form); a.status != http.StatusForbidden {
					t.Errorf("%s to %s: %d", name, to, a.status)
				}
			}
		}
		if e := w.b.State("orders"); e.Counts.Active != 1 || e.Counts.Locked != 0 {
			t.Errorf("something was changed: %+v", e.Counts)
		}
	})
}

func TestFormsThatCannotBeRead(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		for name, tc := range map[string]struct {
			form   string
			status int
			says   string
		}{
			"too large": {"csrf=" + w.token() + "&body=" + strings.Repeat("x", 2<<20), http.StatusRequestEntityTooLarge, "larger than the 1.8 MB allowed"},
			"malformed": {"csrf=" + w.token() + "&body=%zz", http.StatusBadRequest, "cannot be read"},
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/n/default/q/orders/send", strings.NewReader(tc.form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if a := w.do(r); a.status != tc.status || !strings.Contains(a.Find("main").Text(), tc.says) {
				t.Errorf("%s: %d %q", name, a.status, a.Find("main").Text())
			}
		}
		if e := w.b.State("orders"); e.Counts.Active != 0 {
			t.Errorf("something was sent: %+v", e.Counts)
		}
	})
}

func TestAddressesThatAreNone(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		for _, to := range []string{
			"/n/other", "/n/default/q/none", "/n/default/q/orders/explode", "/n/default/nothing", "/n/default/m/0", "/n/default/m/abc",
			"/n/default/m/99", "/n/default/m/99/delete", "/n/default/m/99/body", "/n/default/q/..%2F..%2Fetc", "/n/default/t/orders/s/eu",
			"/n/default/q/" + strings.Repeat("a", 261), "/nowhere",
		} {
			a := w.get(to)
			if a.status != http.StatusNotFound || a.Find("h1").Length() != 1 {
				t.Errorf("GET %s: %d", to, a.status)
			}
		}
		for _, to := range []string{"/n/default/m/99/complete", "/n/default/q/none/edit", "/n/default/q/none/send", "/n/default/q/none/purge", "/n/default/tombstones/7/restore", "/n/default/t/none/new"} {
			if a := w.post(to, "count", "1", "lock", "00000000000000000000000000000000", "name", "x", "state", "active"); a.status != http.StatusNotFound && a.status != http.StatusGone {
				t.Errorf("POST %s: %d", to, a.status)
			}
		}
	})
}

func TestNobodyIsLedAway(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{AutoDeleteOnIdle: time.Hour})
		for _, back := range []string{
			"https://evil.example/n/default", "//evil.example/n/default", "/\\evil.example", "/n/other", "javascript:alert(1)",
			"/n/default/q/orders/delete", "", "/n/default\r\nSet-Cookie: a=b", "/api/v1",
		} {
			if a := w.post("/n/default/q/orders/touch", "back", back); a.to != "/n/default/q/orders" {
				t.Errorf("back=%q redirects to %q", back, a.to)
			}
		}
		if a := w.post("/n/default/q/orders/touch", "back", "/n/default/temporary"); a.to != "/n/default/temporary" {
			t.Errorf("redirected to %q", a.to)
		}
	})
}

func TestReadOnly(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{Subject: "one"})
		w.store.broken.Store(true)
		a := w.post("/n/default/q/orders/send", "body", "two")
		if a.status != http.StatusServiceUnavailable {
			t.Errorf("a send returned %d", a.status)
		}
		w.see("/n/default/q/orders").wants(200, "Read-only", "one")
		w.store.broken.Store(false)
		w.pass(2 * time.Second)
		w.done("/n/default/q/orders/send", "body", "two")
		if strings.Contains(w.see("/n/default").text, "Read-only") {
			t.Error("the banner is still shown")
		}
	})
}

// TestStoreThatDoesNotAnswer: if the store does not answer, the page for a sent form says that the
// outcome is unknown, and does not offer to try again. The page for a GET does.
func TestStoreThatDoesNotAnswer(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		token := w.token()
		post := func(pairs ...string) answer {
			return w.send("/n/default/q/orders/send", url.Values{"csrf": {token}, "body": {"x"}, "repeat": {"1"}, "back": pairs})
		}
		w.store.mute.Store(true)
		never := []string{"Nothing was changed", "Wait a moment"} // the outcome is unknown
		a := post("/n/default/q/orders")
		a.wants(503, "The store did not answer in time, so this may or may not have happened. Check before you retry.", "Back to where you were")
		a.lacks(append(never, "Try again")...)
		a = post()
		a.wants(503, "The store failed and is being reopened; nothing was done.")
		a.lacks(append(never, "Try again")...)
		a = w.get("/n/default/q/orders?class=active&drawer=1")
		a.wants(503, "The store failed and is being reopened; nothing was done.", "Try again")
		a.lacks(never...)
		to, _ := a.Find(".failed a").Attr("href")
		w.store.mute.Store(false)
		w.pass(time.Minute)
		w.see(to)
		if n := w.b.State("orders").Counts.Active; n != 1 {
			t.Errorf("got %d messages at the end", n)
		}
	})
}

func TestWhoDidIt(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.done("/n/default/q/orders/send", "body", "one")
		w.remote = "192.0.2.7:4000"
		w.done("/n/default/q/orders/send", "body", "two")
		var actors []string
		for _, e := range w.b.Events().Recent(10) {
			if e.Kind == engine.EventSent {
				actors = append(actors, e.Actor)
			}
		}
		if got := strings.Join(actors, ", "); got != "dashboard, dashboard 192.0.2.7" {
			t.Errorf("sent by %s", got)
		}
	})
}

func TestViewIsRecordedOnceAMinute(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("reply", engine.Config{AutoDeleteOnIdle: time.Hour})
		looks := func() (n int) {
			for _, u := range w.b.State("reply").Uses {
				if u.What == "view" && !u.Counted {
					n++
				}
			}
			return n
		}
		w.see("/n/default/q/reply")
		w.see("/n/default/q/reply")
		if n := looks(); n != 1 {
			t.Errorf("%d views are recorded, want 1", n)
		}
		w.pass(time.Minute)
		w.see("/n/default/q/reply")
		if n := looks(); n != 2 {
			t.Errorf("%d views are recorded, want 2", n)
		}
	})
}

func TestPageThatIsNotThereSaysSoInItsTitle(t *testing.T) {
	within(t, func(w *world) {
		for url, want := range map[string]string{"/nowhere": "Not there · default · Mayfly", "/n/default/q/none/send": "Not there · default · Mayfly"} {
			if a := w.get(url); a.status != 404 || a.Find("title").Text() != want {
				t.Errorf("%s: got %d %q", url, a.status, a.Find("title").Text())
			}
		}
	})
}
