package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/client"
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage"
)

// transfers puts messages into the transfer dead-letter subqueue of a store, by a forward to a
// queue that rejects them. No API of the program allows that.
func transfers(t *testing.T, file string) {
	t.Helper()
	b, err := broker.Open(t.Context(), func(ctx context.Context) (engine.Store, error) {
		return storage.Open(ctx, "sqlite:"+file, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	}, broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[engine.Path]engine.Config{"via": {}, "shipping": {Status: engine.StatusSendDisabled}} {
		if _, err := b.Create(t.Context(), engine.Queue, name, c, "test"); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		c := engine.Content{Subject: "parcel.packed", MessageID: fmt.Sprintf("parcel-%d", n)}
		if _, err := b.SendVia(t.Context(), "via", "shipping", []broker.Outgoing{{Content: c, Body: []byte(`{"weight":4.2}`)}}, "test"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// furnishSessions creates a queue with sessions in every state.
func furnishSessions(v *visit) {
	v.create("queue", "chats", `{"RequiresSession":true,"LockDuration":"PT5M","DefaultMessageTimeToLive":"PT2H","DeadLetteringOnMessageExpiration":true}`)
	v.create("queue", "quiet", `{"RequiresSession":true}`)
	for n, id := range []string{"anna", "bert", "anna", "carla", "anna", "Ústí nad Labem / 4417", "anna", "bert", "dora", "anna", "bert",
		"a-very-long-session-id-" + strings.Repeat("without-any-break-", 5) + "end"} {
		v.ask("POST", v.server.Dashboard+client.APIPath("send", "chats"), "", fmt.Sprintf(
			`{"sessionId":%q,"messageId":"c-%d","subject":"chat.said","contentType":"application/json","body":"{\"text\":\"How late is my order?\",\"n\":%[2]d}"}`, id, n))
	}
	state := func(id, state string) {
		v.ask("PUT", v.server.Dashboard+inSession("chats", id), "", state)
	}
	state("anna", `{"state":"{\"step\":3,\"cart\":[{\"sku\":1180,\"n\":2},{\"sku\":77,\"n\":1}],\"since\":\"2026-07-14T10:00:00Z\",\"vip\":true}"}`)
	state("emil", `{"state":"waiting for a call back"}`)
	state("bert", `{"stateBase64":"AAECAwQFBgf/"}`)
	hold := v.accept("chats", "bert")
	v.ask("POST", v.server.Dashboard+client.APIPath("receive", "chats"), "", fmt.Sprintf(`{"sessionLockToken":%q,"limit":2}`, hold))
	hold = v.accept("chats", "carla")
	lock := v.received("chats", fmt.Sprintf(`{"sessionLockToken":%q}`, hold))
	v.ask("POST", v.server.Dashboard+"/api/v1/settle", "", fmt.Sprintf(`{"lockToken":%q,"outcome":"defer"}`, lock))
	v.release("chats", v.accept("chats", "dora"))
}

// furnishRules creates a topic with rules of every kind, and sends messages to it.
func furnishRules(v *visit) {
	v.create("topic", "prices", `{"RequiresDuplicateDetection":true,"DuplicateDetectionHistoryTimeWindow":"PT10M"}`)
	sub := func(name, properties, rules string) {
		v.ask("POST", v.server.Dashboard+"/api/v1/entities", "", fmt.Sprintf(`{"kind":"subscription","path":"prices/Subscriptions/%s","properties":%s,"rules":%s}`, name, properties, rules))
	}
	sub("dear", `{}`, `[
		{"name":"dear","filter":"price > @least AND sys.Label LIKE 'price.%' AND (region IN ('eu', 'ch') OR vip = TRUE)","parameters":{"@least":100},"action":"SET checked = TRUE; SET price = price * 1.2; REMOVE draft"},
		{"name":"by-hand","kind":"Correlation","correlation":{"label":"price.corrected","correlationId":"desk-7","properties":{"region":"eu","level":{"type":"int","value":"3"}}}},
		{"name":"a-rule-whose-name-goes-on-until-there-is-no-room","filter":"`+strings.Repeat("amount <> 17 AND ", 12)+`sys.To IS NOT NULL"}]`)
	sub("everything", `{}`, `[{"name":"$Default"}]`)
	sub("strict", `{"DeadLetteringOnFilterEvaluationExceptions":true}`, `[{"name":"ratio","filter":"price / stock > 2"}]`)
	sub("closed", `{"Status":"ReceiveDisabled"}`, `[{"name":"never","kind":"False"}]`)
	sub("none", `{}`, `[{"name":"never","kind":"False"}]`)
	v.ask("DELETE", v.server.Dashboard+client.APIPath("rules", "prices/Subscriptions/none")+"?name=never", "", "")
	send := func(id, subject, properties string) {
		v.ask("POST", v.server.Dashboard+client.APIPath("send", "prices"), "", fmt.Sprintf(`{"messageId":%q,"subject":%q,"properties":%s,"body":"{}"}`, id, subject, properties))
	}
	send("x-1", "price.changed", `{"price":120,"region":"eu","stock":0,"draft":true}`)
	send("x-2", "price.changed", `{"price":80,"region":"us","stock":{"type":"int","value":"4"}}`)
	send("x-1", "price.changed", `{"price":120}`)
	send("x-1", "price.changed", `{"price":120}`)

	v.create("topic", "alarms", `{}`)
	v.ask("POST", v.server.Dashboard+"/api/v1/entities", "", `{"kind":"subscription","path":"alarms/Subscriptions/loud","rules":[{"name":"loud","filter":"level >= 4 AND sys.To = 'desk'"}]}`)
	for n := range 4 {
		v.ask("POST", v.server.Dashboard+client.APIPath("send", "alarms"), "", fmt.Sprintf(`{"messageId":"al-%d","subject":"door.opened","to":"nobody","correlationId":"house-%d","properties":{"level":%d,"where":"cellar","quiet":true},"body":"{}"}`, n, n%2, n))
	}
}

// furnishFlow creates chains of entities, duplicates, and disabled entities.
func furnishFlow(v *visit) {
	v.create("queue", "archive", `{}`)
	v.create("queue", "graves", `{}`)
	v.create("queue", "orders", `{"ForwardTo":"archive","ForwardDeadLetteredMessagesTo":"graves"}`)
	v.create("queue", "web/checkout", `{"ForwardTo":"orders"}`)
	v.create("queue", "app/checkout", `{"ForwardTo":"orders","ForwardDeadLetteredMessagesTo":"graves"}`)
	v.create("queue", "stuck", `{"ForwardDeadLetteredMessagesTo":"graves","RequiresDuplicateDetection":true}`)
	for n := range 3 {
		v.send("web/checkout", fmt.Sprintf(`{"Label":"order.placed","MessageId":"w-%d"}`, n), `{}`)
	}
	v.ask("PATCH", v.server.Dashboard+client.APIPath("entities", "graves"), "", `{"properties":{"Status":"SendDisabled"}}`)
	for n := range 2 {
		v.send("stuck", fmt.Sprintf(`{"Label":"order.odd","MessageId":"s-%d"}`, n), `{}`)
		lock := v.received("stuck", `{}`)
		v.ask("POST", v.server.Dashboard+"/api/v1/settle", "", fmt.Sprintf(`{"lockToken":%q,"outcome":"dead-letter","reason":"Odd","description":"Nobody knows this customer."}`, lock))
	}
	v.create("queue", "payments", `{"RequiresDuplicateDetection":true,"LockDuration":"PT1M"}`)
	for n := range 4 {
		v.send("payments", fmt.Sprintf(`{"Label":"payment.captured","MessageId":"p-%d"}`, n), `{"total":12.5}`)
		lock := v.received("payments", `{}`)
		v.ask("POST", v.server.Dashboard+"/api/v1/settle", "", fmt.Sprintf(`{"lockToken":%q,"outcome":"dead-letter","reason":"PaymentDeclined"}`, lock))
	}
	for range 3 {
		v.send("payments", `{"Label":"payment.captured","MessageId":"p-1"}`, `{"total":12.5}`)
	}
	v.create("queue", "closed", `{"Status":"Disabled"}`)
}

// semanticPlaces returns the pages of sessions, rules, forwarding, duplicates and status.
func (v *visit) semanticPlaces() []place {
	const n = "/n/default"
	session := func(id string) string { return n + "/q/chats/session?id=" + url.QueryEscape(id) }
	stray := v.stray()
	return []place{
		{"sessions", n + "/q/chats?tab=sessions"}, {"sessions-empty", n + "/q/quiet?tab=sessions"}, {"sessions-messages", n + "/q/chats"},
		{"session", session("anna")}, {"session-held", session("bert")}, {"session-deferred", session("carla")}, {"session-state-only", session("emil")},
		{"session-unknown", session("nobody")}, {"session-hex", session("anna") + "&view=hex"},
		{"session-long", session("a-very-long-session-id-" + strings.Repeat("without-any-break-", 5) + "end")},
		{"rules", n + "/t/prices/s/dear?tab=rules"}, {"rules-everything", n + "/t/prices/s/everything?tab=rules"}, {"rules-none", n + "/t/prices/s/none?tab=rules"},
		{"rule-new", n + "/t/prices/s/dear/rules/new"}, {"rule-sql", n + "/t/prices/s/dear/rules/edit?rule=dear"}, {"rule-correlation", n + "/t/prices/s/dear/rules/edit?rule=by-hand"},
		{"rule-tried", n + "/t/alarms/s/loud/rules/edit?rule=loud&from=" + stray},
		{"lab", n + "/lab"}, {"lab-tried", n + "/lab?topic=alarms&from=" + stray}, {"lab-catch", n + "/t/alarms/new?key=" + stray},
		{"topic-duplicates", n + "/t/prices"}, {"filter-dead", n + "/t/prices/s/strict?tab=dead-letter"}, {"subscription-edit", n + "/t/prices/s/strict/edit"},
		{"flow", n + "/q/orders"}, {"flow-end", n + "/q/archive"}, {"flow-stuck", n + "/q/stuck"}, {"flow-closed", n + "/q/graves"},
		{"transfer", n + "/q/via?tab=transfer"}, {"transfer-resubmit", n + "/q/via/resubmit?dlq=transfer"},
		{"duplicates", n + "/q/payments"}, {"duplicates-dead", n + "/q/payments?tab=dead-letter"}, {"duplicates-resubmit", n + "/q/payments/resubmit"},
		{"status", n + "/q/orders?tab=settings"}, {"status-closed", n + "/q/closed?tab=settings"}, {"status-topic", n + "/t/prices?tab=settings"}, {"status-ask", n + "/q/orders/status?to=Disabled"},
		{"new-queue", n + "/queues/new"}, {"new-topic", n + "/topics/new"}, {"new-subscription", n + "/t/prices/new"}, {"send-session", n + "/q/chats/send"},
		{"queues", n + "/queues"}, {"topics", n + "/topics"},
	}
}

// semanticsInBrowser checks the pages of sessions, rules, forwarding, duplicates and status.
func semanticsInBrowser(t *testing.T, browser context.Context) {
	file := filepath.Join(t.TempDir(), "mayfly.db")
	transfers(t, file)
	v := open(t, browser, "sqlite:"+file)
	furnishSessions(v)
	furnishRules(v)
	furnishFlow(v)
	for _, p := range v.semanticPlaces() {
		v.visit(p.path)
		v.want(`!document.body.dataset.live || ` + isLive)
		v.look(p.name)
	}

	v.visit("/n/default/q/chats?tab=sessions")
	v.want(isLive)
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] a[data-drawer]`)))
	v.want(`document.querySelector(".drawer")`)
	v.look("session-drawer")

	v.visit("/n/default/q/chats/session?id=anna")
	v.js(`document.querySelectorAll("details.under").forEach((d) => { d.open = true; })`)
	v.look("session-state-edit")

	v.visit("/n/default/t/prices/s/dear/rules/edit?rule=dear")
	v.fill("rule-sql", "price >> 100 AND region = 'eu'")
	v.want(`document.querySelector(".fault")`)
	v.look("rule-fault")
	v.fill("rule-sql", "price > 100 AND region = 'eu' OR level = 3")
	for i, p := range [][3]string{{"price", "int", "1200"}, {"draft", "string", "yes"}} {
		row := fmt.Sprintf("property-%d-", i)
		v.js(fmt.Sprintf(`document.querySelector("[name=%stype]").value = %q`, row, p[1]))
		v.fill(row+"name", p[0])
		v.fill(row+"value", p[2])
	}
	v.want(`document.querySelector("[data-verdict]")`)
	v.look("rule-live")

	v.visit("/n/default/lab?topic=prices")
	v.fill("subject", "price.changed")
	v.fill("property-0-name", "price")
	v.fill("property-0-value", "a lot")
	v.want(`document.querySelector("[data-verdict]")`)
	v.look("lab-live")
	v.do(chromedp.Click(chromedp.CSS(`[data-list=tray] .check`)))
	v.look("lab-chosen")
}
