package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/webhook"
	"mayfly/web/webtest"
)

func TestAlertRules(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"orders"}`, nil)
	w.want(201, "POST", "/send/orders", `[{"body":"a","timeToLive":"30s"},{"body":"b","timeToLive":"1h"}]`, nil)
	const rule = `"when":"expiring","in":"orders","within":"1m","then":"extend","extendBy":"10m","maxExtensions":1`
	var f AlertPreview
	w.want(200, "POST", "/alert-rules", `{"name":"late",`+rule+`,"dryRun":true}`, &f)
	if !f.Countable || f.Count != 1 || len(f.Sample) != 1 {
		t.Errorf("the forecast is %+v", f)
	}
	var is AlertRule
	w.want(200, "POST", "/alert-rules", `{"name":"late",`+rule+`,"url":"https://example.org/hook","secret":"correct horse"}`, &is)
	if is.ID != 1 || is.Within != "PT1M" || is.ExtendBy != "PT10M" || !is.Signed {
		t.Errorf("the rule is %+v", is)
	}
	at := fmt.Sprint("/alert-rules/", is.ID)
	webtest.Eventually(t, "the alert fires", func() bool {
		w.want(200, "GET", at, "", &is)
		return is.Done == 1
	})
	var alerts Alerts
	webtest.Eventually(t, "the alert is listed", func() bool {
		w.want(200, "GET", "/alerts", "", &alerts)
		return len(alerts.Alerts) == 1
	})
	if a := alerts.Alerts[0]; a.Name != "late" || a.Count != 1 || a.Done != 1 || a.Items[0].Path != "orders" {
		t.Errorf("the alert is %+v", a)
	}
	w.want(200, "PUT", at, `{"name":"later",`+rule+`,"disabled":true,"url":"https://example.org/hook"}`, &is)
	if !is.Disabled || is.Name != "later" || !is.Signed || is.Done != 1 {
		t.Errorf("the rule is %+v", is)
	}
	for _, path := range []string{at, "/alert-rules", "/alerts"} {
		if _, text := w.ask("GET", path, ""); strings.Contains(text, "correct horse") {
			t.Errorf("the response of %s has the secret", path)
		}
	}
	for field, body := range map[string]string{
		"name":          `{"name":"","when":"auto-deleted"}`,
		"when":          `{"name":"x","when":"soon"}`,
		"within":        `{"name":"x","when":"auto-deleting","within":"soon"}`,
		"maxExtensions": `{"name":"x","when":"expiring","within":"1m","then":"extend","extendBy":"1m"}`,
		"query":         `{"name":"x","when":"expiring","within":"1m","query":"nonsense:1"}`,
		"url":           `{"name":"x","when":"auto-deleted","url":"http://127.0.0.1/"}`,
	} {
		for _, dry := range []string{"", `,"dryRun":true`} {
			got, text := w.ask("POST", "/alert-rules", strings.TrimSuffix(body, "}")+dry+"}")
			var p Problem
			if err := json.Unmarshal([]byte(text), &p); err != nil || got.StatusCode != 400 || p.Property != field {
				if field != "name" || dry == "" { // a preview needs no name
					t.Errorf("%s: %d %s", body, got.StatusCode, text)
				}
			}
		}
	}
	w.want(409, "POST", "/alert-rules", `{"name":"Later","when":"auto-deleted"}`, nil)
	w.want(204, "DELETE", at, "", nil)
	for _, ask := range [][2]string{{"GET", at}, {"DELETE", at}, {"POST", at + "/test"}, {"GET", at + "/deliveries"}, {"GET", "/alert-rules/x"}} {
		if got, text := w.ask(ask[0], ask[1], ""); got.StatusCode != 404 || !strings.Contains(text, "AlertRuleNotFound") {
			t.Errorf("%v: %d %s", ask, got.StatusCode, text)
		}
	}
	var activity Activity
	w.want(200, "GET", "/activity?q=alert+rule", "", &activity)
	if len(activity.Events) != 0 && len(activity.Events) != 3 { // this store may have no history
		t.Errorf("the activity has %d events of alert rules", len(activity.Events))
	}
}

// TestAlertRulesThatDoNotFit: fields that do not fit the condition or action are refused, not
// ignored.
func TestAlertRulesThatDoNotFit(t *testing.T) {
	w := start(t, broker.Options{})
	for _, tc := range []struct{ field, rule, says string }{
		{"then", `"when":"expired","then":"extend","extendBy":"5m","maxExtensions":3`, "'then' must be notify if 'when' is expired, not 'extend'."},
		{"then", `"when":"auto-deleted","then":"pray"`, "'then' must be notify if 'when' is auto-deleted, not 'pray'."},
		{"query", `"when":"dead-letter-count","threshold":5,"query":"state:dead"`, "'query' is only valid if 'when' is expiring or dead-lettered, not dead-letter-count."},
		{"reason", `"when":"dead-letter-count","threshold":5,"reason":"x"`, "'reason' is only valid if 'when' is dead-lettered, not dead-letter-count."},
		{"within", `"when":"dead-lettered","within":"1m"`, "'within' is only valid if 'when' is expiring or auto-deleting, not dead-lettered."},
		{"threshold", `"when":"auto-deleting","within":"1m","threshold":5`, "'threshold' is only valid if 'when' is dead-letter-count, not auto-deleting."},
		{"extendBy", `"when":"expiring","within":"1m","extendBy":"5m"`, "'extendBy' is only valid if 'then' is extend, not notify."},
		{"maxExtensions", `"when":"expiring","within":"1m","then":"dead-letter","maxExtensions":3`, "'maxExtensions' is only valid if 'then' is extend, not dead-letter."},
		{"when", `"when":"soon","within":"1m","threshold":5`, "The condition of a rule must be one of"},
		{"then", `"when":"expiring","within":"1m","then":"pray","maxExtensions":3`, "The action of a rule must be one of"},
	} {
		for _, dry := range []string{"", `,"dryRun":true`} {
			var p Problem
			w.want(400, "POST", "/alert-rules", `{"name":"x",`+tc.rule+dry+`}`, &p)
			if p.Property != tc.field || !strings.HasPrefix(p.Detail, tc.says) {
				t.Errorf("%s: %+v", tc.rule, p)
			}
		}
	}
	w.want(200, "POST", "/alert-rules", `{"name":"x","when":"dead-letter-count","then":"notify","query":" ","reason":"","within":"","extendBy":"","maxExtensions":0}`, nil)
	w.want(400, "PUT", "/alert-rules/1", `{"name":"x","when":"expired","threshold":3}`, nil)
	var all AlertRules
	w.want(200, "GET", "/alert-rules", "", &all)
	if len(all.Rules) != 1 || all.Rules[0].When != "dead-letter-count" {
		t.Errorf("got %+v", all)
	}
}

// TestAlertReachesWebhook: a test of a rule reaches its webhook, signed with the rule's secret, and
// the delivery is recorded. The secret has to be given again for a webhook at another host.
func TestAlertReachesWebhook(t *testing.T) {
	w := startWithWebhooks(t, new(memory.Store), broker.Options{}, webhook.Options{AllowPrivate: true})
	got := make(chan http.Header, 1)
	there := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	t.Cleanup(there.Close)
	w.want(200, "POST", "/alert-rules", `{"name":"x","when":"auto-deleted","url":"https://example.org/"}`, nil)
	w.want(200, "PUT", "/alert-rules/1", `{"name":"x","when":"auto-deleted","secret":"correct horse","url":"`+there.URL+`"}`, nil)
	w.want(400, "PUT", "/alert-rules/1", `{"name":"x","when":"auto-deleted","url":"https://example.org/"}`, nil) // the secret is not kept for another host
	w.want(204, "POST", "/alert-rules/1/test", "", nil)
	if h := <-got; h.Get("Mayfly-Signature") == "" || h.Get("Mayfly-Rule") != "1" {
		t.Errorf("the webhook got the headers %v", h)
	}
	var all Deliveries
	webtest.Eventually(t, "the delivery is recorded", func() bool {
		w.want(200, "GET", "/alert-rules/1/deliveries", "", &all)
		return len(all.Deliveries) == 1 && all.Deliveries[0].State == "delivered"
	})
	if d := all.Deliveries[0]; !d.Test || d.Attempts != 1 || d.Status != 200 {
		t.Errorf("the delivery is %+v", d)
	}
}
