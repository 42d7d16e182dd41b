package route_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/search/columns"
	"mayfly/views/component"
	"mayfly/views/page/entity"
	"mayfly/views/page/list"
	"mayfly/views/page/message"
	"mayfly/views/page/overview"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

// as returns a page as its model.
func as[T view.Page](w *world, url string) T {
	w.Helper()
	p := w.open(url)
	if r, ok := p.(pages.Refreshing); ok {
		p = r.Page
	}
	m, ok := p.(T)
	if !ok {
		w.Fatalf("%s is a %T", url, p)
	}
	return m
}

func text(parts []component.Text) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Clock != nil {
			b.WriteString(component.Span(context.Background(), p.Clock.At.Sub(p.Clock.Now)))
		}
		b.WriteString(p.S)
	}
	return strings.TrimSpace(b.String())
}

func (w *world) said(what, got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("%s has %q, want %q", what, got, want)
	}
}

func TestOverviewTellsWhatGoesOn(t *testing.T) {
	isConfined(t, func(w *world) {
		m := as[overview.Overview](w, "/n/default")
		if !m.Welcome || m.Connect.REST == "" {
			t.Errorf("the first page is %+v", m.Connect)
		}
		w.said("the lede", text(m.Lede), "No messages yet. What you send appears here at once, and its time starts running.")
		w.create(engine.Queue, "orders", engine.Config{DeadLetteringOnMessageExpiration: true})
		w.create(engine.Queue, "prices", engine.Config{})
		for range 20 {
			w.send("orders", engine.Content{Subject: "order", TTL: 30 * time.Second})
		}
		w.said("the lede", text(as[overview.Overview](w, "/n/default").Lede), "20 messages run out within a minute. All of them will be dead-lettered. They are all in orders.")
		w.send("prices", engine.Content{Subject: "price", TTL: 8 * time.Second}, engine.Content{Subject: "for ever"})
		m = as[overview.Overview](w, "/n/default")
		w.said("the lede", text(m.Lede), "21 messages run out within a minute. 20 will be dead-lettered and one is lost for good. Most of them are in orders.")
		if m.ExpiringCount != 21 || m.Messages != 22 || m.In.N != 2.2 || len(m.Next) != 7 || m.Next[0].Subject != "price" || m.Welcome {
			t.Errorf("%d of %d expire, %v a second, next %+v", m.ExpiringCount, m.Messages, m.In.N, m.Next[0])
		}
		if b := m.Horizon.Buckets; b[0].Lost != 1 || b[1].Dead != 20 || b[2].Dead != 0 {
			t.Errorf("the horizon is %+v", b)
		}
		says := []string{}
		for _, e := range m.Events {
			says = append(says, e.Entity+": "+text(e.Says))
		}
		w.said("the ticker", strings.Join(says, "; "), "prices: 2 messages arrived; orders: 20 messages arrived; prices: created; orders: created; : the server started")

		w.pass(31 * time.Second)
		m = as[overview.Overview](w, "/n/default")
		w.said("the lede", text(m.Lede), "Nothing runs out within a minute. None of the 21 messages has an end.")
		if m.Expired.N != 21 || m.DeadLetters.N != 20 || m.In.N != 0 {
			t.Errorf("%v expired, %v dead letters, %v in", m.Expired.N, m.DeadLetters.N, m.In.N)
		}
		w.said("the first event", text(m.Events[0].Says), "20 messages ran out of time → orders/$DLQ")
		x := as[overview.Expirations](w, "/n/default/expirations")
		if len(x.Expired) != 21 || x.ExpiredCount != 21 || x.Expired[0].Fate.To != "orders/$DLQ" || x.Expired[20].DeadHref != "" {
			t.Errorf("%d just expired of %d: %+v", len(x.Expired), x.ExpiredCount, x.Expired)
		}
		dead := func() (n int) {
			for _, e := range as[overview.Expirations](w, "/n/default/expirations").Expired {
				if e.DeadHref != "" {
					n++
				}
			}
			return n
		}
		was := dead()
		w.settle(w.receive("orders/$DeadLetterQueue"), engine.Complete, "")
		if is := dead(); was != 20 || is != 19 { // a completed dead letter has no link to actions any more
			t.Errorf("%d of them are dead letters, and then %d", was, is)
		}
		if gone := as[message.Message](w, x.Expired[20].Href); gone.Ended.Title != "Ran out of time, lost without a trace" || gone.Subject != "price" {
			t.Errorf("the page is %+v", gone.Ended)
		}
	})
}

func TestWhyAMessageLivesAsLongAsItDoes(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{DefaultMessageTimeToLive: 5 * time.Minute, DeadLetteringOnMessageExpiration: true})
		w.create(engine.Queue, "plain", engine.Config{})
		w.create(engine.Topic, "prices", engine.Config{DefaultMessageTimeToLive: time.Hour})
		w.create(engine.Subscription, "prices/Subscriptions/eu", engine.Config{DefaultMessageTimeToLive: time.Minute})
		w.send("orders", engine.Content{Subject: "capped", TTL: time.Hour}, engine.Content{Subject: "short", TTL: time.Minute}, engine.Content{Subject: "unset"},
			engine.Content{Subject: "later", TTL: time.Minute, ScheduledFor: w.now().Add(time.Hour)})
		w.send("plain", engine.Content{Subject: "for ever"})
		w.send("prices", engine.Content{Subject: "copy", TTL: 10 * time.Minute})
		why := func(url string) (terms, says string) {
			m := as[message.Message](w, url)
			for _, t := range m.TTLExplanation.Terms {
				if terms += t.Name + " " + t.Show; t.Applies {
					terms += "!"
				}
				terms += ", "
			}
			return strings.TrimSuffix(terms, ", "), text(m.TTLExplanation.Says)
		}
		rows := as[entity.Entity](w, "/n/default/q/orders").Rows
		for i, want := range []string{
			"this message 1h, queue default 5m!", "this message 1m!, queue default 5m", "this message never, queue default 5m!", "this message 1m!, queue default 5m",
		} {
			terms, _ := why(rows[i].Href)
			w.said(rows[i].Subject, terms, want)
		}
		_, says := why(rows[0].Href)
		w.said("the sentence", says, "The shortest time to live counts: 5m. The clock started when it was stored, at 00:00:00 UTC. At the end: dead-lettered into orders/$DLQ, with the reason TTLExpiredException.")
		terms, says := why(as[entity.Entity](w, "/n/default/q/plain").Rows[0].Href)
		w.said("for ever", terms+": "+says, "this message never, queue default never: No one sets a limit, so it never runs out.")
		terms, _ = why(as[entity.Entity](w, "/n/default/t/prices/s/eu").Rows[0].Href)
		w.said("a copy", terms, "this message 10m, topic default 1h, subscription default 1m!")

		w.must(w.b.Extend(w.Context(), w.b.Rows("orders")[1].Message.Key, w.now().Add(2*time.Hour), "test"))
		terms, says = why(rows[1].Href)
		w.said("extended", terms, "this message 1m, queue default 5m, set by hand 2h!")
		if !strings.HasPrefix(says, "2h counts.") {
			t.Errorf("a manually set expiry is explained by %q", says)
		}
	})
}

func TestLifeOfAMessage(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{DefaultMessageTimeToLive: 5 * time.Minute, DeadLetteringOnMessageExpiration: true, LockDuration: 30 * time.Second})
		w.send("orders", engine.Content{Subject: "one"})
		url := as[entity.Entity](w, "/n/default/q/orders").Rows[0].Href
		w.settle(w.receive("orders"), engine.Abandon, "")
		w.receive("orders")
		story := func() string {
			var lines []string
			for _, e := range as[message.Message](w, url).Timeline {
				line := e.Title
				if d := text(e.Detail); d != "" {
					line += " (" + d + ")"
				}
				if e.Now {
					line = "NOW " + line
				}
				lines = append(lines, line)
			}
			return strings.Join(lines, "; ")
		}
		w.said("its life", story(), "Stored (as #1 · by test); Locked (by worker-1); Given back (one failed delivery so far · by worker-1); Locked (by worker-1); "+
			"NOW Locked in orders by worker-1; The lock ends; a failed delivery is counted (30s); Runs out of time → orders/$DLQ (not before its lock ends)")
		w.pass(6 * time.Minute)
		w.said("its life", story(), "Stored (as #1 · by test); Locked (by worker-1); Given back (one failed delivery so far · by worker-1); Locked (by worker-1); "+
			"Lock ran out (2 failed deliveries so far · by worker-1); Ran out of time (TTLExpiredException → orders/$DLQ); NOW In orders/$DLQ, where nothing expires")
		m := as[entity.Entity](w, "/n/default/q/orders?tab=dead-letter")
		if len(m.Reasons) != 1 || m.Reasons[0].Reason != "TTLExpiredException" || m.Reasons[0].N != 1 || len(m.Rows) != 1 || m.Rows[0].Reason != "TTLExpiredException" {
			t.Errorf("the dead letters are %+v", m.Reasons)
		}
	})
}

func TestHourglasses(t *testing.T) {
	isConfined(t, func(w *world) {
		idle := engine.Config{AutoDeleteOnIdle: 5 * time.Minute}
		for _, name := range []engine.Path{"soon", "scheduled", "pinned", "received"} {
			w.create(engine.Queue, name, idle)
		}
		w.must(w.b.Pin(w.Context(), "pinned", "test"))
		w.send("scheduled", engine.Content{ScheduledFor: w.now().Add(time.Hour)})
		w.must(w.b.Touch(w.Context(), "soon", "web-1"))
		m := as[overview.Temporary](w, "/n/default/temporary")
		got := map[string]string{}
		for _, s := range m.Entities {
			got[s.Name] = string(s.State) + "|" + text(s.Why) + "|" + s.By
		}
		for name, want := range map[string]string{
			"soon":      "||touch · web-1",
			"scheduled": "held|One scheduled message is waiting. The 5m start when it becomes active or is cancelled.|send · test",
			"pinned":    "pinned|Pinned; it was 5m before.|",
		} {
			if !strings.HasPrefix(got[name], want) {
				t.Errorf("%s is %q, want %q", name, got[name], want)
			}
		}
		if m.Entities[0].State != component.IdleRunning || m.Entities[3].State != component.IdlePinned {
			t.Errorf("the order is wrong: %v first, %v last", m.Entities[0].Name, m.Entities[3].Name)
		}
		w.pass(6 * time.Minute)
		m = as[overview.Temporary](w, "/n/default/temporary")
		if len(m.Deleted) != 2 || m.Deleted[0].Restore == "" {
			t.Errorf("got %d tombstones", len(m.Deleted))
		}
		gone := as[entity.Entity](w, "/n/default/q/soon")
		if gone.Deleted.Name != "soon" || gone.DeletedBy != "" {
			t.Errorf("the page is %+v", gone.Deleted)
		}
	})
}

func TestEntitiesAreSortedAndFiltered(t *testing.T) {
	isConfined(t, func(w *world) {
		for _, name := range []engine.Path{"a", "b", "c", "other"} {
			w.create(engine.Queue, name, engine.Config{})
		}
		w.send("b", engine.Content{}, engine.Content{})
		w.send("c", engine.Content{TTL: time.Hour})
		names := func(query string) (out string) {
			for _, r := range as[entity.Entities](w, "/n/default/queues"+query).Rows {
				out += r.Name + " "
			}
			return strings.TrimSpace(out)
		}
		for query, want := range map[string]string{
			"": "a b c other", "?dir=down": "other c b a", "?sort=active&dir=down": "b c a other", "?sort=active": "a other c b",
			"?sort=expiry": "c a b other", "?sort=expiry&dir=down": "c a b other", "?q=THE": "other", "?q=x": "", "?sort=nonsense": "a b c other", "?page=99": "a b c other",
		} {
			w.said(query, names(query), want)
		}
		for i := range 120 {
			w.create(engine.Queue, engine.Path("q"+string(rune('a'+i/26))+string(rune('a'+i%26))), engine.Config{})
		}
		m := as[entity.Entities](w, "/n/default/queues?page=2")
		if len(m.Rows) != 50 || m.Pages.Previous == "" || m.Pages.Next == "" || m.Pages.Note != "50 of 124 shown" {
			t.Errorf("page 2 has %d rows, %+v", len(m.Rows), m.Pages)
		}
	})
}

// A table is filtered by a query in its address. For an invalid query the page shows the
// error, and applies the part before it.
func TestEntitiesAreFiltered(t *testing.T) {
	isConfined(t, func(w *world) {
		for _, name := range []engine.Path{"a", "b", "c", "other"} {
			w.create(engine.Queue, name, engine.Config{AutoDeleteOnIdle: map[bool]time.Duration{true: time.Hour}[name == "a"]})
		}
		w.create(engine.Topic, "t", engine.Config{})
		w.create(engine.Topic, "u", engine.Config{})
		w.create(engine.Subscription, "t/Subscriptions/s", engine.Config{})
		w.send("b", engine.Content{}, engine.Content{})
		w.send("c", engine.Content{TTL: time.Hour})
		w.send("t", engine.Content{TTL: time.Minute})
		w.settle(w.receive("b"), engine.DeadLetter, "x")
		const queues = "/n/default/queues"
		table := func(at string) entity.Entities {
			p := w.open(at)
			if r, ok := p.(pages.Refreshing); ok {
				p = r.Page
			}
			return p.(entity.Entities)
		}
		for query, want := range map[string]string{
			"has:dlq": "b", "has:active -has:dlq": "c", "-has:messages": "a other", "expiring:": "c", "expiring:<1h": "", "expiring:<=1h": "c", "temp:": "a",
			"temp:<=1h o": "", "messages:2": "b", "kind:topic": "", "status:disabled": "", "has:dlq oops:x": "b", "oops:x": "a b c other", "-other has:messages": "b c",
		} {
			var names []string
			for _, r := range table(queues + "?q=" + url.QueryEscape(query)).Rows {
				names = append(names, r.Name)
			}
			w.said(query, strings.Join(names, " "), want)
		}
		if m := table("/n/default/topics?q=has:active+expiring:%3C2m"); len(m.Rows) != 1 || m.Rows[0].Name != "t" {
			t.Errorf("topics whose subscriptions have expiring messages: %+v", m.Rows)
		}

		m := table(queues + "?q=has:messages+oops:x&sort=active&dir=down&page=1")
		if !strings.Contains(m.Wrong, `The key "oops" does not exist`) || m.Query != "has:messages oops:x" || len(m.Chips) != 1 {
			t.Errorf("an invalid query has the error %q, with chips %v", m.Wrong, m.Chips)
		}
		w.said("without a term", m.Chips[0].Without, queues+"?dir=down&sort=active")
		w.said("with one more", m.More[0].Href, queues+"?dir=down&q="+url.QueryEscape("has:messages name:orders-*")+"&sort=active")
		for _, c := range append(m.More, table("/n/default/topics").More...) {
			if table(c.Href).Wrong != "" {
				t.Errorf("the suggested term %s is wrong", c.Label)
			}
		}
		w.receive("c")
		if m := table(queues + "?sort=locked&dir=down"); m.Rows[0].Name != "c" || m.Rows[1].Name != "a" {
			t.Errorf("sorted by locked messages %s and %s come first", m.Rows[0].Name, m.Rows[1].Name)
		}

		// Tables that depend on the time are refreshed without events.
		for query, want := range map[string]bool{"has:dlq": false, "idle:%3E1s": true, "-expiring:": true} {
			if r, ok := w.open(queues + "?q=" + query).(pages.Refreshing); ok != want || ok && r.Every > 10*time.Second {
				t.Errorf("%s: refreshed is %v", query, ok)
			}
		}
	})
}

func TestMessagesAreShownInPages(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		for range 120 {
			w.send("orders", engine.Content{})
		}
		m := as[entity.Entity](w, "/n/default/q/orders")
		if len(m.Rows) != 50 || m.Pages.Next != "/n/default/q/orders?from=51" || m.Pages.First != "" || m.Pages.Note != "50 of 120 shown" {
			t.Errorf("%d rows, %+v", len(m.Rows), m.Pages)
		}
		m = as[entity.Entity](w, "/n/default/q/orders?from=101")
		if len(m.Rows) != 20 || m.Rows[0].Number != 101 || m.Pages.Next != "" || m.Pages.First != "/n/default/q/orders" {
			t.Errorf("%d rows, %+v", len(m.Rows), m.Pages)
		}
	})
}

func TestParkingLot(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{DeadLetteringOnMessageExpiration: true})
		w.send("orders", engine.Content{Subject: "short", TTL: time.Minute}, engine.Content{Subject: "for ever"})
		w.settle(w.receive("orders"), engine.Defer, "")
		w.settle(w.receive("orders"), engine.Defer, "")
		m := as[list.Deferred](w, "/n/default/deferred")
		w.said("the lede", text(m.Lede), "2 messages are parked. The time of one of them keeps running.")
		if b := m.Cards[0]; b.Number != 1 || b.By != "worker-1" || b.Expired || b.OnExpiry != "orders/$DLQ" {
			t.Errorf("the first card is %+v", b)
		}
		w.pass(2 * time.Minute)
		m = as[list.Deferred](w, "/n/default/deferred")
		w.said("the lede", text(m.Lede), "2 messages are parked. One has run out of time and goes when someone asks for it.")
		if !m.Cards[0].Expired || m.Cards[1].Expired {
			t.Errorf("the cards are %+v", m.Cards)
		}
	})
}

// TestParkingLotInColumns checks that the list of deferred messages shows 200 cards, or rows of a
// table if columns are selected, and links to the next ones.
func TestParkingLotInColumns(t *testing.T) {
	isConfined(t, func(w *world) {
		for _, name := range []engine.Path{"bills", "orders"} {
			w.create(engine.Queue, name, engine.Config{})
			for i := range 120 {
				w.send(name, engine.Content{Subject: fmt.Sprint(name, i)})
			}
			for range 120 {
				w.settle(w.receive(name), engine.Defer, "")
			}
		}
		m := as[list.Deferred](w, "/n/default/deferred")
		if len(m.Cards) != 200 || len(m.Rows) != 0 || m.Pages.Next != "/n/default/deferred?entity=orders&from=81" || m.Pages.First != "" || m.Pages.Note != "200 of 240 shown" || !m.AllMatching.Shown {
			t.Errorf("%d cards, %+v", len(m.Cards), m.Pages)
		}
		m = as[list.Deferred](w, m.Pages.Next)
		if len(m.Cards) != 40 || m.Cards[0].Entity != "orders" || m.Cards[0].Number != 81 || m.Pages.Next != "" || m.Pages.First != "/n/default/deferred" {
			t.Errorf("%d cards, %+v", len(m.Cards), m.Pages)
		}
		m = as[list.Deferred](w, "/n/default/deferred?column=subject&column=entity&entity=orders&from=81")
		if len(m.Rows) != 40 || len(m.Cards) != 0 || m.Rows[0].Cells[0].Text != "orders80" || m.Rows[0].Cells[1].Text != "orders" || m.Columns.Views[0].Href != "/n/default/deferred" {
			t.Errorf("%d rows, %+v", len(m.Rows), m.Columns)
		}
		_, err := columns.Put(w.Context(), w.b.Broker, columns.View{Name: "parked", Columns: []columns.Column{columns.Prop("p")}, Lists: []columns.List{columns.DeferredList}}, "test")
		w.must(err)
		if m = as[list.Deferred](w, "/n/default/deferred?view=parked"); m.Columns.Name != "parked" || len(m.Rows) != 200 {
			t.Errorf("%+v", m.Columns)
		}
		form := as[list.ViewForm](w, "/n/default/views/edit?back=%2Fn%2Fdefault%2Fdeferred")
		if form.Back != "/n/default/deferred" || form.Columns[1].Value != columns.Entity {
			t.Errorf("%+v", form)
		}
	})
}
