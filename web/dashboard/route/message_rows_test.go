package route_test

import (
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/views/page"
)

// TestTriesInTheHeadAreLive checks that the delivery count beside a message's title is updated
// after a failed delivery.
func TestTriesInTheHeadAreLive(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{LockDuration: time.Minute})
		w.send("orders", engine.Content{Subject: "one"})
		url := w.pages.MessageURL(w.b.Rows("orders")[0].Message.Key)
		none := w.part(url, "tries")
		w.settle(w.receive("orders"), engine.Abandon, "")
		if one := w.part(url, "tries"); one == none || !strings.Contains(one, "1") {
			w.Errorf("after a failed delivery: %s", one)
		}
	})
}

// A deferred message shows when it was enqueued in every column of that name, and when it was
// deferred on the tab of deferred messages.
func TestDeferredSaysWhenItWasStored(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "chats", engine.Config{LockDuration: time.Minute})
		w.send("chats", engine.Content{Subject: "one"})
		stored := w.now().Time()
		w.pass(20 * time.Second)
		w.settle(w.receive("chats"), engine.Defer, "")
		for _, tab := range []string{"messages", "deferred"} {
			for _, r := range w.entityAt("/n/default/q/chats?tab=" + tab).Rows {
				if r.State != page.StateDeferred || !r.At.Equal(stored) || !r.SetAsideAt.Equal(stored.Add(20*time.Second)) {
					w.Errorf("%s: %s, stored at %s, deferred at %s", tab, r.State, r.At, r.SetAsideAt)
				}
			}
		}
	})
}

// A renewal updates the lock, its end and the count of renewals, in the row, on the message's
// page, and for a session on its tab and page.
func TestRenewalsAreLive(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{LockDuration: time.Minute})
		w.send("orders", engine.Content{Subject: "one"})
		url := w.pages.MessageURL(w.b.Rows("orders")[0].Message.Key)
		d := w.receive("orders")
		w.pass(20 * time.Second)
		before := w.part(url, "time")
		if !strings.Contains(before, "not renewed") {
			w.Errorf("before: %s", before)
		}
		_, err := w.b.RenewLock(w.Context(), d.Token(), "", "worker")
		w.must(err)
		if after := w.part(url, "time"); after == before || !strings.Contains(after, "renewed once") || strings.Contains(after, "not renewed") {
			w.Errorf("after a renewal: %s", after)
		}
		row := w.entityAt("/n/default/q/orders?tab=locked").Rows[0]
		if h := row.Hold; h.Renewals != 1 || !h.Until.Equal(h.RenewedAt.Add(time.Minute)) || !h.RenewedAt.Equal(h.Since.Add(20*time.Second)) {
			w.Errorf("the lock is %+v", h)
		}
	})
}
