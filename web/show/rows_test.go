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
