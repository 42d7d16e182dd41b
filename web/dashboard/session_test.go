package dashboard_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/page/entity"
)

const hostile = "<b>\u202eregnad</b> \"q\" & %2F?#\\ '\x07\t"

func at(id string, more ...string) string {
	to := "/n/default/q/orders/session"
	for _, m := range more {
		to += "/" + m
	}
	return to + "?" + url.Values{"id": {id}}.Encode()
}

// sessioned runs f in a world with a queue that requires sessions and has messages in some.
func sessioned(t *testing.T, f func(w *world)) {
	t.Helper()
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{RequiresSession: true, LockDuration: time.Minute})
		for _, id := range []string{"b", "a", hostile, "b"} {
			w.fill("orders", engine.Content{SessionID: id, Subject: "of " + id})
		}
		f(w)
	})
}

func (w *world) session(id string) engine.SessionRow {
	w.Helper()
	var row engine.SessionRow
	w.must(w.b.Read(w.Context(), func(r broker.Reader) (err error) {
		row, _, err = r.SessionRow("orders", id)
		return err
	}))
	return row
}

func (w *world) sessionState(id string) (state string, set bool) {
	w.Helper()
	w.must(w.b.Read(w.Context(), func(r broker.Reader) (err error) {
		state, set, err = r.SessionStateAt("orders", id)
		return err
	}))
	return state, set
}

// audited reports whether there is an audit event of this kind.
func (w *world) audited(kind engine.EventKind) bool {
	w.Helper()
	events, _, err := w.b.Events().After(w.Context(), 0)
	w.must(err)
	for _, e := range events {
		if e.Kind == kind && e.Audit {
			return true
		}
	}
	return false
}

// TestSessionsTab: the tab lists sessions in the order in which receivers get them, and links
// to their pages, whatever characters their ids have (SES-2, SES-10).
func TestSessionsTab(t *testing.T) {
	sessioned(t, func(w *world) {
		tab := w.see("/n/default/q/orders?tab=sessions")
		tab.wants(200, "3 sessions; nobody holds one. The next receiver gets b.")
		var shown []string
		tab.Find("[data-list=rows] tr").Each(func(_ int, row *goquery.Selection) {
			link, _ := row.Find("a[data-drawer]").Attr("href")
			u, err := url.Parse(link)
			w.must(err)
			shown = append(shown, u.Query().Get("id"))
			p := w.see(link)
			if p.Find("b b, h1 b").Length() != 0 || p.Find("h1").Length() != 1 {
				t.Errorf("%s was not escaped", link)
			}
			if d := w.see(link + "&drawer=1"); d.Find("aside.drawer").Length() != 1 {
				t.Errorf("%s does not open the drawer", link)
			}
		})
		if len(shown) != 3 || shown[0] != "b" || shown[1] != "a" || shown[2] != hostile {
			t.Errorf("shown: %q", shown)
		}
		if w.see(at(hostile)).Find("[data-list=session-rows] tr").Length() != 1 {
			t.Error("the message is missing")
		}
		for to, status := range map[string]int{
			"/n/default/q/orders/session": 404, at("nobody"): 200, at("b") + "&from=999": 200, at("b") + "&view=hex": 200,
			"/n/default/t/orders/session?id=b": 404, "/n/default/q/none/session?id=b": 404,
			"/n/default/q/orders?tab=sessions&from=" + url.QueryEscape(hostile): 200,
		} {
			if a := w.get(to); a.status != status {
				t.Errorf("%s: %d", to, a.status)
			}
		}
		w.b.CreateQueue("plain", engine.Config{})
		w.get("/n/default/q/plain/session?id=b").wants(404)
		w.see("/n/default/q/plain").lacks("Sessions")
	})
}

// TestSessionsPages: the pages of the sessions' table are consecutive, without gaps.
func TestSessionsPages(t *testing.T) {
	sessioned(t, func(w *world) {
		ids := map[string]bool{}
		for i := range 120 {
			w.fill("orders", engine.Content{SessionID: "s" + strings.Repeat("x", i)})
		}
		pages := 0
		for to := "/n/default/q/orders?tab=sessions"; to != ""; pages++ {
			p := w.see(to)
			p.Find("[data-list=rows] a[data-drawer]").Each(func(_ int, a *goquery.Selection) {
				u, err := url.Parse(a.AttrOr("href", ""))
				w.must(err)
				ids[u.Query().Get("id")] = true
			})
			to = p.Find("[data-slot=pages] a[rel=next]").AttrOr("href", "")
		}
		if len(ids) != 123 || pages != 3 {
			t.Errorf("%d sessions on %d pages", len(ids), pages)
		}
	})
}

// TestReceiveFromSession: messages are received under the session's lock, one after the other,
// and settled on their own pages (SES-4, SES-5, SES-7, SES-8).
func TestReceiveFromSession(t *testing.T) {
	sessioned(t, func(w *world) {
		_, first := w.done("/n/default/q/orders/receive") // receives from the next session
		if r := w.session("b"); r.Locked != 1 || r.Lock.By != "dashboard" || !strings.Contains(first, "?lock=") {
			t.Fatalf("%+v, %s", r, first)
		}
		w.see(first).wants(200, "Complete")
		p := w.see(at("b"))
		p.wants(200, "It is held by the dashboard.", "Give it back", "Receive its next message")
		_, second := w.done(at("b", "receive"))
		if r := w.session("b"); r.Locked != 2 || second == first {
			t.Fatalf("%+v, %s", r, second)
		}
		token := first[strings.Index(first, "=")+1:]
		w.done(strings.Split(first, "?")[0]+"/complete", "lock", token)
		if r := w.session("b"); r.Locked != 1 {
			t.Errorf("%+v", r)
		}
		says, to := w.done(at("b", "receive"))
		if !strings.Contains(says, "no message ready") || !strings.Contains(to, "/session?") {
			t.Errorf("%s at %s", says, to)
		}
		if w.session("b").LockedUntil == 0 {
			t.Error("the session was released though one of its messages is locked")
		}
		w.done(at("b", "release"))
		if r := w.session("b"); r.LockedUntil != 0 || r.Active != 1 || w.b.Rows("orders")[2].Message.DeliveryCount != 0 {
			t.Errorf("returned: %+v", r)
		}
		w.post(at("b", "release")).wants(409, "not held by you")

		w.done("/n/default/q/orders/receive", "session", hostile)
		if w.session(hostile).Locked != 1 {
			t.Error("another session than the named one was locked")
		}
		w.pass(time.Minute)
		if r := w.session(hostile); r.Locked != 0 || r.LockedUntil != 0 {
			t.Errorf("the lock did not expire: %+v", r)
		}
		w.done(at(hostile, "receive")) // the former lock has ended; a new one is taken
		says, _ = w.done(at("nobody", "receive"))
		if !strings.Contains(says, "no message ready") || w.session("nobody").LockedUntil != 0 {
			t.Errorf("%s, but the session is %+v", says, w.session("nobody"))
		}
		if _, err := w.b.AcceptSession(w.Context(), broker.AcceptRequest{Path: "orders", Session: new("a"), Client: "worker-1"}); err != nil {
			t.Fatal(err)
		}
		w.post(at("a", "receive")).wants(409, "'a' cannot be accepted")
		w.see(at("a")).lacks("Give it back", "Receive its next message")
	})
}

// TestBreakSession: breaking a session's lock is audited (OPS-6).
func TestBreakSession(t *testing.T) {
	sessioned(t, func(w *world) {
		s, err := w.b.AcceptSession(w.Context(), broker.AcceptRequest{Path: "orders", Client: "worker-1"})
		w.must(err)
		_, err = s.Receive(w.Context(), 1, 0)
		w.must(err)
		w.see(at("b")).wants(200, "It is held by worker-1.")
		w.done(at("b", "break"))
		if r := w.session("b"); r.LockedUntil != 0 || !errors.Is(s.Err(), engine.ErrSessionLockLost) || !w.audited(engine.EventSessionLost) {
			t.Errorf("%+v, %v", r, s.Err())
		}
		w.post(at("b", "break")).wants(409, "is not locked")
		w.see("/n/default/activity").wants(200, "lock of session b broken")
	})
}

// TestSessionState: a state is set as text or in hexadecimal, shown, cleared, and never
// overwritten by a user who has not seen it (SES-11).
func TestSessionState(t *testing.T) {
	sessioned(t, func(w *world) {
		to := at(hostile, "state")
		seen := func() string { return w.see(at(hostile)).Find("input[name=seen]").AttrOr("value", "") }
		set := func(text, as, seen string) answer {
			return w.post(to, entity.StateValue, text, entity.StateAs, as, entity.StateSeen, seen)
		}
		was := seen()
		if a := set("{\"step\":1}\r\nmore", "text", was); a.status != 303 {
			a.wants(303)
		}
		if got, ok := w.sessionState(hostile); !ok || got != "{\"step\":1}\nmore" || !w.audited(engine.EventSessionState) {
			t.Errorf("the state is %q", got)
		}
		set("mine", "text", was).wants(409, "The state has changed")
		if got, _ := w.sessionState(hostile); got != "{\"step\":1}\nmore" {
			t.Errorf("overwritten: %q", got)
		}
		if a := set("mine", "text", was); a.Find("textarea").Text() != "mine" || a.Find("input[name=seen]").AttrOr("value", "") == was {
			t.Error("typed text is lost, or the form cannot be sent again")
		}
		set("0a 1z", "hex", seen()).wants(422, "1z is not a pair")
		set("0a 1", "hex", seen()).wants(422, "1 is not a pair")
		set("x", "", seen()).wants(422, "text or")
		set(strings.Repeat("x", 256<<10+1), "text", seen()).wants(413, "262145 bytes; the maximum is 262144")
		if a := set("00ff\r\n 0a", "hex", seen()); a.status != 303 {
			a.wants(303)
		}
		if got, _ := w.sessionState(hostile); got != "\x00\xff\n" {
			t.Errorf("the state is %q", got)
		}
		w.see(at(hostile)+"&view=hex").wants(200, "00 ff 0a")
		if a := set("", "text", seen()); a.status != 303 {
			a.wants(303)
		}
		if got, ok := w.sessionState(hostile); !ok || got != "" {
			t.Errorf("the empty state is %q, %v", got, ok)
		}
		w.post(at(hostile, "clear"), entity.StateSeen, was).wants(409)
		w.done(at(hostile, "clear"), entity.StateSeen, seen())
		if _, ok := w.sessionState(hostile); ok {
			t.Error("the state is still set")
		}
	})
}

// TestSessionStateWriters: if several users who have seen the same state set it at once, only one
// succeeds, and the others get 409.
func TestSessionStateWriters(t *testing.T) {
	sessioned(t, func(w *world) {
		seen := w.see(at(hostile)).Find("input[name=seen]").AttrOr("value", "")
		const writers = 12
		statuses := make([]int, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				do, text := "state", fmt.Sprint("writer ", i)
				if i%3 == 0 {
					do = "clear" // no state is set, so clearing changes nothing
				}
				statuses[i] = w.post(at(hostile, do), entity.StateValue, text, entity.StateAs, "text", entity.StateSeen, seen).status
			})
		}
		wg.Wait()
		won := 0
		for i, status := range statuses {
			if status == 303 && i%3 != 0 {
				won++
			} else if status != 303 && status != 409 {
				t.Errorf("writer %d: %d", i, status)
			}
		}
		if got, ok := w.sessionState(hostile); won != 1 || !ok || !strings.HasPrefix(got, "writer ") {
			t.Errorf("%d users set the state, which is %q: %v", won, got, statuses)
		}
	})
}

// TestSessionTokens: a form without a valid token does nothing.
func TestSessionTokens(t *testing.T) {
	sessioned(t, func(w *world) {
		w.done("/n/default/q/orders/receive")
		for _, do := range []string{"receive", "release", "break", "state", "clear"} {
			if a := w.send(at("b", do), url.Values{"csrf": {"forged"}, "as": {"text"}, "state": {"x"}, "seen": {"none"}}); a.status != 403 {
				t.Errorf("%s: %d", do, a.status)
			}
		}
		if r := w.session("b"); r.Locked != 1 || r.StateSet {
			t.Errorf("%+v", r)
		}
		for _, do := range []string{"receive", "release", "break", "state", "clear"} {
			w.post("/n/default/q/orders/session/" + do).wants(404)
			if a := w.get(at("b", do)); a.status != 404 && a.status != 405 {
				t.Errorf("GET %s: %d", do, a.status)
			}
		}
	})
}

// TestMessageLeadsToItsSession: a message links to its session, and shows its size as its
// entity counts it (RT-3).
func TestMessageLeadsToItsSession(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("chats", engine.Config{RequiresSession: true})
		w.b.CreateQueue("orders", engine.Config{})
		talk := engine.Content{SessionID: "a b/ä", Subject: "said"}
		w.fill("chats", talk)
		w.fill("orders", talk)
		for path, want := range map[engine.Path]string{"chats": "/n/default/q/chats/session?id=a+b%2F%C3%A4", "orders": ""} {
			a := w.see(w.first(path, engine.ClassActive))
			if got := a.Find(`main a[href*="/session?"]`).AttrOr("href", ""); got != want {
				t.Errorf("of %s the link is %q, want %q", path, got, want)
			}
			if want != "" {
				w.see(want).wants(200, "a b/ä")
			}
			a.wants(200, component.Bytes(w.Context(), w.b.State(path).Bytes)+" in all")
		}
	})
}
