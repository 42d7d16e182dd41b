package dashboard_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mayfly/engine"
	"mayfly/engine/history"
	"mayfly/web/dashboard/activity"
)

// lines returns the lines of a page of activity: entity, event and actor.
func (a answer) lines() (lines []string) {
	a.Find("[data-list=rows] > tr").Each(func(_ int, tr *goquery.Selection) {
		var cells []string
		for _, class := range []string{".where", ".did", ".by"} {
			cells = append(cells, strings.Join(strings.Fields(tr.Find(class).Text()), " "))
		}
		lines = append(lines, strings.Join(cells, " | "))
	})
	return lines
}

// TestActivityTellsWhoDidIt: every change is listed with its actor, and the form filters the
// list without scripts.
func TestActivityTellsWhoDidIt(t *testing.T) {
	within(t, func(w *world) {
		w.done("/n/default/queues", "name", "orders")
		w.remote = "192.0.2.7:4000"
		w.done("/n/default/q/orders/send", "body", "one", "subject", "first")
		m := w.first("orders", engine.ClassAll)
		w.done(m+"/dead-letter", "reason", "Looked odd")
		w.remote = "127.0.0.1:4000"
		w.done(m+"/resubmit-copy", "how", "copy")
		a := w.see("/n/default/activity")
		want := []string{
			"orders/$DLQ | copy of first sent to orders | the dashboard", "orders | first dead-lettered · Looked odd | dashboard192.0.2.7",
			"orders | created | the dashboard", "the server | the server started · epoch 1 | Mayfly",
		}
		if got := a.lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got %q, want %q", got, want)
		}
		if to, _ := a.Find(".did a").First().Attr("href"); to != m {
			t.Errorf("the link to the message is %q, want %q", to, m)
		}
		form := a.Find("form.sieve")
		if to, _ := form.Attr("action"); to != "/n/default/activity" || strings.ToLower(form.AttrOr("method", "")) != "get" {
			t.Fatalf("the form is %s %s", form.AttrOr("method", ""), to)
		}
		var fields []string
		form.Find("[name]").Each(func(_ int, f *goquery.Selection) { fields = append(fields, f.AttrOr("name", "")) })
		if got := strings.Join(fields, " "); got != "q path group actor from until" {
			t.Errorf("the form has the fields %s", got)
		}
		if got := w.see("/n/default/activity?q=&path=orders&group=dead-letters&actor=192.0&from=&until=").lines(); len(got) != 1 {
			t.Errorf("the filtered list is %q", got)
		}
		wrong := w.see("/n/default/activity?path=%2F%2F&until=soon")
		if n := wrong.Find("details[open] .err").Length(); n != 2 || wrong.Find("#f-path").AttrOr("aria-invalid", "") != "true" {
			t.Errorf("%d errors are shown", n)
		}
	})
}

func TestActivityIsExported(t *testing.T) {
	within(t, func(w *world) {
		w.done("/n/default/queues", "name", "orders")
		w.fill("orders", engine.Content{MessageID: "=1+1", Subject: "one, \"two\"\nthree"})
		m := w.first("orders", engine.ClassAll)
		w.done(m+"/delete", "count", "1")
		w.pass(2 * time.Second)
		page := w.see("/n/default/activity?group=ends&scope=all")
		get := func(format string) answer {
			t.Helper()
			to := ""
			page.Find("a[download]").Each(func(_ int, a *goquery.Selection) {
				if href := a.AttrOr("href", ""); strings.Contains(href, "format="+format) {
					to = href
				}
			})
			a := w.see(to)
			name := a.header.Get("Content-Disposition")
			if !strings.HasPrefix(name, "attachment; filename=activity-default-20000101T0000") || !strings.HasSuffix(name, "Z."+format) {
				t.Errorf("the file of %s has the name %q", to, name)
			}
			return a
		}
		a := get("csv")
		lines, err := csv.NewReader(strings.NewReader(a.text)).ReadAll()
		if err != nil || len(lines) != 2 || a.header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Fatalf("%s: %v %q", a.header.Get("Content-Type"), err, a.text)
		}
		got := map[string]string{}
		for i, name := range lines[0] {
			got[name] = lines[1][i]
		}
		if got["kind"] != "deleted" || got["path"] != "orders" || got["actor"] != "dashboard" || got["audited"] != "true" || got["message_id"] != "'=1+1" || got["subject"] != "one, \"two\"\nthree" {
			t.Errorf("the line is %q", got)
		}
		a = get("jsonl")
		var e history.Event
		if err := json.Unmarshal([]byte(a.text), &e); err != nil || strings.Count(a.text, "\n") != 1 || !strings.HasSuffix(a.text, "\n") {
			t.Fatalf("%v: %q", err, a.text)
		}
		if e.Kind != "deleted" || e.MessageID != "=1+1" || e.Message == "" || e.SequenceNumber != 1 || !e.Audited || e.N == 0 || e.Epoch != 1 {
			t.Errorf("the event is %+v", e)
		}
		if a := w.see("/n/default/activity/export?format=csv&q=nobody"); strings.Count(a.text, "\n") != 1 {
			t.Errorf("an empty result is %q", a.text)
		}
		for _, refused := range []string{"?format=xlsx", "", "?format=csv&path=%2F%2F", "?format=jsonl&from=soon"} {
			if a := w.get("/n/default/activity/export" + refused); a.status != http.StatusUnprocessableEntity || a.header.Get("Content-Disposition") != "" {
				t.Errorf("%s returned %d", refused, a.status)
			}
		}
	})
}

// TestLongExport: an export of activity has the latest MaxExportedEvents events, newest first and
// without gaps, even if that takes several reads of the history.
func TestLongExport(t *testing.T) {
	within(t, func(w *world) {
		const first, more = 1000, 700
		events := make([]engine.Event, 0, activity.MaxExportedEvents+more)
		for i := range cap(events) {
			events = append(events, engine.Event{N: uint64(first + i), At: engine.Instant(1 + i/7), Kind: engine.EventTouched, Path: "orders", Audit: true})
		}
		w.must(w.store.AppendEvents(w.Context(), events))
		a := w.see("/n/default/activity/export?format=jsonl&scope=all&path=orders")
		i := 0
		for line := range strings.Lines(a.text) {
			if want := fmt.Sprintf(`"n":%d,`, first+len(events)-1-i); !strings.Contains(line, want) {
				t.Fatalf("line %d is %s, want %s", i, line, want)
			}
			i++
		}
		if i != activity.MaxExportedEvents {
			t.Errorf("got %d lines", i)
		}
	})
}

// TestRestoreAfterARestart: a deleted entity can be restored by the form of a page from before
// the restart.
func TestRestoreAfterARestart(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{AutoDeleteOnIdle: time.Second})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{LockDuration: time.Minute, MaxDeliveryCount: 3})
		w.pass(3 * time.Second)
		to := w.see("/n/default/temporary").Find("[data-list=graves] [formaction]").AttrOr("formaction", "")
		w.restart()
		if again := w.see("/n/default/temporary").Find("[data-list=graves] [formaction]").AttrOr("formaction", ""); again != to || to == "" {
			t.Fatalf("Restore posted to %q, and now posts to %q", to, again)
		}
		if says, at := w.done(to); !strings.Contains(says, "Restored prices") || at != "/n/default/t/prices" {
			t.Errorf("redirected to %s with the notice %q", at, says)
		}
		if c := w.b.State("prices/Subscriptions/eu").Config; c.LockDuration != time.Minute || c.MaxDeliveryCount != 3 {
			t.Errorf("the subscription was restored with %+v", c)
		}
		w.post(to).wants(http.StatusNotFound, "not remembered any more")
		w.post("/n/default/tombstones/1-1/restore").wants(http.StatusNotFound)
		if got := w.see("/n/default/activity?group=entities").lines(); len(got) < 3 || got[0] != "prices/eu | created | the dashboard" {
			t.Errorf("the event is %q", got)
		}
	})
}

// TestPassportAfterARestart: the page of a message that no longer exists is the same after a
// restart.
func TestPassportAfterARestart(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{Subject: "first", MessageID: "o-1", CorrelationID: "c-1"}, engine.Content{Subject: "second"})
		m := w.first("orders", engine.ClassAll)
		w.done(m+"/delete", "count", "1")
		second := w.first("orders", engine.ClassAll)
		w.done("/n/default/q/orders/purge", "state", "active", "count", "1")
		w.pass(2 * time.Second)
		var before string
		for i := range 2 {
			a := w.see(m)
			a.wants(200, "Deleted", "by the dashboard", "No longer there", "What is left of it", "CorrelationId", "c-1", "kept for 7d", "Stored")
			if a.Find("#actions > *").Length() > 0 || a.Find("#body").Length() > 0 {
				t.Error("a message that no longer exists has actions")
			}
			text := strings.Join(strings.Fields(a.Find("main").Text()), " ")
			if i > 0 && text != before {
				t.Errorf("after the restart the page has\n%s\nbefore it had\n%s", text, before)
			}
			before = text
			w.see(second).wants(200, "Purged from orders", "by the dashboard", "headers were not kept")
			w.restart()
		}
		a := w.get(fmt.Sprint("/n/default/m/", uint64(3<<40|77)))
		a.wants(http.StatusNotFound, "Nothing is known of message")
	})
}
