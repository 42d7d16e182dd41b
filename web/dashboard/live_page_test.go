package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/connections"
)

// TestPagesBeginComplete: a page that was opened while it was empty becomes, only by updates of its
// slots and lists, equal to a page that is opened later. Everything else, such as the boxes that
// narrow a list, is there from the start and stays.
func TestPagesBeginComplete(t *testing.T) {
	within(t, func(w *world) {
		still := func(at string) string {
			w.Helper()
			main := w.see(at).Find("main")
			main.Find("[data-slot], [data-list]").Empty()
			main.Find("[data-tone]").RemoveAttr("data-tone")
			main.Find("input[type=hidden], datalist, .starting, .dialled").Remove() // hidden fields, suggestions, and elements that the stylesheet or the next page hides
			html, err := main.Html()
			w.must(err)
			return strings.ReplaceAll(html, "><", ">\n<")
		}
		const n = "/n/default"
		before := map[string]string{}
		look := func(all ...string) {
			for _, at := range all {
				before[at] = still(at)
			}
		}
		look(n+"/queues", n+"/topics", n+"/temporary", n+"/deferred", n+"/deferred?column=seq", n+"/expirations", n+"/expirations?fate=lost", n+"/connections", n+"/activity", n+"/jobs", n+"/alerts")
		sessions := engine.Config{RequiresSession: true}
		w.b.CreateQueue("orders", engine.Config{AutoDeleteOnIdle: time.Hour})
		w.b.CreateQueue("chats", sessions)
		w.b.CreateQueue("via", engine.Config{})
		w.b.CreateQueue("to", engine.Config{Status: engine.StatusSendDisabled})
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		for _, tab := range []string{"messages", "scheduled", "deferred", "locked", "dead-letter"} {
			look(n + "/q/orders?tab=" + tab)
		}
		look(n+"/q/via?tab=transfer", n+"/q/chats?tab=messages", n+"/q/chats?tab=sessions", n+"/t/prices", n+"/t/prices?tab=scheduled")
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/all", engine.Config{})
		look(n+"/t/prices/s/all?tab=messages", n+"/t/prices/s/all?tab=dead-letter")

		at, err := w.b.Now(w.Context())
		w.must(err)
		some := func() []engine.Content {
			return []engine.Content{{Subject: "a", TTL: time.Minute}, {Subject: "b"}, {Subject: "c"}, {Subject: "d", ScheduledFor: at.Add(time.Hour)}, {Subject: "e", TTL: time.Second}}
		}
		w.fill("orders", some()...)
		w.fill("chats", engine.Content{SessionID: "s"})
		w.fill("prices", some()...)
		_, err = w.b.SendVia(w.Context(), "via", "to", []broker.Outgoing{{Content: engine.Content{Subject: "paid"}}}, "test")
		w.must(err)
		w.pass(2 * time.Second)
		w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("orders", engine.ClassActive)[0].Message.Key, "Poison", "", "test"))
		w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("prices/Subscriptions/all", engine.ClassActive)[0].Message.Key, "Poison", "", "test"))
		_, held := w.done(n + "/q/orders/receive")
		path, token, _ := strings.Cut(held, "?lock=")
		w.done(path+"/defer", "lock", token)
		w.done(n + "/q/orders/receive")
		w.clients.Add(connections.Connection{ID: "c-1", Since: time.Now()})
		w.done(n+"/alerts/new", "name", "late", "when", "expiring", "within", "1h", "then", "notify")
		w.done(n+"/jobs/new", "kind", "delete", "path", "orders", "q", "subject:nothing", "count", "0")
		w.pass(time.Second)

		for at, was := range before {
			if d := cmp.Diff(was, still(at)); d != "" {
				t.Errorf("%s is a different page when it has content:\n%s", at, d)
			}
		}
	})
}
