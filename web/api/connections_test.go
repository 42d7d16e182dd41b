package api

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/connections"
)

func TestConnections(t *testing.T) {
	w := start(t, broker.Options{})
	var none Connections
	if w.want(200, "GET", "/connections", "", &none); none.Connections == nil || none.Total != 0 {
		t.Errorf("without connections: %+v", none)
	}
	at, session := time.Date(2026, 7, 14, 10, 0, 0, 0, time.UTC), "s"
	w.clients.Add(connections.Connection{
		ID: "1-1", Client: "AMQP worker", Container: "worker", Library: connections.Library{SDK: connections.Go, Version: "1.11.0"}, Remote: "10.0.0.7:5", Since: at, LastReceived: at, TLS: true,
		Traffic: connections.Traffic{FramesIn: 1, FramesOut: 2, BytesIn: 3, BytesOut: 4},
		Links: []connections.Link{
			{Name: "r", Identifier: "picker", Path: "orders", Role: connections.Receiver, Since: at, Credit: 9, Unsettled: 2, Locks: 3, Buffered: 1, Messages: 5, HoldsSession: true, Session: "s"},
			{Name: "d", Path: "orders", Role: connections.Receiver, Since: at, ReceiveAndDelete: true, WaitsForSession: true},
			{Name: "m", Path: "orders", Role: connections.Manager, Since: at},
		},
	})
	w.clients.Add(connections.Connection{ID: "1-2", Client: "AMQP other", Container: "other", Since: at, LastReceived: at, Links: []connections.Link{{Name: "s", Path: "Prices/Subscriptions/eu", Role: connections.Sender, Since: at}}})
	one := Connection{
		ID: "1-1", Client: "AMQP worker", Container: "worker", SDK: "go", Version: "1.11.0", RemoteAddress: "10.0.0.7:5", TLS: true, ConnectedAt: at, LastReceivedAt: at,
		FramesIn: 1, FramesOut: 2, BytesIn: 3, BytesOut: 4, Receivers: 2, Credit: 9, Unsettled: 2, Locks: 3,
	}
	two := Connection{ID: "1-2", Client: "AMQP other", Container: "other", ConnectedAt: at, LastReceivedAt: at, Senders: 1}
	for path, want := range map[string]Connections{
		"/connections":                    {Connections: []Connection{two, one}, Total: 2},
		"/connections?limit=1":            {Connections: []Connection{two}, Total: 2, Next: "2"},
		"/connections?limit=1&cursor=2":   {Connections: []Connection{one}, Total: 2},
		"/connections?entity=ORDERS":      {Connections: []Connection{one}, Total: 2},
		"/connections?entity=prices":      {Connections: []Connection{two}, Total: 2},
		"/connections?entity=pri":         {Connections: []Connection{}, Total: 2},
		"/connections?entity=prices%2Feu": {Connections: []Connection{}, Total: 2},
	} {
		var got Connections
		w.want(200, "GET", path, "", &got)
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	one.Links = []Link{
		{Name: "r", Identifier: "picker", Path: "orders", Role: "receiver", AttachedAt: at, Mode: "peek-lock", SessionID: &session, Credit: 9, Prefetched: 1, Unsettled: 2, Locks: 3, Messages: 5},
		{Name: "d", Path: "orders", Role: "receiver", AttachedAt: at, Mode: "receive-and-delete", Waiting: true},
		{Name: "m", Path: "orders", Role: "management", AttachedAt: at},
	}
	var got Connection
	w.want(200, "GET", "/connections/1-1", "", &got)
	if d := gocmp.Diff(one, got); d != "" {
		t.Error(d)
	}
	w.want(204, "DELETE", "/connections/1-1", "", nil)
	w.want(404, "GET", "/connections/1-1", "", nil)
	if _, text := w.ask("DELETE", "/connections/1-1", ""); !strings.Contains(text, `"code":"ConnectionNotFound"`) || !strings.Contains(text, "'1-1'") {
		t.Errorf("disconnected twice: %s", text)
	}
	var a Activity
	w.want(200, "GET", "/activity?scope=audit&limit=1", "", &a)
	if e := a.Events[0]; e.Kind != "disconnected" || e.Reason != "AMQP worker" || e.Actor != "API 127.0.0.1" || !e.Audited {
		t.Errorf("the event is %+v", e)
	}
	for _, wrong := range []string{"limit=0", "limit=1001", "cursor=x", "cursor=0", "entity=%2F", "links=1"} {
		w.want(400, "GET", "/connections?"+wrong, "", nil)
	}
}

// A fillable is a store that can be set to refuse writes.
type fillable struct {
	memory.Store
	now atomic.Bool
}

func (f *fillable) Commit(ctx context.Context, b *engine.Batch) error {
	if f.now.Load() {
		return engine.ErrUnwritable
	}
	return f.Store.Commit(ctx, b)
}

// TestDisconnectIsRememberedFirst: a connection is closed only after the audit event was
// written.
func TestDisconnectIsRememberedFirst(t *testing.T) {
	store := &fillable{}
	w := startOn(t, store, broker.Options{})
	w.clients.Add(connections.Connection{ID: "1-1", Client: "AMQP worker"})
	store.now.Store(true)
	w.want(503, "DELETE", "/connections/1-1", "", nil)
	w.want(200, "GET", "/connections/1-1", "", nil)
}

// TestConnectionsLocks: a client's locked messages are returned with its connection.
func TestConnectionsLocks(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/send/q?create=queue", `[{"body":"1"},{"body":"2"}]`, nil)
	var got Messages
	w.want(200, "POST", "/receive/q", `{"limit":1}`, &got)
	w.want(200, "POST", "/renew-lock", `{"lockToken":"`+got.Messages[0].LockToken+`"}`, nil)
	var peeked Messages
	w.want(200, "GET", "/peek/q?limit=1", "", &peeked)
	m := peeked.Messages[0]
	w.clients.Add(connections.Connection{ID: "1-1", Client: m.LockedBy})
	w.clients.Add(connections.Connection{ID: "1-2", Client: "somebody else"})
	var c Connection
	w.want(200, "GET", "/connections/1-1", "", &c)
	want := []LockedMessage{{Key: m.Key, Path: "q", SequenceNumber: 1, LockedUntil: *m.LockedUntil, LockHistory: m.LockHistory}}
	if d := gocmp.Diff(want, c.LockedMessages); d != "" || c.MoreLockedMessages || m.LockRenewals != 1 {
		t.Errorf("%+v, more %v: %s", m.LockHistory, c.MoreLockedMessages, d)
	}
	c = Connection{}
	if w.want(200, "GET", "/connections/1-2", "", &c); c.LockedMessages != nil {
		t.Errorf("another connection has the locks %+v", c.LockedMessages)
	}
}
