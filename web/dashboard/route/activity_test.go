package route_test

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/activity"
	"mayfly/views/page/message"
	"mayfly/views/page/overview"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

// done returns the lines of the activity page: entity, event and actor, newest first.
func done(m activity.Activity) string {
	var lines []string
	for _, d := range m.Rows {
		who := d.Actor
		if d.Protocol != "" {
			who = d.Protocol + "/" + d.Actor
		}
		lines = append(lines, strings.TrimSpace(d.Entity+" "+text(d.Text)+" ("+who+")"))
	}
	return strings.Join(lines, "; ")
}

// shopDay performs operations of many kinds that the activity page lists.
func shopDay(w *world) {
	w.create(engine.Queue, "orders", engine.Config{DeadLetteringOnMessageExpiration: true})
	w.create(engine.Queue, "reply", engine.Config{AutoDeleteOnIdle: time.Minute})
	w.create(engine.Topic, "prices", engine.Config{})
	w.create(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
	w.send("orders", engine.Content{Subject: "one"}, engine.Content{Subject: "two"})
	w.pass(time.Minute)
	w.settle(w.receive("orders"), engine.Complete, "")
	two := w.b.Rows("orders")[0].Message.Key
	w.must(w.b.DeadLetterMessage(w.Context(), two, "Looked odd", "", "dashboard"))
	_, err := w.b.Move(w.Context(), engine.Move{Key: two}, "dashboard 10.0.0.7")
	w.must(err)
	_, err = w.b.Purge(w.Context(), "orders", []engine.Class{engine.ClassActive}, -1, "API 10.0.0.4")
	w.must(err)
	w.must(w.b.Delete(w.Context(), "prices", -1, "REST 10.0.0.9"))
	w.pass(time.Second)
}

func TestActivity(t *testing.T) {
	isConfined(t, func(w *world) {
		shopDay(w)
		const at = "/n/default/activity"
		for query, want := range map[string]string{
			"": "prices/eu deleted, empty (REST/10.0.0.9); prices deleted, empty (REST/10.0.0.9); orders one message purged (API/10.0.0.4); " +
				"orders/$DLQ #3 resubmitted to orders (dashboard/10.0.0.7); orders #2 dead-lettered · Looked odd (the dashboard); reply deleted itself, empty (); " +
				"prices/eu created (test); prices created (test); reply created (test); orders created (test); the server started · epoch 1 ()",
			"?scope=system":                     "reply deleted itself, empty (); the server started · epoch 1 ()",
			"?scope=audit&group=ends":           "orders one message purged (API/10.0.0.4)",
			"?scope=audit&group=server":         "",
			"?scope=system&group=locks":         "",
			"?group=server":                     "the server started · epoch 1 ()",
			"?path=PRICES&group=entities":       "prices/eu deleted, empty (REST/10.0.0.9); prices deleted, empty (REST/10.0.0.9); prices/eu created (test); prices created (test)",
			"?path=prices/Subscriptions/eu":     "prices/eu deleted, empty (REST/10.0.0.9); prices/eu created (test)",
			"?actor=Dash":                       "orders/$DLQ #3 resubmitted to orders (dashboard/10.0.0.7); orders #2 dead-lettered · Looked odd (the dashboard)",
			"?q=odd":                            "orders #2 dead-lettered · Looked odd (the dashboard)",
			"?q=10.0.0.7":                       "orders/$DLQ #3 resubmitted to orders (dashboard/10.0.0.7)",
			"?scope=all&group=locks":            "orders #1 locked (worker-1)",
			"?scope=all&path=orders&group=ends": "orders one message purged (API/10.0.0.4); orders one completed (worker-1)",
			"?scope=all&path=orders": "orders one message purged (API/10.0.0.4); orders/$DLQ #3 resubmitted to orders (dashboard/10.0.0.7); orders #2 dead-lettered · Looked odd (the dashboard); " +
				"orders one completed (worker-1); orders one locked (worker-1); orders #2 arrived (test); orders one arrived (test); orders created (test)",
			"?until=2000-01-01T00:00:30":                "prices/eu created (test); prices created (test); reply created (test); orders created (test); the server started · epoch 1 ()",
			"?from=2000-01-01T00:01&group=dead-letters": "orders/$DLQ #3 resubmitted to orders (dashboard/10.0.0.7); orders #2 dead-lettered · Looked odd (the dashboard)",
			"?from=nonsense&scope=nonsense&group=ends":  "orders one message purged (API/10.0.0.4)",
			"?q=nobody": "",
		} {
			m := as[activity.Activity](w, at+query)
			w.said(query, done(m), want)
			w.sound(at + query)
			if (m.Note == "") != (want == "") {
				t.Errorf("%s: the note is %q", query, m.Note)
			}
		}
		m := as[activity.Activity](w, at+"?from=nonsense&path=//")
		if len(m.Filter.Errors) != 2 || m.Filter.Path != "//" {
			t.Errorf("an invalid query results in %+v", m.Filter)
		}
		if m := as[activity.Activity](w, at+"?scope=all&group=ends"); m.Rows[0].Text[0].Href != "" || m.Rows[1].Text[1].Href == "" || !m.Rows[0].Audited || m.Rows[1].Audited || !m.Audited {
			t.Errorf("the lines are %+v", m.Rows)
		}
		w.said("the lede", text(m.Lede), "What operators did, and what happened to the server. Remembered for 7d at most.")
	})
}

// Entities are filtered by the names that pages show; a queue of that name takes precedence.
func TestActivityOfASubscription(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Topic, "a/b", engine.Config{})
		w.create(engine.Subscription, "a/b/Subscriptions/c", engine.Config{})
		w.said("the subscription", done(as[activity.Activity](w, "/n/default/activity?path=a/b/c")), "a/b/c created (test)")
		w.create(engine.Queue, "a/b/c", engine.Config{})
		w.pass(2 * time.Minute)
		m := as[activity.Activity](w, "/n/default/activity?path=a/b/c")
		if len(m.Rows) != 1 || !strings.HasSuffix(m.Rows[0].Href, "/q/a%2Fb%2Fc") {
			t.Errorf("the queue has %+v", m.Rows)
		}
	})
}

func TestActivityGoesOn(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		for range 120 {
			w.must(w.b.Touch(w.Context(), "orders", "test"))
		}
		seen := map[string]bool{}
		at := "/n/default/activity?path=orders"
		for pages := 1; ; pages++ {
			m := as[activity.Activity](w, at)
			for _, d := range m.Rows {
				if seen[d.Key] {
					t.Errorf("%s is on two pages", d.Key)
				}
				seen[d.Key] = true
			}
			if live := m.Shell.Live.On(); live != (pages == 1) || (m.Newest == "") != live {
				t.Errorf("page %d is live: %v, newest %q", pages, live, m.Newest)
			}
			if m.Older == "" {
				if pages != 3 || len(seen) != 121 {
					t.Errorf("%d pages with %d lines", pages, len(seen))
				}
				break
			}
			if pages == 2 { // an older page never changes
				first := done(m)
				w.must(w.b.Touch(w.Context(), "orders", "test"))
				w.said("again", done(as[activity.Activity](w, at)), first)
			}
			at = m.Older
		}
	})
}

// A request gets the current state; a live page shows frequent events at most once a second,
// and then all of them.
func TestActivityIsUpToDate(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		watch := func(url string) (lines int, later bool) {
			p, _, err := w.pages.Open(view.WithFrozenClocks(w.Context()), url)
			w.must(err)
			r, later := p.(pages.Refreshing)
			if later {
				p = r.Page
			}
			return len(p.(activity.Activity).Rows), later
		}
		const notable, all = "/n/default/activity", "/n/default/activity?scope=all"
		watch(notable)
		watch(all)
		w.must(w.b.Touch(w.Context(), "orders", "test"))
		w.send("orders", engine.Content{})
		if n, later := watch(notable); n != 3 || later {
			t.Errorf("%d lines, later %v; want 3 at first", n, later)
		}
		if n, later := watch(all); n != 2 || !later {
			t.Errorf("%d lines of all events, later %v; want the former 2, and then more", n, later)
		}
		if m := as[activity.Activity](w, all); len(m.Rows) != 4 {
			t.Errorf("%d lines of all events on request", len(m.Rows))
		}
		w.send("orders", engine.Content{})
		w.pass(time.Second)
		if n, later := watch(all); n != 5 || later {
			t.Errorf("%d lines of all events a second later, later %v; want 5", n, later)
		}
	})
}

// plain is a store without history.
type plain struct{ engine.Store }

func TestActivityWithoutHistory(t *testing.T) {
	inside(t, &world{wrap: func(s *memory.Store) engine.Store { return plain{s} }}, func(w *world) {
		shopDay(w)
		w.sound("/n/default/activity")
		if text := w.read("/n/default/activity").Find("main").Text(); !strings.Contains(text, "This store keeps no history") || strings.Contains(text, "CSV") {
			t.Errorf("the page has %q", text)
		}
		if m := as[message.Message](w, "/n/default/m/1"); m.TimelineLimits.Retention != 0 {
			t.Errorf("the page claims that messages are remembered for %v", m.TimelineLimits.Retention)
		}
	})
}

// TestActivityHasWordsForDeeds checks that what an operator does, such as breaking a lock, has
// another text than the same event when it happens automatically.
func TestActivityHasWordsForDeeds(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{AutoDeleteOnIdle: time.Hour, LockDuration: time.Minute})
		w.send("orders", engine.Content{Subject: "one"}, engine.Content{Subject: "later", ScheduledFor: w.now().Add(time.Minute)})
		one, later := w.b.Rows("orders")[0].Message.Key, w.b.Rows("orders")[1].Message.Key
		w.receive("orders")
		w.must(w.b.BreakLock(w.Context(), one, "op"))
		_, err := w.b.Reschedule(w.Context(), later, w.now().Add(time.Hour), "op")
		w.must(err)
		w.must(w.b.SendNow(w.Context(), later, "op"))
		w.must(w.b.Pin(w.Context(), "orders", "op"))
		w.must(w.b.Unpin(w.Context(), "orders", "op"))
		w.must(w.b.Touch(w.Context(), "orders", "op"))
		_, err = w.b.Update(w.Context(), "orders", engine.Config{}, "op")
		w.must(err)
		w.said("activity", done(as[activity.Activity](w, "/n/default/activity?actor=op")),
			"orders changed: AutoDeleteOnIdle (op); orders counted as used (op); orders unpinned: deletes itself again (op); orders pinned: never deletes itself (op); "+
				"orders later sent ahead of its time (op); orders later rescheduled (op); orders lock of one broken · delivery 1 failed (op)")
		w.receive("orders")
		w.pass(time.Minute)
		w.said("what happens by itself", done(as[activity.Activity](w, "/n/default/activity?scope=all&group=locks&q=orders")),
			"orders lock of one ran out · delivery 2 failed (worker-1); orders one locked (worker-1); orders lock of one broken · delivery 1 failed (op); orders one locked (worker-1)")
	})
}

// Hostile names, actors and queries are shown as plain text.
func TestActivityOfHostileNames(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		w.send("orders", engine.Content{Subject: "\x00<script>"}, engine.Content{Subject: "{{.To}}"})
		for _, m := range w.b.Rows("orders") {
			w.must(w.b.DeleteMessage(w.Context(), m.Message.Key, `<b onclick="x">`))
		}
		w.sound("/n/default/activity")
		w.sound("/n/default/activity?q=" + url.QueryEscape(`"><script>`))
		m := as[activity.Activity](w, "/n/default/activity?group=ends")
		w.said("the lines", done(m), "orders {{.To}} deleted (<b onclick=\"x\">); orders \x00<script> deleted (<b onclick=\"x\">)")
	})
}

// A change of status shows the old and the new one, in the ticker too.
func TestActivitySaysWhichStatus(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		_, err := w.b.Update(w.Context(), "orders", engine.Config{Status: engine.StatusSendDisabled}, "op")
		w.must(err)
		w.pass(time.Second)
		const want = "changed: status: Active → SendDisabled"
		w.said("activity", text(as[activity.Activity](w, "/n/default/activity").Rows[0].Text), want)
		w.said("the ticker", text(as[overview.Overview](w, "/n/default").Events[0].Says), want)
	})
}

// Changes of a namespace's settings are shown in the viewer's language; the server's own words
// are shown as they are, and marked as English.
func TestActivityTellsOfSettingsInTheLanguageOfThePage(t *testing.T) {
	isConfined(t, func(w *world) {
		for _, did := range engine.SettingActionKinds() {
			d := engine.SettingAction{Kind: did, Name: "7"}
			if did == engine.RenamedView || did == engine.RenamedTemplate {
				d.To = "8"
			}
			w.must(w.b.Audit(w.Context(), engine.EventSettingsChanged, d.String(), "dashboard"))
		}
		for _, did := range engine.AccessActionKinds() {
			w.must(w.b.Audit(w.Context(), engine.EventAccessChanged, engine.AccessAction{Kind: did, Rule: "ci (Send)"}.String(), "dashboard"))
		}
		for _, old := range []string{"painted the view blue", "started job 7, which takes back job 5"} {
			w.must(w.b.Audit(w.Context(), engine.EventSettingsChanged, old, "dashboard"))
		}
		w.pass(time.Second)
		want := map[string]string{
			"pt-PT": "tarefa 7 iniciada, que anula a tarefa 5", "pt-BR": "tarefa 7 iniciada, que desfaz a tarefa 5",
			"cs": "spuštěna úloha 7, která vrací zpět úlohu 5", "zh-CN": "已启动作业 7，用于撤消作业 5", "en": "started job 7, which takes back job 5",
		}
		told := map[string]string{}
		for _, l := range locale.Languages() {
			m, _, err := w.pages.Open(locale.With(w.Context(), l.Tag), "/n/default/activity?scope=audit")
			w.must(err)
			for i, d := range m.(activity.Activity).Rows {
				english := slices.ContainsFunc(d.Text, func(part component.Text) bool { return part.English })
				switch text := text(d.Text); {
				case i == 0 && text != want[l.Tag]:
					t.Errorf("%s: %q", l.Name, text)
				case i != 1 && !strings.Contains(text, "7") && !strings.Contains(text, "ci (Send)"):
					t.Errorf("%s: %q does not name its subject", l.Name, text)
				case english != (i == 1):
					t.Errorf("%s: %q is English: %v", l.Name, text, english)
				case i != 1 && l.Tag != "en" && told[text] == "en":
					t.Errorf("%s: %q is the same as in English", l.Name, text)
				case i != 1:
					told[text] = cmp.Or(told[text], l.Tag)
				}
			}
			if n := len(m.(activity.Activity).Rows); n != len(engine.SettingActionKinds())+len(engine.AccessActionKinds())+2 {
				t.Errorf("%s: %d lines", l.Name, n)
			}
		}
	})
}
