package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/client"
)

var shots = flag.String("shots", "", "write a picture of every page to this directory, to be looked at")

// furnish fills the namespace with everything that pages can show.
func furnish(v *visit) {
	v.create("queue", "orders", `{"DeadLetteringOnMessageExpiration":true,"DefaultMessageTimeToLive":"PT1H","LockDuration":"PT5M"}`)
	v.create("queue", "payments", `{"LockDuration":"PT1M"}`)
	v.create("queue", "empty", `{}`)
	v.create("queue", "a/very/long/name-without-any-break-"+strings.Repeat("in-it-whatsoever-", 6)+"end", `{"DefaultMessageTimeToLive":"PT10M"}`)
	v.create("queue", "reply-7f3a", `{"AutoDeleteOnIdle":"PT25S"}`)
	v.create("queue", "reply-c40d", `{"AutoDeleteOnIdle":"PT5M"}`)
	v.create("queue", "held-b2", `{"AutoDeleteOnIdle":"PT20M"}`)
	v.create("queue", "gone-1", `{"AutoDeleteOnIdle":"PT1S"}`)
	v.create("topic", "prices", `{}`)
	v.create("subscription", "prices/subscriptions/eu", `{"DefaultMessageTimeToLive":"PT30M","DeadLetteringOnMessageExpiration":true}`)
	v.create("subscription", "prices/subscriptions/preview-lisbon", `{"AutoDeleteOnIdle":"PT8M"}`)
	for i, ttl := range []int{1, 1, 2, 12, 25, 45, 70, 95, 150, 240, 400, 900, 1500, 2400, 3600, 3600} {
		v.send("orders", fmt.Sprintf(`{"Label":"order.placed","MessageId":"o-%d","TimeToLive":%d,"ContentType":"application/json","CorrelationId":"c-%[1]d"}`, 88410+i, ttl),
			fmt.Sprintf(`{"order":%d,"customer":{"id":%d,"city":"Ústí nad Labem","vip":true},"total":129.900000000000000001,"note":"<script>alert(1)</script>"}`, 88410+i, 4400+i))
	}
	for i := range 6 {
		v.send("payments", fmt.Sprintf(`{"Label":"payment.captured","MessageId":"p-%d","TimeToLive":%d}`, i, 20+40*i), fmt.Sprintf("plain text number %d", i))
	}
	v.send("payments", `{"Label":"reminder","ScheduledEnqueueTimeUtc":"`+time.Now().Add(12*time.Minute).UTC().Format(http.TimeFormat)+`"}`, "later")
	v.send("held-b2", `{"Label":"reminder","ScheduledEnqueueTimeUtc":"`+time.Now().Add(40*time.Minute).UTC().Format(http.TimeFormat)+`"}`, "later")
	v.send("orders", `{"Label":"invoice.due","ScheduledEnqueueTimeUtc":"`+time.Now().Add(3*time.Hour).UTC().Format(http.TimeFormat)+`"}`, "later")
	v.send("prices", `{"Label":"price.changed","MessageId":"x-1"}`, `{"sku":1180,"price":12.5}`)
	v.create("topic", "nobody", `{}`)
	v.send("nobody", `{"Label":"price.changed","MessageId":"x-2","To":"nobody-in-particular-or-at-all"}`, `{}`)

	v.ask("POST", v.server.Dashboard+"/api/v1/tokens", "", `{"name":"nightly import of everything","role":"operator","expiresIn":"90d"}`)
	v.ask("POST", v.server.Dashboard+"/api/v1/links", "", `{"name":"Monday's demo","page":"/n/default/queues?sort=expiry&q=orders"}`)
	v.ask("PUT", v.server.Dashboard+"/api/v1/scenes/lunch", "", LunchScene)
	receive := func(name, rest string) {
		v.ask("POST", v.server.Dashboard+client.APIPath("receive", name), "", `{"mode":"peek-lock","limit":1`+rest+`}`)
	}
	v.visit("/n/default/q/payments")
	for range 2 {
		v.do(chromedp.Navigate(v.at + "/n/default/q/payments"))
		v.click(`main [formaction$="/receive"]`)
		v.click(`main [formaction$="/defer"]`)
	}
	receive("payments", "")
	receive("orders", "")
	v.send("reply-c40d", `{"Label":"quote.reply","MessageId":"q-2207","CorrelationId":"c-17"}`, "taken at once")
	v.ask("POST", v.server.Dashboard+client.APIPath("receive", "reply-c40d"), "", `{"mode":"receive-and-delete"}`)
	v.visit("/n/default/q/payments")
	v.click(`main [formaction$="/receive"]`)
	v.asks(`main [href*="/dead-letter"]`)
	v.fill("reason", "PaymentDeclined")
	v.fill("description", "The card was declined twice.")
	v.click(`.guard [type=submit]`)
	v.wantMeanwhile(`document.querySelector("[data-list=graves] > [data-key]")`, func() { v.visit("/n/default/temporary") })
	v.wantMeanwhile(`Number(`+slot+`("count-dead")) >= 3`, func() { v.visit("/n/default/q/orders") })

	api := v.server.Dashboard + "/api/v1"
	v.ask("POST", api+"/alert-rules", "", `{"name":"late orders","when":"expiring","in":"orders","within":"10m","then":"extend","extendBy":"10m","maxExtensions":3}`)
	v.ask("POST", api+"/alert-rules", "", `{"name":"unpaid","when":"dead-lettered","in":"payments","then":"notify"}`)
	v.ask("POST", api+"/jobs", "", `{"kind":"copy","paths":["payments"],"query":"subject:payment*","to":"empty"}`)
	v.ask("POST", api+"/namespaces", "", `{"name":"shop"}`)
	v.ask("PUT", api+"/access-rules/worker", "", `{"rights":["Send","Listen"]}`)
	v.ask("PUT", api+"/templates/late%20orders", "", `{"body":"{\"order\":{{n}}}","subject":"order.placed","repeat":100,"every":"1m"}`)
	v.ask("PUT", api+"/views/by%20city", "", `{"columns":["seq","json.customer.city","ttl"],"lists":["messages","search"]}`)
	v.create("queue", "chats", `{"RequiresSession":true}`)
	v.create("subscription", "prices/subscriptions/calls", `{"RequiresSession":true}`)
	v.send("chats", `{"Label":"hello","SessionId":"anna"}`, "Hello, is anybody there?")
}

// A place is a page of the walk.
type place struct{ name, path string }

// places returns all pages, with content.
func (v *visit) places() []place {
	const n = "/n/default"
	client := v.connected()
	all := []place{
		{"overview", n}, {"metrics", n + "/metrics"}, {"metrics-day", n + "/metrics?within=day"}, {"expirations", n + "/expirations"}, {"queues", n + "/queues"}, {"queues-filtered", n + "/queues?q=rep&sort=idle&dir=desc"},
		{"queues-none", n + "/queues?q=zzz"}, {"topics", n + "/topics"}, {"deferred", n + "/deferred"}, {"search", n + "/search?q=order"}, {"search-first", n + "/search"}, {"search-wrong", n + "/search?q=color:red"}, {"temporary", n + "/temporary"},
		{"create-queue", n + "/queues/new"}, {"create-temporary", n + "/queues/new?temporary=1"}, {"create-topic", n + "/topics/new"}, {"create-subscription", n + "/t/prices/new"},
		{"queue", n + "/q/orders"}, {"queue-empty", n + "/q/empty"}, {"topic", n + "/t/prices"}, {"subscription", n + "/t/prices/s/eu"},
		{"edit-queue", n + "/q/orders/edit"}, {"edit-subscription", n + "/t/prices/s/eu/edit"}, {"delete-queue", n + "/q/orders/delete"}, {"delete-topic", n + "/t/prices/delete"},
		{"send", n + "/q/orders/send"}, {"purge", n + "/q/orders/purge"}, {"resubmit-all", n + "/q/orders/resubmit"}, {"queue-gone", n + "/q/gone-1"},
		{"topic-settings", n + "/t/prices?tab=settings"}, {"subscription-rules", n + "/t/prices/s/eu?tab=rules"}, {"temporary-settings", n + "/q/reply-c40d?tab=settings"},
		{"temporary-queue", n + "/q/held-b2"}, {"lab", n + "/lab"}, {"lab-tried", n + "/lab?topic=prices&from=" + v.stray()}, {"message-unmatched", n + "/m/" + v.stray()},
		{"rule-new", n + "/t/prices/s/eu/rules/new"}, {"rule-edit", n + "/t/prices/s/eu/rules/edit?rule=%24Default&from=" + v.stray()}, {"create-caught", n + "/t/nobody/new?key=" + v.stray()},
		{"activity", n + "/activity"}, {"activity-all", n + "/activity?scope=all"}, {"activity-filtered", n + "/activity?scope=all&path=orders&group=ends&actor=REST&from=2026-01-01T00:00&until=bad"},
		{"activity-none", n + "/activity?q=nobody"}, {"access", n + "/access"}, {"access-empty", n + "/access?entity=orders"},
		{"jobs", n + "/jobs"}, {"jobs-new", n + "/jobs/new"}, {"views-empty", n + "/views"}, {"dead-letters", n + "/dead-letters"}, {"views-new", n + "/views/edit?back=" + url.QueryEscape(n+"/q/orders")},
		{"queue-columns", n + "/q/orders?column=state&column=seq&column=ttl&column=prop.region&column=json.customer.id&column=enqueued&column=id&column=delivery"},
		{"search-columns", n + "/search?q=order&column=entity&column=seq&column=message&column=prop.region"},
		{"alerts", n + "/alerts"}, {"alerts-new", n + "/alerts/new"},
		{"jobs-one", n + "/jobs/1"}, {"alerts-one", n + "/alerts/1"}, {"alerts-edit", n + "/alerts/1/edit"}, {"alerts-remove", n + "/alerts/1/remove"},
		{"import", n + "/q/orders/import"}, {"import-anywhere", n + "/import"}, {"definitions-import", n + "/definitions/import"}, {"alerts-entity", n + "/alerts?entity=orders"},
		{"queue-sorted", n + "/q/orders?sort=ttl&dir=desc&filter=subject:order*"}, {"deferred-columns", n + "/deferred?column=seq&column=message&column=ttl"},
		{"settings", "/settings"}, {"docs", "/docs"}, {"docs-page", "/docs/limits"}, {"docs-found", "/docs?q=lock"}, {"tokens", "/tokens"}, {"tokens-new", "/tokens/new"}, {"tokens-link", "/tokens/link"}, {"tokens-revoke", v.token()}, {"scenes", "/scenes"}, {"scenes-new", "/scenes/new"}, {"scenes-remove", "/scenes/remove/lunch"}, {"namespaces-limits", "/namespaces/shop/limits"}, {"namespaces", "/namespaces"}, {"namespaces-remove", "/namespaces/shop/remove"}, {"templates", n + "/templates"}, {"send-template", n + "/q/orders/send?template=late+orders"},
		{"views", n + "/views"}, {"palette", n + "/go?q=ord"}, {"connections", n + "/connections"}, {"share", n + "/share"}, {"sessions", n + "/q/chats?tab=sessions"}, {"session", n + "/q/chats/session?id=anna"},
		{"edit-topic", n + "/t/prices/edit"}, {"send-topic", n + "/t/prices/send"}, {"import-topic", n + "/t/prices/import"}, {"purge-topic", n + "/t/prices/purge"}, {"resubmit-topic", n + "/t/prices/resubmit?dlq=transfer"}, {"status-topic", n + "/t/prices/status?to=Disabled"},
		{"delete-subscription", n + "/t/prices/s/eu/delete"}, {"purge-subscription", n + "/t/prices/s/eu/purge"}, {"resubmit-subscription", n + "/t/prices/s/eu/resubmit"}, {"status-subscription", n + "/t/prices/s/eu/status?to=ReceiveDisabled"},
		{"rule-try", n + "/t/prices/s/eu/rules/try?rule=%24Default"}, {"session-subscription", n + "/t/prices/s/calls/session?id=anna"}, {"status-queue", n + "/q/orders/status?to=Disabled"},
		{"access-new", n + "/access/new"}, {"access-renew", n + "/access/renew?rule=worker&key=primary"}, {"access-remove", n + "/access/remove?rule=worker"},
		{"views-delete", n + "/views/delete?view=by+city"}, {"templates-remove", n + "/templates/remove?template=late+orders"}, {"connections-one", client}, {"connections-end", client + "/disconnect"},
		{"purge-dead", n + "/q/orders/purge?place=dead-letter"}, {"jobs-delete", n + "/jobs/new?kind=delete&path=orders&q=subject:order*"},
		{"reference", n + "/api"}, {"reference-filtered", n + "/api?filter=peek"}, {"reference-none", n + "/api?filter=zzz"},
	}
	for _, tab := range []string{"scheduled", "deferred", "locked", "dead-letter", "metrics", "settings"} {
		all = append(all, place{"queue-" + tab, n + "/q/orders?tab=" + tab}, place{"payments-" + tab, n + "/q/payments?tab=" + tab})
	}
	for name, list := range map[string]string{
		"message": "/q/orders?from=12", "message-locked": "/q/orders?tab=locked", "message-dead": "/q/orders?tab=dead-letter",
		"message-deferred": "/deferred", "message-scheduled": "/q/orders?tab=scheduled",
	} {
		v.visit(n + list)
		at, ok := v.js(`document.querySelector("[data-list] [data-drawer]")?.getAttribute("href")`).(string)
		if !ok {
			v.t.Fatalf("%s has no message", list)
		}
		all = append(all, place{name, at})
		switch name {
		case "message":
			all = append(all, place{"message-headers", at + "?view=headers"}, place{"message-hex", at + "?view=hex"}, place{"message-delete", at + "/delete"},
				place{"message-extend", at + "/extend"}, place{"message-dead-letter", at + "/dead-letter"})
		case "message-dead":
			all = append(all, place{"message-resubmit", at + "/resubmit"}, place{"message-edit", at + "/edit"})
		case "message-scheduled":
			all = append(all, place{"message-reschedule", at + "/reschedule"}, place{"message-cancel", at + "/cancel"})
		}
	}
	v.visit(n + "/activity?scope=all&group=ends")
	gone, ok := v.js(`document.querySelector(".did a")?.getAttribute("href")`).(string)
	if !ok {
		v.t.Fatal("no departed message has a page")
	}
	all = append(all, place{"message-gone", gone})
	v.visit(n + "/queues?q=very")
	at := v.js(`document.querySelector("[data-list=rows] a").getAttribute("href")`).(string)
	return append(all, place{"queue-long", at})
}

// connected connects a client of the Go SDK that holds a lock until the test ends, and returns
// the address of its connection's page.
func (v *visit) connected() string {
	v.t.Helper()
	ctx := v.t.Context()
	client, err := azservicebus.NewClientFromConnectionString(v.server.ConnectionString, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = client.Close(context.WithoutCancel(ctx)) })
	r, err := client.NewReceiverForQueue("orders", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	if _, err := r.ReceiveMessages(ctx, 1, nil); err != nil {
		v.t.Fatal(err)
	}
	v.visit("/n/default/connections")
	at, ok := v.js(`document.querySelector("[data-list=rows] .name a")?.getAttribute("href")`).(string)
	if !ok {
		v.t.Fatal("no client is connected")
	}
	return at
}

// token returns the address of the confirmation to revoke the first token.
func (v *visit) token() string {
	v.t.Helper()
	v.visit("/tokens")
	at, ok := v.js(`document.querySelector(".passes [data-key] a[data-ask]")?.getAttribute("href")`).(string)
	if !ok {
		v.t.Fatal("there is no token")
	}
	return at
}

// stray returns the key of a message that no subscription received.
func (v *visit) stray() string {
	v.t.Helper()
	v.visit("/n/default/lab")
	key, ok := v.js(`document.querySelector("[data-list=tray] [data-key]")?.dataset.key`).(string)
	if !ok {
		v.t.Fatal("the tray is empty")
	}
	return key
}

// walkInBrowser checks every page: on screens of all sizes, at 200 % and 400 %, in both themes, with
// axe-core, and with the Tab key.
func walkInBrowser(t *testing.T, v *visit) {
	if *shots != "" {
		if err := os.MkdirAll(*shots, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	v.visit("/n/default")
	v.look("first-start")
	furnish(v)
	all, patterns := v.places(), routed(t)
	placed(t, all)
	v.create("queue", "reply-91c2", `{"AutoDeleteOnIdle":"PT20S"}`)
	v.visit("/n/default/temporary")
	v.want(`document.querySelector(".toast")`)
	v.look("toast")
	titles, seen, tabbed := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, p := range all {
		v.visit(p.path)
		v.want(`!document.body.dataset.live || ` + isLive)
		v.look(p.name)
		v.inThemes(p.name, `document`)
		v.hears(p.name)
		v.axeOpened(p.name)
		path, _, _ := strings.Cut(p.path, "?")
		first := !seen[path]
		seen[path] = true
		if first {
			v.titled(p.name, titles)
			v.do(chromedp.EmulateViewport(390, 844))
			v.axeOnce(p.name+" on a phone", `document`)
			v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
		}
		if k := kind(patterns, p.path); !tabbed[k] {
			tabbed[k] = true
			v.tabbedPage(p.name)
		}
		if first {
			v.reflows(p.name)
		}
	}
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] > :nth-child(6) .subject`)))
	v.want(`document.querySelector(".drawer")`)
	v.look("drawer")
	v.visit("/scenes")
	v.click(`[formaction="/scenes/play/deadline"]`)
	v.want(isLive)
	v.press("n")
	v.want(caption + `.startsWith("Two queues") && !document.querySelector(".stage-playing")`)
	v.look("scene")
	v.inThemes("scene", `document`)
	v.visit("/scenes")
	v.look("scenes-playing")
	v.axeDialogs()
	v.axeAnswers()
	v.forced()
}

// looks are the viewports and themes of the walk: a screen, a tablet and a phone.
var looks = []struct {
	width, height int64
	theme         string
}{{1440, 900, "light"}, {1440, 900, "dark"}, {900, 700, "light"}, {900, 700, "dark"}, {390, 844, "light"}, {390, 844, "dark"}}

// look checks the open page in the viewports of looks: nothing is wider than the screen, no text is
// cut off, and no command in an introduction wraps. The dark theme is only rendered for
// screenshots.
func (v *visit) look(name string) {
	v.t.Helper()
	for _, l := range looks {
		if l.theme == "dark" && *shots == "" {
			continue
		}
		v.do(chromedp.EmulateViewport(l.width, l.height))
		if _, err := chromedp.Call(v.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.theme}}}); err != nil {
			v.t.Fatal(err)
		}
		if wide, _ := v.js(`Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth`).(float64); wide > 0 {
			v.t.Errorf("%s at %d is %v px too wide, by %v", name, l.width, wide, v.js(`[...document.querySelectorAll("body *")].filter((el) => el.getBoundingClientRect().right > innerWidth + 1 && !el.closest("pre, .scroll, .tabs, .pills")).slice(0, 3).map((el) => el.outerHTML.slice(0, 120))`))
		}
		if cut := v.js(cutOff); fmt.Sprint(cut) != "[]" {
			v.t.Errorf("%s at %d cuts off %v", name, l.width, cut)
		}
		if broken := v.js(`[...document.querySelectorAll(".lede > code")].filter((el) => el.getClientRects().length > 1).map((el) => el.innerText)`); fmt.Sprint(broken) != "[]" {
			v.t.Errorf("%s at %d breaks words: %v", name, l.width, broken)
		}
		if *shots == "" {
			continue
		}
		whole := true
		got, err := chromedp.Call(v.tab, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &whole})
		if err != nil {
			v.t.Fatal(err)
		}
		file := filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", name, l.width, l.theme))
		if err := os.WriteFile(file, got.Data, 0o666); err != nil {
			v.t.Fatal(err)
		}
	}
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
}
