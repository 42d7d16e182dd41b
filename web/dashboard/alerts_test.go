package dashboard_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// nowhere is a transport for webhooks that reaches no server.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nobody is there")
}

// TestAlertRuleFromItsForm: a rule is created, refused, changed, switched and removed, without
// a script.
func TestAlertRuleFromItsForm(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{MessageID: "1", Subject: "first", TTL: 40 * time.Second}, engine.Content{MessageID: "2", Subject: "second", TTL: time.Hour})
		w.see("/n/default/alerts").wants(200, "No rules yet", "Nothing so far.")
		w.see("/n/default/alerts/new?entity=orders&kind=expiring").wants(200, "It would fire for 1 message now.", "first")

		fields := func(name, within, url string) []string {
			return []string{"name", name, "when", "expiring", "in", "orders", "within", within, "then", "extend", "extendBy", "10m", "maxExtensions", "2", "url", url, "secret", "correct horse"}
		}
		w.post("/n/default/alerts/try", fields("", "2h", "")...).wants(200, "It would fire for 2 messages now.")
		if n := len(w.rules.List()); n != 0 {
			t.Errorf("a preview created %d rules", n)
		}
		w.post("/n/default/alerts/new", fields("late", "soon", "")...).wants(422, "New rule")
		w.post("/n/default/alerts/new", fields("late", "1m", "http://127.0.0.1/")...).wants(422, "private network")
		w.post("/n/default/alerts/new", fields("late", "10d", "")...).wants(422, "between 1s and 7d")
		says, at := w.done("/n/default/alerts/new", fields("late", "1m", "https://example.org/hook?key=1")...)
		if !strings.Contains(says, "added") {
			t.Errorf("got %q", says)
		}
		w.pass(3 * time.Second)
		page := w.see(at)
		_, other := w.done("/n/default/alerts/new", "name", "other", "when", "dead-lettered", "then", "notify")
		w.see(other).wants(200, "Nothing so far.") // a rule's page shows only its own alerts
		w.done(other + "/remove")
		page.wants(200, "A message in orders has less than 1m to live", "first was given more time", "extend by 10m, at most 2 times a message", "example.org", "signed", "nobody is there", "Under way")
		if text := page.Text(); strings.Contains(text, "correct horse") || strings.Contains(text, "key=1") {
			t.Error("the page contains the secret")
		}
		w.see("/n/default/alerts").wants(200, "late", "first was given more time")
		if text := w.get("/n/default/alerts/toasts").Text(); !strings.Contains(text, "first was given more time") {
			t.Errorf("the toasts are %q", text)
		}
		w.pass(time.Minute)
		if text := w.get("/n/default/alerts/toasts").Text(); strings.Contains(text, "first") {
			t.Error("a toast is shown for longer than a minute")
		}
		edit := w.see(at + "/edit")
		edit.wants(200, "Edit late")
		if html, err := edit.Html(); err != nil || strings.Contains(html, "correct horse") {
			t.Errorf("the form contains the secret, or %v", err)
		}
		moved := func(url, secret string) []string { // only the first of two values of a field counts
			f := fields("late", "1m", url)
			f[len(f)-1] = secret
			return f
		}
		refused := w.post(at+"/edit", moved("https://example.com/hook", "")...)
		refused.wants(422, "webhook's host has changed", "Enter the secret again")
		if is := w.rules.List()[0]; is.URL != "https://example.org/hook?key=1" || is.Secret != "correct horse" {
			t.Errorf("the form was refused, but the rule is %+v", is.Rule)
		}
		w.done(at+"/edit", moved("https://example.org/other", "")...)
		if is := w.rules.List()[0]; is.Secret != "correct horse" {
			t.Error("the secret was lost though the host is the same")
		}
		w.done(at+"/edit", append(fields("later", "2m", ""), "secret", "")...)
		w.see(at).wants(200, "later", "less than 2m")
		w.done(at + "/off")
		w.see(at).wants(200, "Switch on")
		if !w.rules.List()[0].Off {
			t.Error("the rule is still on")
		}
		w.done(at + "/on")
		w.done(at + "/test")
		w.pass(2 * time.Second)
		w.see("/n/default/alerts").wants(200, "This is a test")
		w.see(at+"/remove").wants(200, "Remove the rule later?")
		_, all := w.done(at + "/remove")
		w.see(all).wants(200, "No rules yet", "This is a test")
		w.get(at).wants(404)
		w.get("/n/default/alerts/7/edit").wants(404)
	})
}

// TestAlertRulesOfAnEntity: an entity's page links to its rules, and to the form for a new
// one.
func TestAlertRulesOfAnEntity(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("pay", engine.Config{})
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		rule := func(name, in string) {
			w.done("/n/default/alerts/new", "name", name, "when", "expiring", "in", in, "within", "1m", "then", "notify", "extendBy", "10m", "maxExtensions", "2")
		}
		for at, path := range map[string]string{"/n/default/q/orders": "orders", "/n/default/t/prices/s/eu": "prices%2FSubscriptions%2Feu"} {
			page := w.see(at)
			if page.Find(`a[href="/n/default/alerts/new?entity=`+path+`"]`).Length() != 1 || page.Find(`a[href^="/n/default/alerts?"]`).Length() != 0 {
				t.Errorf("%s has %s", at, page.Find("dl.facts").Text())
			}
		}
		rule("of orders", "orders")
		rule("of all", "")
		rule("of pay", "p*y")
		rule("of prices", "prices")
		for at, want := range map[string]string{
			"/n/default/q/orders": "2 rules", "/n/default/q/pay": "2 rules", "/n/default/t/prices": "2 rules", "/n/default/t/prices/s/eu": "2 rules",
		} {
			page := w.see(at)
			link := page.Find(`a[href^="/n/default/alerts?entity="]`)
			if link.Text() != want {
				t.Errorf("%s has %q, want %q", at, link.Text(), want)
				continue
			}
			to, _ := link.Attr("href")
			all := w.see(to)
			all.wants(200, "of all", "Those about", "Show all")
			if n := all.Find("[data-list=rows] > tr").Length(); n != 2 {
				t.Errorf("%s links to %d rules", at, n)
			}
		}
		form := w.see("/n/default/alerts/new?entity=prices%2FSubscriptions%2Feu")
		if v, _ := form.Find("input[name=in]").Attr("value"); v != "prices/Subscriptions/eu" {
			t.Errorf("the form has the entity %q", v)
		}
		w.see("/n/default/alerts?entity=%2F").lacks("Those about")
	})
}
