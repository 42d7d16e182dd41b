package route_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page/entity"
	"mayfly/views/view"
)

const hostile = "<i>\u202e\" & %2F ?#\\ \x07"

// part renders one slot of a page, as the server pushes it to an open page.
func (w *world) part(url, name string) string {
	w.Helper()
	still := view.WithFrozenClocks(w.Context())
	p, _, err := w.pages.Open(still, url)
	w.must(err)
	for _, part := range p.Parts() {
		if part.Name == name && part.Slot != nil {
			return render(still, w.T, part.Slot)
		}
	}
	w.Fatalf("%s has no slot %s", url, name)
	return ""
}

// SES-2, SES-5, SES-7: pages are updated when a session is accepted, released or lost, and the
// events that trigger this have the paths that the pages watch.
func TestSessionIsLive(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "Orders", engine.Config{RequiresSession: true, LockDuration: time.Minute})
		w.send("orders", engine.Content{SessionID: hostile}, engine.Content{SessionID: "b"}, engine.Content{SessionID: hostile})
		one := "/n/default/q/orders/session?" + url.Values{"id": {hostile}}.Encode()
		tab := "/n/default/q/Orders?tab=sessions"
		holds := func(want string) {
			w.Helper()
			if got := w.part(one, "held"); !strings.Contains(got, want) {
				w.Errorf("want %q: %s", want, got)
			}
			w.sound(one)
			w.sound(tab)
			w.sound(one + "&view=hex")
		}
		order := func() (ids []string) {
			w.Helper()
			for _, s := range w.entityAt(tab).Sessions {
				ids = append(ids, s.ID)
			}
			return ids
		}
		if got := order(); !slices.Equal(got, []string{hostile, "b"}) {
			w.Errorf("the order of the sessions is %q", got)
		}
		holds("next")
		take := func() *broker.Session {
			w.Helper()
			s, err := w.b.AcceptSession(w.Context(), broker.AcceptRequest{Path: "orders", Session: new(hostile), Client: "worker-1"})
			w.must(err)
			return s
		}
		s := take()
		holds("Held by worker-1")
		if got := w.entityAt(tab).Sessions; got[0].ID != "b" || got[0].Turn != 1 || got[1].Turn != 0 || got[1].Holder != "worker-1" {
			w.Errorf("while it is held: %+v", got)
		}
		w.must(s.Close(w.Context()))
		holds("no. 2 in line")
		s = take()
		_, err := s.Receive(w.Context(), 1, 0)
		w.must(err)
		w.must(s.Disconnect(w.Context()))
		w.pass(time.Minute - time.Millisecond)
		holds("Held by worker-1")
		w.pass(time.Millisecond)
		holds("in line")

		events, _, err := w.b.Events().After(w.Context(), 0)
		w.must(err)
		watched := w.open(one).Watches()
		var kinds []engine.EventKind
		for _, e := range events {
			if e.Session != hostile {
				continue
			}
			if kinds = append(kinds, e.Kind); !slices.Contains(watched, e.Path.Fold()) || !slices.Contains(w.open(tab).Watches(), e.Path.Fold()) {
				w.Errorf("%v happened at %s, but watched are %q", e.Kind, e.Path, watched)
			}
		}
		want := []engine.EventKind{engine.EventSessionLocked, engine.EventSessionClosed, engine.EventSessionLocked, engine.EventSessionLost}
		if !slices.Equal(kinds, want) {
			w.Errorf("the events are %v", kinds)
		}
		if topic, err := w.pages.Topic(one); err != nil || topic != one {
			w.Errorf("the page has the live topic %q: %v", topic, err)
		}
		ticker := w.read("/n/default").Find("[data-list=ticker], .ticker").Text()
		for _, says := range []string{"taken", "given back", "lost"} {
			if !strings.Contains(ticker, says) {
				w.Errorf("the ticker lacks %q: %s", says, ticker)
			}
		}
	})
}

// TestSessionStateIsShown checks that a session's page shows a state unchanged, whether it is text,
// JSON, binary, large or empty, in every view.
func TestSessionStateIsShown(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{RequiresSession: true})
		to := "/n/default/q/orders/session?id=a"
		for _, state := range []string{"", "plain", `{"a":{"b":1}}`, "\x00\xff", strings.Repeat("x", 100_000), "<script>"} {
			w.must(w.b.SetSessionStateAt(w.Context(), "orders", "a", &state, "test"))
			for _, v := range []string{"", "&view=tree", "&view=raw", "&view=hex", "&view=odd"} {
				w.sound(to + v)
			}
			m, ok := w.open(to).(entity.Session)
			if !ok || !m.HasState || string(m.State.Content) != state || m.Seen != string(engine.TagSessionState(&state)) {
				w.Errorf("%.20q is shown as %.20q", state, m.State.Content)
			}
		}
	})
}

// FWD-9: a forwarded message is the same message with its timeline, in its new entity.
func TestForwardedMessageKeepsItsLife(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "end", engine.Config{})
		w.create(engine.Queue, "orders", engine.Config{ForwardTo: "end"})
		w.send("orders", engine.Content{Subject: "paid"})
		w.pass(time.Second)
		rows := w.b.Rows("end")
		if len(rows) != 1 {
			t.Fatalf("got %d sessions", len(rows))
		}
		text := strings.Join(strings.Fields(w.read(strings.TrimPrefix(w.pages.MessageURL(rows[0].Message.Key), "")).Find("main").Text()), " ")
		if !strings.Contains(text, "Forwarded to end") || !strings.Contains(text, "end") {
			t.Errorf("the page has %s", text)
		}
	})
}

// A session whose id is empty has a page, with a visible name.
func TestEmptySessionIsShown(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "q", engine.Config{RequiresSession: true})
		w.send("q", engine.Content{EmptySessionID: true, Subject: "hello"}, engine.Content{SessionID: "b"})
		s, err := w.b.AcceptSession(w.Context(), broker.AcceptRequest{Path: "q", Session: new(""), Client: "worker-1"})
		w.must(err)
		w.must(s.Disconnect(w.Context()))
		const one, tab = "/n/default/q/q/session?id=", "/n/default/q/q?tab=sessions"
		for url, where := range map[string]string{one: "h1", tab: "[data-key='='] a", "/n/default/q/q": ".pills", "/n/default": "[data-list=ticker], .ticker"} {
			w.sound(url)
			if got := w.read(url).Find(where).Text(); !strings.Contains(got, "(empty)") {
				w.Errorf("%s has %q", url, got)
			}
		}
		if href, _ := w.read(tab).Find("[data-key='='] a").Attr("href"); !strings.HasSuffix(href, one) {
			w.Errorf("the page is %s", href)
		}
		if got := w.read(one).Text(); !strings.Contains(got, "hello") || !strings.Contains(got, "worker-1") {
			w.Errorf("the page is %s", got)
		}
		if _, _, err := w.pages.Open(w.Context(), "/n/default/q/q/session"); err == nil {
			w.Error("a missing session has a page")
		}
	})
}
