package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/webtest"
)

// safely returns the world in Safe mode.
func (w *world) safely() *world {
	guarded := *w
	guarded.Client = w.safe
	return &guarded
}

// TestSafeModeRefuses: routes that always delete something irreversibly are refused in Safe
// mode, and change nothing; all other examples are answered as usual (dashboard §4).
func TestSafeModeRefuses(t *testing.T) {
	for _, r := range routes() {
		t.Run(r.id, func(t *testing.T) {
			w := everyExample(t)
			guarded := w.safely()
			o := theDocument().Paths[r.path][strings.ToLower(r.method)]
			address, body := o.Example.Address, o.Example.Body
			if vary := varying(guarded)[r.id]; vary != nil {
				instead, is := vary()
				address, body = strings.Replace(address, instead, is, 1), strings.Replace(body, instead, is, 1)
			}
			before := w.everything()
			got, text := guarded.ask(r.method, escaped(address), body)
			switch r.destruction {
			case destroys:
				if got.StatusCode != 403 || !strings.Contains(text, `"code":"SafeMode"`) {
					t.Errorf("the response to %s %s is %d %s", r.method, address, got.StatusCode, text)
				}
				if w.everything() != before {
					t.Error("something has changed")
				}
			case mayDestroy: // below
			default:
				if fmt.Sprint(got.StatusCode) != o.Status {
					t.Errorf("the response to %s %s is %d %s", r.method, address, got.StatusCode, text)
				}
			}
		})
	}
}

// TestSafeModeByRequest: if it depends on the request, only irreversible deletions are
// refused.
func TestSafeModeByRequest(t *testing.T) {
	const orders = `"paths":["orders"]`
	for name, tc := range map[string]struct {
		method, path, body string
		refused            bool
	}{
		"purge":                  {"POST", "/purge/orders", `{"states":["active"]}`, true},
		"purge, counted":         {"POST", "/purge/orders", `{"states":["active"],"dryRun":true}`, false},
		"delete":                 {"POST", "/jobs", `{"kind":"delete",` + orders + `}`, true},
		"delete, counted":        {"POST", "/jobs", `{"kind":"delete","dryRun":true,` + orders + `}`, false},
		"purge by a job":         {"POST", "/jobs", `{"kind":"purge",` + orders + `}`, true},
		"move":                   {"POST", "/jobs", `{"kind":"move","to":"copies",` + orders + `}`, false},
		"extend":                 {"POST", "/jobs", `{"kind":"extend","by":"PT1H",` + orders + `}`, false},
		"cut":                    {"POST", "/jobs", `{"kind":"extend","by":"-PT1M",` + orders + `}`, true},
		"update":                 {"PATCH", "/entities/orders", `{"properties":{"MaxDeliveryCount":5}}`, false},
		"update, they run out":   {"PATCH", "/entities/orders", `{"properties":{"DefaultMessageTimeToLive":"PT0.001S"}}`, true},
		"definitions, new":       {"POST", "/definitions", `{"UserConfig":{"Namespaces":[{"Name":"x","Queues":[{"Name":"invoices"}]}]}}`, false},
		"definitions, changed":   {"POST", "/definitions", `{"UserConfig":{"Namespaces":[{"Name":"x","Queues":[{"Name":"orders","Properties":{"MaxDeliveryCount":5}}]}]}}`, true},
		"definitions, looked at": {"POST", "/definitions?dryRun=true", `{"UserConfig":{"Namespaces":[{"Name":"x","Queues":[{"Name":"orders","Properties":{"MaxDeliveryCount":5}}]}]}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			limits := engine.DefaultLimits()
			limits.MinTTL = time.Millisecond
			w := furnished(start(t, broker.Options{Limits: &limits}))
			if strings.Contains(name, "run out") {
				webtest.Eventually(t, "the messages would have expired", func() bool {
					var got UpdateImpact
					w.want(200, "PATCH", "/entities/orders?dryRun=true", tc.body, &got)
					return got.Expire > 0
				})
			}
			before := w.everything()
			got, text := w.safely().ask(tc.method, tc.path, tc.body)
			if refused := got.StatusCode == 403 && strings.Contains(text, `"code":"SafeMode"`); refused != tc.refused || !refused && got.StatusCode != 200 {
				t.Errorf("%d %s", got.StatusCode, text)
			}
			if tc.refused && w.everything() != before {
				t.Error("something has changed")
			}
		})
	}
	w := everyExample(t)
	if _, text := w.safely().ask("GET", "/health", ""); !strings.Contains(text, `"safeMode":true`) {
		t.Errorf("the error does not mention Safe mode: %s", text)
	}
	if _, text := w.ask("GET", "/health", ""); strings.Contains(text, "safe") {
		t.Errorf("the error mentions Safe mode: %s", text)
	}
}

// TestEveryDeleteIsJudged: each route that deletes is declared to delete irreversibly, or
// listed as harmless.
func TestEveryDeleteIsJudged(t *testing.T) {
	harmless := map[string]string{
		"cancelJob": "the changes that it has made are kept", "closeConnection": "SDKs connect again", "unlockSession": "as if it had expired", "releaseSession": "as if it had expired",
		"deleteView": "columns, not messages", "deleteAlertRule": "what it did stays done", "deleteTemplate": "what was sent from it stays",
		"deleteScene": "what is shown, not messages", "endPlayback": "a namespace that is made to be thrown away",
		"revokeToken": "it keeps safe",
	}
	for _, r := range routes() {
		if r.method == "DELETE" && (r.destruction == nondestructive) != (harmless[r.id] != "") {
			t.Errorf("%s %s: declare in its route that it destroys something, or list it as harmless", r.method, r.path)
		}
	}
}

// TestEveryChangeIsRemembered: every change is recorded by an event with its actor, which
// Activity shows.
func TestEveryChangeIsRemembered(t *testing.T) {
	silent := []string{
		"cancelJob",                     // the example's job has ended
		"testAlertRule",                 // changes nothing here
		"testRules",                     // changes nothing
		"importDefinitions", "startJob", // the example only counts: see below
		"renewLock", "acceptSession", "renewSession", // actions of messaging clients, which are not recorded
	}
	for _, r := range routes() {
		if r.method == "GET" || slices.Contains(silent, r.id) {
			continue
		}
		t.Run(r.id, func(t *testing.T) {
			w := everyExample(t)
			o := theDocument().Paths[r.path][strings.ToLower(r.method)]
			address, body := strings.Replace(o.Example.Address, "dryRun=true", "", 1), strings.Replace(o.Example.Body, `,"dryRun":true`, "", 1)
			if vary := varying(w)[r.id]; vary != nil {
				instead, is := vary()
				address, body = strings.Replace(address, instead, is, 1), strings.Replace(body, instead, is, 1)
			}
			from := w.last()
			if got, text := w.ask(r.method, escaped(address), body); got.StatusCode >= 300 {
				t.Fatalf("%d %s", got.StatusCode, text)
			}
			webtest.Eventually(t, "the event is in the log", func() bool { return w.changed(from) })
		})
	}
	for name, tc := range map[string]struct{ method, path, body string }{
		"definitions": {"POST", "/definitions", `{"UserConfig":{"Namespaces":[{"Name":"x","Queues":[{"Name":"invoices"}]}]}}`},
		"a job":       {"POST", "/jobs", `{"kind":"delete","paths":["orders"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := everyExample(t)
			from := w.last()
			w.want(200, tc.method, tc.path, tc.body, nil)
			webtest.Eventually(t, "the event is in the log", func() bool { return w.changed(from) })
		})
	}
}

// brokers returns the brokers that record events: the world's, and those of the other
// namespaces.
func (w *world) brokers() []*broker.Broker {
	all := []*broker.Broker{w.broker.Broker}
	for _, n := range w.namespaces.List() {
		if n.Broker != nil {
			all = append(all, n.Broker)
		}
	}
	return all
}

// last returns the number of the latest event of each broker.
func (w *world) last() map[*broker.Broker]uint64 {
	n := map[*broker.Broker]uint64{}
	for _, b := range w.brokers() {
		n[b] = b.Events().Last()
	}
	return n
}

// changed reports whether a broker has recorded an event of an API caller after the numbers in
// `since`, which last returns.
func (w *world) changed(since map[*broker.Broker]uint64) bool {
	for _, b := range w.brokers() {
		if slices.ContainsFunc(b.Events().Recent(int(b.Events().Last()-since[b])), func(e engine.Event) bool {
			return e.N > since[b] && strings.HasPrefix(e.Actor, "API ")
		}) {
			return true
		}
	}
	return false
}
