package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

func TestCreateAndEdit(t *testing.T) {
	within(t, func(w *world) {
		says, at := w.done("/n/default/queues", "name", "a/b", "DefaultMessageTimeToLive", "1h 30m", "DeadLetteringOnMessageExpiration", "true",
			"LockDuration", "30s", "MaxDeliveryCount", "5", "AutoDeleteOnIdle", "never", "Status", "Active", "EnableBatchedOperations", "true", "UserMetadata", "mine")
		if at != "/n/default/q/a%2Fb" || !strings.Contains(says, "Created the queue a/b") {
			t.Errorf("redirected to %s with the notice %q", at, says)
		}
		want := engine.Config{DefaultMessageTimeToLive: 90 * time.Minute, DeadLetteringOnMessageExpiration: true, LockDuration: 30 * time.Second, MaxDeliveryCount: 5, UserMetadata: "mine"}
		got := w.b.State("a/b").Config
		got.MaxSizeInMegabytes, got.DuplicateDetectionHistoryTimeWindow = 0, 0
		if !got.Equal(want) {
			t.Errorf("created %+v", got)
		}
		w.see(at+"?tab=settings").wants(200, "1h 30m")

		form := w.see(at + "/edit")
		if v, _ := form.Find("[name=DefaultMessageTimeToLive]").Attr("value"); v != "1h30m" {
			t.Errorf("the form has %q", v)
		}
		if _, off := form.Find("[name=RequiresSession]").Attr("disabled"); !off {
			t.Error("properties fixed at creation can be edited")
		}
		says, _ = w.done(at+"/edit", "DefaultMessageTimeToLive", "2h", "MaxDeliveryCount", "7")
		if !strings.Contains(says, "Saved a/b") {
			t.Errorf("the notice is %q", says)
		}
		if c := w.b.State("a/b").Config; c.DefaultMessageTimeToLive != 2*time.Hour || c.MaxDeliveryCount != 7 || c.LockDuration != 0 || c.DeadLetteringOnMessageExpiration || !c.UnbatchedOperations {
			t.Errorf("a form is a full replacement (PROP-2), got %+v", c)
		}

		_, at = w.done("/n/default/topics", "name", "prices")
		if at != "/n/default/t/prices" {
			t.Errorf("redirected to %s", at)
		}
		_, at = w.done("/n/default/t/prices/new", "name", "eu", "MaxDeliveryCount", "")
		if at != "/n/default/t/prices/s/eu" {
			t.Errorf("redirected to %s", at)
		}
		w.see(at+"?tab=rules").wants(200, "$Default")
	})
}

// TestBadEntityForms sends invalid values for each field: the form is shown again with the
// error at the field, and nothing is created or changed.
func TestBadEntityForms(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{MaxDeliveryCount: 3})
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		for name, tc := range map[string]struct {
			field, value string
			status       int
		}{
			"no name":                        {"name", "", 422},
			"name with a space":              {"name", "a b", 422},
			"name with a reserved sign":      {"name", "a?b", 422},
			"name that begins with a slash":  {"name", "/a", 422},
			"name too long":                  {"name", strings.Repeat("a", 261), 422},
			"name that is taken":             {"name", "ORDERS", 409},
			"name of a topic that is there":  {"name", "prices", 409},
			"TTL malformed":                  {"DefaultMessageTimeToLive", "soon", 422},
			"TTL of nothing":                 {"DefaultMessageTimeToLive", "0s", 422},
			"TTL below the least":            {"DefaultMessageTimeToLive", "500ms", 422},
			"TTL negative":                   {"DefaultMessageTimeToLive", "-5m", 422},
			"lock too short":                 {"LockDuration", "4s", 422},
			"lock too long":                  {"LockDuration", "5m1s", 422},
			"lock never":                     {"LockDuration", "never", 422},
			"tries of nothing":               {"MaxDeliveryCount", "0", 422},
			"tries no number":                {"MaxDeliveryCount", "ten", 422},
			"tries beyond int32":             {"MaxDeliveryCount", "2147483648", 422},
			"idle below the least":           {"AutoDeleteOnIdle", "999ms", 422},
			"idle malformed":                 {"AutoDeleteOnIdle", "P1X", 422},
			"status unknown":                 {"Status", "Asleep", 422},
			"window too short":               {"DuplicateDetectionHistoryTimeWindow", "19s", 422},
			"forward to nothing that exists": {"ForwardTo", "nowhere", 422},
			"forward to no name":             {"ForwardTo", "a b", 422},
			"dead letters to nothing":        {"ForwardDeadLetteredMessagesTo", "nowhere", 422},
			"size of nothing":                {"MaxSizeInMegabytes", "-1", 422},
			"size too large":                 {"MaxSizeInMegabytes", "81921", 422},
			"message size too large":         {"MaxMessageSizeInKilobytes", "102401", 422},
			"switch that is neither":         {"DeadLetteringOnMessageExpiration", "perhaps", 422},
			"metadata too long":              {"UserMetadata", strings.Repeat("é", 1025), 422},
		} {
			form := url.Values{"csrf": {w.token()}, "name": {"new"}}
			form.Set(tc.field, tc.value)
			a := w.send("/n/default/queues", form)
			if a.status != tc.status || a.Find(".err").Length() != 1 || a.Find("[name="+tc.field+"][aria-invalid=true]").Length() != 1 {
				t.Errorf("%s: %d with %d errors: %s", name, a.status, a.Find(".err").Length(), a.Find(".err").Text())
			}
			if v, ok := a.Find("input[name=" + tc.field + "]").Attr("value"); ok && v != tc.value && a.Find("input[name="+tc.field+"][type=checkbox]").Length() == 0 {
				t.Errorf("%s: typed text was returned as %q", name, v)
			}
			if tc.field == "name" {
				continue
			}
			form.Set("name", "other")
			if tc.value == "new" {
				form.Set(tc.field, "orders")
			}
			if a := w.send("/n/default/q/orders/edit", form); a.status != 422 || a.Find(".err").Length() != 1 {
				t.Errorf("%s, editing: %d with %d errors", name, a.status, a.Find(".err").Length())
			}
		}
		var names []string
		for _, e := range []engine.Path{"orders", "prices"} {
			names = append(names, string(w.b.State(e).Path))
		}
		if a := w.get("/n/default/q/new"); a.status != 404 || len(names) != 2 {
			t.Errorf("something was created")
		}
		if c := w.b.State("orders").Config; !c.Equal(engine.Config{MaxDeliveryCount: 3}) {
			t.Errorf("something was changed: %+v", c)
		}
		if a := w.post("/n/default/t/prices/new", "name", "a/b"); a.status != 422 {
			t.Errorf("a subscription with the name a/b: %d", a.status)
		}
		if a := w.post("/n/default/t/prices/new", "name", "EU"); a.status != 409 {
			t.Errorf("a subscription that exists already: %d", a.status)
		}
		if a := w.post("/n/default/topics", "name", "x", "Status", "ReceiveDisabled"); a.status != 422 {
			t.Errorf("receiving from a topic: %d", a.status)
		}
	})
}

func TestLoweredTTLAsksFirst(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{DefaultMessageTimeToLive: time.Hour})
		w.fill("orders", engine.Content{}, engine.Content{}, engine.Content{TTL: 50 * time.Minute})
		w.pass(3 * time.Minute)
		w.fill("orders", engine.Content{})
		a := w.post("/n/default/q/orders/edit", "DefaultMessageTimeToLive", "2m")
		a.wants(422, "2 messages would run out at once")
		if c := w.b.State("orders").Config; c.DefaultMessageTimeToLive != time.Hour {
			t.Fatalf("the change was made without a confirmation")
		}
		again, _ := a.Find("form#f").Attr("action")
		if a := w.post(again, "DefaultMessageTimeToLive", "2m"); a.status != 303 {
			t.Errorf("the second time: %d", a.status)
		}
		w.pass(time.Second)
		if e := w.b.State("orders"); e.Counts.Active != 2 {
			t.Errorf("%d messages are left, want 2", e.Counts.Active)
		}
		w.done("/n/default/q/orders/edit", "DefaultMessageTimeToLive", "1m30s") // no message would expire at once, so no confirmation is needed
	})
}

// TestTriedTimes: an entity's form that is sent with try=1 shows the effects of the typed times,
// and changes nothing (IDLE-9 … IDLE-12, IDLE-15, TTL-16).
func TestTriedTimes(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{AutoDeleteOnIdle: 10 * time.Minute})
		w.b.CreateQueue("other", engine.Config{})
		w.fill("orders", engine.Content{}, engine.Content{})
		w.pass(5 * time.Minute)
		is := w.b.State("orders")
		said := func(pairs ...string) answer { return w.post("/n/default/q/orders/edit?try=1", pairs...) }
		for name, c := range map[string]struct {
			typed []string
			says  string
		}{
			"it would go":        {[]string{"AutoDeleteOnIdle", "1h"}, "With 1h it would delete itself at 01:05:00"},
			"with what is in it": {[]string{"AutoDeleteOnIdle", "1h"}, "2 messages"},
			"never":              {[]string{"AutoDeleteOnIdle", "never"}, "It would not delete itself any more"},
			"it forwards":        {[]string{"AutoDeleteOnIdle", "1h", "ForwardTo", "other"}, "While it forwards its messages it never does"},
			"what it is":         {[]string{"AutoDeleteOnIdle", "10m"}, "is shown here"},
			"less than may be":   {[]string{"AutoDeleteOnIdle", "500ms"}, "is shown here"},
			"time to live":       {[]string{"AutoDeleteOnIdle", "10m", "DefaultMessageTimeToLive", "1m"}, "of 2 messages"},
		} {
			a := said(c.typed...)
			if text := strings.Join(strings.Fields(a.Find("main").Text()), " "); a.status != 200 || !strings.Contains(text, c.says) {
				t.Errorf("%s: %d, %s", name, a.status, text)
			}
			if to, _ := a.Find("form#f").Attr("action"); to != "/n/default/q/orders/edit" {
				t.Errorf("%s: the form is saved at %s", name, to)
			}
		}
		if a := said("AutoDeleteOnIdle", "500ms"); a.Find("#f-AutoDeleteOnIdle[aria-invalid=true]").Length() != 1 {
			t.Error("an invalid field has no error")
		}
		if now := w.b.State("orders"); !now.Config.Equal(is.Config) || now.LastUsed != is.LastUsed {
			t.Errorf("a trial changed something: %+v", now)
		}
		w.fill("orders", engine.Content{ScheduledFor: is.LastUsed.Add(time.Hour)})
		said("AutoDeleteOnIdle", "1h").wants(200, "One scheduled message is waiting. The 1h start when it becomes active")
	})
}

func TestDeleteEntityAsksForItsName(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		w.fill("prices", engine.Content{}, engine.Content{})
		ask := w.see("/n/default/t/prices/delete")
		ask.wants(200, "One subscription")
		if n, _ := ask.Find("input[name=count]").Attr("value"); n != "2" {
			t.Errorf("the number to confirm is %q", n)
		}
		for name, pairs := range map[string][]string{
			"nothing typed":     {"count", "2"},
			"another name":      {"count", "2", "confirm", "price"},
			"in other letters":  {"count", "2", "confirm", "Prices"},
			"no number":         {"confirm", "prices"},
			"a negative number": {"confirm", "prices", "count", "-2"},
			"no number at all":  {"confirm", "prices", "count", "two"},
		} {
			if a := w.post("/n/default/t/prices/delete", pairs...); a.status != 422 {
				t.Errorf("%s: %d", name, a.status)
			}
		}
		a := w.post("/n/default/t/prices/delete", "count", "1", "confirm", "prices")
		a.wants(409, "There were 1 messages when you confirmed")
		if n, _ := a.Find("input[name=count]").Attr("value"); n != "2" {
			t.Errorf("the form is shown again with %q", n)
		}
		says, at := w.done("/n/default/t/prices/delete", "count", "2", "confirm", "prices")
		if at != "/n/default/topics" || !strings.Contains(says, "Deleted prices") {
			t.Errorf("redirected to %s with the notice %q", at, says)
		}
		w.see("/n/default/t/prices/s/eu").wants(200, "deleted by the dashboard")
		w.see("/n/default/t/prices").wants(200, "deleted by the dashboard")
	})
}

func TestPurge(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		now, err := w.b.Now(w.Context())
		w.must(err)
		for range 30 {
			w.fill("orders", engine.Content{})
		}
		w.fill("orders", engine.Content{ScheduledFor: now.Add(time.Hour)})
		for _, r := range w.b.RowsOf("orders", engine.ClassActive)[:3] {
			w.must(w.b.DeadLetterMessage(w.Context(), r.Message.Key, "Poison", "", "test"))
		}
		_, at := w.done("/n/default/q/orders/receive")
		if !strings.Contains(at, "?lock=") {
			t.Fatalf("redirected to %s", at)
		}
		for name, tc := range map[string]struct {
			pairs  []string
			status int
		}{
			"no state":           {[]string{"count", "26", "confirm", "orders"}, 422},
			"an unknown state":   {[]string{"count", "26", "confirm", "orders", "state", "locked"}, 422},
			"no number":          {[]string{"confirm", "orders", "state", "active"}, 422},
			"no name":            {[]string{"count", "26", "state", "active"}, 422},
			"another name":       {[]string{"count", "26", "state", "active", "confirm", "order"}, 422},
			"too small a number": {[]string{"count", "20", "state", "active", "confirm", "orders"}, 409},
		} {
			if a := w.post("/n/default/q/orders/purge", tc.pairs...); a.status != tc.status {
				t.Errorf("%s: %d, want %d", name, a.status, tc.status)
			}
		}
		if e := w.b.State("orders"); e.Counts != (engine.Counts{Active: 26, Locked: 1, Scheduled: 1, DeadLetter: 3}) {
			t.Fatalf("got %+v", e.Counts)
		}
		says, _ := w.done("/n/default/q/orders/purge", "count", "3", "state", "dead-letter")
		if !strings.Contains(says, "Purged 3 messages from orders") {
			t.Errorf("the notice is %q", says)
		}
		// The number that confirms the purge of two subqueues is the sum of their messages.
		w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("orders", engine.ClassActive)[0].Message.Key, "Poison", "", "test"))
		says, _ = w.done("/n/default/q/orders/purge", "count", "1", "state", "dead-letter", "state", "deferred")
		if !strings.Contains(says, "Purged one message from orders") {
			t.Errorf("the notice is %q", says)
		}
		w.fill("orders", engine.Content{})
		says, _ = w.done("/n/default/q/orders/purge", "count", "27", "state", "active", "state", "scheduled", "confirm", "orders")
		if !strings.Contains(says, "Purged 27 messages") || !strings.Contains(says, "One is locked") {
			t.Errorf("the notice is %q", says)
		}
		if e := w.b.State("orders"); e.Counts != (engine.Counts{Locked: 1}) {
			t.Errorf("got %+v", e.Counts)
		}
	})
}

// TestNewTemporaryQueue: the form for a temporary queue has its own title and a time after which
// the queue deletes itself, and keeps both when it is shown again.
func TestNewTemporaryQueue(t *testing.T) {
	within(t, func(w *world) {
		link := w.see("/n/default/temporary").Find(`a[href*="queues/new"]`).First()
		form := w.see(link.AttrOr("href", ""))
		for range 2 {
			title := form.Find("title").Text()
			if is := form.Find("h1").Text(); is != strings.TrimSpace(link.Text()) || !strings.Contains(title, is) {
				t.Errorf("%q links to %q, which has the title %q", link.Text(), is, title)
			}
			if idle := form.Find("[name=AutoDeleteOnIdle]").AttrOr("value", ""); idle != "1s" { // the minimum here
				t.Errorf("the queue deletes itself after %q", idle)
			}
			fields := sent(form)
			fields.Set("name", "a?b")
			form = w.send(form.Find("#f").AttrOr("action", ""), fields)
			form.wants(422)
		}
		fields := sent(form)
		fields.Set("name", "a")
		if a := w.send(form.Find("#f").AttrOr("action", ""), fields); a.to != "/n/default/q/a" || w.b.State("a").Config.AutoDeleteOnIdle != time.Second {
			t.Errorf("created %+v, redirected to %s", w.b.State("a").Config, a.to)
		}
		if h := w.see("/n/default/queues/new").Find("h1").Text(); h != "New queue" {
			t.Errorf("the title of any queue is %q", h)
		}
	})
}

func TestTemporary(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("reply", engine.Config{AutoDeleteOnIdle: 10 * time.Second})
		w.pass(9 * time.Second)
		w.done("/n/default/q/reply/touch")
		w.pass(9 * time.Second)
		w.done("/n/default/q/reply/pin")
		w.pass(time.Minute)
		w.see("/n/default/temporary").wants(200, "Pinned")
		w.done("/n/default/q/reply/unpin")
		if a := w.post("/n/default/q/reply/unpin"); a.status != 409 {
			t.Errorf("unpinned twice: %d", a.status)
		}
		w.fill("reply", engine.Content{})
		w.pass(time.Minute)
		w.see("/n/default/q/reply").wants(200, "reply deleted itself", "one message")
		page := w.see("/n/default/temporary")
		page.wants(200, "Deleted themselves")
		restore, ok := page.Find("[data-list=graves] button").Attr("formaction")
		if !ok {
			t.Fatal("no form restores the entity")
		}
		says, at := w.done(restore)
		if at != "/n/default/q/reply" || !strings.Contains(says, "Restored reply") {
			t.Errorf("redirected to %s with the notice %q", at, says)
		}
		if e := w.b.State("reply"); e.Config.AutoDeleteOnIdle != 10*time.Second {
			t.Errorf("restored %+v", e.Config)
		}
		if a := w.post(restore); a.status != 404 {
			t.Errorf("restored twice: %d", a.status)
		}
	})
}

func TestRules(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		says, _ := w.done("/n/default/t/prices/s/eu/rules/remove?rule=" + url.QueryEscape("$Default"))
		if !strings.Contains(says, "lost the rule $Default") {
			t.Errorf("the notice is %q", says)
		}
		if a := w.post("/n/default/t/prices/s/eu/rules/remove?rule=none"); a.status != 404 {
			t.Errorf("a missing rule: %d", a.status)
		}
		w.fill("prices", engine.Content{})
		w.done("/n/default/t/prices/s/eu/rules/add")
		if a := w.post("/n/default/t/prices/s/eu/rules/add"); a.status != 409 {
			t.Errorf("added twice: %d", a.status)
		}
		w.fill("prices", engine.Content{})
		if n := w.b.State("prices/Subscriptions/eu").Counts.Active; n != 1 {
			t.Errorf("%d messages arrived", n)
		}
		if a := w.post("/n/default/q/orders/rules/add"); a.status != 404 {
			t.Errorf("a rule for a missing queue: %d", a.status)
		}
	})
}

// TestCreateNamesWithSigns: the form creates entities whose names begin and end with
// punctuation, and their pages open (NAME-5).
func TestCreateNamesWithSigns(t *testing.T) {
	within(t, func(w *world) {
		for _, name := range []string{"a-", "a_", "a.", "a~", "_a", "-", "...", "MassTransit/Fault--Shop/Order--"} {
			_, at := w.done("/n/default/topics", "name", name)
			w.see(at+"?tab=settings").wants(200, name)
			sub := strings.ReplaceAll(name, "/", "-")
			_, at = w.done(at+"/new", "name", sub, "MaxDeliveryCount", "")
			w.see(at+"?tab=rules").wants(200, "$Default")
			w.b.State(engine.SubscriptionPath(name, sub))
			w.done(at+"/rules/new", "rule-name", "r"+sub[len(sub)-1:], "rule-kind", "true")
		}
		if a := w.post("/n/default/topics", "name", "a/.."); a.status != 422 || !strings.Contains(a.Find(".err").Text(), "of a topic") {
			t.Errorf("%d: %s", a.status, a.Find(".err").Text())
		}
	})
}

// TestSettingsWithoutEffect: a default time to live and an idle time are kept beside
// ForwardTo. The settings and the form show that they have no effect (TTL-18, IDLE-12,
// IDLE-13).
func TestSettingsWithoutEffect(t *testing.T) {
	within(t, func(w *world) {
		const says, note = "no effect while it forwards", "No effect while it forwards its messages."
		both := engine.Config{DefaultMessageTimeToLive: time.Hour, AutoDeleteOnIdle: 2 * time.Hour}
		w.b.CreateQueue("to", both)
		both.ForwardTo = "to"
		w.b.CreateQueue("from", both)
		both.ForwardTo, both.ForwardDeadLetteredMessagesTo = "", "to" // these settings keep them in effect
		w.b.CreateQueue("dead", both)
		w.b.CreateQueue("plain", engine.Config{ForwardTo: "to"})
		for name, want := range map[string][2]int{"to": {0, 0}, "from": {2, 2}, "dead": {0, 0}, "plain": {0, 2}} {
			settings, form := w.see("/n/default/q/"+name+"?tab=settings"), w.see("/n/default/q/"+name+"/edit")
			if n := strings.Count(settings.Find(".settings").Text(), says); n != want[0] {
				t.Errorf("the settings of %s show the effect %d times, want %d", name, n, want[0])
			}
			if n := strings.Count(form.Find("form#f").Text(), note); n != want[1] {
				t.Errorf("the form of %s shows the effect %d times, want %d", name, n, want[1])
			}
		}
		w.see("/n/default/q/from?tab=settings").wants(200, "1h", "2h")
	})
}
