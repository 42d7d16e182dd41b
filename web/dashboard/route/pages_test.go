package route_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/views/page/message"
	"mayfly/views/page/overview"
	"mayfly/web/dashboard/pages"
)

// market fills a namespace with entities and messages of many kinds.
func market(w *world) {
	w.create(engine.Queue, "orders", engine.Config{DefaultMessageTimeToLive: 5 * time.Minute, DeadLetteringOnMessageExpiration: true, LockDuration: 30 * time.Second})
	w.create(engine.Queue, "a/b", engine.Config{})
	w.create(engine.Queue, "reply", engine.Config{AutoDeleteOnIdle: 5 * time.Minute})
	w.create(engine.Queue, "held", engine.Config{AutoDeleteOnIdle: 5 * time.Minute})
	w.create(engine.Queue, "pinned", engine.Config{AutoDeleteOnIdle: 5 * time.Minute})
	w.must(w.b.Pin(w.Context(), "pinned", "test"))
	w.create(engine.Queue, "sessions", engine.Config{RequiresSession: true})
	w.create(engine.Topic, "prices", engine.Config{DefaultMessageTimeToLive: time.Hour})
	w.create(engine.Subscription, "prices/Subscriptions/eu", engine.Config{DefaultMessageTimeToLive: time.Minute})
	w.create(engine.Subscription, "prices/Subscriptions/us", engine.Config{})
	now := w.now()
	w.send("orders", engine.Content{Subject: "dead", MessageID: "d-1"})
	w.settle(w.receive("orders"), engine.DeadLetter, "Poison")
	w.send("orders", engine.Content{Subject: "parked", MessageID: "p-1"})
	w.settle(w.receive("orders"), engine.Defer, "")
	w.send("orders", engine.Content{Subject: "held", MessageID: "h-1"})
	w.receive("orders")
	w.send("orders",
		engine.Content{Subject: "order.placed", MessageID: "o-1", TTL: time.Hour},
		engine.Content{Subject: "order.paid", MessageID: "o-2", TTL: 30 * time.Second, ContentType: "application/json"},
		engine.Content{Subject: "later", ScheduledFor: now.Add(time.Hour)})
	w.send("held", engine.Content{Subject: "later", ScheduledFor: now.Add(time.Hour)})
	w.send("prices", engine.Content{Subject: "price.changed", TTL: 10 * time.Minute})
	w.send("a/b", engine.Content{MessageID: "plain"})
}

var marketPages = []string{
	"/n/default", "/n/default/expirations", "/n/default/expirations?fate=dead", "/n/default/expirations?within=1m&fate=lost",
	"/n/default/expirations?top=100", "/n/default/queues", "/n/default/queues?sort=dead&dir=down&q=o", "/n/default/queues?sort=expiry",
	"/n/default/topics", "/n/default/topics?sort=subscriptions&dir=down", "/n/default/temporary", "/n/default/deferred",
	"/n/default/q/orders", "/n/default/q/orders?tab=scheduled", "/n/default/q/orders?tab=deferred", "/n/default/q/orders?tab=locked",
	"/n/default/q/orders?tab=dead-letter", "/n/default/q/orders?tab=dead-letter&reason=Poison", "/n/default/q/orders?tab=settings",
	"/n/default/q/orders?from=3", "/n/default/q/a%2Fb", "/n/default/q/ORDERS", "/n/default/q/reply", "/n/default/q/sessions",
	"/n/default/t/prices", "/n/default/t/prices?tab=scheduled", "/n/default/t/prices?tab=settings",
	"/n/default/t/prices/s/eu", "/n/default/t/prices/s/eu?tab=rules", "/n/default/t/prices/s/eu?tab=dead-letter",
	"/n/default/lab", "/n/default/lab?topic=prices", "/n/default/lab?from=7", "/n/default/t/prices/new?key=7",
	"/n/default/t/prices/s/eu/rules/new", "/n/default/t/prices/s/eu/rules/edit?rule=%24Default", "/n/default/t/prices/s/eu/rules/try?rule=%24DEFAULT",
	"/n/default/queues/new", "/n/default/queues/new?temporary=1", "/n/default/topics/new", "/n/default/t/prices/new",
	"/n/default/q/orders/edit", "/n/default/t/prices/edit", "/n/default/t/prices/s/eu/edit",
	"/n/default/q/orders/send", "/n/default/t/prices/send", "/n/default/q/orders/delete", "/n/default/t/prices/delete",
	"/n/default/q/orders/purge", "/n/default/q/orders/purge?state=dead-letter", "/n/default/q/orders/resubmit",
	"/n/default/m/1",
}

func TestEveryPageIsSound(t *testing.T) {
	isConfined(t, func(w *world) {
		for _, url := range []string{"/n/default", "/n/default/expirations", "/n/default/queues", "/n/default/topics", "/n/default/temporary", "/n/default/deferred"} {
			w.sound(url)
		}
		market(w)
		for _, url := range marketPages {
			w.sound(url)
		}
		doc := w.read("/n/default/q/orders")
		for i := range doc.Find("[data-list=rows] [data-key]").Nodes {
			url := "/n/default/m/" + doc.Find("[data-list=rows] [data-key]").Eq(i).AttrOr("data-key", "")
			for _, view := range []string{"", "?view=hex", "?view=raw", "?view=headers", "/delete", "/dead-letter", "/extend", "/cancel", "/reschedule", "/resubmit"} {
				w.sound(url + view)
			}
		}
		w.pass(time.Minute)
		for _, url := range marketPages {
			w.sound(url)
		}
		w.pass(time.Hour)
		for _, url := range marketPages {
			if !strings.Contains(url, "/q/reply") {
				w.sound(url)
			}
		}
	})
}

func TestWhatIsNotThere(t *testing.T) {
	isConfined(t, func(w *world) {
		market(w)
		for url, want := range map[string]error{
			"/n/default/q/none":                   engine.ErrNotFound,
			"/n/default/q/none/edit":              engine.ErrNotFound,
			"/n/default/t/prices/s/none":          engine.ErrNotFound,
			"/n/default/t/none/new":               engine.ErrNotFound,
			"/n/default/m/1/delete":               engine.ErrMessageNotFound,
			"/n/other":                            pages.ErrPageNotFound,
			"/n/default/q/orders/explode":         pages.ErrPageNotFound,
			"/n/default/q/orders/touch":           pages.ErrPageNotFound,
			"/n/default/m/1/complete":             pages.ErrPageNotFound,
			"/n/default/m/x":                      pages.ErrPageNotFound,
			"/n/default/t/prices/resubmit":        pages.ErrPageNotFound,
			"/n/default/lab/new":                  pages.ErrPageNotFound,
			"/n/default/q/orders/rules/new":       pages.ErrPageNotFound,
			"/n/default/t/prices/rules/new":       pages.ErrPageNotFound,
			"/n/default/t/prices/s/eu/rules/edit": engine.ErrNotFound,
		} {
			if _, _, err := w.pages.Open(w.Context(), url); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", url, err, want)
			}
		}
		if m, ok := w.open("/n/default/m/99").(message.Message); !ok || !m.Missing {
			t.Errorf("an unknown message has a page of its own: %+v", m)
		}
	})
}

// TestShellLine checks that the overview's shell command sends to a queue that accepts the message:
// not to a disabled one, or one that requires sessions.
func TestShellLine(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "a", engine.Config{Status: engine.StatusDisabled})
		w.create(engine.Queue, "b", engine.Config{RequiresSession: true})
		w.create(engine.Topic, "c", engine.Config{})
		w.create(engine.Queue, "d", engine.Config{Status: engine.StatusReceiveDisabled})
		if m := w.open("/n/default").(pages.Refreshing).Page.(overview.Overview); !strings.Contains(m.Connect.Curl, "/d/messages") {
			t.Errorf("got %q", m.Connect.Curl)
		}
	})
}

func TestTopic(t *testing.T) {
	isConfined(t, func(w *world) {
		for raw, want := range map[string]string{
			"/n/default/q/orders?tab=locked&x=y":    "/n/default/q/orders?tab=locked",
			"/n/default/q/%6Frders?tab=locked":      "/n/default/q/orders?tab=locked",
			"/n/default/queues?sort=name&dir=up":    "/n/default/queues?dir=up&sort=name",
			"/n/default/q/orders/edit":              "",
			"/n/default/lab?x=y&topic=p":            "/n/default/lab?topic=p",
			"/n/default/lab/new?key=1":              "",
			"/n/default/t/p/s/eu/rules/new":         "",
			"/n/default/queues/new":                 "",
			"/n/default/m/1/extend":                 "",
			"/n/other":                              "",
			"/n/default/tombstones/7-42/restore?x=": "",
		} {
			got, err := w.pages.Topic(raw)
			if got != want || (want == "") != errors.Is(err, pages.ErrPageNotFound) {
				t.Errorf("%s is %q, %v; want %q", raw, got, err, want)
			}
		}
	})
}
