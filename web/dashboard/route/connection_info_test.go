package route_test

import (
	"cmp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page/admin"
	"mayfly/views/page/entity"
	"mayfly/views/page/overview"
	"mayfly/views/sample"
	"mayfly/web/dashboard/pages"
)

// TestDial checks the sample task of the overview and of each page of an entity without messages:
// which queue, topic or subscription the program uses, and whether it can send and receive there. A
// disabled or forwarding entity gets no program for what it cannot do.
func TestDial(t *testing.T) {
	const (
		at    = "Endpoint=sb://localhost:5;SharedAccessKey=KEY;"
		there = "Endpoint=sb://there:5;SharedAccessKey=KEY;"
	)
	inside(t, &world{more: func(o *pages.Options) { o.Connection, o.AdminConnection, o.RequiresKeys = at, at+"admin", true }}, func(w *world) {
		infoOf := func(url string) admin.ConnectionInfo {
			m := w.open(url)
			if r, ok := m.(pages.Refreshing); ok {
				m = r.Page
			}
			return m.(entity.Entity).ConnectionInfo
		}
		overview := func() admin.ConnectionInfo {
			return w.open("/n/default").(pages.Refreshing).Page.(overview.Overview).Connect.ConnectionInfo
		}
		begins := func(want sample.Task) {
			t.Helper()
			want.Connection, want.Session = at, cmp.Or(want.Session, "customer-1")
			got := overview()
			got.Task.Session = cmp.Or(got.Task.Session, "customer-1")
			if d := gocmp.Diff(admin.ConnectionInfo{String: at, Admin: at + "admin", RequiresKeys: true, KeysURL: "/n/default/access", Task: want}, got); d != "" {
				t.Errorf("the namespace begins with another task: %s", d)
			}
		}
		create := func(kind engine.EntityKind, path engine.Path, c engine.Config) {
			t.Helper()
			_, err := w.b.Create(w.Context(), kind, path, c, "me")
			w.must(err)
		}
		begins(sample.Task{Queue: pages.StarterQueue, Sends: true, Receives: true})
		create(engine.Topic, "News", engine.Config{})
		begins(sample.Task{Queue: pages.StarterQueue, Sends: true, Receives: true})
		create(engine.Subscription, "News/Subscriptions/all", engine.Config{})
		begins(sample.Task{Topic: "News", Subscriber: "all", Sends: true, Receives: true})
		create(engine.Queue, "a/stream", engine.Config{RequiresSession: true})
		begins(sample.Task{Queue: "a/stream", InSession: true, Sends: true, Receives: true})
		create(engine.Queue, "orders", engine.Config{})
		begins(sample.Task{Queue: "orders", Sends: true, Receives: true})
		create(engine.Subscription, "News/Subscriptions/kept", engine.Config{RequiresSession: true})
		create(engine.Subscription, "News/Subscriptions/passed", engine.Config{ForwardTo: "orders"})
		create(engine.Queue, "passing", engine.Config{ForwardTo: "orders"})
		create(engine.Queue, "shut", engine.Config{Status: engine.StatusDisabled})
		create(engine.Queue, "leaving", engine.Config{Status: engine.StatusSendDisabled})

		for url, want := range map[string]sample.Task{
			"/n/default/q/ORDERS":                      {Queue: "orders", Sends: true, Receives: true},
			"/n/default/q/a%2Fstream":                  {Queue: "a/stream", InSession: true, Sends: true, Receives: true},
			"/n/default/q/passing":                     {Queue: "passing", Sends: true},
			"/n/default/q/leaving":                     {Queue: "leaving", Receives: true},
			"/n/default/q/shut":                        {},
			"/n/default/t/news":                        {Topic: "News", InSession: true, Sends: true},
			"/n/default/t/news/s/all":                  {Topic: "News", Subscriber: "all", Receives: true},
			"/n/default/t/news/s/kept":                 {Topic: "News", Subscriber: "kept", InSession: true, Receives: true},
			"/n/default/t/news/s/passed":               {},
			"/n/default/q/orders?tab=dead-letter":      {Queue: "orders", Sends: true, Receives: true},
			"/n/default/t/news/s/all?tab=rules":        {Topic: "News", Subscriber: "all", Receives: true},
			"/n/default/t/news/s/kept?tab=sessions":    {Topic: "News", Subscriber: "kept", InSession: true, Receives: true},
			"/n/default/q/a%2Fstream?tab=sessions&x=y": {Queue: "a/stream", InSession: true, Sends: true, Receives: true},
		} {
			if want != (sample.Task{}) {
				want.Connection, want.Session = at, "customer-1"
			}
			if got := infoOf(url); got.Task != want || got.String != at || !got.RequiresKeys || got.Admin != "" {
				t.Errorf("%s: %+v", url, got)
			}
		}

		ctx := pages.WithVisitor(w.Context(), pages.Visitor{Host: "there"})
		m, _, err := w.pages.Open(ctx, "/n/default/q/orders")
		w.must(err)
		if r, ok := m.(pages.Refreshing); ok {
			m = r.Page
		}
		if got := m.(entity.Entity).ConnectionInfo; got.String != there || got.Task.Connection != there {
			t.Errorf("a visitor from another machine sees %+v", got)
		}

		// Code samples are shown despite dead letters, but not beside messages.
		_, err = w.b.Send(w.Context(), "orders", []broker.Outgoing{{}}, "me")
		w.must(err)
		if got := infoOf("/n/default/q/orders"); got != (admin.ConnectionInfo{}) {
			t.Errorf("beside a message: %+v", got)
		}
		got, err := w.b.Receive(w.Context(), broker.ReceiveRequest{Path: "orders", Client: "me", Max: 1})
		w.must(err)
		_, err = w.b.Settle(w.Context(), engine.Settlement{Token: got[0].Message.Token(), Outcome: engine.DeadLetter, Path: "orders"})
		w.must(err)
		if got := infoOf("/n/default/q/orders"); got.Task.Queue != "orders" {
			t.Errorf("beside a dead letter: %+v", got)
		}
	})
}
