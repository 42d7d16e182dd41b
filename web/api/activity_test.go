package api

import (
	"net/url"
	"strings"
	"testing"

	"mayfly/engine/broker"
)

// heard returns the kinds of events in an answer.
func heard(a Activity) string {
	var kinds []string
	for _, e := range a.Events {
		kinds = append(kinds, e.Kind)
	}
	return strings.Join(kinds, " < ")
}

func TestActivity(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"orders"}`, nil)
	w.want(201, "POST", "/send/orders", `[{"messageId":"o-1"},{"messageId":"o-2"}]`, nil)
	var got Messages
	w.want(200, "POST", "/receive/orders", `{}`, &got)
	w.want(204, "POST", "/settle", `{"lockToken":"`+got.Messages[0].LockToken+`","outcome":"complete"}`, nil)
	w.want(200, "POST", "/purge/orders", `{"states":["active"]}`, nil)
	for path, want := range map[string]string{
		"/activity":                                    "purged < entity-created < started",
		"/activity?scope=system":                       "started",
		"/activity?scope=audit":                        "purged < entity-created",
		"/activity?scope=all":                          "purged < completed < locked < sent < sent < entity-created < started",
		"/activity?scope=all&group=ends":               "purged < completed",
		"/activity?path=orders&q=API":                  "purged < entity-created",
		"/activity?path=none":                          "",
		"/activity?message=" + got.Messages[0].Key:     "completed < locked < sent",
		"/activity?from=2999-01-01&until=2999-01-02":   "",
		"/activity?scope=all&until=2000-01-01T00:00Z":  "",
		"/activity?scope=all&actor=127.0.0.1&limit=10": "purged < completed < locked < sent < sent < entity-created",
	} {
		var a Activity
		w.want(200, "GET", path, "", &a)
		if got := heard(a); got != want || a.Next != "" || a.Events == nil {
			t.Errorf("%s: got %q, next %q; want %q", path, got, a.Next, want)
		}
	}
	var all, a Activity
	for before := ""; ; before = a.Next {
		a = Activity{}
		w.want(200, "GET", "/activity?scope=all&limit=2&cursor="+url.QueryEscape(before), "", &a)
		all.Events = append(all.Events, a.Events...)
		if a.Next == "" {
			break
		}
		if len(a.Events) != 2 {
			t.Errorf("%d events, and more follow", len(a.Events))
		}
	}
	if got := heard(all); got != "purged < completed < locked < sent < sent < entity-created < started" {
		t.Errorf("page by page: %q", got)
	}
	e := all.Events[1]
	if e.Path != "orders" || e.MessageID != "o-1" || e.Actor != "API 127.0.0.1" || e.Message != got.Messages[0].Key || e.Audited || e.Group != "ends" || e.Epoch != 1 || e.N == 0 || e.At.IsZero() {
		t.Errorf("the event is %+v", e)
	}
}

func TestActivityIsReadStrictly(t *testing.T) {
	w := start(t, broker.Options{})
	for _, query := range []string{
		"scope=some", "group=some", "path=/", "message=x", "from=soon", "until=soon", "cursor=1", "limit=0", "limit=1001", "limit=x", "kind=queue", "scope=all&scope=all",
	} {
		w.want(400, "GET", "/activity?"+query, "", nil)
	}
}
