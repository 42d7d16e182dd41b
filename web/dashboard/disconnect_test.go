package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"mayfly/web/connections"
)

// TestDisconnect: a connection is closed after the audit event was written, and not if that
// fails.
func TestDisconnect(t *testing.T) {
	within(t, func(w *world) {
		const of = "/n/default/connections/1-1/disconnect"
		w.clients.Add(connections.Connection{ID: "1-1", Client: "AMQP worker", Container: "worker"})
		w.store.broken.Store(true)
		w.post(of).wants(503)
		if _, there := w.clients.Connection("1-1", 0); !there {
			t.Fatal("a connection was closed without an audit event")
		}
		w.store.broken.Store(false)
		w.pass(time.Minute)
		for _, want := range []string{"Disconnected worker", "left already"} {
			if says, _ := w.done(of); !strings.Contains(says, want) {
				t.Errorf("the page has %q, want %q", says, want)
			}
		}
	})
}
