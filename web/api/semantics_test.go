package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/webtest"
)

// TestSemantics checks the rules that concern the API.
func TestSemantics(t *testing.T) {
	create := func(path string, properties ...string) string {
		return `{"kind":"queue","path":"` + path + `","properties":{` + strings.Join(properties, ",") + `}}`
	}
	for name, show := range map[string]func(w *world){
		"NAME-1 queue and topic": func(w *world) {
			for _, kind := range []string{"queue", "topic"} {
				body := func(n int) string { return `{"kind":"` + kind + `","path":"` + strings.Repeat(kind[:1], n) + `"}` }
				w.want(201, "POST", "/entities", body(260), nil)
				w.want(400, "POST", "/entities", body(261), nil)
			}
		},
		"NAME-2 subscription": func(w *world) {
			w.want(201, "POST", "/entities", `{"kind":"topic","path":"t"}`, nil)
			body := func(n int) string {
				return `{"kind":"subscription","path":"t/Subscriptions/` + strings.Repeat("s", n) + `"}`
			}
			w.want(201, "POST", "/entities", body(50), nil)
			w.want(400, "POST", "/entities", body(51), nil)
		},
		"NAME-4 each sign": func(w *world) {
			for _, sign := range []string{"@", "?", "#", "*"} {
				w.want(400, "POST", "/entities", create("a"+sign+"b"), nil)
			}
		},
		"NAME-6 any case": func(w *world) {
			w.want(201, "POST", "/entities", create("Q1"), nil)
			if got := w.entity("q1").Path; got != "Q1" {
				w.Errorf("the path is %s", got)
			}
			w.want(409, "POST", "/entities", create("q1"), nil)
		},
		"NAME-7 one name space": func(w *world) {
			w.want(201, "POST", "/entities", create("a"), nil)
			w.want(409, "POST", "/entities", `{"kind":"topic","path":"a"}`, nil)
			w.want(201, "POST", "/entities", `{"kind":"topic","path":"t"}`, nil)
			var all Entities
			w.want(200, "GET", "/entities?kind=queue", "", &all)
			if len(all.Entities) != 1 || all.Entities[0].Path != "a" {
				w.Errorf("the queues are %+v", all.Entities)
			}
		},
		"PROP-1 what is fixed": func(w *world) {
			w.want(201, "POST", "/entities", create("q"), nil)
			w.want(201, "POST", "/entities", `{"kind":"topic","path":"t"}`, nil)
			w.want(201, "POST", "/entities", `{"kind":"subscription","path":"t/Subscriptions/s"}`, nil)
			before := w.everything()
			for path, names := range map[string][]string{
				"q": {"RequiresDuplicateDetection", "RequiresSession", "EnablePartitioning"}, "t": {"RequiresDuplicateDetection", "EnablePartitioning"}, "t/Subscriptions/s": {"RequiresSession"},
			} {
				for _, name := range names {
					w.want(400, "PATCH", "/entities/"+path, `{"properties":{"`+name+`":true}}`, nil)
				}
			}
			if after := w.everything(); after != before {
				w.Errorf("something has changed:\n%s\n%s", before, after)
			}
		},
		"PROP-3, PROP-4, PROP-5, PROP-6, PROP-8 at their bounds": func(w *world) {
			for i, tc := range []struct{ good, bad string }{
				{`"LockDuration":"PT5M"`, `"LockDuration":"PT5M1S"`},
				{`"DefaultMessageTimeToLive":"PT1S"`, `"DefaultMessageTimeToLive":"PT0.5S"`},
				{`"AutoDeleteOnIdle":"PT5M"`, `"AutoDeleteOnIdle":"PT4M59S"`},
				{`"MaxDeliveryCount":1`, `"MaxDeliveryCount":0`},
				{`"UserMetadata":"` + strings.Repeat("x", 1024) + `"`, `"UserMetadata":"` + strings.Repeat("x", 1025) + `"`},
			} {
				w.want(400, "POST", "/entities", create(fmt.Sprint("q", i), tc.bad), nil)
				w.want(201, "POST", "/entities", create(fmt.Sprint("q", i), tc.good), nil)
				w.want(400, "PATCH", fmt.Sprint("/entities/q", i), `{"properties":{`+tc.bad+`}}`, nil)
			}
		},
		"PROP-13 twice, and never": func(w *world) {
			w.want(201, "POST", "/entities", create("q"), nil)
			_, text := w.ask("POST", "/entities", create("q"))
			if !strings.Contains(text, `"MessagingEntityAlreadyExists"`) || !strings.Contains(text, `"status":409`) {
				w.Errorf("got %s", text)
			}
			w.want(204, "DELETE", "/entities/q", "", nil)
			w.want(404, "DELETE", "/entities/q", "", nil)
		},
		"RT-2 never accessed": func(w *world) {
			w.want(201, "POST", "/entities", create("q"), nil)
			if e := w.entity("q"); e.AccessedAt != nil {
				w.Errorf("a new queue was accessed at %v", e.AccessedAt)
			}
			w.want(201, "POST", "/send/q", `{}`, nil)
			if e := w.entity("q"); e.AccessedAt == nil {
				w.Error("a send does not count as access")
			}
		},
		"TTL-10 without the element": func(w *world) {
			w.want(201, "POST", "/entities", create("q"), nil)
			if got := w.entity("q").Properties["DefaultMessageTimeToLive"]; got != "P10675199DT2H48M5.4775807S" {
				w.Errorf("got %v", got)
			}
			w.want(200, "PATCH", "/entities/q", `{"properties":{"DefaultMessageTimeToLive":"P10675199DT2H48M5.4775807S"}}`, nil)
			w.want(201, "POST", "/send/q", `{}`, nil)
			var got Messages
			w.want(200, "POST", "/receive/q", `{}`, &got)
			if got.Messages[0].ExpiresAt != nil {
				w.Errorf("the message expires at %v", got.Messages[0].ExpiresAt)
			}
		},
		"TTL-15 computed when peeked": func(w *world) {
			w.want(201, "POST", "/entities", create("q", `"DefaultMessageTimeToLive":"PT1M"`), nil)
			w.want(201, "POST", "/send/q", `[{},{"timeToLive":"PT30S"}]`, nil)
			var got Messages
			w.want(200, "GET", "/peek/q", "", &got)
			for i, want := range []time.Duration{time.Minute, 30 * time.Second} {
				if m := got.Messages[i]; m.ExpiresAt == nil || m.ExpiresAt.Sub(m.EnqueuedTime) != want {
					w.Errorf("the message expires at %v; want %v after %v", m.ExpiresAt, want, m.EnqueuedTime)
				}
			}
		},
		"IDLE-6, PROP-5 at creation and later": func(w *world) {
			for _, e := range []struct{ kind, path string }{{"queue", "q"}, {"topic", "t"}, {"subscription", "t/Subscriptions/s"}} {
				path := e.path
				w.want(201, "POST", "/entities", `{"kind":"`+e.kind+`","path":"`+path+`","properties":{"AutoDeleteOnIdle":"PT5M"}}`, nil)
				e := w.entity(path)
				if e.Properties["AutoDeleteOnIdle"] != "PT5M" || e.DeletesAt == nil || e.DeletesAt.Sub(e.CreatedAt) < 5*time.Minute {
					w.Errorf("%s has %v and is deleted at %v", path, e.Properties["AutoDeleteOnIdle"], e.DeletesAt)
				}
				w.want(200, "PATCH", "/entities/"+path, `{"properties":{"AutoDeleteOnIdle":"PT10M"}}`, nil)
				if e := w.entity(path); e.Properties["AutoDeleteOnIdle"] != "PT10M" {
					w.Errorf("%s has %v", path, e.Properties["AutoDeleteOnIdle"])
				}
				w.want(400, "PATCH", "/entities/"+path, `{"properties":{"AutoDeleteOnIdle":"PT4M59S"}}`, nil)
				w.want(200, "PATCH", "/entities/"+path, `{"properties":{"AutoDeleteOnIdle":null}}`, nil)
				if e := w.entity(path); e.Properties["AutoDeleteOnIdle"] != engine.MaxDurationText || e.DeletesAt != nil {
					w.Errorf("%s has %v and is deleted at %v", path, e.Properties["AutoDeleteOnIdle"], e.DeletesAt)
				}
			}
		},
		"PEEK-8 no lock": func(w *world) {
			w.want(201, "POST", "/entities", create("q"), nil)
			w.want(201, "POST", "/send/q", `[{},{}]`, nil)
			var held, peeked Messages
			w.want(200, "POST", "/receive/q", `{}`, &held)
			w.want(200, "GET", "/peek/q", "", &peeked)
			for i, m := range peeked.Messages {
				if m.LockToken != "" || i == 1 && m.LockedUntil != nil {
					w.Errorf("a lock is shown: %+v", m)
				}
			}
			w.want(400, "POST", "/settle", `{"lockToken":"`+peeked.Messages[1].LockToken+`","outcome":"complete"}`, nil)
			w.want(204, "POST", "/settle", `{"lockToken":"`+held.Messages[0].LockToken+`","outcome":"complete"}`, nil)
		},
		"CNT-3, RT-6 counts are those of a peek": func(w *world) {
			w.want(201, "POST", "/entities", create("q"), nil)
			for n := range 5 {
				w.want(201, "POST", "/send/q", `{}`, nil)
				var peeked Messages
				w.want(200, "GET", "/peek/q", "", &peeked)
				if got := w.entity("q").Counts; got.Active != int64(n+1) || len(peeked.Messages) != n+1 {
					w.Errorf("the counts are %+v, but %d messages were peeked", got, len(peeked.Messages))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) { show(start(t, broker.Options{})) })
	}
}

// TestUpdateDryRun: the impact of a shorter time to live is previewed, without a change
// (TTL-16).
func TestUpdateDryRun(t *testing.T) {
	limits := engine.DefaultLimits()
	limits.MinTTL = time.Millisecond
	w := start(t, broker.Options{Limits: &limits})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"DeadLetteringOnMessageExpiration":true}}`, nil)
	w.want(201, "POST", "/send/q", `[{},{},{}]`, nil)
	w.want(200, "POST", "/receive/q", `{}`, nil)
	webtest.Eventually(t, "a millisecond has passed", func() bool {
		before := w.everything()
		var got UpdateImpact
		w.want(200, "PATCH", "/entities/q?dryRun=true", `{"properties":{"DefaultMessageTimeToLive":"PT0.001S"}}`, &got)
		if w.everything() != before {
			t.Fatalf("reading changed %s to %s", before, w.everything())
		}
		return got == UpdateImpact{Expire: 2, DeadLetter: 2, WhenUnlocked: 1}
	})
	w.want(200, "PATCH", "/entities/q", `{"properties":{"DefaultMessageTimeToLive":"PT0.001S"}}`, nil)
	webtest.Eventually(t, "the messages have expired", func() bool { return w.entity("q").Counts.DeadLetter == 2 })
}
