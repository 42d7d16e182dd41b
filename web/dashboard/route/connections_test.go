package route_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page"
	"mayfly/views/page/admin"
	"mayfly/views/page/entity"
	"mayfly/views/page/message"
	"mayfly/web/connections"
	"mayfly/web/connections/connectionstest"
	"mayfly/web/dashboard/pages"
)

// TestConnectionsPage checks which clients are shown as connected, with their links and rates, and
// which as disconnected.
func TestConnectionsPage(t *testing.T) {
	inside(t, &world{clients: new(connectionstest.Source)}, func(w *world) {
		open := func(url string) any {
			m, _, err := w.pages.Open(w.Context(), url)
			w.must(err)
			if r, ok := m.(pages.Refreshing); ok {
				return r.Page
			}
			return m
		}
		list := func(query string) admin.Connections {
			m, ok := open("/n/default/connections" + query).(admin.Connections)
			if !ok {
				t.Fatal("the page is of another kind")
			}
			return m
		}
		if m := list(""); len(m.Rows) != 0 || m.Lede != nil || m.Start == "" {
			t.Errorf("without connections: %+v", m)
		}
		_, err := w.b.Create(w.Context(), engine.Queue, "orders", engine.Config{}, "me")
		w.must(err)
		begun := time.Now()
		w.clients.Add(connections.Connection{
			ID: "1-1", Client: "AMQP worker", Container: "worker", Library: connections.Library{SDK: connections.Python, Version: "7.14.3"}, Remote: "10.0.0.7:5", Since: begun,
			Links: []connections.Link{
				{Name: "r", Identifier: "picker", Path: "orders", Role: connections.Receiver, Since: begun, Credit: 5, Unsettled: 1, Locks: 2, Buffered: 1, Messages: 10},
				{Name: "s", Path: "orders", Role: connections.Sender, Since: begun},
				{Name: "m", Path: "orders", Role: connections.Manager, Since: begun},
			},
		})
		w.clients.Add(connections.Connection{ID: "1-2", Client: "AMQP other", Container: "", Remote: "10.0.0.8:6", Library: connections.Library{Product: "proton"}, Since: begun})
		m := list("")
		if len(m.Rows) != 2 || m.Rows[0].Name != "10.0.0.8:6" || m.Rows[0].SDK != "proton" || m.Rows[1].SDK != "Python SDK 7.14.3" {
			t.Fatalf("the rows are %+v", m.Rows)
		}
		if r := m.Rows[1]; len(r.Targets) != 2 || r.Targets[0].Sends || !r.Targets[1].Sends || r.More != 0 || r.Credit != 5 || r.Locks != 2 || r.Out.Known {
			t.Errorf("the worker is %+v", r)
		}
		w.clients.Change("1-1", func(c *connections.Connection) { c.Delivered = 34 })
		w.pass(200 * time.Millisecond)
		if r := list("").Rows[1]; r.Out.Known {
			t.Errorf("the first rate is %+v", r.Out)
		}
		w.pass(1800 * time.Millisecond)
		if r := list("?entity=ORDERS").Rows; len(r) != 1 || r[0].Out != (admin.Rate{N: 12, Known: true}) || r[0].In != (admin.Rate{Known: true}) {
			t.Errorf("two seconds later: %+v", r)
		}
		w.pass(time.Minute)
		if r := list("?entity=orders").Rows[0]; r.Out.Known {
			t.Errorf("after a minute without viewers, the rate is %+v", r.Out)
		}
		if m := list("?entity=nothing"); len(m.Rows) != 0 || m.Wrong != "" || m.Clear == "" {
			t.Errorf("for an entity without connections: %+v", m)
		}
		if m := list("?entity=%2F%2F"); m.Wrong == "" {
			t.Errorf("for an invalid entity: %+v", m)
		}

		one, ok := open("/n/default/connections/1-1").(admin.Connection)
		if !ok || one.Gone || len(one.Links) != 3 || one.Links[0].Kind != admin.LinkReceives || one.Links[0].Identifier != "picker" || one.Links[1].Identifier != "" || one.Links[2].Kind != admin.LinkManages || one.Links[0].Target.Href != "/n/default/q/orders" {
			t.Errorf("the worker's page is %+v", one)
		}
		if one, ok := open("/n/default/connections/9-9").(admin.Connection); !ok || !one.Gone {
			t.Errorf("for an unknown client: %+v", one)
		}
		if m, ok := open("/n/default/connections/1-1/disconnect").(admin.ConfirmDisconnect); !ok || m.Name != "worker" || m.Links != 2 || m.Locks != 2 {
			t.Errorf("the confirmation is %+v", m)
		}
		e, ok := open("/n/default/q/orders").(entity.Entity)
		if !ok || len(e.Receivers) != 1 || len(e.Senders) != 1 || e.Receivers[0] != (entity.Client{Name: "worker", SDK: "Python SDK", Href: "/n/default/connections/1-1"}) {
			t.Errorf("the queue has %+v and %+v", e.Receivers, e.Senders)
		}
	})
}

// TestHolder checks how the list of locked messages names their receivers: a connected client with
// a link to its page, a disconnected one as gone.
func TestHolder(t *testing.T) {
	inside(t, &world{clients: new(connectionstest.Source)}, func(w *world) {
		_, err := w.b.Create(w.Context(), engine.Queue, "orders", engine.Config{}, "me")
		w.must(err)
		w.clients.Add(connections.Connection{ID: "1-1", Client: "AMQP worker", Container: "worker", Library: connections.Library{SDK: connections.Go}})
		held := func(by string) (string, string) {
			_, err := w.b.Send(w.Context(), "orders", []broker.Outgoing{{}}, "me")
			w.must(err)
			got, err := w.b.Receive(w.Context(), broker.ReceiveRequest{Path: "orders", Client: by, Max: 1})
			w.must(err)
			defer func() {
				_, err := w.b.Settle(w.Context(), engine.Settlement{Token: got[0].Message.Token(), Outcome: engine.Complete, Path: "orders"})
				w.must(err)
			}()
			m, _, err := w.pages.Open(w.Context(), "/n/default/q/orders?tab=locked")
			w.must(err)
			rows := m.(pages.Refreshing).Page.(entity.Entity).Rows
			return rows[0].Holder, rows[0].HolderURL
		}
		w.clients.Add(connections.Connection{ID: "1-3", Client: "AMQP x7Yk", Container: "x7Yk", Library: connections.Library{SDK: connections.Go, Application: "till"}})
		for by, want := range map[string][2]string{
			"AMQP x7Yk":     {"till · Go SDK", "/n/default/connections/1-3"},
			"AMQP worker":   {"worker · Go SDK", "/n/default/connections/1-1"},
			"AMQP stranger": {"stranger, gone", ""},
			"REST 10.0.0.7": {"REST 10.0.0.7", ""},
			"dashboard":     {"the dashboard", ""},
		} {
			if name, at := held(by); name != want[0] || at != want[1] {
				t.Errorf("%s: %q at %q", by, name, at)
			}
		}
		w.clients.Disconnect("1-1")
		if name, at := held("AMQP worker"); name != "worker · Go SDK, gone" || at != "" {
			t.Errorf("after the disconnect: %q at %q", name, at)
		}
	})
}

// The page of a client lists its locked messages and sessions, with the renewals of the locks,
// but not those of other clients.
func TestWhatAClientHasLocked(t *testing.T) {
	inside(t, &world{clients: new(connectionstest.Source)}, func(w *world) {
		ctx := w.Context()
		lock := func(path engine.Path, client string) broker.Received {
			t.Helper()
			got, err := w.b.Receive(ctx, broker.ReceiveRequest{Path: path, Client: client, Max: 1})
			w.must(err)
			return got[0]
		}
		for _, p := range []engine.Path{"orders", "elsewhere"} {
			_, err := w.b.Create(ctx, engine.Queue, p, engine.Config{LockDuration: time.Minute}, "me")
			w.must(err)
			_, err = w.b.Send(ctx, p, make([]broker.Outgoing, 3), "me")
			w.must(err)
		}
		mine := lock("orders", "AMQP worker")
		lock("orders", "AMQP other")
		lock("elsewhere", "AMQP worker") // by a link that is already detached
		_, err := w.b.Create(ctx, engine.Queue, "chats", engine.Config{LockDuration: time.Minute, RequiresSession: true}, "me")
		w.must(err)
		session, err := w.b.AcceptSession(ctx, broker.AcceptRequest{Path: "chats", Session: new("s"), Client: "AMQP worker"})
		w.must(err)
		defer func() { w.must(session.Disconnect(ctx)) }()
		begun := time.Now()
		w.clients.Add(connections.Connection{ID: "1-1", Client: "AMQP worker", Container: "worker", Since: begun, Links: []connections.Link{
			{Name: "r", Path: "orders", Role: connections.Receiver, Since: begun, Locks: 1},
			{Name: "c", Path: "chats", Role: connections.Receiver, Since: begun, HoldsSession: true, Session: "s"},
		}})
		w.pass(30 * time.Second)
		_, err = w.b.RenewLock(ctx, mine.Token(), "", "AMQP worker")
		w.must(err)
		_, err = session.Renew(ctx)
		w.must(err)
		w.pass(10 * time.Second)
		m, _, err := w.pages.Open(ctx, "/n/default/connections/1-1")
		w.must(err)
		one := m.(pages.Refreshing).Page.(admin.Connection)
		if len(one.Locked) != 2 || one.MoreLocked {
			t.Fatalf("the client holds %+v, more %v", one.Locked, one.MoreLocked)
		}
		first := one.Locked[0]
		if first.Number != 1 || first.Entity != (page.LinkTarget{Name: "orders", Href: "/n/default/q/orders"}) || !first.Hold.Since.Equal(begun) || first.Hold.Renewals != 1 ||
			!first.Hold.RenewedAt.Equal(begun.Add(30*time.Second)) || !first.Hold.Until.Equal(begun.Add(90*time.Second)) {
			t.Errorf("the first is %+v", first)
		}
		if one.Locked[1].Entity.Name != "elsewhere" || one.Locked[1].Hold.Renewals != 0 {
			t.Errorf("the second is %+v", one.Locked[1])
		}
		if h := one.Links[1].Hold; h.Renewals != 1 || !h.Since.Equal(begun) {
			t.Errorf("the session's lock is %+v", h)
		}
		w.pass(25 * time.Second) // the lock in "elsewhere" has expired
		m, _, err = w.pages.Open(ctx, "/n/default/connections/1-1")
		w.must(err)
		if one := m.(pages.Refreshing).Page.(admin.Connection); len(one.Locked) != 1 {
			t.Errorf("later the client holds %+v", one.Locked)
		}
	})
}

// The page of a message links to the client of an event while the client is connected, and
// uses the same name as the page of connections.
func TestPassportLeadsToClients(t *testing.T) {
	inside(t, &world{clients: new(connectionstest.Source)}, func(w *world) {
		_, err := w.b.Create(w.Context(), engine.Queue, "orders", engine.Config{LockDuration: 5 * time.Minute}, "me")
		w.must(err)
		w.clients.Add(connections.Connection{ID: "1-3", Client: "AMQP x7Yk", Container: "x7Yk", Library: connections.Library{SDK: connections.Go, Application: "till"}})
		_, err = w.b.Send(w.Context(), "orders", []broker.Outgoing{{}}, "AMQP stranger")
		w.must(err)
		got, err := w.b.Receive(w.Context(), broker.ReceiveRequest{Path: "orders", Client: "AMQP x7Yk", Max: 1})
		w.must(err)
		life := func() (said []string) {
			m, _, err := w.pages.Open(w.Context(), w.pages.MessageURL(got[0].Message.Key))
			w.must(err)
			if r, ok := m.(pages.Refreshing); ok {
				m = r.Page
			}
			for _, e := range m.(message.Message).Timeline {
				line := e.Title
				for _, d := range e.Detail {
					if d.Clock == nil {
						line += " " + strings.TrimSpace(d.S+" "+d.Href)
					}
				}
				said = append(said, strings.Join(strings.Fields(line), " "))
			}
			return said
		}
		const by = "till · Go SDK"
		if d := cmp.Diff([]string{
			"Stored as #1 · by stranger", "Locked by " + by + " /n/default/connections/1-3", "Locked in orders by " + by, "The lock ends; a failed delivery is counted",
		}, life()); d != "" {
			t.Error(d)
		}
		w.clients.Disconnect("1-3")
		if said := life(); said[1] != "Locked by "+by || said[2] != "Locked in orders by "+by+", gone" {
			t.Errorf("after the disconnect: %q", said)
		}
	})
}
