package show_test

import (
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/views/page"
)

// What the head of a message says of its tries is pushed as they grow, as its
// row and its life are.
func TestTriesInTheHeadAreLive(t *testing.T) {
	within(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{LockDuration: time.Minute})
		w.send("orders", engine.Content{Subject: "one"})
		url := w.pages.MessageURL(w.rowsOf("orders")[0].Message.Key)
		none := w.part(url, "tries")
		w.settle(w.receive("orders"), engine.Abandon, "")
		if one := w.part(url, "tries"); one == none || !strings.Contains(one, "1") {
			w.Errorf("after a failed try: %s", one)
		}
	})
}

// A deferred message says when it was stored wherever a column of that name is,
// and when it was deferred on the tab of those that are.
func TestDeferredSaysWhenItWasStored(t *testing.T) {
	within(t, func(w *world) {
		w.create(engine.Queue, "chats", engine.Config{LockDuration: time.Minute})
		w.send("chats", engine.Content{Subject: "one"})
		stored := w.now().Time()
		w.pass(20 * time.Second)
		w.settle(w.receive("chats"), engine.Defer, "")
		for _, tab := range []string{"messages", "deferred"} {
			for _, r := range w.entityAt("/n/default/q/chats?tab=" + tab).Rows {
				if r.State != page.Parking || !r.At.Equal(stored) || !r.Aside.Equal(stored.Add(20*time.Second)) {
					w.Errorf("%s: %s, stored at %s, deferred at %s", tab, r.State, r.At, r.Aside)
				}
			}
		}
	})
}

// A renewal moves what is shown of a lock: the end of its ring and the count, in
// the row, on the passport, and for a session on its tab and its page.
func TestRenewalsAreLive(t *testing.T) {
	within(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{LockDuration: time.Minute})
		w.send("orders", engine.Content{Subject: "one"})
		url := w.pages.MessageURL(w.rowsOf("orders")[0].Message.Key)
		d := w.receive("orders")
		w.pass(20 * time.Second)
		before := w.part(url, "time")
		if !strings.Contains(before, "not renewed") {
			w.Errorf("before: %s", before)
		}
		_, err := w.b.Renew(w.Context(), d.Token(), "", "worker")
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
