package dashboard_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// TestRewrite: a dead letter is edited: all values of the form are sent back unchanged, except for
// the edit; the original is removed, and both link to each other.
func TestRewrite(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		number, err := value.Parse(value.Decimal128, "0.10")
		w.must(err)
		w.fill("orders", engine.Content{
			MessageID: "m", Subject: "old", CorrelationID: "c", SessionID: "s", PartitionKey: "s", To: "t", ReplyTo: "r", ReplyToSessionID: "rs", ContentType: "application/json",
			TTL: 90 * time.Minute, Properties: value.Properties{{Name: "p", Value: number}, {Name: "many", Value: value.OfString("a\nb")}},
		})
		key := w.b.Rows("orders")[0].Message.Key
		w.must(w.b.DeadLetterMessage(w.Context(), key, "why", "so", "test"))
		at := w.pages.MessageURL(key)
		a := w.see(at)
		if a.Find(`a[href$="/edit"]`).Length() != 1 {
			w.Error("no link leads to the form")
		}
		a = w.see(at + "/edit")
		a.wants(200, "Edit and resubmit #1", "One property has several lines")
		fields := a.fields("#f")
		for i := 0; i < len(fields); i += 2 {
			if fields[i] == "subject" {
				fields[i+1] = "new"
			}
		}
		says, _ := w.done(at+"/edit", fields...)
		if !strings.Contains(says, "Resubmitted as edited, with the number 2") {
			w.Errorf("got %q", says)
		}
		if n := w.b.State("orders").Counts; n != (engine.Counts{Active: 1}) {
			w.Errorf("got %+v", n)
		}
		row := w.b.Rows("orders")[0]
		c, err := row.Content.Content()
		w.must(err)
		if c.Subject != "new" || c.MessageID != "m" || c.CorrelationID != "c" || c.SessionID != "s" || c.To != "t" || c.ReplyTo != "r" || c.ReplyToSessionID != "rs" || c.TTL != 90*time.Minute ||
			c.Preview != `{"customer":{"id":4417},"total":129.90}` || len(c.Properties) != 2 || c.Properties[0].Value != number || c.Properties[1].Value.Text() != "a\nb" {
			w.Errorf("got %+v", c)
		}
		w.see(w.pages.MessageURL(row.Message.Key)).wants(200)
		for _, from := range []engine.Key{key, row.Message.Key} {
			other := w.pages.MessageURL(map[bool]engine.Key{true: row.Message.Key, false: key}[from == key])
			if w.get(w.pages.MessageURL(from)).Find(`a[href="`+other+`"]`).Length() == 0 {
				w.Errorf("message %d has no link to %s", from, other)
			}
		}
	})
}

// TestRewriteKeepsBody: a body that does not fit into the form is kept, byte for byte; a copy
// leaves the message where it is; another target is given by its path.
func TestRewriteKeepsBody(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/us", engine.Config{})
		for _, body := range [][]byte{{0xff, 0, 1}, []byte("a\r\nb"), bytes.Repeat([]byte("large "), 25_000)} {
			w.b.SendMessages("prices", broker.Outgoing{Content: engine.Content{MessageID: "m"}, Body: body})
			rows := w.b.RowsOf("prices/Subscriptions/eu", engine.ClassActive)
			key := rows[len(rows)-1].Message.Key
			w.must(w.b.DeadLetterMessage(w.Context(), key, "", "", "test"))
			at := w.pages.MessageURL(key)
			form := w.see(at + "/edit")
			if form.Find("textarea[name=body]").Length() != 0 || form.Find("input[name=target]").AttrOr("value", "") != "prices/Subscriptions/eu" {
				w.Errorf("the form is %s", form.Find("#f").Text())
			}
			before := len(w.b.RowsOf("prices/Subscriptions/us", engine.ClassActive))
			w.done(at+"/edit", append([]string{"how", "copy"}, form.fields("#f")...)...)
			rows = w.b.RowsOf("prices/Subscriptions/eu", engine.ClassActive)
			r := rows[len(rows)-1]
			in, err := w.b.Body(w.Context(), r.Message.Content, r.Content.BodySize())
			w.must(err)
			var got bytes.Buffer
			_, err = got.ReadFrom(in)
			w.must(err)
			w.must(in.Close())
			if !bytes.Equal(got.Bytes(), body) {
				w.Errorf("a body of %d bytes became %d", len(body), got.Len())
			}
			if len(w.b.RowsOf("prices/Subscriptions/us", engine.ClassActive)) != before {
				w.Error("another subscription got the message, too")
			}
			if w.b.State("prices/Subscriptions/eu").Counts.DeadLetter == 0 {
				w.Error("the dead letter was removed")
			}
			w.done(at+"/edit", "keep-body", "on", "target", "orders")
		}
		if n := w.b.State("orders").Counts.Active; n != 3 {
			w.Errorf("received %d messages", n)
		}
	})
}

// TestRewriteWrong: errors are beside their fields, and nothing has changed.
func TestRewriteWrong(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{RequiresDuplicateDetection: true})
		w.b.CreateQueue("closed", engine.Config{Status: engine.StatusSendDisabled})
		w.fill("orders", engine.Content{MessageID: "m"})
		key := w.b.Rows("orders")[0].Message.Key
		w.must(w.b.DeadLetterMessage(w.Context(), key, "", "", "test"))
		to := w.pages.MessageURL(key) + "/edit"
		w.post(to, "ttl", "soon").wants(422, "Edit and resubmit")
		w.post(to, "target", "a*b").wants(422, "must not contain '*'")
		w.post(to, "target", "nowhere").wants(404)
		w.post(to, "target", "closed").wants(409, "disabled")
		w.post(to, "how", "somehow").wants(422)
		w.post(to, "property-0-name", "p", "property-0-type", "int", "property-0-value", "x").wants(422, "not a value of type int")
		w.post(to, "message-id", "m").wants(409, "has received the MessageId 'm'")
		if n := w.b.State("orders").Counts; n != (engine.Counts{DeadLetter: 1}) {
			w.Fatalf("got %+v", n)
		}
		if says, _ := w.done(to, "message-id", "m", "duplicate", "drop"); !strings.Contains(says, "duplicate") {
			w.Errorf("got %q", says)
		}
		w.fill("orders", engine.Content{MessageID: "n"})
		w.get(to).wants(404)
	})
}

// TestRewriteFromList: a dead letter is edited from its list, to which the form returns,
// whether it is sent, refused or cancelled.
func TestRewriteFromList(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		for range 3 {
			w.fill("orders", engine.Content{MessageID: "m", Properties: value.Properties{{Name: "p", Value: value.OfString("x")}}})
			w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("orders", engine.ClassActive)[0].Message.Key, "why", "so", "test"))
		}
		for _, list := range []string{"/n/default/q/orders?column=prop.p&column=state&tab=dead-letter", "/n/default/search?q=state%3Adead"} {
			a := w.see(list)
			to := a.Find(`td.menu a[href*="/edit?back="]`).First().AttrOr("href", "")
			form := w.see(to)
			if form.Find(`main a[href="`+list+`"]`).Length() != 1 || form.Find(`#f [name=back]`).AttrOr("value", "") != list {
				w.Fatalf("%s has no link back to %s", to, list)
			}
			at, _, _ := strings.Cut(to, "?")
			again := w.post(at, append([]string{"ttl", "soon"}, form.fields("#f")...)...)
			if again.wants(422); again.Find(`main a[href="`+list+`"]`).Length() != 1 {
				w.Errorf("a refused form has no link back to %s", list)
			}
			if says, to := w.done(at, form.fields("#f")...); to != list || !strings.Contains(says, "Resubmitted as edited") {
				w.Errorf("redirected to %s, with the notice %q", to, says)
			}
		}
		key := w.b.Rows("orders/$DeadLetterQueue")[0].Message.Key
		for _, elsewhere := range []string{"https://example.com/n/default/q/orders", "/n/default/q/orders/purge", "/n/default/m/1", "//x/n/default/search"} {
			if form := w.see(w.pages.MessageURL(key) + "/edit?back=" + url.QueryEscape(elsewhere)); form.Find("#f [name=back]").Length() != 0 {
				w.Errorf("redirected back to %s", elsewhere)
			}
		}
		_, err := w.b.Receive(w.Context(), broker.ReceiveRequest{Path: "orders/$DeadLetterQueue", Mode: engine.PeekLock, Max: 1, Client: "test"})
		w.must(err)
		if n := w.see("/n/default/q/orders?tab=dead-letter").Find(`td.menu a[href*="/edit"]`).Length(); n != 0 {
			w.Error("a locked message has a form")
		}
	})
}
