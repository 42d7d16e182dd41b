package dashboard_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mayfly/engine"
	"mayfly/engine/job"
	"mayfly/engine/template"
)

const sendTo = "/n/default/q/orders/send"

// fields returns what a browser would send of a form.
func (a answer) fields(form string) (pairs []string) {
	for _, n := range a.Find(form + " input, " + form + " textarea, " + form + " select").Nodes {
		name, value, kind, on := "", "", n.Data, false
		for _, at := range n.Attr {
			switch at.Key {
			case "name":
				name = at.Val
			case "value":
				value = at.Val
			case "type":
				kind = at.Val
			case "checked":
				on = true
			}
		}
		s := a.FindNodes(n)
		switch {
		case name == "" || name == "csrf" || (kind == "checkbox" || kind == "radio") && !on:
			continue
		case n.Data == "textarea":
			value = strings.TrimPrefix(s.Text(), "\n")
		case n.Data == "select":
			value = s.Find("option[selected]").AttrOr("value", "")
		}
		pairs = append(pairs, name, value)
	}
	return pairs
}

// preview returns the stored preview of a message's body.
func preview(w *world, r engine.Row) string {
	c, err := r.Content.Content()
	w.must(err)
	return c.Preview
}

// TestPreview: a preview shows what is sent afterwards, though it is random, and sends
// nothing.
func TestPreview(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		a := w.post(sendTo, "body", "{{uuid}} {{n}} of {{count}}", "subject", "{{random 1 1000000}}", "repeat", "4", "every", "1m", "property-0-name", "p", "property-0-type", "int", "property-0-value", "{{n+1}}", "preview", "1")
		a.wants(200, "Message 1", "Message 3", "3 of 4", "(int)")
		a.lacks("Message 4")
		if n := w.b.State("orders").Counts; n != (engine.Counts{}) {
			w.Fatalf("a preview sent %+v", n)
		}
		bodies := a.Find(".sight pre").Map(func(_ int, s *goquery.Selection) string { return strings.TrimSpace(s.Text()) })
		w.done(sendTo, a.fields("#f")...)
		var sent []string
		for _, r := range w.b.Rows("orders") {
			sent = append(sent, preview(w, r))
		}
		if len(sent) != 4 || fmt.Sprint(sent[:3]) != fmt.Sprint(bodies) {
			w.Errorf("the preview is %q, sent %q", bodies, sent)
		}
		if n := w.b.State("orders").Counts; n.Active != 1 || n.Scheduled != 3 {
			w.Errorf("got %+v", n)
		}
		w.done(sendTo, "body", "{{uuid}}")
		if last := w.b.RowsOf("orders", engine.ClassActive); len(last) != 2 || preview(w, last[1]) != "{{uuid}}" {
			w.Errorf("placeholders of a single message were filled in")
		}
		w.done(sendTo, "body", "{{n}}", "placeholders", "on")
		if last := w.b.RowsOf("orders", engine.ClassActive); len(last) != 3 || preview(w, last[2]) != "1" {
			w.Errorf("placeholders of a single message were not filled in")
		}
	})
}

// TestWrongPlaceholders: invalid placeholders are reported beside their field, and nothing is
// sent.
func TestWrongPlaceholders(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		for field, pairs := range map[string][]string{
			"f-body":       {"body", "{{x}}"},
			"f-subject":    {"subject", "{{n"},
			"f-ttl":        {"ttl", "{{n}}x"},
			"f-in":         {"schedule", "in", "in", "{{pick a|b}}"},
			"f-every":      {"every", "-1s"},
			"f-message-id": {"message-id", "{{random}}"},
		} {
			a := w.post(sendTo, append(pairs, "repeat", "2")...)
			a.wants(422)
			if a.Find("#"+field+"-e").Length() != 1 || a.Find(".err").Length() != 1 {
				w.Errorf("%v: %s", pairs, a.Find(".err").Text())
			}
		}
		a := w.post(sendTo, "repeat", "2", "property-0-name", "", "property-0-value", "", "property-1-name", "p", "property-1-type", "int", "property-1-value", "{{pick a|b}}")
		a.wants(422, "is not a value of type int")
		if n := w.b.State("orders").Counts; n != (engine.Counts{}) {
			w.Errorf("got %+v", n)
		}
	})
}

// TestSendMany: many messages are sent by a job.
func TestSendMany(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		says, at := w.done(sendTo, "body", "{{n}}", "repeat", "1001")
		if !regexp.MustCompile(`/jobs/1$`).MatchString(at) || !strings.Contains(says, "Sending to orders") {
			w.Errorf("redirected to %s: %s", at, says)
		}
		is, err := w.jobs.Wait(w.Context(), 1)
		w.must(err)
		if n := w.b.State("orders").Counts.Active; is.State != job.Done || n != 1001 {
			w.Errorf("%s, %d messages", is.State, n)
		}
		w.see(at).wants(200, "Send to orders", "1,001 new messages")
		form, _ := w.see(sendTo).Find("form#f input[name=once]").Attr("value")
		other, _ := w.see(sendTo).Find("form#f input[name=once]").Attr("value")
		if form == "" || form == other {
			w.Errorf("two forms have the random words %q and %q", form, other)
		}
		for _, one := range []struct{ word, job string }{{form, "2"}, {form, "2"}, {other, "3"}} { // each form is executed once
			if _, at := w.done(sendTo, "body", "{{uuid}}", "repeat", "1001", "once", one.word); !strings.HasSuffix(at, "/jobs/"+one.job) {
				w.Errorf("redirected to %s, want job %s", at, one.job)
			}
		}
	})
}

func TestTemplates(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.see("/n/default/templates").wants(200, "No templates yet")
		filled := []string{
			"body", "b {{n}}\nx", "subject", "s", "message-id", "m{{n}}", "session-id", "se", "correlation-id", "c", "to", "t", "reply-to", "r", "reply-to-session-id", "rs", "partition-key", "se",
			"content-type", "text/plain", "ttl", "5m", "schedule", "in", "in", "{{random 1 9}}s", "repeat", "7", "every", "2s",
			"property-0-name", "p", "property-0-type", "int", "property-0-value", "{{n}}", "template-name", "late <orders>", "save", "1",
		}
		says, at := w.done(sendTo, filled...)
		if at != sendTo+"?template=late+%3Corders%3E" || !strings.Contains(says, "Kept as template late <orders>") {
			w.Errorf("redirected to %s: %s", at, says)
		}
		if n := w.b.State("orders").Counts; n != (engine.Counts{}) {
			w.Errorf("saving a template sent %+v", n)
		}
		again := w.see(at).fields("#f")
		for i := 0; i < len(filled)-2; i += 2 {
			found := false
			for j := 0; j < len(again); j += 2 {
				found = found || again[j] == filled[i] && again[j+1] == filled[i+1]
			}
			if !found {
				w.Errorf("%s is not filled in with %q: %q", filled[i], filled[i+1], again)
			}
		}
		w.done(sendTo, again...)
		if n := w.b.State("orders").Counts.Scheduled; n != 7 {
			w.Errorf("%d messages are scheduled", n)
		}
		w.done(sendTo, "subject", "other", "template-name", "b", "save", "1")
		w.see(sendTo+"?template=nothing").wants(200, "no template nothing any more")
		for _, pairs := range [][]string{{"template-name", ""}, {"template-name", "a/b"}} {
			if a := w.post(sendTo, append(pairs, "save", "1")...); a.status != 422 || a.Find("#f-template-name-e").Length() != 1 {
				w.Errorf("%q: %d", pairs, a.status)
			}
		}
		w.post("/n/default/templates/rename", "template", "b", "template-name", "late <orders>").wants(422, "There is a template late <orders> already.")
		w.post("/n/default/templates/rename", "template", "nothing", "template-name", "c").wants(404)
		w.done("/n/default/templates/rename", "template", "b", "template-name", "c")
		w.see("/n/default/templates").wants(200, "late <orders>", "other")
		w.see("/n/default/templates/remove?template=c").wants(200, "Delete template c?")
		w.get("/n/default/templates/remove?template=b").wants(404)
		w.post("/n/default/templates/remove", "template", "c").wants(422, "Delete template c?")
		w.done("/n/default/templates/remove", "template", "c", "count", "1")
		kept, err := w.b.Settings(w.Context(), template.SettingPrefix)
		w.must(err)
		if len(kept) != 1 || kept[0].Key != "template/late <orders>" {
			w.Errorf("the templates are %v", kept)
		}
		w.restart()
		w.see(sendTo + "?template=late+%3Corders%3E").wants(200)
		for i := range template.MaxTemplates - 1 {
			_, err := w.b.SetSetting(w.Context(), template.SettingKey(fmt.Sprint(i)), kept[0].Value, nil)
			w.must(err)
		}
		w.post(sendTo, "template-name", "one more", "save", "1").wants(422, "There are already 200 templates")
		w.done(sendTo, "template-name", "7", "save", "1")
		w.pass(time.Second)
	})
}

// TestSentTwice: a form that is sent twice sends once, and leads to the same page; a changed
// or newly loaded form sends again.
func TestSentTwice(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		fill := func(form []string, pairs ...string) []string {
			form = slices.Clone(form)
			for i := 0; i < len(pairs); i += 2 {
				for j := 0; j < len(form); j += 2 {
					if form[j] == pairs[i] {
						form[j+1] = pairs[i+1]
					}
				}
			}
			return form
		}
		form := func(pairs ...string) []string { return fill(w.see(sendTo).fields("#f"), pairs...) }
		has := func(want int64) {
			t.Helper()
			if c := w.b.State("orders").Counts; c.Active != want {
				t.Fatalf("got %d messages, want %d", c.Active, want)
			}
		}
		one := form("body", "hello", "repeat", "3")
		says, at := w.done(sendTo, one...)
		has(3)
		again, to := w.done(sendTo, one...)
		if has(3); to != at || !strings.HasPrefix(again, says) || !strings.Contains(again, "The form came twice; it was sent once.") {
			t.Errorf("first got %q at %s, then %q at %s", says, at, again, to)
		}
		w.done(sendTo, fill(one, "subject", "changed")...)
		has(6)
		w.done(sendTo, form("body", "hello", "repeat", "3")...)
		has(9)
		for range 2 { // without the form's random word
			w.done(sendTo, "body", "hello")
		}
		has(11)

		// A form that failed can be sent again.
		one = form("body", "hello")
		w.store.broken.Store(true)
		if a := w.post(sendTo, one...); a.status < 500 {
			t.Fatalf("without its store the broker sent: %d %s", a.status, a.text)
		}
		w.store.broken.Store(false)
		w.pass(time.Minute) // until the broker has noticed
		w.done(sendTo, one...)
		has(12)
	})
}

// TestSendFormOrder: common fields are first; rare ones are folded unless they have a value.
func TestSendFormOrder(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("chats", engine.Config{RequiresSession: true})
		for _, queue := range []string{"orders", "chats"} {
			a := w.see("/n/default/q/" + queue + "/send")
			var names []string
			a.Find("#f input[name], #f textarea[name]").Each(func(_ int, s *goquery.Selection) {
				name := s.AttrOr("name", "")
				if s.AttrOr("type", "") != "hidden" && !slices.Contains(names, name) && (!strings.HasPrefix(name, "property-") || name == "property-0-name") {
					names = append(names, name)
				}
			})
			want := "body subject ttl schedule in at message-id session-id property-0-name content-type correlation-id partition-key to reply-to reply-to-session-id repeat every placeholders template-name"
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s has the fields\n%s, want\n%s", queue, got, want)
			}
			if _, open := a.Find("#f details:has([name=content-type])").Attr("open"); open {
				t.Errorf("%s: the rare fields are unfolded", queue)
			}
		}
		again := w.post(sendTo, "content-type", "text/plain", "ttl", "soon")
		again.wants(422)
		if _, open := again.Find("#f details:has([name=content-type])").Attr("open"); !open {
			t.Error("a filled-in field is folded")
		}
	})
}

// TestSendFormLimit: the form shows the effect of the time to live beside it (TTL-4, TTL-5,
// TTL-7, TTL-17, TTL-27, TTL-28).
func TestSendFormLimit(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("plain", engine.Config{})
		w.b.CreateQueue("short", engine.Config{DefaultMessageTimeToLive: 5 * time.Minute, DeadLetteringOnMessageExpiration: true})
		w.b.CreateQueue("on", engine.Config{ForwardTo: "short"})
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{DefaultMessageTimeToLive: time.Hour})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{DefaultMessageTimeToLive: 10 * time.Minute})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/us", engine.Config{DefaultMessageTimeToLive: 20 * time.Minute})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/on", engine.Config{ForwardTo: "short", DefaultMessageTimeToLive: time.Minute})
		w.b.CreateEntity(engine.Topic, "news", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "news/Subscriptions/all", engine.Config{DefaultMessageTimeToLive: time.Hour})
		for at, want := range map[string]string{
			"q/plain":  "Such as 30s or 5m. Empty: it has no end. plain sets no limit. Change that. What runs out here is lost, without a trace.",
			"q/short":  "Such as 30s or 5m. The shorter of this and the 5m of short counts; empty: 5m. Change that. What runs out here becomes a dead letter.",
			"q/on":     "Such as 30s or 5m. It goes on to short, where its time begins anew, and counts if it is shorter than the limit there.",
			"t/prices": "Such as 30s or 5m. The shorter of this and the 1h of prices counts; empty: 1h. Its copy in eu lives for 10m at most. Change that.",
			"t/news":   "Such as 30s or 5m. Empty: it has no end. news sets no limit. Its copy in all lives for 1h at most. Change that.",
		} {
			tip := w.see("/n/default/" + at + "/send").Find("#f-ttl-t")
			if got := strings.Join(strings.Fields(tip.Text()), " "); got != want {
				t.Errorf("%s: %q, not %q", at, got, want)
			}
			if to, ok := tip.Find("a").Attr("href"); ok && to != "/n/default/"+at+"/edit#f-DefaultMessageTimeToLive" {
				t.Errorf("%s: the limit is changed at %s", at, to)
			}
		}
	})
}
