package route_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/views/page/search"
)

// going returns the entries that the go-to list has for a query on the page `from`, each as "group:
// label → address".
func (w *world) going(query, from string) (lines []string) {
	w.Helper()
	m := as[search.GoTo](w, "/n/default/go?"+url.Values{"q": {query}, "at": {from}}.Encode())
	for _, g := range m.Groups {
		for _, i := range g.Items {
			lines = append(lines, g.Title+": "+i.Label+" → "+strings.TrimPrefix(i.Href, "/n/default")+string(i.Action))
		}
	}
	return lines
}

func (w *world) goes(query, from string, want ...string) {
	w.Helper()
	got := w.going(query, from)
	for _, line := range want {
		if !slices.Contains(got, line) {
			w.Errorf("%q from %q: %q is missing in\n%s", query, from, line, strings.Join(got, "\n"))
		}
	}
}

func (w *world) nowhere(query, from, part string) {
	w.Helper()
	for _, line := range w.going(query, from) {
		if strings.Contains(line, part) {
			w.Errorf("%q from %q links to %q", query, from, line)
		}
	}
}

func TestGoTo(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		w.create(engine.Queue, "a/orders", engine.Config{})
		w.create(engine.Queue, "payments", engine.Config{})
		w.create(engine.Topic, "prices", engine.Config{})
		w.create(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		w.send("orders", engine.Content{MessageID: "o-17", Subject: "first"}, engine.Content{MessageID: "o-18", Subject: "second"})
		w.send("payments", engine.Content{MessageID: "o-17", Subject: "paid"})

		// Without a query there are pages, actions and entities.
		w.goes("", "", "Pages: Overview → ", "Pages: Jobs → /jobs", "Do: Create queue → /queues/new", "Do: Switch between light and dark → theme", "Queues, topics, subscriptions: prices/eu → /t/prices/s/eu")
		w.nowhere("", "", "On this page")
		// On an entity's page there are actions on that entity.
		w.goes("", "/n/default/q/orders?tab=locked", "On this page: Send to orders → /q/orders/send", "On this page: Purge orders… → /q/orders/purge", "On this page: Dead letters of orders → /q/orders?tab=dead-letter")
		w.goes("", "/n/default/t/prices", "On this page: Create a subscription of prices → /t/prices/new")
		w.nowhere("", "/n/default/t/prices", "On this page: Purge")
		w.nowhere("", "/n/default/q/nosuch", "On this page")
		w.nowhere("", "javascript:alert(1)", "On this page")

		w.goes("metr", "", "Pages: Metrics → /metrics")
		w.goes("config", "", "Do: Export definitions → /definitions")
		w.goes("dark", "", "Do: Switch between light and dark → theme")
		w.nowhere("metr", "", "Overview")
		w.goes("ORD", "", "Queues, topics, subscriptions: orders → /q/orders", "Queues, topics, subscriptions: a/orders → /q/a%2Forders", "With these: Send to orders → /q/orders/send")
		if got := w.going("ord", "")[0]; got != "Queues, topics, subscriptions: orders → /q/orders" {
			t.Errorf("the first entry is %s", got) // its name begins with the query
		}
		w.nowhere("ord", "", "payments")
		w.goes("purge pay", "", "With these: Purge payments… → /q/payments/purge")
		w.nowhere("purge pay", "", "Send to payments")
		w.goes("send to pri", "", "With these: Send to prices → /t/prices/send")
		w.goes("delete eu", "", "With these: Delete prices/eu… → /t/prices/s/eu/delete")
		w.nowhere("send eu", "", "With these: Send to prices/eu")
		w.goes("purge", "/n/default/q/orders", "With these: Purge orders… → /q/orders/purge")
		purges := 0
		for _, line := range w.going("purge", "/n/default/q/orders") {
			purges += strings.Count(line, "/q/orders/purge")
		}
		if purges != 1 {
			t.Errorf("the purge of orders is listed %d times", purges)
		}

		rows := w.b.Rows("orders")
		key := fmt.Sprint("/m/", rows[1].Message.Key)
		w.goes("2", "", "Messages: #2 in orders → "+key, "Messages: Search messages for “2” → /search?q=2")
		w.goes("#2", "", "Messages: #2 in orders → "+key)
		w.nowhere("3", "", "Messages: #")
		w.goes("o-18", "", "Messages: #2 in orders → "+key)
		w.goes("O-17", "", "Messages: #1 in orders → "+fmt.Sprint("/m/", rows[0].Message.Key), "Messages: #1 in payments → "+fmt.Sprint("/m/", w.b.Rows("payments")[0].Message.Key))
		w.nowhere("o-1", "", "Messages: #")
		w.goes(`a "b`, "", "Messages: Search messages for “a \"b” → /search?q=a+%22b")
		w.goes("zzz", "", "Messages: Search messages for “zzz” → /search?q=zzz")

		w.settle(w.receive("orders"), engine.Complete, "")
		w.nowhere("1", "", "in orders") // the next sequence number is no substitute

		// Every address is valid.
		for _, query := range []string{"", "o", "new", "send", "purge"} {
			m := as[search.GoTo](w, "/n/default/go?q="+query+"&at=/n/default/q/orders")
			for _, g := range m.Groups {
				for _, i := range g.Items {
					if i.Action == "" && !i.File && strings.Contains(i.Href, "/n/default") && !strings.HasSuffix(i.Href, "/api") {
						if _, err := w.pages.Parse(i.Href); err != nil {
							t.Errorf("%s links to %s: %v", i.Label, i.Href, err)
						}
					}
				}
			}
		}
		if topic, err := w.pages.Topic("/n/default/go"); err == nil {
			t.Errorf("the list has the live topic %s", topic)
		}
	})
}

// However many entities match, only a few are listed, with the number of the others.
func TestGoToAmongMany(t *testing.T) {
	isConfined(t, func(w *world) {
		for i := range 200 {
			w.create(engine.Queue, engine.Path(fmt.Sprintf("queue-%03d", i)), engine.Config{})
		}
		w.goes("queue-", "", "Queues, topics, subscriptions: 192 more → /queues?q=queue-")
		w.goes("199", "", "Queues, topics, subscriptions: queue-199 → /q/queue-199", "With these: Purge queue-199… → /q/queue-199/purge")
		if n := len(w.going("que", "")); n > 20 {
			t.Errorf("got %d lines", n)
		}
		if n := len(w.going("send", "")); n > 20 {
			t.Errorf("got %d lines", n)
		}
		if n := strings.Count(strings.Join(w.going("s", ""), "\n"), "With these"); n > 16 {
			t.Errorf("got %d actions", n)
		}
		w.goes("send 150", "", "With these: Send to queue-150 → /q/queue-150/send")
	})
}
